"""``choose_number`` chooses the number of components by the method with a given name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorm.report.selection import Selection
from tensorm.sampler.chains import ChainPool
from tensorm.sampler.sample import Plan
from tensorm.selection.by_sampling import choose_by_occam, choose_by_posterior
from tensorm.selection.published import choose_by_accuracy, choose_by_pruning
from tensorm.selection.trials import Holdout, choose_by_description, choose_by_validation
from tensorm.tensors.protocol import Tensor

METHODS = ("posterior", "occam", "cv", "mdl", "occam-published", "cv-published")
MOST_CANDIDATES = 12  # that are tried when none are given


def choose_number(
    method: str,
    tensor: Tensor,
    plan: Plan,
    pool: ChainPool,
    numbers: list[int] | None = None,
    holdout: Holdout | None = None,
) -> Selection:
    """Choose the number of components by one of METHODS; "cv" and "cv-published" need to know what to hide.

    Where the noise model has a stand-in for counting, all but those two and "occam-published" use it, and
    say so.
    """
    target = plan.target
    plain = replace(target, noise=target.noise.counting(tensor))
    if method == "occam-published":
        return choose_by_pruning(tensor, plan, pool, numbers)
    if numbers is None and method not in ("posterior", "occam"):
        first = choose_number("occam", tensor, plan, pool._replace(n_chains=1))
        if not first.complete:
            return first
        numbers = _around(first.best)
    if holdout is not None and numbers is not None and method.startswith("cv"):
        if method == "cv":
            return choose_by_validation(tensor, target, pool, numbers, holdout)
        return choose_by_accuracy(tensor, plan, pool, numbers, holdout)
    if method == "mdl" and numbers is not None:
        selection = choose_by_description(tensor, plain, pool, numbers)
    else:
        count = choose_by_occam if method == "occam" else choose_by_posterior
        selection = count(tensor, plain, pool, numbers)
    if plain.noise == target.noise:
        return selection
    return replace(selection, reason=f"{selection.reason} {target.noise.counted}")


def _around(n: int) -> list[int]:
    """Return numbers from 1 to half as many again as were found, and a few more."""
    most = n + max(3, n // 2)
    return sorted({round(float(number)) for number in np.linspace(1, most, min(most, MOST_CANDIDATES))} | {n})
