"""Whether a fit can be trusted: a table, and one sentence that says what to do.

docs/diagnostics.md explains each sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from tensorm.posterior.align import SAME, ChainSummary, summarise
from tensorm.posterior.convergence import NEVER, EntryMixing, Mixing, assess, assess_entries
from tensorm.posterior.draws import Posterior

COMPARABLE_DRAWS = 20  # with fewer draws per chain, it is unknown whether chains fit equally well
SMALLEST_ESS = 100
DISPUTED = 0.05  # share of entries that chains may disagree on before the conclusion says so
IN_WORDS = {
    "constant": "the same in all draws",
    "stuck": "constant within chains, different between them",
    "unknown": "too few draws to tell",
}


class Diagnostics(NamedTuple):
    """How the chains of a fit compare; as text, tables and a conclusion.

    Attributes
    ----------
    conclusion : str
        The conclusion and what to do about it, in one sentence.
    chains : tuple of ChainSummary
        A summary of every chain.
    quantities : tuple of Mixing
        R-hat and effective sample sizes of the noise rates and the log-likelihood, for the chains kept.
    entries : EntryMixing
        The same for the entries of the factors.
    """

    conclusion: str
    chains: tuple[ChainSummary, ...]
    quantities: tuple[Mixing, ...]
    entries: EntryMixing

    @property
    def fine(self) -> bool:
        """Whether the chains agree, so that nothing needs to be done."""
        return self.conclusion == f"All {len(self.chains)} chains agree."

    def __str__(self) -> str:
        lines = ["chain  accuracy  log-likelihood  active  agreement  burn-in"]
        for row in self.chains:
            left_out = "" if row.kept else "   left out: a worse explanation"
            lines.append(
                f"{row.chain:5d}  {row.accuracy:8.4f}  {row.log_likelihood:14.1f}  {row.active:6d}  "
                f"{row.agreement:9.3f}  {row.burn_in:7d}{left_out}"
            )
        lines.append("quantity              R-hat    ESS  tail ESS")
        for name, state, rhat, ess, tail in self.quantities:
            found = IN_WORDS[state] if rhat is None else f"{_rhat(rhat):>5}  {ess:5.0f}  {tail:8.0f}"
            lines.append(f"{name:20}  {found}")
        return "\n".join([*lines, self.about_entries(), self.conclusion])

    def about_entries(self) -> str:
        """Return a sentence on how well the chains have mixed in the entries of the factors."""
        total, constant, stuck, examined, rhat, _, ess = self.entries
        moving = total - constant - stuck
        if constant == total:
            return f"All {total:,} factor entries are the same in all draws."
        text = f"Of {total:,} factor entries, {constant:,} are the same in all draws"
        if stuck:
            text += f" and {stuck:,} never change but differ between chains"
        if rhat is not None:
            which = "" if examined == moving else f" {examined:,} of"
            text += f"; for{which} the other {moving:,}, the largest R-hat is {_rhat(rhat)} "
            text += f"and the smallest ESS {ess:.0f}"
        return text + "."


def diagnose(posterior: Posterior) -> Diagnostics:
    """Compare the chains of a fit."""
    rows = summarise(posterior.chains)
    quantities, entries = assess(posterior.traces), assess_entries(posterior.traces)
    length = min(len(trace) for trace in posterior.traces)
    problems = chain(_judge_chains(rows, quantities, length), _judge_mixing(quantities, entries, length))
    conclusion = next(problems, f"All {len(rows)} chains agree.")
    return Diagnostics(conclusion, tuple(rows), quantities, entries)


def largest_rhat(length: int) -> float:
    """Return the largest acceptable R-hat; independent draws stay below it in 99 of 100 fits.

    Short chains scatter: two chains of 20 draws have an R-hat of up to 1.24, of 50 up to 1.09, of 100 up to
    1.04.
    """
    return max(1.05, 1 + 5 / length)


def _judge_chains(rows: Sequence[ChainSummary], quantities: Sequence[Mixing], length: int) -> Iterator[str]:
    """Report chains with a worse explanation, an unfinished burn-in, or different components."""
    if len(rows) == 1:
        yield "A single chain cannot be checked against others; set n_chains to at least 2."
    stuck = sum(not row.kept for row in rows)
    if stuck:
        yield (
            f"{stuck} of {len(rows)} chains ended in a worse explanation of the data and "
            f"{'was' if stuck == 1 else 'were'} left out; "
            "run more chains or increase burn_in to check that the best explanation is stable."
        )
    if not all(row.settled for row in rows):
        yield "Some chains were still improving when burn-in ended; increase burn_in."
    unknown = length < COMPARABLE_DRAWS or any((row.rhat or 0) > largest_rhat(length) for row in quantities)
    if not unknown and min(row.agreement for row in rows) < SAME:
        yield (
            "The chains explain the data equally well with different components; trust predictions more than "
            "single components, or try fewer components."
        )


def _judge_mixing(quantities: Sequence[Mixing], entries: EntryMixing, length: int) -> Iterator[str]:
    """Report draws that are too few or too correlated, and chains that disagree on entries only."""
    if any(row.state == "unknown" for row in quantities):
        draws = "1 draw" if length == 1 else f"{length} draws"
        yield f"Each chain has only {draws}, too few to compare chains; set n_draws to at least 100."
    for row in quantities:
        if row.state == "stuck":
            yield f"The {row.name} never changes within a chain but differs between chains; run more chains."
    worst = max(quantities, key=lambda row: row.rhat or 0)
    if (worst.rhat or 0) > largest_rhat(length):
        yield (
            f"The chains have not mixed: R-hat of the {worst.name} is {_rhat(worst.rhat)}; increase n_draws "
            "and burn_in, or try fewer components."
        )
    least = min(math.inf if row.ess is None else row.ess for row in quantities)
    if least < SMALLEST_ESS:
        wanted = length * math.ceil(SMALLEST_ESS / max(least, 1))
        yield (
            f"The draws are worth only {least:.0f} independent ones; set n_draws to at least {wanted:,} "
            "before you trust the second digit of a probability."
        )
    moving = entries.total - entries.constant - entries.stuck
    disputed = entries.stuck + round(moving * entries.poor / max(entries.examined, 1))
    if disputed > DISPUTED * entries.total:
        yield (
            f"The chains fit equally well but disagree on {disputed:,} of {entries.total:,} entries; "
            "increase n_draws, or trust predictions more than single memberships."
        )


def _rhat(value: float | None) -> str:
    return f"{value:.2f}" if value is not None and value < NEVER else "large"
