"""How to repeat a fit: its settings, as a table and as Python code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorm.posterior.draws import Posterior

NO_RECIPE = ("progress", "n_jobs")  # the draws do not depend on them
Settings = Mapping[str, Any]


def list_settings(settings: Settings) -> dict[str, str]:
    """Return the settings as text."""
    return {name: _text(value) for name, value in settings.items()}


def write_recipe(posterior: Posterior, settings: Settings, defaults: Settings) -> str:
    """Return Python code that repeats the fit; settings equal to their defaults are left out."""
    sizes = " x ".join(
        f"{size:,} ({mode})" for size, mode in zip(posterior.shape, posterior.modes, strict=True)
    )
    arguments = ", ".join(
        f"{name}={text}"
        for name, text in list_settings(settings).items()
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
