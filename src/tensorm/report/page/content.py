"""Everything that the page shows, as plain lists, numbers and texts for its script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.posterior.contributions import count_members
from tensorm.posterior.diagnostics import Diagnostics
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, list_modes
from tensorm.report.associations import Associations, associate
from tensorm.report.describe import Description
from tensorm.report.export import summarise_parameter
from tensorm.report.metadata import Column, Metadata, read_metadata
from tensorm.report.naming import ORDERED, follows, plural
from tensorm.report.page.cells import (
    list_residuals,
    list_surprises,
    list_unknown,
    pairs_of,
    picture_box,
    read_box,
    slice_cells,
    weigh_pairs,
)
from tensorm.report.page.levels import collect_levels
from tensorm.report.page.members import find_homes, pack_members
from tensorm.sampler.noise_model import ACTIVITY, STRENGTH
from tensorm.tensors.protocol import Tensor
from tensorm.tensors.ranked import by_mode

MAX_Q = 0.05  # of the associations that are shown


def collect(
    posterior: Posterior,
    tensor: Tensor | None,
    metadata: Metadata | None,
    told: Sequence[Description],
    diagnostics: Diagnostics,
    counted: Tensor | None = None,
) -> dict[str, Any]:
    """Return modes, components and cells; `told` describes the components.

    `counted` is the tensor as the fit counts it, such as each pair once.
    """
    modes = list_modes(posterior)
    pair = posterior.compared or next(pairs_of(modes), None)
    every = [np.arange(size) for size in posterior.shape]
    counts = None if tensor is None else count_members(counted or tensor, posterior.member_factors(), every)
    homes = find_homes(posterior, counts, pair)
    boxes = [read_box(posterior, tensor, l) for l in range(posterior.n_components)]
    known = zip(modes, read_metadata(posterior, metadata), homes, _activities(posterior), strict=True)
    slices = slice_cells(posterior, tensor, homes)
    mirrored = tensor is not None and (tensor.mirrored is not None or _is_symmetric(slices, pair))
    return {
        "modes": [
            _pack_mode(*parts, twin=pair is not None and k == pair[1]) for k, parts in enumerate(known)
        ],
        "pair": pair,
        "mirrored": mirrored,
        "compares": posterior.compared is not None,
        "chains": len(posterior.chains),
        "outside": finite(posterior.background),
        "ones": round(posterior.base_rate * posterior.n_observed),
        "components": [
            _pack_component(posterior, description)
            | {"members": pack_members(posterior, description.component)}
            | {"block": None if box is None else picture_box(posterior, box)}
            for description, box in zip(told, boxes, strict=True)
        ],
        "levels": collect_levels(posterior, counted or tensor, diagnostics),
        "slices": slices,
        "network": None
        if pair is None or posterior.compared
        else weigh_pairs(posterior, tensor, pair, homes[pair[0]]),
        "unknown": [] if tensor is None else list_unknown(posterior, tensor, boxes, pair),
        "surprises": [] if tensor is None else list_surprises(posterior, tensor, boxes),
        "residuals": [] if tensor is None or posterior.compared else list_residuals(posterior, tensor),
    }


def _is_symmetric(slices: dict[str, Any], pair: tuple[int, int] | None) -> bool:
    """Whether all cells of the pictures equal their mirror images, so that each need be listed once."""
    if (slices["rows"], slices["columns"]) != pair or slices["row_indices"] != slices["column_indices"]:
        return False
    side = len(slices["row_indices"])
    pictures = np.reshape(slices["data"], (-1, side, side))
    return bool((pictures == pictures.transpose(0, 2, 1)).all())


def _pack_mode(
    mode: FittedMode,
    columns: Sequence[Column],
    home: Any,
    activity: dict[str, list[float]] | None,
    twin: bool,
) -> dict[str, Any]:
    """Return a mode; the second of two modes for the same things is named as it is: "met" has no plural."""
    N = len(mode.means)
    grouping = [column.grouping for column in columns]
    return {
        "name": mode.name,
        "plural": mode.name if twin else plural(mode.name, 2),
        "labels": [mode.label(n) for n in range(N)],
        "named": mode.labels is not None,
        "ordered": mode.labels is None or mode.labels.dtype.kind in ORDERED,
        "follows": "0" + "".join("01"[follows(mode, n)] for n in range(1, N)),
        "home": home.tolist(),
        "groups": grouping.index(True) if True in grouping else None,
        "activity": activity,
        "columns": [
            {
                "name": column.name,
                "values": column.values.tolist(),
                "numbers": None if column.numbers is None else [finite(number) for number in column.numbers],
                "categories": column.categories,
            }
            for column in columns
        ],
    }


def _pack_component(posterior: Posterior, told: Description) -> dict[str, Any]:
    l = told.component
    strength = {} if posterior.strengths is None else summarise_parameter(posterior, STRENGTH)
    return {
        "chains": told.chains,
        "strength": [finite(part[l]) for part in strength.values()] or None,
    }


def _activities(posterior: Posterior) -> list[dict[str, list[float]] | None]:
    """Return for each mode how active its indices are without any component, if the noise has activities."""
    if posterior.activities is None:
        return [None for _ in posterior.shape]
    parts = {
        name: by_mode(part, posterior.shape)
        for name, part in summarise_parameter(posterior, ACTIVITY).items()
    }
    return [
        {name: np.round(part[k], 3).tolist() for name, part in parts.items()}
        for k in range(len(posterior.shape))
    ]


def tabulate_chains(posterior: Posterior, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the conclusion on the chains, sentences and two tables."""
    return {
        "conclusion": diagnostics.conclusion,
        "fine": diagnostics.fine,
        "texts": diagnostics.sentences()[:-1],
        "chains": [
            {
                "chain": row.chain,
                "explanation": row.explanation,
                "weight": round(row.weight, 2),
                ("correct" if posterior.compared else "ones explained"): round(row.explained, 3),
                "cells covered": round(row.covered, 3),
                "log-likelihood": round(row.log_likelihood, 1),
                "components": row.active,
                "agreement": round(row.agreement, 3),
                "burn-in": row.burn_in,
            }
            for row in diagnostics.chains
        ],
        "quantities": [
            {
                "quantity": row.name,
                "R-hat": finite(row.rhat, 2),
                "ESS": finite(row.ess, 0),
                "tail ESS": finite(row.ess_tail, 0),
                "note": diagnostics.note(row),
            }
            for row in diagnostics.quantities
        ],
    }


def tabulate_associations(posterior: Posterior, metadata: Metadata | None) -> dict[str, Any]:
    """Return how many associations were tested, and those with a small q."""
    found = associate(posterior, metadata) if metadata else Associations(())
    return {
        "tested": len(found),
        "q": MAX_Q,
        "rows": [
            {
                "component": row.component,
                "mode": row.mode,
                "metadata": row.topic,
                "members": row.inside,
                "compared with": row.otherwise,
                "q": float(f"{row.q:.2g}"),
            }
            for row in found.below(MAX_Q)
        ],
    }


def finite(value: float | None, digits: int = 4) -> float | None:
    """Return a rounded number; None for what JSON has no word for."""
    if value is None or not math.isfinite(value):
        return None
    rounded = round(float(value), digits)
    return int(rounded) if rounded == int(rounded) else rounded
