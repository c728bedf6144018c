// Pictures: one function paints each, on a canvas for the screen and for PNG, or on a pen that writes SVG.
const colours = {};
const readColours = () => {
  const style = getComputedStyle(root);
  for (const name of [
    "ink",
    "soft",
    "line",
    "sheet",
    "paper",
    "accent",
    "hatch",
    "cross",
    "shade-0",
    "shade-1",
    "shade-2",
    "less",
    "more",
  ])
    colours[name] = style.getPropertyValue("--" + name).trim();
  colours.lines = range(7).map(i => style.getPropertyValue("--c" + i).trim());
  const channels = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
  const blend = (...stops) =>
    Array.from({ length: 101 }, (_, at) => {
      const place = (at / 100) * (stops.length - 1),
        from = Math.min(Math.floor(place), stops.length - 2),
        share = place - from;
      const [low, high] = [stops[from], stops[from + 1]].map(channels);
      return (
        "#" +
        low
          .map((value, i) =>
            Math.round(value + share * (high[i] - value))
              .toString(16)
              .padStart(2, "0"),
          )
          .join("")
      );
    });
  colours.shades = blend(colours["shade-0"], colours["shade-1"], colours["shade-2"]);
  colours.differences = blend(colours.less, colours["shade-0"], colours.more); // 0: fewer ones than predicted, 100: more
  colours.font = getComputedStyle(document.body).fontFamily;
};
const colourOf = l => (l < L ? colours.lines[l % colours.lines.length] : colours.soft);
const setFont = (pen, size, weight = 400) => {
  pen.font = weight + " " + size + "px " + colours.font;
};

const ruler = document.createElement("canvas").getContext("2d");
const shorten = (pen, text, room) => {
  if (pen.measureText(text).width <= room) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low) + "…";
};
const widest = (texts, size, most) => {
  setFont(ruler, size);
  let width = 0;
  for (let i = 0; i < texts.length; i += Math.ceil(texts.length / 400))
    width = Math.max(width, ruler.measureText(texts[i]).width);
  return Math.min(most, Math.ceil(width) + 8);
};

// The few verbs of a canvas that our pictures use, written as SVG.
class SvgPen {
  constructor(width, height) {
    Object.assign(this, {
      width,
      height,
      parts: [],
      path: [],
      turns: [],
      lineWidth: 1,
      globalAlpha: 1,
      textAlign: "left",
      textBaseline: "alphabetic",
    });
  }
  put(name, numbers, rest, text) {
    const clean = value =>
      String(value)
        .replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";")
        .replace(/[\x00-\x08\x0b-\x1f\ufffe\uffff]|\p{Cs}/gu, "\ufffd");
    const turned = this.turn ? { transform: this.turn } : {};
    const all = Object.entries({
      ...numbers,
      ...rest,
      ...turned,
      ...(this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {}),
    });
    const attributes = all
      .map(
        ([key, value]) =>
          " " + key + '="' + (typeof value === "number" ? Number(value.toFixed(2)) : clean(value)) + '"',
      )
      .join("");
    this.parts.push("<" + name + attributes + (text === undefined ? "/>" : ">" + clean(text) + "</" + name + ">"));
  }
  fillRect(x, y, width, height) {
    this.put("rect", { x, y, width, height }, { fill: this.fillStyle });
  }
  strokeRect(x, y, width, height) {
    this.put(
      "rect",
      { x, y, width, height },
      { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth },
    );
  }
  clearRect() {}
  beginPath() {
    this.path = [];
  }
  moveTo(x, y) {
    this.path.push("M" + x.toFixed(2) + " " + y.toFixed(2));
  }
  lineTo(x, y) {
    this.path.push("L" + x.toFixed(2) + " " + y.toFixed(2));
  }
  arc(x, y, r) {
    this.path.push(`M${(x - r).toFixed(2)} ${y.toFixed(2)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`);
  }
  stroke() {
    this.put(
      "path",
      {},
      { d: this.path.join(""), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth },
    );
  }
  fill() {
    this.put("path", {}, { d: this.path.join(""), fill: this.fillStyle });
  }
  measureText(text) {
    ruler.font = this.font;
    return ruler.measureText(text);
  }
  fillText(text, x, y) {
    const [weight, size] = this.font.split(" ");
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign],
      lower = this.textBaseline === "middle" ? 0.35 * parseFloat(size) : 0;
    this.put(
      "text",
      { x, y: y + lower },
      {
        fill: this.fillStyle,
        "font-size": size,
        "font-weight": weight,
        "font-family": colours.font,
        "text-anchor": anchor,
      },
      text,
    );
  }
  save() {
    this.turns.push(this.turn);
  }
  restore() {
    this.turn = this.turns.pop();
  }
  translate(x, y) {
    this.turn = (this.turn || "") + `translate(${x.toFixed(2)} ${y.toFixed(2)})`;
  }
  rotate(angle) {
    this.turn = (this.turn || "") + `rotate(${((angle * 180) / Math.PI).toFixed(2)})`;
  }
  text() {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect width="100%" height="100%" fill="${colours.sheet}"/>${this.parts.join("")}</svg>`;
  }
}

// Set the size of a canvas in CSS pixels and return its pen.
const prepare = (canvas, width, height, ratio = printing ? 3 : devicePixelRatio || 1) => {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
};
let printing = false;

// Buttons that save a picture; paint(pen, true) paints all of it and returns nothing.
const saveButtons = (name, size, paint) => {
  const title = fileName(page.title + " " + name);
  const svg = () => {
    const [width, height] = size(),
      pen = new SvgPen(width, height);
    paint(pen, true);
    download(title + ".svg", new Blob([pen.text()], { type: "image/svg+xml" }));
  };
  const png = () => {
    const [width, height] = size(),
      canvas = document.createElement("canvas"),
      pen = prepare(canvas, width, height, 3);
    pen.fillStyle = colours.sheet;
    pen.fillRect(0, 0, width, height);
    paint(pen, true);
    canvas.toBlob(blob => download(title + ".png", blob));
  };
  return h(
    "span",
    { class: "save" },
    button("SVG", svg, { title: "Save this picture as SVG" }),
    button("PNG", png, { title: "Save this picture as PNG" }),
  );
};

// A line chart: lines [{ name, x, y, colour, faint }], a marked x, error bars.
const lineChart = ({ title, xName, lines, low, high, whole: integers, mark, errors = [], dots }) => {
  const width = Math.min(520, byId("view").clientWidth || 520),
    height = 240,
    top = 12,
    bottom = 38,
    right = 12;
  const xs = lines.flatMap(line => line.x),
    ys = [
      ...lines.flatMap(line => line.y),
      ...errors.flatMap((e, i) => (e === null ? [] : [lines[0].y[i] - e, lines[0].y[i] + e])),
    ];
  const room = 0.05 * (Math.max(...ys) - Math.min(...ys)) || 0.5;
  const yRange = [low ?? Math.min(...ys) - room, high ?? Math.max(...ys) + room];
  const xRange =
    mark === undefined
      ? [Math.min(...xs), Math.max(...xs, Math.min(...xs) + 1)]
      : [Math.min(...xs) - 0.5, Math.max(...xs) + 0.5];
  const yTicks = ticks(...yRange),
    names = yTicks.map(tick => tickText(tick, yTicks));
  const left = 12 + widest(names, 11, 90);
  const x = value => left + ((value - xRange[0]) / (xRange[1] - xRange[0])) * (width - right - left);
  const y = value => height - bottom - ((value - yRange[0]) / (yRange[1] - yRange[0])) * (height - bottom - top);
  const paint = pen => {
    setFont(pen, 11);
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    if (mark !== undefined) {
      pen.fillStyle = colours.line;
      pen.fillRect(x(mark) - 9, top, 18, height - bottom - top);
    }
    yTicks.forEach((tick, i) => {
      pen.fillStyle = colours.line;
      pen.fillRect(left, y(tick), width - right - left, 1);
      pen.fillStyle = colours.soft;
      pen.fillText(names[i], left - 6, y(tick));
    });
    pen.textAlign = "center";
    for (const tick of ticks(...xRange).filter(tick => !integers || tick === Math.round(tick)))
      pen.fillText(whole(tick || 0), x(tick), height - bottom + 14);
    pen.fillText(xName, (left + width - right) / 2, height - 8);
    for (const line of lines) {
      pen.strokeStyle = line.colour;
      pen.lineWidth = 1.2;
      pen.globalAlpha = line.faint ? 0.4 : 0.9;
      pen.beginPath();
      line.x.forEach((at, i) => (i ? pen.lineTo(x(at), y(line.y[i])) : pen.moveTo(x(at), y(line.y[i]))));
      pen.stroke();
      if (dots)
        line.x.forEach((at, i) => {
          pen.fillStyle = line.colour;
          pen.beginPath();
          pen.arc(x(at), y(line.y[i]), 3, 0, 7);
          pen.fill();
        });
    }
    pen.globalAlpha = 1;
    errors.forEach((error, i) => {
      if (error === null) return;
      pen.fillStyle = lines[0].colour;
      pen.fillRect(
        x(lines[0].x[i]) - 0.6,
        y(lines[0].y[i] + error),
        1.2,
        y(lines[0].y[i] - error) - y(lines[0].y[i] + error),
      );
    });
  };
  const canvas = h("canvas", { role: "img", "aria-label": title });
  paint(prepare(canvas, width, height));
  const legend =
    lines.length > 1 &&
    h(
      "ul",
      { class: "legend" },
      lines.map(line => {
        const item = h("li", {}, line.name);
        item.style.borderColor = line.colour;
        return item;
      }),
    );
  return h(
    "figure",
    { class: "chart" },
    h(
      "figcaption",
      {},
      title,
      saveButtons(title, () => [width, height], paint),
    ),
    h("div", { class: "wide" }, canvas),
    legend,
  );
};
const ticks = (low, high, most = 5) => {
  const span = high - low;
  if (!(span > 0)) return [low];
  const size = 10 ** Math.floor(Math.log10(span / most)),
    step = size * [1, 2, 5, 10].find(times => span / (size * times) <= most);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(n * step);
  return found;
};
const tickText = (tick, all) => {
  const step = all.length > 1 ? all[1] - all[0] : 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return tick.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
};
