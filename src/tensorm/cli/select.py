"""``tensorm select``: how many components, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tensorm.cli import options
from tensorm.cli.groups import main, quietly, say
from tensorm.data.checks import short
from tensorm.data.files import ENDINGS
from tensorm.errors import InputError
from tensorm.estimator.machine import TensOrMachine
from tensorm.estimator.select import select_components
from tensorm.selection.choose import DEFAULT, SELECTION_METHODS

IMAGES = (".png", ".pdf", ".svg")


def candidates(value: str) -> list[int]:
    """Read numbers as 1-10, or 2,4,8."""
    try:
        if "-" in value:
            first, last = map(int, value.split("-"))
            numbers = list(range(first, last + 1))
        else:
            numbers = [int(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if not numbers:
        raise click.BadParameter(f"{short(value)} is not a list of numbers; write 1-10 or 2,4,8.")
    return numbers


@main.command("select", epilog=f"Files: {ENDINGS}.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--method", type=click.Choice(list(SELECTION_METHODS)), default=DEFAULT, help="How to choose the number."
)
@click.option(
    "--candidates",
    type=candidates,
    metavar="1-10|2,4,8",
    help="Numbers to choose from; by default the search sets its own range.",
)
@options.about_cells
@options.noise
@options.background
@click.option(
    "--run-dir", type=options.FOLDER_PATH, help="Folder for finished trials; repeat the command to resume."
)
@click.option("--plot", type=options.FILE_PATH, help="Image file for a plot of the scores.")
@options.seed
@options.jobs
@options.as_json
@quietly("Print only the number.")
def select_command(file: Path, as_json: bool, quiet: bool, **given: Any) -> None:
    """Choose the number of components for the cells in FILE.

    \b
    Examples:
      tensorm select contacts.csv --modes hour,person,met
      tensorm select contacts.csv --modes hour,person,met --method cv --candidates 1-12
    """
    plot = given["plot"]
    if plot is not None and plot.suffix.lower() not in IMAGES:
        raise InputError(f"--plot is {plot}; give a name that ends in .png, .pdf or .svg.")
    symmetric = given["pair"] if given["symmetric"] else None
    found = select_components(
        options.read_named(file, given)[0],
        given["method"],
        given["candidates"],
        estimator=TensOrMachine(symmetric=symmetric, noise=given["noise"], background=given["background"]),
        symmetric=symmetric,
        run_dir=given["run_dir"],
        n_jobs=given["n_jobs"],
        random_state=given["random_state"],
        progress=not quiet,
    )
    if as_json:
        click.echo(found.to_json())
    else:
        say(str(found.best) if quiet else str(found))
    if plot is not None:  # last: it may not be possible to write it
        figure: Any = found.plot().figure
        figure.savefig(plot, dpi=110)
