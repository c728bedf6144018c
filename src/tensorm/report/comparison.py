"""Whether two fits of the same things found the same components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.checks import find_order, short
from tensorm.errors import InputError
from tensorm.posterior.align import pair_components, similarity, unpaired
from tensorm.posterior.diagnostics import number_components
from tensorm.posterior.draws import Posterior
from tensorm.posterior.tables import tabulate, to_html

if TYPE_CHECKING:
    import pandas as pd


class Match(NamedTuple):
    """A component of one fit and the same one of the other; None if only one of them found it."""

    first: int | None
    second: int | None
    similarity: float  # the product over modes of the cosine; without a match, the largest to any other


class Comparison(NamedTuple):
    """How two fits compare; as text, a table and a sentence.

    Attributes
    ----------
    matches : tuple of Match
        The components of the first fit, each with its match, then those that only the second found. Empty
        components are left out.
    conclusion : str
        How many components both fits found, and which only one of them found.
    """

    matches: tuple[Match, ...]
    conclusion: str

    def to_dataframe(self) -> pd.DataFrame:
        """Return the matches as a pandas table."""
        table = tabulate(self.matches, Match._fields)
        return table.astype({"first": "Int64", "second": "Int64"})

    def _repr_html_(self) -> str:
        return to_html(self.to_dataframe(), [self.conclusion])

    def __str__(self) -> str:
        rows = ["first  second  similarity"]
        for first, second, alike in self.matches:
            rows.append(
                f"{'-' if first is None else first:>5}  {'-' if second is None else second:>6}  {alike:10.3f}"
            )
        return "\n".join([*rows, self.conclusion])


def compare_fits(first: Any, second: Any) -> Comparison:
    """Match the components of two fits, such as fits with other seeds, settings or data of the same things.

    Parameters
    ----------
    first, second : TensOrMachine or Posterior
        Two fits with the same shape. Labels may be in another order, as in a long and a wide table.

    Returns
    -------
    Comparison
        Components count as the same if their similarity is above 0.7.
    """
    a, b = _posterior("first", first), _posterior("second", second)
    if a.shape != b.shape:
        raise InputError(f"The fits have shapes {a.shape} and {b.shape}; give two fits of the same things.")
    factors = []  # of the second fit, in the order of the labels of the first
    for mode, mine, other, factor in zip(a.modes, a.labels, b.labels, b.factors, strict=True):
        order = np.arange(len(factor)) if mine is None or other is None else find_order(other, mine)
        if order is None:
            raise InputError(
                f"The fits have different labels in mode {mode!r}; give two fits of the same things."
            )
        factors.append(factor[order])
    alike = similarity(a.factors, factors)
    same = pair_components(a.factors, factors)
    first, second = unpaired(a.factors, same), unpaired(factors, same.values())
    matches = [
        *(
            Match(i, same.get(i), float(alike[i, same.get(i, alike[i].argmax())]))
            for i in sorted([*same, *first])
        ),
        *(Match(None, j, float(alike[:, j].max())) for j in second),
    ]
    return Comparison(tuple(matches), _conclude(len(same), first, second))


def _posterior(name: str, fit: Any) -> Posterior:
    posterior = getattr(fit, "posterior_", fit)
    if not isinstance(posterior, Posterior):
        raise InputError(f"{name} is {short(fit)}; give a fitted model.")
    return posterior


def _conclude(shared: int, first: list[int], second: list[int]) -> str:
    """Say how many components both fits found, and which only one of them found."""
    if not first and not second:
        return f"Both fits found the same {shared} component{'s' * (shared != 1)}."
    only = [
        f"only the {name} found {number_components(found)}"
        for name, found in (("first", first), ("second", second))
        if found
    ]
    return f"Both fits found {shared} component{'s' * (shared != 1)}; {' and '.join(only)}."
