"""Options that several commands share: which cells a file contains, and what is known about them."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tensorm.cli.groups import F
from tensorm.data.checks import short
from tensorm.data.options import Options
from tensorm.data.read import read_columns
from tensorm.errors import InputError
from tensorm.estimator.plan import AUTO
from tensorm.posterior.draws import Posterior
from tensorm.report.metadata import LABEL, check_metadata
from tensorm.sampler.models import BACKGROUNDS, describe_choices, list_choices
from tensorm.tensors import Tensor
from tensorm.tensors.read import read, read_with_metadata

COUNT = click.IntRange(min=1)
FILE_PATH = click.Path(path_type=Path, dir_okay=False)
FOLDER_PATH = click.Path(path_type=Path, file_okay=False)


def names(value: str) -> tuple[str, ...]:
    """Read names with commas in between; one that has a comma itself is in double quotes."""
    found = split_names(value)
    if not all(found) or len(set(found)) != len(found):
        raise click.BadParameter(
            f"{short(value)} must be a comma-separated list without repeats; write a,b,c."
        )
    return found


def split_names(value: str) -> tuple[str, ...]:
    """Return the fields of a line of CSV."""
    fields = next(csv.reader([value], skipinitialspace=True), [""])
    return tuple(name.strip() for name in fields)


def assigned(form: str, example: str) -> Callable[[str], tuple[str, str]]:
    """Return a reader of MODE=SOMETHING."""

    def read(value: str) -> tuple[str, str]:
        mode, _, what = value.partition("=")
        if not (mode and what):
            raise click.BadParameter(f"{short(value)} is not of the form {form}; write {example}.")
        return mode, what

    return read


def two_numbers(value: str) -> tuple[float, float]:
    """Read two numbers with a comma in between."""
    try:
        first, second = map(float, value.split(","))
    except ValueError:
        raise click.BadParameter(f"{short(value)} is not two numbers; write 2,5.") from None
    return first, second


def one_prior(value: str) -> tuple[str, tuple[float, float]]:
    """Read the prior of a parameter."""
    name, numbers = assigned("name=a,b", "spread=0.01,1")(value)
    return name, two_numbers(numbers)


noise = click.option(
    "--noise",
    type=click.Choice([AUTO, *list_choices()]),
    default=AUTO,
    help=f"Noise model: {describe_choices()}. auto means comparisons with --relational; otherwise strengths "
    "if they predict hidden cells clearly better than asymmetric.",
)
background = click.option(
    "--background",
    type=click.Choice(BACKGROUNDS),
    default="activity",
    help="With strengths: the rate of ones outside the components depends on the activity of each index, or "
    "is constant.",
)
noise_prior = click.option(
    "--noise-prior",
    type=two_numbers,
    default="1,1",
    metavar="A,B",
    help="Beta prior of each rate; with strengths, of a constant background.",
)
strength_prior = click.option(
    "--strength-prior",
    type=one_prior,
    metavar="NAME=A,B",
    multiple=True,
    help="With strengths: another prior for typical, spread, rate or evenness, such as spread=0.01,1.",
)
seed = click.option("--seed", "random_state", type=click.IntRange(min=0), default=0, help="Random seed.")
jobs = click.option(
    "--jobs", "n_jobs", type=COUNT, help="Number of threads; one per processor core by default."
)
folder = click.argument("run_dir", metavar="FOLDER", type=FOLDER_PATH)
fit = click.argument("fit", type=click.Path(path_type=Path))
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
metadata = click.option(
    "--metadata",
    type=assigned("mode=file", "person=roles.csv"),
    metavar="MODE=FILE",
    multiple=True,
    help="Table about a mode's labels, such as person=roles.csv.",
)


DETAILS: dict[str, dict[str, Any]] = {  # what the command line needs to know beside the name and the default
    "modes": {"type": names},
    "columns": {"type": names},
    "unlisted": {"type": click.Choice(["zero", "missing"])},
    "pair": {"type": names},
    "normalise": {"type": click.Choice(["zscore", "rank", "none"])},
    "floor": {"type": float},
    "missing": {"type": names, "metavar": "VALUES", "default": None},
    "threshold": {"type": float},
    "order": {
        "type": assigned("mode=labels", "day=Mon,Tue,Wed"),
        "metavar": "MODE=LABELS",
        "multiple": True,
        "default": (),
        "help": "All labels of a mode in their order, such as day=Mon,Tue,Wed.",
    },
    "header": {"help": "The first line has names, or not; guessed by default."},
}
SWITCHES = {"time": ("--time", "--time-column"), "header": ("--header/--no-header",)}


def about_cells(command: F) -> F:
    """Add the options that describe a file of cells: those of ``tensorm.read``, in its own words."""
    for name, default in reversed(Options._field_defaults.items()):
        how = {"default": default, "help": describe_parameter(read, name), **DETAILS.get(name, {})}
        if isinstance(default, bool):
            said = how["help"].removeprefix("Whether ").removeprefix("to ")
            how |= {"is_flag": True, "help": said[0].upper() + said[1:]}
        switches = SWITCHES.get(name, (f"--{name.replace('_', '-')}",))
        command = click.option(*switches, name, **how)(command)
    shared = "The two modes of an undirected pair share one factor."
    return click.option("--shared", "symmetric", is_flag=True, help=shared)(command)


def describe_parameter(function: Any, name: str) -> str:
    """Return what a docstring says first about a parameter, so that it is described only once."""
    found = re.search(rf"^{name} : .*\n((?:    .*\n)+)", inspect.getdoc(function) or " ", re.MULTILINE)
    text = "?" if found is None else " ".join(re.sub(r"``(\w+)``", r"--\1", found[1]).split())
    return text.split(". ")[0].rstrip(".") + "."


def read_named(file: Path, given: dict[str, Any], client: Any = None) -> tuple[Tensor, dict[str, Any]]:
    """Read a file as the options of ``about_cells`` say: its cells, and what it knows of their labels."""
    if given["symmetric"] and not given["undirected"]:
        raise InputError("--shared needs an undirected pair; add --pair I,J --undirected.")
    order = {mode: list(split_names(labels)) for mode, labels in given["order"]}
    options = {name: given[name] for name in Options._fields}
    options |= {"order": order, "missing": given["missing"] or ()}
    return read_with_metadata(file, Options(**options), client)


def read_metadata_files(assigned: tuple[tuple[str, str], ...], tensor: Posterior | Tensor) -> dict[str, Any]:
    """Read the tables of metadata, or raise unless they can be joined to the modes of the cells."""
    tables = {}
    for mode, path in assigned:
        if mode in tables:
            raise InputError(f"--metadata is given twice for {mode}; put both tables into one.")
        tables[mode], table = read_columns(path, (mode, LABEL))
        check_metadata(tensor, mode, tables[mode], table.place)
    return tables
