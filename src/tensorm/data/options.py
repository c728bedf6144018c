"""What a user can say about a source of cells; documented at ``tensorm.read``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tensorm.data.checks import check_choice
from tensorm.errors import InputError

ONLY_ONES = "{} leaves only ones; name the column of 0 and 1 with {}."


class Options(NamedTuple):
    """The options of ``tensorm.read``."""

    modes: Sequence[str] | None = None
    value: str | None = None
    unlisted: str = "zero"
    time: str | None = None
    bins: str | int | None = None
    origin: str | None = None
    pair: Sequence[str] | None = None
    undirected: bool = False
    wide: bool = False
    relational: bool = False
    missing: Any = ()
    threshold: float | None = None
    order: Mapping[str, Sequence[Any]] | None = None
    indices: bool = False
    header: bool | None = None

    def check(self) -> Options:
        """Return the options with their defaults filled in, or raise if one needs another."""
        check_choice("unlisted", self.unlisted, ("zero", "missing"))
        for name in ("modes", "pair"):
            if isinstance(getattr(self, name), str):
                raise InputError(f"{name} is {getattr(self, name)!r}; give a list of columns.")
        if self.pair is not None and len(self.pair) != 2:
            raise InputError(f"pair is {', '.join(self.pair)}; give two modes.")
        if self.undirected and self.pair is None:
            raise InputError("undirected needs pair, the two modes whose pairs have no direction.")
        for name in ("bins", "origin"):
            if getattr(self, name) is not None and self.time is None:
                raise InputError(f"{name} needs time, the column of times.")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"threshold is {self.threshold}; give a number.")
        if self.threshold is not None and self.relational:
            raise InputError("relational compares numbers as they are; leave threshold out.")
        modes = None if self.modes is None else [str(name) for name in self.modes]
        if modes is not None and self.time is not None and self.time not in modes:
            modes.insert(0, self.time)
        words = [self.missing] if isinstance(self.missing, (str, int, float)) else self.missing
        return self._replace(
            missing=frozenset(str(word).strip().lower() for word in words),
            order=self.order or None,
            bins="clock" if self.bins is None else str(self.bins),
            modes=modes,
        )

    def refuse(self, title: str, what: str, *names: str) -> None:
        """Raise if one of these options is given, which make no sense for this kind of source."""
        for name in names:
            if getattr(self, name) != self._field_defaults[name]:
                raise InputError(f"{title} is {what}, so {name} does not apply; leave it out.")

    def refuse_only_ones(self, value: str | None) -> None:
        """Raise if every row of a table is a 1 and all other cells are missing."""
        if value is None and self.unlisted == "missing":
            raise InputError(ONLY_ONES.format('unlisted="missing"', "value"))
