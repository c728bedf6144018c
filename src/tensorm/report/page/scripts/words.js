// Sentences, which follow the threshold. describe.py says the same at 0.5, and a test compares them.
const LONGEST = 8,
  INTERVAL = /^([^-–]+)[-–]([^-–]+)$/,
  NUMBERED = /^(.*?)(\d+)$/;
const listed = names => (names.length < 2 ? names.join("") : names.slice(0, -1).join(", ") + " and " + names.at(-1));
// Numbers as texts, with a range for three or more that follow each other.
const runsOf = numbers => {
  const runs = [];
  for (const n of numbers)
    if (runs.length && n === runs.at(-1).at(-1) + 1) runs.at(-1).push(n);
    else runs.push([n]);
  return runs.flatMap(run => (run.length > 2 ? [run[0] + " to " + run.at(-1)] : run.map(String)));
};
const cut = texts => (texts.length <= LONGEST + 1 ? texts : [...texts.slice(0, LONGEST), "..."]).join(", ");
const IRREGULAR = { person: "people", child: "children", man: "men", woman: "women" };
const NO_PLURAL = (
  "who whom what when where which how via from to met saw sent bought chose won heard read knew told north south east west urban rural old young high low " +
  "medium small large rich poor public private left right yes no true false other none"
).split(" ");
const plural = (name, count) => {
  if (count !== 1 && name in IRREGULAR) return IRREGULAR[name];
  if (count === 1 || name === "unknown" || !/^\p{Ll}+$/u.test(name)) return name;
  if (NO_PLURAL.includes(name) || /(s|ed)$/.test(name)) return name;
  if (/[^aeiou]y$/.test(name)) return name.slice(0, -1) + "ies";
  return name + (/(x|ch|sh)$/.test(name) ? "es" : "s");
};
const quote = label => (/[,;]/.test(label) ? '"' + label + '"' : label);
const touch = (before, now) => {
  const a = before.match(INTERVAL),
    b = now.match(INTERVAL);
  return Boolean(a && b && a[2] === b[1]);
};

const nameRun = (mode, run) => {
  const names = run.map(n => mode.labels[n]),
    a = names[0].match(INTERVAL),
    b = names.at(-1).match(INTERVAL);
  if (run.length > 1 && touch(names[0], names[1]) && a && b) return [a[1] + "-" + b[2]];
  if (run.length < 3) return names.map(quote);
  const number = mode.ordered ? null : names.at(-1).match(/(?<=[^\p{L}\p{N}])(?<!\d-)\d+$/u); // of "patient 12", but not of "Q12" or "2025-12"
  return [names[0] + " to " + (number ? number[0] : names.at(-1))];
};
const tellAll = k => (sizes[k] === 2 ? "both" : "all " + whole(sizes[k]));
const nameMembers = (k, found, rankedFirst) => {
  const mode = page.modes[k];
  if (found.length === sizes[k]) return tellAll(k);
  const runs = [];
  for (const n of found)
    if (runs.length && n === runs.at(-1).at(-1) + 1 && mode.follows[n] === "1") runs.at(-1).push(n);
    else runs.push([n]);
  let pieces = runs.flatMap(run => nameRun(mode, run));
  if (pieces.length > LONGEST + 1 && !mode.ordered) {
    pieces = [...rankedFirst.slice(0, LONGEST).map(n => quote(mode.labels[n])), ...pieces.slice(LONGEST)];
  }
  return cut(pieces) + " (" + whole(found.length) + " of " + whole(sizes[k]) + ")";
};
const countMembers = (k, found) => {
  const values = page.modes[k].columns[page.modes[k].groups].values.map(value => value || "unknown");
  if (found.length === sizes[k]) return tellAll(k);
  const all = new Map(),
    mine = new Map();
  for (const value of values) all.set(value, (all.get(value) || 0) + 1);
  for (const n of found) mine.set(values[n], (mine.get(values[n]) || 0) + 1);
  const names = [...all.keys()].filter(name => mine.has(name));
  if (names.length > LONGEST) names.sort((a, b) => mine.get(b) - mine.get(a));
  const nouns = !NO_PLURAL.some(word => all.has(word)); // beside north and south, coast is a place, too
  return cut(
    names.map(
      name =>
        (mine.get(name) === all.get(name) ? "all " : whole(mine.get(name)) + " of ") +
        whole(all.get(name)) +
        " " +
        (nouns ? plural(name, all.get(name)) : name),
    ),
  );
};
const tellMembers = (group, l, found = members(group[0], l)) =>
  page.modes[group[0]].groups === null
    ? nameMembers(group[0], found, ranked(group, l))
    : countMembers(group[0], found);

// Members with their mode's name: "all 60 patients", "patient 03", "3 of 12 women".
const whom = (k, l) => {
  const { name, groups } = page.modes[k],
    found = members(k, l),
    who = tellMembers([k], l);
  if (found.length === sizes[k]) return who + " " + plural(name, found.length);
  return groups !== null || who.startsWith(name) ? who : plural(name, found.length) + " " + who;
};

// Which attributes a component puts above which, and in which objects.
const tellComparison = l => {
  const below = new Set(members(2, l)),
    above = new Set(members(1, l));
  const levels = [
    [...above].filter(n => !below.has(n)),
    [...above].filter(n => below.has(n)),
    [...below].filter(n => !above.has(n)),
  ];
  const found = levels.filter(some => some.length),
    first = found[0] || [],
    last = found.length > 1 ? found.at(-1) : [];
  const side = (k, some) => nameMembers(k, some, ranked([k], l, some));
  const between =
    levels[1].length && levels[1] !== first && levels[1] !== last ? "; " + levels[1].length + " in between" : "";
  return "in " + whom(0, l) + ": " + side(1, first) + " above " + side(2, last) + between;
};
const tellParts = l =>
  page.compares
    ? [["", tellComparison(l)]]
    : groupModes(l).map(group => [
        listed(group.map(k => page.modes[k].name)),
        tellMembers(group, l),
      ]);

const tellSize = l => {
  const { covered, explained, alone } = countsOf(l),
    { strength } = page.components[l],
    cells = sizeOf(l),
    ones = percent(explained / Math.max(1, covered));
  if (page.compares)
    return "It predicts " + times(cells, "comparison") + (covered ? ", " + ones + " of them correctly." : ".");
  const weak = strength && strength[0] < page.outside;
  const strong = strength
    ? " By itself it makes a cell 1 with probability " +
      percent(strength[0]) +
      (weak ? ", less than " + percent(page.outside) + " outside: it may be noise." : ".")
    : "";
  if (covered === undefined) return "It covers " + times(cells, "cell") + "." + strong;
  if (!covered) return "None of its cells is observed.";
  const only = alone ? "; " + whole(alone) + " of these ones are in no other component" : "";
  return "It covers " + times(covered, "observed cell") + ", of which " + ones + " are 1" + only + "." + strong;
};
const tellCertainty = l => {
  const groups = groupModes(l),
    chances = groups.flatMap(group => members(group[0], l).map(n => mean(group, k => chance(k, n, l))));
  const sure = chances.filter(p => p > 0.9).length;
  return (sure === chances.length ? "All " : sure + " of ") + chances.length + " members have p > 0.9.";
};
const tellChains = l => {
  const found = page.components[l].chains,
    all = page.chains === 2 ? "Both" : "All " + page.chains;
  return page.chains < 2 ? "" : (found === page.chains ? all : found + " of " + page.chains) + " chains found it.";
};
const shortly = l =>
  isEmpty(l)
    ? "empty"
    : page.compares
      ? tellComparison(l)
      : groupModes(l)
          .map(group => tellMembers(group, l))
          .join("; ");
