// What the fit says, by mode k, index n and component l.
const L = page.components.length,
  K = page.modes.length;
const sizes = page.modes.map(mode => mode.labels.length);
const tables = page.modes.map((_, k) => {
  const made = {
    p: new Float64Array(sizes[k] * L),
    shown: new Int8Array(sizes[k] * L).fill(-1),
    own: new Int8Array(sizes[k] * L).fill(-1),
  };
  page.components.forEach((component, l) => {
    const { at, p, shown, own } = component.members[k];
    at.forEach((n, i) => {
      made.p[n * L + l] = p[i] / 1000;
      if (shown) {
        made.shown[n * L + l] = shown[i];
        made.own[n * L + l] = own[i];
      }
    });
  });
  return made;
});
const chance = (k, n, l) => tables[k].p[n * L + l];
const shown = (k, n, l) => tables[k].shown[n * L + l]; // percent of the component's cells that the index shows
const own = (k, n, l) => tables[k].own[n * L + l]; // percent of these that no other component explains
const label = (k, n) => page.modes[k].labels[n];
const hasData = page.slices.data !== null;

let cache = {};
const members = (k, l) => {
  if (cache.t !== state.t) cache = { t: state.t };
  const key = k + " " + l,
    least = threshold();
  return (cache[key] ??= page.components[l].members[k].at.filter(n => chance(k, n, l) > least));
};
const isEmpty = l => page.modes.some((_, k) => !members(k, l).length);
const inComponents = (k, n) => range(L).filter(l => chance(k, n, l) > threshold());

// Modes of a component that stand for the same things and have the same members are shown once.
const groupModes = l => {
  const groups = [];
  for (let k = 0; k < K; k++) {
    const twin =
      page.pair && k === page.pair[1] && !page.compares ? groups.find(group => group[0] === page.pair[0]) : null;
    if (twin && String(members(twin[0], l)) === String(members(k, l))) twin.push(k);
    else groups.push([k]);
  }
  return groups;
};
// Whether a mode has the same members as the one it is paired with, in all components.
const isTwin = k =>
  page.pair && k === page.pair[1] && range(L).every(l => groupModes(l).every(group => group[0] !== k));
const mean = (group, read) => sum(group.map(read)) / group.length;

// Members first by what they contribute, then by what is theirs alone, then by probability (rank_members in modes.py).
const ranked = (group, l, found = members(group[0], l)) =>
  [...found].sort(
    (a, b) =>
      mean(group, k => shown(k, b, l) - shown(k, a, l)) ||
      mean(group, k => own(k, b, l) - own(k, a, l)) ||
      mean(group, k => Math.round(1000 * chance(k, b, l)) - Math.round(1000 * chance(k, a, l))) ||
      a - b,
  );

// How many cells two components have in common, by bits of their members.
const overlaps = () => {
  if (cache.t !== state.t) cache = { t: state.t };
  if (cache.overlaps) return cache.overlaps;
  const bits = page.components.map((_, l) =>
    page.modes.map((mode, k) => {
      const words = new Uint32Array(Math.ceil(sizes[k] / 32));
      for (const n of members(k, l)) words[n >> 5] |= 1 << (n & 31);
      return words;
    }),
  );
  const ones = word => {
    let n = 0;
    for (; word; word &= word - 1) n++;
    return n;
  };
  const common = (a, b) =>
    page.modes.reduce((product, _, k) => {
      let total = 0;
      if (product) for (let i = 0; i < bits[a][k].length; i++) total += ones(bits[a][k][i] & bits[b][k][i]);
      return product * total;
    }, 1);
  const table = range(L).map(() => new Float64Array(L));
  for (let a = 0; a < L; a++) for (let b = 0; b <= a; b++) table[a][b] = table[b][a] = common(a, b);
  return (cache.overlaps = table);
};
const overlap = (l, other) => {
  const table = overlaps();
  return table[l][l] ? table[l][other] / table[l][l] : 0;
}; // share of l's cells

// What was counted with members above this threshold (levels.py), if it was.
const COUNTS = ["covered", "explained", "added", "alone", "errors", "log_likelihood_lost"];
const STEPS_OF_THRESHOLD = page.levels.at.length + 1;
const levelAt = value => page.levels.told[page.levels.at[Math.round(value * STEPS_OF_THRESHOLD) - 1]];
const level = () => (Math.abs((threshold() * STEPS_OF_THRESHOLD) % 1) < 1e-6 ? levelAt(threshold()) : undefined);
const counted = () => Boolean(level() && level().counts.length);
const countsOf = l => (counted() ? Object.fromEntries(COUNTS.map((name, i) => [name, level().counts[l][i]])) : {});
const cellsOf = l => {
  const [first, ...sides] = range(K).map(k => members(k, l));
  const both = page.compares ? sides[0].filter(n => sides[1].includes(n)).length : 0; // which are not compared
  return first.length * (sides.reduce((cells, side) => cells * side.length, 1) - both ** 2);
};
const sizeOf = l => countsOf(l).covered ?? cellsOf(l);
const doubtful = (only = null) => {
  const rows = [],
    open = p => p > 0.1 && p <= 0.9;
  for (let l = 0; l < L; l++)
    if (only === null || l === only)
      for (let k = 0; k < K; k++) {
        const twin = groupModes(l).find(group => group[1] === k); // whose doubts are listed already
        for (const n of page.components[l].members[k].at)
          if (open(chance(k, n, l)) && !(twin && open(chance(twin[0], n, l))))
            rows.push({ l, k, n, p: chance(k, n, l) });
      }
  return rows.sort((a, b) => Math.abs(a.p - 0.5) - Math.abs(b.p - 0.5));
};
