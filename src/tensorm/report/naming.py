"""Members of a component in words: ranges of names, counts by group, and whom to name of very many.

Of a list that is too long, the members are named that contribute most (posterior/modes.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tensorm.posterior.modes import FittedMode
from tensorm.report.metadata import UNKNOWN_GROUP

MAX_LISTED = 8  # names in a list before it is cut short
INTERVAL_LABEL = re.compile(r"([^-–]+)[-–]([^-–]+)")
ORDERED = "iufmM"  # dtype kinds of labels whose order carries meaning: numbers and times
NUMBERED = re.compile(r"(.*?)(\d+)")
LAST_NUMBER = re.compile(r"(?<=[\W_])(?<!\d-)\d+$")  # of "patient 12", but not of "Q12" or "2025-12"
IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}
NO_PLURAL = (  # verbs, and what groups are often called
    "who", "whom", "what", "when", "where", "which", "how", "via", "from", "to", "met", "saw",
    "sent", "bought", "chose", "won", "heard", "read", "knew",
    "told", "north", "south", "east", "west", "urban", "rural", "old", "young", "high", "low",
    "medium", "small", "large", "rich", "poor", "public", "private", "left", "right", "yes", "no",
    "true", "false", "other", "none",
)  # fmt: skip


def tell_groups(groups: npt.NDArray[np.str_], members: list[int]) -> str:
    """Count members by group, as in "all 12 doctors, 8 of 28 nurses"; groups in order of appearance."""
    if len(members) == len(groups):
        return tell_all(len(groups))
    sizes, counts = Counter(groups.tolist()), Counter(groups[members].tolist())
    names = [name for name in sizes if counts[name]]
    if len(names) > MAX_LISTED:
        names.sort(key=lambda name: -counts[name])
    nouns = sizes.keys().isdisjoint(NO_PLURAL)  # beside north and south, coast is a place, too
    return _cut(
        f"{'all' if counts[name] == sizes[name] else f'{counts[name]:,} of'} {sizes[name]:,} "
        f"{plural(name, sizes[name]) if nouns else name}"
        for name in names
    )


def tell_all(size: int) -> str:
    """Return the words for all indices of a mode."""
    return "both" if size == 2 else f"all {size:,}"


def name_members(mode: FittedMode, members: list[int], ranked: Sequence[int]) -> str:
    """Name members, as in "09-12, 17 (4 of 13)"; consecutive indices become ranges.

    If there are too many names for a list, it shows the first of the ranked members.
    """
    if len(members) == len(mode.means):
        return tell_all(len(members))
    pieces = [text for run in _runs(mode, members) for text in _name_run(mode, run)]
    if len(pieces) > MAX_LISTED + 1 and mode.labels is not None and mode.labels.dtype.kind not in ORDERED:
        pieces = [quote_label(mode.label(n)) for n in ranked[:MAX_LISTED]] + pieces[MAX_LISTED:]
    return f"{_cut(pieces)} ({len(members):,} of {len(mode.means):,})"


def _runs(mode: FittedMode, members: list[int]) -> Iterator[list[int]]:
    """Split members into runs whose names follow each other."""
    run: list[int] = []
    for n in members:
        if run and not (n == run[-1] + 1 and follows(mode, n)):
            yield run
            run = []
        run.append(n)
    if run:
        yield run


def follows(mode: FittedMode, n: int) -> bool:
    """Whether the name of index n continues the one before it: the next number, hour, date or interval."""
    if mode.labels is not None and mode.labels.dtype.kind in "iu":
        return bool(mode.labels[n] == mode.labels[n - 1] + 1)  # badges 1109 and 1114 are not consecutive
    if mode.labels is None or mode.labels.dtype.kind in ORDERED:
        return True
    before, this = mode.label(n - 1), mode.label(n)
    a, b = NUMBERED.fullmatch(before), NUMBERED.fullmatch(this)
    return touches(before, this) or bool(a and b and a[1] == b[1] and int(a[2]) + 1 == int(b[2]))


def touches(before: str, this: str) -> bool:
    """Whether an interval such as "08-09" ends where the other begins."""
    a, b = INTERVAL_LABEL.fullmatch(before), INTERVAL_LABEL.fullmatch(this)
    return bool(a and b and a[2] == b[1])


def _name_run(mode: FittedMode, run: Sequence[int]) -> list[str]:
    names = [mode.label(n) for n in run]
    a, b = INTERVAL_LABEL.fullmatch(names[0]), INTERVAL_LABEL.fullmatch(names[-1])
    if len(run) > 1 and touches(*names[:2]) and a and b:
        return [f"{a[1]}-{b[2]}"]
    if len(run) < 3:
        return [quote_label(name) for name in names]
    ordered = mode.labels is None or mode.labels.dtype.kind in ORDERED
    number = None if ordered else LAST_NUMBER.search(names[-1])
    return [f"{names[0]} to {number[0] if number else names[-1]}"]


def plural(name: str, count: int) -> str:
    """Return the plural of an everyday word; names, codes and plurals stay as they are."""
    if count != 1 and name in IRREGULAR:
        return IRREGULAR[name]
    if count == 1 or name == UNKNOWN_GROUP or not (name.isalpha() and name.islower()):
        return name
    if name in NO_PLURAL or name.endswith(("s", "ed")):
        return name
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("x", "ch", "sh")) else "s")


def quote_label(label: str) -> str:
    """Return a label as it stands in a list: in quotes if it has a comma or a semicolon itself."""
    return f'"{label}"' if "," in label or ";" in label else label


def _cut(texts: Iterable[str]) -> str:
    """Join texts with commas; a long list is cut short."""
    texts = list(texts)
    return ", ".join(texts if len(texts) <= MAX_LISTED + 1 else [*texts[:MAX_LISTED], "..."])
