"""Where components are looked for: all of a tensor, or a part of it that is quickly searched.

A part has some indices of each mode. They are drawn at random, unless ones are rare: such a part would hold
hardly any, so the indices are then those of random ones that nothing explains yet, and more are looked at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tensorm.model import factor_density
from tensorm.sampler.search.explanation import Cells, Explanation, covered
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

RARE = 0.01  # rate of ones below which a part is chosen by the ones in it


class SearchSize(NamedTuple):
    """How much is looked at, in cells and in ones."""

    whole: int  # cells up to which a tensor is looked at as a whole
    part: int  # those of the part that is looked at in a larger one
    ones: int  # of the part, to find some that nothing explains


START = SearchSize(2**21, 2**20, 2048)  # for the first components of a chain
MEND = SearchSize(2**30, 2**26, 2048)  # for better ones
FEW = SearchSize(2**25, 2**24, 2**15)  # for any, where ones are rare


class Region(NamedTuple):
    """Some indices of each mode, or None for all of them."""

    indices: list[Cells] | None
    looked_at: int  # ones
    drawn: bool = False  # at random, so that another part may be better

    def cut(self, explanation: Explanation) -> Explanation:
        """Return the explanation in this part."""
        if self.indices is None:
            return explanation
        target = replace(explanation.target, prior=explanation.target.prior.at(self.indices))
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
    tensor: Tensor, rng: np.random.Generator, look: SearchSize, explanation: Explanation | None = None
) -> Region:
    """Choose where to look; with an explanation, rare ones are of such that it does not explain."""
    rare, sizes = is_rare(tensor), list(tensor.shape)
    whole, most, looked_at = FEW if rare else look
    if math.prod(sizes) <= whole:
        return Region(None, looked_at)
    while math.prod(sizes) > most:  # shorten the longest modes to a common size
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    if not rare:
        pairs = zip(tensor.shape, sizes, strict=True)
        indices = [np.sort(rng.choice(N, size, replace=False)) for N, size in pairs]
        return Region(indices, looked_at, drawn=True)
    cells = tensor.sample_ones(rng, looked_at)
    left = cells if explanation is None else cells[~covered(explanation, cells)]
    if not len(left):  # nothing is left to explain, in any part
        left = np.zeros((1, len(sizes)), np.intp)
    return Region([choose_first(index, size) for index, size in zip(left.T, sizes, strict=True)], looked_at)


def choose_first(index: Cells, size: int) -> Cells:
    """Return up to so many distinct indices, those that come first, sorted."""
    _, first = np.unique(index, return_index=True)
    return np.sort(index[np.sort(first)[:size]])


def is_rare(tensor: Tensor) -> bool:
    """Whether few cells are 1, so that parts chosen at random would have hardly any."""
    return tensor.n_ones < RARE * tensor.n_observed


def coin_density(tensor: Tensor, n_components: int) -> float:
    """Return the density of a random start: that of fair coins, unless ones are rare.

    Fair coins would cover nearly all cells of a tensor that is nearly empty, and no two rows would be alike:
    the product has about as many ones as the tensor then.
    """
    if not is_rare(tensor):
        return 0.5
    rate = (tensor.n_ones + 1) / (tensor.n_observed + 2)
    return min(0.5, factor_density(rate, n_components, len(tensor.shape)))
