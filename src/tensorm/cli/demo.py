"""``tensorm demo``: fit, describe, draw and report an invented hospital ward."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from tensorm.cli.groups import main, say
from tensorm.datasets import WardTruth, ward, ward_truth
from tensorm.estimator.machine import TensOrMachine
from tensorm.posterior.align import similarity


@main.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="demo",
    show_default=True,
    help="Folder for the figure and the report; created if necessary.",
)
@click.option(
    "--components", type=click.IntRange(min=1), default=7, show_default=True, help="Number of components."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
def demo(out: Path, components: int, seed: int) -> None:
    """Try tensorm on invented contacts in a hospital ward."""
    out.mkdir(parents=True, exist_ok=True)
    X, truth = ward(), ward_truth()
    roles = {"person": X.role, "met": X.role}
    say(
        f"Who met whom on an invented hospital ward: {X.shape[0]} hours x {X.shape[1]} people x {X.shape[2]} "
        f"people, {np.nanmean(X):.1%} of the cells are 1."
    )
    start = time.perf_counter()
    model = TensOrMachine(n_components=components, random_state=seed).fit(X)
    seconds = time.perf_counter() - start
    say(f"{components} components from {model.posterior_.n_draws:,} draws, in {seconds:.1f} s:\n")
    for text in model.describe(roles):
        say(text, bold=r"^Components? \d+")
    say(f"\n{_name_planted(model.factors_, truth)}")
    picture = out / "factors.png"
    model.plot(groups=roles).savefig(picture, dpi=110)
    say(f"Figure of the factors: {picture}")
    report = out / "report.html"
    model.report(report, X, metadata=roles, title="Who met whom on an invented hospital ward")
    say(f"Report, to open in a browser: {report}")


def _name_planted(factors: Sequence[Any], truth: WardTruth) -> str:
    """Return a sentence on which component is which planted group."""
    alike = similarity([factor.astype(float) for factor in truth.factors], factors)
    found = {name: int(row.argmax()) for name, row in zip(truth.names, alike, strict=True) if row.max() > 0.9}
    which = ", ".join(f"{name} ({component})" for name, component in found.items()) or "none"
    many = "All" if len(found) == len(truth.names) else f"{len(found)} of the"
    return f"{many} {len(truth.names)} groups planted in the data were found: {which}."
