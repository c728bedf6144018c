"""The cells of a tensor that can be read in blocks: listed, digested, sampled or predicted.

``Tensor`` has these as verbs, and kinds of tensor that list their cells have quicker ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tensorm.data.arrays import Bits, Floats, Indices, Keys
from tensorm.tensors.bits import digest_arrays

if TYPE_CHECKING:
    from tensorm.tensors.protocol import Tensor

READ_WHOLE = 2**22  # cells; of a larger tensor, boxes are read
BOXES = 16


class PredictsCells(Protocol):
    """Whatever can predict cells, such as a posterior."""

    def predict_block(self, start: int, stop: int) -> Floats:
        """Return P(x = 1) of all cells of some slices of mode 0."""
        ...

    def predict_cells(self, indices: Sequence[Indices]) -> Floats:
        """Return P(x = 1) of cells given as K index arrays."""
        ...


def list_keys(tensor: Tensor, unlisted: str) -> tuple[Keys, Keys]:
    """Return the sorted keys of ones, and of all other cells but those that are "missing", or "zero"."""
    found: tuple[list[Keys], list[Keys]] = [], []
    for first, *planes in _listed_blocks(tensor, unlisted):
        for keys, bits in zip(found, planes, strict=True):
            keys.append(np.flatnonzero(bits) + first * math.prod(tensor.shape[1:]))
    return np.concatenate(found[0]), np.concatenate(found[1])


def digest_slices(tensor: Tensor, unlisted: str) -> list[bytes]:
    """Return a digest of the same cells of each slice of mode 0."""
    return [
        digest_arrays(*map(np.flatnonzero, planes))
        for _, *block in _listed_blocks(tensor, unlisted)
        for planes in zip(*block, strict=True)
    ]


def _listed_blocks(tensor: Tensor, unlisted: str) -> Iterator[tuple[int, Bits, Bits]]:
    """Yield the first slice of each block, its ones, and the other cells that are to be listed."""
    for where, ones, observed in tensor.blocks():
        yield where.start, ones, observed & ~ones if unlisted == "missing" else ~observed


def predict_observed(
    tensor: Tensor, predictor: PredictsCells, mask: Bits | None
) -> Iterator[tuple[Bits, Floats]]:
    """Yield values and predictions of the observed cells, or of those in a mask, block by block."""
    for where, ones, observed in tensor.blocks():
        cells = observed if mask is None else observed & mask[where]
        if cells.any():
            yield ones[cells], predictor.predict_block(where.start, where.stop)[cells]


def sample_observed(tensor: Tensor, rng: np.random.Generator, most: int) -> tuple[Indices, Indices]:
    """Return random ones and random zeros (n, K) of a tensor whose cells can be read."""
    if math.prod(tensor.shape) > READ_WHOLE:
        found = [tensor.sample_ones(rng, most), _read_zeros(tensor, rng)]
    else:
        cells = tensor.read_cells([np.arange(size) for size in tensor.shape])
        found = [np.argwhere(cells == value) for value in (1, 0)]
    ones, zeros = (part[draw_ranks(rng, len(part), most)] for part in found)
    return ones, zeros


def draw_ranks(rng: np.random.Generator, size: int, most: int) -> Indices:
    """Return the numbers of at most so many things out of ``size``, in order."""
    return np.sort(rng.permutation(size)[:most])


def _read_zeros(tensor: Tensor, rng: np.random.Generator) -> Indices:
    """Return the zeros among random boxes of cells, each made of random indices along every mode."""
    sizes = list(tensor.shape)
    while math.prod(sizes) > READ_WHOLE // BOXES:
        longest = int(np.argmax(sizes))
        sizes[longest] -= math.ceil(sizes[longest] / 20)
    found = []
    for _ in range(BOXES):
        box = [
            np.sort(rng.choice(size, part, replace=False))
            for size, part in zip(tensor.shape, sizes, strict=True)
        ]
        zeros = np.nonzero(tensor.read_cells(box) == 0)
        found.append(np.stack([index[at] for index, at in zip(box, zeros, strict=True)], axis=1))
    return np.concatenate(found)
