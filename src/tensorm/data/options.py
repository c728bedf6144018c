"""Options that describe a source of cells; documented at ``tensorm.read``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from tensorm.data.checks import (
    check_choice,
    check_flag,
    check_mapping,
    check_real,
    check_text,
    is_list,
    short,
)
from tensorm.errors import InputError

MAX_NAMES = 10_000  # of columns, or of words for missing cells


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
    columns: Sequence[str] | None = None
    relational: bool = False
    normalise: str | None = "zscore"
    floor: float | None = None
    missing: Any = ()
    threshold: float | None = None
    order: Mapping[str, Sequence[Any]] | None = None
    indices: bool = False
    header: bool | None = None
    skip_bad_rows: bool = False
    merge_labels: bool = False

    def check(self) -> Options:
        """Return the options with their defaults filled in, or raise if one needs another."""
        self._check_types()
        self._check_together()
        modes = None if self.modes is None else [str(name) for name in self.modes]
        if modes is not None and self.time is not None and self.time not in modes:
            modes.insert(0, self.time)
        return self._replace(
            missing=frozenset(str(word).strip().lower() for word in self._words),
            order=self.order or None,
            bins="clock" if self.bins is None else str(self.bins),
            modes=modes,
            wide=self.wide or (self.columns is not None and not self.relational),
        )

    @property
    def _words(self) -> Any:
        """What stands for missing cells, as a collection."""
        several = is_list(self.missing) or isinstance(self.missing, (set, frozenset))
        return self.missing if several else [self.missing]

    def _check_types(self) -> None:
        """Raise if an option is of another type, or out of range."""
        check_choice("unlisted", self.unlisted, ("zero", "missing"))
        for name in ("modes", "pair", "columns"):
            given = getattr(self, name)
            if given is not None and not is_list(given):
                raise InputError(f"{name} is {short(given)}; give a list of columns.")
            if given is not None and len(given) > MAX_NAMES:
                raise InputError(f"{name} has {len(given)} entries; give a list of columns.")
        for name in ("value", "time", "origin"):
            check_text(name, getattr(self, name))
        for name in ("undirected", "wide", "relational", "indices", "skip_bad_rows", "merge_labels"):
            check_flag(name, getattr(self, name))
        if self.header is not None:
            check_flag("header", self.header)
        if not isinstance(self.bins, (str, int, NoneType)):
            raise InputError(f"bins is {short(self.bins)}; give a length such as '1h', or a number.")
        check_mapping("order", self.order, "a dict of modes and lists of labels")
        if len(self._words) > MAX_NAMES:
            raise InputError(f"missing has {len(self._words):,} values; give at most {MAX_NAMES:,}.")
        for name in ("threshold", "floor"):
            check_real(name, getattr(self, name))
        if self.normalise is not None:
            check_choice("normalise", self.normalise, ("zscore", "rank", "none"))
        if self.pair is not None and len(self.pair) != 2:
            raise InputError(f"pair is {', '.join(map(str, self.pair))}; give two modes.")
        if self.pair is not None and self.pair[0] == self.pair[1]:
            raise InputError(f"pair has {short(self.pair[0])} twice; give two different modes.")

    def _check_together(self) -> None:
        """Raise if an option needs another, or excludes it."""
        if self.undirected and self.pair is None:
            raise InputError("undirected needs pair=[I, J], the two modes whose pairs have no direction.")
        for name in ("bins", "origin"):
            if getattr(self, name) is not None and self.time is None:
                raise InputError(f"{name} needs time=COLUMN, the column of times.")
        for name in ("normalise", "floor"):
            if getattr(self, name) != self._field_defaults[name] and not self.relational:
                raise InputError(f"{name} needs relational=True.")
        if self.threshold is not None and self.relational:
            raise InputError(
                "relational compares numbers as they are, so threshold=... cannot be used; leave it out."
            )

    @property
    def names_columns(self) -> bool:
        """Whether they say how a table is to be read, or what its columns are."""
        named = self.modes is not None and not self.relational
        return named or any(
            getattr(self, name) for name in ("value", "time", "pair", "order", "wide", "indices")
        )

    @property
    def names_time_only(self) -> bool:
        """Whether they say of columns only which one has times."""
        return self.time is not None and self.modes is None and not (self.value or self.pair or self.indices)

    def pick(self, title: str, names: Sequence[str]) -> list[str] | None:
        """Return those names that ``columns`` asks for, in which * stands for anything; None for all."""
        if self.columns is None:
            return None
        found: dict[str, None] = {}
        for wanted in map(str, self.columns):
            pattern = re.compile(re.escape(wanted).replace(r"\*", ".*"), re.DOTALL)
            some = [wanted] if wanted in names else [*filter(pattern.fullmatch, names)]
            if not some:
                known = ", ".join(repr(name[:40]) for name in names[:10]) + ", ..." * (len(names) > 10)
                raise InputError(f"{title} has no column {wanted[:40]!r}; choose from {known}.")
            found |= dict.fromkeys(some)
        return [*found]

    def refuse(self, title: str, what: str, *names: str) -> None:
        """Raise if one of these options is given, which make no sense for this kind of source."""
        for name in names:
            if getattr(self, name) != self._field_defaults[name]:
                raise InputError(f"{title} is {what}, so {name}=... cannot be used; leave it out.")

    def refuse_without_values(self, value: str | None) -> None:
        """Raise if every row is a 1, and an option says what values mean; of labels some may be missing."""
        for name in ("threshold", *["missing"] * self.indices):
            if value is None and getattr(self, name) not in (None, frozenset()):
                raise InputError(f"{name} needs value=COLUMN, the column it applies to.")

    def refuse_only_ones(self, value: str | None) -> None:
        """Raise if every row of a table is a 1 and all other cells are missing."""
        if value is None and self.unlisted == "missing":
            raise InputError(
                "unlisted='missing' needs value=COLUMN, with 0 and 1; otherwise every observed cell would "
                "be 1."
            )
