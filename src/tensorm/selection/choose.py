"""How the number of components is chosen; a new method is a function and a line of SELECTION_METHODS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tensorm.report.selection import Selection
from tensorm.sampler.chains import ChainPool
from tensorm.sampler.sample import Plan
from tensorm.sampler.sweep import Target
from tensorm.selection.by_sampling import choose_by_occam, choose_by_posterior
from tensorm.selection.noise import SHARE_TO_HIDE
from tensorm.selection.published import choose_by_accuracy, choose_by_pruning
from tensorm.selection.trials import choose_by_description, choose_by_validation
from tensorm.selection.validation import Holdout
from tensorm.tensors.protocol import Tensor

DEFAULT = "auto"
MOST_CANDIDATES = 12  # that are tried when none are given
N_SPLITS = 5


class Method(NamedTuple):
    """A way to choose the number of components.

    Attributes
    ----------
    choose : callable (tensor, plan, pool, candidates, holdout) -> Selection
        Makes the choice; candidates are None if it finds them itself.
    n_repeats : int
        Splits of the cells, or chains, unless the caller asks for another number.
    hides : bool
        Whether it hides cells and predicts them, with the noise model that the estimator has. The others
        count components with the noise model's stand-in for counting.
    published : bool
        Whether it is the paper's: chains then start and end as the estimator says.
    bounded : bool
        Whether it needs candidates: by default numbers around the one that Occam's razor finds.
    """

    choose: Callable[..., Selection]
    n_repeats: int = 2
    hides: bool = False
    published: bool = False
    bounded: bool = False

    def count_with(self, tensor: Tensor, plan: Plan) -> Plan:
        """Return the plan with the noise model that this method uses."""
        if self.hides or self.published:
            return plan
        noise, prior = plan.target.noise.counting(tensor), plan.target.noise.counting_prior(plan.target.prior)
        return replace(plan, target=replace(plan.target, noise=noise, prior=prior))


SELECTION_METHODS = {
    DEFAULT: Method(
        choose_by_validation, 3, hides=True
    ),  # with strengths; otherwise find_method takes the next
    "posterior": Method(choose_by_posterior),
    "occam": Method(choose_by_occam),
    "cv": Method(choose_by_validation, N_SPLITS, hides=True, bounded=True),
    "mdl": Method(choose_by_description, bounded=True),
    "occam-published": Method(choose_by_pruning, published=True),
    "cv-published": Method(choose_by_accuracy, N_SPLITS, hides=True, published=True, bounded=True),
}


def find_method(name: str, target: Target) -> Method:
    """Return a method; the default hides cells only for strengths, whose evidence has no closed form."""
    return SELECTION_METHODS["posterior" if name == DEFAULT and not target.noise.has_stand_in else name]


def choose_number(
    method: Method,
    tensor: Tensor,
    plan: Plan,
    pool: ChainPool,
    numbers: Sequence[int] | None = None,
    holdout: Holdout | None = None,
) -> Selection:
    """Choose the number of components; the reason says if another noise model stood in for counting."""
    if numbers is None and method.bounded:
        first = choose_number(SELECTION_METHODS["occam"], tensor, plan, pool._replace(n_chains=1))
        if not first.complete:
            return first
        numbers = _around(first.best)
    counted = method.count_with(tensor, plan)
    selection = method.choose(tensor, counted, pool, numbers, holdout or Holdout(SHARE_TO_HIDE, tensor.pair))
    if counted.target.noise == plan.target.noise:
        return selection
    return replace(selection, reason=f"{selection.reason} {plan.target.noise.counted}")


def _around(n: int) -> list[int]:
    """Return numbers from 1 to half as many again as were found, and a few more."""
    most = n + max(3, n // 2)
    return sorted({round(float(number)) for number in np.linspace(1, most, min(most, MOST_CANDIDATES))} | {n})
