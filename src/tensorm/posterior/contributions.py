"""What each component contributes to one draw, without crediting any cell twice.

A cell that only one component covers depends on each of its entries there, so ``counts`` over the active
entries of any one mode gives what every component does alone, all components in one call (eq. 5). With all
entries of that mode empty, no component hides another's cells, and the same call gives what each covers. With
only the earlier components left in, it gives what a component adds, reading only that component's rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensorm.posterior.tables import tabulate, to_html
from tensorm.sampler.noise_model import Parameters, count_alone
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

if TYPE_CHECKING:
    import pandas as pd


class Contribution(NamedTuple):
    """What one component contributes to the most probable draw; all counts are of observed cells.

    Attributes
    ----------
    component : int
        Its column in the factors.
    covered : int
        Cells in the component.
    explained : int
        Ones among them.
    added : int
        Ones that no earlier component explains; summed over components, all ones explained.
    alone : int
        Ones that no other component explains.
    errors : int
        Zeros that no other component covers: the errors it adds.
    accuracy_lost : float
        Drop in accuracy if the component is removed, (alone - errors) / observed. Negative if fewer than half
        of the cells that only it covers are 1: it then raises the likelihood, but not the accuracy.
    log_likelihood_lost : float
        Drop in log-likelihood if the component is removed, at the draw's noise; components are ordered by it.
    """

    component: int
    covered: int
    explained: int
    added: int
    alone: int
    errors: int
    accuracy_lost: float
    log_likelihood_lost: float


class Contributions(tuple[Contribution, ...]):
    """What each component contributes, strongest first; in a notebook, a table."""

    __slots__ = ()

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas table with a row for each component."""
        return tabulate(self, Contribution._fields)

    def _repr_html_(self) -> str:
        return to_html(self.to_dataframe())


def strongest_first(tensor: Tensor, factors: Factors, noise: Parameters) -> list[int]:
    """Order the components by the drop in log-likelihood when each is removed."""
    lost = noise.log_ratios(tensor, factors, factors.bits()[0])
    return [int(l) for l in np.argsort(-lost, kind="stable")]


def contributions(tensor: Tensor, factors: Factors, noise: Parameters) -> tuple[Contribution, ...]:
    """Return what each component contributes, in the order of the factors' columns."""
    members = factors.bits()[0]
    alone, errors = count_alone(tensor, factors, members)
    explained, wrong = count_alone(tensor, _keep(factors, 0), members)  # no component hides another's cells
    added = [
        count_alone(tensor, _keep(factors, l), members[:, [l]], [l])[0][0]
        for l in range(factors.n_components)
    ]
    drop, lost = (alone - errors) / tensor.n_observed, noise.log_ratios(tensor, factors, members)
    columns = (explained + wrong, explained, np.array(added), alone, errors, drop, lost)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Contribution(l, *row) for l, row in enumerate(rows))


def _keep(factors: Factors, first: int) -> Factors:
    """Return the factors with only the first few components; emptying the others in one mode is enough."""
    kept = pack(np.arange(64 * factors[0].shape[1]) < first)
    return factors.replace(0, factors[0] & kept)
