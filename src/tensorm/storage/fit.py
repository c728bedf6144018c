"""A whole fit: the layout of its file, and checks that the parts that are read belong together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.coordinates import check_shape
from tensorm.data.files import FORMATS
from tensorm.data.inputs import Names
from tensorm.data.text import ending_of
from tensorm.data.version import __version__
from tensorm.errors import FileError, InputError, printable
from tensorm.posterior.contributions import Contribution, Measured, MemberShares
from tensorm.posterior.draws import Posterior, check_draws_fit
from tensorm.sampler.state import INCLUDED, OUTCOMES
from tensorm.sampler.sweep import Target
from tensorm.storage.archive import Stored, open_archive, write_archive
from tensorm.storage.chain import (
    pack_labels,
    pack_settings,
    pack_target,
    pack_trace,
    read_labels,
    read_settings,
    read_target,
    read_trace,
)
from tensorm.storage.files import FilePath, as_path, quote

FIT_FORMAT = "tensorm fit"
FORMAT_VERSION = 6  # of all files: any change to a layout adds 1
CONTRIBUTION_DTYPES = {name: "f8" if name.endswith("_lost") else "i8" for name in Contribution._fields[1:]}


class Fit(NamedTuple):
    """What is left of a fit once the data are gone."""

    settings: Mapping[str, Any]  # the parameters of the estimator
    target: Target
    posterior: Posterior


def write_fit(path: FilePath, fit: Fit, run: str | None = None) -> None:
    """Write a fit to a file, in one step and in place of an older one, with the digest of its run, if any."""
    ending = ending_of(as_path(path))
    if ending in FORMATS:
        other = ", or call model.to_datatree().to_netcdf(path)" * (ending == ".nc")
        raise FileError(
            f"{path} ends in {ending}, but fits are saved as .tensorm files; give a name that ends in "
            f".tensorm{other}."
        )
    posterior = fit.posterior
    chains = {f"chain_{number}": pack_trace(trace) for number, trace in enumerate(posterior.chains)}
    tree = {
        **describe_file(FIT_FORMAT),
        "run": run,
        "n_chains": len(posterior.chains),
        "n_components": posterior.n_components,
        **pack_modes(posterior.shape, posterior.names),
        "weights": np.array(posterior.weights),
        "explanations": np.array(posterior.explanations, np.int64),
        "noise_choice": posterior.noise_choice,
        "outcomes": list(posterior.outcomes),
        "settings": pack_settings(fit.settings),
        "model": pack_target(fit.target),
        **{f"explanation_{number}": _pack_measures(one) for number, one in enumerate(posterior.measures)},
        **chains,
    }
    write_archive(path, tree)


def read_fit(path: FilePath, parameters: Sequence[str], run: str | None = None) -> Fit:
    """Read a fit of an estimator with these parameters, and of this run if it is from the folder of one.

    Raises
    ------
    FileError
        When the file cannot be read; one sentence says what is wrong with it.
    """
    with open_archive(path) as file:
        check_format(file, FIT_FORMAT)
        if run is not None and file.value("run") != run:
            raise file.refuse("it belongs to another run")
        n_chains, L = file.integer("n_chains", 1), file.integer("n_components", 1)
        shape, names = read_modes(file)
        target = read_target(file.tree("model"), shape)
        if target.n_components != L:
            raise file.refuse(f"there are {target.n_components:,} components in the model and {L:,} in draws")
        chains = (file.tree(f"chain_{number}") for number in range(n_chains))
        traces = tuple(read_trace(chain, shape, target) for chain in chains)
        counts = [trace.confusion[0].tolist() for trace in traces]
        if len({(tp + fn, fp + tn) for tp, fp, fn, tn in counts}) > 1:
            raise file.refuse("the chains were not sampled from the same cells")
        weights, explanations = _read_weights(file, n_chains)
        most = math.prod(shape)
        least = 0 if traces[0].parameters.pair is None else -most  # one that contests others takes ones away
        names_of = [f"explanation_{number}" for number in range(max(explanations) + 1)]
        trees = [file.tree(name) for name in names_of] if file.has(names_of[0]) else []
        measures = tuple(_read_measures(tree, shape, L, (least, most)) for tree in trees)
        choice = None if file.value("noise_choice") is None else printable(file.word("noise_choice"))
        posterior = Posterior(
            *(traces, shape, names, weights, explanations, measures),
            noise_choice=choice,
            outcomes=_read_outcomes(file, n_chains),
        )
        try:
            check_draws_fit(shape, L, n_chains, max(map(len, traces)))
        except InputError as error:
            raise file.refuse("its draws need more memory than this machine has") from error
        settings = read_settings(file.tree("settings"), parameters)
        file.expect_end()
        return Fit(settings, target, posterior)


def describe_file(kind: str) -> dict[str, Any]:
    """Say what a file is, in which version of its format, and who wrote it."""
    return {"format": kind, "format_version": FORMAT_VERSION, "tensorm_version": __version__}


def check_format(file: Stored, kind: str) -> None:
    """Raise unless a file is what it should be, in a version of its format that is known here."""
    file.word("format", [kind])
    found = file.integer("format_version", 1)
    if found != FORMAT_VERSION:
        writer = quote(file.word("tensorm_version"))
        remedy = "install a newer tensorm" if found > FORMAT_VERSION else "fit again"  # none was released
        told = f"tensorm {writer} wrote it in format {found}, and this version reads format {FORMAT_VERSION}"
        raise file.refuse(f"{told}: {remedy}")


def pack_modes(shape: Sequence[int], names: Names) -> dict[str, Any]:
    """Return the sizes and names of the modes and the labels of their indices as a tree for an archive."""
    known, arrays = [], {}
    for k, (name, values) in enumerate(zip(names.modes, names.labels, strict=True)):
        kind = None
        if values is not None:
            kind, arrays[f"mode_{k}"] = pack_labels(name, np.asarray(values))
        known.append({"name": name, "labels": kind})
    return {"shape": list(shape), "modes": known, "undirected": names.undirected, **arrays}


def read_modes(file: Stored) -> tuple[tuple[int, ...], Names]:
    """Read the sizes and names of the modes and the labels of their indices."""
    modes, sizes = file.value("modes"), file.value("shape")
    if not isinstance(modes, list) or not 2 <= len(modes) <= 64 or not all(_is_mode(mode) for mode in modes):
        raise file.refuse("the names of the modes are not a list of 2 to 64 names")
    try:
        shape = check_shape(sizes)
    except (InputError, OverflowError):  # the latter from sizes that no message can show
        shape = ()
    if len(shape) != len(modes):
        raise file.refuse(f"shape is {quote(sizes)}, not {len(modes)} sizes")
    pairs = enumerate(zip(modes, shape, strict=True))
    labels = tuple(read_labels(file, f"mode_{k}", mode["labels"], size) for k, (mode, size) in pairs)
    pair = file.value("undirected")
    if pair is not None and pair not in (
        [i, j] for i, j in combinations(range(len(shape)), 2) if shape[i] == shape[j]
    ):
        raise file.refuse(f"undirected is {quote(pair)}, not two modes of equal size")
    return shape, Names(tuple(mode["name"] for mode in modes), labels, pair and (pair[0], pair[1]))


def _is_mode(mode: Any) -> bool:
    complete = isinstance(mode, dict) and mode.keys() == {"name", "labels"}
    return complete and isinstance(mode["name"], str) and isinstance(mode["labels"], (str, type(None)))


def _read_weights(file: Stored, n_chains: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Read how much each chain counts, and the number of its explanation."""
    weights = file.array("weights", "f8", (n_chains,))
    if not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-9:  # NaN is neither
        raise file.refuse("the weights of chains are not shares that add up to 1")
    explanations = file.array("explanations", "i8", (n_chains,))
    numbers = np.unique(explanations)
    if not np.array_equal(numbers, np.arange(len(numbers))):  # 0 and up, none left out
        raise file.refuse("explanations are not numbered from 0 without gaps")
    return tuple(weights.tolist()), tuple(explanations.tolist())


def _read_outcomes(file: Stored, n_chains: int) -> tuple[str, ...]:
    """Read what became of all chains that were asked for; files of before have none left out."""
    outcomes = file.value("outcomes", [INCLUDED] * n_chains)
    known = isinstance(outcomes, list) and all(outcome in OUTCOMES for outcome in outcomes)
    if not known or outcomes.count(INCLUDED) != n_chains:
        raise file.refuse(f"outcomes do not say which {n_chains:,} chains are included")
    return tuple(outcomes)


def _pack_measures(measures: Measured) -> dict[str, Any]:
    tree: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in measures.contributions], dtype)
        for name, dtype in CONTRIBUTION_DTYPES.items()
    }
    for k, shares in enumerate(measures.shares):
        tree |= {f"{name}_{k}": part for name, part in shares._asdict().items()}
    return tree


def _read_measures(tree: Stored, shape: Sequence[int], L: int, bounds: tuple[int, int]) -> Measured:
    """Read what the components of an explanation contribute, and what the indices of each mode do."""
    columns, shares = [], []
    for name, dtype in CONTRIBUTION_DTYPES.items():
        column = tree.array(name, dtype, (L,))
        counts = dtype == "i8"
        if not np.isfinite(column).all() or (
            counts and not bounds[0] <= column.min() <= column.max() <= bounds[1]
        ):
            raise tree.refuse(f"{name} contains impossible numbers")
        columns.append(column.tolist())
    for k, size in enumerate(shape):
        parts = [tree.array(f"{name}_{k}", "i1", (size, L)) for name in MemberShares._fields]
        if any(part.min() < -1 or part.max() > 100 for part in parts):
            raise tree.refuse(f"shares of mode {k} are no percentages")
        shares.append(MemberShares(*parts))
    contributions = tuple(Contribution(*row) for row in zip(range(L), *columns, strict=True))
    return Measured(contributions, tuple(shares))
