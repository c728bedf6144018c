// Cells that the fit did not expect, and cells that it expects to be 1.
const viewCells = () => {
  const ofValue = value => once(page.surprises.filter(cell => cell.at(-2) === value));
  const tied = rows => rows.length > 50 && rows[0].at(-1) === rows.at(-1).at(-1);
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
      "Cells in which data and reconstruction differ most: ones with a low probability, and zeros with a high one." +
        (tied(ofValue(1)) || tied(ofValue(0)) ? " Of many that are equally unexpected, a random few are listed." : ""),
    ),
    h(
      "div",
      { class: "body" },
      table("unexpected ones", "Unexpected ones", ofValue(1)),
      table("unexpected zeros", "Unexpected zeros", ofValue(0)),
      unknown.length ? table("likely cells", "Other likely cells, not known to be 1", unknown) : null,
      page.compares ? null : residualTable(),
    ),
  ];
};
// Labels with more or fewer ones than the fit expects: what the components miss.
const residualTable = () => {
  const rows = page.residuals.filter(([k]) => !(page.mirrored && page.pair && k === page.pair[1]));
  return rows.length
    ? makeTable({
        name: "residuals of labels",
        caption: "Labels with more or fewer ones than expected",
        rows,
        most: 15,
        columns: [
          { name: "label", value: ([k, n]) => label(k, n), show: ([k, n]) => labelLink(k, n), word: true },
          { name: "mode", value: ([k]) => page.modes[k].name, word: true },
          { name: "ones", value: row => row[2] },
          { name: "expected", value: row => row[3] },
          { name: "difference", value: row => row[4], help: "in standard errors" },
        ],
      })
    : h("p", { class: "quiet" }, "No label has clearly more or fewer ones than the fit expects.");
};
