// A network of two modes that stand for the same things: an edge for each two labels that often have ones.
const networkData = () => {
  const { at: nodes, shares } = page.network,
    least = Number(state.edges),
    most = Math.max(1, ...shares),
    edges = [];
  let place = 0;
  nodes.forEach((n, i) => {
    for (const m of nodes.slice(i + 1)) {
      const share = shares[place++] / most;
      if (share >= least && share > 0) edges.push([n, m, share]);
    }
  });
  return { nodes, edges, k: page.pair[0] };
};
// Places: components around a circle, their members around them, then a few rounds of pulling and pushing.
const placeNodes = ({ nodes, edges, k }) => {
  const mode = page.modes[k],
    homes = [...new Set(nodes.map(n => mode.home[n]))].sort((a, b) => a - b),
    places = new Map();
  nodes.forEach((n, i) => {
    const angle = (2 * Math.PI * homes.indexOf(mode.home[n])) / homes.length,
      small = i * 2.39996;
    places.set(n, [0.32 * Math.cos(angle) + 0.1 * Math.cos(small), 0.32 * Math.sin(angle) + 0.1 * Math.sin(small)]);
  });
  const rest = 0.55 / Math.sqrt(nodes.length + 1);
  for (let round = 0; round < 120; round++) {
    const shift = new Map(nodes.map(n => [n, [0, 0]])),
      heat = 0.04 * (1 - round / 120);
    const push = (n, m, size) => {
      const a = places.get(n),
        b = places.get(m),
        x = a[0] - b[0],
        y = a[1] - b[1],
        far = Math.hypot(x, y) || 1e-3,
        force = size(far) / far;
      shift.get(n)[0] += x * force;
      shift.get(n)[1] += y * force;
      shift.get(m)[0] -= x * force;
      shift.get(m)[1] -= y * force;
    };
    for (let a = 0; a < nodes.length; a++)
      for (let b = 0; b < a; b++) push(nodes[a], nodes[b], far => (rest * rest) / far);
    for (const [n, m, share] of edges) push(n, m, far => ((-share * far * far) / rest) * 0.12);
    for (const n of nodes) {
      const [x, y] = shift.get(n),
        [px, py] = places.get(n),
        far = Math.hypot(x, y) || 1,
        move = Math.min(far, heat) / far;
      places.set(n, [(px + x * move) * 0.985, (py + y * move) * 0.985]);
    }
  }
  return places;
};
let placed = {};
const viewNetwork = () => {
  const data = networkData(),
    key = state.edges,
    places = (placed[key] ??= placeNodes(data)),
    { nodes, edges, k } = data,
    mode = page.modes[k];
  const width = Math.min(900, byId("view").clientWidth),
    height = Math.min(620, width),
    xs = [...places.values()].map(p => p[0]),
    ys = [...places.values()].map(p => p[1]);
  const scaled = (value, all, room) =>
    14 + ((value - Math.min(...all)) / (Math.max(...all) - Math.min(...all) || 1)) * (room - 28);
  const spot = n => [scaled(places.get(n)[0], xs, width), scaled(places.get(n)[1], ys, height)];
  const component = selected(),
    focus = chosen() && sameThings(chosen().k).includes(k) ? chosen().n : null;
  const near = new Set(focus === null ? [] : edges.flatMap(([n, m]) => (n === focus ? [m] : m === focus ? [n] : [])));
  const strong = n =>
    focus !== null ? n === focus || near.has(n) : component === null || chance(k, n, component) > threshold();
  let over = null;
  const paint = (pen, saving) => {
    for (const [n, m, share] of edges) {
      const [x, y] = spot(n),
        [u, v] = spot(m),
        on = focus !== null ? n === focus || m === focus : strong(n) && strong(m);
      pen.globalAlpha = on ? 0.15 + 0.5 * share : 0.05;
      pen.strokeStyle = on && component !== null ? colourOf(component) : colours.soft;
      pen.lineWidth = 0.5 + 1.5 * share;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(u, v);
      pen.stroke();
    }
    setFont(pen, 10);
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    // Labels cover neither each other nor a node.
    const taken = nodes.map(n => [spot(n)[0] - 5, spot(n)[1], 10]);
    for (const n of nodes) {
      const [x, y] = spot(n),
        named = focus === null ? strong(n) : n === focus || near.has(n);
      pen.globalAlpha = strong(n) ? 1 : 0.3;
      pen.fillStyle = colourOf(component !== null && strong(n) && focus === null ? component : mode.home[n]);
      pen.beginPath();
      pen.arc(x, y, n === focus || (!saving && n === over) ? 7 : 4.5, 0, 7);
      pen.fill();
      pen.fillStyle = colours.ink;
      const text = mode.labels[n].slice(0, 24),
        long = pen.measureText(text).width,
        start = x + 11 + long < width ? x + 7 : x - 9 - long;
      if (!named || taken.some(([u, v, length]) => Math.abs(v - y) < 11 && start < u + length && u < start + long))
        continue;
      taken.push([start, y, long]);
      pen.fillText(text, start, y);
    }
    pen.globalAlpha = 1;
  };
  const canvas = h("canvas", {
    class: "network",
    tabindex: "0",
    role: "application",
    "aria-label": "Network of " + mode.plural + "; use the arrow keys to go through the labels, Enter to open",
  });
  const draw = () => paint(prepare(canvas, width, height), false);
  const nearest = event =>
    nodes
      .map(n => [n, Math.hypot(spot(n)[0] - event.offsetX, spot(n)[1] - event.offsetY)])
      .sort((a, b) => a[1] - b[1])[0];
  const tell = n =>
    label(k, n) +
    "\n" +
    (inComponents(k, n).map(nameOf).join(", ") || "in no component") +
    "\n" +
    times(edges.filter(([a, b]) => a === n || b === n).length, "edge");
  canvas.addEventListener("pointermove", event => {
    const found = nearest(event);
    over = found && found[1] < 14 ? found[0] : null;
    draw();
    if (over === null) hideTip();
    else showTip(tell(over), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => {
    over = null;
    hideTip();
    draw();
  });
  canvas.addEventListener("click", event => {
    const found = nearest(event);
    if (found && found[1] < 14) openLabel(k, found[0]);
  });
  canvas.addEventListener("keydown", event => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && over !== null) return openLabel(k, over);
    if (!by || !nodes.length) return;
    event.preventDefault();
    over = nodes[(nodes.indexOf(over) + by + nodes.length) % nodes.length];
    draw();
    const box = canvas.getBoundingClientRect(),
      [x, y] = spot(over);
    showTip(tell(over), box.left + x, box.top + y);
  });
  draw();
  const rows = edges.map(([n, m, share]) => ({ n, m, share })).sort((a, b) => b.share - a.share);
  return [
    h(
      "div",
      { class: "controls" },
      h(
        "label",
        { class: "stretch" },
        "Edges from ",
        h("input", {
          type: "range",
          class: "edges",
          "data-key": "edges",
          min: 0.05,
          max: 1,
          step: 0.05,
          value: state.edges,
          oninput: event => go({ edges: event.target.value }, false),
        }),
      ),
      h("output", {}, percent(Number(state.edges)) + " of the largest"),
      saveButtons("network", () => [width, height], paint),
    ),
    canvas,
    h(
      "p",
      { class: "quiet" },
      times(nodes.length, mode.name, mode.plural) +
        ", " +
        times(edges.length, "edge") +
        ". The width of an edge shows how often two of them have a one, relative to the pair with the most" +
        (K > 2
          ? ", over all " +
            page.modes
              .filter((_, j) => !page.pair.includes(j))
              .map(other => other.plural)
              .join(" and ")
          : "") +
        ". Colours: the component that each contributes most to" +
        (component === null
          ? "; select a component to highlight its members."
          : "; highlighted: " + nameOf(component) + ".") +
        (nodes.length < sizes[k] ? " An evenly spaced sample is shown." : ""),
    ),
    makeTable({
      name: "edges",
      caption: "Edges",
      rows,
      most: 10,
      columns: [
        { name: "from", value: row => label(k, row.n), show: row => labelLink(k, row.n), word: true },
        { name: "to", value: row => label(k, row.m), show: row => labelLink(k, row.m), word: true },
        { name: "weight", value: row => row.share, show: row => hundredths(row.share) },
      ],
    }),
  ];
};
