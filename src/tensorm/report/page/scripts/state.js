// What the reader has chosen. All of it is in the address, so that a link or a bookmark shows the same.
const DEFAULTS = {
  view: "overview",
  c: "",
  label: "",
  t: "0.5",
  theme: "",
  sort: "order",
  names: "",
  slice: "0",
  order: "components",
  show: "both",
  pair: "", // pictures of cells
  mode: "",
  by: "component",
  find: "",
  only: "",
  filter: "", // the map of members
  edges: "0.3",
};
const VIEWS = {
  overview: "Overview",
  component: "Component",
  map: "Map",
  cells: "Cells",
  network: "Network",
  doubts: "Doubts",
  fit: "Fit",
};
let state = { ...DEFAULTS };

const readAddress = () => {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  state = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) if (typeof given[key] === "string") state[key] = given[key];
  if (!(state.view in VIEWS)) state.view = "overview";
  if (!(Number(state.t) >= 0.05 && Number(state.t) <= 0.95)) state.t = DEFAULTS.t;
  if (!(Number(state.c) >= 0 && Number(state.c) < page.components.length)) state.c = "";
  const [k, n] = state.label.split(":").map(Number);
  if (!(page.modes[k] && n >= 0 && n < page.modes[k].labels.length)) state.label = "";
};
const address = () => {
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  return "#" + new URLSearchParams(changed);
};
// Change something and show it; `step` makes a step that the browser's Back undoes.
const go = (changes, step = true) => {
  for (const [key, value] of Object.entries(changes)) state[key] = String(value);
  try {
    history[step ? "pushState" : "replaceState"](null, "", address());
  } catch (error) {
    /* too many changes for this browser; the next one will be kept */
  }
  render();
};
const threshold = () => Number(state.t);
const selected = () => (state.c === "" ? null : Number(state.c)); // component
const chosen = () => {
  // label
  if (!state.label) return null;
  const [k, n] = state.label.split(":").map(Number);
  return { k, n };
};
const openComponent = l => {
  go({ view: "component", c: l });
  const { top } = byId("view").getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) byId("view").scrollIntoView();
};
const openLabel = (k, n) => {
  go({ label: k + ":" + n });
  if (innerWidth < 1088) byId("label").scrollIntoView({ block: "nearest" }); // it stands above the view, not beside it
};

// Names that the reader gave to components.
const givenNames = () => Object.fromEntries(new URLSearchParams(state.names));
const nameOf = l => givenNames()[l] || "Component " + l;
const rename = (l, name) => {
  const names = givenNames();
  if (name.trim() && name.trim() !== "Component " + l) names[l] = name.trim();
  else delete names[l];
  go({ names: new URLSearchParams(names) }, false);
};

// A select or an input that is bound to one of the settings above.
const choice = (text, key, options, now = state[key]) =>
  h(
    "label",
    {},
    text + " ",
    h(
      "select",
      { "data-key": key, onchange: event => go({ [key]: event.target.value }, false) },
      options.map(([value, name]) => h("option", { value, selected: value === now }, name)),
    ),
  );
