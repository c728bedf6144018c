// One component: who is in it, what each member contributes, its cells, doubts and overlaps.
const memberTable = (l, group) => {
  const rows = ranked(group, l),
    k = group[0],
    focus = chosen(),
    partner = partnerShares(l, group, focus);
  const name = listed(group.map(k => page.modes[k].name)),
    uncertain = rows.some(n => mean(group, k => chance(k, n, l)) < 0.995);
  const values = {
    p: n => mean(group, k => chance(k, n, l)),
    shown: n => mean(group, k => shown(k, n, l)),
    own: n => mean(group, k => own(k, n, l)),
  };
  const known = read => n => (read(n) < 0 ? null : Math.round(read(n)) / 100);
  return makeTable({
    name: name + " of component " + l,
    caption: name,
    rows,
    most: narrow() ? 4 : 12,
    mark: n => focus && group.includes(focus.k) && focus.n === n,
    columns: [
      { name: page.modes[k].name, value: n => label(k, n), show: n => labelLink(k, n), word: true },
      ...(hasData
        ? [
            {
              name: "shows",
              value: known(values.shown),
              show: n => bar(values.shown(n) / 100, values.shown(n) < 0 ? "" : Math.round(values.shown(n)) + "%"),
              help: "share of the component's observed cells with this label that are 1",
            },
            {
              name: "own",
              value: known(values.own),
              show: n => (values.own(n) < 0 ? "" : Math.round(values.own(n)) + "%"),
              help: "share of these ones that no other component explains",
            },
          ]
        : []),
      ...(uncertain || !hasData
        ? [
            {
              name: "p",
              value: n => Number(values.p(n).toFixed(3)),
              show: n => (values.p(n) < 0.995 || !hasData ? hundredths(values.p(n)) : ""),
              help: "probability of membership, where it is not 1",
            },
          ]
        : []),
      ...(partner
        ? [
            {
              name: "with " + label(focus.k, focus.n),
              value: partner,
              show: n => {
                const share = partner(n);
                return share === null ? "" : bar(share, Math.round(100 * share) + "%");
              },
              help: "share of ones among the cells of both",
            },
          ]
        : []),
    ],
  });
};
// How often members of a mode have ones together with the selected label, by the component's picture.
const partnerShares = (l, group, focus) => {
  const block = page.components[l].block;
  if (!focus || !block || group.includes(focus.k)) return null;
  const mine = block.at[focus.k].indexOf(focus.n),
    k = group[0];
  if (mine < 0) return null;
  const [i, j] = [Math.min(k, focus.k), Math.max(k, focus.k)],
    shares = block.pairs[i + "," + j],
    across = block.at[j].length;
  return n => {
    const other = block.at[k].indexOf(n);
    if (other < 0) return null;
    const share = k === i ? shares[other * across + mine] : shares[mine * across + other];
    return share < 0 ? null : share / 100;
  };
};
const blockPicture = (l, width) => {
  const block = page.components[l].block;
  if (!block) return null;
  const names = Object.keys(block.pairs),
    usual = page.slices.rows + "," + page.slices.columns,
    pair = names.includes(state.pair) ? state.pair : usual;
  const [i, j] = pair.split(",").map(Number),
    across = block.at[j].length,
    focus = chosen();
  const ranks = k => {
    const places = new Map(ranked([k], l).map((n, rank) => [n, rank]));
    return range(block.at[k].length).sort(
      (a, b) => (places.get(block.at[k][a]) ?? 1e9) - (places.get(block.at[k][b]) ?? 1e9),
    );
  };
  const rows = ranks(i),
    columns = ranks(j),
    value = (r, c) => block.pairs[pair][rows[r] * across + columns[c]];
  const alike = k => focus && (focus.k === k || (page.pair && page.pair.includes(k) && page.pair.includes(focus.k)));
  const grid = makeGrid({
    name: "Cells of component " + l,
    zoomName: "block " + l + pair,
    zoomable: true,
    rows: rows.length,
    columns: columns.length,
    width,
    height: narrow() ? 215 : 460,
    most: 18,
    value,
    rowLabel: r => label(i, block.at[i][rows[r]]),
    columnLabel: c => label(j, block.at[j][columns[c]]),
    lit: {
      row: r => alike(i) && block.at[i][rows[r]] === focus.n,
      column: c => alike(j) && block.at[j][columns[c]] === focus.n,
    },
    say: (r, c) =>
      label(i, block.at[i][rows[r]]) +
      ", " +
      label(j, block.at[j][columns[c]]) +
      "\n" +
      (value(r, c) < 0 ? "missing" : "share of ones: " + hundredths(value(r, c) / 100)),
    click: r => openLabel(i, block.at[i][rows[r]]),
    clickRow: r => openLabel(i, block.at[i][rows[r]]),
    clickColumn: c => openLabel(j, block.at[j][columns[c]]),
  });
  return h(
    "figure",
    { class: "block" },
    h(
      "figcaption",
      {},
      h("strong", {}, hasData ? "Its cells" : "Its predicted cells"),
      names.length > 1 &&
        choice(
          "",
          "pair",
          names.map(name => [
            name,
            name
              .split(",")
              .map(k => page.modes[k].name)
              .join(" × "),
          ]),
          pair,
        ),
      !narrow() && zoomButtons(grid),
      grid.save(),
    ),
    h("div", { class: "wide" }, grid.canvas),
    h(
      "p",
      { class: "quiet" },
      (K > 2 ? "Shade: share of ones over its members in the other mode" + (K > 3 ? "s" : "") + "; grey" : "Grey") +
        ": missing." +
        (narrow() ? "" : " Most contributing members first.") +
        (state.t === DEFAULTS.t ? "" : " Members above 0.50.") +
        (block.complete ? "" : " A sample of its members is shown."),
    ),
  );
};
const NO_DOUBT = "No membership is in doubt: all probabilities are below 0.1 or above 0.9.";
const doubtTable = (rows, name, caption, most = narrow() ? 3 : 8) =>
  makeTable({
    name,
    caption,
    rows,
    most,
    columns: [
      { name: "label", value: row => label(row.k, row.n), show: row => labelLink(row.k, row.n), word: true },
      { name: "mode", value: row => page.modes[row.k].name, word: true },
      ...(name === "doubts"
        ? [{ name: "component", value: row => nameOf(row.l), show: row => componentLink(row.l), word: true }]
        : []),
      { name: "p", value: row => row.p, show: row => hundredths(row.p), help: "probability of membership" },
      ...(hasData
        ? [
            {
              name: "shows",
              value: row => Math.max(0, shown(row.k, row.n, row.l)) / 100,
              show: row => {
                const share = shown(row.k, row.n, row.l);
                return share < 0 ? "" : bar(share / 100, share + "%");
              },
              help: "share of the component's observed cells with this label that are 1",
            },
          ]
        : []),
    ],
  });
const overlapTable = l => {
  const rows = range(L)
    .filter(other => other !== l && !isEmpty(other) && overlap(l, other) > 0)
    .sort((a, b) => overlap(l, b) - overlap(l, a));
  return rows.length
    ? makeTable({
        name: "overlaps of component " + l,
        caption: "Overlaps with",
        rows,
        most: narrow() ? 2 : 4,
        columns: [
          { name: "component", value: nameOf, show: componentLink, word: true },
          {
            name: "of its cells",
            value: other => overlap(l, other),
            show: other => bar(overlap(l, other), percent(overlap(l, other))),
            help: "share of this component's cells that are in the other",
          },
          { name: "of the other's", value: other => overlap(other, l), show: other => percent(overlap(other, l)) },
        ],
      })
    : null;
};
const associationTable = (l, most) => {
  const rows = page.associations.rows.filter(row => l === null || row.component === l);
  return rows.length
    ? makeTable({
        name: l === null ? "associations" : "associations of component " + l,
        caption: "Associated with",
        rows,
        most,
        columns: [
          ...(l === null
            ? [{ name: "component", value: row => row.component, show: row => componentLink(row.component) }]
            : []),
          { name: "mode", value: row => row.mode, word: true },
          { name: "metadata", value: row => row.metadata, word: true },
          { name: "members", value: row => row.members },
          { name: "compared with", value: row => row["compared with"] },
          {
            name: "q",
            value: row => row.q,
            show: row => (row.q < 1e-12 ? "< 1e-12" : row.q < 0.001 ? row.q.toExponential(0) : row.q.toPrecision(1)),
            help: "p corrected for multiple tests",
          },
        ],
      })
    : null;
};
const componentHead = l =>
  h(
    "header",
    { class: "component-head" },
    h(
      "h2",
      {},
      number(l),
      h("input", {
        class: "rename",
        "aria-label": "Name of component " + l,
        title: "Click to rename; names are saved in the page's URL",
        value: nameOf(l),
        "data-key": "name " + l,
        spellcheck: "false",
        onchange: event => rename(l, event.target.value),
        onkeydown: event => event.key === "Enter" && event.target.blur(),
      }),
    ),
    h(
      "span",
      { class: "steps" },
      button("‹", () => step(-1), { "aria-label": "Previous component", title: "Previous component (key p)" }),
      button("›", () => step(1), { "aria-label": "Next component", title: "Next component (key n)" }),
    ),
  );
const step = by => {
  const full = [...document.querySelectorAll("#index .entry")].map(entry => Number(entry.dataset.component));
  if (full.length) openComponent(full[(full.indexOf(selected()) + by + full.length) % full.length]);
};
const viewComponent = (l = selected() ?? range(L).find(l => !isEmpty(l)) ?? null) => {
  if (l === null)
    return [
      h(
        "p",
        { class: "text" },
        "No component has members in every mode at this threshold.",
      ),
    ];
  if (state.view === "component" && selected() === null && !printing) {
    state.c = String(l);
  }
  if (isEmpty(l))
    return [
      componentHead(l),
      h(
        "p",
        { class: "text" },
        "At least one mode has no member above this threshold, so the component covers nothing. Found by " +
          page.components[l].chains +
          " of " +
          page.chains +
          " chains.",
      ),
    ];
  const groups = groupModes(l),
    doubts = doubtful(l);
  return [
    componentHead(l),
    h(
      "div",
      { class: "sentence" },
      tellParts(l).map(([name, text]) =>
        h("p", { class: "part" }, name && h("span", { class: "mode" }, name), " " + text + "."),
      ),
      h("p", { class: "quiet" }, [tellSize(l), tellCertainty(l), tellChains(l)].filter(Boolean).join(" ")),
    ),
    h(
      "div",
      { class: "body" },
      arrangeTables(
        l,
        groups,
        [
          doubts.length
            ? doubtTable(doubts, "doubts of component " + l, "In doubt, nearest to one half first")
            : h("p", { class: "quiet" }, NO_DOUBT),
          overlapTable(l),
          associationTable(l, narrow() ? 3 : 6),
        ].filter(Boolean),
      ),
    ),
  ];
};
// Members of the modes, the picture and the other tables, which go below a short list of members if there is one.
const arrangeTables = (l, groups, others) => {
  const room = byId("view").clientWidth,
    lengths = groups.map(group => Math.min(12, members(group[0], l).length)),
    short = lengths.indexOf(Math.min(...lengths)),
    below = room >= 880 && groups.length < 3 && lengths[short] < 7 && others.length < 3;
  const picture = blockPicture(l, Math.min(room, clamp(room - (below ? 600 : 530), 330, 480)));
  const tables = groups.map((group, at) =>
    below && at === short ? h("div", { class: "column below" }, memberTable(l, group), others) : memberTable(l, group),
  );
  return [tables, picture, below ? null : h("div", { class: "aside" }, others)];
};
