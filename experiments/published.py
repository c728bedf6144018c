"""The paper's algorithm on real data: variations of it, its rule for the number of components, and its rival.

The paper does not say from where its chains started on real data. Its settings for simulated tensors (fair
coins, lambda 0.5) and variations of them are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.contests import score
from experiments.grid import SEEDED
from experiments.record import Row, mean, spread
from experiments.study import count_kept
from experiments.verdicts import AHEAD, Claim, lead
from tensorm import TensOrMachine, baselines, hide, train_test_mask

MARGIN = 0.005  # of held-out accuracy
HELD_OUT = 0.2
PLAIN = "as published"
FROM_DATA = "as published, start from data"
VARIANTS: dict[str, Row] = {
    PLAIN: {},
    "as published, lambda 0.05": {"lambda_start": 0.05},
    "as published, lambda 0.05 for 50 sweeps": {"lambda_start": 0.05, "lambda_fixed": 50},
    "as published, lambda 2": {"lambda_start": 2.0},
    "as published, prior 0.1": {"factor_prior": 0.1},
    FROM_DATA: SEEDED,
}
RIVALS = {  # what missing cells are
    "Boolean ALS, DBTF start, missing cells as zeros": "zero",
    "Boolean ALS, DBTF start, missing cells left out": "ignore",
}


def fit(X: Any, L: int, seed: int, **changes: Any) -> TensOrMachine:
    """Run the paper's algorithm, or a variation of it."""
    settings = {"random_state": seed, "progress": False, "n_jobs": 1, **changes}
    return TensOrMachine.as_published(L, **settings).fit(X)


def fit_ours(X: Any, L: int, seed: int, **changes: Any) -> TensOrMachine:
    """Run one chain of ours."""
    settings = {"n_chains": 1, "n_draws": 100, "random_state": seed, "progress": False, "n_jobs": 1}
    return TensOrMachine(L, **settings, **changes).fit(X)


def descend(X: Any, L: int, seed: int, missing: str = "zero") -> Any:
    """Return the factors of Boolean ALS from one start of DBTF."""
    settings = {"init": "fibres", "n_init": 1, "missing": missing, "random_state": seed, "progress": False}
    return baselines.BooleanALS(L, **settings).fit(X).factors_


def tell_range(values: Sequence[int]) -> str:
    """Return the smallest and the largest of some counts."""
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def keep(X: Any, fitted: str, L: int, seed: int) -> Row:
    """Return how many components a variant, or Boolean ALS from fibres, keeps."""
    factors = (
        descend(X, L, seed, RIVALS[fitted])
        if fitted in RIVALS
        else fit(X, L, seed, **VARIANTS[fitted]).factors_
    )
    return {"kept": count_kept(factors)}


def list_fits(sizes: Sequence[int], starts: int) -> list[Row]:
    """Return the fits whose components are counted, as jobs."""
    return [
        {"fitted": name, "components": L, "seed": seed}
        for name in (*VARIANTS, *RIVALS)
        for L in sizes
        for seed in range(starts)
    ]


def tabulate_kept(rows: Sequence[Row]) -> list[Row]:
    """Return the range of kept components over starts for each fit and number."""
    found: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        found.setdefault(row["fitted"], {}).setdefault(str(row["components"]), []).append(row["kept"])
    return [
        {"components kept of": name, **{L: tell_range(kept) for L, kept in mine.items()}}
        for name, mine in found.items()
    ]


def validate(X: Any, name: str, L: int, split: int, pair: tuple[str, str] | None = None) -> Row:
    """Return scores of a variant on held-out cells, and the accuracy of a constant."""
    mask = train_test_mask(X, HELD_OUT, split, symmetric=pair)
    rest = hide(X, mask)
    rate = float(np.nanmean(rest.values))
    found = score(X.values, mask, fit(rest, L, split, **VARIANTS[name]).predict_proba(), rate)
    constant = score(X.values, mask, np.full(X.shape, rate), rate)["accuracy"]
    return {"accuracy": found["accuracy"], "log-loss": found["log-loss"], "constant": constant}


def choose(rows: Sequence[Row], measure: str) -> int:
    """Return the number with the best mean score; the smallest, if several have it."""
    sign = -1 if measure == "accuracy" else 1
    sizes = sorted({row["components"] for row in rows})
    return min(
        sizes, key=lambda L: round(sign * mean([row for row in rows if row["components"] == L], measure), 9)
    )


def tabulate(trials: dict[str, list[Row]]) -> list[Row]:
    """Return mean scores by number of components, and the numbers that are chosen."""
    table = []
    for name, rows in trials.items():
        for measure in ("accuracy", "log-loss"):
            line: Row = {"held out": f"{name}, {measure}"}
            for L in sorted({row["components"] for row in rows}):
                line[str(L)] = f"{mean([row for row in rows if row['components'] == L], measure):.4f}"
            table.append(line | {"best": choose(rows, measure)})
    return table


def judge_number(rows: Sequence[Row], name: str, number: int, percent: int, measure: str) -> list[Claim]:
    """Return whether the paper's rule chooses its number, and whether that predicts more than a constant."""
    best = choose(rows, measure)
    mine = [row for row in rows if row["components"] == number]
    top = [row for row in rows if row["components"] == best]
    text = f"{best} ({mean(top, measure):.4f} ± {spread(top, measure):.4f}); "
    text += f"{number} has {mean(mine, measure):.4f}"
    ahead = lead(mine, "accuracy", "constant")
    here = f"{mean(mine, 'accuracy'):.4f} with {number} components, a constant "
    here += f"{mean(mine, 'constant'):.4f} ({ahead})"
    return [
        Claim(f"cross-validation by {measure} chooses {number} components", name, text, best == number),
        Claim(
            f"{percent}% of held-out cells are right, more than by a constant",
            name,
            here,
            ahead.judge(MARGIN) == AHEAD,
        ),
    ]


def judge_rival(kept: Sequence[Row], number: int, low: int, high: int) -> list[Claim]:
    """Return whether Boolean ALS keeps as few components as the paper's rival."""
    said = []
    for row in kept:
        if row["components kept of"].startswith("Boolean ALS"):
            least, *_, most = (int(n) for n in f"{row[str(number)]}-{row[str(number)]}".split("-"))
            paper = f"dbtf infers {low} to {high} dimensions"
            here = f"{row[str(number)]} of {number}"
            said.append(Claim(paper, row["components kept of"], here, low <= least and most <= high))
    return said
