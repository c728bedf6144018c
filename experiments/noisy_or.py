"""Noisy-OR or event-level noise? Held-out cells of data from each model, predicted by both and by strengths.

    python -m experiments.noisy_or --quick | --full

In a noisy-OR every component that contains a cell can switch it on independently: P(x = 0) = (1 - leak)
(1 - w)^c if c components contain it. In our model the probability does not depend on how many contain it.
Binary factors are planted, cells are drawn from either model with the same w and leak, and a fifth is held
out. The noisy-OR is fitted by EM with a positive strength for every entry:
P(x = 0) = exp(-(leak + sum_l prod_k strength)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.grid import plant
from experiments.record import Row, average, drawing, markdown, options, run, show, write_section
from tensorm import TensOrMachine, hide, score_cells, train_test_mask

HIT, LEAK, RANK, SIDE = 0.5, 0.02, 5, 30
DENSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
OVERLAP = "held by two or more"
OURS = {"two rates": "asymmetric", "strengths": "strengths"}
MODELS = (*OURS, "noisy-OR")


def count_components(factors: Sequence[np.ndarray]) -> np.ndarray:
    """Return how many components contain each cell."""
    return np.einsum("il,jl,kl->ijk", *(factor.astype(float) for factor in factors))


def true_rates(counts: np.ndarray, kind: str) -> np.ndarray:
    """Return P(x = 1) of one of the two models, given the number of components of each cell."""
    causes = counts if kind == "noisy-OR" else np.minimum(counts, 1)
    return 1 - (1 - LEAK) * (1 - HIT) ** causes


def rates(strengths: Sequence[np.ndarray], leak: float) -> np.ndarray:
    """Return the expected number of causes that switch a cell on."""
    return leak + np.einsum("il,jl,kl->ijk", *strengths)


def fit_noisy_or(X: np.ndarray, L: int, rng: np.random.Generator, rounds: int = 300) -> np.ndarray:
    """Return P(x = 1) of every cell by a noisy-OR with L components; NaN cells are left out.

    EM with the number of causes that fired as the latent variable: Poisson, and above 0 in a one-cell.
    """
    seen, ones = ~np.isnan(X), X == 1
    strengths = [rng.uniform(0.1, 1, (size, L)) for size in X.shape]
    leak = 0.1
    for _ in range(rounds):
        for mode, letter in enumerate("ijk"):
            rate = rates(strengths, leak)
            weight = np.where(ones, 1 / -np.expm1(-rate), 0.0)
            others = [strengths[k] for k in range(3) if k != mode]
            spec = ",".join(f"{name}l" for name in "ijk" if name != letter)
            up = np.einsum(f"ijk,{spec}->{letter}l", weight, *others, optimize=True)
            down = np.einsum(f"ijk,{spec}->{letter}l", seen.astype(float), *others, optimize=True)
            strengths[mode] = strengths[mode] * up / np.maximum(down, 1e-12)
        leak *= float(np.where(ones, 1 / -np.expm1(-rates(strengths, leak)), 0.0).sum() / seen.sum())
    return -np.expm1(-rates(strengths, leak))


def measure(kind: str, density: float, number: int) -> Row:
    """Return the held-out log-loss of all models, and of the true probabilities."""
    factors = plant(RANK, density, 0.0, number, SIDE).factors
    rng = np.random.default_rng([number, round(100 * density)])
    counts = count_components(factors)
    truth = true_rates(counts, kind)
    X = (rng.random(truth.shape) < truth).astype(float)
    mask = train_test_mask(X, 0.2, random_state=number)
    train = hide(X, mask)
    ours = {
        name: TensOrMachine(RANK, noise=noise, n_jobs=1, random_state=number, progress=False).fit(train)
        for name, noise in OURS.items()
    }
    starts = [fit_noisy_or(train, RANK, rng) for _ in range(3)]
    seen = ~mask
    best = min(starts, key=lambda p: score_cells(X[seen], clip(p[seen])).model.log_loss)
    return {
        OVERLAP: float((counts > 1).sum() / max((counts > 0).sum(), 1)),
        **{name: model.scores(X, mask).model.log_loss for name, model in ours.items()},
        "noisy-OR": score_cells(X[mask], clip(best[mask])).model.log_loss,
        "true rates": score_cells(X[mask], truth[mask]).model.log_loss,
    }


def clip(p: np.ndarray) -> np.ndarray:
    """Keep probabilities away from 0 and 1, where one surprise costs everything."""
    return np.clip(p, 1e-3, 1 - 1e-3)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Compare the models on data from two of them."""
    tensors = 2 if quick else 10
    work = [
        {"kind": kind, "density": density, "number": number}
        for kind in ("event-level", "noisy-OR")
        for density in DENSITIES
        for number in range(tensors)
    ]
    trials = run("noisy_or", measure, work, jobs, fresh)
    columns = [OVERLAP, *MODELS, "true rates"]
    table = average(trials, ["kind", "density"], columns)
    for row in table:
        row["ahead"] = min(MODELS, key=row.__getitem__)
    show("noisy_or", table)
    with drawing("noisy_or", 2, width=9) as axes:
        for ax, kind in zip(axes, ("event-level", "noisy-OR"), strict=True):
            mine = [row for row in table if row["kind"] == kind]
            for name in MODELS:
                lost = [row[name] - row["true rates"] for row in mine]
                ax.plot([row[OVERLAP] for row in mine], lost, "o-", label=f"{name} fit")
            ax.set(xlabel="share of covered cells in two or more components", title=f"data: {kind}")
        axes[0].set_ylabel("held-out log-loss minus that of the true rates")
        axes[0].legend(frameon=False)
    write_section(
        "noisy_or",
        f"{tensors} tensors for each row, {SIDE} x {SIDE} x {SIDE}, rank {RANK}, w = {HIT}, leak = {LEAK}. "
        "Log-loss of held-out cells; lower is better.",
        "![held-out log-loss of three models](figures/noisy_or.png)",
        markdown(table),
    )


if __name__ == "__main__":
    main()
