"""Assemble the page and write it, completely or not at all."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from tensorm.data.checks import check_text, short
from tensorm.data.version import __version__
from tensorm.errors import InputError, printable
from tensorm.posterior.diagnostics import Diagnostics, diagnose
from tensorm.posterior.draws import Posterior
from tensorm.report.describe import describe_components, describe_noise
from tensorm.report.metadata import Metadata, groups_of, read_metadata, share_metadata
from tensorm.report.page.charts import chart_selection, trace_chains
from tensorm.report.page.content import collect, tabulate_associations, tabulate_chains
from tensorm.report.page.finding import Finding, tell_finding
from tensorm.report.selection import Selection
from tensorm.storage.files import as_path, replace_file
from tensorm.tensors.protocol import Pair, Tensor

SCRIPTS = (  # in this order; each is a part of one function
    "start", "state", "model", "words", "paint", "table", "grid", "index", "overview", "component", "label",
    "map", "cells", "network", "fit", "search", "main",
)  # fmt: skip
NO_RECIPE = ("progress", "n_jobs")  # the draws do not depend on them
Settings = Mapping[str, Any]


def write_page(posterior: Posterior, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a fit as a single HTML page; for the options see ``render_report``."""
    place = as_path(path)
    replace_file(place, render_report(posterior, **options).encode(errors="backslashreplace"))


def render_report(
    posterior: Posterior,
    *,
    X: Any = None,
    metadata: Metadata | None = None,
    selection: Selection | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    settings: Settings | None = None,
    defaults: Settings | None = None,
    tied: Pair | None = None,
) -> str:
    """Return the page as text.

    Parameters
    ----------
    posterior : Posterior
    X, metadata, selection, title, command, notes
        As for ``TensOrMachine.report``.
    settings, defaults : mapping, optional
        The settings of the estimator and their defaults, for the section on how to repeat the fit.
    tied : pair of int, optional
        Two modes that share a factor.
    """
    for name, text in (("title", title), ("command", command)):
        check_text(name, text)
    if not isinstance(selection, Selection | None):
        raise InputError(f"selection is {short(selection)}; give what select_components returned.")
    heading = printable(_title_of(posterior) if title is None else title)
    tensor = None if X is None else posterior.check_tensor(X)
    counted = None
    if tensor is not None:
        counted = _hold(posterior, tensor, tied)
        posterior = posterior.measure(counted)
    if metadata is not None:
        read_metadata(posterior, metadata)  # raises if it does not fit
        metadata = share_metadata(posterior, metadata)
    told = describe_components(posterior, groups_of(posterior, metadata))
    diagnostics = diagnose(posterior)
    texts = {name: _text(value) for name, value in (settings or {}).items()}
    finding = tell_finding(posterior, diagnostics)
    content = collect(posterior, tensor, metadata, told, diagnostics, counted) | {
        "title": heading,
        "version": __version__,
        "fit": tabulate_chains(posterior, diagnostics),
        "traces": trace_chains(posterior, diagnostics),
        "selection": None if selection is None else chart_selection(selection),
        "associations": tabulate_associations(posterior, metadata),
        "facts": _list_facts(posterior),
        "settings": texts,
        "recipe": _recipe(posterior, texts, defaults or {}) if texts else None,
        "command": command,
        "notes": [printable(str(note)) for note in notes],
    }
    why = "" if selection is None else selection.reason
    static = [*map(str, told), describe_noise(posterior), why, command or ""]
    return _fill(content, static, finding, diagnostics)


def _fill(
    content: Mapping[str, Any], static: Sequence[str], finding: Finding, diagnostics: Diagnostics
) -> str:
    """Return the page with its content, and with texts that can be read without its script."""
    css, script = _asset("page.css"), _script()
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), allow_nan=False).encode())
    return Template(_asset("page.html")).substitute(
        title=escape(content["title"]),
        policy=_policy(css, script),
        version=escape(__version__),
        css=css,
        found=escape(finding.found).replace(" × ", "&nbsp;×&nbsp;"),  # sizes stay on one line
        sure=escape(finding.sure),
        state="fine" if diagnostics.fine else "heed",
        conclusion=escape(diagnostics.beside(finding.noise)),
        plain="\n".join(f"<p>{escape(text)}</p>" for text in static if text),
        data=b64encode(packed).decode(),  # no browser takes it for markup
        script=script,
    )


def _hold(posterior: Posterior, tensor: Tensor, tied: Pair | None) -> Tensor:
    """Return the cells as the fit counted them."""
    if posterior.compared:
        return tensor.compared()
    return tensor.tied(tied) if tensor.pair is None else tensor


def _title_of(posterior: Posterior) -> str:
    """Return the modes, or the size of the data if nobody named them."""
    unnamed = all(mode == f"mode {k}" for k, mode in enumerate(posterior.modes))
    return f"{_sizes(posterior)} cells" if unnamed else " × ".join(posterior.modes)


def _sizes(posterior: Posterior) -> str:
    return " × ".join(f"{size:,}" for size in posterior.shape)


def _list_facts(posterior: Posterior) -> dict[str, str]:
    return {
        "shape": _sizes(posterior),
        "observed cells": f"{posterior.n_observed:,}",
        "share of ones": f"{posterior.base_rate:.2%}",
        "draws": f"{posterior.n_draws:,} from {len(posterior.chains)} chains",
    }


def _asset(name: str) -> str:
    return files("tensorm.report.page").joinpath(name).read_text("utf-8")


def _script() -> str:
    """Return the scripts as one function, so that they share their names with nobody else."""
    parts = "\n".join(_asset(f"scripts/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(async () => {{\n{parts}\n}})();'


def _policy(css: str, script: str) -> str:
    """Return the content security policy: only this style and this script are allowed."""
    style, code = (b64encode(sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{style}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _recipe(posterior: Posterior, texts: Mapping[str, str], defaults: Settings) -> str:
    """Return Python code that repeats the fit; settings equal to their defaults are left out."""
    sizes = " x ".join(
        f"{size:,} ({printable(mode)})"  # on one line: what follows is code
        for size, mode in zip(posterior.shape, posterior.modes, strict=True)
    )
    arguments = ", ".join(
        f"{name}={text}"
        for name, text in texts.items()
        if name not in NO_RECIPE and (name == "n_components" or text != _text(defaults.get(name)))
    )
    return (
        f"import tensorm\n\nX = ...  # the data, {sizes}\n"
        f"model = tensorm.TensOrMachine({arguments}).fit(X)\n"
        'model.report("report.html", X)\n'
    )


def _text(value: Any) -> str:
    """Return a setting as Python code, or a short placeholder for a long one."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int, float)):
        return repr(value)
    if isinstance(value, tuple) and all(isinstance(part, (int, float)) for part in value):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(part) for part in value)}]"
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    return f"<{type(value).__name__}>"
