"""Choices by trying every candidate: cross-validation and description length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tensorm.estimator.progress import ticking
from tensorm.sampler.pool import ChainPool, Stop
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.selection.climb import settle
from tensorm.selection.description import shortest
from tensorm.selection.members import to_factors, to_members
from tensorm.selection.result import Candidate, Selection, Trial
from tensorm.selection.validation import (
    Split,
    fewest_within_error,
    predict_held_out,
    score_held_out,
    split_cells,
    standard_errors,
)
from tensorm.tensors.protocol import Tensor

LOOKS = 10  # sweeps after burn-in among which the shortest description is looked for
NAMES = {"log_likelihood": "log-likelihood per held-out cell", "accuracy": "accuracy on held-out cells"}
Measure = Callable[
    [State, Target, int, Stop], dict[str, float]
]  # (state after burn-in, target, repeat, stop)


class Holdout(NamedTuple):
    """How cells are held out."""

    test_size: float
    symmetric: Any
    scoring: str


def choose_by_validation(
    tensor: Tensor, target: Target, pool: ChainPool, candidates: Sequence[int], holdout: Holdout
) -> Selection:
    """Take the fewest components whose predictions of hidden cells are within one error of the best."""

    @cache
    def split(repeat: int) -> Split:
        rng = np.random.default_rng([int(target.seed), repeat, 3])
        return split_cells(tensor, holdout.test_size, holdout.symmetric, rng)

    def measure(state: State, target: Target, repeat: int, stop: Stop) -> dict[str, float]:
        p = predict_held_out(split(repeat), state, target, repeat, stop)
        return score_held_out(split(repeat).ones, p)

    rows = _try_all(lambda repeat: split(repeat).train, target, pool, candidates, measure, "cv")
    table = tuple(
        Trial(L, repeat, found[holdout.scoring], found)
        for repeat, row in enumerate(rows)
        for L, found in zip(candidates, row, strict=True)
    )
    scores = np.array([[found[holdout.scoring] for found in row] for row in rows])
    errors = standard_errors(scores, holdout.test_size)
    means = scores.mean(axis=0)
    cells = min(found["cells"] for row in rows for found in row)
    best, chosen = fewest_within_error(scores, holdout.test_size, cells, candidates)
    at = candidates.index(best)
    top = f"{means[at]:.4f}" + (f" ± {errors[at]:.4f}" if len(rows) > 1 else "")
    name = NAMES[holdout.scoring]
    if chosen == best:
        reason = f"{best} has the best {name}, {top}, and no fewer components come within one standard error."
    else:
        reason = f"{chosen} is the fewest within one standard error of the best {name}, {top} with {best}."
    if chosen == candidates[-1] and len(candidates) > 1:
        reason += f" That is the largest candidate; more may be needed: try candidates beyond {chosen}."
    together = zip(candidates, means.tolist(), errors.tolist(), strict=True)
    return Selection("cv", chosen, reason, table, tuple(Candidate(*one) for one in together), name)


def choose_by_description(
    tensor: Tensor, target: Target, pool: ChainPool, candidates: Sequence[int]
) -> Selection:
    """Take the number of components that gives the shortest description."""

    def measure(state: State, target: Target, repeat: int, stop: Stop) -> dict[str, float]:
        explanations = [Explanation(tensor, target, state.factors).polished()]
        for _ in range(LOOKS):
            state, _ = sweep(tensor, state, target, repeat)
            explanations.append(Explanation(tensor, target, state.factors).polished())
        length = shortest(explanations)
        return {"bits": length.total, "bits for factors": length.factors, "bits for errors": length.errors}

    shared = pool.share(tensor)
    rows = _try_all(lambda repeat: shared, target, pool, candidates, measure, "mdl")
    table = tuple(
        Trial(L, repeat, found["bits"], found)
        for repeat, row in enumerate(rows)
        for L, found in zip(candidates, row, strict=True)
    )
    best = [min((row[i] for row in rows), key=lambda found: found["bits"]) for i in range(len(candidates))]
    order = np.argsort([found["bits"] for found in best], kind="stable")
    chosen, bits = candidates[order[0]], best[order[0]]
    reason = (
        f"{chosen} component{'s' * (chosen != 1)} give{'s' * (chosen == 1)} the shortest description: "
        f"{bits['bits']:,.0f} bits, {bits['bits for factors']:,.0f} of them for the factors"
    )
    if len(candidates) > 1:
        second = order[1]
        reason += f"; the next shortest, with {candidates[second]}, takes {best[second]['bits']:,.0f}"
    rows_together = tuple(
        Candidate(L, found["bits"], math.nan) for L, found in zip(candidates, best, strict=True)
    )
    return Selection("mdl", chosen, reason + ".", table, rows_together, "description length in bits")


def _try_all(
    tensor_of: Callable[[int], Tensor],
    target: Target,
    pool: ChainPool,
    candidates: Sequence[int],
    measure: Measure,
    method: str,
) -> list[list[dict[str, float]]]:
    """Fit every candidate in every repeat, one after the other along the candidates; return the measures."""
    with ticking(f"{method}: fits", pool.n_repeats * len(candidates), pool.progress) as tick:

        def climb(repeat: int, stop: Stop) -> list[dict[str, float]]:
            found, before = [], None
            for L in candidates:

                def make(L: int = L, before: Any = before) -> tuple[dict[str, float], State]:
                    tensor, mine = tensor_of(repeat), replace(target, n_components=L)
                    masks = None if before is None else to_factors(before, tensor.shape)
                    state = settle(tensor, mine, masks, repeat, stop)
                    return measure(state, mine, repeat, stop), state

                def encode(made: tuple[dict[str, float], State], L: int = L) -> Any:
                    return {"measures": made[0], "members": to_members(made[1].factors)}

                form = pool.remember(f"{method}-{L}-{repeat}", make, encode, stop)
                before = form["members"]
                found.append(form["measures"])
                tick()
            return found

        return pool.run(climb)
