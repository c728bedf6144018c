"""Draws of one mode's factor: the first as a whole, and in all of them the rows that ever change.

Once a chain has settled, most rows of a large factor never change again, so that what follows from draws, in
memory, on disk and in time, is in proportion to the rows that move and not to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tensorm.data.arrays import Array, Bits, Bytes, Floats, Indices, Words
from tensorm.tensors.bits import words_for

SUMMED_AT_ONCE = 2**22  # bytes of entries that are unpacked together
NO_ROWS = np.empty(0, np.intp)


@dataclass(frozen=True, eq=False)
class FactorDraws:
    """S draws of a factor (N, L), packed: bit l of a row, little end first, is its entry of component l.

    Attributes
    ----------
    first : ndarray of uint8 (N, ceil(L / 8))
        The first draw.
    rows : ndarray of int (M,)
        Rows that differ from it in some draw, in ascending order.
    moves : ndarray of uint8 (S, M, ceil(L / 8))
        These rows in all draws.
    """

    first: Bytes
    rows: Indices
    moves: Bytes

    @classmethod
    def from_all(cls, draws: Bytes) -> Self:
        """Return draws that are given as a whole, (S, N, ceil(L / 8))."""
        rows = np.flatnonzero((draws != draws[0]).any(axis=(0, 2)))
        return cls(draws[0], rows, draws[:, rows])

    def __len__(self) -> int:
        return len(self.moves)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of all draws as one array."""
        return len(self.moves), *self.first.shape

    def at(self, draw: int) -> Bytes:
        """Return one draw as a whole."""
        packed = self.first.copy()
        packed[self.rows] = self.moves[draw]
        return packed

    def masks_at(self, draw: int, n_components: int) -> Words:
        """Return one draw as the masks of a factor."""
        room = np.zeros((len(self.first), 8 * words_for(n_components)), np.uint8)
        room[:, : self.first.shape[1]] = self.at(draw)
        return room.view("<u8").astype(np.uint64, copy=False)

    def __getitem__(self, draws: slice) -> FactorDraws:
        """Return some of the draws."""
        start = range(len(self))[draws].start
        return FactorDraws(self.at(start), self.rows, self.moves[draws])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all draws as one array (S, N, ceil(L / 8))."""
        draws = np.repeat(self.first[None], len(self), axis=0)
        draws[:, self.rows] = self.moves
        return draws if dtype is None else draws.astype(dtype, copy=False)

    def bits(self, n_components: int) -> Bits:
        """Return all draws as a Boolean array (S, N, L)."""
        return unpack_bytes(np.asarray(self), n_components)

    def mean(self, n_components: int) -> Floats:
        """Return the mean of all draws, (N, L)."""
        mean = unpack_bytes(self.first, n_components).astype(float)
        total = np.zeros((len(self.rows), n_components))
        step = max(1, SUMMED_AT_ONCE // max(total.size, 1))
        for start in range(0, len(self), step):
            total += unpack_bytes(self.moves[start : start + step], n_components).sum(axis=0)
        mean[self.rows] = total / len(self)
        return mean

    def entries(self, rows: Indices, components: Indices) -> Bits:
        """Return the draws of some entries, (S, n)."""
        place = np.searchsorted(self.rows, rows)
        moving = place < len(self.rows)
        moving[moving] = self.rows[place[moving]] == rows[moving]
        held = np.repeat(self.first[rows, components // 8][None], len(self), axis=0)
        held[:, moving] = self.moves[:, place[moving], components[moving] // 8]
        return (held >> (components % 8).astype(np.uint8) & 1).astype(np.bool_)

    def reorder(self, order: Sequence[int], n_components: int) -> FactorDraws:
        """Return the draws with other components, or the same in another order."""

        def move(packed: Bytes) -> Bytes:
            bits = unpack_bytes(packed, n_components)[..., list(order)]
            return np.packbits(bits, axis=-1, bitorder="little")

        return FactorDraws(move(self.first), self.rows, move(self.moves))

    def take(self, index: Indices) -> FactorDraws:
        """Return the draws of some rows."""
        place = np.full(len(self.first), -1, np.intp)
        place[self.rows] = np.arange(len(self.rows))
        place = place[index]
        return FactorDraws(self.first[index], np.flatnonzero(place >= 0), self.moves[:, place[place >= 0]])


def unpack_bytes(packed: Bytes, n_components: int) -> Bits:
    """Return the entries of packed rows."""
    return np.unpackbits(packed, axis=-1, count=n_components, bitorder="little").view(np.bool_)


def differing_rows(parts: Sequence[FactorDraws]) -> Indices:
    """Return the rows of a factor that are not the same in all draws of all chains."""
    differs = np.zeros(len(parts[0].first), np.bool_)
    for part in parts:
        differs |= (part.first != parts[0].first).any(axis=1)
        differs[part.rows] = True
    return np.flatnonzero(differs)


class FactorRecorder:
    """Collects draws of a factor, one after the other.

    Parameters
    ----------
    n_components : int
    draws : FactorDraws, optional
        Draws to go on from.
    """

    def __init__(self, n_components: int, draws: FactorDraws | None = None) -> None:
        self._n_components = n_components
        self._first: Bytes | None = None
        self._last: Words | None = None
        self._changes: list[tuple[Indices, Bytes | None]] = []  # of each draw: rows not as before it, and how
        if draws is None:
            return
        self._first, self._last = draws.first, draws.masks_at(-1, n_components)
        for before, now in zip((draws.moves[0], *draws.moves), draws.moves, strict=False):
            changed = (before != now).any(axis=1)
            self._changes.append((draws.rows[changed], now[changed]))

    def __len__(self) -> int:
        return len(self._changes)

    def record(self, masks: Words) -> None:
        """Keep a draw that nobody will change."""
        if self._last is None:
            self._first, self._last = self._pack(masks), masks
        differs = masks != self._last
        changed = np.flatnonzero(differs.any(axis=1)) if differs.any() else NO_ROWS
        self._changes.append((changed, self._pack(masks[changed]) if changed.size else None))
        self._last = masks

    def draws(self) -> FactorDraws:
        """Return the draws kept so far."""
        assert self._first is not None
        changed = np.zeros(len(self._first), np.bool_)
        for rows, _ in self._changes:
            changed[rows] = True
        moving, place = np.flatnonzero(changed), np.cumsum(changed) - 1
        now = self._first[moving]
        moves = np.empty((len(self._changes), *now.shape), np.uint8)
        for draw, (rows, packed) in zip(moves, self._changes, strict=True):
            if packed is not None:
                now[place[rows]] = packed
            draw[...] = now
        return FactorDraws(self._first, moving, moves)

    def _pack(self, masks: Words) -> Bytes:
        n_bytes = -(-self._n_components // 8)  # the others of a mask hold no component
        return masks.astype("<u8", copy=False).view(np.uint8)[:, :n_bytes].copy()
