"""Which components are associated with metadata of their members: groups, such as nurses, or numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensorm.data.checks import check_number
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, list_modes, of_posterior
from tensorm.report.metadata import Column, Metadata, read_metadata

if TYPE_CHECKING:
    import pandas as pd

MIN_TESTED = 2  # indices that a category, members and others must have to be tested
MAX_PRINTED_ROWS = 20  # rows of the text


class Association(NamedTuple):
    """One component and either a category of a mode's indices or numbers known about them, such as age.

    Attributes
    ----------
    mode, column : str
    category : str or None
        None for numbers.
    component : int
    members : int
        Members of the component in this mode whose category or number is known.
    known : int
        Indices whose category or number is known.
    both : int or None
        Members that are in the category.
    size : int or None
        Indices in the category.
    expected : float or None
        Expected value of ``both`` if members were drawn at random.
    median, other_median : float or None
        Of the numbers of the members, and of all others.
    above : float or None
        Probability that a random member has a larger number than a random other index; 0.5 by chance.
    p : float
        Probability of at least ``both`` if members were drawn at random (Fisher's exact test, one-sided), or
        of ``above`` being at least this far from 0.5 (Mann-Whitney test, two-sided).
    q : float
        p corrected for multiple tests (Benjamini and Hochberg): the expected share of false discoveries among
        pairs with this q or less.
    """

    mode: str
    column: str
    category: str | None = None
    component: int = 0
    both: int | None = None
    members: int = 0
    size: int | None = None
    known: int = 0
    expected: float | None = None
    median: float | None = None
    other_median: float | None = None
    above: float | None = None
    p: float = 1.0
    q: float = 1.0

    @property
    def topic(self) -> str:
        """What is tested."""
        return self.column if self.category is None else f"{self.column}: {self.category}"

    @property
    def name(self) -> str:
        """What is tested, and its mode."""
        return f"{self.mode}, {self.topic}"

    @property
    def inside(self) -> str:
        """What was found among the members, as text."""
        return f"{self.both} of {self.members}" if self.above is None else f"median {self.median:.4g}"

    @property
    def otherwise(self) -> str:
        """What it is compared with, as text."""
        return f"{self.expected:.1f} expected" if self.above is None else f"{self.other_median:.4g} elsewhere"

    @property
    def direction(self) -> int:
        """1 if the members' numbers are larger, -1 if they are smaller, 0 for a category."""
        return 0 if self.above is None else 1 if self.above > 0.5 else -1


@dataclass(frozen=True, eq=False)
class Associations:
    """All pairs of a component and something known, smallest p first; as text, a table.

    Attributes
    ----------
    rows : tuple of Association
    """

    rows: tuple[Association, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def below(self, q: float = 0.05) -> tuple[Association, ...]:
        """Return the pairs whose q is at most this."""
        limit = check_number("q", q)
        return tuple(row for row in self.rows if row.q <= limit)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the pairs as a pandas table; fields of groups are missing for numbers, and vice versa."""
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(Association._fields))

    def __str__(self) -> str:
        lines = [f"{'component':9}  {'mode, metadata':34}  {'members':>14}  {'':>16}  {'q':>7}"]
        for row in self.rows[:MAX_PRINTED_ROWS]:
            lines.append(
                f"{row.component:9d}  {row.name:34}  {row.inside:>14}  {row.otherwise:>16}  {row.q:7.1g}"
            )
        if len(self.rows) > MAX_PRINTED_ROWS:
            lines.append(f"and {len(self.rows) - MAX_PRINTED_ROWS:,} more")
        return "\n".join(lines)


@of_posterior
def associate(posterior: Posterior, metadata: Metadata, threshold: float = MEMBER) -> Associations:
    """Test every component for associations with the metadata of its members.

    Categories are counted: are more members in a category than expected by chance? Measurements, such as
    ages, are compared by rank: are they larger or smaller for members than for others? Categories with a
    single index and indices without metadata are ignored. The correction for multiple tests is over all
    modes together; two modes that share a factor count as one.

    Parameters
    ----------
    posterior : Posterior
    metadata : mapping
        For some modes, by name or number, a table with a row for each label; see ``read_metadata``.
    threshold : float, default 0.5
        Members have a probability above this.

    Returns
    -------
    Associations
    """
    from scipy.stats import false_discovery_control

    limit = check_number("threshold", threshold)
    modes, tables = list_modes(posterior), read_metadata(posterior, metadata)
    rows: list[Association] = []
    for k, (mode, columns) in enumerate(zip(modes, tables, strict=True)):
        shared = [other for other in range(k) if np.array_equal(modes[other].means, mode.means)]
        known = {column.name for other in shared for column in tables[other]}
        for column in columns:
            if column.name not in known:
                rows += _count(mode, column, limit) if column.categories else _compare(mode, column, limit)
    if not rows:
        return Associations(())
    corrected = false_discovery_control([row.p for row in rows])
    tested = [row._replace(q=float(q)) for row, q in zip(rows, corrected, strict=True)]
    return Associations(tuple(sorted(tested, key=lambda row: (row.p, row.component))))


def _count(mode: FittedMode, column: Column, threshold: float) -> Iterator[Association]:
    """Test components for categories."""
    from scipy.stats import hypergeom

    known = column.values != ""
    members = mode.means[known] > threshold
    N, M = len(members), members.sum(axis=0)
    for category in column.categories:
        inside = column.values[known] == category
        size = int(inside.sum())
        if not MIN_TESTED <= size < N:
            continue
        both = members[inside].sum(axis=0)
        p, expected = hypergeom.sf(both - 1, N, size, M), M * size / N
        every = Association(mode.name, column.name, category, size=size, known=N)
        for l in np.flatnonzero((M > 0) & (M < N)).tolist():
            counted = every._replace(component=l, both=int(both[l]), members=int(M[l]))
            yield counted._replace(expected=float(expected[l]), p=float(min(p[l], 1.0)))


def _compare(mode: FittedMode, column: Column, threshold: float) -> Iterator[Association]:
    """Test components for measurements."""
    from scipy.stats import mannwhitneyu

    if column.numbers is None:
        return
    known = ~np.isnan(column.numbers)
    numbers, members = column.numbers[known], mode.means[known] > threshold
    for l, inside in enumerate(members.T):
        mine, others = numbers[inside], numbers[~inside]
        if min(len(mine), len(others)) < MIN_TESTED:
            continue
        found = mannwhitneyu(mine, others, alternative="two-sided")
        yield Association(
            mode=mode.name,
            column=column.name,
            component=l,
            members=len(mine),
            known=len(numbers),
            median=float(np.median(mine)),
            other_median=float(np.median(others)),
            above=float(found.statistic) / (len(mine) * len(others)),
            p=float(found.pvalue),
        )
