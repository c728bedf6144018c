"""What follows the threshold above which indices are members: counts of the components, and sentences."""

from __future__ import annotations

import math
from typing import Any

from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.report.describe import describe_noise
from tensorm.report.page.finding import tell_finding
from tensorm.tensors.protocol import Tensor

STEPS = 20  # thresholds are 1/20, 2/20 and so on
MAX_COUNTED = 2**36  # cells times components, beyond which only members at 0.5 are counted
PACKED_COUNTS = ("covered", "explained", "added", "alone", "errors", "log_likelihood_lost")


def collect_levels(posterior: Posterior, tensor: Tensor | None) -> dict[str, Any]:
    """Return what thresholds say, and which of these each one says; None if that was not counted.

    Thresholds between which no membership lies say the same.
    """
    told: list[dict[str, Any]] = []
    at: list[int | None] = []
    known: dict[bytes, int] = {}
    small = math.prod(posterior.shape) * posterior.n_components <= MAX_COUNTED
    for step in range(1, STEPS):
        threshold = step / STEPS
        if threshold != MEMBER and (tensor is None or not small):
            at.append(None)
            continue
        members = b"".join(masks.tobytes() for masks in posterior.member_factors(threshold))
        if members not in known:
            known[members] = len(told)
            told.append(_tell_level(posterior, tensor, threshold))
        at.append(known[members])
    return {"at": at, "told": told}


def _tell_level(posterior: Posterior, tensor: Tensor | None, threshold: float) -> dict[str, Any]:
    counted = posterior.contributions
    if threshold != MEMBER and tensor is not None:
        counted = posterior.count_contributions(tensor, threshold)
    finding = tell_finding(posterior, counted, threshold)
    return {
        "found": finding.found,
        "sure": finding.sure,
        "noise": describe_noise(posterior, counted, threshold),
        "counts": [[round(getattr(row, name), 1) for name in PACKED_COUNTS] for row in counted],
    }
