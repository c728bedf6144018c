"""Whether a fit can be trusted, in a table and one sentence that says what to do.

docs/diagnostics.md explains each sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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
from tensorm.posterior.modes import posterior_of

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine

FEW = 20  # draws of a chain below which nothing is said of how its fit compares
SMALLEST_ESS = 100
DISPUTED = 0.05  # share of entries that chains may disagree on before the verdict says so
IN_WORDS = {
    CONSTANT: "the same in all draws",
    STUCK: "each chain keeps to a value of its own",
    UNKNOWN: "too few draws to tell",
}


class Diagnostics(NamedTuple):
    """How the chains of a fit compare; as text, tables and a verdict.

    Attributes
    ----------
    verdict : str
        What to make of it and what to do, in one sentence.
    chains : tuple of ChainSummary
        Every chain beside the others.
    quantities : tuple of Mixing
        R-hat and effective sample sizes of the noise rates and the log-likelihood, over the chains kept.
    entries : EntryMixing
        The same for the entries of the factors.
    """

    verdict: str
    chains: tuple[ChainSummary, ...]
    quantities: tuple[Mixing, ...]
    entries: EntryMixing

    @property
    def fine(self) -> bool:
        """Whether there is nothing to do: the chains agree."""
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
        """Return how well the chains have mixed in the entries of the factors, as a sentence."""
        return _describe_entries(self.entries)


def diagnose(model: TensOrMachine | Posterior) -> Diagnostics:
    """Compare the chains of a fit.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.

    Returns
    -------
    Diagnostics
    """
    posterior = posterior_of(model)
    rows = summarise(posterior.chains)
    quantities, entries = assess(posterior.traces), assess_entries(posterior.traces)
    length = min(len(trace) for trace in posterior.traces)
    verdict = _judge_chains(rows) or _judge_components(rows, quantities, length)
    verdict = verdict or _judge_mixing(quantities, length) or _judge_entries(entries)
    return Diagnostics(verdict or _agreement(len(rows)), tuple(rows), quantities, entries)


def _agreement(n_chains: int) -> str:
    return f"All {n_chains} chains agree."


def largest_rhat(length: int) -> float:
    """Return the R-hat that chains of so many draws may have; independent draws stay below in 99 of 100 fits.

    Few draws scatter: two chains of 20 have an R-hat of up to 1.24, of 50 up to 1.09, of 100 up to 1.04.
    """
    return max(1.05, 1 + 5 / length)


def _judge_chains(rows: Sequence[ChainSummary]) -> str | None:
    """Say if chains ended in worse explanations of the data, or before their time."""
    if len(rows) == 1:
        return "One chain cannot be compared with others: give n_chains at least 2 to see whether they agree."
    stuck = [row for row in rows if not row.kept]
    if stuck:
        return (
            f"{len(stuck)} of {len(rows)} chains ended in a worse explanation of the data and "
            f"{'is' if len(stuck) == 1 else 'are'} left out; "
            "more chains or a longer burn_in will tell how firm the best one is."
        )
    if any(not row.settled for row in rows):
        return "Some chains were still improving when burn-in ended: give burn_in a larger number."
    return None


def _judge_components(rows: Sequence[ChainSummary], quantities: Sequence[Mixing], length: int) -> str | None:
    """Say if chains that fit equally well found different components."""
    unknown = length < FEW or any((row.rhat or 0) > largest_rhat(length) for row in quantities)
    if unknown or min(row.agreement for row in rows) >= SAME:
        return None
    return (
        "The chains explain the data equally well by different components: believe predictions rather "
        "than single components, or try fewer components."
    )


def _judge_mixing(quantities: Sequence[Mixing], length: int) -> str | None:
    """Say if the draws of noise rates and log-likelihood are too few or too much alike."""
    if any(row.state == UNKNOWN for row in quantities):
        return f"{_count(length, 'draw')} of each chain are too few to compare: give n_draws at least 100."
    for row in quantities:
        if row.state == STUCK:
            return f"The {row.name} stays as it was in each chain and differs between them: run more chains."
    moving = [row for row in quantities if row.state == MOVING]
    worst = max(moving, key=lambda row: row.rhat or 0, default=None)
    if worst is not None and (worst.rhat or 0) > largest_rhat(length):
        return (
            f"The chains have not mixed, R-hat of the {worst.name} is {_rhat(worst.rhat)}: give n_draws and "
            "burn_in larger numbers, or try fewer components."
        )
    least = min((row.ess or 0 for row in moving), default=math.inf)
    if least < SMALLEST_ESS:
        wanted = length * math.ceil(SMALLEST_ESS / max(least, 1))
        return (
            f"The draws are worth only {least:.0f} independent ones: give n_draws at least {wanted:,} before "
            "you trust the second digit of a probability."
        )
    return None


def _judge_entries(entries: EntryMixing) -> str | None:
    """Say if chains agree on everything but on who is in which component."""
    share = entries.poor / entries.examined if entries.examined else 0.0
    moving = entries.total - entries.constant - entries.stuck
    disputed = entries.stuck + round(share * moving)
    if disputed <= DISPUTED * entries.total:
        return None
    return (
        f"The chains agree on how well they fit, but not on {disputed:,} of {entries.total:,} entries: give "
        "n_draws a larger number, or believe predictions rather than single memberships."
    )


def _describe_entries(entries: EntryMixing) -> str:
    moving = entries.total - entries.constant - entries.stuck
    if entries.constant == entries.total:
        return f"All {entries.total:,} entries of the factors are the same in all draws."
    text = (
        f"Of {_count(entries.total, 'entry')} of the factors {entries.constant:,} are the same in all draws"
    )
    if entries.stuck:
        text += f", {entries.stuck:,} never change but differ between chains"
    if entries.rhat is not None and entries.ess is not None:
        which = "" if entries.examined == moving else f" {entries.examined:,} of"
        text += (
            f"; for{which} the other {moving:,} the largest R-hat is {_rhat(entries.rhat)} "
            f"and the least ESS {entries.ess:.0f}"
        )
    return text + "."


def _numbers(row: Mixing) -> str:
    if row.rhat is None or row.ess is None or row.ess_tail is None:
        return IN_WORDS[row.state]
    return f"{_rhat(row.rhat):>5}  {row.ess:5.0f}  {row.ess_tail:8.0f}"


def _rhat(value: float | None) -> str:
    return f"{value:.2f}" if value is not None and value < NEVER else "large"


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"
