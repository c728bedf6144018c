"""What each component contributes to one draw, counted so that no cell is credited twice.

A cell that only one component covers hangs on each of its entries there, so ``counts`` over the active
entries of any one mode gives what every component does alone, all components in one call (eq. 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.model import Noise
from tensorm.tensors.bits import Words, pack, unpack
from tensorm.tensors.seam import Tensor, count_alone

Counts = npt.NDArray[np.int64]


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


def strongest_first(tensor: Tensor, factors: Sequence[Words], noise: Noise, n_components: int) -> list[int]:
    """Order the components by the log-likelihood that is lost when each is taken out."""
    lost = _weigh(*count_alone(tensor, factors, n_components, unpack(factors[0], n_components)), noise)
    return [int(l) for l in np.argsort(-lost, kind="stable")]


def contributions(
    tensor: Tensor, factors: Sequence[Words], noise: Noise, n_components: int
) -> tuple[Contribution, ...]:
    """Return what each component contributes, in the order of the factors' columns."""
    L = n_components
    alone, errors = count_alone(tensor, factors, L, unpack(factors[0], L))
    lost = _weigh(alone, errors, noise)
    rows, before = [], 0
    for l in range(L):
        own = tensor.confusion(_keep(factors, L, [l]), L)
        so_far = tensor.confusion(_keep(factors, L, range(l + 1)), L).tp
        rows.append(
            Contribution(
                component=l,
                covered=own.tp + own.fp,
                explained=own.tp,
                added=so_far - before,
                alone=int(alone[l]),
                errors=int(errors[l]),
                accuracy_lost=float(alone[l] - errors[l]) / tensor.n_observed,
                log_likelihood_lost=float(lost[l]),
            )
        )
        before = so_far
    return tuple(rows)


def _weigh(ones: Counts, zeros: Counts, noise: Noise) -> npt.NDArray[np.float64]:
    gain, loss = noise.weights
    return gain * ones - loss * zeros


def _keep(factors: Sequence[Words], n_components: int, components: Sequence[int]) -> list[Words]:
    """Return the factors with all other components empty; one mode without them is enough."""
    kept = np.zeros((1, n_components), np.bool_)
    kept[:, list(components)] = True
    return [factors[0] & pack(kept), *factors[1:]]
