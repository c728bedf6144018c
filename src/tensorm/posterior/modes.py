"""A fitted mode as its reader sees it: name, posterior means, labels and groups of its indices.

Words and plots start here, so that both take the same models, the same ``groups`` and refuse the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.checks import check_count, check_mode
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine

Groups = Mapping[Any, npt.ArrayLike]
SURE = 0.9  # a member above this probability is a sure one
MEMBER = 0.5  # an index is a member of a component above this probability


class FittedMode(NamedTuple):
    """One mode of a fitted model.

    Attributes
    ----------
    name : str
    means : ndarray (N, L)
        Probability that an index is in a component.
    labels : ndarray (N,) or None
        Names of the indices.
    groups : ndarray of str (N,) or None
        The group that each index belongs to, such as the role of a person.
    """

    name: str
    means: npt.NDArray[np.float64]
    labels: npt.NDArray[Any] | None
    groups: npt.NDArray[np.str_] | None

    def label(self, n: int) -> str:
        """Return the name of an index, or its number."""
        return str(n if self.labels is None else self.labels[n])

    def strongest(self) -> npt.NDArray[np.intp]:
        """Return for each index its most probable component, or L if it is a member of none."""
        return np.where(self.means.max(axis=1) > MEMBER, self.means.argmax(axis=1), self.means.shape[1])


def posterior_of(model: TensOrMachine | Posterior) -> Posterior:
    """Return the posterior of a fitted model, or what was given if it is one."""
    posterior = getattr(model, "posterior_", model)
    if not isinstance(posterior, Posterior):
        raise InputError(f"model is a {type(model).__name__} without draws; give a fitted model.")
    return posterior


def read_modes(model: TensOrMachine | Posterior, groups: Groups | None = None) -> list[FittedMode]:
    """Return every mode of a fitted model.

    Parameters
    ----------
    model : TensOrMachine or Posterior
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index.
    """
    posterior = posterior_of(model)
    given = {} if groups is None else {find_mode(posterior, mode): names for mode, names in groups.items()}
    parts = zip(posterior.modes, posterior.factors, posterior.labels, strict=True)
    return [
        FittedMode(name, means, labels, _check_groups(name, given[k], len(means)) if k in given else None)
        for k, (name, means, labels) in enumerate(parts)
    ]


def find_mode(posterior: Posterior, mode: str | int) -> int:
    """Return the number of a mode given by its name or number."""
    return check_mode(mode, posterior.modes)


def find_component(posterior: Posterior, component: int) -> int:
    """Return the number of a component, or raise if there is none of that number."""
    if check_count("component", component, 0) >= posterior.n_components:
        raise InputError(f"component is {component}; there are {posterior.n_components}, counted from 0.")
    return int(component)


def _check_groups(name: str, groups: npt.ArrayLike, size: int) -> npt.NDArray[np.str_]:
    array = np.asarray(groups)
    if array.shape != (size,):
        raise InputError(f"groups for {name!r} has shape {array.shape}; give ({size},), one for each index.")
    return array.astype(np.str_)
