"""Numbers behind the line charts of the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorm.posterior.diagnostics import Diagnostics
from tensorm.posterior.draws import Posterior
from tensorm.report.selection import Selection

MAX_CHART_POINTS = 250  # of a line


def trace_chains(posterior: Posterior, diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """Return the log-likelihood over the draws of each chain, if it says more than that all is well."""
    if diagnostics.fine:
        return []
    lines = []
    known = zip(posterior.numbers, posterior.chains, posterior.explanations, strict=True)
    for chain, trace, number in known:
        at = np.unique(np.linspace(0, len(trace) - 1, min(len(trace), MAX_CHART_POINTS)).astype(int))
        values = np.round(trace.log_likelihood[at], 2)
        lines.append({"chain": chain, "explanation": number, "x": at.tolist(), "y": values.tolist()})
    return lines


def chart_selection(selection: Selection) -> dict[str, Any]:
    """Return the numbers of components that were tried, their scores and standard errors."""
    return {
        "best": selection.best,
        "reason": selection.reason,
        "score": selection.score_name,
        "shares": selection.method == "posterior",  # the scores are probabilities
        "tried": [
            [row.n_components, row.score, None if row.error != row.error else row.error]
            for row in selection.candidates
        ],
    }
