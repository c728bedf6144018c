// Find a label or a component by typing a part of its name.
const MOST_FOUND = 12;
const search = text => {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = range(L)
    .filter(l => nameOf(l).toLowerCase().includes(wanted) || String(l) === wanted)
    .slice(0, 4)
    .map(l => ({ text: nameOf(l), kind: "component", open: () => openComponent(l) }));
  for (let k = 0; k < K && found.length < 400; k++) {
    if (page.pair && k === page.pair[1] && page.modes[k].named) continue; // the same labels
    const mode = page.modes[k];
    for (let n = 0; n < sizes[k] && found.length < 400; n++)
      if (
        mode.labels[n].toLowerCase().includes(wanted) ||
        mode.columns.some(column => column.values[n].toLowerCase() === wanted)
      )
        found.push({
          text: mode.labels[n],
          kind: mode.name,
          open: () => openLabel(k, n),
          first: mode.labels[n].toLowerCase().startsWith(wanted),
        });
  }
  return found.sort((a, b) => (b.first || false) - (a.first || false)).slice(0, MOST_FOUND);
};
const makeSearch = () => {
  let found = [],
    at = -1;
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
  const input = h("input", {
    id: "search",
    type: "search",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-label": "Find a label or component",
    placeholder: narrow() ? "Find" : "Find a label or component",
    autocomplete: "off",
    spellcheck: "false",
  });
  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
  };
  const open = i => {
    const item = found[i];
    if (!item) return;
    input.value = "";
    input.blur(); // closes the list; from here keys are those of the page
    item.open();
  };
  const show = () => {
    list.replaceChildren(
      ...found.map((item, i) =>
        h(
          "li",
          {
            role: "option",
            id: "found-" + i,
            "aria-selected": String(i === at),
            onpointerdown: event => {
              event.preventDefault();
              open(i);
            },
          },
          h("span", {}, item.text),
          h("small", {}, item.kind),
        ),
      ),
    );
    if (!found.length && input.value.trim()) list.append(h("li", { class: "quiet" }, "no matches"));
    list.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (at >= 0) input.setAttribute("aria-activedescendant", "found-" + at);
    else input.removeAttribute("aria-activedescendant");
  };
  input.addEventListener("input", () => {
    found = search(input.value);
    at = -1;
    show();
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = clamp(at + (event.key === "ArrowDown" ? 1 : -1), 0, found.length - 1);
      show();
    }
    if (event.key === "Enter") open(Math.max(at, 0));
    if (event.key === "Escape") {
      event.stopPropagation();
      input.value = "";
      close();
    }
  });
  return h("div", { class: "search" }, input, list);
};
