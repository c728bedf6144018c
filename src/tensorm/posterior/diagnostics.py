"""Whether a fit can be trusted: tables, what chains see differently, and sentences that say what to do.

docs/diagnostics.md explains each sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensorm.data.arrays import Floats
from tensorm.posterior.align import factor_means, pair_components, similarity
from tensorm.posterior.convergence import MAX_RHAT, EntryMixing, Mixing, assess, assess_entries
from tensorm.posterior.draws import Posterior
from tensorm.posterior.findings import Findings, compare_explanations
from tensorm.posterior.tables import tabulate, to_html
from tensorm.sampler.noise_model import COMPONENT, MODE
from tensorm.sampler.state import FAILED, STOPPED

if TYPE_CHECKING:
    import pandas as pd

MIN_ESS, GOOD_RHAT = 100, 1.05
DISPUTED = 0.05  # share of entries that chains may disagree on before the conclusion says so
MOST_DRAWS = 10  # times as many as there are; where more are needed, more hardly help
FAIR_RHAT = 1.2  # below which other quantities do not cast doubt on memberships that have mixed
MAX_OTHERS = 3  # explanations that get a sentence, besides the one with most weight
NOTHING_FOUND = "No pattern was found beyond a constant rate of ones."
TRUST = re.compile(r"; trust (those|that one)\.$")  # which is not said of noise
IN_WORDS = {
    "constant": "the same in all draws",
    "stuck": "constant within chains, different between them",
    "unknown": "too few draws to tell",
}


class ChainSummary(NamedTuple):
    """One chain, compared with the others."""

    chain: int
    explanation: int  # chains with the same number found the same; 0 has most weight
    weight: float  # in predictions
    settled: bool  # whether its burn-in converged
    burn_in: int  # sweeps
    explained: float  # share of the ones in components (comparisons: that are correct), mean over draws
    covered: float  # share of the observed cells in components: random ones would explain as much
    log_likelihood: float  # mean over draws
    log_posterior: float  # of the factors, median over draws
    active: int  # components of its explanation that have a member in every mode
    agreement: float  # similarity of its components to those of explanation 0, from 0 to 1 if identical


class Diagnostics(NamedTuple):
    """How the chains of a fit compare; as text, tables and a conclusion.

    Attributes
    ----------
    problems : tuple of str
        Which chains are not counted, then what is wrong with the others and what to do about it, the gravest
        first, in one sentence each.
    chains : tuple of ChainSummary
        A summary of every chain.
    quantities : tuple of Mixing
        R-hat and effective sample sizes of the noise rates and the log-likelihood, for the chains with the
        explanation that has most weight.
    entries : EntryMixing
        The same for the entries of the factors.
    finders : tuple of int
        How many chains found each component; 0 for one that is empty.
    differences : tuple of str
        What chains with other explanations see differently, in a few sentences.
    n_chains : int
        Number of chains that were asked for; those that failed or were stopped in burn-in are not counted.
    length : int
        Number of draws of the shortest chain.
    """

    problems: tuple[str, ...]
    chains: tuple[ChainSummary, ...]
    quantities: tuple[Mixing, ...]
    entries: EntryMixing
    finders: tuple[int, ...] = ()
    differences: tuple[str, ...] = ()
    n_chains: int = 0
    length: int = 0

    @property
    def fine(self) -> bool:
        """Whether the chains agree, so that nothing needs to be done."""
        return not self.problems

    @property
    def conclusion(self) -> str:
        """The problems, or that there are none."""
        return " ".join(self.problems) or f"{_everybody(len(self.chains)).capitalize()} agree."

    def beside(self, noise: object) -> str:
        """Return the conclusion, or what it adds to the sentence that the data look like noise."""
        added = [TRUST.sub(".", problem) for problem in self.problems if problem != NOTHING_FOUND]
        return " ".join(added) if noise else self.conclusion

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas table with a row for each chain."""
        return tabulate(self.chains, ChainSummary._fields)

    def _repr_html_(self) -> str:
        return to_html(self.to_dataframe(), self.sentences())

    def sentences(self) -> list[str]:
        """Return what the tables show in words, the conclusion last."""
        return [self.about_entries(), *self.about_components(), *self.differences, self.conclusion]

    def __str__(self) -> str:
        lines = ["chain  explanation  weight  explained  covered  log-likelihood  active  agreement  burn-in"]
        for row in self.chains:
            lines.append(
                f"{row.chain:5d}  {row.explanation:11d}  {row.weight:6.2f}  {row.explained:9.3f}  "
                f"{row.covered:7.3f}  {row.log_likelihood:14.1f}  {row.active:6d}  "
                f"{row.agreement:9.3f}  {row.burn_in:7d}"
            )
        width = max(len(row.name) for row in self.quantities)
        lines.append(f"{'quantity':{width}}  R-hat    ESS  tail ESS")
        for quantity in self.quantities:
            name, _, rhat, ess, tail, _ = quantity
            numbers = "" if rhat is None else f"{_rhat(rhat):>5}  {ess:5.0f}  {tail:8.0f}  "
            lines.append(f"{name:{width}}  {numbers}{self.note(quantity)}".rstrip())
        return "\n".join([*lines, *self.sentences()])

    def note(self, row: Mixing) -> str:
        """Return what a reader of the table should know of a quantity, or nothing."""
        if row.rhat is None or row.ess is None:
            return IN_WORDS.get(row.state, "")
        if not row.judged:
            return "not judged: at most the cells of one index depend on it"
        told = ["large R-hat"] * (row.rhat > largest_rhat(self.length))
        return ", ".join(told + ["small ESS"] * (row.ess < MIN_ESS))

    def about_components(self) -> list[str]:
        """Return a sentence on how many chains found which components; none for a single chain."""
        total, texts = len(self.chains), []
        rest = "remaining " * (total < self.n_chains)
        empty = [l for l, finders in enumerate(self.finders) if not finders]
        for count in sorted({*self.finders} - {0}, reverse=True) if total > 1 else ():
            numbers = [l for l, finders in enumerate(self.finders) if finders == count]
            who = _everybody(total, rest) if count == total else f"{count} chain{'s' * (count > 1)}"
            texts.append(f"{who} found {number_components(numbers)}")
        if 0 < len(empty) < len(self.finders):
            texts.append(f"{number_components(empty)} {'is' if len(empty) == 1 else 'are'} empty")
        return [f"{'; '.join(texts)}.".capitalize()] if texts else []

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
            if ess is not None and ess < MIN_ESS:
                text += " (of a single entry)"
        return text + "."


def diagnose(posterior: Posterior) -> Diagnostics:
    """Compare the chains of a fit, once for all outputs that ask."""
    return posterior._recall(_compare)


def _compare(posterior: Posterior) -> Diagnostics:
    findings = posterior._recall(compare_explanations)
    rows = _summarise(posterior, findings)
    quantities = assess(posterior.traces, partial(name_owner, posterior), findings.used)
    entries = assess_entries(posterior.traces)
    length = min(len(trace) for trace in posterior.traces)
    judged = [quantity for quantity in quantities if quantity.judged]
    problems = [*_judge_chains(rows, findings, len(posterior.outcomes))]
    problems = problems[: 2 if problems[:1] == [NOTHING_FOUND] else 1]
    alike = findings.same and not findings.nothing
    mixing = [*_judge_mixing(judged, entries, length, alike)][:1]
    if not problems:
        problems = mixing
    elif mixing and 1 < len(posterior.traces) < len(rows):  # one chain by itself is in no disagreement
        problems.append(f"In the explanation with most weight, {mixing[0][0].lower()}{mixing[0][1:]}")
    if lost := _tell_left_out(posterior.outcomes):
        problems = [f"{lost}.", *problems] if problems else [f"{lost}; the others agree."]
    told, n_chains = tuple(tell_differences(findings)), len(posterior.outcomes)
    finders = tuple(findings.count_finders(posterior.n_components))
    found = tuple(problems), tuple(rows), quantities, entries, finders
    return Diagnostics(*found, told, n_chains, length)


def _tell_left_out(outcomes: Sequence[str]) -> str:
    """Return how many chains are not counted, and why, or nothing."""
    texts = []
    for outcome, what in ((FAILED, "failed"), (STOPPED, "stopped in burn-in")):
        if count := outcomes.count(outcome):
            are = "is" if count == 1 else "are"
            texts.append(f"{count} of {len(outcomes)} chains {what} and {are} not counted")
    return "; ".join(texts)


def name_owner(posterior: Posterior, axis: str, n: int) -> str:
    """Return what number n along an axis of noise parameters belongs to: "component 1", "person ann"."""
    if axis == COMPONENT:
        return f"component {n}"
    if axis == MODE:
        return posterior.modes[n]
    edges = np.cumsum([0, *posterior.shape])
    mode = int(np.searchsorted(edges, n, side="right")) - 1
    labels, index = posterior.labels[mode], n - int(edges[mode])
    return f"{posterior.modes[mode]} {index if labels is None else labels[index]}"


def _summarise(posterior: Posterior, findings: Findings) -> list[ChainSummary]:
    """Summarise each chain."""
    rows = []
    for index, trace in enumerate(posterior.chains):
        number = posterior.explanations[index]
        rows.append(
            ChainSummary(
                chain=posterior.numbers[index],
                explanation=number,
                weight=posterior.weights[index],
                settled=trace.settled,
                burn_in=trace.burn_in,
                explained=float(trace.explained.mean()),
                covered=float(trace.covered.mean()),
                log_likelihood=float(trace.log_likelihood.mean()),
                log_posterior=float(np.median(trace.log_posterior)),
                active=findings[number].active,
                agreement=_agreement(posterior.factors, factor_means(trace), findings, number),
            )
        )
    return rows


def _agreement(
    reference: Sequence[Floats], means: Sequence[Floats], findings: Findings, number: int
) -> float:
    """Return the mean similarity of a chain's components to those of the first explanation, 0 for others."""
    pairs, most = pair_components(reference, means), max(len(findings.used), findings[number].active)
    alike = similarity(reference, means)
    return sum(float(alike[l, pairs[l]]) for l in findings.used if l in pairs) / most if most else 1.0


def tell_differences(findings: Findings) -> Iterator[str]:
    """Yield sentences on what the other explanations see differently from the one with most weight."""
    others = findings[1:]
    for finding in others[:MAX_OTHERS]:
        who = f"Chain{'s' * (len(finding.chains) > 1)} {listed(finding.chains)}"
        extra, s = len(finding.extra), "s" * (len(finding.extra) > 1)
        if finding.lacking:
            told = f"did not find {number_components(finding.lacking)}"
            told += f" but found {extra} other{s}" if extra else ""
        elif not findings.used and extra:
            told = f"found {extra} component{s}"
        else:
            told = f"found the same components {f'and {extra} other{s}' if extra else 'with other members'}"
        fits = f", log-likelihood {finding.gain:,.0f} higher" * (bool(finding.gain))
        yield f"{who} (weight {finding.weight:.2f}{fits}) {told}."
    if len(others) > MAX_OTHERS:
        rest = [finding.weight for finding in others[MAX_OTHERS:]]
        have = "explanation has a weight" if len(rest) == 1 else "explanations have a total weight"
        yield f"The other {have} of {sum(rest):.2f}."


def largest_rhat(length: int) -> float:
    """Return the largest acceptable R-hat; independent draws stay below it in 99 of 100 fits.

    Short chains scatter: two chains of 20 draws have an R-hat of up to 1.24, of 50 up to 1.09, of 100 up to
    1.04.
    """
    return max(GOOD_RHAT, 1 + 5 / length)


def _judge_chains(rows: Sequence[ChainSummary], findings: Findings, asked: int) -> Iterator[str]:
    """Report that nothing was found, a single chain, an unfinished burn-in, or different explanations."""
    if findings.nothing:
        yield NOTHING_FOUND
    if len(rows) == 1:
        remedy = "run at least 2 chains" if asked == 1 else "no other chain is left"
        yield f"A single chain cannot be checked against others; {remedy}."
    if not all(row.settled for row in rows):
        yield "Some chains were still improving when burn-in ended; use a longer burn-in."
    if len(findings) > 1:
        yield (
            f"The {len(rows)} chains found {len(findings)} explanations of the data; predictions average "
            f"them by weight, {_tell_shared(findings)}."
        )


def _tell_shared(findings: Findings) -> str:
    """Return how many of the components all chains found, and what to trust."""
    everywhere, used = len(findings.everywhere), len(findings.used)
    if findings.same:
        same = "no component" if findings.nothing else "the same components with partly different members"
        return f"and all chains found {same}"
    if not everywhere:
        return "but no component was found by all chains; trust predictions more than components"
    verb, trust = ("was", "that one") if everywhere == 1 else ("were", "those")
    if everywhere == used:
        which = "the component" if used == 1 else f"the {used} components"
        return f"but some found others beside {which} that all chains found; trust {trust}"
    return f"but only {everywhere} of {used} components {verb} found by all chains; trust {trust}"


def _judge_mixing(
    quantities: Sequence[Mixing], entries: EntryMixing, length: int, alike: bool = False
) -> Iterator[str]:
    """Report draws that are too few or too correlated, and chains that disagree on entries only.

    ``alike`` says that all chains found the same components.
    """
    if any(row.state == "unknown" for row in quantities):
        draws = "1 draw" if length == 1 else f"{length} draws"
        yield f"Each chain has only {draws}, too few to compare chains; use at least 100."
    for row in quantities:
        if row.state == "stuck":
            found = "never changes within a chain but differs between chains"
            yield f"The {row.name} {found}; run more chains."
    worst = max(quantities, key=lambda row: row.rhat or 0)
    slowest = min(quantities, key=lambda row: math.inf if row.ess is None else row.ess)
    least = math.inf if slowest.ess is None else slowest.ess
    excess = (min(worst.rhat or 1, MAX_RHAT) - 1) / (GOOD_RHAT - 1)  # falls as draws grow
    times = math.ceil(max(MIN_ESS / max(least, 1), excess))
    more = f"use at least {length * times:,} draws per chain" if times <= MOST_DRAWS else ""
    slow = "they move too slowly for more draws to help"
    if (worst.rhat or 0) > largest_rhat(length):
        found, limit = f"the R-hat of the {worst.name} is {_rhat(worst.rhat)}", largest_rhat(length)
        fair = (worst.rhat or 0) < FAIR_RHAT or entries.constant == entries.total
        if fair and not entries.stuck and (entries.rhat or 1.0) <= limit:
            remedy = f"{more} if you rely on it" if more else slow
            yield f"The chains agree on all memberships, but {found}; {remedy}."
        else:
            who = "All chains found the same components but" if alike else "The chains"
            remedy = more or f"{slow}, so trust predictions more than single memberships"
            yield f"{who} have not mixed: {found}; {remedy}."
    if least < MIN_ESS:
        remedy = f"{more} before you" if more else f"the chains{slow.removeprefix('they')}, so do not"
        found = f"The effective sample size of the {slowest.name} is only {least:.0f}"
        yield f"{found}; {remedy} trust the second digit of a probability."
    moving = entries.total - entries.constant - entries.stuck
    disputed = entries.stuck + round(moving * entries.poor / max(entries.examined, 1))
    if disputed > DISPUTED * entries.total:
        yield (
            f"The chains fit equally well but disagree on {disputed:,} of {entries.total:,} entries; "
            "use more draws, or trust predictions more than single memberships."
        )


def _everybody(n_chains: int, which: str = "") -> str:
    return f"both {which}chains" if n_chains == 2 else f"all {n_chains} {which}chains"


def _rhat(value: float | None) -> str:
    return f"{value:.2f}" if value is not None and value < MAX_RHAT else "large"


def number_components(components: Sequence[int]) -> str:
    """Return "component 3", or "components 0 to 2, 5 and 7"."""
    runs: list[list[int]] = []
    for l in components:
        if runs and l == runs[-1][-1] + 1:
            runs[-1].append(l)
        else:
            runs.append([l])
    texts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(l) for l in run] for run in runs]
    return f"component{'s' * (len(components) > 1)} {listed([*chain.from_iterable(texts)])}"


def listed(names: Sequence[object]) -> str:
    """Return "a, b and c"."""
    texts = [str(name) for name in names]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
