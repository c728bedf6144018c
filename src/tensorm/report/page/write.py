"""Assemble the page and write it, completely or not at all."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

from tensorm.data.checks import check_text, short
from tensorm.errors import InputError
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, read_modes
from tensorm.report.associations import Associations, associate
from tensorm.report.describe import count_rest, describe_components, describe_noise, pick_clear
from tensorm.report.export import summarise_parameter
from tensorm.report.metadata import Column, Metadata, groups_of, read_metadata
from tensorm.report.page.cells import component_cells, slice_cells
from tensorm.report.page.charts import HEIGHT, WIDTH, chart_selection, chart_traces
from tensorm.report.selection import Selection
from tensorm.storage.files import as_path, replace_file
from tensorm.tensors.ranked import split

UNITS = 10_000  # of a probability in the data that the script reads
NO_RECIPE = ("progress", "n_jobs")  # the draws do not depend on them
Settings = Mapping[str, Any]


def write_report(posterior: Posterior, path: str | os.PathLike[str], **options: Any) -> None:
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
    settings: Settings | None = None,
    defaults: Settings | None = None,
) -> str:
    """Return the page as text.

    Parameters
    ----------
    posterior : Posterior
    X, metadata, selection, title, command
        As for ``TensOrMachine.report``.
    settings, defaults : mapping, optional
        The settings of the estimator and their defaults, for the section on how to repeat the fit.
    """
    template = _template()
    for name, text in (("title", title), ("command", command)):
        check_text(name, text)
    if not isinstance(selection, Selection | None):
        raise InputError(f"selection is {short(selection)}; give what select_components returned.")
    tensor = None if X is None else posterior.check_tensor(X)
    modes = read_modes(posterior)
    columns = [
        [*known, *busy]
        for known, busy in zip(read_metadata(posterior, metadata), _rate(posterior), strict=True)
    ]
    components = describe_components(posterior, groups_of(posterior, metadata))
    shown, rest = pick_clear(components)
    slices = slice_cells(posterior, tensor)
    blocks = [component_cells(posterior, tensor, l) for l in range(posterior.n_components)]
    css, script = _asset("page.css"), _asset("page.js")
    content = {
        "components": posterior.n_components,
        "modes": [_pack_mode(mode, known) for mode, known in zip(modes, columns, strict=True)],
        "slices": slices._asdict(),
        "blocks": [None if block is None else block._asdict() for block in blocks],
    }
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
    texts = {name: _text(value) for name, value in (settings or {}).items()}
    return str(
        template.render(
            title=" × ".join(posterior.modes) if title is None else title,
            policy=_policy(css, script),
            css=css,
            script=script,
            data=b64encode(packed).decode(),  # no browser takes it for markup
            posterior=posterior,
            modes=modes,
            columns=columns,
            components=components,
            strengths=_list_strengths(posterior),
            busy="activity" in posterior.noise,
            shown=shown,
            rest=rest,
            rest_count=count_rest(rest),
            noise=describe_noise(posterior),
            observed=int(posterior.chains[0].confusion[0].sum()),
            diagnostics=diagnose(posterior),
            traces=chart_traces(posterior),
            selection=selection,
            selection_chart=None if selection is None else chart_selection(selection),
            associations=associate(posterior, metadata) if metadata else Associations(()),
            slices=slices,
            blocks=blocks,
            settings=texts,
            recipe=_recipe(posterior, texts, defaults or {}),
            command=command,
            version=version("tensorm"),
            width=WIDTH,
            height=HEIGHT,
        )
    )


def _rate(posterior: Posterior) -> list[list[Column]]:
    """Return for each mode how active its indices are without any component, if the noise has activities."""
    if "activity" not in posterior.noise:
        return [[] for _ in posterior.shape]
    parts = split(np.array(posterior.noise["activity"]), posterior.shape)
    return [[Column("activity", np.array([f"{rate:.2g}" for rate in part]), part)] for part in parts]


def _list_strengths(posterior: Posterior) -> list[tuple[float, float, float]]:
    """Return mean and 90% interval of each component's strength, if it has one."""
    if "strength" not in posterior.noise:
        return []
    return list(zip(*summarise_parameter(posterior, "strength").values(), strict=True))


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("A report needs jinja2; install it with: pip install 'tensorm[report]'") from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("page.html"))


def _asset(name: str) -> str:
    return files("tensorm.report.page").joinpath(name).read_text("utf-8")


def _policy(css: str, script: str) -> str:
    """Return the content security policy: only this style and this script are allowed."""
    style, code = (b64encode(sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{style}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _pack_mode(mode: FittedMode, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a mode's labels, means and metadata for the script."""
    return {
        "name": mode.name,
        "labels": [mode.label(n) for n in range(len(mode.means))],
        "means": np.rint(UNITS * mode.means).astype(int).ravel().tolist(),
        "columns": [
            {
                "name": column.name,
                "values": column.values.tolist(),
                "numbers": None
                if column.numbers is None
                else [None if number != number else float(number) for number in column.numbers],
            }
            for column in columns
        ],
    }


def _recipe(posterior: Posterior, texts: Mapping[str, str], defaults: Settings) -> str:
    """Return Python code that repeats the fit; settings equal to their defaults are left out."""
    sizes = " x ".join(
        f"{size:,} ({mode})" for size, mode in zip(posterior.shape, posterior.modes, strict=True)
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
