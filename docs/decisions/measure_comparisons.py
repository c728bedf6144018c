"""Two rates and comparisons on the same pairs: the figures of note 22.

    TENSORM_DATA=... python -m docs.decisions.measure_comparisons               # held-out pairs, a minute
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons by_number     # and the number of components
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons sweeps        # processor time of a sweep
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons fits 8        # of a fit, every 8th patient
    python -m docs.decisions.measure_comparisons number                         # planted sets that are found

Times are the processor's own.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

from tensorm import RelationalTensor, TensOrMachine, datasets, select_components
from tensorm.sampler.comparisons import Comparisons
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric


def read_sample(patients: int = 1000, attributes: int = 200) -> tuple[RelationalTensor, RelationalTensor]:
    """Return random patients and the miRNAs that vary most; a fifth of the pairs is hidden."""
    M = datasets.cancer("mirna")
    rows = np.sort(np.random.default_rng(0).permutation(M.shape[0])[:patients])
    columns = np.sort(np.argsort(-M.values.std(axis=0), kind="stable")[:attributes])
    return RelationalTensor(M[rows][:, columns]).hold_out(0.2, 0)


def fit(train: RelationalTensor, noise: str, n_components: int = 25, **settings: Any) -> TensOrMachine:
    chain = {"n_chains": 1, "n_draws": 50, "effort": 0, "n_jobs": 1, "random_state": 0, "progress": False}
    return TensOrMachine(n_components, noise=noise, **chain | settings).fit(train)


def measure_held_out() -> None:
    """Fit the same pairs with both models."""
    train, test = read_sample()
    for noise in ("asymmetric", "comparisons"):
        fit(train, noise, n_draws=2, burn_in=2)  # compile
        started = time.process_time()
        model = fit(train, noise)
        seconds, scores = time.process_time() - started, model.scores(test).model
        print(f"{noise}: log-loss {scores.log_loss:.4f}, AUC {scores.auc:.3f}, {seconds:.0f} s", flush=True)


def measure_by_number() -> None:
    """What "auto" finds, and how the log-loss of hidden pairs moves with the number of components."""
    train, test = read_sample()
    for n_components in (5, 10, 25, 50, 100):
        scores = fit(train, "comparisons", n_components).scores(test).model
        print(f"{n_components} components: log-loss {scores.log_loss:.4f}", flush=True)
    print(select_components(train, n_jobs=1, progress=False).reason, flush=True)


def measure_fits(every: str = "1") -> None:
    """Fit every patient, or every so many, with both models: time, memory, hidden pairs, types of cancer."""
    from experiments.forests import forest_accuracy, strengths_of

    M = datasets.cancer("mirna")[:: int(every)]
    tensor = RelationalTensor(M)
    train, test = tensor.hold_out(0.2, 0)
    for noise in ("comparisons", "asymmetric"):
        fit(train.take([np.arange(60), *map(np.arange, train.shape[1:])]), noise, n_draws=3, burn_in=3)
        started = time.process_time()
        model = fit(train, noise)
        seconds, scores = time.process_time() - started, model.scores(test).model
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of both, for the second one
        print(
            f"{noise}: {seconds:.0f} s, {most:.0f} MB, log-loss {scores.log_loss:.4f}, AUC {scores.auc:.3f}"
        )
        for name, features in (
            ("memberships", model.factors_[0] > 0.5),
            ("strengths", strengths_of(model, tensor)),
        ):
            accuracy = forest_accuracy(features, M.coords["cancer"].values)
            print(f"    types of cancer from {name}: {accuracy:.3f}", flush=True)


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


MEASURES = {
    "sweeps": measure_sweeps,
    "number": measure_number,
    "by_number": measure_by_number,
    "fits": measure_fits,
}


if __name__ == "__main__":
    MEASURES[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:] else measure_held_out()
