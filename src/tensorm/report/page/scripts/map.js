// A mode as a map of labels by components. Only visible rows are drawn, so thousands scroll as smoothly as ten.
const HEAD = 40;
const scrolled = {}; // how far, by mode and order
const mapOrder = (k, by) => {
  const mode = page.modes[k],
    [kind, text] = by.split(" "),
    at = Number(text);
  if (kind === "label") return (a, b) => compare(mode.labels[a], mode.labels[b]);
  if (kind === "c" && at < L) return (a, b) => chance(k, b, at) - chance(k, a, at);
  if (kind === "activity" && mode.activity) return (a, b) => mode.activity.mean[b] - mode.activity.mean[a];
  const side = kind === "column" ? mode.columns[at] : null;
  if (side && side.numbers) return (a, b) => (side.numbers[a] ?? Infinity) - (side.numbers[b] ?? Infinity) || 0;
  if (side)
    return (a, b) => (side.values[a] === "") - (side.values[b] === "") || compare(side.values[a], side.values[b]);
  if (kind === "component")
    return (a, b) =>
      mode.home[a] - mode.home[b] || (mode.home[a] < L ? chance(k, b, mode.home[b]) - chance(k, a, mode.home[a]) : 0);
  return () => 0;
};
const mapRows = k => {
  const mode = page.modes[k],
    text = state.find.trim().toLowerCase(),
    [column, ...rest] = state.filter.split("="),
    wanted = rest.join("=");
  const fits = n =>
    (!text ||
      mode.labels[n].toLowerCase().includes(text) ||
      mode.columns.some(part => part.values[n].toLowerCase().includes(text))) &&
    (!state.filter || !mode.columns[column] || mode.columns[column].values[n] === wanted) &&
    (!state.only || inComponents(k, n).length > 0);
  return range(sizes[k]).filter(fits).sort(mapOrder(k, state.by));
};
const mapPicture = (k, rows) => {
  const mode = page.modes[k],
    canvas = h("canvas", {
      tabindex: "0",
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": "Probabilities of " + mode.plural + " in components; use the arrow keys to move, Enter to open",
    });
  const spacer = h("div", { class: "spacer" }, canvas),
    scroller = h("div", { class: "scroller" }, spacer);
  const room = byId("view").clientWidth - 4,
    height = printing ? clamp(800 / Math.max(1, rows.length), 0.2, 18) : 20;
  const column = state.by.startsWith("column ") ? mode.columns[Number(state.by.split(" ")[1])] : null;
  const side = column
    ? column.values
    : state.by === "activity" && mode.activity
      ? mode.activity.mean.map(value => value.toPrecision(2))
      : null;
  const left = 12 + widest(mode.labels, 13, room < 500 ? 112 : 220),
    note = side ? 8 + widest(side, 13, room < 500 ? 70 : 150) : 0;
  const field = clamp(Math.floor((room - left - note - 16) / Math.max(1, L)), 9, 44),
    width = left + L * field + note + 4;
  const focus = chosen(),
    partners = focus && sameThings(focus.k).includes(k) ? focus.n : null;
  const near = focus && partners === null ? new Set(inComponents(focus.k, focus.n)) : null; // highlight members of the same components
  const lit = n => n === partners || (near && inComponents(k, n).some(l => near.has(l)));
  let at = null;
  spacer.style.height = HEAD + rows.length * height + 4 + "px";
  spacer.style.width = width + "px";
  const paint = (pen, top, tall, saving) => {
    const first = Math.floor(top / height),
      last = Math.min(rows.length, Math.ceil((top + tall - HEAD) / height));
    pen.textBaseline = "middle";
    for (let i = first; i < last; i++) {
      const n = rows[i],
        y = HEAD + i * height - top;
      for (let l = 0; l < L; l++) {
        pen.fillStyle = colours.shades[Math.round(100 * chance(k, n, l))];
        pen.fillRect(left + l * field, y, field - 1, height >= 6 ? height - 1 : height + 0.5);
      }
      if (height < 9) continue;
      setFont(pen, 13, lit(n) ? 600 : 400);
      pen.textAlign = "left";
      pen.fillStyle = lit(n) || (!saving && at && at.row === i) ? colours.cross : colours.ink;
      pen.fillText(shorten(pen, mode.labels[n], left - 12), 8, y + height / 2);
      pen.fillStyle = colours.soft;
      if (side) pen.fillText(shorten(pen, side[n], note - 8), left + L * field + 8, y + height / 2);
    }
    pen.fillStyle = colours.sheet;
    pen.fillRect(0, 0, width, HEAD - 1);
    pen.textAlign = "center";
    const skip = Math.ceil(22 / field);
    for (let l = 0; l < L; l++) {
      if (l % skip && !(at && at.column === l)) continue;
      pen.fillStyle = (at && at.column === l) || l === selected() ? colours.cross : colours.ink;
      setFont(pen, 13, 600);
      pen.fillText(String(l), left + l * field + field / 2, 14);
      pen.fillStyle = colours.soft;
      setFont(pen, 10);
      if (field >= 22) pen.fillText(String(members(k, l).length), left + l * field + field / 2, 30);
    }
    if (!saving && at) {
      pen.strokeStyle = colours.cross;
      pen.lineWidth = 2;
      pen.strokeRect(left + at.column * field - 0.5, HEAD + at.row * height - top - 0.5, field, height);
    }
  };
  const tall = () => Math.min(printing ? 1e6 : 600, HEAD + rows.length * height + 4);
  const draw = () => paint(prepare(canvas, width, tall()), scroller.scrollTop, tall(), false);
  const say = () =>
    [
      mode.labels[rows[at.row]],
      nameOf(at.column) + ": " + hundredths(chance(k, rows[at.row], at.column)),
      ...labelFacts(k, rows[at.row]),
    ].join("\n");
  const find = event => {
    const row = Math.floor((event.offsetY - HEAD + scroller.scrollTop) / height),
      column = Math.floor((event.offsetX - left) / field);
    return {
      row: event.offsetY >= HEAD && row < rows.length ? row : null,
      column: column >= 0 && column < L ? column : null,
    };
  };
  const leave = () => {
    at = null;
    hideTip();
    draw();
  };
  canvas.addEventListener("pointermove", event => {
    const where = find(event);
    if (where.row === null || where.column === null) {
      if (at) leave();
      return;
    }
    at = where;
    draw();
    showTip(say(), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("click", event => {
    const where = find(event);
    if (where.row !== null) openLabel(k, rows[where.row]);
    else if (where.column !== null) go({ by: "c " + where.column, c: where.column });
  });
  canvas.addEventListener("keydown", event => {
    if (event.key === "Escape" && at) {
      event.stopPropagation();
      return leave();
    }
    if (event.key === "Enter" && at) return openLabel(k, rows[at.row]);
    if (event.altKey || event.metaKey || !rows.length || !L) return;
    const next = nextCell(event, at, { top: 0, left: 0, bottom: rows.length, right: L });
    if (!next) return;
    at = next;
    const y = at.row * height,
      space = scroller.clientHeight - HEAD - height;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    if (y > scroller.scrollTop + space) scroller.scrollTop = y - space;
    draw();
    const box = canvas.getBoundingClientRect();
    showTip(say(), box.left + left + (at.column + 1) * field, box.top + HEAD + y - scroller.scrollTop);
  });
  const place = [k, state.by, state.find, state.filter, state.only].join();
  const scroll = () => {
    scrolled[place] = scroller.scrollTop;
    requestAnimationFrame(draw);
  };
  scroller.addEventListener("scroll", scroll, { passive: true });
  queueMicrotask(() => {
    // when it is in the page: stay where the reader was, or go to the selected label
    scroller.scrollTop = scrolled[place] ?? Math.max(0, rows.indexOf(partners) * height - 200);
    draw();
  });
  const all = () => [width, HEAD + Math.min(rows.length, 1000) * height];
  draw();
  return { element: scroller, save: saveButtons("map of " + mode.plural, all, pen => paint(pen, 0, all()[1], true)) };
};
const shareColumn = (name, read, help) => ({
  name,
  value: row => (read(row.k, row.n, row.l) < 0 ? null : read(row.k, row.n, row.l) / 100),
  show: row => (read(row.k, row.n, row.l) < 0 ? "" : read(row.k, row.n, row.l) + "%"),
  help,
});
const viewMap = () => {
  const shownModes = range(K).filter(
    k =>
      !(
        page.pair &&
        k === page.pair[1] &&
        !page.compares &&
        range(L).every(l => groupModes(l).some(group => group.length > 1))
      ),
  );
  const k =
      shownModes.includes(Number(state.mode)) && state.mode !== ""
        ? Number(state.mode)
        : shownModes.includes(page.slices.rows)
          ? page.slices.rows
          : shownModes[0],
    mode = page.modes[k];
  const rows = mapRows(k),
    picture = mapPicture(k, rows);
  return [
    h(
      "div",
      { class: "controls" },
      h(
        "span",
        { class: "tabs small", role: "group", "aria-label": "Mode" },
        shownModes.map(j =>
          button(page.modes[j].plural, () => go({ mode: j, by: "component", find: "", filter: "" }), {
            "aria-pressed": String(j === k),
            "data-key": "mode " + j,
          }),
        ),
      ),
      choice("Order", "by", [
        ["component", "by component"],
        ["data", "as in the data"],
        ["label", "by label"],
        ...(mode.activity ? [["activity", "by activity"]] : []),
        ...mode.columns.map((column, i) => ["column " + i, "by " + column.name]),
        ...range(L).map(l => ["c " + l, "by " + nameOf(l).toLowerCase()]),
      ]),
      mode.columns.some(column => column.categories.length) &&
        choice("Only", "filter", [
          ["", "all"],
          ...mode.columns.flatMap((column, i) =>
            column.categories.slice(0, 200).map(value => [i + "=" + value, column.name + ": " + value]),
          ),
        ]),
      h(
        "label",
        {},
        "Find ",
        h("input", {
          type: "search",
          class: "find",
          "data-key": "find",
          value: state.find,
          placeholder: mode.labels[0].slice(0, 16),
          autocomplete: "off",
          spellcheck: "false",
          oninput: event => go({ find: event.target.value }, false),
        }),
      ),
      h(
        "label",
        { class: "tick" },
        h("input", {
          type: "checkbox",
          class: "members-only",
          "data-key": "only",
          checked: state.only !== "",
          onchange: event => go({ only: event.target.checked ? "1" : "" }, false),
        }),
        " members only",
      ),
    ),
    h(
      "div",
      { class: "beside" },
      h(
        "div",
        { class: "column" },
        h(
          "p",
          { class: "caption" },
          h("strong", {}, mode.plural),
          " ",
          h(
            "span",
            { class: "count", "aria-live": "polite" },
            rows.length === sizes[k] ? whole(rows.length) : whole(rows.length) + " of " + whole(sizes[k]),
          ),
          picture.save,
        ),
        picture.element,
      ),
      makeTable({
        name: "members of all components",
        caption: "All members",
        most: 20,
        rows: page.modes.flatMap((_, j) => range(L).flatMap(l => ranked([j], l).map(n => ({ k: j, l, n })))),
        columns: [
          { name: "mode", value: row => page.modes[row.k].name, word: true },
          { name: "label", value: row => label(row.k, row.n), show: row => labelLink(row.k, row.n), word: true },
          { name: "component", value: row => nameOf(row.l), show: row => componentLink(row.l), word: true },
          {
            name: "p",
            value: row => Number(chance(row.k, row.n, row.l).toFixed(3)),
            show: row => hundredths(chance(row.k, row.n, row.l)),
            help: "probability of membership",
          },
          ...(hasData
            ? [
                shareColumn("shows", shown, "share of the component's observed cells with this label that are 1"),
                shareColumn("own", own, "share of these ones that no other component explains"),
              ]
            : []),
        ],
      }),
    ),
    h(
      "p",
      { class: "quiet" },
      "Rows: " +
        mode.plural +
        "; columns: components, with their numbers of members; shade: probability of membership. Click a row to see all about it, or a component's number to put its members first.",
    ),
  ];
};
