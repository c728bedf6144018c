"""What people bring, turned into checked observations with labels; and the checks of their other arguments.

``observe`` names and describes an input without copying it; ``Observations.blocks`` reads it piece by piece
and refuses any cell that is not 0, 1 or missing, so that storing a tensor never needs a second full copy.
pandas, xarray and scipy.sparse are never imported here: an object of theirs means that they are loaded.
Every error is an ``InputError`` of one sentence. This room comes first: it imports nothing but the errors.
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError

Bits = npt.NDArray[np.bool_]
Labels = tuple[npt.NDArray[Any] | None, ...]

Opened = tuple[npt.NDArray[Any], Bits | None, Sequence[Any] | None, Labels | None]

# What every column of a table must be, and what to do with what is no array of numbers.
CELLS = (
    "every column of a wide table must hold 0, 1 or missing",
    "convert to bool, integer, or float with NaN for missing",
)
NUMBERS = "every column must hold numbers or be left out", "convert to integer, or float with NaN for missing"
LARGEST_UNPACKED = 2**24  # cells of a scipy.sparse matrix that are unpacked to a dense array


@dataclass(frozen=True, eq=False)
class Observations:
    """An input as it came, with the names of its modes and of their indices.

    Attributes
    ----------
    values : ndarray
        The cells, K >= 2 modes, boolean, integer or floating; shares the memory of the input where it can.
    mask : ndarray of bool, or None
        True where a cell is missing, whatever its value; NaN cells are missing besides.
    modes : tuple of str
        One name per mode.
    labels : tuple of ndarray or None
        For each mode the names of its indices, or None.
    """

    values: npt.NDArray[Any]
    mask: Bits | None
    modes: tuple[str, ...]
    labels: Labels

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the modes."""
        return self.values.shape

    def blocks(self, axis: int = 0, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits | None]]:
        """Walk along one mode in blocks of whole slices, checking every cell.

        Parameters
        ----------
        axis : int
            The mode to walk along.
        max_cells : int
            Size of a block; a single slice may be larger.

        Yields
        ------
        where : slice
            The indices of the block along ``axis``.
        ones : ndarray of bool
            Which cells are 1, False where missing; C-contiguous and the caller's to keep.
        observed : ndarray of bool, or None
            Which cells are not missing; None when no cell of the block is.

        Raises
        ------
        InputError
            When a cell is neither 0, 1 nor missing.
        """
        axis = range(self.values.ndim)[axis]
        size = self.shape[axis]
        step = max(1, max_cells * size // math.prod(self.shape))
        for start in range(0, size, step):
            where = slice(start, min(start + step, size))
            index = (slice(None),) * axis + (where,)
            cells = self.values[index]
            ones, missing, bad = _read(cells, None if self.mask is None else self.mask[index])
            if bad is not None:
                place = tuple(n + start * (k == axis) for k, n in enumerate(bad))
                raise InputError(
                    f"X holds {cells[bad]} at {self._place(place)}; cells must be 0, 1 or missing (NaN)."
                )
            yield where, ones, None if missing is None else ~missing

    def _place(self, index: tuple[int, ...]) -> str:
        known = zip(self.modes, self.labels, index, strict=True)
        names = [f"{mode} {str(labels[n])!r}" for mode, labels, n in known if labels is not None]
        return f"{index} ({', '.join(names)})" if names else f"{index}"


class Matrix(NamedTuple):
    """Numbers of objects and attributes as they came, with names."""

    values: npt.NDArray[Any]
    mask: Bits | None  # True where a value is missing; NaN is missing besides
    modes: tuple[str, str]  # what an object and an attribute are called
    labels: Labels  # their own names, or None


def observe(X: Any) -> Observations:
    """Take in cells of 0, 1 and missing, without copying or changing them.

    Parameters
    ----------
    X : array-like
        At least two modes: nested lists, any array with NaN for missing, a ``numpy.ma`` array, an
        ``xarray.DataArray`` (names and labels are kept), a wide pandas table (two modes), or a scipy.sparse
        matrix (unlisted cells are 0).

    Returns
    -------
    Observations
        Type and shape are checked now, the cells while they are read by ``Observations.blocks``.

    Raises
    ------
    InputError
        When this is no array of numbers, or has fewer than two modes, or an empty one.
    """
    values, mask, names, labels = _open("X", X, *CELLS)
    K = values.ndim
    if K < 2:
        raise InputError(f"X has {K} mode{'s' * (K != 1)} (shape {values.shape}); give at least 2 modes.")
    modes = tuple(f"mode {k}" if names is None or names[k] is None else str(names[k]) for k in range(K))
    if 0 in values.shape:
        empty = modes[values.shape.index(0)]
        raise InputError(f"X has shape {values.shape}; {empty} is empty, but every mode needs an index.")
    return Observations(values, mask, modes, (None,) * K if labels is None else labels)


def read_matrix(matrix: Any) -> Matrix:
    """Take in numbers of objects (rows) and attributes (columns), without copying or changing them.

    Parameters
    ----------
    matrix : array-like
        Two axes: an array with NaN for missing, a ``numpy.ma`` array, an ``xarray.DataArray``, a pandas table
        or an ``anndata.AnnData``.

    Raises
    ------
    InputError
        When there are not two axes of numbers, or one is empty.
    """
    if is_a(matrix, "anndata", "AnnData"):
        objects, attributes = matrix.obs_names, matrix.var_names
        values, mask, *_ = _open("matrix", matrix.X, *NUMBERS)
        names: Sequence[Any] | None = (objects.name, attributes.name)
        labels: Labels | None = (objects.to_numpy(), attributes.to_numpy())
    else:
        values, mask, names, labels = _open("matrix", matrix, *NUMBERS)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(
            f"matrix has shape {values.shape}; give objects by attributes, at least one of each."
        )
    first, second = (None, None) if names is None else names
    modes = "object" if first is None else str(first), "attribute" if second is None else str(second)
    return Matrix(values, mask, modes, (None, None) if labels is None else labels)


def _open(name: str, X: Any, column: str, remedy: str) -> Opened:
    """Return values and mask of what was given, and the names and labels that it has."""
    names: Sequence[Any] | None = None
    labels: Labels | None = None
    mask: Bits | None = None
    if is_a(X, "xarray", "DataArray"):
        names = X.dims
        labels = tuple(X.coords[dim].values if dim in X.coords else None for dim in X.dims)
        X = X.values
    elif is_a(X, "pandas", "DataFrame"):
        names = (X.index.name, X.columns.name)
        labels = (X.index.to_numpy(), X.columns.to_numpy())
        X = _unpack_table(name, X, column)
    elif is_a(X, "scipy.sparse", "sparray") or is_a(X, "scipy.sparse", "spmatrix"):
        X = _unpack_sparse(name, X)
    elif isinstance(X, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(X) if np.ma.is_masked(X) else None
        X = np.ma.getdata(X)
    values = _as_numbers(name, X, remedy)
    if isinstance(X, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in X):
        mask = np.array([np.ma.getmaskarray(part) for part in X])
    return values, mask, names, labels


def check_count(name: str, value: Any, minimum: int, otherwise: str = "") -> int:
    """Return ``value`` as an int, or raise if it is no integer or below ``minimum``.

    ``otherwise`` is the end of the message: what may be given besides.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, (bool, np.bool_)) or count < minimum:
        raise InputError(f"{name} is {_short(value)}; give an integer of at least {minimum}{otherwise}.")
    return count


def check_choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return ``value``, or raise if it is not one of the options."""
    if not (isinstance(value, str) and value in options):
        raise InputError(f"{name} is {_short(value)}; choose {' or '.join(map(repr, options))}.")
    return str(value)


def check_probability(name: str, value: Any) -> float | npt.NDArray[np.float64]:
    """Return a number as float, anything else as a float array, or raise if it leaves [0, 1] or is NaN."""
    if value is None or isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"{name} is {_short(value)}; give a probability between 0 and 1.")
    array = _as_numbers(name, value, "give probabilities between 0 and 1").astype(np.float64)
    bad = ~((array >= 0) & (array <= 1))  # NaN is neither
    if array.ndim == 0 and bad:
        raise InputError(f"{name} is {array}; give a probability between 0 and 1.")
    if bad.any():
        index = _first(bad)
        raise InputError(f"{name} holds {array[index]} at {index}; give probabilities between 0 and 1.")
    return float(array) if array.ndim == 0 else array


def check_factors(name: str, arrays: Any, shape: Sequence[int], n_components: int) -> list[Bits]:
    """Return K new boolean arrays (N_k, n_components), or raise if one has another shape or other values."""
    K = len(shape)
    if isinstance(arrays, str) or not isinstance(arrays, (Sequence, np.ndarray)):
        raise InputError(f"{name} is {_short(arrays)}; give a list of {K} arrays of 0 and 1, one per mode.")
    if len(arrays) != K:
        raise InputError(f"{name} has length {len(arrays)}; give {K} arrays of 0 and 1, one per mode.")
    factors = []
    for k, (array, size) in enumerate(zip(arrays, shape, strict=True)):
        factor = _as_numbers(f"{name} for mode {k}", array, "give 0 and 1")
        if factor.shape != (size, n_components):
            wanted = f"({size}, {n_components}), the size of the mode by n_components"
            raise InputError(f"{name} for mode {k} has shape {factor.shape}; give {wanted}.")
        ones, missing, bad = _read(factor, None)
        bad = bad if missing is None or bad is not None else _first(missing)
        if bad is not None:
            raise InputError(f"{name} for mode {k} holds {factor[bad]} at {bad}; entries must be 0 or 1.")
        factors.append(ones)
    return factors


def _read(cells: npt.NDArray[Any], mask: Bits | None) -> tuple[Bits, Bits | None, tuple[int, ...] | None]:
    """Return which cells are 1, which are missing (or None), and where the first wrong one is (or None)."""
    ones = np.empty(cells.shape, dtype=bool)  # in C order, whatever the order of the cells
    if cells.dtype == bool:
        ones[...] = cells
        wrong = None
    else:
        np.equal(cells, 1, out=ones)
        wrong = np.not_equal(cells, 0)
        wrong &= ~ones
    missing = mask
    if cells.dtype.kind == "f":
        missing = np.isnan(cells) if mask is None else np.isnan(cells) | mask
    if missing is not None and not missing.any():
        missing = None
    if missing is not None:
        ones &= ~missing
        if wrong is not None:
            wrong &= ~missing
    return ones, missing, None if wrong is None or not wrong.any() else _first(wrong)


def _first(bits: Bits) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unravel_index(bits.argmax(), bits.shape))


def _as_numbers(name: str, value: Any, remedy: str) -> npt.NDArray[Any]:
    """Return an array of booleans, integers or floats, without a copy where there is no need for one."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        if isinstance(value, (list, tuple)):
            wanted = "make all lists of a level equally long"
            raise InputError(f"{name} is a ragged nested list; {wanted}.") from error
        raise InputError(f"{name} is {_short(value)}, which cannot be read as an array; {remedy}.") from error
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InputError(f"{name} is {_short(value)}, which cannot be read as an array; {remedy}.")
    odd = (
        (n, item) for n, item in np.ndenumerate(array) if not isinstance(item, numbers.Real) or item != item
    )
    index, example = next(odd, (None, None))
    holding = "" if index is None else f", holding {_short(example)} at {index}"
    raise InputError(f"{name} has dtype {array.dtype}{holding}; {remedy}.")


def _unpack_table(name: str, table: Any, wanted: str) -> npt.NDArray[Any]:
    """Return the cells of a wide table; nullable and mixed columns become floats, in which NaN is missing."""
    for column, dtype in zip(table.columns, table.dtypes, strict=True):
        if dtype.kind not in "biuf":
            raise InputError(f"{name} has a column {column!r} of dtype {dtype}; {wanted}.")
    cells = table.to_numpy()
    if cells.dtype.kind not in "biuf":
        cells = table.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(cells)


def _unpack_sparse(name: str, matrix: Any) -> npt.NDArray[Any]:
    cells = math.prod(matrix.shape)
    if cells > LARGEST_UNPACKED:
        raise InputError(
            f"{name} is a sparse matrix of {cells:,} cells, and only up to {LARGEST_UNPACKED:,} are "
            "unpacked; give a part of it, or a dense array."
        )
    return np.asarray(matrix.toarray())


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of a class of a package that is not imported here."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _short(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    telling = len(text) <= 40 and "\n" not in text and " at 0x" not in text
    return text if telling else f"of type {type(value).__name__}"


def check_beta(name: str, value: Any) -> tuple[float, float]:
    """Return the two numbers of a Beta prior, or raise unless there are two and both are positive."""
    try:
        a, b = (float(number) for number in value)
    except (TypeError, ValueError):
        a = b = math.nan
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise InputError(f"{name} is {_short(value)}; give two positive numbers.")
    return a, b


def check_probability_tables(
    name: str, arrays: Any, shape: Sequence[int], n_components: int
) -> list[npt.NDArray[np.float64]]:
    """Return for each mode an array (N_k, n_components) of probabilities, spread out from what was given."""
    if not isinstance(arrays, (Sequence, np.ndarray)) or len(arrays) != len(shape):
        raise InputError(f"{name} is {_short(arrays)}; give 'learned', a number, or {len(shape)} arrays.")
    tables = []
    for k, (array, size) in enumerate(zip(arrays, shape, strict=True)):
        table = np.asarray(check_probability(f"{name} for mode {k}", array))
        if table.ndim and table.shape != (size, n_components):
            wanted = f"({size}, {n_components}), the size of the mode by n_components"
            raise InputError(f"{name} for mode {k} has shape {table.shape}; give {wanted}, or a number.")
        tables.append(table)
    return tables


def check_indices(indices: Any, shape: Sequence[int]) -> tuple[npt.NDArray[np.intp], ...]:
    """Return K index arrays from an array (n, K) of cell indices, or raise if it names no cells."""
    K = len(shape)
    array = _as_numbers("indices", indices, f"give integers of shape (n, {K}), one row for each cell")
    if array.ndim != 2 or array.shape[1] != K or array.dtype.kind not in "iu":
        raise InputError(
            f"indices has shape {array.shape} and dtype {array.dtype}; give integers of shape (n, {K}), "
            "one row for each cell."
        )
    for k, size in enumerate(shape):
        bad = (array[:, k] < 0) | (array[:, k] >= size)
        if bad.any():
            value = array[bad.argmax(), k]
            raise InputError(f"indices holds {value} for mode {k}; give indices from 0 to {size - 1}.")
    return tuple(array[:, k].astype(np.intp) for k in range(K))


def check_number(name: str, value: Any) -> float:
    """Return one probability as a float, or raise if it is none or if there are several."""
    number = check_probability(name, value)
    if not isinstance(number, float):
        raise InputError(f"{name} is an array of shape {number.shape}; give one number between 0 and 1.")
    return number


def check_mode(mode: Any, modes: Sequence[str], name: str = "mode") -> int:
    """Return the number of a mode given by its name or number."""
    if isinstance(mode, str) and mode in modes:
        return modes.index(mode)
    if isinstance(mode, (int, np.integer)) and not isinstance(mode, bool) and 0 <= mode < len(modes):
        return int(mode)
    known = ", ".join(map(repr, modes))
    raise InputError(f"{name} is {mode!r}; choose one of {known} or a number below {len(modes)}.")


def check_index(index: Any, mode: str, size: int, labels: npt.NDArray[Any] | None) -> int:
    """Return the number of an index of a mode; whatever is no integer is taken for a label."""
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        if 0 <= index < size:
            return int(index)
    elif labels is not None:
        wanted = str(index)  # labels are known to people by their text
        found = next((n for n, label in enumerate(labels) if str(label) == wanted), None)
        if found is not None:
            return found
    remedy = f"give a number from 0 to {size - 1}" + ("" if labels is None else " or a label")
    raise InputError(f"index is {_short(index)}; {mode!r} has {size} indices: {remedy}.")


def check_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator or None."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        wanted = "a non-negative integer, a numpy Generator or None"
        raise InputError(f"random_state is {_short(random_state)}; give {wanted}.") from error


def check_mask(mask: Any, shape: Sequence[int]) -> Bits:
    """Return a mask of cells as an array, or raise unless it is Boolean and has the shape of X."""
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != tuple(shape):
        raise InputError(
            f"mask has shape {array.shape} and dtype {array.dtype}; give Booleans of shape {tuple(shape)}, "
            "the shape of X."
        )
    return array


def check_bits(name: str, values: Any) -> Bits:
    """Return values of 0 and 1 as a Boolean array, or raise if there is another."""
    array = _as_numbers(name, values, "give 0 and 1")
    ones, missing, bad = _read(array, None)
    bad = bad if missing is None or bad is not None else _first(missing)
    if bad is not None:
        raise InputError(f"{name} holds {array[bad]} at {bad}; give 0 and 1.")
    return ones


def check_ternary(name: str, values: Any, size: int, place: Callable[[int], str]) -> tuple[Bits, Bits | None]:
    """Return which values of a list are 1 and which are missing (None if none is), or raise at another."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = _as_numbers(name, values, "give 0, 1 or NaN for missing")
    if array.shape != (size,):
        raise InputError(f"{name} has shape {array.shape}; give ({size},), one for each cell.")
    ones, missing, bad = _read(array, mask)
    if bad is not None:
        raise InputError(f"{name} holds {array[bad]} in {place(bad[0])}; give 0, 1 or NaN for missing.")
    return ones, missing
