"""Checks of arguments: a valid one is returned, an invalid one raises an ``InputError`` of one sentence."""

from __future__ import annotations

import math
import numbers
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from tensorm.data.arrays import Array, Bits, Floats, Indices
from tensorm.errors import InputError

LARGEST_BETA = 1e12  # of a Beta's two numbers, which count cells
MAX_STORED = 2**40  # numbers of an array in memory
MAX_REPEATS = 10**6  # repeats of anything that takes time
MAX_COMPONENTS = 2**24  # that a fit, or a file, may have

LONGEST_LABEL = 10_000  # characters
FREE_LABEL_ROOM = 2**24  # characters that labels of a mode may take, each as long as the longest
WASTE = 16  # times as many characters as the labels have, that they may take
LAST_CHARACTER = 0x10FFFF
SURROGATE = re.compile("[\ud800-\udfff]")  # half a character


def check_count(name: str, value: Any, minimum: int, otherwise: str = "", most: int | None = None) -> int:
    """Return ``value`` as an int, or raise unless it is an integer of at least ``minimum``, at most ``most``.

    ``otherwise`` ends the message: what else may be given.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, (bool, np.bool_)) or count < minimum:
        raise InputError(f"{name} is {short(value)}; give an integer of at least {minimum}{otherwise}.")
    if most is not None and count > most:
        raise InputError(f"{name} is {short(value)}; give an integer of at most {most:,}{otherwise}.")
    return count


def is_list(value: Any) -> bool:
    """Whether this is a sequence with a length: no text, and no array without a dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise unless it is one."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {short(value)}; give True or False.")
    return bool(value)


def check_mapping(name: str, value: Any, wanted: str) -> Mapping[Any, Any]:
    """Return a mapping, an empty one for None, or raise if it is neither."""
    if not isinstance(value, (Mapping, NoneType)):
        raise InputError(f"{name} is {short(value)}; give {wanted}.")
    return value or {}


def check_text(name: str, value: Any) -> str | None:
    """Return a text or None, or raise if it is neither."""
    if not isinstance(value, (str, NoneType)):
        raise InputError(f"{name} is {short(value)}; give a string, or leave it out.")
    return value


def check_choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return ``value``, or raise if it is not one of the options."""
    if not (isinstance(value, str) and value in options):
        *others, last = map(repr, options)
        choices = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{name} is {short(value)}; choose {choices}.")
    return str(value)


def check_probability(name: str, value: Any) -> float | Floats:
    """Return a number as a float, anything else as a float array, or raise unless all are in [0, 1]."""
    if value is None or isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"{name} is {short(value)}; give a probability between 0 and 1.")
    array = as_numbers(name, value, "give probabilities between 0 and 1")
    _refuse_repeated(name, array)
    array = array.astype(np.float64)
    bad = ~((array >= 0) & (array <= 1))  # NaN is neither
    if array.ndim == 0 and bad:
        raise InputError(f"{name} is {array}; give a probability between 0 and 1.")
    if bad.any():
        index = _first(bad)
        raise InputError(f"{name} contains {array[index]} at {index}; give probabilities between 0 and 1.")
    return float(array) if array.ndim == 0 else array.copy()


def check_number(name: str, value: Any) -> float:
    """Return one probability as a float, or raise if there are several or it is none."""
    number = check_probability(name, value)
    if not isinstance(number, float):
        raise InputError(f"{name} is an array of shape {number.shape}; give one number between 0 and 1.")
    return number


def check_real(name: str, value: Any) -> float | None:
    """Return a number that may be left out, or raise unless it is finite."""
    if value is None:
        return None
    real: Any = value if isinstance(value, (int, float, np.number)) else math.nan
    if not abs(real) <= sys.float_info.max:
        raise InputError(f"{name} is {short(value)}; give a number.")
    return float(real)


def check_amount(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is a number of at least 0, at most MAX_REPEATS."""
    try:
        amount = math.nan if isinstance(value, (str, bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount <= MAX_REPEATS:
        raise InputError(f"{name} is {short(value)}; give a number from 0 to {MAX_REPEATS:,}.")
    return amount


def check_beta(name: str, value: Any) -> tuple[float, float]:
    """Return the two numbers of a Beta prior, or raise unless there are two, positive and not too large."""
    try:
        a, b = (float(number) for number in value)
    except (TypeError, ValueError, OverflowError):
        a = b = math.nan
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise InputError(f"{name} is {short(value)}; give two positive numbers.")
    if max(a, b) > LARGEST_BETA:
        raise InputError(f"{name} is {short(value)}; give numbers of at most {LARGEST_BETA:,.0f}.")
    return a, b


def check_bits(name: str, values: Any) -> Bits:
    """Return values of 0 and 1 as a new Boolean array, or raise if there are others."""
    array = as_numbers(name, values, "give only 0 and 1")
    _refuse_repeated(name, array)
    ones, missing, bad = read_bits(array, None)
    bad = bad if missing is None or bad is not None else _first(missing)
    if bad is not None:
        raise InputError(f"{name} contains {array[bad]} at {bad}; give only 0 and 1.")
    return ones


def check_tables(
    name: str, arrays: Any, shape: Sequence[int], n_components: int, check: Callable[[str, Any], Any]
) -> list[Array]:
    """Return for each mode an array (N_k, n_components) that passed a check: of bits, or of probabilities.

    A probability may stand for a whole array.
    """
    K = len(shape)
    if not is_list(arrays):
        raise InputError(f"{name} is {short(arrays)}; give a list of {K} arrays, one per mode.")
    if len(arrays) != K:
        raise InputError(f"{name} has length {len(arrays)}; give {K} arrays, one per mode.")
    tables = [np.asarray(check(f"{name} for mode {k}", array)) for k, array in enumerate(arrays)]
    for k, (table, size) in enumerate(zip(tables, shape, strict=True)):
        if table.shape != (size, n_components) and (table.ndim or check is check_bits):
            wanted = f"({size}, {n_components}), the size of the mode by n_components"
            raise InputError(f"{name} for mode {k} has shape {table.shape}; give {wanted}.")
    return tables


def check_mask(mask: Any, shape: Sequence[int]) -> Bits:
    """Return a mask of cells as an array, or raise unless it is Boolean and has the shape of X."""
    array = as_array("mask", mask)
    if array.dtype != np.bool_ or array.shape != tuple(shape):
        wanted = f"give Booleans of the shape of X, {tuple(shape)}"
        raise InputError(f"mask has shape {array.shape} and dtype {array.dtype}; {wanted}.")
    return array


def check_indices(
    indices: Any, shape: Sequence[int], modes: Sequence[str] | None = None
) -> tuple[Indices, ...]:
    """Return K index arrays from an array (n, K) of cell indices, or raise if there is no such cell."""
    K = len(shape)
    wanted = f"give integers of shape (n, {K}), one row for each cell"
    array = as_numbers("indices", indices, wanted)
    if array.ndim != 2 or array.shape[1] != K or array.dtype.kind not in "iu":
        raise InputError(f"indices has shape {array.shape} and dtype {array.dtype}; {wanted}.")
    for k, size in enumerate(shape):
        bad = (array[:, k] < 0) | (array[:, k] >= size)
        if bad.any():
            value = array[bad.argmax(), k]
            name = f"mode {k}" if modes is None else modes[k]
            raise InputError(f"indices contains {value} for {name}; give indices from 0 to {size - 1}.")
    return tuple(array.astype(np.intp).T)


def check_parts(indices: Any, shape: Sequence[int]) -> list[Indices]:
    """Return an array of indices for each mode, or raise unless there is one and the mode has them all."""
    K = len(shape)
    if not is_list(indices) or len(indices) != K:
        raise InputError(f"indices is {short(indices)}; give {K} arrays of integers, one for each mode.")
    return [check_range(f"indices for mode {k}", index, shape[k]) for k, index in enumerate(indices)]


def check_range(name: str, numbers: Any, size: int) -> Indices:
    """Return integers from 0 up to a size in an array of one dimension, or raise."""
    array, wanted = as_array(name, numbers), f"give a list of integers from 0 to {size - 1}"
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} has shape {array.shape} and dtype {array.dtype}; {wanted}.")
    if array.size and not (array.min() >= 0 and array.max() < size):
        raise InputError(f"{name} has values from {array.min()} to {array.max()}; {wanted}.")
    return array.astype(np.intp, copy=False)


def check_mode(mode: Any, modes: Sequence[str], name: str = "") -> int:
    """Return the number of a mode given by its name or number; ``name`` is the parameter that has it."""
    if isinstance(mode, str) and mode in modes:
        return modes.index(mode)
    if isinstance(mode, (int, np.integer)) and not isinstance(mode, bool) and 0 <= mode < len(modes):
        return int(mode)
    raise unknown_mode(mode, modes, name)


def unknown_mode(mode: Any, modes: Sequence[str], name: str) -> InputError:
    """Return the error about a mode that is none of these."""
    where, known = f" in {name}" if name else "", ", ".join(map(repr, modes))
    return InputError(f"Unknown mode {short(mode)}{where}; the modes are {known}.")


def check_index(index: Any, mode: str, size: int, labels: Array | None) -> int:
    """Return the number of an index of a mode; anything but an integer is taken as a label."""
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        if 0 <= index < size:
            return int(index)
    elif labels is not None:
        found = number_labels(labels).get(str(index))
        if found is not None:
            return found
        if isinstance(index, str) and len(labels):
            raise InputError(f"Unknown {mode} {short(index)}; labels look like {str(labels[0])!r}.")
    remedy = f"give a number from 0 to {size - 1}" + ("" if labels is None else " or a label")
    raise InputError(f"index is {short(index)}; {mode!r} has {size} indices: {remedy}.")


def number_labels(labels: Iterable[Any]) -> dict[str, int]:
    """Return the index of each label by its text, as people know it; the first of equal ones."""
    found: dict[str, int] = {}
    for n, label in enumerate(labels):
        found.setdefault(str(label), n)
    return found


def find_orders(
    name: str, labels: Any, shape: Sequence[int], modes: Sequence[str], known: Sequence[Array | None]
) -> list[Indices]:
    """Return for each mode where labels are among known ones, or raise if they are others; None is alike."""
    if not is_list(labels) or len(labels) != len(shape):
        wanted = f"{len(shape)} lists of labels, one for each mode, or None in place of one"
        raise InputError(f"labels is {short(labels)}; give {wanted}.")
    orders = []
    for mode, size, mine, theirs in zip(modes, shape, known, labels, strict=True):
        if mine is None or theirs is None:
            orders.append(np.arange(size))
            continue
        others = as_array("labels", theirs)
        order = find_order(mine, others) if others.shape == mine.shape else None
        if order is None:
            wanted = f"give its {size} labels, which look like {str(mine[0])!r}"
            raise InputError(f"{name} has other labels in mode {mode!r} than the fit; {wanted}.")
        orders.append(order)
    return orders


def find_order(labels: Array, others: Array) -> Indices | None:
    """Return where each of the others is among labels, or None if they are not the same labels."""
    if np.array_equal(labels, others):  # some may be there twice
        return np.arange(len(labels))
    places = number_labels(labels)
    found = np.array([places.get(str(label), -1) for label in others], np.intp)
    return found if np.array_equal(np.sort(found), np.arange(len(labels))) else None


def check_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator or None."""
    try:
        if np.size(random_state) < MAX_REPEATS:  # numpy would read any array as a seed
            return np.random.default_rng(random_state)
    except (TypeError, ValueError, MemoryError):
        pass
    wanted = "a non-negative integer, a numpy Generator or None"
    raise InputError(f"random_state is {short(random_state)}; give {wanted}.")


def check_labels(title: str, texts: Collection[str]) -> None:
    """Raise if labels cannot be kept: an array gives each of them as much room as the longest has."""
    longest, room = max(texts, key=len, default=""), FREE_LABEL_ROOM
    if len(longest) * len(texts) > room:  # else there is room enough; a text may be there many times
        room = max(room, WASTE * sum(map(len, set(texts))))
    if len(longest) > LONGEST_LABEL or len(longest) * len(texts) > room:
        problem = f"a label of {len(longest):,} characters, {longest[:20]!r}..., which is too long"
        raise InputError(
            f"{title} contains {problem}; give at most {min(LONGEST_LABEL, room // len(texts)):,}."
        )
    for text in texts:
        if is_broken(text):
            problem = f"{text[:40]!a}, which has a NUL or an incomplete character"
            raise InputError(f"{title} contains the label {problem}; remove it.")


def is_broken(text: str) -> bool:
    """Whether a text cannot be kept: it has a NUL, or half a character."""
    return "\0" in text or (not text.isascii() and SURROGATE.search(text) is not None)


def check_label_array(title: str, labels: Array | None) -> None:
    """Raise if an array holds text that cannot be kept, or that is no text at all."""
    if labels is None or labels.dtype.kind not in "UO":
        return
    if labels.dtype.kind == "U" and labels.size and labels.dtype.itemsize:
        native = np.ascontiguousarray(labels, labels.dtype.newbyteorder("="))
        if native.view(np.uint32).max() > LAST_CHARACTER:
            raise InputError(f"{title} has labels that are not text, so it is damaged; save it again.")
    check_labels(title, [text for text in labels.ravel().tolist() if isinstance(text, str)])


def as_array(name: str, value: Any) -> Array:
    """Return an array, without a copy unless one is needed."""
    try:
        array = np.asarray(value)
    except MemoryError as error:
        raise InputError(f"{name} needs more memory than is available; give less data.") from error
    except Exception as error:  # TypeError, ValueError, or whatever a stranger's class raises
        if isinstance(value, (list, tuple)):
            raise InputError(f"{name} has lists of different lengths; make them equally long.") from error
        array = np.empty((), object)
    return array


def as_numbers(name: str, value: Any, remedy: str) -> Array:
    """Return an array of Booleans, integers or floats, without a copy unless one is needed."""
    array = as_array(name, value)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InputError(f"{name} is {short(value)}, which cannot be read as an array; {remedy}.")
    odd = ((n, x) for n, x in np.ndenumerate(array) if not isinstance(x, numbers.Real) or x != x)
    index, example = next(odd, (None, None))
    cell = "" if index is None else f", with {short(example)} at {index}"
    raise InputError(f"{name} has dtype {array.dtype}{cell}; {remedy}.")


def read_bits(cells: Array, mask: Bits | None) -> tuple[Bits, Bits | None, tuple[int, ...] | None]:
    """Return which cells are 1, which are missing (or None), and where the first wrong one is (or None)."""
    wrong = None
    if cells.dtype == bool:
        ones = np.array(cells, order="C")
    else:
        ones = np.equal(cells, 1, order="C")
        wrong = np.not_equal(cells, 0)
        wrong &= ~ones
    missing = mask
    if cells.dtype.kind == "f":
        missing = np.isnan(cells) if mask is None else np.isnan(cells) | mask
    if missing is None or not missing.any():
        missing = None
    else:
        ones &= ~missing
        wrong = None if wrong is None else wrong & ~missing
    return ones, missing, None if wrong is None or not wrong.any() else _first(wrong)


def _refuse_repeated(name: str, array: Array) -> None:
    """Raise if an array can only be so large because it repeats itself (``numpy.broadcast_to``)."""
    if array.size > MAX_STORED:
        raise InputError(f"{name} has shape {array.shape}; give at most {MAX_STORED:,} numbers.")


def _first(bits: Bits) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unravel_index(bits.argmax(), bits.shape))


def short(value: Any) -> str:
    """Return a value as a message shows it, or its type if it is long or says nothing."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # of a stranger's class, or an integer of many thousand digits
        text = ""
    telling = 0 < len(text) <= 40 and "\n" not in text and " at 0x" not in text
    return text if telling else f"of type {type(value).__name__}"


def list_some(texts: Sequence[str], most: int = 3, total: int | None = None) -> str:
    """Return "a, b, c and 4 more"."""
    rest = (len(texts) if total is None else total) - most
    return ", ".join(texts[:most]) + (f" and {rest:,} more" if rest > 0 else "")
