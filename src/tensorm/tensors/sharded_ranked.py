"""Sharded tensors whose components have strengths of their own, with the strongest first (ranked.py).

As with two rates (sharded.py), mode 0 is decided where its rows are. For other modes every shard counts, the
counts are added up, and entries are decided and activities drawn here. All counts are whole numbers, so the
bits are those of a tensor in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorm.data.arrays import Counts, Rows, Words
from tensorm.kernels.activities import Activities
from tensorm.kernels.sharded import decide_ranked, find_company
from tensorm.kernels.sharded_activities import draw_from_lists
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Rule, Stream, every
from tensorm.tensors.ranked import RankedCells, Ranking, Sorted
from tensorm.tensors.stored_ranked import as_tuples

if TYPE_CHECKING:
    from tensorm.tensors.sharded import ShardedTensor


class ShardHost(Protocol):
    """Shards in the order of their slices, in this process or elsewhere."""

    def ask(self, verb: str, calls: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every shard, side by side; one whose arguments are None is left out."""
        ...


class RankedShard:
    """What a shard is asked for where components have strengths."""

    tensor: Any  # a Tensor that is in one place: its ``ranked`` has all verbs of StoredCells

    def count_decided(self, *given: Any) -> Any:
        """Return how many cells each component decides."""
        return self.tensor.ranked().count_decided(*given)

    def sort_cells(self, *given: Any) -> Any:
        """Return what activities are drawn from elsewhere."""
        return self.tensor.ranked().sort_cells(*given)

    def count_rivals(self, mode: int, factors: Factors, weights: Ranking, rows: Rows | None) -> Any:
        """Return gain and zeros of the entries of some rows."""
        chosen = every(len(factors[mode])) if rows is None else rows
        return self.tensor.ranked().count_rivals(mode, factors, weights, chosen)

    def draw_activities(self, factors: Factors, given: Activities, stream: Stream) -> tuple[Counts, ...]:
        """Return ones and all cells of the slices of mode 0, and the levels and exposures that are new."""
        own = given._replace(
            levels=given.levels.copy(), exposures=given.exposures.copy()
        )  # which are written
        counts = self.tensor.ranked().draw_activities(0, factors, own, stream)
        return *counts, own.levels, own.exposures


class RankedShards(RankedCells):
    """The cells of slices of mode 0 in several places.

    Parameters
    ----------
    tensor : ShardedTensor
    """

    def __init__(self, tensor: ShardedTensor) -> None:
        self.tensor, self.shape = tensor, tensor.shape
        self._ask, self._edges, self._split_factors = tensor._host.ask, tensor._edges, tensor._split_factors

    def update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        cuts = self._cut(rule.weights)
        if mode == 0:
            rules = [rule._replace(weights=cut) for cut in cuts]
            return self.tensor._update_there(factors, rules, stream, rows)
        factor = factors[mode].copy()
        others = [masks for k, masks in enumerate(factors) if k != mode]
        company = reduce(np.bitwise_and, [find_company(masks, factors.n_components) for masks in others])
        scores, _ = rule.weights._replace(levels=None).listed_scores(mode, self.shape)
        given = rule._replace(weights=scores).arguments(), tuple(stream)
        turns = np.zeros(len(rows), np.int64)
        while len(rows) and len(rule.order):
            own = self._split_factors(factors.replace(mode, factor.copy()))
            asked = some_rows(rows, len(factor))
            calls = [(mode, here, cut, asked) for here, cut in zip(own, cuts, strict=True)]
            gain, zeros = map(sum, zip(*self._ask("count_rivals", calls), strict=True))
            decide_ranked(factor, turns, rows, (gain, zeros, company), *given)
            open_ = turns < len(rule.order)
            rows, turns = rows[open_], turns[open_]
        return factor

    def _cut(self, weights: Ranking) -> list[Ranking]:
        """Return the weights for each shard."""
        return [weights.cut(slice(*ends), self.shape[0]) for ends in pairwise(self._edges)]

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        calls = [(own, probe) for own in self._split_factors(factors)]
        return np.sum(self._ask("count_decided", calls), axis=0)

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        own, cuts = self._split_factors(factors), self._cut(given.scores)
        if mode:
            calls = [(mode, here, cut, given.probe) for here, cut in zip(own, cuts, strict=True)]
            return self._draw_here(mode, self._ask("sort_cells", calls), given, stream)
        return self._draw_there(own, cuts, given, stream)

    def _draw_there(
        self, own: Sequence[Factors], cuts: Sequence[Ranking], given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        """Let each shard draw the activities of its rows of mode 0."""
        calls = []
        for here, cut, (start, stop) in zip(own, cuts, pairwise(self._edges), strict=True):
            levels, exposures = given.levels[start:stop], given.exposures[start:stop]
            there = given._replace(scores=cut, levels=levels, exposures=exposures)
            calls.append((here, there, stream._replace(first=stream.first + int(start))))
        ones, tot, levels, exposures = zip(*self._ask("draw_activities", calls), strict=True)
        given.levels[:], given.exposures[:] = np.concatenate(levels), np.concatenate(exposures)
        return np.sum(ones, axis=0), np.sum(tot, axis=0)

    def _draw_here(
        self, mode: int, parts: Sequence[Sorted], given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        """Draw the activities of a mode whose slices run through all shards."""
        scores, base = given.scores.listed_scores(mode, self.shape)
        rest, lists, length = np.zeros_like(given.rest), [], 0
        for part in parts:
            firsts, places, counts = part.lists
            shift = part.base - base  # levels are counted from the least of each shard
            rest[shift : shift + len(part.rest)] += part.rest
            lists.append((firsts + length, places + shift, counts))
            length += len(places)
        stacked, *joined = zip(*lists, strict=True)
        ready = given._replace(scores=scores, base=base, rest=rest)
        ones, _ = given.scores.room()
        found = np.stack(stacked), *map(np.concatenate, joined)
        draw_from_lists(ones, found, as_tuples(ready), tuple(stream))
        return ones, np.sum([part.tot for part in parts], axis=0)


def some_rows(rows: Rows, size: int) -> Rows | None:
    """Return None for all rows in their order, which need not be listed."""
    return None if len(rows) == size and np.array_equal(rows, np.arange(size)) else rows
