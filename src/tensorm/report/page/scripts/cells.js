// Cells that the fit did not expect, and cells that it expects to be 1.
const viewCells = () => {
  if (!hasData)
    return [h("p", { class: "text" }, "To see surprising and unknown cells, pass the data to report as X.")];
  const ofValue = value => once(page.surprises.filter(cell => cell.at(-2) === value));
  const table = (name, caption, rows) =>
    makeTable({ name, caption, rows, most: 15, columns: [...cellColumns(), probability] });
  const zeros = new Set(page.surprises.filter(cell => !cell.at(-2)).map(cell => String(cell.slice(0, K))));
  const unknown = once(
    page.unknown.filter(cell => !zeros.has(String(cell.slice(0, K)))).sort((a, b) => b.at(-1) - a.at(-1)),
  );
  return [
    h(
      "p",
      { class: "text" },
      "Cells in which data and reconstruction differ most: ones with a low probability, and zeros with a high one.",
    ),
    h(
      "div",
      { class: "body" },
      table("unexpected ones", "Unexpected ones", ofValue(1)),
      table("unexpected zeros", "Unexpected zeros", ofValue(0)),
      unknown.length ? table("likely cells", "Other likely cells, not known to be 1", unknown) : null,
    ),
    viewResiduals(),
  ];
};
// Labels with many surprises: what the components miss.
const viewResiduals = () => {
  const found = new Map();
  for (const cell of page.surprises)
    for (let k = 0; k < K; k++) {
      const key = k + ":" + cell[k],
        row = found.get(key) || { k, n: cell[k], ones: 0, zeros: 0 };
      row[cell.at(-2) ? "ones" : "zeros"]++;
      found.set(key, row);
    }
  const rows = [...found.values()].sort((a, b) => b.ones + b.zeros - a.ones - a.zeros);
  return makeTable({
    name: "labels with surprises",
    caption: "Labels among these cells",
    rows,
    most: 10,
    columns: [
      { name: "label", value: row => label(row.k, row.n), show: row => labelLink(row.k, row.n), word: true },
      { name: "mode", value: row => page.modes[row.k].name, word: true },
      { name: "unexpected ones", value: row => row.ones },
      { name: "unexpected zeros", value: row => row.zeros },
    ],
  });
};
