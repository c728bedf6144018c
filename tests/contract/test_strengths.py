"""Components with strengths: the same bits for every kind of tensor as for a dense one.

tests/kernels compares dense tensors with loops over cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from makers import Kind, dense
from problems import Problem, make_problem
from tensorm.errors import InputError
from tensorm.kernels.activities import STEP, WINDOW
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.strengths import ActiveStrengths, ConstantStrengths
from tensorm.tensors import METROPOLIS, Rule, Stream, Tensor, slices, sparse
from tensorm.tensors.ranked import by_mode

CASES = [
    ((7, 1, 5), 3, 0.7),
    ((3, 70, 4), 4, 0.5),
    ((70, 9), 5, 0.4),
    ((3, 4, 2), 65, 0.3),
    ((3, 4), 130, 0.2),
]
MANY_ALIKE = 4  # components where few levels are shared by many columns


def make_noise(problem: Problem, active: bool) -> Any:
    rng, L = problem.rng, problem.L
    strength = rng.uniform(0.05, 0.95, L)
    if not active:
        return ConstantStrengths(strength, 0.5, 0.3, 0.1)
    lowest, beyond = (-1, 2) if problem.L == MANY_ALIKE else (-30, 20)
    levels = [rng.integers(lowest, beyond, size=n) for n in problem.ones.shape]
    if problem.pair is not None:
        levels[problem.pair[1]] = levels[problem.pair[0]]
    activity = np.exp(STEP * np.concatenate(levels))
    return ActiveStrengths(strength, 0.5, 0.3, 0.1, np.ones(problem.ones.ndim), activity)


def answer(tensor: Tensor, problem: Problem, noise: Any) -> list[np.ndarray]:
    """What a tensor says to every question that strengths ask."""
    found, factors, weights = [], problem.masks, noise.weights
    for mode, size in enumerate(tensor.shape):
        prior = np.random.default_rng(mode).normal(size=(size, problem.L))
        for given in (prior, prior[:1]):
            # What cells say is softened: else most entries would be certain, whatever a few cells say.
            rule = Rule(np.arange(problem.L), METROPOLIS, weights.tempered(0.1), given)
            stream = Stream(np.uint64(5), 0, 1, mode)
            found.append(tensor.update_factor(mode, factors, rule, stream))
            some = np.arange(0, size, 2)
            found.append(tensor.update_factor(mode, factors, rule, stream, some))
        if isinstance(noise, ActiveStrengths) and not (problem.pair and mode == problem.pair[1]):
            levels, stream = by_mode(noise.levels, tensor.shape), Stream(np.uint64(7), 0, 3, 210)
            drawn = levels, weights, mode % problem.L, WINDOW
            found += [*noise.count_levels(tensor, mode, weights.sort(factors), drawn, stream), *levels]
    return [*found, tensor.ranked().count_decided(weights.sort(factors), problem.L - 1)]


def check_confusion(tensor: Tensor, problem: Problem, noise: Any) -> None:
    """The cells that a draw of the noise counts are those of the product."""
    model = ActivityModel() if isinstance(noise, ActiveStrengths) else ConstantModel()
    for sweep in range(len(tensor.shape)):  # each draws the activities of another mode
        stream = Stream(np.uint64(3), 0, sweep, 250)
        assert model.update(tensor, problem.masks, None, noise, stream)[1] == tensor.confusion(problem.masks)


def check_all_modes(tensor: Tensor, problem: Problem, noise: Any) -> None:
    """All modes at once are the modes in turn, whatever the order of strengths."""
    factors, softened = problem.masks, noise.weights.tempered(0.1)
    rules = [
        Rule(np.arange(problem.L), METROPOLIS, softened, np.random.default_rng(mode).normal(size=(1, 1)))
        for mode in range(len(tensor.shape))
    ]
    found, _ = tensor.update_all(factors, rules, Stream(np.uint64(5), 0, 1, 0))
    for mode, rule in enumerate(rules):
        masks = tensor.update_factor(mode, factors, rule, Stream(np.uint64(5), 0, 1, mode))
        factors = factors.replace(mode, masks)
    assert found.same_as(factors)


def is_refused(tensor: Tensor) -> bool:
    """Whether components cannot have strengths; then both models say why in one sentence."""
    try:
        tensor.ranked()
    except InputError as error:
        told = f"^noise='strengths' does not work: {error}; choose noise='asymmetric'.$"
        for model in (ActivityModel(), ConstantModel()):
            with pytest.raises(InputError, match=told):
                model.hold(tensor)
        return True
    return False


def check(kind: Kind, given: Problem, active: bool, n_threads: int = 1) -> None:
    """Ask the tensor and a dense one with the same cells."""
    tensor, problem = kind.store(given)
    if is_refused(tensor):
        assert compares(problem)
        return
    one = dense(problem).tied(problem.pair)
    noise = make_noise(problem, active)
    wanted = answer(one, problem, noise)
    for mine, other in zip(answer(tensor.with_threads(n_threads), problem, noise), wanted, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert any((wanted[0] != problem.masks[0]).ravel())
    check_confusion(tensor, problem, noise)
    check_all_modes(tensor, problem, noise)


def compares(problem: Problem) -> bool:
    """Whether a cell is 1 exactly where its mirror image is observed and 0, as comparisons are."""
    mirrored = np.array_equal(problem.seen, problem.seen.swapaxes(-1, -2))
    return mirrored and np.array_equal(problem.ones, problem.seen & ~problem.ones.swapaxes(-1, -2))


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("missing", [None, 0.3])
@pytest.mark.parametrize(("shape", "L", "density"), CASES)
def test_the_same_bits_as_dense(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None, active: bool
) -> None:
    check(kind, make_problem(shape, L, 5, missing, density), active)


@pytest.mark.parametrize("active", [False, True])
def test_any_number_of_threads(kind: Kind, active: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    monkeypatch.setattr(sparse, "LISTED_WORTH_THREADS", 0)
    check(kind, make_problem((9, 8, 7), 5, 3, 0.1, 0.5), active, 3)


def test_rows_without_cells(kind: Kind) -> None:
    """In a sparse tensor they are not looked at one by one."""
    problem = make_problem((40, 6, 5), 3, 1, None, 0.5)
    ones, factors = problem.ones.copy(), [factor.copy() for factor in problem.factors]
    ones[5:], factors[0][9:] = False, False
    check(kind, problem._replace(ones=ones, factors=factors), False)
