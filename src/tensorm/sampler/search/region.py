"""Where components are searched for: a whole tensor, or a part of it that is quick to search.

A part has some indices of each mode. They are drawn at random, unless ones are rare: such a part would have
hardly any, so the indices are then those of random ones that nothing explains yet, and more ones are tried.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tensorm.data.arrays import Indices
from tensorm.model import factor_density
from tensorm.sampler.search.explanation import Explanation
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

RARE = 0.01  # rate of ones below which a part is chosen by the ones in it


class SearchSize(NamedTuple):
    """How much is searched, in cells and in ones."""

    whole: int  # cells up to which a tensor is searched as a whole
    part: int  # cells of the part of a larger one
    ones: int  # ones of the part that are tried


FIRST_SEARCH = SearchSize(2**21, 2**20, 2048)  # for the first components of a chain
QUICK_LOOK = SearchSize(2**21, 2**18, 2048)  # to see whether there is anything left
REPAIR = SearchSize(2**30, 2**26, 2048)  # for better ones
RARE_ONES = SearchSize(2**25, 2**24, 2**15)  # for any, where ones are rare


class Region(NamedTuple):
    """Some indices of each mode, or None for all of them."""

    indices: list[Indices] | None
    n_ones: int  # to be tried
    drawn: bool = False  # at random, so that another part may be better

    def cut(self, explanation: Explanation) -> Explanation:
        """Return the explanation in this part."""
        if self.indices is None:
            return explanation
        prior = explanation.target.prior.searched(self.indices, explanation.tensor.shape)
        target = replace(explanation.target, prior=prior)
        return Explanation(
            explanation.tensor.take(self.indices), target, explanation.factors.take(self.indices)
        )

    def spread(self, found: Explanation, explanation: Explanation) -> Explanation:
        """Carry components found here over to the whole, in place of those that are unused there."""
        if self.indices is None:
            return found
        factors, new = [], explanation.unused
        for bits, columns, index in zip(explanation.bits, found.bits, self.indices, strict=True):
            whole = bits.copy()
            whole[np.ix_(index, new)] = columns[:, new]
            factors.append(whole)
        return Explanation(explanation.tensor, explanation.target, Factors.from_bits(factors)).polished(2)


def choose_region(
    tensor: Tensor, rng: np.random.Generator, size: SearchSize, explanation: Explanation | None = None
) -> Region:
    """Choose where to search; with an explanation, among rare ones that it does not explain."""
    rare, sizes = is_rare(tensor), list(tensor.shape)
    whole, most, n_ones = RARE_ONES if rare else size
    if math.prod(sizes) <= whole:
        return Region(None, n_ones)
    while math.prod(sizes) > most:  # shorten the longest modes to a common size
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    if not rare:
        pairs = zip(tensor.shape, sizes, strict=True)
        indices = [np.sort(rng.choice(N, size, replace=False)) for N, size in pairs]
        return Region(indices, n_ones, drawn=True)
    cells = tensor.sample_ones(rng, n_ones)
    left = cells if explanation is None else cells[~explanation.factors.covers([*cells.T])]
    if not len(left):  # nothing is left to explain, in any part
        left = np.zeros((1, len(sizes)), np.intp)
    return Region([choose_first(index, most) for index, most in zip(left.T, sizes, strict=True)], n_ones)


def choose_first(index: Indices, size: int) -> Indices:
    """Return the first distinct indices, at most so many, sorted."""
    _, first = np.unique(index, return_index=True)
    return np.sort(index[np.sort(first)[:size]])


def is_rare(tensor: Tensor) -> bool:
    """Whether few cells are 1, so that parts chosen at random would have hardly any."""
    return tensor.n_ones < RARE * tensor.n_observed


def coin_density(tensor: Tensor, n_components: int) -> float:
    """Return the density of a random start: that of fair coins, unless ones are rare.

    Fair coins would cover nearly all cells of a tensor that is nearly empty, and no two rows would be alike.
    Rarer entries give the product about as many ones as the tensor has.
    """
    if not is_rare(tensor):
        return 0.5
    rate = (tensor.n_ones + 1) / (tensor.n_observed + 2)
    return min(0.5, factor_density(rate, n_components, len(tensor.shape)))
