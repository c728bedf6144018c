"""The first sentences of the page: what was found, and how certain it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tensorm.posterior.align import MEMBER, active
from tensorm.posterior.contributions import Contribution
from tensorm.posterior.draws import Posterior
from tensorm.posterior.findings import doubt_findings
from tensorm.posterior.modes import FittedMode, list_modes
from tensorm.report.describe import percent, share_explained


class Finding(NamedTuple):
    """What was found.

    Attributes
    ----------
    found, sure : str
        Sentences.
    noise : bool
        Whether the data look like noise.
    """

    found: str
    sure: str
    noise: bool


def tell_finding(
    posterior: Posterior,
    counted: Sequence[Contribution] = (),
    threshold: float = MEMBER,
) -> Finding:
    """Say what was found; ``sure`` does not repeat the conclusion of the diagnostics.

    Members are above the threshold, and `counted` says what these do; by default the contributions.
    """
    used, where = int(active(posterior.factors, threshold).sum()), name_sizes(list_modes(posterior))
    components, s = f"{used:,} component{'s' * (used != 1)}", "s" * (used == 1)
    why = posterior._recall(doubt_findings)
    told = f": {why}" * (threshold == MEMBER)  # the reason holds for members as they are
    noise, doubtful = f"The data look like noise{told}. " if why else "", bool(why)
    if not used:
        ones = f"{percent(posterior.base_rate)} of the observed cells are 1"
        found = f"o component was found in {where}; {ones}."
        return Finding(f"The data look like noise: n{found}" if doubtful else f"N{found}", "", doubtful)
    if posterior.compared:
        told, right = map(percent, _said(posterior, counted))
        found = (
            f"{components} predict{s} {told} of the comparisons in {where}, and {right} of these correctly."
        )
        return Finding(noise + found, "By chance, half of them would be correct.", doubtful)
    ones, cells = map(percent, share_explained(posterior, counted))
    found = f"{components} explain{s} {ones} of the ones in {where} and cover{s} {cells} of the cells."
    sure = f"The same number of random cells would contain {cells} of the ones."
    return Finding(noise + found, sure, doubtful)


def name_sizes(modes: Sequence[FittedMode]) -> str:
    """Return "13 × 75 × 75 cells (hour × person × met)"; names stay as they are: "met" has no plural."""
    text = f"{' × '.join(f'{len(mode.means):,}' for mode in modes)} cells"
    if all(mode.name == f"mode {k}" for k, mode in enumerate(modes)):  # nobody named them
        return text
    return f"{text} ({' × '.join(mode.name for mode in modes)})"


def _said(posterior: Posterior, counted: Sequence[Contribution]) -> tuple[float, float]:
    """Return the share of comparisons that components make, and how many of these are so."""
    if counted or posterior.contributions:
        correct, inside = share_explained(posterior, counted)
        return inside, (correct - (1 - inside) / 2) / (inside or 1)
    tp, fp, fn, tn = np.concatenate([trace.confusion for trace in posterior.traces]).mean(axis=0)
    return float((tp + fp) / max((tp + fp + fn + tn) / 2, 1)), float(tp / max(tp + fp, 1))
