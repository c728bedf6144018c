// What the fit says, by mode k, index n and component l.
const L = page.components.length,
  K = page.modes.length;
const sizes = page.modes.map(mode => mode.labels.length);
const tables = page.modes.map((_, k) => {
  const made = {
    p: new Float32Array(sizes[k] * L),
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
const memberships = page.modes.map((_, k) =>
  Float32Array.from({ length: sizes[k] }, (_, n) => {
    // expected number of components
    let total = 0;
    for (let l = 0; l < L; l++) total += chance(k, n, l);
    return total;
  }),
);
const label = (k, n) => page.modes[k].labels[n];
const counted = page.components.some(component => component.covered !== undefined);
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

// Members first by what they contribute, then by what is theirs alone, then by probability.
const ranked = (group, l) =>
  [...members(group[0], l)].sort(
    (a, b) =>
      mean(group, k => shown(k, b, l) - shown(k, a, l)) ||
      mean(group, k => own(k, b, l) - own(k, a, l)) ||
      mean(group, k => chance(k, b, l) - chance(k, a, l)) ||
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

const sizeOf = l => page.components[l].covered ?? page.components[l].cells;
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
