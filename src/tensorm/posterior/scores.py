"""How good the probabilities of cells are: scores, next to the constant predictor's, and calibration.

scikit-learn computes the scores and is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from tensorm.data.arrays import Bits, Counts, Floats, Rows
from tensorm.data.checks import (
    MAX_REPEATS,
    check_bits,
    check_count,
    check_mask,
    check_number,
    check_probability,
)
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.tables import tabulate, to_html
from tensorm.tensors.protocol import Tensor

if TYPE_CHECKING:
    import pandas as pd


SCORED = 2**22  # observed cells to score in a large relational tensor


class Scores(NamedTuple):
    """How good some probabilities are; NaN for scores that are undefined because all cells are equal.

    Attributes
    ----------
    accuracy : float
        Share of cells whose more probable value is correct.
    balanced_accuracy : float
        Mean accuracy of the ones and of the zeros; 0.5 for any constant.
    auc : float
        Probability that a one is given a higher probability than a zero; 0.5 for any constant.
    average_precision : float
        Area under the precision-recall curve; the share of ones for any constant.
    log_loss : float
        Mean of -log P(true value); lower is better.
    brier : float
        Mean squared difference between probability and value; lower is better.
    """

    accuracy: float
    balanced_accuracy: float
    auc: float
    average_precision: float
    log_loss: float
    brier: float


class Calibration(NamedTuple):
    """Predicted probabilities and observed shares of ones, bin by bin; empty bins are left out.

    Attributes
    ----------
    predicted : ndarray
        Mean probability of the cells in a bin.
    found : ndarray
        Share of ones among them.
    low, high : ndarray
        95% interval of that share (Jeffreys).
    cells : ndarray of int
        Number of cells in the bin.
    """

    predicted: Floats
    found: Floats
    low: Floats
    high: Floats
    cells: Counts

    @property
    def error(self) -> float:
        """Mean distance between predicted and found over the cells (expected calibration error)."""
        return float(np.average(np.abs(self.predicted - self.found), weights=self.cells))

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas table with a row for each bin."""
        return tabulate(zip(*self, strict=True), self._fields)

    def _repr_html_(self) -> str:
        return to_html(self.to_dataframe())

    def __str__(self) -> str:
        rows = ["predicted   found        95%     cells"]
        for p, share, low, high, cells in zip(*self, strict=True):
            rows.append(f"{p:9.3f}  {share:6.3f}  {low:.3f}-{high:.3f}  {cells:8,}")
        return "\n".join(rows)


class ScoredCells(NamedTuple):
    """Scores of a model and of the constant predictor; as text, a table.

    Attributes
    ----------
    n_cells, n_ones : int
        Cells scored, and ones among them.
    baseline : float
        The probability that the constant predictor gives every cell.
    model, constant : Scores
    calibration : Calibration
    """

    n_cells: int
    n_ones: int
    baseline: float
    model: Scores
    constant: Scores
    calibration: Calibration

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas table of the scores, with columns for the model and the constant predictor."""
        rows = zip(self.model, self.constant, strict=True)
        return tabulate(rows, ["model", "constant"], index=Scores._fields)

    def _repr_html_(self) -> str:
        sizes = f"{self.n_cells:,} cells, {self.n_ones:,} ones"
        return to_html(self.to_dataframe(), [sizes], index=True)

    def __str__(self) -> str:
        rows = [f"{self.n_cells:,} cells, {self.n_ones:,} ones", "                      model  constant"]
        for name, mine, other in zip(Scores._fields, self.model, self.constant, strict=True):
            rows.append(f"{name.replace('_', ' '):18}  {mine:7.3f}  {other:8.3f}".replace("nan", "  -"))
        return "\n".join(rows)


def score_cells(
    y_true: npt.ArrayLike, p: npt.ArrayLike, baseline: float | None = None, n_bins: int = 10
) -> ScoredCells:
    """Score probabilities of cells, next to the constant predictor.

    Parameters
    ----------
    y_true : array of 0 and 1
        Values of the cells.
    p : array of the same shape
        P(x = 1) of each.
    baseline : float, optional
        The constant prediction: the share of ones among the cells the model was fitted to. By default the
        share of ones in ``y_true`` itself, which no constant can beat.
    n_bins : int, default 10
        Number of equally wide bins of the calibration curve.

    Returns
    -------
    ScoredCells
    """
    ones, chances = _check_pairs(y_true, p)
    rate = float(ones.mean()) if baseline is None else check_number("baseline", baseline)
    return ScoredCells(
        n_cells=ones.size,
        n_ones=int(np.count_nonzero(ones)),
        baseline=rate,
        model=_score(ones, chances),
        constant=_score(ones, np.full(ones.size, rate)),
        calibration=_calibrate(ones, chances, check_count("n_bins", n_bins, 1, most=MAX_REPEATS)),
    )


def _calibrate(ones: Bits, chances: Floats, n_bins: int) -> Calibration:
    """Compare probabilities with shares of ones in equally wide bins."""
    bins = np.minimum((chances * n_bins).astype(np.intp), n_bins - 1)
    cells = np.bincount(bins, minlength=n_bins)
    hits, total = (np.bincount(bins, each, minlength=n_bins) for each in (ones.astype(np.float64), chances))
    used = cells > 0
    cells, hits, total = cells[used], hits[used], total[used]
    low, high = (betaincinv(hits + 0.5, cells - hits + 0.5, q) for q in (0.025, 0.975))
    return Calibration(total / cells, hits / cells, low, high, cells)


def score_tensor(posterior: Posterior, tensor: Tensor, mask: npt.ArrayLike | None = None) -> ScoredCells:
    """Score the posterior predictive on the observed cells of a tensor, or on those in the mask.

    Cells are predicted block by block; only scored ones are kept in memory. For a large relational tensor, a
    random sample of objects with about SCORED observed cells is scored.
    """
    chosen = None if mask is None else check_mask(mask, tensor.shape)
    some = tensor.sample_slices(SCORED) if chosen is None else None
    if some is None:
        n_cells = tensor.n_observed if chosen is None else int(np.count_nonzero(chosen))
        remedy = "give a mask with fewer cells, or score a sample from hold_out"
        check_fits(f"Scoring {n_cells:,} cells takes", 64 * n_cells, remedy)  # pairs, and sorting them
        pairs = list(tensor.predict_observed(posterior, chosen))
    else:
        pairs = list(_predict_slices(posterior, tensor, some))
    if not sum(len(ones) for ones, _ in pairs):
        where = "X has no observed cell" if chosen is None else "mask contains no observed cell of X"
        raise InputError(f"{where}; give at least one that is not missing.")
    ones, chances = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return score_cells(ones, chances, posterior.base_rate)


def _predict_slices(posterior: Posterior, tensor: Tensor, chosen: Rows) -> Iterator[tuple[Bits, Floats]]:
    """Yield values and probabilities of the observed cells of some slices of mode 0."""
    others = [np.arange(size) for size in tensor.shape[1:]]
    for n in chosen:  # one at a time: neighbours need not be in the sample
        _, ones, observed = next(tensor.take([np.array([n]), *others]).blocks(math.prod(tensor.shape)))
        yield ones[observed], posterior.predict_block(n, n + 1)[observed]


def _score(ones: Bits, p: Floats) -> Scores:
    from sklearn import metrics

    both = 0 < np.count_nonzero(ones) < ones.size
    guess = p > 0.5
    return Scores(
        accuracy=float(metrics.accuracy_score(ones, guess)),
        balanced_accuracy=float(metrics.balanced_accuracy_score(ones, guess)) if both else np.nan,
        auc=float(metrics.roc_auc_score(ones, p)) if both else np.nan,
        average_precision=float(metrics.average_precision_score(ones, p)) if both else np.nan,
        log_loss=float(metrics.log_loss(ones, p, labels=[False, True])),
        brier=float(metrics.brier_score_loss(ones, p, labels=[False, True])),
    )


def _check_pairs(y_true: npt.ArrayLike, p: npt.ArrayLike) -> tuple[Bits, Floats]:
    """Return values and probabilities as flat arrays, or raise unless each cell has both."""
    ones, chances = check_bits("y_true", y_true), np.asarray(check_probability("p", p))
    if ones.shape != chances.shape or not ones.size:
        raise InputError(
            f"y_true has shape {ones.shape} and p {chances.shape}; give a value and a probability per cell."
        )
    return ones.ravel(), chances.ravel()
