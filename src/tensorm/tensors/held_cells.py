"""Which cells to hold out: a mask of them, or keys of listed cells; every index keeps an observed cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.arrays import Bits, Keys
from tensorm.data.checks import check_number
from tensorm.errors import InputError

if TYPE_CHECKING:
    from tensorm.tensors.protocol import Tensor


CHOSEN_AT_ONCE = 2**22  # cells that are chosen from at a time
MOST_COMPARED = 2**34  # cells that are compared with their mirror images


def check_share(test_size: Any) -> float:
    """Return a share above 0 and below 1, or raise."""
    share = check_number("test_size", test_size)
    if not 0 < share < 1:
        raise InputError(f"test_size is {test_size}; give a number above 0 and below 1.")
    return share


def choose_mask(
    ones: Bits,
    observed: Bits,
    share: float,
    rng: np.random.Generator,
    mirrored: tuple[int, int] | None,
    stratify: bool,
) -> Bits:
    """Choose a share of the observed cells, of ones and zeros alike if stratified, with mirror images."""
    candidates = observed
    if mirrored is not None:  # one side of the diagonal, itself included
        side = np.triu(np.ones((ones.shape[mirrored[0]],) * 2, np.bool_))
        candidates = observed & np.expand_dims(side, tuple(k for k in range(ones.ndim) if k not in mirrored))
    groups = [candidates & ones, candidates & ~ones] if stratify else [candidates]
    mask = np.zeros(ones.shape, np.bool_)
    for group in groups:
        _choose(mask, group, round(share * np.count_nonzero(group)), rng)
    if mirrored is not None:
        mask |= mask.swapaxes(*mirrored) & observed
    _give_back(mask, observed, mirrored, rng)
    if not mask.any():
        raise InputError(
            f"test_size is {share} and X has {np.count_nonzero(observed):,} observed cells, which leaves "
            "none to hold out; give more cells or a larger test_size."
        )
    return mask


def _choose(mask: Bits, candidates: Bits, count: int, rng: np.random.Generator) -> None:
    """Set so many random candidates in the mask; a large mask is filled piece by piece."""
    flat, chosen = candidates.reshape(-1), mask.reshape(-1)
    total, seen, taken = np.count_nonzero(flat), 0, 0
    for start in range(0, flat.size, CHOSEN_AT_ONCE):
        here = start + np.flatnonzero(flat[start : start + CHOSEN_AT_ONCE])
        seen += len(here)
        now = round(count * seen / total) if total else 0
        chosen[rng.choice(here, now - taken, replace=False, shuffle=False)] = True
        taken = now


def _give_back(
    mask: Bits, observed: Bits, mirrored: tuple[int, int] | None, rng: np.random.Generator
) -> None:
    """Take one held-out cell, and its mirror image, out of the mask wherever a slice has lost all."""
    for mode in range(mask.ndim):
        others = tuple(k for k in range(mask.ndim) if k != mode)
        lost = observed.any(axis=others) & ~(observed & ~mask).any(axis=others)
        for n in np.flatnonzero(lost):
            cells = np.argwhere(mask.take(n, axis=mode))
            cell = np.insert(rng.choice(cells), mode, n)
            mask[tuple(cell)] = False
            if mirrored is not None:
                cell[[*mirrored]] = cell[[*reversed(mirrored)]]
                mask[tuple(cell)] = False


def refuse_unmirrored(tensor: Tensor, pair: tuple[int, int]) -> None:
    """Raise unless cells equal their mirror images, and those of an index with itself are missing."""
    both, cells = " and ".join(tensor.modes[k] for k in pair), math.prod(tensor.shape)
    if cells > MOST_COMPARED:
        raise InputError(
            f"X has {cells:,} cells, too many to check if it is symmetric in {both}; do not declare it "
            "symmetric."
        )
    # Along mode 0, a cell and its mirror image may lie in different blocks.
    for _, ones, observed in tensor.blocks() if pair[0] else tensor.blocks(cells):
        if np.diagonal(observed, axis1=pair[0], axis2=pair[1]).any():
            raise InputError(
                f"X has observed cells where {both} are the same; make these missing (NaN), or read a table "
                f"with pair={[tensor.modes[k] for k in pair]}, undirected=True."
            )
        if not all(np.array_equal(plane, plane.swapaxes(*pair)) for plane in (ones, observed)):
            raise InputError(
                f"X is not the same when {both} are exchanged; make it symmetric, or do not declare it "
                "symmetric."
            )


def mirror(keys: Keys, shape: tuple[int, ...], pair: tuple[int, int] | None) -> Keys:
    """Return the keys of the mirror images of cells; without a pair, of the cells themselves."""
    if pair is None:
        return keys
    index = list(np.unravel_index(keys, shape))
    index[pair[0]], index[pair[1]] = index[pair[1]], index[pair[0]]
    return np.ravel_multi_index(tuple(index), shape).astype(np.int64)


def draw_share(
    keys: Keys, share: float, rng: np.random.Generator, shape: tuple[int, ...], pair: tuple[int, int] | None
) -> Bits:
    """Return which cells are among a random share of them, mirror images together."""
    if pair is None:
        drawn = np.zeros(len(keys), np.bool_)
        drawn[rng.permutation(len(keys))[: round(share * len(keys))]] = True
        return drawn
    facts, which = np.unique(np.minimum(keys, mirror(keys, shape, pair)), return_inverse=True)
    return draw_share(facts, share, rng, shape, None)[which]


def give_back_listed(
    hidden: Bits, keys: Keys, shape: tuple[int, ...], pair: tuple[int, int] | None = None
) -> None:
    """Take one cell out of those hidden wherever an index has lost all cells that are listed for it."""
    for index, size in zip(np.unravel_index(keys, shape), shape, strict=True):
        left = np.bincount(index[~hidden], minlength=size)
        lost = np.flatnonzero(hidden & (left[index] == 0))
        _, first = np.unique(index[lost], return_index=True)
        hidden[lost[first]] = False
        if pair is not None:
            hidden &= ~np.isin(keys, mirror(keys[lost[first]], shape, pair))


def draw_zeros(
    shape: tuple[int, ...], count: int, taken: Keys, rng: np.random.Generator, pair: tuple[int, int] | None
) -> Keys:
    """Return distinct cells that are not taken, so many or all there are, mirror images together."""
    volume = math.prod(shape)
    count = min(count, volume - len(taken))
    if pair is not None:
        half = draw_zeros(shape, count, taken, rng, None)[: -(-count // 2)]
        return np.unique(np.concatenate([half, mirror(half, shape, pair)]))
    if volume <= 4 * (count + len(taken)):
        return rng.permutation(np.setdiff1d(np.arange(volume), taken))[:count]
    drawn = np.zeros(0, np.int64)
    while len(drawn) < count:
        more = np.unique(np.concatenate([drawn, rng.integers(volume, size=2 * count)]))
        drawn = more[~np.isin(more, taken)]
    return rng.permutation(drawn)[:count]
