"""``tensorm fit``, ``resume`` and ``show``: sample, save the fit in a folder, and describe it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from tensorm.cli import options
from tensorm.cli.folders import load_metadata, starting
from tensorm.cli.groups import TOLD, main, name_options, noting, quietly, say
from tensorm.data.checks import MAX_REPEATS, check_amount, short
from tensorm.data.files import ENDINGS, FORMATS
from tensorm.data.text import ending_of
from tensorm.estimator.load import load, resume
from tensorm.estimator.machine import TensOrMachine
from tensorm.estimator.plan import INITS
from tensorm.estimator.progress import LOG
from tensorm.posterior.findings import compare_explanations, doubt_findings
from tensorm.posterior.modes import list_modes
from tensorm.report.describe import MAX_DESCRIBED
from tensorm.report.metadata import groups_of, share_metadata
from tensorm.report.naming import plural, quote_label
from tensorm.report.page.finding import name_sizes
from tensorm.report.selection import Selection
from tensorm.sampler.models import NOISE_UPDATES
from tensorm.sampler.state import FAILED
from tensorm.storage.run import FIT, RUN, find_file
from tensorm.tensors import Tensor
from tensorm.tensors.distributed import connect

MAX_PREVIEWED = 3  # labels of each mode
COMMANDLINE = click.core.ParameterSource.COMMANDLINE
SETTINGS = (
    "n_chains", "n_draws", "burn_in", "init", "effort", "noise", "background", "noise_update", "factor_prior",
    "noise_prior", "strength_prior",
)  # fmt: skip


def components(value: str) -> int | str:
    """Read a number, or auto."""
    if value == "auto":
        return value
    if not value.isdigit() or int(value) < 1:
        raise click.BadParameter(f"{short(value)} is neither auto nor a number of at least 1.")
    return int(value)


def prior(value: str) -> float | str:
    """Read a probability, or learned or short."""
    try:
        return value if value in ("learned", "short") else float(value)
    except ValueError:
        message = f"{short(value)} is neither learned, short, nor a number between 0 and 1."
        raise click.BadParameter(message) from None


def effort(value: str) -> float:
    """Read how hard to search."""
    try:
        return check_amount("effort", float(value))
    except ValueError:
        message = f"{short(value)} is not a number from 0 to {MAX_REPEATS:,}."
        raise click.BadParameter(message) from None


@main.command("fit", epilog=f"Files: {ENDINGS}.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "run_dir",
    type=options.FOLDER_PATH,
    help="Folder for the results; runs/NAME by default, with the name of the file.",
)
@click.option(
    "--components",
    "n_components",
    type=components,
    default="auto",
    metavar="AUTO|NUMBER",
    help="Number of components.",
)
@options.about_cells
@options.metadata
@click.option("--chains", "n_chains", type=options.COUNT, default=4, help="Number of independent chains.")
@click.option(
    "--burn-in",
    type=click.IntRange(min=0),
    help="Sweeps before the first draw; chosen automatically by default.",
)
@click.option(
    "--effort",
    type=effort,
    metavar="NUMBER",
    default=1.0,
    help="How hard to search for a better explanation: 0 is quickest, 10 takes up to ten times as long.",
)
@click.option("--draws", "n_draws", type=options.COUNT, default=250, help="Draws per chain.")
@click.option(
    "--init",
    type=click.Choice(INITS),
    default="data",
    help="Where chains start: from components found in the data, random factors, or fair coins.",
)
@options.noise
@options.background
@click.option(
    "--noise-update",
    type=click.Choice(NOISE_UPDATES),
    default="sample",
    help="Draw the rates, or set them to their estimate as the paper does.",
)
@click.option(
    "--factor-prior",
    type=prior,
    default="learned",
    metavar="LEARNED|SHORT|NUMBER",
    help="Probability that an index is in a component: learned for each mode, or one number. Short: sides of "
    "comparisons have few attributes.",
)
@options.noise_prior
@options.strength_prior
@click.option(
    "--as-published", is_flag=True, help="Use the paper's own algorithm; other options override its settings."
)
@options.seed
@options.jobs
@click.option("--workers", type=options.COUNT, help="Distribute the cells over this many local processes.")
@click.option("--scheduler", help="Use a running Dask cluster, such as tcp://10.0.0.1:8786.")
@click.option("--force", is_flag=True, help="Replace a run that the folder already contains.")
@options.as_json
@quietly("Print nothing but errors.")
def fit_command(file: Path, run_dir: Path | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Fit a model to the cells in FILE and save it in a folder.

    FILE is a table with a row for each event or cell, or an array.

    \b
    Examples:
      tensorm fit contacts.csv --modes hour,person,met --out runs/ward
      tensorm fit badges.tsv --time t --modes i,j --pair i,j --undirected --out runs/badges
      tensorm fit contacts.parquet --indices --components 7 --workers 2 --out runs/spread
      tensorm fit genes.csv --wide --modes patient,gene --components 8 --out runs/genes
      tensorm fit genes.csv --columns "g1,g1*" --components 2 --out runs/genes --force
      tensorm fit expression.csv --relational --modes patient,gene --components 4 --out runs/expression
      tensorm fit contacts.csv --modes hour,person,met --metadata person=roles.csv --out runs/roles
    """
    where = given.pop("scheduler"), given.pop("workers")
    run_dir = run_dir or Path("runs") / (file.name.split(".")[0] or "fit")
    with nullcontext() if where == (None, None) else connect(*where) as client:
        if client is not None:
            LOG.info(f"Dashboard of the cluster: {client.dashboard_link}")
        model = _fit(file, run_dir, given, client, not quiet)
        _tell(model, run_dir, as_json, quiet)


def _fit(file: Path, out: Path, given: dict[str, Any], client: Any, progress: bool) -> TensOrMachine:
    with noting() as notes:
        tensor, metadata = options.read_named(file, given, client)
    if not (given["pair"] or given["wide"] or given["relational"] or not FORMATS[ending_of(file)].table):
        _hint(tensor)
    LOG.info(_preview(tensor))
    metadata = share_metadata(tensor, metadata | options.read_metadata_files(given["metadata"], tensor))
    make = TensOrMachine.as_published if given["as_published"] else TensOrMachine
    model = make(
        given["n_components"],
        **_settings(given),
        symmetric=given["pair"] if given["symmetric"] else None,
        n_jobs=given["n_jobs"],
        random_state=given["random_state"],
        progress=progress,
    )
    context = click.get_current_context()
    about = {"command": context.find_root().obj, "notes": [name_options(text, context) for text in notes]}
    with _saying_how_to_go_on(out), starting(out, about, metadata, given["force"]):
        return model.fit(tensor, run_dir=out)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the estimator's settings; in place of the paper's only those given on the command line."""
    source = click.get_current_context().get_parameter_source
    chosen = [name for name in SETTINGS if not given["as_published"] or source(name) is COMMANDLINE]
    given = given | {"strength_prior": dict(given["strength_prior"]) or None}
    return {name: "auto" if (name, given[name]) == ("burn_in", None) else given[name] for name in chosen}


@main.command("resume")
@options.folder
@options.as_json
@quietly("Print nothing but errors.")
def resume_command(run_dir: Path, as_json: bool, quiet: bool) -> None:
    """Continue an interrupted fit, with the same draws.

    \b
    Example:
      tensorm resume runs/ward
    """
    with _saying_how_to_go_on(run_dir):
        model = resume(run_dir, progress=not quiet)
    _tell(model, run_dir, as_json, quiet)


@main.command("show")
@options.fit
@options.as_json
def show_command(fit: Path, as_json: bool) -> None:
    """Describe a fit.

    FIT is the folder of a run, or a saved file.

    \b
    Examples:
      tensorm show runs/ward
      tensorm show ward.tensorm
    """
    _tell(load(fit), fit, as_json, quiet=False)


@contextmanager
def _saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """Say how to continue a run that Ctrl-C or SIGTERM stopped."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if find_file(folder, RUN) is not None:
            LOG.info(f"Stopped. To continue:  tensorm resume {folder}")
            click.get_current_context().meta[TOLD] = True
        raise


def _hint(tensor: Tensor) -> None:
    """Give advice on two modes that seem to stand for the same things, as in a list of contacts."""
    named = [
        (mode, {str(label) for label in labels})
        for mode, labels in zip(tensor.modes, tensor.labels, strict=True)
        if labels is not None and len(labels) > 1
    ]
    for (i, some), (j, others) in itertools.combinations(named, 2):
        if 2 * len(some & others) > max(len(some), len(others)):
            LOG.info(
                f"{i!r} and {j!r} share {len(some & others):,} labels. If they stand for the same things, "
                f"add --pair {i},{j}; if their pairs have no direction, also add --undirected."
            )
            return


def _preview(tensor: Tensor) -> str:
    """Return the size and the first labels of each mode: what the fit will be about."""
    parts = []
    for mode, size, labels in zip(tensor.modes, tensor.shape, tensor.labels, strict=True):
        names = map(str, range(min(size, MAX_PREVIEWED)) if labels is None else labels[:MAX_PREVIEWED])
        shown = ", ".join(quote_label(name[:40]) for name in names) + ", ..." * (size > MAX_PREVIEWED)
        parts.append(f"{size:,} {plural(mode, size)} ({shown})")
    return f"Cells: {' × '.join(parts)}."


def _tell(model: TensOrMachine, fit: Path, as_json: bool, quiet: bool) -> None:
    """Say what was found, for people or for programs."""
    selection, posterior = Selection.read(fit), model.posterior_
    if as_json:
        click.echo(json.dumps(_to_lists(model, selection), indent=1))
    if as_json or quiet:
        return
    used = len(posterior._recall(compare_explanations).used)
    found = f"{used} component{'s' * (used != 1)}"
    say(f"{name_sizes(list_modes(posterior))}: {found} from {posterior.n_draws:,} draws.")
    if selection is not None:
        say(selection.reason)
    say("")
    for text in model.describe(groups_of(posterior, load_metadata(fit)), MAX_DESCRIBED):
        say(text, bold=r"^Components? \d+")
    if not posterior._recall(doubt_findings):  # which the description says first
        say(f"\n{model.diagnostics_.conclusion}")
    if fit.is_dir() and find_file(fit, FIT) is None:
        say(f"Stopped before the end. To continue:  tensorm resume {fit}")
        return
    if fit.is_dir() and (failed := posterior.outcomes.count(FAILED)):
        them = "it" if failed == 1 else "them"
        say(f"To try {them} again:  tensorm resume {fit}")  # that they failed is said above
    say(f"The fit is saved in {fit}. To see it in a browser:  tensorm report {fit}")
    say(f'To use it in Python:  tensorm.load("{fit}")')


def _to_lists(model: TensOrMachine, selection: Selection | None) -> dict[str, Any]:
    """Return what was found as lists and numbers."""
    posterior = model.posterior_
    components = [
        {
            mode.name: {mode.label(n): round(float(mode.means[n, l]), 4) for n in sorted(mode.members(l))}
            for mode in list_modes(posterior)
        }
        for l in range(posterior.n_components)
    ]
    return {
        "modes": dict(zip(posterior.modes, posterior.shape, strict=True)),
        "n_components": model.n_components_,
        "reason": None if selection is None else selection.reason,
        "noise": model.noise_,
        "noise_choice": model.noise_choice_,
        "components": components,
        "conclusion": model.diagnostics_.conclusion,
    }
