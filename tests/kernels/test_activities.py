"""Activities: what they are drawn from against loops over cells, the same bits for all kinds of storage."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from strong_cases import STORED, Case, Store, make_case
from tensorm.kernels.activities import STEP, WINDOW
from tensorm.tensors import Stream, Tensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.ranked import by_mode


def draw(case: Case, tensor: Tensor, mode: int, window: int) -> tuple[list[np.ndarray], ...]:
    """Levels after a draw, ones by level and group, all cells by group, and the rates of all zeros."""
    noise, stream = case.noise, Stream(np.uint64(7), 0, 3, 210)
    levels, weights = by_mode(noise.levels, tensor.shape), noise.weights
    ranked, probe = weights.sort(Factors.from_bits(case.factors)), len(case.factors[0]) % len(noise.strength)
    given = levels, weights, probe, window
    return levels, *noise.count_levels(tensor, mode, ranked, given, stream)


def choose_mode(case: Case, seed: int) -> int:
    mode = seed % len(case.factors)
    return case.pair[0] if case.pair is not None and mode == case.pair[1] else mode


@pytest.mark.parametrize(("store", "symmetric"), STORED)
def test_exposures_and_ones_as_by_loops(store: Store, symmetric: bool) -> None:
    for seed in range(20):
        case = make_case(seed, symmetric, True)
        _, ones, tot, exposure = draw(case, case.store(store), choose_mode(case, seed), 0)
        wanted = 0.0
        for index in naive.cells(case.factors):
            if case.facts[index] and not case.ones[index]:
                wanted -= np.log1p(-naive.chance(case.background, index))
        assert exposure == pytest.approx(wanted), f"case {seed}"
        assert ones.sum() == np.count_nonzero(case.ones & case.facts)
        assert tot.sum() == np.count_nonzero(case.facts)


@pytest.mark.parametrize("few", [False, True], ids=["levels", "few-levels"])
@pytest.mark.parametrize(("store", "symmetric"), STORED[2:])
def test_draws_do_not_depend_on_the_storage(store: Store, symmetric: bool, few: bool) -> None:
    moved = 0
    for seed in range(20):
        case = make_case(seed, symmetric, True)
        if few:  # ones of a row are more than its levels, and counted together
            case = case._replace(noise=case.noise._replace(activity=np.exp(STEP * (case.noise.levels % 2))))
        one, mode = case.tensor, choose_mode(case, seed)
        wanted, found = (draw(case, tensor, mode, WINDOW) for tensor in (one, case.store(store)))
        for mine, other in zip(found[0], wanted[0], strict=True):
            np.testing.assert_array_equal(mine, other, err_msg=f"case {seed}")
        for mine, other in zip(found[1:], wanted[1:], strict=True):
            np.testing.assert_array_equal(mine, other, err_msg=f"case {seed}")
        before = by_mode(np.rint(np.log(case.noise.activity) / STEP), one.shape)[mode]
        moved += np.count_nonzero(wanted[0][mode] != before)
    assert moved > 20
