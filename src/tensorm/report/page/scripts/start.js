// Unpack the data, and small things that all views use. All scripts are parts of one function.
// Labels are untrusted: they are only ever set as text, never as markup.
const root = document.documentElement;
const byId = id => document.getElementById(id);

let page;
try {
  const bytes = Uint8Array.from(atob(byId("data").textContent.trim()), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  page = await new Response(stream).json();
} catch (error) {
  byId("trouble").hidden = false;
  return;
}

// Make an element: attributes, listeners ("onclick"), properties that are no attributes, and children.
const h = (name, options = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (["textContent", "value", "checked", "hidden", "disabled"].includes(key)) element[key] = value;
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
};
const button = (text, onclick, options = {}) => h("button", { type: "button", onclick, ...options }, text);
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const STEPS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -1e9],
  End: [0, 1e9],
};
// Where a key leads in a picture of rows and columns, from a cell or from outside; null if it leads nowhere.
const nextCell = (event, from, { top, left, bottom, right }) => {
  if (!(event.key in STEPS)) return null;
  event.preventDefault();
  const far = event.ctrlKey ? 1e9 : 1,
    [down, across] = STEPS[event.key],
    { row, column } = from || { row: top - Math.abs(Math.sign(down)), column: left - Math.abs(Math.sign(across)) };
  return { row: clamp(row + down * far, top, bottom - 1), column: clamp(column + across * far, left, right - 1) };
};
const narrow = () => innerWidth < 600; // a phone
const range = n => Array.from({ length: n }, (_, i) => i);
const sum = values => values.reduce((total, value) => total + value, 0);
const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;
const whole = value => Math.round(value).toLocaleString("en");
const times = (count, one, many = one + "s") => whole(count) + " " + (count === 1 ? one : many);
const hundredths = p => p.toFixed(2);

// A share as text, with as many digits as a reader needs (percent in describe.py).
const percent = share => {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "<0.1%";
  if (value > 99.95 && value < 100) return ">99.9%";
  return value.toFixed(value === 0 || value === 100 || (value >= 9.95 && value < 98.5) ? 0 : 1) + "%";
};

const tip = byId("tip");
const showTip = (text, x, y) => {
  if (tip.textContent !== text) tip.textContent = text;
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = clamp(x + 14, 4, Math.max(4, innerWidth - width - 4)) + "px";
  tip.style.top = (y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18) + "px";
};
const hideTip = () => {
  tip.hidden = true;
};

// Hand a file to the reader.
const download = (name, blob) => {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const fileName = text =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "") || "page";
