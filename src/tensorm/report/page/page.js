"use strict";
// The page's only script. It reads the packed data, draws them on canvases and fills the lists of members.
// Labels are untrusted: they are only ever set as text, never as markup.
(async () => {
  const root = document.documentElement;
  const tip = document.getElementById("tip");
  const slider = document.getElementById("threshold");
  const MOST = 100; // members listed before the rest is folded
  const MOST_PRINTED = 24, PRINT_HEIGHT = 800; // members and height of a heat map in pixels on paper

  let page;
  try {
    const bytes = Uint8Array.from(atob(document.getElementById("data").textContent.trim()), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    page = await new Response(stream).json();
  } catch (error) {
    const trouble = document.getElementById("trouble");
    trouble.textContent = "The pictures on this page need a newer browser, from 2023 or later.";
    trouble.hidden = false;
    return;
  }
  const L = page.components;
  let threshold = Number(slider.value);
  let printing = false;
  const drawings = []; // everything with a draw(), redrawn when colours or sizes change

  const chance = (mode, n, l) => mode.means[n * L + l] / 10000;
  const strongest = (mode, n) => {
    let best = L, most = 0.5;
    for (let l = 0; l < L; l++) if (chance(mode, n, l) > most) { most = chance(mode, n, l); best = l; }
    return best;
  };
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;
  const make = (name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // The current colours of the style sheet.
  const colours = {};
  const readColours = () => {
    const style = getComputedStyle(root);
    for (const name of ["ink", "soft", "line", "sheet", "hatch", "cross", "shade-0", "shade-1", "shade-2"])
      colours[name] = style.getPropertyValue("--" + name).trim();
    const channels = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
    const ends = [0, 1, 2].map(step => channels(colours["shade-" + step]));
    colours.shades = Array.from({ length: 101 }, (_, percent) => {
      const from = percent < 50 ? 0 : 1, share = percent / 50 - from;
      return "rgb(" + ends[from].map((low, i) => Math.round(low + share * (ends[from + 1][i] - low))).join(",") + ")";
    });
    colours.font = getComputedStyle(document.body).fontFamily;
  };

  // Set the size of a canvas in CSS pixels and return its drawing context.
  const prepare = (canvas, width, height) => {
    const ratio = printing ? 3 : window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, width, height);
    return pen;
  };

  const shorten = (pen, text, room) => {
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
    }
    return text.slice(0, low) + "…";
  };

  const showTip = (text, x, y) => {
    if (tip.textContent !== text) tip.textContent = text;
    tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = clamp(x + 14, 4, Math.max(4, innerWidth - width - 4)) + "px";
    tip.style.top = (y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18) + "px";
  };
  const hideTip = () => { tip.hidden = true; };

  // Let a picture respond to pointer and keys. It has rows(), columns(), find(x, y), box(row, column),
  // say(row, column) and draw(), and may have reveal(row), enter(row, column) and click(x, y); `at` is the current field.
  const answer = (canvas, picture) => {
    const leave = () => { picture.at = null; hideTip(); picture.draw(); };
    const go = (at, x, y) => {
      picture.at = at;
      picture.draw();
      showTip(picture.say(at.row, at.column), x, y);
    };
    const point = event => {
      const at = picture.find(event.offsetX, event.offsetY);
      if (at) go(at, event.clientX, event.clientY); else if (picture.at || !tip.hidden) leave();
    };
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point); // a touch starts without a move
    canvas.addEventListener("pointerleave", event => event.pointerType === "mouse" && leave());
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("click", event => picture.click && picture.click(event.offsetX, event.offsetY));
    canvas.addEventListener("keydown", event => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0],
        Home: [0, -Infinity], End: [0, Infinity] };
      if (event.key === "Escape" && picture.at) return leave();
      if (event.key === "Enter" && picture.at && picture.enter) return picture.enter(picture.at.row, picture.at.column);
      if (!(event.key in steps) || event.altKey || event.metaKey || !picture.rows()) return;
      event.preventDefault();
      const [down, right] = steps[event.key], far = event.ctrlKey ? Infinity : 1;
      const from = picture.at || { row: down < 0 ? 1 : -1 * Math.abs(Math.sign(down)), column: right < 0 ? 1 : -1 * Math.abs(Math.sign(right)) };
      const move = (start, step, size) => clamp(start + (step ? Math.sign(step) * Math.min(Math.abs(step) * far, size) : 0), 0, size - 1);
      const at = { row: move(from.row, down, picture.rows()), column: move(from.column, right, picture.columns()) };
      if (picture.reveal) picture.reveal(at.row, at.column);
      const box = picture.box(at.row, at.column), frame = canvas.getBoundingClientRect();
      go(at, frame.left + box.x + box.width, frame.top + box.y);
    });
  };

  const outline = (pen, box) => {
    pen.strokeStyle = colours.cross;
    pen.lineWidth = 2;
    pen.strokeRect(box.x + 0.5, box.y + 0.5, Math.max(2, box.width - 1), Math.max(2, box.height - 1));
  };

  // A mode as a heat map. Only visible rows are drawn, so thousands scroll as smoothly as ten.
  const heatMap = (section, mode) => {
    const pick = name => section.querySelector(name);
    const scroller = pick(".scroller"), spacer = pick(".spacer"), canvas = pick("canvas"), count = pick(".count");
    const order = pick(".order"), find = pick(".find"), only = pick(".members-only"), overview = pick(".overview");
    const filters = [...section.querySelectorAll(".filter")];
    const HEAD = 40;
    let rows = [], side = null, size = {};

    const key = () => {
      const [kind, text] = order.value.split(" "), number = Number(text);
      side = kind === "column" ? mode.columns[number] : null;
      if (kind === "label") return (a, b) => compare(mode.labels[a], mode.labels[b]);
      if (kind === "component") return (a, b) => chance(mode, b, number) - chance(mode, a, number);
      if (kind === "strongest") {
        const own = mode.labels.map((_, n) => strongest(mode, n));
        return (a, b) => own[a] - own[b] || (own[a] < L ? chance(mode, b, own[b]) - chance(mode, a, own[a]) : 0);
      }
      if (kind === "column" && side.numbers) return (a, b) => (side.numbers[a] ?? Infinity) - (side.numbers[b] ?? Infinity) || 0;
      if (kind === "column") return (a, b) => (side.values[a] === "") - (side.values[b] === "") || compare(side.values[a], side.values[b]);
      return () => 0;
    };
    const choose = () => {
      const text = find.value.trim().toLowerCase(), wanted = filters.filter(filter => filter.value);
      const fits = n => (!text || mode.labels[n].toLowerCase().includes(text) || mode.columns.some(column => column.values[n].toLowerCase().includes(text)))
        && wanted.every(filter => "=" + mode.columns[filter.dataset.column].values[n] === filter.value);
      const member = n => { for (let l = 0; l < L; l++) if (chance(mode, n, l) > threshold) return true; return false; };
      rows = mode.labels.map((_, n) => n).filter(n => fits(n) && (!only.checked || member(n))).sort(key());
      count.textContent = rows.length === mode.labels.length ? rows.length.toLocaleString("en") : rows.length.toLocaleString("en") + " of " + mode.labels.length.toLocaleString("en");
      picture.at = null;
      hideTip();
      layout();
    };
    const layout = () => {
      const room = section.parentElement.clientWidth - 2, pen = canvas.getContext("2d");
      pen.font = "13px " + colours.font;
      const tall = printing || overview.checked;
      const height = tall ? clamp((printing ? PRINT_HEIGHT : 480) / Math.max(1, rows.length), 0.2, 18) : 20;
      const widest = (texts, most) => {
        let width = 0;
        for (let i = 0; i < texts.length; i += Math.ceil(texts.length / 400)) width = Math.max(width, pen.measureText(texts[i]).width);
        return Math.min(most, Math.ceil(width) + 14);
      };
      const label = widest(mode.labels, room < 500 ? 112 : 220), note = side ? widest(side.values, room < 500 ? 80 : 160) : 0;
      const field = clamp(Math.floor((room - label - note - 18) / L), 9, printing ? 18 : 44);
      const whole = Math.ceil(rows.length * height);
      size = { height, label, note, field, whole, width: label + L * field + note + 6 };
      spacer.style.height = HEAD + whole + 4 + "px";
      spacer.style.width = size.width + "px";
      draw();
    };
    const top = () => printing || overview.checked ? 0 : scroller.scrollTop;
    const view = () => printing ? HEAD + size.whole + 4 : Math.min(scroller.clientHeight, HEAD + size.whole + 4);
    const draw = () => {
      const tall = view(), pen = prepare(canvas, size.width, tall), { height, label, field } = size;
      const first = Math.floor(top() / height), last = Math.min(rows.length, Math.ceil((top() + tall - HEAD) / height));
      const fontSize = Math.min(13, height - 1), named = height >= 9;
      const step = Math.ceil(14 / height);
      pen.textBaseline = "middle";
      if (height < 1) for (let y = 0; y < size.whole; y++) { // several rows share a pixel row: show their mean
        const from = Math.floor(y / height), to = Math.min(rows.length, Math.max(from + 1, Math.floor((y + 1) / height)));
        for (let l = 0; l < L; l++) {
          let sum = 0;
          for (let i = from; i < to; i++) sum += chance(mode, rows[i], l);
          pen.fillStyle = colours.shades[Math.round(100 * sum / (to - from))];
          pen.fillRect(label + l * field, HEAD + y, field - 1, 1);
        }
      }
      for (let i = first; i < last; i++) {
        const n = rows[i], y = HEAD + i * height - top();
        if (height >= 1) for (let l = 0; l < L; l++) {
          pen.fillStyle = colours.shades[Math.round(100 * chance(mode, n, l))];
          pen.fillRect(label + l * field, y, field - 1, height >= 6 ? height - 1 : height + 0.5);
        }
        if (side && !side.numbers && i && side.values[n] !== side.values[rows[i - 1]]) {
          pen.fillStyle = colours.soft;
          pen.fillRect(0, y - 0.75, size.width, 0.75);
        }
        if (named || i % step === step >> 1) {
          pen.font = (named ? fontSize : 11) + "px " + colours.font;
          pen.fillStyle = picture.at && picture.at.row === i ? colours.cross : colours.ink;
          const middle = y + height / 2;
          pen.fillText(shorten(pen, mode.labels[n], label - 12), 8, middle);
          pen.fillStyle = colours.soft;
          if (side) pen.fillText(shorten(pen, side.values[n], size.note - 8), label + L * field + 8, middle);
        }
      }
      pen.fillStyle = colours.sheet;
      pen.fillRect(0, 0, size.width, HEAD - 1);
      pen.textAlign = "center";
      const skip = Math.ceil(22 / field);
      for (let l = 0; l < L; l += 1) {
        if (l % skip && !(picture.at && picture.at.column === l)) continue;
        const x = label + l * field + field / 2;
        pen.fillStyle = picture.at && picture.at.column === l ? colours.cross : colours.ink;
        pen.font = "600 13px " + colours.font;
        pen.fillText(l, x, 14);
        if (field >= 22 && !printing) {
          pen.fillStyle = colours.soft;
          pen.font = "10px " + colours.font;
          pen.fillText(members(mode, l).length, x, 30);
        }
      }
      pen.textAlign = "left";
      if (!rows.length) { pen.fillStyle = colours.soft; pen.fillText("no matches", 8, HEAD - 8); }
      if (picture.at) outline(pen, picture.box(picture.at.row, picture.at.column));
    };
    const picture = {
      at: null, draw, layout,
      rows: () => rows.length,
      columns: () => L,
      find: (x, y) => {
        const row = Math.floor((y - HEAD + top()) / size.height), column = Math.floor((x - size.label) / size.field);
        return y >= HEAD && row < rows.length && column >= 0 && column < L ? { row, column } : null;
      },
      box: (row, column) => ({ x: size.label + column * size.field - 1, y: HEAD + row * size.height - top() - 1, width: size.field + 1, height: size.height + 1 }),
      say: (row, column) => {
        const n = rows[row], known = mode.columns.filter(part => part.values[n]).map(part => part.name + ": " + part.values[n]);
        return [mode.labels[n], "component " + column + ": " + chance(mode, n, column).toFixed(2), ...known].join("\n");
      },
      reveal: row => {
        const y = row * size.height, room = scroller.clientHeight - HEAD - size.height;
        if (y < scroller.scrollTop) scroller.scrollTop = y;
        if (y > scroller.scrollTop + room) scroller.scrollTop = y - room;
      },
      enter: (row, column) => document.getElementById("component-" + column).scrollIntoView(),
      click: (x, y) => {
        const column = Math.floor((x - size.label) / size.field);
        if (y < HEAD && column >= 0 && column < L) { order.value = "component " + column; scroller.scrollTop = 0; choose(); }
      },
      threshold: () => (only.checked ? choose() : draw()),
    };
    for (const control of [order, only, overview, ...filters]) control.addEventListener("change", () => { scroller.scrollTop = 0; choose(); });
    find.addEventListener("input", choose);
    scroller.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
    answer(canvas, picture);
    drawings.push(picture);
    choose();
  };

  const members = (mode, l) => {
    const found = [];
    for (let n = 0; n < mode.labels.length; n++) if (chance(mode, n, l) > threshold) found.push(n);
    return found;
  };

  // The members of one component in one mode, most probable first.
  const memberList = (section, mode, l) => {
    const list = section.querySelector("ol"), count = section.querySelector(".count"), groups = section.querySelector(".groups");
    let open = false;
    const kinds = mode.columns.find(column => !column.numbers && new Set(column.values).size < mode.labels.length / 2);
    const fill = () => {
      const found = members(mode, l).sort((a, b) => chance(mode, b, l) - chance(mode, a, l) || a - b);
      count.textContent = found.length.toLocaleString("en") + " of " + mode.labels.length.toLocaleString("en");
      if (kinds) {
        const tally = new Map();
        for (const n of found) tally.set(kinds.values[n], (tally.get(kinds.values[n]) || 0) + 1);
        groups.textContent = [...tally].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([kind, many]) => (kind || "unknown") + ": " + many).join(", ") + (tally.size > 6 ? ", …" : "");
      }
      const shown = open && !printing ? found : found.slice(0, printing ? MOST_PRINTED : MOST);
      const items = shown.map(n => {
        const item = make("li"), track = make("span"), length = make("i"), p = chance(mode, n, l);
        const name = make("span", mode.labels[n]);
        name.title = mode.labels[n];
        track.className = "track";
        length.style.width = 100 * p + "%";
        track.append(length);
        item.append(name, track, make("span", p.toFixed(2)));
        return item;
      });
      if (shown.length < found.length && printing) items.push(make("li", "and " + (found.length - shown.length).toLocaleString("en") + " more"));
      else if (shown.length < found.length) {
        const item = make("li"), more = make("button", "show all " + found.length.toLocaleString("en"));
        more.type = "button";
        more.addEventListener("click", () => { open = true; fill(); });
        item.append(more);
        items.push(item);
      }
      list.replaceChildren(...items);
    };
    fill();
    return fill;
  };

  // A rectangle of cells: shades in percent, -1 if missing.
  const cellPicture = (canvas, parts) => {
    // parts: rows(), columns() -> labels by position; value(row, column); width() in pixels; say(row, column); twin
    let size = {};
    const draw = () => {
      const across = parts.columns().length, down = parts.rows().length;
      const field = clamp(Math.floor(parts.width() / across), 1, 14), gap = field >= 5 && !printing ? 1 : 0;
      size = { field };
      const pen = prepare(canvas, across * field, down * field);
      for (let i = 0; i < down; i++) for (let j = 0; j < across; j++) {
        const percent = parts.value(i, j), x = j * field, y = i * field;
        pen.fillStyle = percent < 0 ? colours.hatch : colours.shades[percent];
        pen.fillRect(x, y, field - gap, field - gap);
        if (percent < 0 && field >= 4) {
          pen.strokeStyle = colours.sheet;
          pen.lineWidth = 1;
          pen.beginPath();
          pen.moveTo(x, y + field - gap);
          pen.lineTo(x + field - gap, y);
          pen.stroke();
        }
      }
      if (picture.at) outline(pen, picture.box(picture.at.row, picture.at.column));
      if (parts.twin && parts.twin() && parts.twin().at !== picture.at) { parts.twin().at = picture.at; parts.twin().draw(); }
    };
    const picture = {
      at: null, draw, layout: draw,
      rows: () => parts.rows().length,
      columns: () => parts.columns().length,
      find: (x, y) => {
        const row = Math.floor(y / size.field), column = Math.floor(x / size.field);
        return row >= 0 && row < picture.rows() && column >= 0 && column < picture.columns() ? { row, column } : null;
      },
      box: (row, column) => ({ x: column * size.field, y: row * size.field, width: size.field, height: size.field }),
      say: parts.say,
    };
    answer(canvas, picture);
    drawings.push(picture);
    draw();
    return picture;
  };

  const blockPicture = (canvas, block) => {
    const rowMode = page.modes[page.slices.rows], columnMode = page.modes[page.slices.columns], across = block.column_indices.length;
    cellPicture(canvas, {
      rows: () => block.row_indices,
      columns: () => block.column_indices,
      value: (row, column) => block.shares[row * across + column],
      width: () => Math.min(across * 14, printing ? 200 : 420, canvas.closest(".block").clientWidth || 420),
      say: (row, column) => {
        const share = block.shares[row * across + column];
        return [rowMode.labels[block.row_indices[row]] + ", " + columnMode.labels[block.column_indices[column]], share < 0 ? "missing" : "share of ones: " + (share / 100).toFixed(2)].join("\n");
      },
    });
  };

  const slicePictures = section => {
    const slices = page.slices, pick = name => section.querySelector(name);
    const which = pick(".which"), title = pick(".title"), order = pick(".order");
    const rowMode = page.modes[slices.rows], columnMode = page.modes[slices.columns], across = slices.column_indices.length;
    let rows = [], columns = [];
    const arrange = () => {
      const sorted = (mode, indices) => {
        const places = indices.map((_, i) => i);
        if (order.value === "data") return places;
        const own = indices.map(n => strongest(mode, n));
        return places.sort((a, b) => own[a] - own[b] || a - b);
      };
      rows = sorted(rowMode, slices.row_indices);
      columns = sorted(columnMode, slices.column_indices);
    };
    const now = () => (which ? Number(which.value) : 0);
    const seen = (row, column) => slices.data[now()][rows[row] * across + columns[column]];
    const predicted = (row, column) => slices.predicted[now()][rows[row] * across + columns[column]];
    const say = (row, column) => {
      const names = rowMode.labels[slices.row_indices[rows[row]]] + ", " + columnMode.labels[slices.column_indices[columns[column]]];
      const fact = slices.data ? ["data: " + (seen(row, column) < 0 ? "missing" : seen(row, column))] : [];
      return [names, ...fact, "predicted: " + (predicted(row, column) / 100).toFixed(2)].join("\n");
    };
    const made = {};
    const parts = (name, value) => ({
      rows: () => rows, columns: () => columns, value, say,
      width: () => pick("canvas." + name).parentElement.clientWidth,
      twin: () => made[name === "data" ? "predicted" : "data"],
    });
    arrange();
    made.predicted = cellPicture(pick("canvas.predicted"), parts("predicted", predicted));
    if (slices.data) made.data = cellPicture(pick("canvas.data"), parts("data", (row, column) => { const cell = seen(row, column); return cell < 0 ? -1 : 100 * cell; }));
    const draw = () => {
      hideTip();
      Object.values(made).forEach(picture => { picture.at = null; picture.draw(); });
    };
    if (which) which.addEventListener("input", () => {
      title.textContent = slices.titles[now()];
      which.setAttribute("aria-valuetext", slices.titles[now()]);
      draw();
    });
    order.addEventListener("change", () => { arrange(); draw(); });
  };

  readColours();
  const scale = document.getElementById("scale");
  drawings.push({ draw: () => {
    const pen = prepare(scale, 160, 10);
    for (let x = 0; x < 160; x++) { pen.fillStyle = colours.shades[Math.round(x / 1.6)]; pen.fillRect(x, 0, 1, 10); }
  } });
  document.querySelectorAll(".map").forEach(section => heatMap(section, page.modes[section.dataset.mode]));
  const fills = [...document.querySelectorAll(".component")].flatMap(article => {
    const l = Number(article.dataset.component), canvas = article.querySelector(".block canvas");
    if (canvas) blockPicture(canvas, page.blocks[l]);
    return [...article.querySelectorAll(".list")].map(section => memberList(section, page.modes[section.dataset.mode], l));
  });
  slicePictures(document.getElementById("slices"));
  drawings[0].draw();

  let waiting = false;
  slider.addEventListener("input", () => {
    threshold = Number(slider.value);
    document.getElementById("threshold-value").textContent = threshold.toFixed(2);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawings.forEach(picture => picture.threshold && picture.threshold());
      fills.forEach(fill => fill());
    });
  });

  const redraw = () => { readColours(); drawings.forEach(picture => (picture.layout || picture.draw)()); };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    redraw();
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    printing = true;
    fills.forEach(fill => fill());
    redraw();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    printing = false;
    fills.forEach(fill => fill());
    redraw();
  });
  root.dataset.ready = "yes";
})();
