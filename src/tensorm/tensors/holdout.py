"""Holding cells out: which observed cells to hide from a fit, and the same data without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits
from tensorm.data.checks import (
    MAX_REPEATS,
    as_array,
    check_flag,
    check_generator,
    check_mask,
    check_mode,
    short,
)
from tensorm.data.inputs import is_a
from tensorm.errors import InputError
from tensorm.tensors import read
from tensorm.tensors.held_cells import check_share
from tensorm.tensors.pick import to_sparse
from tensorm.tensors.protocol import HeldOut, Tensor


def train_test_mask(
    X: Any,
    test_size: float = 0.2,
    random_state: Any = 0,
    *,
    stratify: bool = False,
    symmetric: tuple[str | int, str | int] | None = None,
) -> Bits:
    """Choose observed cells to hold out.

    Every index of every mode keeps at least one observed cell, so that the model can assign it to components:
    if all cells of a slice were chosen, one of them is not held out.

    Parameters
    ----------
    X : array-like or tensor
        Cells of 0, 1 and missing.
    test_size : float, default 0.2
        Share of the observed cells to hold out, above 0 and below 1.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed; the same one gives the same mask.
    stratify : bool, default False
        Whether to hold out the same share of the ones and of the zeros. Useful where ones are rare.
    symmetric : pair of modes, optional
        Two modes, by name or number, that stand for the same things, such as the two people of a contact.
        Cells that mirror each other are then held out together, because each would reveal the other. With a
        ``RelationalTensor``, and after ``tensorm.read(..., undirected=True)``, this is always done.

    Returns
    -------
    ndarray of bool
        True for the cells that are held out; of the shape of X. ``hide`` takes them out.
    """
    share, rng, tensor = check_share(test_size), check_generator(random_state), read(X)
    pair = check_symmetric(symmetric, tensor.modes, tensor.shape)
    return tensor.choose_mask(share, rng, pair, check_flag("stratify", stratify))[0]


def hold_out(X: Any, test_size: float = 0.2, zeros: float = 1.0, random_state: Any = 0) -> HeldOut:
    """Hold out ones and some zeros of a sparse tensor, without a mask of its shape.

    Every index of every mode keeps an observed cell.

    Parameters
    ----------
    X : SparseTensor, scipy.sparse matrix, or whatever ``fit`` takes
    test_size : float, default 0.2
        Share of the ones to hold out and, where unlisted cells are missing, of the listed zeros.
    zeros : float, default 1.0
        Number of zeros to hold out for each one, if unlisted cells are zeros.
    random_state : int, numpy.random.Generator or None, default 0
        Random seed.

    Returns
    -------
    HeldOut
        ``score_cells(values, model.predict_proba(cells))`` measures how well they are predicted. If zeros
        are sampled, probabilities are calibrated for all cells, not for the sample: use the AUC.
    """
    share, rng, tensor = check_share(test_size), check_generator(random_state), read(X)
    if tensor.mirrored != tensor.undirected:  # a cell would reveal its mirror image
        raise InputError(f"X is a {type(tensor).__name__}; use its own hold_out, or train_test_mask.")
    ratio: Any = zeros
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= MAX_REPEATS:
        raise InputError(
            f"zeros is {short(zeros)}; give a number of zeros per one from 0 to {MAX_REPEATS:,}."
        )
    return to_sparse(tensor).split_listed(share, ratio, rng)


def hide(X: Any, mask: npt.ArrayLike) -> Any:
    """Return X with some cells missing; X itself does not change.

    Parameters
    ----------
    X : array-like or tensor
        Cells of 0, 1 and missing: a list or array, a ``numpy.ma`` array, an ``xarray.DataArray``, a wide
        pandas table, or a tensor.
    mask : array of bool
        Which cells to hide; of the shape of X.

    Returns
    -------
    A new object of the same kind
        Hidden cells are masked in a ``numpy.ma`` array, NaN elsewhere; integers and Booleans become float32.
        Tensors become a ``DenseTensor``.
    """
    if isinstance(X, Tensor):
        return X.hide(check_mask(mask, X.shape))
    frames = is_a(X, "xarray", "DataArray") or is_a(X, "pandas", "DataFrame")
    if not (frames or isinstance(X, (np.ndarray, list, tuple))):
        raise InputError(f"X is a {type(X).__name__}; give an array, numpy.ma, xarray or pandas table.")
    hidden = check_mask(mask, as_array("X", X).shape)
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.array(X.data.copy(), mask=np.ma.getmaskarray(X) | hidden)
    if is_a(X, "xarray", "DataArray"):
        return X.copy(data=_blank(X.values, hidden))
    if is_a(X, "pandas", "DataFrame"):
        return X.astype(np.float64).mask(hidden)
    return _blank(np.asarray(X), hidden)


def _blank(values: Array, hidden: Bits) -> Array:
    cells = values.astype(values.dtype if values.dtype.kind == "f" else np.float32)
    cells[hidden] = np.nan
    return cells


def check_symmetric(symmetric: Any, modes: Sequence[str], shape: Sequence[int]) -> tuple[int, int] | None:
    """Return two modes of equal size by number, the smaller first, or None; raise if they are not."""
    if symmetric is None:
        return None
    if not isinstance(symmetric, (tuple, list)) or len(symmetric) != 2:
        raise InputError(
            f"symmetric is {short(symmetric)}; give a pair of modes, as in {tuple(modes[-2:])}, or None."
        )
    i, j = (check_mode(mode, modes, "symmetric") for mode in symmetric)
    if i == j or shape[i] != shape[j]:
        found = f"symmetric is {short(symmetric)}, of sizes {shape[i]} and {shape[j]}"
        raise InputError(f"{found}; give two modes of the same size.")
    return min(i, j), max(i, j)
