"""The command line: one function for each command, which reads arguments, calls the package and prints.

Results go to standard output as plain text (with colour on a terminal); progress, notes and errors go to
standard error. What a user can put right ends in one sentence and exit code 2, never in a traceback.
"""

from __future__ import annotations

import errno
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.text import Text

from tensorm.datasets import WardTruth, ward, ward_truth
from tensorm.diagnostics import similarity
from tensorm.errors import InputError
from tensorm.estimator import TensOrMachine
from tensorm.plots import plot_factors
from tensorm.report import write_report
from tensorm.words import describe


class Refusal(click.ClickException):
    """Something the user can put right; shown as one sentence."""

    exit_code = 2


class Commands(click.Group):
    """Commands whose expected errors and notes are sentences."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with _speaking_plainly():
                return super().invoke(ctx)
        except (InputError, ImportError) as error:
            raise Refusal(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read the output has left: click ends quietly
                raise
            raise Refusal(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tensorm", message="tensorm %(version)s")
def main() -> None:
    """Find patterns in multi-way yes/no data."""


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="demo",
    show_default=True,
    help="Folder for the picture and the report; made if it is not there.",
)
@click.option(
    "--components", type=click.IntRange(min=1), default=7, show_default=True, help="How many to find."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers."
)
def demo(out: Path, components: int, seed: int) -> None:
    """Decompose an invented hospital ward's contacts; say, draw and report what was found."""
    out.mkdir(parents=True, exist_ok=True)
    X, truth = ward(), ward_truth()
    roles = {"person": X.role, "met": X.role}
    _say(
        f"Who met whom on an invented hospital ward: {X.shape[0]} hours x {X.shape[1]} people x {X.shape[2]} "
        f"people, {np.nanmean(X):.1%} of the cells are 1."
    )
    model, seconds = _timed_fit(TensOrMachine(n_components=components, random_state=seed), X)
    _say(f"{components} components from {model.posterior_.n_draws:,} draws, in {seconds:.1f} s:\n")
    for text in describe(model, roles):
        _say(text, bold=r"^Components? \d+")
    _say(f"\n{_name_planted(model.factors_, truth)}")
    picture = out / "factors.png"
    plot_factors(model, roles).savefig(picture, dpi=110)
    _say(f"Picture of the factors: {picture}")
    report = out / "report.html"
    write_report(model, report, X=X, metadata=roles, title="Who met whom on an invented hospital ward")
    _say(f"All of it as a page for the browser: {report}")


def _timed_fit(model: TensOrMachine, X: Any) -> tuple[TensOrMachine, float]:
    start = time.perf_counter()
    return model.fit(X), time.perf_counter() - start


def _name_planted(factors: Sequence[Any], truth: WardTruth) -> str:
    """Say which component is which planted group."""
    alike = similarity([factor.astype(float) for factor in truth.factors], factors)
    found = {name: int(row.argmax()) for name, row in zip(truth.names, alike, strict=True) if row.max() > 0.9}
    which = ", ".join(f"{name} ({component})" for name, component in found.items()) or "none"
    many = "All" if len(found) == len(truth.names) else f"{len(found)} of the"
    return f"{many} {len(truth.names)} groups planted in these data were found: {which}."


def _say(text: str, bold: str | None = None) -> None:
    """Print a text: wrapped and with colour on a terminal, as it is elsewhere."""
    console = Console(highlight=False)
    styled = Text(text)
    if bold is not None:
        styled.highlight_regex(bold, "bold")
    console.print(styled, soft_wrap=not console.is_terminal)


class _Echo(logging.Handler):
    """Shows log records as plain lines."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(record.getMessage(), err=True)


@contextmanager
def _speaking_plainly() -> Iterator[None]:
    """Show the package's notes and all warnings as plain lines while the block runs."""
    logger, handler = logging.getLogger("tensorm"), _Echo()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: click.echo(f"Note: {message}", err=True)
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
