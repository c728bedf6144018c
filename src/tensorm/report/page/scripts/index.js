// The index: every component with its size, strength, what it explains alone, and who found it.
const ORDERS = {
  order: ["by importance", () => 0],
  size: ["by size", (a, b) => sizeOf(b) - sizeOf(a)],
  ...(page.components.some(c => c.strength)
    ? { strength: ["by strength", (a, b) => page.components[b].strength[0] - page.components[a].strength[0]] }
    : {}),
  ...(page.levels.told.some(told => told.counts.length)
    ? { alone: ["by ones alone", (a, b) => (countsOf(b).alone ?? 0) - (countsOf(a).alone ?? 0)] }
    : {}),
  chains: ["by chains", (a, b) => page.components[b].chains - page.components[a].chains],
  name: ["by name", (a, b) => compare(nameOf(a), nameOf(b))],
};
const shortNumber = value => (value < 100000 ? whole(value) : whole(value / 1000) + "k");
const indexItem = (l, most) => {
  const component = page.components[l],
    now = selected();
  const common = now === null || now === l || isEmpty(now) ? 0 : overlap(now, l);
  const counts = countsOf(l),
    share = counted() ? counts.explained / Math.max(1, counts.covered) : null;
  const facts = [
    shortNumber(sizeOf(l)) + (page.compares ? " comparisons" : " cells"),
    component.strength
      ? "strength " + percent(component.strength[0])
      : share === null
        ? null
        : percent(share) + (page.compares ? " correct" : " ones"),
    page.compares || !counted() ? null : percent(counts.alone / Math.max(1, page.ones)) + " alone",
  ];
  return h(
    "li",
    {},
    button(
      [
        number(l),
        h(
          "span",
          { class: "what" },
          h(
            "span",
            { class: "name" },
            h("span", {}, nameOf(l)),
            page.chains > 1 && foundBy(component.chains),
            common > 0 &&
              h(
                "span",
                { class: "overlap", title: "contains " + percent(common) + " of the cells of " + nameOf(now) },
                percent(common),
              ),
          ),
          h("span", { class: "short" }, shortly(l)),
          counted() &&
            h(
              "span",
              {
                class: "explains",
                title:
                  whole(counts.explained) + " ones, " + whole(counts.alone) + " of them in no other component",
              },
              proportion(counts, most),
            ),
          h(
            "span",
            {
              class: "facts",
              title: component.strength
                ? "observed cells; probability that it makes one of them 1 by itself; share of all ones that only it explains"
                : "observed cells; share of ones among them; share of all ones that only this component explains",
            },
            facts.filter(Boolean).join(" · "),
          ),
        ),
      ],
      () => openComponent(l),
      {
        class: "entry",
        "aria-current": now === l && state.view === "component" ? "true" : null,
        "data-key": "index " + l,
        "data-component": l,
        "data-holds": holds(l),
        "data-chains": component.chains < page.chains ? "few" : "all",
      },
    ),
  );
};
// Whether the chosen label is a member of the component.
const holds = l => {
  const focus = chosen();
  return Boolean(focus) && sameThings(focus.k).some(k => chance(k, focus.n, l) > threshold());
};
// How many chains found a component, as dots.
const foundBy = chains =>
  h(
    "span",
    { class: "found-by", title: "found by " + chains + " of " + page.chains + " chains" },
    page.chains > 6 ? chains + "/" + page.chains : "●".repeat(chains) + "○".repeat(page.chains - chains),
  );
// A bar of the ones a component explains, beside the largest; dark: those that only it explains.
const proportion = (counts, most) => {
  const bars = h("span", { class: "proportion" }),
    explained = h("i"),
    alone = h("b");
  explained.style.width = (100 * counts.explained) / most + "%";
  alone.style.width = (100 * counts.alone) / most + "%";
  bars.append(explained, alone);
  return bars;
};
const renderIndex = () => {
  const most = Math.max(1, ...range(L).map(l => countsOf(l).explained ?? 0));
  const sort = ORDERS[state.sort] ? state.sort : "order";
  const full = range(L)
      .filter(l => !isEmpty(l))
      .sort((a, b) => ORDERS[sort][1](a, b) || a - b),
    empty = range(L).filter(isEmpty);
  const now = selected();
  byId("index").replaceChildren(
    h(
      "div",
      { class: "index-head" },
      h("h2", {}, times(full.length, "component")),
      full.length > 1 &&
        choice(
          "",
          "sort",
          Object.entries(ORDERS).map(([key, [name]]) => [key, name]),
          sort,
        ),
    ),
    h(
      "ol",
      { class: "entries" },
      full.map(l => indexItem(l, most)),
    ),
    counted() && full.length
      ? h(
          "p",
          { class: "quiet" },
          "Bars: " +
            (page.compares ? "comparisons" : "ones") +
            " explained; the dark part is explained by no other component. Dots: chains that found it.",
          now !== null && full.some(l => l !== now && overlap(now, l))
            ? " On the right: share of the cells of " + nameOf(now) + " that are also in this one."
            : "",
        )
      : "",
    empty.length
      ? h(
          "p",
          { class: "quiet" },
          (empty.length === 1 ? "Component " : "Components ") +
            listed(runsOf(empty)) +
            (empty.length === 1 ? " is" : " are") +
            " empty at this threshold.",
        )
      : "",
  );
  const current = byId("index").querySelector("[aria-current]"),
    list = byId("index").querySelector(".entries");
  if (current) {
    const place = current.parentElement;
    if (place.offsetTop < list.scrollTop || place.offsetTop + place.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = place.offsetTop - list.clientHeight / 2;
    if (place.offsetLeft < list.scrollLeft || place.offsetLeft + place.offsetWidth > list.scrollLeft + list.clientWidth)
      list.scrollLeft = place.offsetLeft - 16;
  }
};
