"""``tensorm select``: how many components, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tensorm.cli.groups import main, quietly, say
from tensorm.cli.options import about_cells, read_named
from tensorm.estimator.machine import TensOrMachine
from tensorm.estimator.select import METHODS, select_components


class Candidates(click.ParamType):
    """Numbers as 1-10, or 2,4,8."""

    name = "1-10|2,4,8"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a list of integers."""
        if not isinstance(value, str):
            return value
        try:
            if "-" in value:
                first, last = map(int, value.split("-"))
                return list(range(first, last + 1))
            return [int(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} are no candidates; write 1-10, or 2,4,8", param, ctx)


@main.command("select")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--method", type=click.Choice(METHODS), default=METHODS[0], show_default=True, help="How to choose."
)
@click.option("--candidates", type=Candidates(), help="Numbers to choose from; searched by default.")
@about_cells
@click.option("--shared", is_flag=True, help="The two modes of an undirected pair share one factor.")
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for finished trials, to resume from.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Image file for a plot of the scores."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of threads; one per processor core by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@quietly("Print only the number.")
def select_command(file: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Choose the number of components for the cells in FILE.

    \b
    Examples:
      tensorm select contacts.csv --modes hour,person,met
      tensorm select contacts.csv --modes hour,person,met --method cv --candidates 1-12
    """
    pair = options["pair"]
    found = select_components(
        read_named(file, options)[0],
        options["method"],
        options["candidates"],
        estimator=TensOrMachine(symmetric=pair if options["shared"] else None),
        symmetric=pair if options["shared"] else None,
        run_dir=options["run_dir"],
        n_jobs=options["jobs"],
        random_state=options["seed"],
        progress=not quiet,
    )
    if options["plot"] is not None:
        figure: Any = found.plot().figure
        figure.savefig(options["plot"], dpi=110)
    if as_json:
        click.echo(found.to_json())
    else:
        say(str(found.best) if quiet else str(found))
