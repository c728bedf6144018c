"""A tensor that remembers what it was asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Spying:
    """Counts the questions to a tensor; goes before its class in a list of bases."""

    def __init__(self, given: Any) -> None:
        super().__init__(given)
        self.asked: Counter[str] = Counter()

    def update_factor(self, *args: Any, **named: Any) -> Any:
        self.asked["update" if len(args) < 5 else "update rows"] += 1
        return super().update_factor(*args, **named)

    def counts(self, *args: Any, **named: Any) -> Any:
        self.asked["counts rows" if named else "counts" if len(args) < 3 else "counts columns"] += 1
        return super().counts(*args, **named)

    def confusion(self, *args: Any) -> Any:
        self.asked["confusion"] += 1
        return super().confusion(*args)

    def take(self, *args: Any) -> Any:
        self.asked["take"] += 1
        return super().take(*args)
