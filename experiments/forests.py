"""Random forests that predict the type of cancer from features of patients, and transforms of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.record import Floats
from tensorm import RelationalTensor, TensOrMachine

SEED, FOLDS, TREES = 0, 5, 200


def forest_scores(
    features: npt.NDArray[Any], types: npt.NDArray[Any], seed: int = SEED
) -> tuple[float, float]:
    """Return the accuracy of a random forest on patients it has not seen, and its mean over types."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=2)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    found = cross_val_predict(forest, features, types, cv=folds)
    return float((found == types).mean()), float(balanced_accuracy_score(types, found))


def forest_accuracy(features: npt.NDArray[Any], types: npt.NDArray[Any]) -> float:
    """Return the accuracy of a random forest on the type of cancer of patients it has not seen."""
    return forest_scores(features, types)[0]


def tell_error(accuracies: Sequence[float], patients: int) -> str:
    """Return a sentence with the largest standard error of these accuracies."""
    p = np.array(accuracies)
    return f"Standard error of an accuracy: at most {np.sqrt(p * (1 - p) / patients).max():.3f}."


def strengths_of(model: TensOrMachine, tensor: RelationalTensor) -> Floats:
    """Return the share of each component's relations that patients show."""
    return np.nan_to_num(model.transform(tensor, kind="share"), nan=0.5)  # without relations, neutral


def scale(features: npt.NDArray[Any]) -> Floats:
    """Return features with mean 0 and variance 1 each."""
    values = np.asarray(features, np.float64)
    return (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-9)


def principal_axes(features: npt.NDArray[Any], number: int | None = None) -> Floats:
    """Return features along their first principal axes, or along all."""
    from sklearn.decomposition import PCA

    return PCA(number, random_state=SEED).fit_transform(features)


def directions(features: npt.NDArray[Any], share: float = 0.95) -> int:
    """Return how many principal axes explain this share of the variance of the scaled features."""
    variance = np.linalg.svd(scale(features), compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(variance) / variance.sum(), share)) + 1
