"""``tensorm demo``, ``tensorm simulate`` and ``tensorm datasets``: data to try things on."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from tensorm import datasets
from tensorm.cli import options
from tensorm.cli.groups import main, say
from tensorm.data.checks import short
from tensorm.data.hdf5 import NETCDF
from tensorm.data.opening import need
from tensorm.datasets.registry import DATA_FOLDER, SOURCES
from tensorm.errors import FileError, PackageError
from tensorm.estimator.machine import TensOrMachine
from tensorm.posterior.align import similarity
from tensorm.storage.files import replace_file

MADE = {
    "ward": (datasets.ward, "13 hours x 75 people x 75 people, simulated, with known groups"),
    "hospital": (datasets.hospital, "13 hours x 75 people x 75 people, contacts measured by badges"),
    "students": (datasets.students, "9 weeks x 7 regions x 47 students, where they sat"),
    "nations": (datasets.nations, "14 nations x 55 relations x 14 nations"),
    "cancer": (datasets.cancer, "8,943 patients x 1,046 microRNAs, expression"),
}


@main.command()
@click.option(
    "--out",
    type=options.FOLDER_PATH,
    default="demo",
    help="Folder for the tables, the figure and the report; created if necessary.",
)
@click.option("--components", "n_components", type=options.COUNT, default=7, help="Number of components.")
@options.seed
def demo(out: Path, n_components: int, random_state: int) -> None:
    """Try tensorm on simulated contacts on a hospital ward."""
    out.mkdir(parents=True, exist_ok=True)
    X, truth = datasets.ward(), datasets.ward_truth()
    roles = {"person": X.role, "met": X.role}
    say(
        f"Who met whom on a simulated hospital ward: {X.shape[0]} hours x {X.shape[1]} people x {X.shape[2]} "
        f"people, {np.nanmean(X):.1%} of the cells are 1."
    )
    contacts = X.to_series()
    contacts[contacts == 1].index.to_frame(index=False).to_csv(out / "contacts.csv", index=False)
    X.role.to_series().to_csv(out / "roles.csv")
    start = time.perf_counter()
    model = TensOrMachine(n_components, random_state=random_state).fit(X)
    seconds = time.perf_counter() - start
    say(f"{n_components} components from {model.posterior_.n_draws:,} draws, in {seconds:.1f} s:\n")
    for text in model.describe(roles):
        say(text, bold=r"^Components? \d+")
    say(f"\n{_name_planted(model.factors_, truth)}")
    picture = out / "factors.png"
    try:
        model.plot(groups=roles).savefig(picture, dpi=110)
        say(f"Figure of the factors: {picture}")
    except PackageError as error:  # matplotlib is an extra
        say(f"No figure of the factors: {error}")
    report = out / "report.html"
    model.report(report, X, metadata=roles, title="Who met whom on a simulated hospital ward")
    say(f"Report, to open in a browser: {report}")
    say(f"The data as tables, to try tensorm fit on: {out / 'contacts.csv'}, {out / 'roles.csv'}")


def _name_planted(factors: Sequence[Any], truth: datasets.WardTruth) -> str:
    """Return a sentence on which component is which planted group."""
    alike = similarity([factor.astype(float) for factor in truth.factors], factors)
    found = {name: int(row.argmax()) for name, row in zip(truth.names, alike, strict=True) if row.max() > 0.9}
    which = ", ".join(f"{name} ({component})" for name, component in found.items()) or "none"
    many = "All" if len(found) == len(truth.names) else f"{len(found)} of the"
    return f"{many} {len(truth.names)} groups planted in the data were found: {which}."


@main.command("simulate")
@click.option("--shape", default="20,20,20", help="Sizes of the modes.")
@click.option("--rank", type=options.COUNT, default=5, help="Number of planted components.")
@click.option("--density", type=float, default=0.3, help="Expected share of ones.")
@click.option("--noise", type=float, default=0.1, help="Share of cells flipped.")
@click.option("--missing", type=float, default=0.0, help="Share of cells missing.")
@options.seed
@click.option("--out", type=options.FILE_PATH, required=True, help="File to write, .npz or .npy.")
def simulate_command(shape: str, out: Path, **given: Any) -> None:
    """Write a random tensor with planted components, as in the paper.

    \b
    Example:
      tensorm simulate --shape 20,20,20 --rank 5 --out planted.npz
    """
    try:
        sizes = tuple(int(size) for size in shape.split(","))
    except ValueError:
        sizes = ()
    if len(sizes) < 2:
        raise click.UsageError(
            f"--shape is {short(shape)}; write the sizes of at least 2 modes, such as 20,20,20."
        )
    sim = datasets.simulate(sizes, **given)
    text = io.BytesIO()
    if out.suffix == ".npy":
        np.save(text, sim.observed)
    elif out.suffix == ".npz":
        arrays: dict[str, Any] = {f"factor_{k}": factor for k, factor in enumerate(sim.factors)}
        np.savez_compressed(text, observed=sim.observed, noise_free=sim.noise_free, **arrays)
    else:
        raise FileError(f"{out} has an unsupported file type; give a name that ends in .npz or .npy.")
    replace_file(out, text.getvalue())
    say(f"Wrote {out}, {' x '.join(map(str, sizes))} cells with {given['rank']} components.")


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
    folder = os.environ.get(DATA_FOLDER)
    if folder:
        say(f"Public data are read from {folder}.")
    else:
        say("hospital and nations are downloaded on first use.")
        say(f"students and cancer are read from the folder named by the environment variable {DATA_FOLDER}.")


@datasets_group.command("get")
@click.argument("name", metavar="NAME", type=click.Choice(list(MADE)))
@click.option("--out", type=options.FILE_PATH, help="File to write; NAME.nc by default.")
def get_command(name: str, out: Path | None) -> None:
    """Save a data set with its labels as netCDF, for `tensorm fit`.

    NAME is one of those that `tensorm datasets list` prints.

    \b
    Example:
      tensorm datasets get ward --out ward.nc
    """
    path = Path(f"{name}.nc") if out is None else out
    if path.suffix != ".nc":
        raise FileError(f"{path} has an unsupported file type; give a name that ends in .nc.")
    need(*NETCDF)
    array = MADE[name][0]()
    replace_file(path, bytes(array.to_netcdf(engine="h5netcdf")))
    say(f"Wrote {path}, {' x '.join(f'{size} {mode}' for mode, size in array.sizes.items())}.")
