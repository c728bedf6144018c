"""The page put together and written, whole or not at all."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorm.errors import FileError, InputError
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import posterior_of, read_modes
from tensorm.report.associations import Associations, associate
from tensorm.report.describe import count_left, describe_components, describe_noise, pick_clear
from tensorm.report.metadata import Metadata, groups_of, read_metadata
from tensorm.report.page.cells import component_cells, slice_cells
from tensorm.report.page.charts import HEIGHT, WIDTH, chart_selection, chart_traces
from tensorm.report.page.pack import pack, pack_modes
from tensorm.report.page.recipe import list_settings, write_recipe
from tensorm.storage.files import quote, replace_file
from tensorm.tensors import Tensor, as_tensor

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine
    from tensorm.report.selection import Selection

SURE = 0.05  # q up to which an association is listed
MOST_ASSOCIATIONS = 100


def write_report(
    model: TensOrMachine | Posterior,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    metadata: Metadata | None = None,
    selection: Selection | None = None,
    title: str | None = None,
    command: str | None = None,
) -> None:
    """Write a fit as one HTML page, to be opened in a browser, mailed or printed; it loads nothing else.

    The page says what was found, shows who is in each component with what probability, the data beside the
    reconstruction, whether chains agree, how the number of components was chosen, and how to fit the same
    again.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    path : path
        The file to write; an older one is replaced in a single step.
    X : array-like or tensor, optional
        The data of the fit, which it does not keep; without them the page shows predictions only.
    metadata : mapping, optional
        For some modes, by name or number, a table with a row for each label, such as the role of a person; or
        an array with a value for each index. Rows of the page are ordered and filtered by it, and components
        tested for it.
    selection : Selection, optional
        How the number of components was chosen; by default what the model holds.
    title : str, optional
        The heading; by default the names of the modes.
    command : str, optional
        The lines typed into a terminal that made the fit, shown beside those of Python.

    Raises
    ------
    InputError
        When X has another shape, or a table has labels that the data do not have.
    FileError
        When the file cannot be written.
    """
    try:
        place = Path(path)
    except TypeError:
        raise FileError(f"path is {quote(path)}; give the name of a file.") from None
    page = render_report(model, X=X, metadata=metadata, selection=selection, title=title, command=command)
    replace_file(place, page.encode())


def render_report(
    model: TensOrMachine | Posterior,
    *,
    X: Any = None,
    metadata: Metadata | None = None,
    selection: Selection | None = None,
    title: str | None = None,
    command: str | None = None,
) -> str:
    """Return the page as text; parameters as for ``write_report``."""
    template, safe = _template()
    posterior, tensor = posterior_of(model), _read_tensor(model, X)
    modes, columns = read_modes(posterior), read_metadata(posterior, metadata)
    components = describe_components(posterior, groups_of(posterior, metadata))
    told, left = pick_clear(components)
    selection = getattr(model, "selection_", None) if selection is None else selection
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
            told=told,
            left=left,
            left_over=count_left(left),
            noise=describe_noise(posterior),
            observed=int(posterior.chains[0].confusion[0].sum()),
            diagnostics=diagnose(posterior),
            traces=chart_traces(posterior),
            selection=selection,
            selection_chart=None if selection is None else chart_selection(selection),
            associations=associate(posterior, metadata) if metadata else Associations(()),
            sure=SURE,
            most=MOST_ASSOCIATIONS,
            slices=slices,
            blocks=blocks,
            settings=list_settings(model),
            recipe=write_recipe(model, posterior),
            command=command,
            version=version("tensorm"),
            width=WIDTH,
            height=HEIGHT,
        )
    )


def _read_tensor(model: TensOrMachine | Posterior, X: Any) -> Tensor | None:
    if X is None:
        return None
    tensor, shape = as_tensor(X), posterior_of(model).shape
    if tensor.shape != shape:
        raise InputError(f"X has shape {tensor.shape}; give {shape}, as in fit.")
    return tensor


def _template() -> tuple[Any, Any]:
    """Return the page to be filled in, and what marks a text as markup of our own."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError("A report needs jinja2; get it by: pip install 'tensorm[report]'") from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("page.html")), Markup


def _asset(name: str) -> str:
    return files("tensorm.report.page").joinpath(name).read_text("utf-8")


def _policy(css: str, script: str) -> str:
    """Return the content security policy: this style and this script, and nothing else from anywhere."""
    style, code = (b64encode(sha256(text.encode()).digest()).decode() for text in (css, script))
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{style}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
