"""Simulated tensors: shapes, densities, noise rates, reproducibility, refusals."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import naive
from tensorm.datasets import simulate
from tensorm.errors import InputError
from tensorm.model import expected_density, factor_density


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (2, 3, 1, 4), (2, 2, 3, 2, 2)])
def test_noise_free_is_the_product_of_the_factors(shape: tuple[int, ...]) -> None:
    sim = simulate(shape, rank=3, density=0.5, noise=0.2, random_state=1)
    np.testing.assert_array_equal(sim.noise_free, naive.product(sim.factors))
    assert [factor.shape for factor in sim.factors] == [(N, 3) for N in shape]
    assert sim.observed.shape == shape
    assert sim.observed.dtype == np.int8
    assert sim.noise_free.dtype == bool


@pytest.mark.parametrize(("rank", "density"), [(1, 0.2), (5, 0.3), (10, 0.1)])
def test_expected_density_of_three_modes(rank: int, density: float) -> None:
    f = factor_density(density, rank, 3)
    assert 1 - (1 - f**3) ** rank == pytest.approx(density)
    densities = [
        simulate(rank=rank, density=density, random_state=seed).noise_free.mean() for seed in range(100)
    ]
    error = np.std(densities) / np.sqrt(len(densities))
    assert abs(np.mean(densities) - density) < 4 * error
    assert error < 0.05


@pytest.mark.parametrize("density", [0, 1])
def test_extreme_densities(density: int) -> None:
    sim = simulate((3, 4, 5), rank=2, density=density, noise=0)
    assert (sim.noise_free == density).all()
    assert (sim.observed == density).all()
    assert all((factor == density).all() for factor in sim.factors)
    assert expected_density(density, 2, 3) == density


def test_noise_flips_cells_at_its_rate() -> None:
    sim = simulate((50, 50, 50), noise=0.1, random_state=2)
    flipped = sim.observed != sim.noise_free
    for product in (0, 1):
        share = flipped[sim.noise_free == product].mean()
        assert share == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / (sim.noise_free == product).sum()))
    clean = simulate((50, 50, 50), noise=0, random_state=2)
    np.testing.assert_array_equal(clean.observed, clean.noise_free)


def test_asymmetric_noise_overrides() -> None:
    sim = simulate((50, 50, 50), noise=0.5, false_ones=0.01, false_zeros=0.4, random_state=3)
    assert sim.observed[~sim.noise_free].mean() == pytest.approx(0.01, abs=0.003)
    assert sim.observed[sim.noise_free].mean() == pytest.approx(0.6, abs=0.02)
    half = simulate((50, 50, 50), noise=0.2, false_ones=0, random_state=3)
    assert not half.observed[~half.noise_free].any()
    assert half.observed[half.noise_free].mean() == pytest.approx(0.8, abs=0.02)


def test_missing_cells_are_nan() -> None:
    sim = simulate((50, 50, 50), missing=0.25, random_state=4)
    missing = np.isnan(sim.observed)
    assert missing.mean() == pytest.approx(0.25, abs=0.005)
    assert set(np.unique(sim.observed[~missing])) == {0, 1}
    whole = simulate((50, 50, 50), random_state=4)  # nothing else depends on what is missing
    np.testing.assert_array_equal(sim.observed[~missing], whole.observed[~missing])


def test_same_seed_same_tensor() -> None:
    first, again, other = (simulate(random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.observed, again.observed)
    assert (first.observed != other.observed).any()
    noisier = simulate(noise=0.4, random_state=5)
    np.testing.assert_array_equal(first.noise_free, noisier.noise_free)
    rng = np.random.default_rng(5)
    assert (simulate(random_state=rng).observed != simulate(random_state=rng).observed).any()


def test_blocks_do_not_change_the_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate((7, 6, 5), missing=0.2, random_state=7)
    # "tensorm.datasets.simulate" names the function, so the module's globals are reached through it
    monkeypatch.setitem(simulate.__globals__, "BLOCK_CELLS", 60)
    pieces = simulate((7, 6, 5), missing=0.2, random_state=7)
    np.testing.assert_array_equal(whole.observed, pieces.observed)
    np.testing.assert_array_equal(whole.noise_free, pieces.noise_free)


def test_large_tensors_need_little_beside_themselves() -> None:
    tracemalloc.start()
    sim = simulate((200, 200, 200), random_state=8)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    returned = sim.observed.nbytes + sim.noise_free.nbytes
    assert peak < returned + 40 * 2**20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (5,)}, "shape is (5,); give the sizes of 2 to 32 modes, as in (20, 20, 20)."),
        ({"shape": 5}, "shape is 5; give the sizes of 2 to 32 modes, as in (20, 20, 20)."),
        ({"shape": "2020"}, "shape is '2020'; give the sizes of 2 to 32 modes, as in (20, 20, 20)."),
        ({"shape": (5, 0)}, "shape[1] is 0; give an integer of at least 1."),
        ({"shape": (5, 2.5)}, "shape[1] is 2.5; give an integer of at least 1."),
        ({"rank": 0}, "rank is 0; give an integer of at least 1."),
        ({"density": 1.1}, "density is 1.1; give a probability between 0 and 1."),
        ({"density": [0.1, 0.2]}, "density is an array of shape (2,); give one number between 0 and 1."),
        ({"noise": -0.1}, "noise is -0.1; give a probability between 0 and 1."),
        ({"missing": np.nan}, "missing is nan; give a probability between 0 and 1."),
        ({"false_ones": 2}, "false_ones is 2.0; give a probability between 0 and 1."),
        ({"false_zeros": "a"}, "false_zeros is 'a'; give a probability between 0 and 1."),
        ({"random_state": -1}, "random_state is -1; give a non-negative integer, a numpy Generator or None."),
        (
            {"random_state": "a"},
            "random_state is 'a'; give a non-negative integer, a numpy Generator or None.",
        ),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(**arguments)
    assert str(caught.value) == message
