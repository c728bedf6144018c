"""Two rates and comparisons on the same pairs: the figures of note 22.

    TENSORM_DATA=... python docs/decisions/measure_comparisons.py               # held-out pairs, 5 minutes
    TENSORM_DATA=... python docs/decisions/measure_comparisons.py sweeps        # processor time of a sweep
    python docs/decisions/measure_comparisons.py number                         # what "auto" finds

Times are the processor's own.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tensorm import RelationalTensor, TensOrMachine, datasets, select_components
from tensorm.sampler.comparisons import Comparisons
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric


def measure_held_out(patients: int = 1000, attributes: int = 200) -> None:
    """Fit the same pairs with both models; a fifth of the pairs is hidden."""
    M = datasets.cancer("mirna")
    rows = np.sort(np.random.default_rng(0).permutation(M.shape[0])[:patients])
    columns = np.sort(np.argsort(-M.values.std(axis=0), kind="stable")[:attributes])
    train, test = RelationalTensor(M[rows][:, columns]).hold_out(0.2, 0)
    for noise in ("asymmetric", "comparisons"):
        started = time.process_time()
        model = TensOrMachine(
            25, n_chains=1, n_draws=50, noise=noise, effort=0, n_jobs=1, random_state=0, progress=False
        ).fit(train)
        seconds, scores = time.process_time() - started, model.scores(test).model
        print(f"{noise}: log-loss {scores.log_loss:.4f}, AUC {scores.auc:.3f}, {seconds:.0f} s", flush=True)


def measure_sweeps() -> None:
    """Time sweeps from where a chain of each model starts, one thread, 497 patients x 1,046 miRNAs."""
    plain = RelationalTensor(datasets.cancer("mirna").values[::18])
    for noise, tensor in ((Asymmetric(), plain), (Comparisons(), plain.compared())):
        target, times = Target(25, noise, LearnedPrior(), np.uint64(0)), []
        state = begin(tensor, target, np.random.default_rng(0)).state(sweep=0)
        for _ in range(8):
            started = time.process_time()
            state, _ = sweep(tensor, state, target, 0)
            times.append(time.process_time() - started)
        print(f"{type(noise).__name__}: {np.median(times):.2f} s", flush=True)


def plant_sets(n_sets: int, seed: int, shape: tuple[int, int] = (150, 40)) -> np.ndarray:
    """Values in which sets of eight attributes are up, or down, in a quarter of the objects.

    Of the comparisons of such an attribute with others 15% are wrong.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    for number in range(n_sets):
        objects, members = rng.random(shape[0]) < 0.25, rng.permutation(shape[1])[:8]
        values[np.ix_(objects, members)] += 1.466 * (-1) ** number
    return values


def measure_number() -> None:
    for n_sets, seed in ((0, 0), (3, 0), (3, 1), (5, 0), (5, 1)):
        tensor = RelationalTensor(plant_sets(n_sets, seed), normalise=None)
        found = select_components(tensor, n_jobs=1, progress=False)
        print(f"{n_sets} sets planted: {found.reason}", flush=True)


if __name__ == "__main__":
    {"sweeps": measure_sweeps, "number": measure_number}.get("".join(sys.argv[1:]), measure_held_out)()
