"""The result of choosing the number of components: the number, why, and all that was tried."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tensorm.data.checks import check_text
from tensorm.errors import FileError, InputError, printable
from tensorm.posterior.tables import tabulate, to_html
from tensorm.report.plots.style import COLOURS, GREY, name_axes, new_axes, plain
from tensorm.storage.files import as_path, read_json, replace_file
from tensorm.storage.run import digest_run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


SELECTION_FILE = "selection.json"  # in the folder of a run
MAX_INTEGER = 2**53  # that every reader of JSON keeps exactly
MAX_SCORE = 1e300
PAIRED = "cv"  # the method whose errors are those of differences


class Trial(NamedTuple):
    """One number of components, tried once.

    Attributes
    ----------
    n_components : int
    repeat : int
        Which split of the cells (cross-validation) or which chain.
    score : float
        What the choice is made by; ``Selection.score_name`` says what it is.
    measures : mapping
        What else was measured.
    """

    n_components: int
    repeat: int
    score: float
    measures: Mapping[str, float]


class Candidate(NamedTuple):
    """One number of components, all repeats together.

    Attributes
    ----------
    n_components : int
    score : float
    error : float
        Standard error of the score; with "cv" of its difference from the best score, by which the choice is
        made. NaN where there is none.
    """

    n_components: int
    score: float
    error: float


@dataclass(frozen=True, eq=False)
class Selection:
    """How many components, and why; as text, a table and the reason.

    Attributes
    ----------
    method : str
        "posterior", "occam", "cv", "mdl", "occam-published" or "cv-published".
    best : int
        The chosen number of components, at least 1.
    reason : str
        Why, in a sentence or two.
    table : tuple of Trial
        Every number that was tried, with every repeat.
    candidates : tuple of Candidate
        The same, with repeats combined.
    score_name : str
        What the scores are.
    complete : bool
        Whether the choice was completed; if Ctrl-C stopped it, it is based on what had been found by then.
    """

    method: str
    best: int
    reason: str
    table: tuple[Trial, ...]
    candidates: tuple[Candidate, ...]
    score_name: str
    complete: bool = True

    def to_dataframe(self) -> pd.DataFrame:
        """Return the table of trials as a pandas table."""
        import pandas as pd

        return pd.DataFrame([{**row._asdict(), **row.measures} for row in self.table]).drop(
            columns="measures"
        )

    def _repr_html_(self) -> str:
        table = tabulate(self.candidates, ["components", self.score_name, "error"])
        return to_html(table, [self.reason])

    def to_json(self) -> str:
        """Return all of it as JSON, with null for NaN."""
        form = asdict(self) | {
            "table": [row._asdict() for row in self.table],
            "candidates": [row._asdict() for row in self.candidates],
        }
        without_nan = json.loads(json.dumps(form), parse_constant=lambda _: None)
        return json.dumps(without_nan, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Selection:
        """Undo ``to_json``; raises InputError if that is not what the text came from."""
        try:
            return cls._from_form(json.loads(text))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError("The text is not a selection; give what to_json returned.") from error

    @classmethod
    def _from_form(cls, form: Any) -> Selection:
        try:
            table = tuple(Trial(**_with_nan(row)) for row in form.pop("table"))
            candidates = tuple(Candidate(**_with_nan(row)) for row in form.pop("candidates"))
            texts: Any = {name: printable(form.pop(name)) for name in ("method", "reason", "score_name")}
            found: Any = cls(table=table, candidates=candidates, **texts, **form)
            measures = [part for row in table for part in row.measures.values()]
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError("no selection") from error
        counts = [found.best, *(n for row in table for n in row[:2]), *(row[0] for row in candidates)]
        scores: list[Any] = [*measures, *(row.score for row in table)]
        scores += [part for row in candidates for part in row[1:]]
        good = all(type(n) is int and 0 <= n <= MAX_INTEGER for n in counts) and type(found.complete) is bool
        good &= all(x is None or (type(x) in (int, float) and not abs(x) > MAX_SCORE) for x in scores)
        if not (good and found.best and table and candidates) or any(
            row.error < 0 or row.score != row.score for row in candidates
        ):
            raise ValueError("no selection")
        return cast(Selection, found)

    def write(self, folder: Path, run: str) -> None:
        """Write it into the folder of a run with this digest."""
        form = {"run": check_text("run", run), **json.loads(self.to_json())}
        replace_file(as_path(folder, "folder") / SELECTION_FILE, json.dumps(form, indent=1).encode())

    @classmethod
    def read(cls, folder: Path) -> Selection | None:
        """Return what ``write`` left in the folder of a run, or None.

        Raises
        ------
        FileError
            When it is damaged, or belongs to another run.
        """
        path, remedy = as_path(folder, "folder") / SELECTION_FILE, "delete it to continue without it"
        form = read_json(path, remedy)
        if not form:
            return None
        if form.pop("run", None) != digest_run(folder):
            raise FileError(f"{path} belongs to another run; {remedy}.")
        try:
            return cls._from_form(form)
        except ValueError as error:
            raise FileError(f"{path} is damaged; {remedy}.") from error

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores of all numbers of components and mark the one chosen.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            Dots are single repeats, bars one standard error. With "cv" they are those of the difference from
            the best score, the dashed line: the first number whose bar reaches it is chosen.
        """
        ax = new_axes(ax)
        n, scores, errors = (np.array(part, float) for part in zip(*self.candidates, strict=True))
        ax.axvline(self.best, color=GREY, linewidth=5)
        ax.plot(*zip(*(row[::2] for row in self.table), strict=True), ".", color=COLOURS[1], markersize=4)
        if self.method == PAIRED:
            ax.axhline(scores.max(), color=GREY, linewidth=1, linestyle="--")
        ax.errorbar(n, scores, np.nan_to_num(errors), color=COLOURS[2], marker="o", markersize=4, linewidth=1)
        ax.set_xlim(min(n) - 1.5, max(n) + 1.5)
        if self.method == "posterior":
            ax.set_ylim(0, 1.05)
        ax.locator_params(axis="x", integer=True)
        name_axes(ax, "components", plain(self.score_name))
        return ax

    def __str__(self) -> str:
        paired = self.method == PAIRED and len(self.candidates) > 1
        head = f"{self.score_name} (± error of the difference from the best)" if paired else self.score_name
        rows = [f"components  {head}"]
        for n, score, error in self.candidates:
            spread = "" if error != error or (paired and not error) else f" ± {_number(error)}"
            chosen = "   chosen" if n == self.best else ""
            rows.append(f"{n:10d}  {_number(score)}{spread}{chosen}")
        return "\n".join([*rows, self.reason])


def _with_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if part is None else part for name, part in row.items()}


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4f}"
