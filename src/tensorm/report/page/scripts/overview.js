// Data and reconstruction with rows and columns in the order of the components, and how components overlap.
const arrange = (k, indices) => {
  const places = range(indices.length),
    mode = page.modes[k];
  if (state.order !== "components") return places;
  const home = n => mode.home[n],
    mine = n => (home(n) < L ? chance(k, n, home(n)) : 0);
  return places.sort((a, b) => home(indices[a]) - home(indices[b]) || mine(indices[b]) - mine(indices[a]) || a - b);
};
// What the strongest shade of a picture stands for: averages are small, so that theirs is the largest of them.
const largestValue = now => {
  const { titles, predicted, data } = page.slices;
  return titles.length > 1 && now === 0 ? Math.max(1, ...predicted[0], ...(hasData ? data[0] : [])) : 100;
};
const largestShade = now => String(largestValue(now) / 100);
const pictureCells = width => {
  const slices = page.slices,
    { rows: rowMode, columns: columnMode } = slices,
    across = slices.column_indices.length;
  const rows = arrange(rowMode, slices.row_indices),
    columns = arrange(columnMode, slices.column_indices);
  const now = clamp(Math.round(Number(state.slice)) || 0, 0, slices.titles.length - 1),
    averaged = slices.titles.length > 1 && now === 0;
  const read = picture => (i, j) => picture[rows[i] * across + columns[j]];
  const predicted = read(slices.predicted[now]),
    seen = hasData ? read(slices.data[now]) : null;
  const most = largestValue(now);
  const lifted = value => Math.min(100, (100 * value) / most);
  const rowOf = i => slices.row_indices[rows[i]],
    columnOf = j => slices.column_indices[columns[j]];
  const component = selected(),
    focus = chosen();
  const markOf = k => n =>
    component === null
      ? page.modes[k].home[n] < L
        ? colourOf(page.modes[k].home[n])
        : null
      : chance(k, n, component) > threshold()
        ? colourOf(component)
        : null;
  const same = k => focus && (focus.k === k || (page.pair && page.pair.includes(k) && page.pair.includes(focus.k)));
  const twins = [];
  const say = (i, j) =>
    [
      label(rowMode, rowOf(i)) + ", " + label(columnMode, columnOf(j)),
      ...(seen
        ? ["data: " + (seen(i, j) < 0 ? "missing" : averaged ? hundredths(seen(i, j) / 100) : seen(i, j) / 100)]
        : []),
      "predicted: " + hundredths(predicted(i, j) / 100),
    ].join("\n");
  const make = (name, value, shade) =>
    makeGrid({
      name,
      twins,
      width,
      height: printing ? 620 : clamp(innerHeight - 330, 340, 620),
      most: 26,
      zoomable: true,
      zoomName: "slices",
      rows: rows.length,
      columns: columns.length,
      value,
      shade,
      say,
      signed: name === "Difference",
      rowLabel: i => label(rowMode, rowOf(i)),
      columnLabel: j => label(columnMode, columnOf(j)),
      marks: { row: i => markOf(rowMode)(rowOf(i)), column: j => markOf(columnMode)(columnOf(j)) },
      lit: {
        row: i => same(rowMode) && focus.n === rowOf(i),
        column: j => same(columnMode) && focus.n === columnOf(j),
      },
      click: i => openLabel(rowMode, rowOf(i)),
      clickRow: i => openLabel(rowMode, rowOf(i)),
      clickColumn: j => openLabel(columnMode, columnOf(j)),
    });
  const level = value => (value < 0 ? -1 : lifted(value));
  const made = {
    data: () => make("Data", (i, j) => level(seen(i, j))),
    predicted: () => make("Reconstruction", (i, j) => level(predicted(i, j))),
    difference: () =>
      make(
        "Difference",
        (i, j) => (seen(i, j) < 0 ? null : clamp(50 + ((seen(i, j) - predicted(i, j)) / most) * 50, 0, 100)),
        value => colours.differences[Math.round(value)],
      ),
  };
  const wanted = !hasData
    ? ["predicted"]
    : state.show === "difference"
      ? ["data", "difference"]
      : ["data", "predicted"];
  return wanted.map(name => [name, made[name]()]);
};
const scaleBar = () => {
  const canvas = h("canvas", { class: "scale", role: "img", "aria-label": "Shades from 0 to the largest value" }),
    pen = prepare(canvas, 100, 9);
  for (let x = 0; x < 100; x++) {
    pen.fillStyle = colours.shades[x];
    pen.fillRect(x, 0, 1, 9);
  }
  return canvas;
};
const overlapMap = () => {
  const shown = range(L).filter(l => !isEmpty(l));
  if (shown.length < 2) return null;
  if (!shown.some(l => shown.some(other => other !== l && overlap(l, other))))
    return h("p", { class: "quiet" }, "No two components have a cell in common.");
  const grid = makeGrid({
    name: "Overlap of components",
    rows: shown.length,
    columns: shown.length,
    width: Math.min(460, byId("view").clientWidth),
    most: 22,
    rowLabel: i => String(shown[i]),
    columnLabel: j => String(shown[j]),
    value: (i, j) => (i === j ? null : Math.ceil(100 * overlap(shown[i], shown[j]))),
    say: (i, j) =>
      i === j
        ? nameOf(shown[i])
        : percent(overlap(shown[i], shown[j])) +
          " of the cells of " +
          nameOf(shown[i]) +
          "\nare also in " +
          nameOf(shown[j]),
    click: i => openComponent(shown[i]),
    clickRow: i => openComponent(shown[i]),
    clickColumn: j => openComponent(shown[j]),
  });
  return h(
    "figure",
    { class: "overlaps" },
    h("figcaption", {}, h("strong", {}, "Overlap"), grid.save()),
    h("div", { class: "wide" }, grid.canvas),
    h("p", { class: "quiet" }, "In each row: the share of a component's cells that are also in another component."),
  );
};
const componentTable = (ones = page.compares ? "correct" : "ones") =>
  makeTable({
    name: "components",
    caption: "All components",
    most: 12,
    rows: range(L).filter(l => !isEmpty(l)),
    columns: [
      { name: "component", value: l => nameOf(l), show: componentLink, word: true },
      ...page.modes
        .map((mode, k) => ({ mode, k }))
        .filter(({ k }) => !isTwin(k))
        .map(({ mode, k }) => ({
          name: mode.plural,
          value: l => members(k, l).length,
          help: "members above the threshold",
        })),
      ...(counted()
        ? [
            { name: page.compares ? "comparisons" : "observed cells", value: l => countsOf(l).covered },
            { name: ones, value: l => countsOf(l).explained },
            {
              name: ones + " added",
              value: l => countsOf(l).added,
              help: "not explained by a more important component",
            },
            { name: ones + " alone", value: l => countsOf(l).alone, help: "explained by no other component" },
            ...(page.compares
              ? []
              : [
                  { name: "zeros alone", value: l => countsOf(l).errors, help: "covered by no other component" },
                ]),
            {
              name: "log-likelihood",
              value: l => Math.round(countsOf(l).log_likelihood_lost),
              help: "the loss if the component were removed",
            },
          ]
        : [{ name: "cells", value: l => cellsOf(l) }]),
      ...(page.components.some(c => c.strength)
        ? [
            {
              name: "strength",
              value: l => page.components[l].strength[0],
              show: l => percent(page.components[l].strength[0]),
              help: "probability that it makes a cell 1 by itself",
            },
            { name: "90% interval", value: l => page.components[l].strength.slice(1).map(percent).join(" to ") },
          ]
        : []),
      ...(page.chains > 1
        ? [{ name: "chains", value: l => page.components[l].chains, help: "chains that found it" }]
        : []),
    ],
  });
const viewOverview = () => {
  const slices = page.slices,
    room = byId("view").clientWidth,
    two = hasData && room >= 560;
  const active = range(L).filter(l => !isEmpty(l));
  const pictures = pictureCells(Math.floor(two ? (room - 28) / 2 : room));
  const names = { data: "Data", predicted: "Reconstruction", difference: "Data minus reconstruction" };
  const several = slices.titles.length > 1,
    now = clamp(Math.round(Number(state.slice)) || 0, 0, slices.titles.length - 1);
  const controls = h(
    "div",
    { class: "controls" },
    several &&
      h(
        "label",
        { class: "stretch" },
        "Slice ",
        h("input", {
          type: "range",
          class: "which",
          "data-key": "slice",
          min: 0,
          max: slices.titles.length - 1,
          value: now,
          "aria-valuetext": slices.titles[now],
          oninput: event => go({ slice: event.target.value }, false),
        }),
      ),
    several && h("output", { class: "title" }, slices.titles[now]),
    choice("Order", "order", [
      ["components", "by component"],
      ["data", "as in the data"],
    ]),
    hasData &&
      choice("Beside the data", "show", [
        ["both", "reconstruction"],
        ["difference", "difference"],
      ]),
  );
  return [
    !narrow() && controls,
    h(
      "div",
      { class: "pair" },
      pictures.map(([name, grid], at) =>
        h(
          "figure",
          { class: "cells" },
          h("figcaption", {}, h("strong", {}, names[name]), at === 0 && zoomButtons(grid), grid.save()),
          h("div", { class: "wide" }, grid.canvas),
        ),
      ),
    ),
    narrow() && controls, // on a phone the picture comes first
    h(
      "p",
      { class: "quiet" },
      "Rows: " + page.modes[slices.rows].plural + "; columns: " + page.modes[slices.columns].plural + "; ",
      several && now === 0 ? "shade: share of ones, 0 " : "shade: probability of a one, 0 ",
      scaleBar(),
      " " + largestShade(now) + (hasData ? "; grey: missing. " : ". "),
      !active.length
        ? ""
        : selected() === null
          ? "Colours at the edges: the component that an index contributes most to. "
          : "Coloured at the edges: members of " + nameOf(selected()) + ". ",
      "Drag over a part to enlarge it, click to see all about a label.",
      slices.complete
        ? ""
        : " The tensor is too large to show in full: " +
            slices.row_indices.length +
            " rows, " +
            slices.column_indices.length +
            " columns and " +
            times(slices.titles.length - (several ? 1 : 0), "slice") +
            " are shown, evenly spaced.",
      hasData ? "" : " To see the data beside the reconstruction, pass them to report as X.",
    ),
    h("p", { class: "text" }, finding().noise),
    page.notes.length ? h("p", { class: "text" }, "About the data: " + page.notes.join(" ")) : null,
    active.length ? h("div", { class: "body" }, overlapMap(), componentTable()) : null,
  ];
};
