"""Sharded tensors: consecutive slices of mode 0 in several places, which together are one tensor.

A shard answers for its cells; only factors and counts are sent. Mode 0 is updated where its rows are. The
rows of other modes run through all shards: every shard counts, the counts are added up, and each entry is
decided once, here. One round of counts serves all components of a row until an entry flips; then only rows
with open decisions that depend on the flipped entry are counted again (kernels/sharded.py).

Nothing here knows where the shards are: a ``ShardHost`` calls their methods (workers.py).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array, Bits, Bytes, Counts, Indices, Ints, Rows, Words
from tensorm.data.inputs import Labels, Names, check_names
from tensorm.errors import InputError
from tensorm.kernels.sharded import decide_counted, find_company
from tensorm.model import Confusion
from tensorm.tensors.dense import ReadTensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, Tensor, every, pass_on
from tensorm.tensors.sharded_ranked import RankedShard, RankedShards, ShardHost, some_rows

Planes = tuple[Bytes, Bytes | None]  # ones and, if any cell is missing, observed cells, eight to a byte
ShardCounts = tuple[Array, Confusion | None]


class Facts(NamedTuple):
    """What a shard reports when it is loaded."""

    shape: tuple[int, ...]
    names: Names
    n_ones: int
    n_observed: int
    nbytes: int
    storage: str
    mirrored: Pair | None
    caveat: str
    refusal: str  # why components cannot have strengths, or ""


class Shard(RankedShard):
    """Some slices of mode 0, held by any kind of tensor; its methods send little and return little."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def describe(self) -> Facts:
        """Return what is known of the cells without looking at them."""
        try:
            self.tensor.ranked()
            refusal = ""
        except InputError as error:
            refusal = str(error)
        known = {name: getattr(self.tensor, name) for name in Facts._fields[:-1]}
        return Facts(**known, refusal=refusal)

    def update(self, factors: Factors, rule: Rule, stream: Stream, rows: Rows | None) -> Words:
        """Return these rows of mode 0, decided anew."""
        factor = self.tensor.update_factor(0, factors, rule, stream, rows)
        return factor if rows is None else factor[rows]

    def counts(
        self, mode: int, factors: Factors, chosen: Rows, rows: Rows | None, confused: bool
    ) -> ShardCounts:
        """Return (pos, tot) as one array (2, rows, components), and the confusion if asked for.

        Four bytes hold a count unless a slice has more cells than that.
        """
        counts = np.stack(self.tensor.counts(mode, factors, chosen.tolist(), rows))
        slice_size = math.prod(self.tensor.shape) // self.tensor.shape[mode]
        small = counts.astype(np.uint32) if slice_size < 2**32 else counts
        return small, self.tensor.confusion(factors) if confused else None

    confusion, ones_at, digest_slices = map(pass_on, ("confusion", "ones_at", "digest_slices"))

    def cells(self, indices: Sequence[Rows]) -> Planes:
        """Return the cells with these indices along each mode, packed."""
        size = math.prod(map(len, indices))
        ((_, ones, observed),) = self.tensor.take(indices).blocks(max_cells=size)
        return np.packbits(ones), None if observed.all() else np.packbits(observed)


class ShardedTensor(ReadTensor):
    """Observations in several places, each holding consecutive slices of mode 0.

    Parameters
    ----------
    host : ShardHost
    facts : sequence of Facts
        What each shard reports.
    modes : sequence of str, optional
        Names of the modes; those of the first shard by default.
    labels : sequence of array or None, optional
        For each mode the names of its indices, or None; those of the shards by default.

    Attributes
    ----------
    shape, modes, labels, n_observed, n_ones, nbytes
        As of any other tensor; the memory is that of all shards together.
    n_shards : int
    """

    nbytes: int
    _facts = ("n_observed", "n_ones", "n_shards")

    def __init__(
        self,
        host: ShardHost,
        facts: Sequence[Facts],
        modes: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        self._host = host
        first = facts[0]
        for number, fact in enumerate(facts):
            if fact.shape[1:] != first.shape[1:]:
                raise InputError(
                    f"part {number} has shape {fact.shape} and part 0 {first.shape}; parts may differ along "
                    "mode 0 only."
                )
        self._edges = np.concatenate([[0], np.cumsum([fact.shape[0] for fact in facts])])
        self._ones_before = np.concatenate([[0], np.cumsum([fact.n_ones for fact in facts])])
        self.shape = (int(self._edges[-1]), *first.shape[1:])
        known = _join_labels(facts) if labels is None else labels
        self.names = check_names(self.shape, first.names.modes if modes is None else modes, known)
        self.n_ones, self.n_observed, self.nbytes = (
            sum(getattr(fact, name) for fact in facts) for name in ("n_ones", "n_observed", "nbytes")
        )
        self.n_shards, self.caveat = len(facts), first.caveat
        self.storage = " and ".join(sorted({fact.storage for fact in facts}))
        self._refusal = next((fact.refusal for fact in facts if fact.refusal), "")
        self._mirrored = first.mirrored if all(fact.mirrored == first.mirrored for fact in facts) else None
        self._last = threading.local()  # the last factors of each chain whose confusion is known

    @property
    def mirrored(self) -> Pair | None:
        return self._mirrored

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        if mode:
            return self._update_here(mode, factors, rule, stream, rows)
        return self._update_there(factors, [rule] * self.n_shards, stream, rows)

    def _update_there(self, factors: Factors, rules: Sequence[Rule], stream: Stream, rows: Rows) -> Words:
        """Mode 0: each shard decides its own rows, with the random numbers that they have in the whole."""
        places, calls = self._split(rows, self._edges), []
        parts = zip(places, self._split_factors(factors), self._edges, rules, strict=False)
        for at, own, start, rule in parts:
            prior = rule.prior[start : start + len(own[0])] if rule.by_row else rule.prior
            there = stream._replace(first=stream.first + int(start))
            calls.append((own, rule._replace(prior=prior), there, some_rows(rows[at] - start, len(own[0]))))
        factor = factors[0].copy()
        for at, _, new in self._ask("update", places, calls):
            factor[rows[at]] = new
        return factor

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        return self._ask_counts(mode, factors, components, rows, False)[0]

    def _confusion(self, factors: Factors) -> Confusion:
        known = getattr(self._last, "known", None)
        if known is not None and known[0].same_as(factors):
            return Confusion(*known[1])
        calls = [(own,) for own in self._split_factors(factors)]
        return _total(self._host.ask("confusion", calls))

    def _ones_at(self, ranks: Ints) -> Indices:
        places = self._split(ranks, self._ones_before)
        calls = [(ranks[at] - before,) for at, before in zip(places, self._ones_before, strict=False)]
        cells = np.empty((len(ranks), len(self.shape)), np.intp)
        for at, shard, found in self._ask("ones_at", places, calls):
            cells[at] = found
            cells[at, 0] += self._edges[shard]
        return cells

    def arrays(self) -> dict[str, Array]:
        return {"digest": np.frombuffer(bytes.fromhex(self.digest()), np.uint8)}  # the cells stay there

    def digest_slices(self, unlisted: str) -> list[bytes]:
        return [*chain.from_iterable(self._host.ask("digest_slices", [(unlisted,)] * self.n_shards))]

    def check_mirrored(self, pair: tuple[int, int]) -> None:
        raise InputError("symmetric is given, but modes on a cluster cannot share a factor; leave it out.")

    def ranked(self) -> RankedShards:
        if self._refusal:
            raise InputError(self._refusal)
        return RankedShards(self)

    def _update_here(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        """Other modes: shards count, and entries are decided here; rows are counted again as they flip.

        After the last mode of a sweep the confusion is needed. The first round returns that of the factors as
        they were, and the counts of every flip tell what it changes.
        """
        factor = factors[mode].copy()
        others = [masks for k, masks in enumerate(factors) if k != mode]
        company = reduce(np.bitwise_and, [find_company(masks, factors.n_components) for masks in others])
        turns = np.zeros(len(rows), np.int64)
        confusion: Confusion | None = None
        wanted = mode == len(factors) - 1
        while len(rows) and len(rule.order):
            first = int(turns.min())
            state = factors.replace(mode, factor.copy())
            counts, found = self._ask_counts(mode, state, rule.order[first:], rows, wanted)
            confusion, wanted = found or confusion, False
            known = counts, company
            hits, cover = decide_counted(factor, turns, rows, known, rule.arguments(), tuple(stream))
            if confusion is not None:
                tp, fp, fn, tn = confusion
                confusion = Confusion(tp + hits, fp + cover - hits, fn - hits, tn - cover + hits)
            open_ = turns < len(rule.order)
            rows, turns = rows[open_], turns[open_]
        if confusion is not None:
            self._last.known = factors.replace(mode, factor), confusion
        return factor

    def _ask_counts(
        self, mode: int, factors: Factors, chosen: Rows, rows: Rows, confused: bool
    ) -> ShardCounts:
        """Return (pos, tot) as one array (2, rows, components), summed or joined over the shards."""
        places, starts = [every(len(rows))] * self.n_shards, np.zeros_like(self._edges)
        if mode == 0:
            places, starts = self._split(rows, self._edges), self._edges
        calls = [
            (mode, own, chosen, some_rows(rows[at] - start, len(own[mode])), confused)
            for at, own, start in zip(places, self._split_factors(factors), starts, strict=False)
        ]
        counts = np.zeros((2, len(rows), len(chosen)), np.int64)
        confusions = []
        for at, _, (found, confusion) in self._ask("counts", places, calls):
            counts[:, at] += found
            confusions.append(confusion)
        return counts, _total(confusions) if confused else None

    def _read(self, indices: Sequence[Rows]) -> tuple[Bits, Bits]:
        """Return (ones, observed) of the cells with these indices along each mode."""
        first, *others = indices
        places = self._split(first, self._edges)
        calls = [([first[at] - start, *others],) for at, start in zip(places, self._edges, strict=False)]
        ones = np.empty([len(index) for index in indices], np.bool_)
        observed = np.ones_like(ones)
        for at, _, planes in self._ask("cells", places, calls):
            shape = (len(at), *ones.shape[1:])
            for bits, packed in zip((ones, observed), planes, strict=True):
                if packed is not None:
                    bits[at] = np.unpackbits(packed, count=math.prod(shape)).reshape(shape)
        return ones, observed

    def _ask(
        self, verb: str, places: Sequence[Rows], calls: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Rows, int, Any]]:
        """Return (places, shard, answer) of each shard that has a place in the result."""
        asked = [call if len(at) else None for at, call in zip(places, calls, strict=True)]
        answers = zip(places, range(self.n_shards), self._host.ask(verb, asked), strict=True)
        return [answer for answer in answers if len(answer[0])]

    def _split(self, numbers: Array, edges: Ints) -> list[Rows]:
        """Return for each shard where the numbers stand that lie between its edges."""
        owners = np.searchsorted(edges, numbers, side="right") - 1
        return [np.flatnonzero(owners == number) for number in range(self.n_shards)]

    def _split_factors(self, factors: Factors) -> list[Factors]:
        """Return for each shard the factors, with its own rows of mode 0."""
        return [factors.replace(0, own) for own in np.split(factors[0], self._edges[1:-1])]


def _total(confusions: Sequence[Confusion]) -> Confusion:
    return Confusion(*(sum(counts) for counts in zip(*confusions, strict=True)))


def _join_labels(facts: Sequence[Facts]) -> Labels:
    """Return the labels of the first shard; those of mode 0 from all of them."""
    others = facts[0].names.labels[1:]
    for number, fact in enumerate(facts):
        for k, (labels, wanted) in enumerate(zip(fact.names.labels[1:], others, strict=True), start=1):
            if not (labels is wanted or np.array_equal(np.asarray(labels), np.asarray(wanted))):
                named = fact.names.modes[k]
                raise InputError(
                    f"Part {number} and part 0 have different labels for {named!r}; use the same."
                )
    parts = [fact.names.labels[0] for fact in facts]
    known = [part for part in parts if part is not None]
    return (np.concatenate(known) if len(known) == len(parts) else None, *others)
