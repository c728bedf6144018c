"""``tensorm predict``: probabilities of given cells, or the most probable cells not known to be 1."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from tensorm.cli.folders import Folder
from tensorm.cli.groups import main
from tensorm.data.checks import check_mode
from tensorm.data.read import open_table
from tensorm.errors import InputError
from tensorm.estimator.machine import TensOrMachine
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import read_modes
from tensorm.storage.files import replace_file


@main.command("predict")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--cells", type=click.Path(path_type=Path), help="Table with a column of labels for each mode.")
@click.option("--of", nargs=2, metavar="MODE LABEL", help="Most probable cells of this index that are not 1.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Number of cells with --of."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV file to write; by default the table is printed.",
)
def predict_command(
    folder: Path, cells: Path | None, of: tuple[str, str] | None, top: int, out: Path | None
) -> None:
    """Print the probability that cells are 1, as CSV.

    \b
    Examples:
      tensorm predict runs/ward --cells pairs.csv --out probabilities.csv
      tensorm predict runs/ward --of person "doctor 01" --top 5
    """
    if (cells is None) == (of is None):
        raise click.UsageError("Give either --cells FILE or --of MODE LABEL.")
    fitted = Folder(folder)
    model = fitted.model()
    posterior = model.posterior_
    if cells is not None:
        indices, names = _find_cells(posterior, cells)
        p = posterior.predict_cells(tuple(indices.T))
    else:
        assert of is not None
        index = _index(posterior, *of)
        found = model.top_cells(of[0], index, top, fitted.cells(), fitted.symmetric())
        names, p = found.names, found.probabilities
    _write(model, names, p, out)


def _index(posterior: Posterior, mode: str, label: str) -> int:
    """Return the index of a label as users see it, which may be a number itself."""
    fitted = read_modes(posterior)[check_mode(mode, posterior.modes)]
    places = (n for n in range(len(fitted.means)) if fitted.label(n) == label)
    found = next(places, None)
    if found is None:
        raise InputError(f"Unknown {mode} {label!r}; labels look like {fitted.label(0)!r}.")
    return found


def _find_cells(posterior: Posterior, path: Path) -> tuple[Any, tuple[tuple[str, ...], ...]]:
    """Return the indices of the cells in a table, and their labels as they stand there."""
    table = open_table(path)
    columns, texts = [], []
    for mode, known, size in zip(posterior.modes, posterior.labels, posterior.shape, strict=True):
        if mode not in table.names:
            raise InputError(f"{path} has no column {mode!r}; give one for each mode.")
        names = [str(n) for n in range(size)] if known is None else known.astype(str).tolist()
        places = {name: n for n, name in enumerate(names)}
        column = table.column(mode)
        column.refuse_empty("give a label")
        mine = column.values.astype(str)[column.codes].tolist()
        for row, name in enumerate(mine):
            if name not in places:
                raise InputError(
                    f"Unknown {mode} {name!r} in {table.place(row)}; labels look like {names[0]!r}."
                )
        columns.append([places[name] for name in mine])
        texts.append(mine)
    return np.array(columns, np.intp).T, tuple(zip(*texts, strict=True))


def _write(
    model: TensOrMachine, names: Iterable[Sequence[str]], p: Iterable[float], out: Path | None
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*model.modes_, "probability"])
    writer.writerows([*cell, f"{chance:.4f}"] for cell, chance in zip(names, p, strict=True))
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        replace_file(out, text.getvalue().encode())
