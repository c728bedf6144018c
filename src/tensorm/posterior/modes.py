"""A fitted mode as its reader sees it: name, posterior means, labels and groups of its indices.

Descriptions, plots and exports start here, so that all accept the same ``groups`` and reject the same input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.checks import check_count, check_mode
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior

Groups = Mapping[Any, npt.ArrayLike]


class FittedMode(NamedTuple):
    """One mode of a fitted model.

    Attributes
    ----------
    name : str
    means : ndarray (N, L)
        Probability that each index is in each component.
    labels : ndarray (N,) or None
        Names of the indices.
    groups : ndarray of str (N,) or None
        The group of each index, such as a person's role.
    """

    name: str
    means: npt.NDArray[np.float64]
    labels: npt.NDArray[Any] | None
    groups: npt.NDArray[np.str_] | None

    def label(self, n: int) -> str:
        """Return the name of an index, or its number."""
        return str(n if self.labels is None else self.labels[n])

    def members(self, component: int, threshold: float = MEMBER) -> npt.NDArray[np.intp]:
        """Return the members of a component, most probable first."""
        p = self.means[:, component]
        return np.argsort(-p, kind="stable")[: np.count_nonzero(p > threshold)]

    def strongest(self) -> npt.NDArray[np.intp]:
        """Return the most probable component of each index, or L for members of none."""
        return np.where(self.means.max(axis=1) > MEMBER, self.means.argmax(axis=1), self.means.shape[1])


def read_modes(posterior: Posterior, groups: Groups | None = None) -> list[FittedMode]:
    """Return every mode of a fit.

    Parameters
    ----------
    posterior : Posterior
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index.
    """
    given = {find_mode(posterior, mode): names for mode, names in (groups or {}).items()}
    parts = zip(posterior.modes, posterior.factors, posterior.labels, strict=True)
    return [
        FittedMode(name, means, labels, _check_groups(name, given[k], len(means)) if k in given else None)
        for k, (name, means, labels) in enumerate(parts)
    ]


def find_mode(posterior: Posterior, mode: str | int) -> int:
    """Return the number of a mode given by its name or number."""
    return check_mode(mode, posterior.modes)


def find_component(posterior: Posterior, component: int) -> int:
    """Return a component's number, or raise if there is no such component."""
    if check_count("component", component, 0) >= posterior.n_components:
        raise InputError(f"component is {component}; give a number from 0 to {posterior.n_components - 1}.")
    return int(component)


def _check_groups(name: str, groups: npt.ArrayLike, size: int) -> npt.NDArray[np.str_]:
    array = np.asarray(groups)
    if array.shape != (size,):
        raise InputError(f"groups for {name!r} has shape {array.shape}; give ({size},), one for each index.")
    return array.astype(np.str_)
