"""How to make a fit again: its settings, as a table and as lines of Python."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.posterior.draws import Posterior

if TYPE_CHECKING:
    from tensorm.estimator.machine import TensOrMachine

NO_RECIPE = ("progress", "n_jobs")  # the draws do not depend on them


def list_settings(model: TensOrMachine | Posterior) -> dict[str, str]:
    """Return the settings of an estimator as text; none of a posterior by itself."""
    return {name: _text(value) for name, value in _settings(model).items()}


def write_recipe(model: TensOrMachine | Posterior, posterior: Posterior) -> str:
    """Return lines of Python that fit the same again."""
    sizes = " x ".join(
        f"{size:,} ({mode})" for size, mode in zip(posterior.shape, posterior.modes, strict=True)
    )
    defaults = {name: part.default for name, part in inspect.signature(type(model)).parameters.items()}
    settings = {name: _text(value) for name, value in _settings(model).items() if name not in NO_RECIPE}
    arguments = ", ".join(
        f"{name}={settings[name]}"
        for name, default in defaults.items()
        if name in settings and (name == "n_components" or settings[name] != _text(default))
    )
    return (
        f"import tensorm\n\nX = ...  # the cells, {sizes}\n"
        f"model = tensorm.TensOrMachine({arguments}).fit(X)\n"
        'tensorm.write_report(model, "report.html", X=X)\n'
    )


def _settings(model: Any) -> Mapping[str, Any]:
    return model.get_params(deep=False) if hasattr(model, "get_params") else {}


def _text(value: Any) -> str:
    """Return a setting as Python, or what it is where that would be long."""
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
