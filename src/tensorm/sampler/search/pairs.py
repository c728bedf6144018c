"""Where candidates begin: pairs of slices that have more in common than chance explains.

A single cell says little where much is noise: most ones are in no component, and the fibres of one that is
are mostly noise, too. Two slices of a mode agree on a whole block if a component has both, and it takes far
fewer tries to hit two of its indices than one of its cells. What a pair has in common is scored cell by cell
by how much more probable it is inside a component, and the vectors whose product fits these scores best are
found by alternating between the modes.

Scores and vectors are small whole numbers, so that sums are exact, in whatever order a machine adds them up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Floats, Indices, ShortFloats
from tensorm.model import Noise
from tensorm.sampler.search.explanation import Explanation

LARGE_SLICE = 2**14  # cells of a slice that are looked at
SMALL_SLICE, FEW_PAIRS = 2**12, 1000  # and with fewer pairs than this, which lead to large components only
SCORED_AT_ONCE = 2**19  # cells of the pairs that are scored together
SCORES, LEVELS = 16, 31  # largest numbers
TURNS = 6  # of each mode
MAX_PAIR_CELLS = 2**25  # of a mode's pairs that are looked at
READ_CELLS, PAIRS_PER_CHOICE = 2**16, 2  # cells read, if they give so many pairs for each one looked at


class Slices(NamedTuple):
    """Some slices of a mode, or parts of them."""

    mode: int
    indices: list[Indices]  # of all modes; of this one, those of the slices
    # (n, ...): how much more probable a cell is inside a component, less 1; times the scale
    ratios: ShortFloats
    scale: float

    def score(self, first: Indices, second: Indices) -> ShortFloats:
        """Return the same about two cells, for all cells of pairs of slices: (1 + r)(1 + r') - 1."""
        one, other = self.ratios[first], self.ratios[second]
        scores = one * other
        one += other
        one *= np.float32(np.rint(self.scale))
        scores += one
        return scores


def score_slices(
    explanation: Explanation, rng: np.random.Generator, mode: int, chosen: Indices, noise: Noise, most: int
) -> Slices:
    """Read at most so many cells of slices of a mode; those missing or explained already say nothing."""
    sizes = list(explanation.tensor.shape)
    sizes[mode] = 1
    while math.prod(sizes) > most:
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    pairs = zip(explanation.tensor.shape, sizes, strict=True)
    indices = [np.sort(rng.choice(N, n, replace=False)) if n < N else np.arange(N) for N, n in pairs]
    indices[mode] = chosen
    whole = math.prod(sizes) * explanation.tensor.shape[mode] == math.prod(explanation.tensor.shape)
    if whole and math.prod(explanation.tensor.shape) <= READ_CELLS:  # the other modes want the same cells
        cells = explanation.left.take(chosen, axis=mode)
    else:
        cells = explanation.left_at(indices)
    one, zero = noise.hit / noise.false_alarm - 1, (1 - noise.hit) / (1 - noise.false_alarm) - 1
    scale = SCORES / max(one, -zero)
    values = np.rint(np.array([zero * scale, one * scale, 0])).astype(np.float32)
    return Slices(mode, indices, values.take(np.moveaxis(cells, mode, 0)), scale)


def contract(scores: ShortFloats, vectors: list[ShortFloats], left: int) -> ShortFloats:
    """Multiply the scores (n, N_1, .., N_m) of each pair by the vectors (n, N_k) of all modes but one."""
    n, product = len(scores), scores
    for vector in vectors[:left:-1]:
        product = np.matmul(product.reshape(n, -1, vector.shape[1]), vector[:, :, None])
    for vector in vectors[:left]:
        product = np.matmul(vector[:, None, :], product.reshape(n, vector.shape[1], -1))
    return product.reshape(n, -1)


@np.errstate(invalid="ignore")  # scores are finite; a matmul of a chain warned once, unexplained
def alternate(scores: ShortFloats) -> tuple[list[ShortFloats], ShortFloats]:
    """Return vectors (n, N_k) whose product fits the scores of each pair well, and how well."""
    vectors = [np.ones((len(scores), size), np.float32) for size in scores.shape[1:]]
    for _ in range(TURNS):
        for mode in range(len(vectors)):
            product = contract(scores, vectors, mode)
            top = np.maximum.reduce(product, axis=1, keepdims=True, initial=1)
            vectors[mode] = np.rint(np.maximum(product * (LEVELS / top), 0))
    norms = np.prod([np.maximum((vector**2).sum(axis=1), 1) for vector in vectors], axis=0)
    sums = (contract(scores, vectors, 0) * vectors[0]).sum(axis=1)
    fit: ShortFloats = np.divide(sums, np.sqrt(norms))  # numpy's types take the quotient for float64
    return vectors, fit


def split_rates(rates: Floats) -> Bits:
    """Split the rows of each column in two where their mean rates differ most (Otsu)."""
    n = len(rates)
    if n == 1:
        return np.ones_like(rates, np.bool_)
    ranked = -np.sort(-rates, axis=0)
    size = np.arange(1, n)[:, None]
    head = np.cumsum(ranked, axis=0)
    gap = head[:-1] / size - (head[-1] - head[:-1]) / (n - size)
    cut = np.argmax(size * (n - size) * gap**2, axis=0)
    return np.asarray(rates >= ranked[cut, np.arange(len(cut))])


def draw_pairs(rng: np.random.Generator, size: int, count: int, cells: int) -> Indices:
    """Return pairs (2, n) of different indices: all there are, if that is no more than asked for.

    Large slices, by their cells, are shared by many pairs: it takes longer to read one than to score a pair.
    """
    if count >= size * (size - 1) // 2:
        return np.array(np.triu_indices(size, 1))
    few = min(size, max(math.ceil(math.sqrt(2 * PAIRS_PER_CHOICE * count)), READ_CELLS // cells))
    first = rng.integers(few, size=count)
    pairs = np.array([first, (first + rng.integers(1, few, size=count)) % few])
    return pairs if few == size else rng.permutation(size)[:few][pairs]


def propose(
    explanation: Explanation, rng: np.random.Generator, noise: Noise, count: int, most: int
) -> tuple[list[Bits], Indices]:
    """Look at so many pairs of slices, of all modes; return the best candidates' columns and their modes."""
    modes = [mode for mode, size in enumerate(explanation.tensor.shape) if size > 1]
    found = [look_at(explanation, rng, noise, mode, count // len(modes), most) for mode in modes]
    of = np.repeat(modes, [len(fit) for _, fit in found])
    best = np.argsort(-np.concatenate([fit for _, fit in found]), kind="stable")[:most]
    columns = [np.hstack(parts)[:, best] for parts in zip(*(columns for columns, _ in found), strict=True)]
    return columns, of[best]


def look_at(
    explanation: Explanation, rng: np.random.Generator, noise: Noise, mode: int, count: int, most: int
) -> tuple[list[Bits], ShortFloats]:
    """Look at pairs of a mode's slices; return the best candidates' columns, and how well they fit."""
    shape = explanation.tensor.shape
    largest = SMALL_SLICE if count < FEW_PAIRS else LARGE_SLICE
    cells = min(math.prod(shape) // shape[mode], largest)
    pairs = draw_pairs(rng, shape[mode], max(1, min(count, MAX_PAIR_CELLS // cells)), cells)
    chosen, place = np.unique(pairs, return_inverse=True)
    place, slices = place.reshape(2, -1), score_slices(explanation, rng, mode, chosen, noise, largest)
    step = max(1, SCORED_AT_ONCE // slices.ratios[0].size)
    found = [alternate(slices.score(*place[:, n : n + step])) for n in range(0, place.shape[1], step)]
    fits = np.concatenate([fit for _, fit in found])
    best = np.argsort(-fits, kind="stable")[:most]
    columns = [np.zeros((size, len(best)), np.bool_) for size in shape]
    columns[mode][pairs[:, best], np.arange(len(best))] = True
    others = [k for k in range(len(shape)) if k != mode]
    for k, parts in zip(others, zip(*(vectors for vectors, _ in found), strict=True), strict=True):
        columns[k][slices.indices[k]] = split_rates(np.concatenate(parts)[best].T)
    return columns, fits[best]
