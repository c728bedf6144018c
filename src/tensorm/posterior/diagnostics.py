"""Whether a fit can be trusted: tables, what chains see differently, and sentences that say what to do.

docs/diagnostics.md explains each sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensorm.data.arrays import Floats
from tensorm.posterior.align import (
    SURE,
    active,
    count_finders,
    factor_means,
    pair_components,
    similarity,
    unpaired,
)
from tensorm.posterior.convergence import MAX_RHAT, EntryMixing, Mixing, assess, assess_entries
from tensorm.posterior.draws import Posterior
from tensorm.posterior.tables import tabulate, to_html
from tensorm.sampler.noise_model import COMPONENT, MODE
from tensorm.sampler.state import FAILED, STOPPED

if TYPE_CHECKING:
    import pandas as pd

MIN_ESS, GOOD_RHAT = 100, 1.05
DISPUTED = 0.05  # share of entries that chains may disagree on before the conclusion says so
FAIR_RHAT = 1.2  # below which other quantities do not cast doubt on memberships that have mixed
SMALLEST_GAIN = 0.01  # of the log-likelihood of a constant; less is noise
MAX_OTHERS = 3  # explanations that get a sentence, besides the one with most weight
NOTHING_FOUND = "No pattern was found beyond a constant rate of ones."
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
    active: int  # components with a member in every mode, or found halfway and sure elsewhere
    agreement: float  # similarity of its components to those of explanation 0, 1 if identical


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
        return " ".join(self.problems) or f"All {len(self.chains)} chains agree."

    def beside(self, noise: object) -> str:
        """Return the conclusion, or what it adds to the sentence that the data look like noise."""
        added = [problem for problem in self.problems if problem != NOTHING_FOUND]
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
        for count in sorted({*self.finders} - {0}, reverse=True) if total > 1 else ():
            numbers = [l for l, finders in enumerate(self.finders) if finders == count]
            everybody = f"both {rest}chains" if total == 2 else f"all {total} {rest}chains"
            who = everybody if count == total else f"{count} chain{'s' * (count > 1)}"
            texts.append(f"{who} found {number_components(numbers)}")
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
                text += ", which is that of one entry and does not count"
        return text + "."


def diagnose(posterior: Posterior) -> Diagnostics:
    """Compare the chains of a fit, once for all outputs that ask."""
    return posterior._recall(_compare)


def _compare(posterior: Posterior) -> Diagnostics:
    chains = [factor_means(trace) for trace in posterior.chains]
    rows = _summarise(posterior, chains)
    quantities = assess(posterior.traces, partial(name_owner, posterior))
    entries = assess_entries(posterior.traces)
    length = min(len(trace) for trace in posterior.traces)
    finders = count_finders(posterior.factors, chains)
    judged = [quantity for quantity in quantities if quantity.judged]
    problems = [*_judge_chains(rows, finders)]
    problems = problems[: 2 if problems[:1] == [NOTHING_FOUND] else 1]
    alike = {*finders} <= {0, len(rows)} and any(finders)
    mixing = [*_judge_mixing(judged, entries, length, alike)][:1]
    if not problems:
        problems = mixing
    elif mixing and 1 < len(posterior.traces) < len(rows):  # one chain by itself is in no disagreement
        problems.append(f"In the explanation with most weight, {mixing[0][0].lower()}{mixing[0][1:]}")
    if lost := _tell_left_out(posterior.outcomes):
        problems = [f"{lost}.", *problems] if problems else [f"{lost}; the others agree."]
    told, n_chains = tuple(tell_differences(posterior)), len(posterior.outcomes)
    found = tuple(problems), tuple(rows), quantities, entries, tuple(finders)
    return Diagnostics(*found, told, n_chains, length)


def _tell_left_out(outcomes: Sequence[str]) -> str:
    """Return how many chains are not counted, and why, or nothing."""
    texts = []
    for outcome, what in ((FAILED, "failed"), (STOPPED, "stopped in burn-in")):
        if count := outcomes.count(outcome):
            are = "is" if count == 1 else "are"
            texts.append(f"{count} of {len(outcomes)} chains {what} and {are} not counted")
    return "; ".join(texts)


def doubt_findings(posterior: Posterior, finders: Sequence[int]) -> str:
    """Return why the data look like noise, or nothing if they do not; `finders` as in ``Diagnostics``."""
    used = active(posterior.factors)
    if not used.any():
        return "no component has members in every mode"
    if max(float(means[:, used].max()) for means in posterior.factors) <= SURE:
        return f"no membership has p > {SURE}"
    if len(posterior.chains) > 1 and max(finders) < 2:
        return "no two chains found the same component"
    rate = posterior.base_rate
    if posterior.compared or not 0 < rate < 1:
        return ""
    constant = posterior.n_observed * (rate * math.log(rate) + (1 - rate) * math.log(1 - rate))
    mean = np.concatenate([trace.log_likelihood for trace in posterior.traces]).mean()
    return "" if 1 - mean / constant >= SMALLEST_GAIN else "the components explain next to nothing"


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


def _summarise(posterior: Posterior, chains: Sequence[Sequence[Floats]]) -> list[ChainSummary]:
    """Summarise each chain, whose means are given."""
    used = np.diag(similarity(posterior.factors, posterior.factors)) > 0
    rows = []
    for index, (trace, mine) in enumerate(zip(posterior.chains, chains, strict=True)):
        alike = np.diag(similarity(posterior.factors, mine))[used]
        pairs = pair_components(posterior.factors, mine)
        rows.append(
            ChainSummary(
                chain=posterior.numbers[index],
                explanation=posterior.explanations[index],
                weight=posterior.weights[index],
                settled=trace.settled,
                burn_in=trace.burn_in,
                explained=float(trace.explained.mean()),
                covered=float(trace.covered.mean()),
                log_likelihood=float(trace.log_likelihood.mean()),
                log_posterior=float(np.median(trace.log_posterior)),
                active=len(pairs) + len(unpaired(mine, pairs.values())),
                agreement=float(alike.mean()) if alike.size else 1.0,
            )
        )
    return rows


def tell_differences(posterior: Posterior) -> Iterator[str]:
    """Yield sentences on what the other explanations see differently from the one with most weight."""
    others = list(enumerate(posterior.explained_by))[1:]
    for number, (weight, means) in others[:MAX_OTHERS]:
        members = np.equal(posterior.explanations, number)
        chains = [*compress(posterior.numbers, members)]
        pairs = pair_components(posterior.factors, means)
        lacking, extra = unpaired(posterior.factors, pairs), len(unpaired(means, pairs.values()))
        who = f"Chain{'s' * (len(chains) > 1)} {listed(chains)}"
        told = f"did not find {number_components(lacking)}" if lacking else "found the same components"
        if not active(posterior.factors).any():
            told = f"found {extra} component{'s' * (extra != 1)}"
        elif extra:
            told += f" {'but found' if lacking else 'and'} {extra} other{'s' * (extra > 1)}"
        elif not lacking:
            told += " with other members"
        yield f"{who} (weight {weight:.2f}) {told}."
    if len(others) > MAX_OTHERS:
        rest = [weight for _, (weight, _) in others[MAX_OTHERS:]]
        have = "explanation has a weight" if len(rest) == 1 else "explanations have a total weight"
        yield f"The other {have} of {sum(rest):.2f}."


def largest_rhat(length: int) -> float:
    """Return the largest acceptable R-hat; independent draws stay below it in 99 of 100 fits.

    Short chains scatter: two chains of 20 draws have an R-hat of up to 1.24, of 50 up to 1.09, of 100 up to
    1.04.
    """
    return max(GOOD_RHAT, 1 + 5 / length)


def _judge_chains(rows: Sequence[ChainSummary], finders: Sequence[int]) -> Iterator[str]:
    """Report that nothing was found, a single chain, an unfinished burn-in, or different explanations."""
    if not any(finders):
        yield NOTHING_FOUND
    if len(rows) == 1:
        yield "A single chain cannot be checked against others; run at least 2 chains."
    if not all(row.settled for row in rows):
        yield "Some chains were still improving when burn-in ended; use a longer burn-in."
    found = len({row.explanation for row in rows})
    if found > 1:
        everywhere, used = finders.count(len(rows)), sum(n > 0 for n in finders)
        yield (
            f"The {len(rows)} chains found {found} explanations of the data; predictions average them by "
            f"weight, {_tell_shared(everywhere, used)}."
        )


def _tell_shared(everywhere: int, used: int) -> str:
    """Return how many of the components all chains found, and what to trust."""
    if not everywhere:
        return "but no component was found by all chains; trust predictions more than components"
    if everywhere == used:
        return "and all chains found the same components with partly different members"
    verb, trust = ("was", "that one") if everywhere == 1 else ("were", "those")
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
    wanted = f"use at least {length * math.ceil(max(MIN_ESS / max(least, 1), excess)):,} draws per chain"
    if (worst.rhat or 0) > largest_rhat(length):
        found, limit = f"the R-hat of the {worst.name} is {_rhat(worst.rhat)}", largest_rhat(length)
        if (worst.rhat or 0) < FAIR_RHAT and not entries.stuck and (entries.rhat or 1.0) <= limit:
            yield f"The chains agree on all memberships, but {found}; {wanted} if you rely on it."
        else:
            who = "All chains found the same components but" if alike else "The chains"
            yield f"{who} have not mixed: {found}; {wanted}."
    if least < MIN_ESS:
        trust = "before you trust the second digit of a probability"
        yield f"The effective sample size of the {slowest.name} is only {least:.0f}; {wanted} {trust}."
    moving = entries.total - entries.constant - entries.stuck
    disputed = entries.stuck + round(moving * entries.poor / max(entries.examined, 1))
    if disputed > DISPUTED * entries.total:
        yield (
            f"The chains fit equally well but disagree on {disputed:,} of {entries.total:,} entries; "
            "use more draws, or trust predictions more than single memberships."
        )


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
