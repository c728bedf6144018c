"""Which components hold more of a group than chance would put there, such as nurses or a type of cancer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensorm.checks import check_number
from tensorm.metadata import Column, Metadata, read_metadata
from tensorm.modes import FittedMode, read_modes
from tensorm.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd

    from tensorm.estimator import TensOrMachine

SMALLEST = 2  # indices of a category that is tested
SHOWN = 20  # rows of the text


class Association(NamedTuple):
    """One component and one category of what is known of a mode's indices.

    Attributes
    ----------
    mode, column, category : str
    component : int
    both : int
        Members of the component in this mode that are in the category.
    members : int
        Its members that something is known of.
    size : int
        Indices in the category.
    known : int
        Indices that something is known of.
    expected : float
        What ``both`` is on average if members are drawn at random.
    p : float
        Probability that so many or more are in both then (Fisher's exact test, one-sided).
    q : float
        After Benjamini and Hochberg: of all pairs with no larger q, at most this share is by chance.
    """

    mode: str
    column: str
    category: str
    component: int
    both: int
    members: int
    size: int
    known: int
    expected: float
    p: float
    q: float


@dataclass(frozen=True, eq=False)
class Associations:
    """All pairs of a component and a category, the surest first; as text, a table.

    Attributes
    ----------
    rows : tuple of Association
    """

    rows: tuple[Association, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def below(self, q: float = 0.05) -> tuple[Association, ...]:
        """Return the pairs with a q of at most this."""
        return tuple(row for row in self.rows if row.q <= q)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the pairs as a pandas table."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=Association._fields)

    def __str__(self) -> str:
        lines = ["component  mode: column = category                      both  expected        q"]
        for row in self.rows[:SHOWN]:
            name = f"{row.mode}: {row.column} = {row.category}"
            lines.append(f"{row.component:9d}  {name:40}  {row.both:5d}  {row.expected:8.1f}  {row.q:7.1g}")
        if len(self.rows) > SHOWN:
            lines.append(f"and {len(self.rows) - SHOWN:,} more")
        return "\n".join(lines)


def associate(model: TensOrMachine | Posterior, metadata: Metadata, threshold: float = 0.5) -> Associations:
    """Test every component for every category that its members may be in.

    Columns of more than a dozen different numbers and categories of a single index are passed over, and so
    are indices that nothing is known of. All pairs of all modes are corrected together for their number.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    metadata : mapping
        For some modes, by name or number, a table with a row for each label; see ``read_metadata``.
    threshold : float, default 0.5
        Members are in the component with more than this probability.

    Returns
    -------
    Associations
    """
    from scipy.stats import false_discovery_control

    limit = check_number("threshold", threshold)
    modes, tables = read_modes(model), read_metadata(model, metadata)
    rows = [
        row
        for mode, columns in zip(modes, tables, strict=True)
        for column in columns
        for row in _test(mode, column, limit)
    ]
    if not rows:
        return Associations(())
    corrected = false_discovery_control([row.p for row in rows])
    tested = [row._replace(q=float(q)) for row, q in zip(rows, corrected, strict=True)]
    return Associations(tuple(sorted(tested, key=lambda row: (row.p, row.component))))


def _test(mode: FittedMode, column: Column, threshold: float) -> Iterator[Association]:
    from scipy.stats import hypergeom

    known = column.values != ""
    members = mode.means[known] > threshold
    N, M = len(members), members.sum(axis=0)
    for category in column.categories:
        inside = column.values[known] == category
        size = int(inside.sum())
        if not SMALLEST <= size < N:
            continue
        both = members[inside].sum(axis=0)
        p = hypergeom.sf(both - 1, N, size, M)
        for l in np.flatnonzero((M > 0) & (M < N)).tolist():
            yield Association(
                mode=mode.name,
                column=column.name,
                category=category,
                component=l,
                both=int(both[l]),
                members=int(M[l]),
                size=size,
                known=N,
                expected=float(M[l] * size / N),
                p=float(min(p[l], 1.0)),
                q=1.0,
            )
