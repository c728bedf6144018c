"""Holding cells out: which observed cells to hide from a fit, and the same data without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.checks import check_generator, check_mask, check_mode, check_number
from tensorm.data.coordinates import Cells
from tensorm.data.inputs import is_a
from tensorm.errors import InputError
from tensorm.tensors import RelationalTensor, SparseTensor, Tensor, as_tensor
from tensorm.tensors.memory import available_memory
from tensorm.tensors.pick import to_sparse

Bits = npt.NDArray[np.bool_]
AT_ONCE = 2**22  # cells that are chosen from at a time


def train_test_mask(
    X: Any,
    test_size: float = 0.2,
    random_state: Any = 0,
    *,
    stratify: bool = False,
    symmetric: tuple[str | int, str | int] | None = None,
) -> Bits:
    """Choose observed cells to hold out.

    Every index of every mode keeps an observed cell, or it would have nothing to be placed by: where all
    cells of a slice were chosen, one of them is given back, and that many fewer are held out.

    Parameters
    ----------
    X : array-like or tensor
        Cells of 0, 1 and missing.
    test_size : float, default 0.2
        Share of the observed cells to hold out, above 0 and below 1.
    random_state : int, numpy.random.Generator or None, default 0
        Seed; the same one gives the same mask.
    stratify : bool, default False
        Whether to hold out the same share of the ones and of the zeros. Of use where ones are rare.
    symmetric : pair of modes, optional
        Two modes, by name or number, that stand for the same things, such as the two people of a contact.
        Cells that mirror each other are then held out together, or each would give the other away. For a
        ``RelationalTensor`` that is so in any case.

    Returns
    -------
    ndarray of bool
        True for the cells that are held out; of the shape of X. ``hide`` takes them out.
    """
    share, rng, tensor = check_share(test_size), check_generator(random_state), as_tensor(X)
    mirrored = check_symmetric(symmetric, tensor.modes, tensor.shape)
    if mirrored is None and isinstance(tensor, RelationalTensor):
        mirrored = tensor.mirrored
    need, room = 6 * math.prod(tensor.shape), available_memory()
    if need > room:
        raise InputError(
            f"A mask of {math.prod(tensor.shape):,} cells takes {need / 2**30:,.1f} GB to make and this "
            f"machine has {room / 2**30:,.1f} GB; use hold_out, also of a RelationalTensor, or a part of X."
        )
    ones, observed = _read(tensor)
    candidates = observed if mirrored is None else observed & _one_side(tensor.shape, *mirrored)
    groups = [candidates & ones, candidates & ~ones] if stratify else [candidates]
    mask = np.zeros(tensor.shape, np.bool_)
    for group in groups:
        _choose(mask, group, round(share * np.count_nonzero(group)), rng)
    if mirrored is not None:
        mask |= mask.swapaxes(*mirrored) & observed
    _give_back(mask, observed, mirrored, rng)
    if not mask.any():
        raise InputError(
            f"test_size is {test_size} and X has {tensor.n_observed:,} observed cells, which leaves none to "
            "hold out; give more cells or a larger test_size."
        )
    return mask


class HeldOut(NamedTuple):
    """Data in two parts: a tensor to fit, in which some cells are missing, and those cells.

    Attributes
    ----------
    train : SparseTensor
    cells : ndarray of int (n, K)
    values : ndarray of bool (n,)
    """

    train: SparseTensor
    cells: npt.NDArray[np.intp]
    values: Bits


def hold_out(X: Any, test_size: float = 0.2, zeros: float = 1.0, random_state: Any = 0) -> HeldOut:
    """Hold out ones and some zeros of a sparse tensor, without a mask of its shape.

    Every index of every mode keeps an observed cell.

    Parameters
    ----------
    X : SparseTensor, scipy.sparse matrix, or whatever ``fit`` takes
    test_size : float, default 0.2
        Share of the ones to hold out, and where unlisted cells are missing of the listed zeros.
    zeros : float, default 1.0
        How many zeros to hold out for each one, where unlisted cells are zeros.
    random_state : int, numpy.random.Generator or None, default 0
        Seed.

    Returns
    -------
    HeldOut
        ``score_cells(values, model.predict_proba(cells))`` tells how well they are predicted. Where zeros are
        sampled, probabilities are right for all cells, not for the sample: look at the AUC.
    """
    share, rng, tensor = check_share(test_size), check_generator(random_state), as_tensor(X)
    if isinstance(tensor, RelationalTensor):  # whose cells give their mirror images away
        raise InputError("X is a RelationalTensor; use its own hold_out instead.")
    sparse = tensor if isinstance(tensor, SparseTensor) else to_sparse(tensor)
    ratio = _check_ratio(zeros)
    ones, others = sparse.listed()
    hidden = _draw(len(ones), share, rng)
    if sparse.unlisted == "zero":
        count = round(ratio * np.count_nonzero(hidden))
        drawn = _draw_zeros(sparse, count, np.concatenate([ones, others]), rng)
        rest = np.sort(np.concatenate([others, ones[hidden], drawn]))
    else:
        both = np.concatenate([hidden, _draw(len(others), share, rng)])
        _give_back_listed(both, np.concatenate([ones, others]), sparse.shape)
        hidden, chosen = both[: len(ones)], both[len(ones) :]
        drawn, rest = others[chosen], others[~chosen]
    tested, fitted = ones[hidden], ones[~hidden]
    if not len(tested):
        raise InputError(
            f"test_size is {test_size} and X has {len(ones):,} ones, which leaves none to hold out where "
            "every index keeps a cell; give more of either."
        )
    names = sparse.shape, sparse.unlisted, sparse.modes, sparse.labels
    train = SparseTensor.from_cells(Cells.of(sparse.unlisted, fitted, rest), *names)
    cells = np.stack(np.unravel_index(np.concatenate([tested, drawn]), sparse.shape), axis=1)
    return HeldOut(train, cells, np.arange(len(cells)) < len(tested))


def _draw(count: int, share: float, rng: np.random.Generator) -> Bits:
    """Return which of so many things are among a random share of them."""
    drawn = np.zeros(count, np.bool_)
    drawn[rng.permutation(count)[: round(share * count)]] = True
    return drawn


def _give_back_listed(hidden: Bits, keys: npt.NDArray[np.int64], shape: tuple[int, ...]) -> None:
    """Take one cell out of those hidden wherever an index has lost all cells that are listed for it."""
    for index, size in zip(np.unravel_index(keys, shape), shape, strict=True):
        left = np.bincount(index[~hidden], minlength=size)
        lost = np.flatnonzero(hidden & (left[index] == 0))
        _, first = np.unique(index[lost], return_index=True)
        hidden[lost[first]] = False


def _draw_zeros(
    tensor: SparseTensor, count: int, taken: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return distinct cells that are not taken, or all there are."""
    volume = math.prod(tensor.shape)
    count = min(count, volume - len(taken))
    if volume <= 4 * (count + len(taken)):
        return rng.permutation(np.setdiff1d(np.arange(volume), taken))[:count]
    drawn = np.zeros(0, np.int64)
    while len(drawn) < count:
        more = np.unique(np.concatenate([drawn, rng.integers(volume, size=2 * count)]))
        drawn = more[~np.isin(more, taken)]
    return rng.permutation(drawn)[:count]


def _check_ratio(zeros: Any) -> float:
    if isinstance(zeros, bool) or not isinstance(zeros, (int, float)) or not 0 <= zeros < math.inf:
        raise InputError(f"zeros is {zeros!r}; give a number of at least 0, of zeros for each one.")
    return float(zeros)


def check_share(test_size: Any) -> float:
    """Return a share above 0 and below 1, or raise."""
    share = check_number("test_size", test_size)
    if not 0 < share < 1:
        raise InputError(f"test_size is {test_size}; give a number above 0 and below 1.")
    return share


def hide(X: Any, mask: npt.ArrayLike) -> Any:
    """Return X with some cells missing; X itself stays as it is.

    Parameters
    ----------
    X : array-like
        Cells of 0, 1 and missing: a list or array, a ``numpy.ma`` array, an ``xarray.DataArray`` or a wide
        pandas table.
    mask : array of bool
        Which cells to hide; of the shape of X.

    Returns
    -------
    A new object of the same kind
        Hidden cells are masked in a ``numpy.ma`` array, NaN elsewhere; integers and Booleans become float32.
    """
    if isinstance(X, RelationalTensor):
        raise InputError("X is a RelationalTensor, which has no cells to hide; use its hold_out instead.")
    hidden = check_mask(mask, np.shape(X))
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.array(X.data.copy(), mask=np.ma.getmaskarray(X) | hidden)
    if is_a(X, "xarray", "DataArray"):
        return X.copy(data=_blank(X.values, hidden))
    if is_a(X, "pandas", "DataFrame"):
        return X.astype(np.float64).mask(hidden)
    if not isinstance(X, (np.ndarray, list, tuple)):
        raise InputError(
            f"X is a {type(X).__name__}; hide cells of an array, numpy.ma, xarray or pandas table instead."
        )
    return _blank(np.asarray(X), hidden)


def _blank(values: npt.NDArray[Any], hidden: Bits) -> npt.NDArray[Any]:
    cells = values.astype(values.dtype if values.dtype.kind == "f" else np.float32)
    cells[hidden] = np.nan
    return cells


def _read(tensor: Tensor) -> tuple[Bits, Bits]:
    """Return which cells are 1 and which are observed."""
    ones, observed = np.empty((2, *tensor.shape), np.bool_)
    for where, *block in tensor.blocks():
        ones[where], observed[where] = block
    return ones, observed


def _choose(mask: Bits, candidates: Bits, count: int, rng: np.random.Generator) -> None:
    """Set so many random candidates in the mask; large tensors give in pieces, each its share."""
    flat, chosen = candidates.reshape(-1), mask.reshape(-1)
    total, seen, taken = np.count_nonzero(flat), 0, 0
    for start in range(0, flat.size, AT_ONCE):
        here = start + np.flatnonzero(flat[start : start + AT_ONCE])
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
                i, j = mirrored
                cell[[i, j]] = cell[[j, i]]
                mask[tuple(cell)] = False


def _one_side(shape: tuple[int, ...], i: int, j: int) -> Bits:
    """Return the cells on one side of the diagonal, itself included, in a form that spreads to the shape."""
    sizes = [size if k in (i, j) else 1 for k, size in enumerate(shape)]
    rows, columns = np.indices(sizes, sparse=True)[i], np.indices(sizes, sparse=True)[j]
    return np.asarray(rows <= columns)


def check_symmetric(symmetric: Any, modes: Sequence[str], shape: Sequence[int]) -> tuple[int, int] | None:
    """Return two modes of equal size by number, the smaller first, or None; raise if they are not."""
    if symmetric is None:
        return None
    if not isinstance(symmetric, (tuple, list)) or len(symmetric) != 2:
        raise InputError(f"symmetric is {symmetric!r}; give a pair of modes, or None.")
    i, j = (check_mode(mode, modes, "symmetric") for mode in symmetric)
    if i == j or shape[i] != shape[j]:
        sizes = f"{shape[i]} and {shape[j]}"
        raise InputError(f"symmetric is {symmetric!r}, of sizes {sizes}; give two modes of the same size.")
    return min(i, j), max(i, j)
