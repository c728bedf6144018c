"""``tensorm simulate`` and ``tensorm datasets``: data to try things on."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import click
import numpy as np

from tensorm.cli.groups import main, say
from tensorm.data.files import need
from tensorm.datasets import cancer, hospital, nations, simulate, students, ward
from tensorm.datasets.registry import FOLDER, SOURCES
from tensorm.errors import FileError
from tensorm.storage.files import replace_file

MADE = {
    "ward": (ward, "13 hours x 75 people x 75 people, invented, with known groups"),
    "hospital": (hospital, "13 hours x 75 people x 75 people, contacts measured by badges"),
    "students": (students, "9 weeks x 7 regions x 47 students, where they sat"),
    "nations": (nations, "14 nations x 55 relations x 14 nations"),
    "cancer": (cancer, "8,943 patients x 1,046 microRNAs, expression"),
}


@main.command("simulate")
@click.option("--shape", default="20,20,20", show_default=True, help="Sizes of the modes.")
@click.option(
    "--rank", type=click.IntRange(min=1), default=5, show_default=True, help="Number of planted components."
)
@click.option("--density", type=float, default=0.3, show_default=True, help="Expected share of ones.")
@click.option("--noise", type=float, default=0.1, show_default=True, help="Share of cells flipped.")
@click.option("--missing", type=float, default=0.0, show_default=True, help="Share of cells missing.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write, .npz or .npy.",
)
def simulate_command(shape: str, out: Path, seed: int, **options: Any) -> None:
    """Write a random tensor with planted components, as in the paper.

    \b
    Example:
      tensorm simulate --shape 20,20,20 --rank 5 --out planted.npz
    """
    try:
        sizes = tuple(int(size) for size in shape.split(","))
    except ValueError:
        raise click.UsageError(f"--shape is {shape!r}; write sizes as 20,20,20.") from None
    sim = simulate(sizes, random_state=seed, **options)
    text = io.BytesIO()
    if out.suffix == ".npy":
        np.save(text, sim.observed)
    elif out.suffix == ".npz":
        arrays: dict[str, Any] = {f"factor_{k}": factor for k, factor in enumerate(sim.factors)}
        np.savez_compressed(text, observed=sim.observed, noise_free=sim.noise_free, **arrays)
    else:
        raise FileError(f"{out} has an unsupported file type; give a name that ends in .npz or .npy.")
    replace_file(out, text.getvalue())
    say(f"Wrote {out}, {' x '.join(map(str, sizes))} cells with {options['rank']} components.")


@main.group("datasets")
def datasets_group() -> None:
    """List example data sets, or save one to a file."""


@datasets_group.command("list")
def list_command() -> None:
    """List the data sets.

    \b
    Example:
      tensorm datasets list
    """
    for name, (_, what) in MADE.items():
        source = SOURCES.get("mirna" if name == "cancer" else name)
        licence = "part of tensorm" if source is None else f"licence: {source.licence}"
        say(f"{name:10} {what} ({licence})")
    folder = os.environ.get(FOLDER)
    if folder:
        say(f"Public data are read from {folder}.")
    else:
        say("hospital and nations are downloaded on first use.")
        say(f"students and cancer are read from a folder that {FOLDER} names.")


@datasets_group.command("get")
@click.argument("name", type=click.Choice(list(MADE)))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write; NAME.nc by default."
)
def get_command(name: str, out: Path | None) -> None:
    """Save a data set with its labels as netCDF, for `tensorm fit`.

    \b
    Example:
      tensorm datasets get ward --out ward.nc
    """
    path = Path(f"{name}.nc") if out is None else out
    if path.suffix != ".nc":
        raise FileError(f"{path} has an unsupported file type; give a name that ends in .nc.")
    need("h5netcdf", "netCDF files", "'tensorm[netcdf]'")
    array = MADE[name][0]()
    replace_file(path, bytes(array.to_netcdf(engine="h5netcdf")))
    say(f"Wrote {path}, {' x '.join(f'{size} {mode}' for mode, size in array.sizes.items())}.")
