"""A slice of the accuracy benchmark: the defaults are as good as a chain that was told the answer."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy import Cell, measure, recovered
from tensorm import TensOrMachine, datasets

SLICE = [(5, 0.1, 0.0), (5, 0.1, 0.2), (10, 0.3, 0.0), (10, 0.3, 0.2), (3, 0.3, 0.3)]


@pytest.mark.parametrize(("rank", "density", "noise"), SLICE)
def test_as_good_as_told_the_answer(rank: int, density: float, noise: float) -> None:
    found = measure(Cell((20, 20, 20), rank, density, noise), 0, ["told"])
    assert found["predictive"] >= found["told"] - 0.002
    assert found["predictive"] >= found["constant"] + 0.05
    if noise == 0:
        assert found["predictive"] == found["recovered"] == 1


def test_plain_sampling_from_a_random_start_sticks_where_the_defaults_do_not() -> None:
    found = [measure(Cell((20, 20, 20), 5, 0.1, 0.0), number, ["plain"]) for number in range(2)]
    assert [each["predictive"] for each in found] == [1, 1]
    assert np.mean([each["plain"] for each in found]) < 0.98


@pytest.mark.parametrize("shape", [(60, 60), (10, 10, 10, 10)])
def test_matrices_and_four_ways(shape: tuple[int, ...]) -> None:
    found = measure(Cell(shape, 3, 0.1, 0.1), 0, ["told"])
    assert found["predictive"] >= found["told"] - 0.002


def test_many_components_of_a_larger_tensor_are_recovered_exactly() -> None:
    found = measure(Cell((100, 100, 100), 20, 0.2, 0.1), 0, [])
    assert found["recovered"] == 1


def test_data_that_miss_more_than_they_invent_need_two_rates() -> None:
    """1% false ones and 40% false zeros."""
    sim = datasets.simulate((20, 20, 20), 5, 0.1, random_state=0, false_ones=0.01, false_zeros=0.4)
    models = [
        TensOrMachine(5, noise=noise, random_state=0, progress=False).fit(sim.observed)
        for noise in ("asymmetric", "symmetric")
    ]
    asymmetric, symmetric = (float((model.predict() == sim.noise_free).mean()) for model in models)
    assert models[0].noise_["hit"] == pytest.approx(0.6, abs=0.05)
    assert models[0].noise_["false_alarm"] == pytest.approx(0.01, abs=0.005)
    assert recovered(models[0], sim.factors)
    assert asymmetric > 0.995
    assert symmetric < asymmetric
