// Tables that can be sorted and taken away as CSV.
const FORMULA = /^[=+\-@\t\r]/,
  NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const csvField = value => {
  let text = value === null || value === undefined ? "" : String(value);
  if (FORMULA.test(text) && !NUMBER.test(text)) text = "'" + text; // no spreadsheet takes it for a formula
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
const toCsv = (columns, rows) =>
  [columns.map(column => column.name), ...rows.map(row => columns.map(column => column.value(row)))]
    .map(fields => fields.map(csvField).join(","))
    .join("\r\n") + "\r\n";

const sorting = {}; // of each table, by its name: while the page is open
const opened = new Set(); // tables that show all rows
const order = (columns, rows, { at, down }) => {
  const read = columns[at].value;
  return [...rows].sort((a, b) => {
    const [x, y] = [read(a), read(b)];
    if ((x ?? "") === "" || (y ?? "") === "") return ((x ?? "") === "") - ((y ?? "") === ""); // what is unknown comes last
    return (typeof x === "number" && typeof y === "number" ? x - y : compare(String(x), String(y))) * (down ? -1 : 1);
  });
};

// columns: [{ name, value(row), show(row) -> text or element, help, word }]; `most` rows are shown at first.
const makeTable = ({ name, caption, columns, rows, most = 20, mark }) => {
  const now = sorting[name],
    sorted = now ? order(columns, rows, now) : rows;
  const visible = printing || opened.has(name) ? sorted.slice(0, printing ? 60 : undefined) : sorted.slice(0, most);
  const sort = at => {
    const numeric = rows.some(row => typeof columns[at].value(row) === "number");
    sorting[name] = { at, down: now && now.at === at ? !now.down : numeric };
    render();
  };
  const head = columns.map((column, at) =>
    h(
      "th",
      {
        scope: "col",
        class: column.word && "word",
        title: column.help,
        "aria-sort": now && now.at === at ? (now.down ? "descending" : "ascending") : "none",
      },
      button(column.name, () => sort(at), { class: "sort", "data-key": name + at }),
    ),
  );
  const body = visible.map(row =>
    h(
      "tr",
      { class: mark && mark(row) ? "marked" : null },
      columns.map((column, at) => {
        const content = column.show ? column.show(row) : column.value(row);
        return h(
          at ? "td" : "th",
          { scope: at ? null : "row", class: column.word && "word" },
          typeof content === "number" ? content.toLocaleString("en") : (content ?? ""),
        );
      }),
    ),
  );
  const csv = () =>
    download(
      fileName(page.title + " " + name) + ".csv",
      new Blob(["\ufeff" + toCsv(columns, sorted)], { type: "text/csv" }),
    );
  return h(
    "div",
    { class: "table", "data-table": name },
    h(
      "p",
      { class: "caption" },
      h("strong", {}, caption),
      " ",
      h("span", { class: "count" }, whole(rows.length)),
      h("span", { class: "save" }, button("CSV", csv, { title: "Save this table as CSV" })),
    ),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body))),
    visible.length < rows.length &&
      !printing &&
      button(
        "show all " + whole(rows.length),
        () => {
          opened.add(name);
          render();
        },
        { "data-key": name + "all" },
      ),
  );
};
const labelLink = (k, n) =>
  button(label(k, n), () => openLabel(k, n), {
    class: "link label",
    "data-key": "label " + k + ":" + n,
    "data-label": k + ":" + n,
    title: page.modes[k].name + " " + label(k, n),
  });
const componentLink = l => button(nameOf(l), () => openComponent(l), { class: "link", "data-key": "open " + l });
const number = l => {
  const made = h("span", { class: "number" }, String(l));
  made.style.borderColor = colourOf(l);
  return made;
};
const bar = (share, text) => {
  const length = h("i");
  length.style.width = clamp(100 * share, 0, 100) + "%";
  return h("span", { class: "bar-cell" }, h("span", { class: "track" }, length), h("span", {}, text));
};
