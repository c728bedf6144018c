"""Bits and words: Boolean arrays packed into 64-bit words, little end first.

A factor travels through the package as *masks*: an array (N, M) of words, whose bit l says whether row n
is in component l. Cells are packed the same way along one mode or several (dense.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from hashlib import blake2b

import numpy as np

from tensorm.data.arrays import Array, Bits, Words


def words_for(n_bits: int) -> int:
    """Return how many 64-bit words hold so many bits."""
    return -(-n_bits // 64)


def pack(bits: Bits) -> Words:
    """Pack the last axis: (..., n) bits to (..., words_for(n)) words."""
    packed = np.packbits(bits, axis=-1, bitorder="little")
    room = np.zeros((*bits.shape[:-1], words_for(bits.shape[-1])), "<u8")
    room.view(np.uint8)[..., : packed.shape[-1]] = packed
    return room.astype(np.uint64, copy=False)


def unpack(words: Words, n_bits: int) -> Bits:
    """Undo ``pack``: (..., W) words to (..., n_bits) bits."""
    raw = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(raw, axis=-1, count=n_bits, bitorder="little").view(np.bool_)


def combine(masks: Sequence[Words], n_components: int) -> Words:
    """Return the masks of all index tuples: (N_a * N_b * ..., M), the AND over the modes given.

    No mode at all leaves one tuple, the empty one, which is in every component.
    """
    if not masks:
        return _every_component(n_components)
    if len(masks) == 1:
        return masks[0].copy()  # not read-only, which would be another type to compile kernels for
    return reduce(lambda a, b: (a[:, None] & b).reshape(-1, a.shape[1]), masks)


@cache
def _every_component(n_components: int) -> Words:
    return pack(np.ones((1, n_components), np.bool_))


DIGEST_BYTES = 16


def digest_arrays(*arrays: Array) -> bytes:
    """Return a digest of some arrays of one dimension, all of eight bytes a number."""
    state = blake2b(digest_size=DIGEST_BYTES)
    for array in arrays:
        state.update(len(array).to_bytes(8, "little") + array.astype("<i8", copy=False).tobytes())
    return state.digest()
