"""All noise models by the settings that choose them; to add one, begin in ``noise_model.py``.

The estimator, the command line and files look here.
"""

from __future__ import annotations

from typing import Any

from tensorm.sampler.comparisons import Comparisons, ComparisonsPlugIn
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.two_rates import Asymmetric, AsymmetricPlugIn, Symmetric, SymmetricPlugIn
from tensorm.tensors.protocol import Tensor

# By ``noise``, ``noise_update`` and, where there is a choice, ``background``; made with ``noise_prior``.
MODELS: dict[tuple[str, ...], type[Any]] = {
    ("symmetric", "sample"): Symmetric,
    ("symmetric", "map"): SymmetricPlugIn,
    ("asymmetric", "sample"): Asymmetric,
    ("asymmetric", "map"): AsymmetricPlugIn,
    ("strengths", "sample", "activity"): ActivityModel,
    ("strengths", "sample", "constant"): ConstantModel,
    ("comparisons", "sample"): Comparisons,
    ("comparisons", "map"): ComparisonsPlugIn,
}
NOISE_UPDATES = ("sample", "map")
BACKGROUNDS = ("activity", "constant")


def list_choices(noise: str | None = None) -> list[str]:
    """Return what the setting ``noise`` may be, or with one of these what ``noise_update`` may be."""
    return list(
        dict.fromkeys(names[0 if noise is None else 1] for names in MODELS if noise in (None, names[0]))
    )


def describe_choices() -> str:
    """Return a list of what ``noise`` may be, with what each model says about cells."""
    found = {names[0]: model.about for names, model in MODELS.items()}
    return "; ".join(f"{name} ({about})" if about else name for name, about in found.items())


def find_suitable(tensor: Tensor) -> str | None:
    """Return the ``noise`` that is made for cells of this kind, or None if there is a choice."""
    return next((names[0] for names, model in MODELS.items() if model.suits(tensor)), None)


def find_model(noise: str, update: str, background: str) -> type[Any]:
    """Return the model of valid settings; only some have a choice of backgrounds."""
    return MODELS.get((noise, update)) or MODELS[noise, update, background]
