"""``tensorm fit`` and ``tensorm resume``: sample, say what was found, leave it in a folder."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import click

from tensorm.cli.folders import Folder
from tensorm.cli.groups import main, name_options, quietly, say
from tensorm.cli.options import Assigned, Components, about_cells, read_named, read_tables
from tensorm.data.files import ARRAYS
from tensorm.data.text import kind_of
from tensorm.estimator.load import resume
from tensorm.estimator.machine import TensOrMachine
from tensorm.posterior.modes import read_modes
from tensorm.report.describe import MOST
from tensorm.report.metadata import groups_of, share_metadata
from tensorm.report.selection import Selection
from tensorm.tensors import Tensor
from tensorm.tensors.distributed import connect


@main.command("fit")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder for the results."
)
@click.option(
    "--components", type=Components(), default="auto", show_default=True, help="Number of components."
)
@about_cells
@click.option("--shared", is_flag=True, help="The two modes of an undirected pair share one factor.")
@click.option(
    "--metadata",
    type=Assigned("mode=file", "person=roles.csv"),
    multiple=True,
    help="Table about a mode's labels, such as person=roles.csv.",
)
@click.option(
    "--chains", type=click.IntRange(min=1), default=4, show_default=True, help="Number of independent chains."
)
@click.option(
    "--burn-in",
    type=click.IntRange(min=0),
    help="Sweeps before the first draw; chosen automatically by default.",
)
@click.option("--draws", type=click.IntRange(min=1), default=250, show_default=True, help="Draws per chain.")
@click.option(
    "--noise",
    type=click.Choice(["asymmetric", "symmetric"]),
    default="asymmetric",
    show_default=True,
    help="Two rates of ones, inside and outside the components, or one error rate.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of threads; one per processor core by default."
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Distribute the cells over this many local processes."
)
@click.option("--scheduler", help="Use a running Dask cluster, such as tcp://10.0.0.1:8786.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@quietly("Print nothing but errors.")
def fit_command(file: Path, out: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Fit a model to the cells in FILE and save it in a folder.

    FILE is a table with a row for each event or cell (.csv, .tsv, .parquet, .xlsx), or an array (.npy, .npz,
    .nc, .zarr, .h5ad).

    \b
    Examples:
      tensorm fit contacts.csv --modes hour,person,met --out runs/ward
      tensorm fit badges.tsv --time t --modes i,j --pair i,j --undirected --out runs/badges
      tensorm fit contacts.parquet --indices --components 7 --workers 2 --out runs/spread
      tensorm fit genes.csv --wide --modes patient,gene --components 8 --out runs/genes
      tensorm fit expression.csv --relational --modes patient,gene --components 4 --out runs/expression
      tensorm fit contacts.csv --modes hour,person,met --metadata person=roles.csv --out runs/roles
    """
    scheduler, workers = options.pop("scheduler"), options.pop("workers")
    if scheduler is None and workers is None:
        _fit(file, out, as_json, quiet, options)
        return
    with connect(scheduler, workers) as client:
        _note(f"Watch the cluster at {client.dashboard_link}", quiet)
        _fit(file, out, as_json, quiet, options, client)


def _fit(
    file: Path, out: Path, as_json: bool, quiet: bool, options: dict[str, Any], client: Any = None
) -> None:
    undirected = options["pair"] if options["undirected"] else None
    if options["shared"] and undirected is None:
        raise click.UsageError("--shared needs an undirected pair; add --pair i,j --undirected.")
    tensor, metadata = read_named(file, options, client)
    if not (options["pair"] or options["wide"] or options["relational"] or kind_of(file) in ARRAYS):
        _note(_hint(tensor), quiet)
    metadata = share_metadata(tensor, metadata | read_tables(options["metadata"], tensor))
    model = TensOrMachine(
        options["components"],
        n_chains=options["chains"],
        n_draws=options["draws"],
        burn_in="auto" if options["burn_in"] is None else options["burn_in"],
        noise=options["noise"],
        symmetric=undirected if options["shared"] else None,
        n_jobs=options["jobs"],
        random_state=options["seed"],
        progress=not quiet,
    )
    folder = Folder(out)
    words = click.get_current_context().find_root().obj
    folder.begin(words, metadata, undirected)
    try:
        model.fit(tensor, run_dir=out)
    except BaseException as error:
        folder.give_up()
        if isinstance(error, KeyboardInterrupt) and out.exists():
            _note(f"Stopped; continue with:  tensorm resume {out}", quiet)
        raise
    _tell(model, folder, as_json, quiet)


@main.command("resume")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@quietly("Print nothing but errors.")
def resume_command(folder: Path, as_json: bool, quiet: bool) -> None:
    """Continue an interrupted fit; the draws are the same as without the interruption.

    \b
    Example:
      tensorm resume runs/ward
    """
    _tell(resume(folder, progress=not quiet), Folder(folder), as_json, quiet)


def _note(text: str | None, quiet: bool) -> None:
    if text is not None and not quiet:
        click.echo(text, err=True)


def _hint(tensor: Tensor) -> str | None:
    """Return advice for two modes that seem to stand for the same things, as in a list of contacts."""
    named = [
        (mode, {str(label) for label in labels})
        for mode, labels in zip(tensor.modes, tensor.labels, strict=True)
        if labels is not None and len(labels) > 1
    ]
    for (i, some), (j, others) in itertools.combinations(named, 2):
        if 2 * len(some & others) > max(len(some), len(others)):
            return (
                f"{i} and {j} share {len(some & others):,} labels. If they stand for the same things, say so "
                f"with --pair {i},{j}; if their pairs have no direction, add --undirected."
            )
    return None


def _tell(model: TensOrMachine, folder: Folder, as_json: bool, quiet: bool) -> None:
    """Say what was found, for people or for programs."""
    if as_json:
        click.echo(json.dumps(summarise(model, folder.selection()), indent=1))
    if as_json or quiet:
        return
    posterior = model.posterior_
    sizes = " x ".join(
        f"{size:,} {mode}" for size, mode in zip(posterior.shape, posterior.modes, strict=True)
    )
    selection = folder.selection()
    found = f"{model.n_components_} component{'s' if model.n_components_ != 1 else ''}"
    say(f"{sizes}: {found} from {posterior.n_draws:,} draws.")
    if selection is not None:
        say(selection.reason)
    say("")
    for text in model.describe(groups_of(posterior, folder.metadata()), MOST):
        say(text, bold=r"^Components? \d+")
    say(f"\n{name_options(model.diagnostics_.verdict)}")
    say(f"The fit is in {folder.path}; see it all in a browser:  tensorm report {folder.path}")
    say(f'To go on in Python:  tensorm.load("{folder.path}")')


def summarise(model: TensOrMachine, selection: Selection | None) -> dict[str, Any]:
    """Return what was found as lists and numbers."""
    posterior = model.posterior_
    components = [
        {
            mode.name: {mode.label(n): round(float(mode.means[n, l]), 4) for n in sorted(mode.members(l))}
            for mode in read_modes(posterior)
        }
        for l in range(posterior.n_components)
    ]
    return {
        "modes": dict(zip(posterior.modes, posterior.shape, strict=True)),
        "n_components": model.n_components_,
        "reason": None if selection is None else selection.reason,
        "noise": model.noise_,
        "components": components,
        "verdict": model.diagnostics_.verdict,
    }
