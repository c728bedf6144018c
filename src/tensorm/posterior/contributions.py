"""What each component contributes, without crediting any cell twice, and what each member contributes to it.

A cell that only one component covers depends on each of its entries there, so ``counts`` over the active
entries of any one mode gives what every component does alone, all components in one call (eq. 5). With all
entries of that mode empty, no component hides another's cells, and the same call gives what each covers. With
only the earlier components left in, it gives what a component adds, reading only that component's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.posterior.tables import tabulate, to_html
from tensorm.sampler.noise_model import Parameters, count_alone
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

if TYPE_CHECKING:
    import pandas as pd


class Contribution(NamedTuple):
    """What one component contributes, with the members whose probability is above 0.5.

    All counts are of observed cells.

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
    added_errors : int
        Zeros that no earlier component covers.
    alone : int
        Ones that no other component explains.
    errors : int
        Zeros that no other component covers: the errors it adds.
    accuracy_lost : float
        Drop in accuracy if the component is removed, (alone - errors) / observed. Negative if fewer than half
        of the cells that only it covers are 1: it then raises the likelihood, but not the accuracy.
    log_likelihood_lost : float
        Drop in log-likelihood if the component is removed, at the noise of the most probable draw; components
        are ordered by it.
    """

    component: int
    covered: int
    explained: int
    added: int
    added_errors: int
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
        [part[0] for part in count_alone(tensor, _keep(factors, l), members[:, [l]], [l])]
        for l in range(factors.n_components)
    ]
    drop, lost = (alone - errors) / tensor.n_observed, noise.log_ratios(tensor, factors, members)
    columns = (explained + wrong, explained, *np.array(added).T, alone, errors, drop, lost)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Contribution(l, *row) for l, row in enumerate(rows))


def _keep(factors: Factors, first: int) -> Factors:
    """Return the factors with only the first few components; emptying the others in one mode is enough."""
    kept = pack(np.arange(64 * factors[0].shape[1]) < first)
    return factors.replace(0, factors[0] & kept)


class MemberCounts(NamedTuple):
    """For a mode, arrays (n, L): the observed cells of each component that have one of some indices.

    Attributes
    ----------
    cells, ones : ndarray
    alone : ndarray
        Those of the ones that no other component explains.
    """

    cells: Counts
    ones: Counts
    alone: Counts


class MemberShares(NamedTuple):
    """What the indices of a mode contribute to the components, in percent, -1 where unknown; arrays (N, L).

    Attributes
    ----------
    shown : ndarray of int8
        The share of the component's observed cells with this index that are 1.
    own : ndarray of int8
        The share of these ones that no other component explains.
    """

    shown: npt.NDArray[np.int8]
    own: npt.NDArray[np.int8]


class Measured(NamedTuple):
    """What the components of an explanation contribute, and what the indices of each mode do."""

    contributions: tuple[Contribution, ...] = ()
    shares: tuple[MemberShares, ...] = ()


def count_members(tensor: Tensor, factors: Factors, rows: Sequence[Indices]) -> list[MemberCounts]:
    """Count what some indices of each mode contribute to every component, as members of it or if they were.

    With all entries of a mode empty, no component hides another's cells, so that one call counts for all.
    """
    found = []
    for k, some in enumerate(rows):
        ones, cells = tensor.counts(k, factors.replace(k, np.zeros_like(factors[k])), rows=some)
        found.append(MemberCounts(cells, ones, tensor.counts(k, factors, rows=some)[0]))
    return found


def share_members(tensor: Tensor, factors: Factors, likely: Sequence[Bits]) -> tuple[MemberShares, ...]:
    """Return what the indices contribute to those components in which they are likely."""
    rows, shares = [np.flatnonzero(some.any(axis=1)) for some in likely], []
    for some, index, counts in zip(likely, rows, count_members(tensor, factors, rows), strict=True):
        parts = (counts.ones, counts.cells), (counts.alone, counts.ones)
        columns = [np.full(some.shape, -1, np.int8) for _ in parts]
        for column, (part, whole) in zip(columns, parts, strict=True):
            column[index] = np.where(some[index], _percent(part, whole), -1)
        shares.append(MemberShares(*columns))
    return tuple(shares)


def _percent(part: Counts, whole: Counts) -> Floats:
    share = np.rint(100 * part / np.maximum(whole, 1))
    return np.where(whole > 0, np.clip(share, 0, 100), -1)
