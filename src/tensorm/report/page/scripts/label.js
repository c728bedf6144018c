// All about one label: its components, most likely unknown cells, activity and metadata.
const sameThings = k => (page.pair && page.pair.includes(k) && !page.compares ? page.pair : [k]);
const cellColumns = (skip = []) =>
  page.modes
    .map((mode, k) => ({
      name: mode.name,
      value: cell => label(k, cell[k]),
      show: cell => labelLink(k, cell[k]),
      word: true,
    }))
    .filter((_, k) => !skip.includes(k));
const probability = {
  name: "p",
  value: cell => cell.at(-1) / 1000,
  show: cell => (cell.at(-1) / 1000).toFixed(3),
  help: "probability of a one",
};
// Mirror images are one cell.
const once = cells => {
  if (!page.mirrored || !page.pair) return cells;
  const [i, j] = page.pair,
    seen = new Set();
  return cells.filter(cell => {
    const key = cell
      .slice(0, K)
      .map((n, k) => (k === i ? Math.min(cell[i], cell[j]) : k === j ? Math.max(cell[i], cell[j]) : n))
      .join();
    return !seen.has(key) && seen.add(key);
  });
};
const labelFacts = (k, n) => {
  const mode = page.modes[k],
    facts = mode.columns.filter(column => column.values[n]).map(column => column.name + ": " + column.values[n]);
  if (mode.activity)
    facts.push(
      "activity outside the components: " +
        mode.activity.mean[n].toPrecision(2) +
        " (90% interval " +
        mode.activity.low[n].toPrecision(2) +
        " to " +
        mode.activity.high[n].toPrecision(2) +
        "; 1 is average)",
    );
  return facts;
};
const renderLabel = () => {
  const panel = byId("label"),
    focus = chosen();
  if (!focus) return panel.replaceChildren();
  const { k, n } = focus,
    modes = sameThings(k);
  const rows = modes
    .flatMap(j =>
      range(L)
        .filter(l => chance(j, n, l) > Math.min(0.1, threshold()))
        .map(l => ({ j, l })),
    )
    .filter(
      ({ j, l }, i, all) =>
        j === k || !all.some(row => row.j === k && row.l === l && groupModes(l).some(group => group.length > 1)),
    )
    .sort((a, b) => chance(b.j, n, b.l) - chance(a.j, n, a.l) || a.l - b.l);
  const unknown = once(
    page.unknown.filter(cell => modes.some(j => cell[j] === n)).sort((a, b) => b.at(-1) - a.at(-1)),
  ).slice(0, 8);
  panel.replaceChildren(
    h(
      "header",
      {},
      h("h2", {}, label(k, n)),
      button("×", () => go({ label: "" }), { class: "close", "aria-label": "Close", title: "Close (Escape)" }),
    ),
    h(
      "p",
      { class: "quiet" },
      page.modes[k].name + (modes.length > 1 ? " (" + listed(modes.map(j => page.modes[j].name)) + ")" : ""),
    ),
    ...labelFacts(k, n).map(text => h("p", { class: "fact" }, text)),
    rows.length
      ? makeTable({
          name: "components of " + label(k, n),
          caption: "Its components",
          rows,
          most: 12,
          columns: [
            {
              name: "component",
              value: row => nameOf(row.l) + (row.j === k ? "" : " (as " + page.modes[row.j].name + ")"),
              show: row => [componentLink(row.l), row.j === k ? "" : " as " + page.modes[row.j].name],
              word: true,
            },
            {
              name: "p",
              value: row => chance(row.j, n, row.l),
              show: row => hundredths(chance(row.j, n, row.l)),
              help: "probability of membership",
            },
            ...(hasData
              ? [
                  {
                    name: "shows",
                    value: row => Math.max(0, shown(row.j, n, row.l)) / 100,
                    show: row => (shown(row.j, n, row.l) < 0 ? "" : shown(row.j, n, row.l) + "%"),
                    help: "share of the component's observed cells with this label that are 1",
                  },
                  {
                    name: "own",
                    value: row => Math.max(0, own(row.j, n, row.l)) / 100,
                    show: row => (own(row.j, n, row.l) < 0 ? "" : own(row.j, n, row.l) + "%"),
                    help: "share of these ones that no other component explains",
                  },
                ]
              : []),
          ],
        })
      : h("p", {}, "In no component."),
    unknown.length
      ? makeTable({
          name: "unknown cells of " + label(k, n),
          caption: "Most likely cells that are not known to be 1",
          rows: unknown,
          most: 8,
          columns: [...cellColumns(page.mirrored && modes.length > 1 ? [] : [k]), probability],
        })
      : "",
    alikeTable(k, n),
  );
};
// Others of the same mode that are in the same components.
const alikeTable = (k, n) => {
  const mine = inComponents(k, n);
  if (!mine.length) return "";
  const shared = m => mine.filter(l => chance(k, m, l) > threshold()).length;
  const alike = m => shared(m) / (mine.length + inComponents(k, m).length - shared(m) || 1);
  const rows = range(sizes[k])
    .filter(m => m !== n && shared(m))
    .map(m => [m, alike(m)])
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return rows.length
    ? makeTable({
        name: "like " + label(k, n),
        caption: "In the same components",
        rows: rows.slice(0, 200),
        most: 6,
        columns: [
          { name: page.modes[k].name, value: ([m]) => label(k, m), show: ([m]) => labelLink(k, m), word: true },
          {
            name: "alike",
            value: ([, share]) => share,
            show: ([, share]) => bar(share, percent(share)),
            help: "components that both are in, as a share of those that at least one of them is in",
          },
        ],
      })
    : "";
};
