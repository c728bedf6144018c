"""What a fit found, in plain sentences: who is in each component, how sure that is, and the noise.

An index is a *member* of a component with probability above one half, a *sure* one above 0.9, and *in doubt*
between 0.1 and 0.9.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.posterior.align import SAME, factor_means, similarity
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import MEMBER, SURE, FittedMode, Groups, posterior_of, read_modes
from tensorm.report.metadata import UNKNOWN

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine

Floats = npt.NDArray[np.float64]

NAMES, IN_DOUBT = 8, 4  # names in a list before it is cut short
MOST = 12  # components that are told of at once
INTERVAL = re.compile(r"([^-–]+)[-–]([^-–]+)")
ORDERED = "iufmM"  # kinds of labels whose order is their meaning: numbers and times
NUMBERED = re.compile(r"(.*?)(\d+)")


class Part(NamedTuple):
    """A component's members in one mode, or in several modes that have the same ones."""

    modes: tuple[str, ...]
    members: tuple[str, ...]  # the names of the members
    sure: int  # how many of them are sure
    doubtful: tuple[tuple[str, float], ...]  # names in doubt and their probability, members or not
    text: str  # the members in words


class Description(NamedTuple):
    """One component; as text, a sentence or two.

    Attributes
    ----------
    component : int
        Its column in the factors.
    parts : tuple of Part
    cells : float
        Posterior mean of the number of cells that it covers.
    share : float
        The same as a share of all cells.
    chains, n_chains : int
        Chains that found it, of how many.
    """

    component: int
    parts: tuple[Part, ...]
    cells: float
    share: float
    chains: int
    n_chains: int

    @property
    def empty(self) -> bool:
        """Whether some mode has no member, so that it covers nothing."""
        return any(not part.members for part in self.parts)

    @property
    def agreed(self) -> bool:
        """Whether more than half of the chains found it."""
        return 2 * self.chains > self.n_chains

    def __str__(self) -> str:
        if self.empty:
            return f"Component {self.component} is empty."
        found = "; ".join(f"{_listed(part.modes)}: {part.text}" for part in self.parts)
        text = f"Component {self.component} - {found}. {self.how_much()} {self.how_sure()}"
        if self.chains < self.n_chains:
            text += f" {self.chains} of {self.n_chains} chains found it."
        return text

    def how_much(self) -> str:
        """Return how many cells it covers, as a sentence."""
        return f"It covers {self.cells:,.0f} cells ({_percent(self.share)})."

    def how_sure(self) -> str:
        """Return how sure its members are, as a sentence."""
        members = sum(len(part.members) for part in self.parts)
        sure = sum(part.sure for part in self.parts)
        doubtful = [f"{name} ({p:.2f})" for part in self.parts for name, p in part.doubtful]
        text = f"{'All' if sure == members else f'{sure} of'} {members} members have p > {SURE}"
        if doubtful:
            text += f"; in doubt: {', '.join(doubtful[:IN_DOUBT])}"
        if len(doubtful) > IN_DOUBT:
            text += f" and {len(doubtful) - IN_DOUBT} more"
        return text + "."


def describe(
    model: TensOrMachine | Posterior, groups: Groups | None = None, most: int | None = None
) -> list[str]:
    """Say what a fit found.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index (such as a person's role):
        members are then counted by group instead of named.
    most : int, optional
        Describe no more components than that: the strongest of those that more than half of the chains found.

    Returns
    -------
    list of str
        A text for each component, strongest first; one each for those that are not described, that few
        chains found and that are empty; one for the noise.
    """
    components = describe_components(model, groups)
    told, left = pick_clear(components, len(components) if most is None else most)
    texts = [str(component) for component in told]
    if left:
        texts.append(f"{count_left(left)}.")
    rare = [component.component for component in components if component.empty and component.chains]
    none = [component.component for component in components if component.empty and not component.chains]
    if rare:
        texts.append(f"Found by too few chains to be described: {_numbered(rare)}.")
    if none:
        texts.append(f"Empty, with nothing left to explain: {_numbered(none)}.")
    return [*texts, describe_noise(model)]


def pick_clear(
    components: Sequence[Description], most: int = MOST
) -> tuple[list[Description], list[Description]]:
    """Return the components to tell of first, and the rest; empty ones are in neither.

    If there are more than `most`, the first are the strongest of those that over half of the chains found.
    """
    full = [component for component in components if not component.empty]
    if len(full) <= most:
        return full, []
    told = [component for component in full if component.agreed][:most]
    return told, [component for component in full if component not in told]


def count_left(components: Sequence[Description]) -> str:
    """Return how many components there are, and how many of them are in doubt."""
    doubtful = sum(not component.agreed for component in components)
    text, few = f"{len(components)} more", "found by half of the chains or fewer"
    if doubtful == len(components):
        return f"{text}, {few}"
    return f"{text}, {doubtful} of which were {few}" if doubtful else text


def describe_components(model: TensOrMachine | Posterior, groups: Groups | None = None) -> list[Description]:
    """Return a description of each component, strongest first; parameters as for ``describe``."""
    posterior, modes = posterior_of(model), read_modes(model, groups)
    cells, chains = _cells_covered(posterior), _chains_that_agree(posterior)
    volume = float(np.prod([float(size) for size in posterior.shape]))
    return [
        Description(l, _parts(modes, l), cells[l], cells[l] / volume, chains[l], len(posterior.chains))
        for l in range(posterior.n_components)
    ]


def describe_noise(model: TensOrMachine | Posterior) -> str:
    """Return the rates of ones inside and outside the components and the share of cells explained."""
    noise = posterior_of(model).noise
    return (
        f"Inside the components {_percent(noise['hit'])} of the cells are 1, outside "
        f"{_percent(noise['false_alarm'])}; {_percent(noise['explained'])} of the observed cells are as the "
        "components say."
    )


def _parts(modes: Sequence[FittedMode], l: int) -> tuple[Part, ...]:
    """Return the parts of component l; modes with the same labels, groups and members share one."""
    alike: dict[object, list[FittedMode]] = {}
    for mode in modes:
        names = None if mode.labels is None else tuple(map(str, mode.labels))
        key = (names or mode.name, (mode.means[:, l] > MEMBER).tobytes(), mode.groups is None)
        alike.setdefault(key, []).append(mode)
    return tuple(_part(these, l) for these in alike.values())


def _part(modes: Sequence[FittedMode], l: int) -> Part:
    mode, means = modes[0], np.mean([mode.means[:, l] for mode in modes], axis=0)
    members = np.flatnonzero(means > MEMBER).tolist()
    doubtful = np.flatnonzero((means > 1 - SURE) & (means <= SURE)).tolist()
    return Part(
        modes=tuple(mode.name for mode in modes),
        members=tuple(mode.label(n) for n in members),
        sure=int(np.count_nonzero(means > SURE)),
        doubtful=tuple((mode.label(n), float(means[n])) for n in doubtful),
        text=_name_members(mode, members) if mode.groups is None else _count_members(mode.groups, members),
    )


def _count_members(groups: npt.NDArray[np.str_], members: list[int]) -> str:
    """Count members by group, as in "all 12 doctors, 8 of 28 nurses"; groups in order of appearance."""
    if len(members) == len(groups):
        return f"all {len(groups)}"
    sizes, counts = Counter(groups.tolist()), Counter(groups[members].tolist())
    names = [name for name in sizes if counts[name]]
    if len(names) > NAMES:
        names.sort(key=lambda name: -counts[name])
    return _cut(
        f"all {size} {_plural(name, size)}" if count == size else f"{count} of {size} {_plural(name, size)}"
        for name, size, count in ((name, sizes[name], counts[name]) for name in names)
    )


def _name_members(mode: FittedMode, members: list[int]) -> str:
    """Name members, as in "09-12, 17 (4 of 13)"; runs of indices that follow each other as ranges.

    Of more names than fit in a list, those are told that are in the fewest other components.
    """
    if len(members) == len(mode.means):
        return f"all {len(members)}"
    pieces = [text for run in _runs(mode, members) for text in _name_run(mode, run)]
    if len(pieces) > NAMES + 1 and mode.labels is not None and mode.labels.dtype.kind not in ORDERED:
        rarest = sorted(members, key=lambda n: mode.means[n].sum())[:NAMES]
        pieces = [mode.label(n) for n in members if n in rarest] + pieces[NAMES:]
    return f"{_cut(pieces)} ({len(members)} of {len(mode.means)})"


def _runs(mode: FittedMode, members: list[int]) -> Iterator[list[int]]:
    """Split members into runs whose names follow each other."""
    run: list[int] = []
    for n in members:
        if run and not (n == run[-1] + 1 and _follows(mode, n)):
            yield run
            run = []
        run.append(n)
    if run:
        yield run


def _follows(mode: FittedMode, n: int) -> bool:
    """Whether the name of index n goes on from the one before: the next number, hour, date or interval."""
    if mode.labels is not None and mode.labels.dtype.kind in "iu":
        return bool(mode.labels[n] == mode.labels[n - 1] + 1)  # badges 1109 and 1114 are neighbours by chance
    if mode.labels is None or mode.labels.dtype.kind in ORDERED:
        return True
    before, this = mode.label(n - 1), mode.label(n)
    a, b = NUMBERED.fullmatch(before), NUMBERED.fullmatch(this)
    return _touch(before, this) or bool(a and b and a[1] == b[1] and int(a[2]) + 1 == int(b[2]))


def _touch(before: str, this: str) -> bool:
    """Whether an interval such as "08-09" ends where the other begins."""
    a, b = INTERVAL.fullmatch(before), INTERVAL.fullmatch(this)
    return bool(a and b and a[2] == b[1])


def _name_run(mode: FittedMode, run: Sequence[int]) -> list[str]:
    names = [mode.label(n) for n in run]
    a, b = INTERVAL.fullmatch(names[0]), INTERVAL.fullmatch(names[-1])
    if len(run) > 1 and _touch(*names[:2]) and a and b:
        return [f"{a[1]}-{b[2]}"]
    if len(run) < 3:
        return names
    number = (
        None if mode.labels is None or mode.labels.dtype.kind in ORDERED else NUMBERED.fullmatch(names[-1])
    )
    return [f"{names[0]} to {number[2] if number else names[-1]}"]


def _cells_covered(posterior: Posterior, at_once: int = 32) -> list[float]:
    """Return for each component the posterior mean of the product of its sizes."""
    total = np.zeros(posterior.n_components)
    for trace in posterior.traces:
        for first in range(0, len(trace), at_once):
            draws = slice(first, first + at_once)
            sizes = [trace.bits(mode, draws).sum(axis=1) for mode in range(len(posterior.shape))]
            total += np.prod(np.array(sizes, np.float64), axis=0).sum(axis=0)
    return [float(cells) for cells in total / posterior.n_draws]


def _chains_that_agree(posterior: Posterior) -> list[int]:
    """Return for each component the most chains that have one and the same in its place."""
    K = range(len(posterior.shape))
    chains = [[factor_means(trace, mode) for mode in K] for trace in posterior.chains]
    alive = np.array([np.all([(mean > MEMBER).any(axis=0) for mean in chain], axis=0) for chain in chains])
    alike = np.array([[np.diagonal(similarity(a, b)) for b in chains] for a in chains]) > SAME
    return [int(count) for count in (alike & alive & alive[:, None]).sum(axis=1).max(axis=0)]


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.05:
        return "<0.1%"
    if 99.95 < percent < 100:
        return ">99.9%"
    return f"{percent:.{0 if percent in (0, 100) or 9.95 <= percent <= 99 else 1}f}%"


def _plural(name: str, count: int) -> str:
    """Return the plural of an everyday word; names, codes and plurals stay as they are."""
    if count == 1 or name == UNKNOWN or not (name.isalpha() and name.islower()) or name.endswith("s"):
        return name
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("x", "ch", "sh")) else "s")


def _cut(texts: Iterable[str]) -> str:
    """Join texts by commas, and leave out those beyond the first few."""
    texts = list(texts)
    return ", ".join(texts if len(texts) <= NAMES + 1 else [*texts[:NAMES], "..."])


def _numbered(components: Sequence[int]) -> str:
    return f"component{'s' * (len(components) > 1)} {_listed([str(l) for l in components])}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
