"""Held-out cells, the methods that predict them, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.real import bernoulli_gcp
from experiments.record import Bits, Floats, Row
from tensorm import baselines, hide, score_cells, train_test_mask

SCORES = ("accuracy", "auc", "average precision", "log-loss")
WEIGHTS = (0.3, 1, 3, 10)  # of the overall rate of ones, in cells


def score(truth: Floats, mask: Bits, p: Floats, baseline: float) -> Row:
    """Return the scores of the cells of a mask."""
    chances = np.clip(p[mask], 1e-6, 1 - 1e-6)  # one certain mistake would cost everything
    found = score_cells(truth[mask], chances, baseline).model
    values = (found.accuracy, found.auc, found.average_precision, found.log_loss)
    return dict(zip(SCORES, values, strict=True))


def boolean_als(cells: Floats, L: int, seed: int = 0) -> Floats:
    """Return P(x = 1) by Boolean ALS: the share of ones where its product is 1, and where it is 0."""
    model = baselines.BooleanALS(L, n_init=3, random_state=seed, progress=False).fit(cells)
    product, seen = model.predict() == 1, ~np.isnan(cells)
    inside, outside = (cells[seen & (product == side)] for side in (True, False))
    rates = [(part.sum() + 1) / (len(part) + 2) for part in (inside, outside)]
    return np.where(product, *rates)


def logistic_cp(cells: Floats, L: int, seed: int = 0) -> Floats:
    """Return P(x = 1) by a CP decomposition of the odds (pyttb's GCP)."""
    odds = bernoulli_gcp(cells, L, seed, max_iter=300).values()
    return odds / (1 + odds)


RIVALS: dict[str, Callable[..., Floats]] = {"Boolean ALS": boolean_als, "logistic CP": logistic_cp}


def habit(cells: Floats, weight: float) -> Floats:
    """Return P(x = 1) from how often a cell is 1 along mode 0, and how busy its index along mode 0 is.

    The odds of both are multiplied, relative to all cells. The overall rate of ones counts like ``weight``
    additional cells.
    """
    seen, rate = ~np.isnan(cells), float(np.nanmean(cells))
    often = (np.nansum(cells, axis=0) + weight * rate) / (seen.sum(axis=0) + weight)
    busy = np.nanmean(cells, axis=(1, 2))
    relative = busy / (1 - busy) * (1 - rate) / rate
    odds = relative[:, None, None] * often / np.maximum(1 - often, 1e-9)
    return odds / (1 + odds)


class Contest:
    """Held-out cells, and the scores of all methods that predict them.

    Attributes
    ----------
    rest : DataArray
        The cells that a method may see.
    truth, cells : ndarray
        The values of all cells, and of those.
    mask : ndarray of bool
        The held-out cells.
    rows : list
        The scores so far.
    """

    def __init__(self, X: Any, share: float, seed: int, symmetric: tuple[str, str] | None = None) -> None:
        self.mask = train_test_mask(X, share, seed, symmetric=symmetric)
        self.rest = hide(X, self.mask)
        self.truth, self.cells = X.values, self.rest.values.astype(float)
        self.rows: list[Row] = []
        self._rate = float(np.nanmean(self.cells))
        self._pair = (X.dims.index(symmetric[0]), X.dims.index(symmetric[1])) if symmetric else None

    def enter(self, name: str, components: int | str, p: Floats) -> None:
        """Add the scores of a prediction."""
        self.rows.append({"": name, "components": components, **self._score(self.mask, p)})

    def enter_rivals(self, habits: str, sizes: Sequence[int], starts: int = 3) -> None:
        """Add the scores of habits, of each rival's first start and of the mean of all, and of a constant."""
        weight = self._best(lambda cells, weight: [habit(cells, weight)], WEIGHTS)
        self.enter(habits, "", habit(self.cells, weight))
        for name, predict in RIVALS.items():

            def from_all_starts(cells: Floats, L: int, predict: Any = predict) -> list[Floats]:
                return [predict(cells, L, n) for n in range(starts)]

            L = self._best(from_all_starts, sizes)
            found = from_all_starts(self.cells, L)
            self.enter(name, L, found[0])
            if starts > 1:
                self.enter(f"{name}, mean of {starts} starts", L, np.mean(found, axis=0))
        self.enter("constant", "", np.full(self.truth.shape, self._rate))

    def _best(self, predict: Callable[[Floats, Any], list[Floats]], choices: Sequence[Any]) -> Any:
        """Return the choice with the lowest mean log-loss on a tenth of the cells left for the fit."""
        inner = train_test_mask(self.cells, 0.1, 1, symmetric=self._pair)
        fewer = hide(self.cells, inner)

        def loss(choice: Any) -> float:
            return sum(self._score(inner, p)["log-loss"] for p in predict(fewer, choice))

        return min(choices, key=loss)

    @property
    def facts(self) -> Row:
        """Facts about the held-out cells, for the numbers of the study."""
        return {"shape": self.truth.shape, "held out": int(self.mask.sum())}

    def __str__(self) -> str:
        """A sentence about the held-out cells."""
        known, ones = np.isfinite(self.truth).sum(), self.truth[self.mask].mean()
        return f"{self.mask.sum():,} of {known:,} cells are held out, {ones:.1%} of them ones."

    def _score(self, mask: Bits, p: Floats) -> Row:
        return score(self.truth, mask, p, self._rate)


def average_scores(contests: Sequence[Contest]) -> list[Row]:
    """Return the mean scores of all entries over contests, with the range of their sizes."""
    rows = []
    for same in zip(*(contest.rows for contest in contests), strict=True):
        sizes = sorted({row["components"] for row in same})
        text = sizes[0] if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
        means = {name: float(np.mean([row[name] for row in same])) for name in SCORES}
        rows.append({"": same[0][""], "components": text, **means})
    return rows
