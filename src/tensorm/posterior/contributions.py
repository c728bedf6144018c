"""What each component contributes to one draw, counted so that no cell is credited twice.

A cell that only one component covers hangs on each of its entries there, so ``counts`` over the active
entries of any one mode gives what every component does alone, all components in one call (eq. 5). With all
entries of that mode empty no component hides another's cells, and the same call gives what each covers; with
those of the components before it alone, what it adds, for which only its own rows are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensorm.model import Noise
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor, count_alone


class Contribution(NamedTuple):
    """What one component does in the most probable draw; all counts are of observed cells.

    Attributes
    ----------
    component : int
        Its column in the factors.
    covered : int
        Cells in it.
    explained : int
        Those of them that are 1.
    added : int
        Ones that no component before it explains; over all components they add up to the ones explained.
    alone : int
        Ones that no other component explains.
    errors : int
        Zeros that no other component covers: the errors that it adds.
    accuracy_lost : float
        What the share of cells equal to the product loses when it is removed, (alone - errors) / observed.
        Below 0 where fewer than half of its own cells are 1: it then raises the likelihood, not the accuracy.
    log_likelihood_lost : float
        What the log-likelihood loses when it is removed, at the draw's noise; components are ordered by it.
    """

    component: int
    covered: int
    explained: int
    added: int
    alone: int
    errors: int
    accuracy_lost: float
    log_likelihood_lost: float


def strongest_first(tensor: Tensor, factors: Factors, noise: Noise) -> list[int]:
    """Order the components by the log-likelihood that is lost when each is taken out."""
    lost = noise.log_ratio(*count_alone(tensor, factors, factors.bits()[0]))
    return [int(l) for l in np.argsort(-lost, kind="stable")]


def contributions(tensor: Tensor, factors: Factors, noise: Noise) -> tuple[Contribution, ...]:
    """Return what each component contributes, in the order of the factors' columns."""
    members = factors.bits()[0]
    alone, errors = count_alone(tensor, factors, members)
    explained, wrong = count_alone(tensor, _keep(factors, 0), members)  # nobody hides another's cells
    lost = noise.log_ratio(alone, errors)
    rows = []
    for l in range(factors.n_components):
        (added,), _ = count_alone(tensor, _keep(factors, l), members[:, [l]], [l])
        rows.append(
            Contribution(
                component=l,
                covered=int(explained[l] + wrong[l]),
                explained=int(explained[l]),
                added=int(added),
                alone=int(alone[l]),
                errors=int(errors[l]),
                accuracy_lost=float(alone[l] - errors[l]) / tensor.n_observed,
                log_likelihood_lost=float(lost[l]),
            )
        )
    return tuple(rows)


def _keep(factors: Factors, first: int) -> Factors:
    """Return the factors with all but the first few components empty; one mode without them is enough."""
    kept = pack(np.arange(64 * factors[0].shape[1]) < first)
    return factors.replace(0, factors[0] & kept)
