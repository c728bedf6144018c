"""Print the figures of 0020: held-out log-loss of chains, alone and combined in several ways.

    TENSORM_DATA=... python docs/decisions/measure_stacking.py [n_components]

A fifth of the cells is hidden. All columns are about the same four chains: the mean of single chains, their
plain average, the average of those that are not worse than the best, and mixtures with weights by three
densities of the observed cells, each with pulls towards equal weights.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats

from tensorm import TensOrMachine, datasets
from tensorm.posterior import stacking
from tensorm.posterior.align import worse
from tensorm.sampler.state import Trace
from tensorm.tensors import read

SEEDS, HIDDEN, PULLS = (0, 1), 0.2, (0, 50, 200)


def load_archive(name: str) -> np.ndarray:
    with np.load(Path(os.environ["TENSORM_DATA"]) / "real" / f"{name}.npz") as file:
        X = np.zeros(tuple(file["shape"]), np.float32)
        X[tuple(file["coords"])] = 1
        X[tuple(file["missing"])] = np.nan
    return X


DATA = {
    "nations": lambda: np.maximum.reduce([datasets.nations(part) for part in ("train", "valid", "test")]),
    "UN votes": lambda: load_archive("unvotes_country_issue_year"),
    "senate": lambda: load_archive("us_senate109"),
    "students": datasets.students,
    "hospital": datasets.hospital,
}


def loss(p: np.ndarray, ones: np.ndarray) -> float:
    return float(-np.log(np.where(ones, p, 1 - p)).mean())


def read_densities(trace: Trace, sample: stacking.Sample) -> dict[str, np.ndarray]:
    """Return how probable a chain's draws find each cell, in sample and as if it had been missing."""
    rows = [trace.noise_at(s).predict(trace.factors_at(s), sample.indices) for s in range(0, len(trace), 5)]
    p = np.where(sample.ones, rows, 1 - np.array(rows)).T
    smooth, _ = array_stats.psislw(-np.log(p), r_eff=1, axis=-1)
    return {
        "in sample": p.mean(axis=1),
        "left out": 1 / (1 / p).mean(axis=1),
        "PSIS": np.exp(smooth + np.log(p)).sum(axis=1),
    }


def measure(name: str, n_components: int, seed: int) -> dict[str, float]:
    train, cells, ones = read(DATA[name]()).split(HIDDEN, np.random.default_rng(0))
    model = TensOrMachine(n_components, noise="asymmetric", random_state=seed, progress=False).fit(train)
    chains, indices = model.posterior_.chains, tuple(cells.T)
    p = np.array(
        [np.mean([c.noise_at(s).predict(c.factors_at(s), indices) for s in range(len(c))], 0) for c in chains]
    )
    best = max(chains, key=lambda trace: float(np.median(trace.log_posterior)))
    found = {
        "single": float(np.mean([loss(one, ones) for one in p])),
        "plain": loss(p.mean(axis=0), ones),
        "not worse": loss(p[[not worse(best, trace) for trace in chains]].mean(axis=0), ones),
        "fit": loss(model.predict_proba(cells), ones),
    }
    sample = stacking.sample_cells(train, 6000)
    densities = [read_densities(trace, sample) for trace in chains]
    for density in densities[0]:
        each = np.array([one[density] for one in densities])
        for stacking.TOWARDS_EQUAL in PULLS:
            weights = stacking.stack(each, sample.weights, np.full(len(p), 1 / len(p)))
            found[f"{density} {stacking.TOWARDS_EQUAL}"] = loss(weights @ p, ones)
    return found


if __name__ == "__main__":
    n_components, chosen = int(sys.argv[1]) if len(sys.argv) > 1 else 8, stacking.TOWARDS_EQUAL
    for name in DATA:
        for seed in SEEDS:
            stacking.TOWARDS_EQUAL = chosen
            row = measure(name, n_components, seed)
            texts = (f"{key} {value:.4f}" for key, value in row.items())
            print(f"{name}, seed {seed}: {', '.join(texts)}", flush=True)
