"""Whether a statement of the paper holds here: leads with their errors, and a margin that each must clear.

A lead is the mean of paired differences, one for each tensor. It counts as *ahead* only if it is larger than
two standard errors and than ``MARGIN``, as *behind* if the same is true of its opposite, and otherwise as
*level*: +0.0000 is level. What a trivial predictor reaches is no achievement, so statements about accuracy
are also compared with all zeros or the more frequent value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.record import Row, mean, spread

MARGIN = 0.002  # of accuracy: 16 of the 8,000 cells of a tensor
ERRORS = 2  # standard errors
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
OURS, PUBLISHED = "tensorm", "as published"


class Claim(NamedTuple):
    """What the paper says, of which fit, what is found here, and whether it holds (None: unknown)."""

    paper: str
    fit: str
    here: str
    holds: bool | None


class Lead(NamedTuple):
    """A mean difference and its standard error."""

    mean: float
    error: float

    def judge(self, margin: float = MARGIN) -> str:
        """Return whether the difference is clear: ahead, level or behind."""
        least = max(margin, ERRORS * self.error)
        return AHEAD if self.mean > least else BEHIND if self.mean < -least else LEVEL

    def __str__(self) -> str:
        """The difference with its error."""
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def lead(rows: Sequence[Row], first: str, second: str) -> Lead:
    """Return by how much one column is above another, from differences within rows."""
    gaps = [{"gap": row[first] - row[second]} for row in rows]
    return Lead(mean(gaps, "gap"), spread(gaps, "gap"))


def rise(small: Lead, large: Lead) -> Lead:
    """Return by how much one lead is larger than another, of other tensors."""
    return Lead(large.mean - small.mean, float((small.error**2 + large.error**2) ** 0.5))


def count_words(leads: Iterable[Lead], margin: float = MARGIN) -> dict[str, int]:
    """Return how many leads are ahead, level and behind."""
    words = [one.judge(margin) for one in leads]
    return {word: words.count(word) for word in (AHEAD, LEVEL, BEHIND)}


def tell_words(counts: dict[str, int]) -> str:
    """Return the counts as text."""
    return ", ".join(f"{word} {count}" for word, count in counts.items())


def claims(said: Sequence[Claim]) -> str:
    """Return a table of the paper's statements, our results, and whether they agree."""
    verdicts = {True: "agrees", False: "**differs**", None: "cannot be tested"}
    lines = ["| the paper | fit | here | |", "|---|---|---|---|"]
    lines += [f"| {row.paper} | {row.fit} | {row.here} | {verdicts[row.holds]} |" for row in said]
    return "\n".join(lines)
