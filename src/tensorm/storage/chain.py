"""How draws, what they were sampled from, settings and labels are laid out in a file (docs/files.md).

The two halves of each pair sit side by side: ``pack_trace`` and ``read_trace``, ``pack_settings`` and
``read_settings`` and so on. Readers trust nothing in a file: what they return could have come from a sampler.
"""

from __future__ import annotations

import datetime
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Floats
from tensorm.data.checks import LARGEST_BETA, LAST_CHARACTER, LONGEST_LABEL, MAX_COMPONENTS, is_broken
from tensorm.data.memory import available_memory
from tensorm.errors import InputError, printable
from tensorm.sampler.factor_draws import FactorDraws
from tensorm.sampler.models import BACKGROUNDS, MODELS, find_model, list_choices
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import FactorPrior, FixedPrior, LearnedPrior
from tensorm.sampler.state import LARGEST_LOG, MAX_SWEEPS, Trace
from tensorm.sampler.sweep import FLIPS, Target
from tensorm.storage.archive import Stored
from tensorm.storage.files import JSON_EXPANSION, quote

RECORDED = {"noise": "f8", "density": "f8", "confusion": "i8", "log_likelihood": "f8", "log_posterior": "f8"}


def pack_trace(trace: Trace) -> dict[str, Any]:
    """Return the draws of a chain as a tree for an archive."""
    tree = {
        "n_components": trace.n_components,
        "burn_in": trace.burn_in,
        "settled": int(trace.settled),
        **{name: getattr(trace, name) for name in RECORDED},
        "confusion": trace.confusion.astype(np.int64, copy=False),
    }
    for mode, draws in enumerate(trace.factors):
        tree |= pack_draws(mode, draws)
    return tree


def read_trace(tree: Stored, shape: Sequence[int], target: Target) -> Trace:
    """Read the draws of a chain that sampled this from a tensor of this shape.

    Raises
    ------
    FileError
        When something is missing, has another type or size, or could not have come from a sampler.
    """
    L, parameters = target.n_components, target.noise.parameters
    check_components(tree, L, MAX_COMPONENTS)
    widths = {"noise": (parameters.width(L, shape),), "density": (len(shape),), "confusion": (4,)}
    arrays = {"log_posterior": tree.array("log_posterior", RECORDED["log_posterior"], (None,))}
    S = len(arrays["log_posterior"])
    if S == 0:
        raise tree.refuse("there are no draws")
    for name in ("noise", "density", "confusion", "log_likelihood"):
        arrays[name] = tree.array(name, RECORDED[name], (S, *widths.get(name, ())))
    factors = tuple(_read_draws(tree, k, (S, size, -(-L // 8)), L) for k, size in enumerate(shape))
    burn_in, settled = tree.integer("burn_in", 0, MAX_SWEEPS), bool(tree.integer("settled", 0, 1))
    trace = Trace(
        factors=factors, parameters=parameters, n_components=L, burn_in=burn_in, settled=settled, **arrays
    )
    _check_draws(tree, trace, target)
    for part in ("first", "rows", "moves"):
        check_tied(tree, [getattr(draws, part) for draws in factors], target)
    return trace


def pack_draws(mode: int, draws: FactorDraws) -> dict[str, Array]:
    """Return the draws of a mode's factor as a part of a tree."""
    rows = draws.rows.astype(np.int64, copy=False)
    return {f"factor_{mode}": draws.first, f"rows_{mode}": rows, f"moves_{mode}": draws.moves}


def _read_draws(tree: Stored, mode: int, shape: tuple[int, int, int], L: int) -> FactorDraws:
    """Read the draws of a mode's factor."""
    n_draws, size, n_bytes = shape
    first = read_members(tree, f"factor_{mode}", "u1", (size, n_bytes), L)
    rows = tree.array(f"rows_{mode}", "i8", (None,))
    if np.any((rows < 0) | (rows >= size)) or np.any(rows[1:] <= rows[:-1]):
        raise tree.refuse(f"rows_{mode} are not indices of the mode in ascending order")
    moves = read_members(tree, f"moves_{mode}", "u1", (n_draws, len(rows), n_bytes), L)
    if not np.array_equal(moves[0], first[rows]):
        raise tree.refuse(f"moves_{mode} do not begin with the first draw")
    return FactorDraws(first, rows.astype(np.intp, copy=False), moves)


def pack_target(target: Target) -> dict[str, Any]:
    """Return what is sampled, and from which random numbers, as a tree for an archive."""
    noise, update, *background = {model: names for names, model in MODELS.items()}[type(target.noise)]
    tied = target.tied or (-1, -1)
    tree: dict[str, Any] = {
        "n_components": target.n_components,
        "seed": int(target.seed),
        "noise": noise,
        "noise_update": update,
        **_pack_noise(target.noise),
        "flips": {code: name for name, code in FLIPS.items()}[target.flips],
        "order": "random" if target.shuffle else "fixed",
        "tied_first": tied[0],
        "tied_second": tied[1],
    }
    tree |= dict(zip(["background"], background, strict=False))
    if isinstance(target.prior, LearnedPrior):
        a, b = target.prior
        return tree | {"prior": "learned", "prior_a": float(a), "prior_b": float(b)}
    tables = {f"prior_{k}": table for k, table in enumerate(target.prior.tables)}
    return tree | {"prior": "fixed", **tables}


def _pack_noise(noise: NoiseModel) -> dict[str, float]:
    """Return the priors of a noise model; those beyond noise_prior only if they are not the usual ones."""
    first, second, *others = fields(noise)
    found = asdict(noise)
    given = [first, second, *(field for field in others if found[field.name] != field.default)]
    return {f"noise_{field.name}": float(found[field.name]) for field in given}


def _read_noise(tree: Stored, model: type[NoiseModel]) -> NoiseModel:
    first, second, *others = fields(model)
    given = {field.name: tree.positive(f"noise_{field.name}", LARGEST_BETA) for field in (first, second)}
    for field in others:
        usual = None if field.default is MISSING else field.default
        given[field.name] = tree.positive(f"noise_{field.name}", LARGEST_BETA, usual)
    try:
        return model(**given)
    except InputError as error:
        raise tree.refuse(str(error).rstrip(".")) from error


def read_target(tree: Stored, shape: Sequence[int]) -> Target:
    """Read what is sampled, for a tensor of this shape."""
    L = tree.integer("n_components", 1, MAX_COMPONENTS)
    name = tree.word("noise", list_choices())
    update = tree.word("noise_update", list_choices(name))
    background = "" if (name, update) in MODELS else tree.word("background", BACKGROUNDS)
    noise = find_model(name, update, background)
    prior: LearnedPrior | FixedPrior
    if tree.word("prior", ("learned", "fixed")) == "learned":
        prior = LearnedPrior(*(tree.positive(f"prior_{name}", LARGEST_BETA) for name in "ab"))
    else:
        prior = FixedPrior(tuple(_read_table(tree, f"prior_{k}", size, L) for k, size in enumerate(shape)))
    first, second = (tree.integer(f"tied_{name}", -1, len(shape) - 1) for name in ("first", "second"))
    if (first, second) != (-1, -1) and not (0 <= first < second and shape[first] == shape[second]):
        raise tree.refuse(f"modes {first} and {second} cannot share a factor")
    return Target(
        n_components=L,
        tied=(first, second) if second > 0 else None,
        noise=_read_noise(tree, noise),
        prior=prior,
        seed=np.uint64(tree.integer("seed", 0, 2**64 - 1)),
        flips=FLIPS[tree.word("flips", tuple(FLIPS))],
        shuffle=tree.word("order", ("random", "fixed")) == "random",
    )


def check_components(tree: Stored, wanted: int, most: int = 2**62) -> None:
    """Raise unless a tree has as many components as the model."""
    if (found := tree.integer("n_components", 1, most)) != wanted:
        raise tree.refuse(f"there are {found:,} components instead of {wanted:,}")


def read_members(tree: Stored, name: str, dtype: str, shape: tuple[int, ...], L: int) -> Array:
    """Read which indices of a mode are in which components: bits, 0 beyond the last component."""
    bits = tree.array(name, dtype, shape)
    used = L - 8 * bits.itemsize * (shape[-1] - 1)  # in the last number
    if np.any(bits[..., -1] >> bits.dtype.type(used)):
        raise tree.refuse(f"{name} has members of a component beyond the last")
    return bits


def _read_table(tree: Stored, name: str, size: int, n_components: int) -> Floats:
    """Read a mode's prior log-odds: one for all entries, for each row, column or entry."""
    table = tree.array(name, "f8", (None, None))
    if table.shape[0] not in (1, size) or table.shape[1] not in (1, n_components):
        raise tree.refuse(f"{name} has shape {table.shape}, not ({size}, {n_components})")
    if np.isnan(table).any():
        raise tree.refuse(f"{name} contains nan")
    return table


def check_noise(tree: Stored, rows: Floats, model: NoiseModel, shape: Sequence[int], L: int) -> None:
    """Raise unless these could be draws of the noise."""
    if fault := model.find_fault(model.parameters.by_name(rows, L, shape)):
        raise tree.refuse(f"noise contains {fault}")


def check_density(tree: Stored, density: Floats, *priors: FactorPrior) -> None:
    """Raise unless densities could be draws under one of these priors."""
    if not any(prior.could_draw(density) for prior in priors):
        raise tree.refuse("density contains numbers that its prior does not allow")


def check_tied(tree: Stored, factors: Sequence[Array], target: Target) -> None:
    """Raise if modes that share a factor have different ones."""
    if target.tied is None:
        return
    first, second = target.tied
    if not np.array_equal(factors[first], factors[second]):
        raise tree.refuse(f"modes {first} and {second} do not share a factor")


def _check_draws(tree: Stored, trace: Trace, target: Target) -> None:
    """Raise if the numbers could not have come from a sampler."""
    check_noise(tree, trace.noise, target.noise, trace.shape, trace.n_components)
    check_density(tree, trace.density, target.prior)
    for name in ("log_likelihood", "log_posterior"):
        if not (np.abs(getattr(trace, name)) < LARGEST_LOG).all():
            raise tree.refuse(f"{name} contains numbers that no draw has")
    cells = math.prod(trace.shape)
    if trace.confusion.min() < 0 or trace.confusion.max() > min(cells, 2**60):
        raise tree.refuse("confusion contains counts below 0 or above the number of cells")
    tp, fp, fn, tn = trace.confusion.T
    observed, ones = tp + fp + fn + tn, tp + fn
    if not 1 <= observed[0] <= cells or np.ptp(observed) or np.ptp(ones):
        raise tree.refuse("confusion contains counts that do not add up to the same data in all draws")


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBER_DTYPES = ("bool", "float16", "float32", "float64", *INTEGERS)
ARRAY_LABELS, JSON_LABELS = "array", "json"  # kinds of labels: as they are, or the bytes of a JSON list
MAX_DEPTH = 8  # of lists inside lists: what shows them does it by recursion


def pack_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a tree for an archive.

    Raises
    ------
    InputError
        When a setting is neither text, number, array nor a list of such.
    """
    arrays: list[Array] = []
    forms = {name: _pack_setting(name, value, arrays) for name, value in settings.items()}
    return {"parameters": forms, **{f"array_{number}": array for number, array in enumerate(arrays)}}


def read_settings(tree: Stored, known: Sequence[str]) -> dict[str, Any]:
    """Read settings with these names; a random generator comes back as None, because it was not kept."""
    forms = tree.value("parameters")
    if not isinstance(forms, dict):
        raise tree.refuse("the settings are damaged")
    for strange in sorted(forms.keys() - set(known)):
        raise tree.refuse(f"{quote(strange)} is not a setting")
    return {name: _read_setting(form, tree) for name, form in forms.items()}


def _pack_setting(name: str, value: Any, arrays: list[Array]) -> Any:
    """Return what JSON holds of a setting; arrays are put into the list and replaced by their number."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        parts = [_pack_setting(name, part, arrays) for part in value]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InputError(f"{name} has keys that are no texts; only texts can be saved.")
        return {"mapping": {key: _pack_setting(name, part, arrays) for key, part in value.items()}}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return {"generator": type(value).__name__}
    array = np.asarray(value)
    if array.dtype.name not in NUMBER_DTYPES:
        kind = type(value).__name__
        raise InputError(f"{name} is of type {kind}; only numbers, strings and arrays can be saved.")
    arrays.append(array)
    return {"array": len(arrays) - 1}


def _read_setting(form: Any, tree: Stored, depth: int = 0) -> Any:
    """Undo ``_pack_setting``."""
    if depth > MAX_DEPTH:
        raise tree.refuse("the settings are damaged")
    if isinstance(form, list):
        return [_read_setting(part, tree, depth + 1) for part in form]
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tuple"} and isinstance(form["tuple"], list):
        return tuple(_read_setting(part, tree, depth + 1) for part in form["tuple"])
    if form.keys() == {"mapping"} and isinstance(form["mapping"], dict):
        return {key: _read_setting(part, tree, depth + 1) for key, part in form["mapping"].items()}
    if form.keys() == {"generator"}:
        return None
    if form.keys() == {"array"} and type(form["array"]) is int:
        array = tree.array(f"array_{form['array']}", None, None)
        if array.dtype.name in NUMBER_DTYPES:
            return array
    raise tree.refuse("the settings are damaged")


def pack_labels(mode: str, labels: Array) -> tuple[str, Array]:
    """Return the kind of some labels, and an array without objects that stands for them."""
    if _is_plain(labels.dtype):
        return ARRAY_LABELS, labels
    items = labels.tolist()
    forms = [_pack_label(item) for item in items]
    strange = [n for n, form in enumerate(forms) if form == {}]
    for n in strange:
        text = str(items[n])[:LONGEST_LABEL]
        forms[n] = printable(text) if is_broken(text) else text
    if strange:
        example = forms[strange[0]][:40]
        warnings.warn(f"Labels of {mode!r} such as {example!r} are saved as text.", UserWarning, stacklevel=2)
    return JSON_LABELS, np.frombuffer(json.dumps(forms).encode(), np.uint8)


def read_labels(file: Stored, name: str, kind: str | None, size: int) -> Array | None:
    """Read the labels of a mode with so many indices, or return None if it has none."""
    if kind is None:
        return None
    if kind == JSON_LABELS:
        return _as_objects(file, name, size)
    labels = file.array(name, None, (size,))
    texts, plain = labels.dtype.kind == "U", _is_plain(labels.dtype)
    if kind != ARRAY_LABELS or not plain or (texts and labels.view(np.uint32).max() > LAST_CHARACTER):
        raise file.refuse(f"the labels {name} are damaged or of an unknown kind")
    for text in labels.tolist() if texts else ():
        if is_broken(text) or len(text) > LONGEST_LABEL:
            told = f"a NUL, an incomplete character or more than {LONGEST_LABEL:,} characters"
            raise file.refuse(f"the labels {name} contain {told}")
    return labels


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether labels of a type are kept as they are; pandas knows no times without a unit, or of 25 s."""
    if dtype.kind in "Mm":
        unit, count = np.datetime_data(dtype)
        return count == 1 and unit != "generic"
    short = dtype.kind == "S" and dtype.itemsize <= LONGEST_LABEL
    return dtype.name in NUMBER_DTYPES or dtype.kind == "U" or short


def _as_objects(file: Stored, name: str, size: int) -> npt.NDArray[np.object_]:
    text = file.array(name, "u1", (None,))
    if JSON_EXPANSION * len(text) > available_memory():
        raise file.refuse(f"the labels {name} are too long for this machine's memory")
    try:
        items, array = json.loads(text.tobytes()), np.empty(size, object)
        if not isinstance(items, list) or len(items) != size:
            raise ValueError("no list")
        for n, item in enumerate(items):
            array[n] = _read_label(item)
            if is_broken(shown := str(array[n])) or len(shown) > LONGEST_LABEL:
                raise ValueError("no text")
        return array
    except (ValueError, RecursionError) as error:
        raise file.refuse(f"the labels {name} are damaged") from error


def _pack_label(item: Any, depth: int = 0) -> Any:
    """Return what JSON holds of a label, or {} where it could not be told from another, or not be read."""
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, tuple):
        deep = depth == MAX_DEPTH or (not depth and len(str(item)) > LONGEST_LABEL)
        parts = [{}] if deep else [_pack_label(part, depth + 1) for part in item]
        return {} if {} in parts else {"tuple": parts}
    if isinstance(item, datetime.datetime):
        return {} if getattr(item, "nanosecond", 0) else {"datetime": item.isoformat()}
    if isinstance(item, datetime.date):
        return {"date": item.isoformat()}
    return item if item is None or type(item) in (str, float, bool) or _is_integer(item) else {}


def _is_integer(item: Any) -> bool:
    """Whether this is an integer of 64 bits, with or without a sign."""
    return type(item) is int and -(2**63) <= item < 2**64


def _read_label(form: Any, depth: int = 0) -> Any:
    """Undo ``_pack_label``, or raise ValueError."""
    if not isinstance(form, (dict, list)) and (type(form) is not int or _is_integer(form)):
        return form
    if isinstance(form, dict) and len(form) == 1:
        (kind, value), *_ = form.items()
        if kind == "tuple" and isinstance(value, list) and depth < MAX_DEPTH:
            return tuple(_read_label(part, depth + 1) for part in value)
        if kind == "datetime" and isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
        if kind == "date" and isinstance(value, str):
            return datetime.date.fromisoformat(value)
    raise ValueError("no label")
