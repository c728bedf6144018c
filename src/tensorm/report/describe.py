"""What a fit found, in plain sentences: who is in each component, how certain that is, and the noise.

An index is a *member* of a component if its probability is above 0.5, a *sure* one above 0.9, and *in doubt*
between 0.1 and 0.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tensorm.data.checks import check_count
from tensorm.posterior.align import MEMBER, NEGLIGIBLE_LOG_ODDS, SURE, active
from tensorm.posterior.contributions import Contribution
from tensorm.posterior.diagnostics import diagnose, listed, number_components, tell_differences
from tensorm.posterior.draws import Posterior
from tensorm.posterior.findings import compare_explanations, doubt_findings
from tensorm.posterior.modes import FittedMode, GroupsByMode, list_modes, of_posterior, rank_members
from tensorm.report.export import INTERVAL_QUANTILES
from tensorm.report.naming import name_members, plural, quote_label, tell_groups
from tensorm.sampler.noise_model import ACTIVITY, COMPONENT
from tensorm.tensors.ranked import by_mode

MAX_DOUBTFUL = 4  # names in doubt before their list is cut short
DISPENSABLE = "The data are about as probable without it."
MAX_DESCRIBED = 12  # components described by default on the page and the command line


class ModeMembers(NamedTuple):
    """A component's members in one mode, or in several modes with the same members."""

    modes: tuple[str, ...]
    names: tuple[str, ...]
    sure: int  # how many of them are sure
    doubtful: tuple[tuple[str, float], ...]  # names in doubt and their probability, members or not
    text: str  # the members in words


class Description(NamedTuple):
    """One component; as text, a sentence or two.

    Attributes
    ----------
    component : int
        Its column in the factors.
    members : tuple of ModeMembers
    cells : float
        Number of observed cells of its members, as in ``contributions_``; of all their cells for a part of a
        posterior, in which none were counted.
    share : float
        The same as a share of all observed cells, or of all cells.
    chains, n_chains : int
        Number of chains that found it, and of all chains.
    strength : float or None
        The probability that it makes a cell 1, if components have strengths of their own.
    said : str or None
        What it says, if cells are comparisons that count once; each of its cells is then one comparison.
    ones : float or None
        The share of ones among its observed cells, if these were counted.
    lost : float or None
        By how much the log-likelihood would fall without it, if that was counted.
    """

    component: int
    members: tuple[ModeMembers, ...]
    cells: float
    share: float
    chains: int
    n_chains: int
    strength: float | None = None
    said: str | None = None
    ones: float | None = None
    lost: float | None = None

    @property
    def empty(self) -> bool:
        """Whether a mode has no member, so that the component covers nothing."""
        return any(not part.names for part in self.members)

    @property
    def agreed(self) -> bool:
        """Whether more than half of the chains found the component."""
        return 2 * self.chains > self.n_chains

    def __str__(self) -> str:
        if self.empty:
            return f"Component {self.component} is empty."
        found = self.said or "; ".join(f"{listed(part.modes)}: {part.text}" for part in self.members)
        text = f"Component {self.component} - {found}. {self.how_much()} {self.how_sure()}"
        if self.chains < self.n_chains:
            text += f" {self.chains} of {self.n_chains} chains found it."
        return text

    def how_much(self) -> str:
        """Return a sentence on how many cells the component covers."""
        number = round(self.cells)
        share = percent(self.share * number / (self.cells or 1))  # of the number that is told
        if self.said is not None:
            text = f"It predicts {number:,} {plural('comparison', number)} ({share})"
            told = "" if self.ones is None or not number else f", {percent(self.ones)} of them correctly"
            return f"{text}{told}."
        weak = self.lost is not None and self.lost < NEGLIGIBLE_LOG_ODDS
        text = f"It covers {number:,} {plural('cell', number)} ({share})."
        if self.ones is not None:
            if not number:
                return "None of its cells is observed."
            cells = f"{number:,} observed {plural('cell', number)}"
            text = f"It covers {cells} ({share}), of which {percent(self.ones)} are 1."
        if self.strength is not None:
            text += f" By itself it makes a cell 1 with probability {percent(self.strength)}."
        return text + f" {DISPENSABLE}" * weak

    def how_sure(self) -> str:
        """Return a sentence on how certain its members are."""
        members = sum(len(part.names) for part in self.members)
        sure = sum(part.sure for part in self.members)
        text = f"{'All' if sure == members else f'{sure} of'} {members} members have p > {SURE}."
        for what, inside in (("Uncertain members", True), ("Possible further members", False)):
            doubtful = [
                (listed(part.modes), f"{name} ({p:.2f})")
                for part in self.members
                for name, p in part.doubtful
                if (p > MEMBER) == inside
            ]
            if doubtful:
                text += f" {what}{_tell_doubtful(doubtful)}."
        return text


def _tell_doubtful(doubtful: Sequence[tuple[str, str]]) -> str:
    """Return names in doubt, and their modes if these are several or the names alone say too little."""
    shown = doubtful[:MAX_DOUBTFUL]
    found = {modes: ", ".join(map(itemgetter(1), some)) for modes, some in groupby(shown, key=itemgetter(0))}
    if len(found) == 1 and all(name[0].isalpha() for _, name in shown):
        text = f": {next(iter(found.values()))}"
    else:
        text = ",".join(f" in {modes}: {names}" for modes, names in found.items())
    rest = len(doubtful) - MAX_DOUBTFUL
    return f"{text} and {rest} more" if rest > 0 else text


class Sentences(list[str]):
    """Sentences that print as one text, one to a line."""

    def __repr__(self) -> str:
        return "\n".join(self)


def describe(posterior: Posterior, groups: GroupsByMode | None = None, most: int | None = None) -> Sentences:
    """Describe what a fit found; see ``TensOrMachine.describe``."""
    components = describe_components(posterior, groups)
    shown, rest = pick_clear(components, len(components) if most is None else check_count("most", most, 0))
    noise = posterior._recall(doubt_findings)
    state = diagnose(posterior).beside(noise) if noise else ""
    found = [*shown, *rest]
    texts = [f"The data look like noise: {noise}.", *filter(None, [state])] if noise and found else []
    texts += map(str, shown)
    if rest:
        texts.append(f"{count_rest(rest)}.")
    none = [component.component for component in components if component.empty]
    if none and len(none) < len(components):  # otherwise describe_noise says so
        are = "is" if len(none) == 1 else "are"
        texts.append(f"{number_components(none).capitalize()} {are} empty.")
    differences, rates = tell_differences(posterior._recall(compare_explanations)), describe_noise(posterior)
    if not found:  # which the rates say
        return Sentences([rates, *differences, *filter(None, [state])])
    return Sentences([*texts, *differences, rates])


def pick_clear(
    components: Sequence[Description], most: int = MAX_DESCRIBED
) -> tuple[list[Description], list[Description]]:
    """Return the components to show first, and the rest; empty ones are in neither.

    If there are more than `most`, the first are the strongest of those that over half of the chains found.
    """
    full = [component for component in components if not component.empty]
    if len(full) <= most:
        return full, []
    shown = [component for component in full if component.agreed][:most]
    return shown, [component for component in full if component not in shown]


def count_rest(components: Sequence[Description]) -> str:
    """Return how many components are not shown, and how many of these are in doubt."""
    doubtful = sum(not component.agreed for component in components)
    text, few = f"{len(components)} more", "found by half of the chains or fewer"
    if doubtful == len(components):
        return f"{text}, {few}"
    return f"{text}, {doubtful} of which were {few}" if doubtful else text


@of_posterior
def describe_components(posterior: Posterior, groups: GroupsByMode | None = None) -> list[Description]:
    """Return a description of each component, strongest first; parameters as for ``describe``."""
    modes = list_modes(posterior, groups)
    cells, volume, ones = _count_cells(posterior)
    chains = posterior._recall(compare_explanations).count_finders(posterior.n_components)
    n_chains = len(posterior.chains)
    return [
        Description(
            l,
            tuple(_members(modes, l)),
            cells[l],
            cells[l] / volume,
            chains[l],
            n_chains,
            None if posterior.strengths is None else float(posterior.strengths[l]),
            _say(modes, l) if posterior.compared else None,
            ones[l],
            posterior.contributions[l].log_likelihood_lost if posterior.contributions else None,
        )
        for l in range(posterior.n_components)
    ]


def describe_noise(
    posterior: Posterior, counted: Sequence[Contribution] = (), threshold: float = MEMBER
) -> str:
    """Return sentences on the noise, on what is explained, and on why the noise model was chosen.

    What is explained is what members above the threshold do: `counted`, by default the contributions.
    """
    why = f" {posterior.noise_choice}" if posterior.noise_choice else ""
    if not active(posterior.factors, threshold).any():
        no = "The data look like noise: no" if posterior._recall(doubt_findings) else "No"
        ones = percent(posterior.base_rate)
        return f"{no} component has members in every mode; {ones} of the observed cells are 1.{why}"
    noise = posterior.noise
    explained, covered = map(percent, share_explained(posterior, counted))
    right = f"The components contain {explained} of the ones and {covered} of all observed cells."
    if posterior.compared is not None:
        right = (
            f"Counting the remaining comparisons as half correct, {explained} of all comparisons are "
            "predicted correctly."
        )
    full, axes = active(posterior.factors, threshold), posterior.parameters.AXES
    told = {name: np.array(x)[full] if axes.get(name) == COMPONENT else x for name, x in noise.items()}
    rates = posterior.parameters.describe(told, percent, partial(_interval, posterior))
    return f"{rates} {right}{_name_busiest(posterior)}{why}"


def share_explained(posterior: Posterior, counted: Sequence[Contribution] = ()) -> tuple[float, float]:
    """Return the shares of ones and of observed cells in components; means over draws if none were counted.

    Of comparisons that count once, the first is the share that is right, of the others half of them.
    """
    counted = counted or posterior.contributions
    if not counted:
        covered = np.concatenate([trace.covered for trace in posterior.traces])
        return posterior.noise["explained"], float(covered.mean())
    right = sum(row.added for row in counted)
    inside = right + sum(row.added_errors for row in counted)
    tp, fp, fn, tn = (int(count) for count in posterior.chains[0].confusion[0])
    if posterior.compared:
        pairs = (tp + fp + fn + tn) / 2
        return (right + (pairs - inside) / 2) / pairs, inside / pairs
    return right / max(tp + fn, 1), inside / max(tp + fp + fn + tn, 1)


def _interval(posterior: Posterior, name: str) -> str:
    """Return the 90% interval of a share, one number if its ends are written alike."""
    draws = np.concatenate([trace.noise_fields[name] for trace in posterior.traces])
    low, high = (percent(float(end)) for end in np.quantile(draws, INTERVAL_QUANTILES))
    return low if low == high else f"{low} to {high}"


def _name_busiest(posterior: Posterior) -> str:
    """Return a sentence on the most active index of each mode, of those where most draws agree on one."""
    if posterior.activities is None:
        return ""
    found: dict[str, list[str]] = {}
    draws = np.concatenate([trace.noise_fields[ACTIVITY] for trace in posterior.traces])
    for mode, activity in zip(list_modes(posterior), by_mode(draws.T, posterior.shape), strict=True):
        first = activity == activity.max(axis=0)
        times = (first & (first.sum(axis=0) == 1)).sum(axis=1)
        if 2 * times.max() > len(draws):
            found.setdefault(quote_label(mode.label(int(times.argmax()))), []).append(mode.name)
    names = [f"{label} ({listed(modes)})" for label, modes in found.items()]
    return f" Most active outside the components: {listed(names)}." if names else ""


def _members(modes: Sequence[FittedMode], l: int) -> Iterator[ModeMembers]:
    """Yield the members of component l; modes with the same labels, groups and members are merged."""
    alike: dict[object, list[FittedMode]] = {}
    for mode in modes:
        names = None if mode.labels is None else tuple(map(str, mode.labels))
        key = (names or mode.name, (mode.means[:, l] > MEMBER).tobytes(), mode.groups is None)
        alike.setdefault(key, []).append(mode)
    for same in alike.values():
        mode, means = same[0], np.mean([mode.means[:, l] for mode in same], axis=0)
        found = np.flatnonzero(means > MEMBER)
        members = found.tolist()
        doubtful = np.flatnonzero((means > 1 - SURE) & (means <= SURE)).tolist()
        yield ModeMembers(
            modes=tuple(mode.name for mode in same),
            names=tuple(mode.label(n) for n in members),
            sure=int(np.count_nonzero(means > SURE)),
            doubtful=tuple((quote_label(mode.label(n)), float(means[n])) for n in doubtful),
            text=name_members(mode, members, rank_members(same, l, found).tolist())
            if mode.groups is None
            else tell_groups(mode.groups, members),
        )


def _say(modes: Sequence[FittedMode], l: int) -> str:
    """Return which attributes component l puts above which, and in which objects.

    Attributes on both sides are between the others: the component does not compare them with each other.
    """
    objects, *sides = modes
    above, below = (side.means[:, l] > MEMBER for side in sides)
    levels = [np.flatnonzero(some).tolist() for some in (above & ~below, above & below, below & ~above)]
    found = [some for some in levels if some] or [[]]
    first, last = found[0], found[-1] if len(found) > 1 else []
    members = np.flatnonzero(objects.means[:, l] > MEMBER).tolist()
    pairs = zip(sides, (first, last), strict=True)
    told = " above ".join(name_members(side, some, _rank(side, l, some)) for side, some in pairs)
    text = f"in {_whom(objects, l, members)}: {told}"
    return f"{text}; {len(levels[1])} in between" if levels[1] not in ([], first, last) else text


def _rank(mode: FittedMode, l: int, members: list[int]) -> list[int]:
    return [int(n) for n in rank_members([mode], l, np.array(members, np.intp))]


def _whom(mode: FittedMode, l: int, members: list[int]) -> str:
    """Return the members with their mode's name: "all 60 patients", "patient 03", "3 of 12 THCA patients".

    Groups with everyday names, such as "3 of 12 women", need no other.
    """
    name = plural(mode.name, len(members))
    if mode.groups is not None:
        who = tell_groups(mode.groups, members)
        everyday = all(group.islower() for group in set(mode.groups[members].tolist()))
        return who if everyday and len(members) < len(mode.means) else f"{who} {name}"
    who = name_members(mode, members, _rank(mode, l, members))
    if len(members) == len(mode.means):
        return f"{who} {name}"
    return who if who.startswith(mode.name) else f"{name} {who}"


def _count_cells(posterior: Posterior) -> tuple[Sequence[float], float, Sequence[float | None]]:
    """Return how many cells each component covers, of how many, and the share of ones among them."""
    halves = 2 if posterior.compared else 1  # a cell and its mirror image are one
    counted = posterior.contributions
    if not counted:
        return _cells_covered(posterior), math.prod(posterior.shape) / halves, [None] * posterior.n_components
    ones = [row.explained / max(row.covered, 1) for row in counted]
    return [row.covered for row in counted], posterior.n_observed / halves, ones


def _cells_covered(posterior: Posterior) -> list[float]:
    """Return the number of cells of each component's members."""
    members = [mean > MEMBER for mean in posterior.factors]
    cells = np.prod([some.sum(axis=0, dtype=np.float64) for some in members], axis=0)
    if posterior.compared:  # nothing is said about two attributes that are on both sides
        above, below = (members[k] for k in posterior.compared)
        cells -= members[0].sum(axis=0) * (above & below).sum(axis=0) ** 2.0
    return [float(number) for number in cells]


def percent(share: float) -> str:
    """Return a share as text, with as many digits as a reader needs."""
    percent = 100 * share
    if 0 < percent < 0.05:
        return "<0.1%"
    if 99.95 < percent < 100:
        return ">99.9%"
    return f"{percent:.{0 if percent in (0, 100) or 9.95 <= percent < 98.5 else 1}f}%"
