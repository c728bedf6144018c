// Whether the chains agree, why there are so many components, and how to repeat the fit.
const plainTable = (name, caption, rows, most = 30) =>
  rows.length
    ? makeTable({
        name,
        caption,
        rows,
        most,
        columns: Object.keys(rows[0])
          .filter(key => rows.some(row => row[key] !== null && row[key] !== ""))
          .map(key => {
            const digits = Math.max(...rows.map(row => (String(row[key]).split(".")[1] || "").length));
            const show = row =>
              typeof row[key] === "number"
                ? row[key].toLocaleString("en", { minimumFractionDigits: digits })
                : row[key];
            return { name: key, value: row => row[key], show, word: typeof rows[0][key] === "string" };
          }),
      })
    : null;
const viewSelection = ({ best, reason, score, shares, tried }) => {
  const scores = tried.map(row => row[1]),
    digits = clamp(2 - Math.floor(Math.log10(Math.max(...scores) - Math.min(...scores) || 1)), 0, 9); // enough to tell them apart
  const scoreText = value => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return h(
    "section",
    {},
    h("h3", {}, "Why " + times(best, "component") + "?"),
    h("p", { class: "text" }, reason),
    h(
      "div",
      { class: "body" },
      lineChart({
        title: score,
        xName: "components",
        whole: true,
        dots: true,
        mark: best,
        low: shares ? 0 : undefined,
        high: shares ? 1.05 : undefined,
        errors: tried.map(row => row[2]),
        lines: [
          {
            name: score,
            x: tried.map(row => row[0]),
            y: tried.map(row => row[1]),
            colour: colours.lines[0],
          },
        ],
      }),
      makeTable({
        name: "numbers of components",
        caption: "Tried",
        rows: tried,
        most: 12,
        mark: row => row[0] === best,
        columns: [
          { name: "components", value: row => row[0] },
          {
            name: score,
            value: row => row[1],
            show: row => scoreText(row[1]),
          },
          { name: "standard error", value: row => row[2], show: row => (row[2] ? row[2].toPrecision(2) : "") },
        ],
      }),
    ),
  );
};
const viewAssociations = () => {
  const { tested, rows, q } = page.associations;
  if (!tested) return null;
  return h(
    "section",
    {},
    h("h3", {}, "Components and metadata"),
    h(
      "p",
      { class: "text" },
      times(tested, "association") +
        " were tested. Groups: do more members belong to the group than expected by chance (Fisher's exact test, one-sided)? Numbers: are they larger or smaller among members (Mann-Whitney test, two-sided)? " +
        (rows.length ? whole(rows.length) : "None") +
        " of them " +
        (rows.length === 1 ? "has" : "have") +
        " q ≤ " +
        q +
        " after the Benjamini-Hochberg correction for multiple tests. The tests assume that indices are independent of each other.",
    ),
    associationTable(null, 20),
  );
};
const viewFit = () => {
  const { conclusion, fine, texts, chains, quantities } = page.fit;
  const traces = page.traces.map(line => ({
    name: "chain " + line.chain + (line.explanation ? ", explanation " + line.explanation : ""),
    x: line.x,
    y: line.y,
    colour: colours.lines[line.chain % 7],
    faint: line.explanation > 0,
  }));
  return [
    h(
      "section",
      {},
      h("h3", {}, "Do the chains agree?"),
      h("p", { class: "state " + (fine ? "fine" : "heed") }, conclusion),
      h("p", { class: "text" }, texts.join(" ")),
      traces.length && traces[0].x.length > 1
        ? lineChart({ title: "Log-likelihood of the draws", xName: "draw", lines: traces })
        : null,
      h(
        "div",
        { class: "body" },
        plainTable("chains", "The chains compared", chains),
        plainTable(
          "mixing",
          "How well the chains have mixed",
          quantities,
        ),
      ),
    ),
    page.selection && viewSelection(page.selection),
    viewAssociations(),
    h(
      "section",
      {},
      h("h3", {}, "How to repeat this fit"),
      h(
        "dl",
        { class: "facts" },
        Object.entries({ tensorm: page.version, ...page.facts }).map(([name, value]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, value)),
        ),
      ),
      page.command !== null && [h("h4", {}, "In a terminal"), h("pre", {}, h("code", {}, page.command))],
      page.recipe !== null &&
        page.command === null && [h("h4", {}, "In Python"), h("pre", {}, h("code", {}, page.recipe))],
      page.settings.random_state === "None" && page.command === null
        ? h(
            "p",
            { class: "quiet" },
            "No random seed (random_state) was set, so another fit will give different draws; save this one with model.save.",
          )
        : null,
      Object.keys(page.settings).length && page.command === null
        ? h(
            "details",
            {},
            h("summary", {}, "All settings"),
            plainTable(
              "settings",
              "Settings",
              Object.entries(page.settings).map(([setting, value]) => ({ setting, value })),
            ),
          )
        : null,
    ),
  ];
};
const viewDoubts = () => {
  const rows = doubtful();
  return rows.length
    ? [
        h(
          "p",
          { class: "text" },
          "Memberships with a probability between 0.1 and 0.9, nearest to one half first: the data leave these open.",
        ),
        doubtTable(rows, "doubts", "Doubtful memberships", 40),
      ]
    : [h("p", { class: "text" }, NO_DOUBT)];
};
