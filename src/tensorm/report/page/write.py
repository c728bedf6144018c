"""Assemble the page and write it, completely or not at all."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorm.errors import FileError
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import read_modes
from tensorm.report.associations import Associations, associate
from tensorm.report.describe import count_rest, describe_components, describe_noise, pick_clear
from tensorm.report.metadata import Metadata, groups_of, read_metadata
from tensorm.report.page.cells import component_cells, slice_cells
from tensorm.report.page.charts import HEIGHT, WIDTH, chart_selection, chart_traces
from tensorm.report.page.pack import pack, pack_modes
from tensorm.report.page.recipe import Settings, list_settings, write_recipe
from tensorm.storage.files import quote, replace_file

if TYPE_CHECKING:
    from tensorm.report.selection import Selection

LARGEST_Q = 0.05  # of the associations listed
MOST_ASSOCIATIONS = 100


def write_report(posterior: Posterior, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a fit as a single HTML page; for the options see ``render_report``."""
    try:
        place = Path(path)
    except TypeError:
        raise FileError(f"path is {quote(path)}; give the name of a file.") from None
    replace_file(place, render_report(posterior, **options).encode())


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
    template, safe = _template()
    tensor = None if X is None else posterior.check_tensor(X)
    modes, columns = read_modes(posterior), read_metadata(posterior, metadata)
    components = describe_components(posterior, groups_of(posterior, metadata))
    shown, rest = pick_clear(components)
    slices = slice_cells(posterior, tensor)
    blocks = [component_cells(posterior, tensor, l) for l in range(posterior.n_components)]
    css, script = _asset("page.css"), _asset("page.js")
    return str(
        template.render(
            title=" × ".join(posterior.modes) if title is None else str(title),
            policy=_policy(css, script),
            css=safe(css),
            script=safe(script),
            data=pack(pack_modes(modes, columns), posterior.n_components, slices, blocks),
            posterior=posterior,
            modes=modes,
            columns=columns,
            components=components,
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
            largest_q=LARGEST_Q,
            most=MOST_ASSOCIATIONS,
            slices=slices,
            blocks=blocks,
            settings=list_settings(settings or {}),
            recipe=write_recipe(posterior, settings or {}, defaults or {}),
            command=command,
            version=version("tensorm"),
            width=WIDTH,
            height=HEIGHT,
        )
    )


def _template() -> tuple[Any, Any]:
    """Return the template, and the type that marks text as trusted markup."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError("A report needs jinja2; install it with: pip install 'tensorm[report]'") from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("page.html")), Markup


def _asset(name: str) -> str:
    return files("tensorm.report.page").joinpath(name).read_text("utf-8")


def _policy(css: str, script: str) -> str:
    """Return the content security policy: only this style and this script are allowed."""
    style, code = (b64encode(sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{style}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
