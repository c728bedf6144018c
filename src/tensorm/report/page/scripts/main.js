// The bar at the top, and what is shown when something changes.
const SHOWN = {
  overview: viewOverview,
  component: viewComponent,
  map: viewMap,
  cells: viewCells,
  network: viewNetwork,
  doubts: viewDoubts,
  fit: viewFit,
};
const views = Object.keys(VIEWS).filter(
  view => (view !== "network" || page.network) && (view !== "cells" || hasData),
);
const dark = matchMedia("(prefers-color-scheme: dark)");

const makeBar = () => {
  const slider = h("input", {
    id: "threshold",
    type: "range",
    min: 0.05,
    max: 0.95,
    step: 0.05,
    value: state.t,
    title: "An index is a member of a component if its probability is above this",
  });
  let waiting = false;
  slider.addEventListener("input", () => {
    state.t = slider.value;
    if (!waiting)
      requestAnimationFrame(() => {
        waiting = false;
        go({}, false);
      });
    waiting = true;
  });
  const copy = async event => {
    const made = event.target;
    try {
      await navigator.clipboard.writeText(location.href);
      made.textContent = "copied";
    } catch (error) {
      made.textContent = "copy it from the address bar";
    }
    setTimeout(() => {
      made.textContent = "copy link";
    }, 2000);
  };
  byId("bar").replaceChildren(
    h(
      "span",
      { class: "tabs", role: "tablist" },
      views.map(view => button(VIEWS[view], () => go({ view }), { role: "tab", "data-view": view })),
    ),
    h(
      "span",
      { class: "tools" },
      makeSearch(),
      h(
        "label",
        { class: "threshold", for: "threshold" },
        h("span", { class: "long" }, "members above "),
        h("span", { class: "brief" }, "p > "),
        h("output", { id: "threshold-value", for: "threshold" }),
      ),
      slider,
      button("copy link", copy, { id: "copy", title: "Copy the address of what you see, with all settings and names" }),
      button("◐", () => go({ theme: themeNow() === "dark" ? "light" : "dark" }, false), {
        id: "theme",
        "aria-label": "Switch between light and dark",
      }),
    ),
  );
};
const themeNow = () => state.theme || (dark.matches ? "dark" : "light");

// The first sentences, which follow the threshold where everything was counted for it.
const finding = () => level() || levelAt(0.5);
const renderFinding = () => {
  const { found, sure } = finding();
  document.querySelector(".lead").textContent =
    found.replaceAll(" × ", "\u00a0×\u00a0") + (level() ? "" : " (Members above 0.50.)"); // sizes stay on one line
  document.querySelector(".sure").textContent = sure;
};

const render = () => {
  const focused =
      document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : undefined,
    place = document.activeElement && document.activeElement.selectionStart;
  if (state.theme && !printing) root.dataset.theme = state.theme;
  else if (!printing) delete root.dataset.theme;
  readColours();
  hideTip();
  root.dataset.view = state.view;
  byId("threshold").value = state.t;
  byId("threshold-value").textContent = hundredths(threshold());
  for (const tab of document.querySelectorAll("[data-view][role=tab]"))
    tab.setAttribute("aria-selected", String(tab.dataset.view === state.view));
  root.dataset.label = chosen() ? "yes" : "";
  byId("label").hidden = !chosen();
  const list = byId("index").querySelector(".entries"),
    scrolled = list ? [list.scrollTop, list.scrollLeft] : [0, 0];
  const content = SHOWN[views.includes(state.view) ? state.view : "overview"]();
  byId("view").replaceChildren(...content.filter(Boolean));
  renderFinding();
  renderIndex();
  const made = byId("index").querySelector(".entries");
  if (list && made && !made.contains(document.activeElement)) {
    if (!made.scrollTop) made.scrollTop = scrolled[0];
    if (!made.scrollLeft) made.scrollLeft = scrolled[1];
  }
  renderLabel();
  if (focused !== undefined) {
    const again = document.querySelector(`[data-key="${CSS.escape(focused)}"]`);
    if (again && again !== document.activeElement) {
      again.focus({ preventScroll: true });
      if (again.type === "search" && place !== null) again.setSelectionRange(place, place);
    }
  }
};

addEventListener("popstate", () => {
  readAddress();
  render();
});
document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  byId("view").focus();
});
dark.addEventListener("change", render);
let wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== wide) {
    wide = innerWidth;
    render();
  }
});
addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("search").focus();
  }
  if (event.key === "Escape" && chosen()) go({ label: "" });
  if (event.key === "n") step(1);
  if (event.key === "p") step(-1);
});
// On paper: everything, one view after the other.
addEventListener("beforeprint", () => {
  printing = true;
  root.dataset.theme = "light";
  readColours();
  const parts = [
    ["Overview", viewOverview()],
    ...range(L)
      .filter(l => !isEmpty(l))
      .slice(0, 40)
      .map(l => [null, viewComponent(l)]),
    ...(hasData ? [["Cells", viewCells()]] : []),
    ["Fit", viewFit()],
  ];
  byId("view").replaceChildren(
    ...parts.map(([title, content]) =>
      h("section", { class: "sheet" }, title && h("h2", {}, title), ...content.filter(Boolean)),
    ),
  );
});
addEventListener("afterprint", () => {
  printing = false;
  render();
});

readAddress();
makeBar();
render();
root.dataset.ready = "yes";
