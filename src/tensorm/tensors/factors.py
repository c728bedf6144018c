"""Factors: for every mode which of its indices are members of which components, as bits.

A mode's factor is an array (N, M) of words, its *masks*: bit l of row n says whether index n is a member of
component l. All modes and the number of components travel together, and nobody can change them in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensorm.data.arrays import Bits, Indices, Words
from tensorm.errors import InputError
from tensorm.kernels.ranked import permute_masks
from tensorm.tensors.bits import pack, unpack, words_for


@dataclass(frozen=True, eq=False, slots=True)
class Factors:
    """The masks of every mode, read-only; arrays that somebody else could change are copied.

    Attributes
    ----------
    masks : tuple of ndarray of uint64 (N_k, M)
    n_components : int
    """

    masks: tuple[Words, ...]
    n_components: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", tuple(_freeze(masks, self.n_components) for masks in self.masks))

    def __reduce__(self) -> tuple[type[Factors], tuple[tuple[Words, ...], int]]:
        return Factors, (self.masks, self.n_components)  # read-only again when unpickled

    @classmethod
    def from_bits(cls, bits: Sequence[Bits]) -> Factors:
        """Return factors given as Boolean arrays (N_k, L)."""
        return cls(tuple(pack(factor) for factor in bits), bits[0].shape[1])

    @classmethod
    def empty(cls, shape: Sequence[int], n_components: int) -> Factors:
        """Return factors of components without a member."""
        words = words_for(n_components)
        return cls(tuple(np.zeros((size, words), np.uint64) for size in shape), n_components)

    @classmethod
    def full(cls, shape: Sequence[int]) -> Factors:
        """Return one component that covers every cell."""
        return cls(tuple(np.ones((size, 1), np.uint64) for size in shape), 1)

    def __len__(self) -> int:
        return len(self.masks)

    def __iter__(self) -> Iterator[Words]:
        return iter(self.masks)

    def __getitem__(self, mode: int) -> Words:
        return self.masks[mode]

    def bits(self) -> list[Bits]:
        """Return the factors as Boolean arrays (N_k, L)."""
        return [unpack(masks, self.n_components) for masks in self.masks]

    def replace(self, mode: int, masks: Words) -> Factors:
        """Return the factors with that of one mode replaced."""
        new = _freeze(masks, self.n_components)  # the others are checked already
        return self._with((*self.masks[:mode], new, *self.masks[mode + 1 :]))

    def renewed(self, masks: Words) -> Factors:
        """Return factors of the same sizes, whose rows follow each other in one array that nobody changes."""
        masks.flags.writeable = False
        parts, first = [], 0
        for old in self.masks:
            parts.append(masks[first : first + len(old)])
            first += len(old)
        return self._with(tuple(parts))

    def permuted(self, order: Indices) -> Factors:
        """Return factors whose component i is what component order[i] was."""
        return self.renewed(permute_masks(np.concatenate(self.masks), order))

    def take(self, indices: Sequence[Indices]) -> Factors:
        """Return the rows with these indices along each mode."""
        pairs = zip(self.masks, indices, strict=True)
        return Factors(tuple(masks[index] for masks, index in pairs), self.n_components)

    def _with(self, masks: tuple[Words, ...]) -> Factors:
        """Return factors of masks that are read-only and checked."""
        new = object.__new__(Factors)
        object.__setattr__(new, "masks", masks)
        object.__setattr__(new, "n_components", self.n_components)
        return new

    def covers(self, cells: Sequence[Indices]) -> Bits:
        """Return the Boolean product at some cells, given as K index arrays of one length."""
        shared = self.masks[0][cells[0]]
        for masks, index in zip(self.masks[1:], cells[1:], strict=True):
            shared = shared & masks[index]
        return np.asarray(shared.any(axis=1))

    def same_as(self, other: Factors) -> bool:
        """Whether both have the same members."""
        pairs = zip(self.masks, other.masks, strict=True)
        return self.n_components == other.n_components and all(np.array_equal(a, b) for a, b in pairs)


def _freeze(masks: Words, n_components: int) -> Words:
    """Return a read-only copy, or the same array if it is one already; raise if it has other components."""
    if masks.dtype != np.uint64 or masks.ndim != 2 or masks.shape[1] != words_for(n_components):
        found = f"shape {masks.shape} and dtype {masks.dtype}"
        wanted = f"uint64 words (N, {words_for(n_components)}), one bit for each of {n_components} components"
        raise InputError(f"A factor has {found}; give {wanted}.")
    spare = n_components % 64  # a kernel would take a bit beyond the last component for one
    if spare and int(np.bitwise_or.reduce(masks[:, -1])) >> spare:
        raise InputError(f"A factor has members of components beyond the last, number {n_components - 1}.")
    if masks.flags.writeable or masks.base is not None:
        masks = masks.copy()
        masks.flags.writeable = False
    return masks
