"""Draws and models in files: bit for bit there and back, and nothing that no sampler could have made."""

from __future__ import annotations

import dataclasses
import itertools
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError
from tensorm.sampler.factor_draws import FactorDraws
from tensorm.sampler.models import MODELS
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.storage.archive import open_archive, write_archive
from tensorm.storage.chain import pack_target, pack_trace, read_target, read_trace
from tensorm.tensors.protocol import GIBBS, METROPOLIS

SHAPE = (3, 4, 2)
ARRAYS = ("noise", "density", "confusion", "log_likelihood", "log_posterior")


def make_trace(L: int = 9, S: int = 5, shape: tuple[int, ...] = SHAPE) -> Trace:
    rng = np.random.default_rng(L)
    ones, zeros = rng.integers(0, 11, S), rng.integers(0, 9, S)
    return Trace(
        factors=tuple(
            FactorDraws.from_all(np.packbits(rng.random((S, N, L)) < 0.5, axis=-1, bitorder="little"))
            for N in shape
        ),
        noise=np.stack([rng.uniform(0.5, 1, S), rng.uniform(0, 0.5, S)], axis=1),
        parameters=Rates,
        density=rng.random((S, len(shape))),
        confusion=np.stack([ones, zeros, 10 - ones, 8 - zeros], axis=1),
        log_likelihood=rng.normal(size=S),
        log_posterior=rng.normal(size=S),
        n_components=L,
        burn_in=17,
        settled=False,
    )


def target(n_components: int, tied: tuple[int, int] | None = None, prior: Any = None) -> Target:
    return Target(n_components, Asymmetric(), prior or LearnedPrior(), np.uint64(0), tied=tied)


def round_trip(trace: Trace, path: Path, shape: Any = None, n_components: int | None = None, **how) -> Trace:
    write_archive(path, {"chain": pack_trace(trace)})
    with open_archive(path) as file:
        shape = list(trace.shape) if shape is None else shape
        return read_trace(file.tree("chain"), shape, target(n_components or trace.n_components, **how))


@pytest.mark.parametrize("L", [1, 7, 8, 9, 64, 65, 130])
def test_a_trace_comes_back_bit_for_bit(L: int, tmp_path: Path) -> None:
    trace = make_trace(L)
    for expected in [(), (SHAPE,), (SHAPE, L)]:
        again = round_trip(trace, tmp_path / "t.tensorm", *expected)
        for a, b in zip(again.factors, trace.factors, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(again, name), getattr(trace, name), strict=True)
        assert (again.n_components, again.burn_in, again.settled) == (L, 17, False)


def test_other_arities_single_draws_and_fixed_densities(tmp_path: Path) -> None:
    trace = make_trace(3, S=1, shape=(4, 5))
    trace = dataclasses.replace(trace, density=np.full((1, 2), np.nan), settled=True)
    with pytest.raises(FileError, match="density contains numbers that its prior does not allow"):
        round_trip(trace, tmp_path / "t.tensorm")
    again = round_trip(trace, tmp_path / "t.tensorm", prior=FixedPrior.from_probabilities([0.5, 0.5]))
    assert np.isnan(again.density).all()
    assert again.settled
    assert len(again) == 1
    assert len(round_trip(make_trace(2, shape=(2, 2, 2, 2, 2)), tmp_path / "t.tensorm").factors) == 5


def spoiled(name: str, at: Any, value: Any) -> Trace:
    trace = make_trace()
    array = getattr(trace, name).copy()
    array[at] = value
    return dataclasses.replace(trace, **{name: array})


def ghost() -> Trace:
    """A member of component 9, where the last is 8."""
    trace = make_trace()
    factor = np.array(trace.factors[1])
    factor[2, 3, 1] |= 2
    factors = (trace.factors[0], FactorDraws.from_all(factor), trace.factors[2])
    return dataclasses.replace(trace, factors=factors)


def moved(**parts: Any) -> Trace:
    """A factor whose parts do not fit together."""
    trace = make_trace()
    factor = FactorDraws.from_all(np.array(trace.factors[1]))
    assert len(factor.rows) == 4
    factor = dataclasses.replace(factor, **parts)
    return dataclasses.replace(trace, factors=(trace.factors[0], factor, trace.factors[2]))


IMPOSSIBLE = {
    "rate nan": (spoiled("noise", (1, 0), np.nan), "rates"),
    "rate 1": (spoiled("noise", (1, 0), 1.0), "rates"),
    "rate 0": (spoiled("noise", (0, 1), 0.0), "rates"),
    "rate negative": (spoiled("noise", (0, 1), -0.1), "rates"),
    "rates out of order": (spoiled("noise", 0, [0.3, 0.4]), "rates"),
    "density 0": (spoiled("density", (0, 0), 0.0), "density"),
    "density partly nan": (spoiled("density", (0, 0), np.nan), "density"),
    "density infinite": (spoiled("density", (0, 0), np.inf), "density"),
    "log posterior nan": (spoiled("log_posterior", 0, np.nan), "log_posterior"),
    "log posterior infinite": (spoiled("log_posterior", 0, -np.inf), "log_posterior"),
    "count negative": (spoiled("confusion", (0, 0), -1), "confusion"),
    "count overflowing": (spoiled("confusion", 0, 2**62), "confusion"),
    "more cells than there are": (spoiled("confusion", (slice(None), 3), 20), "confusion"),
    "cells that come and go": (spoiled("confusion", (0, 0), 11), "confusion"),
    "ones that come and go": (spoiled("confusion", 0, [4, 6, 5, 3]), "confusion"),
    "no cells": (spoiled("confusion", slice(None), 0), "confusion"),
    "huge log-likelihood": (
        spoiled("log_likelihood", 0, 1e308),
        "log_likelihood contains numbers that no draw has",
    ),
    "huge log posterior": (
        spoiled("log_posterior", 0, -1e308),
        "log_posterior contains numbers that no draw has",
    ),
    "ghost": (ghost(), "moves_1 has members of a component beyond the last"),
    "rows out of order": (moved(rows=np.array([0, 2, 1, 3])), "rows_1 are not indices"),
    "rows twice": (moved(rows=np.array([0, 1, 1, 3])), "rows_1 are not indices"),
    "rows beyond the last": (moved(rows=np.array([0, 1, 2, 4])), "rows_1 are not indices"),
    "rows below 0": (moved(rows=np.array([-1, 1, 2, 3])), "rows_1 are not indices"),
    "rows that overflow": (moved(rows=np.array([1, -(2**63), -5, 3])), "rows_1 are not indices"),
    "fewer rows": (moved(rows=np.array([0, 1, 2])), "'moves_1' has shape"),
    "another first draw": (
        moved(first=np.zeros((4, 2), np.uint8)),
        "moves_1 do not begin with the first draw",
    ),
    "negative burn-in": (dataclasses.replace(make_trace(), burn_in=-1), "burn_in"),
    "no components": (dataclasses.replace(make_trace(), n_components=0), "n_components"),
    "more components": (dataclasses.replace(make_trace(), n_components=17), r"has shape \(3, 2\)"),
    "fewer components": (dataclasses.replace(make_trace(), n_components=8), r"has shape \(3, 2\)"),
    "a type": (dataclasses.replace(make_trace(), noise=make_trace().noise.astype("f4")), "of type '<f4'"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_no_sampler_makes_is_refused(name: str, tmp_path: Path) -> None:
    trace, why = IMPOSSIBLE[name]
    with pytest.raises(FileError, match=f"cannot be read: .*{why}"):
        round_trip(trace, tmp_path / "t.tensorm")


def test_a_trace_of_another_tensor_or_rank_is_refused(tmp_path: Path) -> None:
    for expected, why in [
        (((3, 4, 3),), "factor_2"),
        (((3, 4),), r"'density' has shape \(5, 3\), not \(5, 2\)"),
        (((3, 4, 2, 2),), r"'density' has shape \(5, 3\), not \(5, 4\)"),
        ((SHAPE, 8), "there are 9 components instead of 8 in chain"),
    ]:
        with pytest.raises(FileError, match=why):
            round_trip(make_trace(), tmp_path / "t.tensorm", *expected)


TABLES = ([[0.5]], [[0.0] * 9] * 4, [[-np.inf] * 9, [np.inf] * 9])
PRIORS = [LearnedPrior(), LearnedPrior(2.0, 0.5), FixedPrior(tuple(np.array(table) for table in TABLES))]


def model_trip(model: Target, path: Path, shape: tuple[int, ...] = SHAPE) -> Target:
    write_archive(path, pack_target(model))
    with open_archive(path) as file:
        return read_target(file, shape)


@pytest.mark.parametrize(("names", "prior"), list(itertools.product(MODELS, PRIORS)))
def test_a_model_comes_back(names: tuple[str, str], prior: Any, tmp_path: Path) -> None:
    noise = MODELS[names](0.1, 3.0)
    model = Target(9, noise, prior, np.uint64(2**64 - 1), flips=GIBBS, shuffle=False)
    again = model_trip(model, tmp_path / "m.tensorm")
    assert (type(again.noise), type(again.prior)) == (type(noise), type(prior))
    np.testing.assert_equal(vars(again), vars(model))  # element by element, tables included
    other = dataclasses.replace(model, seed=np.uint64(0), flips=METROPOLIS, shuffle=True)
    np.testing.assert_equal(vars(model_trip(other, tmp_path / "m.tensorm")), vars(other))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"noise": MODELS["symmetric", "map"](-1.0, 1.0)}, "noise_a is -1.0, not a positive number"),
        ({"noise": MODELS["symmetric", "map"](1.0, np.nan)}, "noise_b is nan, not a positive number"),
        ({"noise": MODELS["symmetric", "map"](1.0, 1e300)}, r"noise_b is 1e\+300, not a positive number"),
        ({"prior": LearnedPrior(1.0, 0.0)}, "prior_b is 0.0"),
        ({"prior": LearnedPrior(1e300, 1.0)}, r"prior_a is 1e\+300, not a positive number up to 1e\+12"),
        ({"prior": FixedPrior((np.zeros((1, 1)),) * 2)}, "'prior_2' is missing"),
        ({"prior": FixedPrior((np.zeros((2, 9)),) * 3)}, r"prior_0 has shape \(2, 9\), not \(3, 9\)"),
        ({"prior": FixedPrior((np.full((1, 1), np.nan),) * 3)}, "prior_0 contains nan"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_impossible_models_are_refused(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    model = Target(9, MODELS["asymmetric", "sample"](1.0, 1.0), LearnedPrior(), np.uint64(1))
    with pytest.raises(FileError, match=why):
        model_trip(dataclasses.replace(model, **change), tmp_path / "m.tensorm")


def test_chains_with_more_rates_than_draws_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.tensorm"
    round_trip(make_trace(), path)
    parts = forge.Parts(path.read_bytes())
    parts.write("chain/noise", make_trace(S=6).noise)
    path.write_bytes(parts.join())
    with (
        open_archive(path) as file,
        pytest.raises(FileError, match=r"'noise' has shape \(6, 2\), not \(5, 2\)"),
    ):
        read_trace(file.tree("chain"), SHAPE, target(9))


def test_modes_that_share_a_factor_must_have_the_same(tmp_path: Path) -> None:
    path, trace = tmp_path / "t.tensorm", make_trace(shape=(3, 4, 4))
    first, second, _ = trace.factors
    for factors, refused in (((first, second, second), False), (trace.factors, True)):
        write_archive(path, {"chain": pack_trace(dataclasses.replace(trace, factors=factors))})
        with open_archive(path) as file:
            expected = pytest.raises(FileError, match="do not share a factor") if refused else nullcontext()
            with expected:
                read_trace(file.tree("chain"), (3, 4, 4), target(9, (1, 2)))
