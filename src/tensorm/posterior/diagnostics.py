"""Whether a fit can be trusted: a table, and one sentence that says what to do.

docs/diagnostics.md explains each sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tensorm.posterior.align import SAME, ChainSummary, summarise
from tensorm.posterior.convergence import (
    CONSTANT,
    MOVING,
    NEVER,
    STUCK,
    UNKNOWN,
    EntryMixing,
    Mixing,
    assess,
    assess_entries,
)
from tensorm.posterior.draws import Posterior

COMPARABLE_DRAWS = 20  # with fewer draws per chain, it is unknown whether chains fit equally well
SMALLEST_ESS = 100
DISPUTED = 0.05  # share of entries that chains may disagree on before the verdict says so
IN_WORDS = {
    CONSTANT: "the same in all draws",
    STUCK: "constant within chains, different between them",
    UNKNOWN: "too few draws to tell",
}


class Diagnostics(NamedTuple):
    """How the chains of a fit compare; as text, tables and a verdict.

    Attributes
    ----------
    verdict : str
        The conclusion and what to do about it, in one sentence.
    chains : tuple of ChainSummary
        A summary of every chain.
    quantities : tuple of Mixing
        R-hat and effective sample sizes of the noise rates and the log-likelihood, for the chains kept.
    entries : EntryMixing
        The same for the entries of the factors.
    """

    verdict: str
    chains: tuple[ChainSummary, ...]
    quantities: tuple[Mixing, ...]
    entries: EntryMixing

    @property
    def fine(self) -> bool:
        """Whether the chains agree, so that nothing needs to be done."""
        return self.verdict == _agreement(len(self.chains))

    def __str__(self) -> str:
        lines = ["chain  accuracy  log-likelihood  active  agreement  burn-in"]
        for row in self.chains:
            left_out = "" if row.kept else "   left out: a worse explanation"
            lines.append(
                f"{row.chain:5d}  {row.accuracy:8.4f}  {row.log_likelihood:14.1f}  {row.active:6d}  "
                f"{row.agreement:9.3f}  {row.burn_in:7d}{left_out}"
            )
        lines.append("quantity              R-hat    ESS  tail ESS")
        lines.extend(f"{row.name:20}  {_numbers(row)}" for row in self.quantities)
        return "\n".join([*lines, self.about_entries(), self.verdict])

    def about_entries(self) -> str:
        """Return a sentence on how well the chains have mixed in the entries of the factors."""
        return _describe_entries(self.entries)


def diagnose(posterior: Posterior) -> Diagnostics:
    """Compare the chains of a fit."""
    rows = summarise(posterior.chains)
    quantities, entries = assess(posterior.traces), assess_entries(posterior.traces)
    length = min(len(trace) for trace in posterior.traces)
    verdict = _judge_chains(rows) or _judge_components(rows, quantities, length)
    verdict = verdict or _judge_mixing(quantities, length) or _judge_entries(entries)
    return Diagnostics(verdict or _agreement(len(rows)), tuple(rows), quantities, entries)


def _agreement(n_chains: int) -> str:
    return f"All {n_chains} chains agree."


def largest_rhat(length: int) -> float:
    """Return the largest acceptable R-hat; independent draws stay below it in 99 of 100 fits.

    Short chains scatter: two chains of 20 draws have an R-hat of up to 1.24, of 50 up to 1.09, of 100 up to
    1.04.
    """
    return max(1.05, 1 + 5 / length)


def _judge_chains(rows: Sequence[ChainSummary]) -> str | None:
    """Report chains that ended in a worse explanation of the data, or had not finished burn-in."""
    if len(rows) == 1:
        return "A single chain cannot be checked against others; set n_chains to at least 2."
    stuck = [row for row in rows if not row.kept]
    if stuck:
        return (
            f"{len(stuck)} of {len(rows)} chains ended in a worse explanation of the data and "
            f"{'was' if len(stuck) == 1 else 'were'} left out; "
            "run more chains or increase burn_in to check that the best explanation is stable."
        )
    if any(not row.settled for row in rows):
        return "Some chains were still improving when burn-in ended; increase burn_in."
    return None


def _judge_components(rows: Sequence[ChainSummary], quantities: Sequence[Mixing], length: int) -> str | None:
    """Report chains that fit equally well with different components."""
    unknown = length < COMPARABLE_DRAWS or any((row.rhat or 0) > largest_rhat(length) for row in quantities)
    if unknown or min(row.agreement for row in rows) >= SAME:
        return None
    return (
        "The chains explain the data equally well with different components; trust predictions more than "
        "single components, or try fewer components."
    )


def _judge_mixing(quantities: Sequence[Mixing], length: int) -> str | None:
    """Report draws of noise rates and log-likelihood that are too few or too correlated."""
    if any(row.state == UNKNOWN for row in quantities):
        draws = "1 draw" if length == 1 else f"{length} draws"
        return f"Each chain has only {draws}, too few to compare chains; set n_draws to at least 100."
    for row in quantities:
        if row.state == STUCK:
            return f"The {row.name} never changes within a chain but differs between chains; run more chains."
    moving = [row for row in quantities if row.state == MOVING]
    worst = max(moving, key=lambda row: row.rhat or 0, default=None)
    if worst is not None and (worst.rhat or 0) > largest_rhat(length):
        return (
            f"The chains have not mixed: R-hat of the {worst.name} is {_rhat(worst.rhat)}; increase n_draws "
            "and burn_in, or try fewer components."
        )
    least = min((row.ess or 0 for row in moving), default=math.inf)
    if least < SMALLEST_ESS:
        wanted = length * math.ceil(SMALLEST_ESS / max(least, 1))
        return (
            f"The draws are worth only {least:.0f} independent ones; set n_draws to at least {wanted:,} "
            "before you trust the second digit of a probability."
        )
    return None


def _judge_entries(entries: EntryMixing) -> str | None:
    """Report chains that agree on everything except who is in which component."""
    share = entries.poor / entries.examined if entries.examined else 0.0
    moving = entries.total - entries.constant - entries.stuck
    disputed = entries.stuck + round(share * moving)
    if disputed <= DISPUTED * entries.total:
        return None
    return (
        f"The chains fit equally well but disagree on {disputed:,} of {entries.total:,} entries; increase "
        "n_draws, or trust predictions more than single memberships."
    )


def _describe_entries(entries: EntryMixing) -> str:
    moving = entries.total - entries.constant - entries.stuck
    if entries.constant == entries.total:
        return f"All {entries.total:,} factor entries are the same in all draws."
    text = f"Of {entries.total:,} factor entries, {entries.constant:,} are the same in all draws"
    if entries.stuck:
        text += f" and {entries.stuck:,} never change but differ between chains"
    if entries.rhat is not None and entries.ess is not None:
        which = "" if entries.examined == moving else f" {entries.examined:,} of"
        text += (
            f"; for{which} the other {moving:,}, the largest R-hat is {_rhat(entries.rhat)} "
            f"and the smallest ESS {entries.ess:.0f}"
        )
    return text + "."


def _numbers(row: Mixing) -> str:
    if row.rhat is None or row.ess is None or row.ess_tail is None:
        return IN_WORDS[row.state]
    return f"{_rhat(row.rhat):>5}  {row.ess:5.0f}  {row.ess_tail:8.0f}"


def _rhat(value: float | None) -> str:
    return f"{value:.2f}" if value is not None and value < NEVER else "large"
