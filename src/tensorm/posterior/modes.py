"""A fitted mode as its reader sees it: name, posterior means, labels and groups of its indices.

Descriptions, plots and exports start here, so that all accept the same ``groups`` and reject the same input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Floats, Indices
from tensorm.data.checks import as_array, check_count, check_mapping, check_mode, short
from tensorm.errors import InputError, printable
from tensorm.posterior.align import MEMBER
from tensorm.posterior.contributions import MemberShares
from tensorm.posterior.draws import Posterior

GroupsByMode = Mapping[Any, npt.ArrayLike]
P = ParamSpec("P")
R = TypeVar("R")


def of_posterior(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse anything but a posterior as its first argument."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = args[0] if args else kwargs.get("posterior")
        if not isinstance(given, Posterior):
            raise InputError(f"posterior is {short(given)}; give the posterior_ of a fitted model.")
        return function(*args, **kwargs)

    return checked


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
    shares : MemberShares or None
        What each index contributes to the components, if that was counted.
    """

    name: str
    means: Floats
    labels: Array | None
    groups: npt.NDArray[np.str_] | None
    shares: MemberShares | None = None

    def label(self, n: int) -> str:
        """Return the name of an index, or its number, fit to be printed."""
        return printable(str(n if self.labels is None else self.labels[n]))

    def members(self, component: int, threshold: float = MEMBER) -> Indices:
        """Return the members of a component, those that contribute most first; see ``rank_members``."""
        return rank_members([self], component, np.flatnonzero(self.means[:, component] > threshold))

    def strongest(self) -> Indices:
        """Return the most probable component of each index, or L for members of none."""
        return np.where(self.means.max(axis=1) > MEMBER, self.means.argmax(axis=1), self.means.shape[1])


def list_modes(posterior: Posterior, groups: GroupsByMode | None = None) -> list[FittedMode]:
    """Return every mode of a fit.

    Parameters
    ----------
    posterior : Posterior
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index.
    """
    wanted = check_mapping("groups", groups, "a dict of modes and arrays, a group for each index")
    given = {
        check_mode(mode, posterior.modes, "groups"): as_array(f"groups for {short(mode)}", names)
        for mode, names in wanted.items()
    }
    modes = []
    for k, (name, means, labels) in enumerate(
        zip(posterior.modes, posterior.factors, posterior.labels, strict=True)
    ):
        array, N = given.get(k), len(means)
        if array is not None and array.shape != (N,):
            raise InputError(f"groups for {name!r} has shape {array.shape}; give ({N},), one for each index.")
        names = None if array is None else np.array([printable(str(group)) for group in array], np.str_)
        shares = posterior.shares[k] if posterior.shares else None
        modes.append(FittedMode(printable(name), means, labels, names, shares))
    return modes


def rank_members(same: Sequence[FittedMode], component: int, members: Indices) -> Indices:
    """Return members of a component, here of some modes alike, in the order in which all outputs name them.

    First are those that show the largest share of the component's cells, then those of whose ones no other
    component explains the most, then the most probable. The page does the same.
    """
    p = np.mean([np.rint(1000 * mode.means[members, component]) for mode in same], axis=0)
    shares = [mode.shares for mode in same if mode.shares is not None]
    keys = [-np.mean([one[k][members, component] for one in shares], axis=0) for k in range(2) if shares]
    return members[np.lexsort((-p, *keys[::-1]))]


def find_component(posterior: Posterior, component: int) -> int:
    """Return a component's number, or raise if there is no such component."""
    if check_count("component", component, 0) >= posterior.n_components:
        raise InputError(f"component is {component}; give a number from 0 to {posterior.n_components - 1}.")
    return int(component)
