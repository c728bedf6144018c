"""Two rates and comparisons on the same pairs: the figures of note 22.

    TENSORM_DATA=... python -m docs.decisions.measure_comparisons               # held-out pairs, a minute
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons by_number     # and the number of components
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons sides         # cut sides, own agreements
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons prior short   # shorter sides, or 130
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons sweeps        # processor time of a sweep
    TENSORM_DATA=... python -m docs.decisions.measure_comparisons fits 8 .2     # fits, every 8th patient
    python -m docs.decisions.measure_comparisons planted                        # evidence of planted sets
    python -m docs.decisions.measure_comparisons number                         # and how many are found

Times are the processor's own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm import RelationalTensor, TensOrMachine, datasets, select_components
from tensorm.sampler.comparisons import Comparisons, WeighedComparisons
from tensorm.sampler.prior import LearnedPrior, SidesPrior
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.selection.occam import log_evidence, prune
from tensorm.tensors.factors import Factors


def read_sample(
    patients: int = 1000, attributes: int = 200, kind: str = "mirna"
) -> tuple[RelationalTensor, RelationalTensor]:
    """Return random patients and the genes that vary most; a fifth of the pairs is hidden."""
    M = datasets.cancer(kind)
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


def read_pairs(tensor: RelationalTensor) -> tuple[np.ndarray, np.ndarray]:
    """Return the ones and the observed cells."""
    ones, observed = zip(*((ones, observed) for _, ones, observed in tensor.blocks()), strict=True)
    return np.concatenate(ones), np.concatenate(observed)


def lose(factors: Sequence[np.ndarray], train: Any, test: Any, own: bool = False) -> float:
    """Return the log-loss of hidden pairs, given sets; with agreements of their own, the highest decides."""
    (ones, seen), (hidden, held), L = train, test, factors[0].shape[1]
    order: Any = range(L)
    for _ in range(3 if own else 1):
        said = np.full(ones.shape, -1, np.int8)
        for l in order:
            said[np.ix_(*(factor[:, l] for factor in factors))] = l if own else 0
        said[(said >= 0) & (said.swapaxes(1, 2) >= 0)] = -1
        q = np.array([ones[(said == l) & seen].mean() if (said == l).any() else 0.5 for l in range(L)])
        order = np.argsort(q)
    told, pairs = (said >= 0) & held, held.sum() / 2
    p = np.where(hidden[told], q[said[told]], 1 - q[said[told]])
    return float((-np.log(p).sum() + (pairs - told.sum()) * np.log(2)) / pairs)


def measure_sides(n_components: str = "25") -> None:
    """Cut sides to the attributes that agree most, and give each component an agreement of its own."""
    train, test = read_sample()
    trace = fit(train, "comparisons", int(n_components)).posterior_.chains[0]
    cells = read_pairs(train), read_pairs(test)
    objects, *sides = (trace.bits(mode, slice(-1, None))[0] for mode in range(3))
    one, own = (lose([objects, *sides], *cells, apart) for apart in (False, True))
    print(f"one agreement: {one:.4f}, own: {own:.4f}")
    ones, seen = cells[0]
    for most in (120, 80, 60, 40, 20):
        cut = [np.zeros_like(side) for side in sides]
        for l, (above, below) in enumerate(zip(*(side.T for side in sides), strict=True)):
            right, all_there = (some[objects[:, l]].sum(axis=0) for some in (ones & seen, seen))
            agree = (
                right[:, below].sum(axis=1) / np.maximum(all_there[:, below].sum(axis=1), 1),
                right[above].sum(axis=0) / np.maximum(all_there[above].sum(axis=0), 1),
            )
            for new, side, share in zip(cut, (above, below), agree, strict=True):
                members = np.flatnonzero(side)
                new[members[np.argsort(-share[members])[:most]], l] = True
        print(
            f"at most {most} attributes on a side: log-loss {lose([objects, *cut], *cells):.4f}", flush=True
        )


def measure_prior(
    name: str = "short", seed: str = "0", kind: str = "mirna", n_components: str = "25"
) -> None:
    """Fit with a prior of attributes, "learned", "short" or a power of ten, and look at the sides."""
    train, test = read_sample(kind=kind)
    prior: Any = [0.5, 10.0 ** -int(name), 10.0 ** -int(name)] if name.isdigit() else name
    model = fit(train, "comparisons", int(n_components), factor_prior=prior, random_state=int(seed))
    above, below = ((factor > 0.5).sum(axis=0) for factor in model.factors_[1:])
    used = above * below > 0
    print(
        f"{kind}, prior {name}: log-loss {model.scores(test).model.log_loss:.4f}, {used.sum()} components, "
        f"median sides {np.median(above[used]):.0f} and {np.median(below[used]):.0f}",
        flush=True,
    )


def measure_fits(every: str = "1", share: str = "0") -> None:
    """Fit every patient, or every so many, with both models: time, memory, hidden pairs, types of cancer.

    Memory is the peak of the process less what it had before the fit, when all was compiled and read.
    """
    M = datasets.cancer("mirna")[:: int(every)]
    types, tensor = M.coords["cancer"].values, RelationalTensor(M)
    train, test = tensor.hold_out(float(share), 0) if float(share) else (tensor, None)
    for noise in ("comparisons", "asymmetric"):
        fit(train.take([np.arange(60), *map(np.arange, train.shape[1:])]), noise, n_draws=3, burn_in=3)
        before, started = start_peak(), time.process_time()
        model = fit(train, noise)
        seconds, memory = time.process_time() - started, read_memory("VmHWM") - before
        burn_in, scores = model.posterior_.chains[0].burn_in, test and model.scores(test).model
        print(f"{noise}: {seconds:.0f} s ({burn_in} sweeps of burn-in), {memory:.0f} MB", flush=True)
        if scores:
            print(f"    hidden pairs: log-loss {scores.log_loss:.4f}, AUC {scores.auc:.3f}", flush=True)
        print(f"    {model.describe({0: types}, most=1)}", flush=True)
        measure_types(model, tensor, types)


def start_peak() -> float:
    """Begin to look for the peak of the memory, on Linux; return what is in use, in MB."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return read_memory("VmRSS")


def read_memory(name: str) -> float:
    """Return memory of this process, in MB."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines[name].split()[0]) / 1024


def measure_types(model: TensOrMachine, tensor: RelationalTensor, types: np.ndarray) -> None:
    """How well forests tell the type of cancer from what a fit says about patients."""
    from experiments.forests import forest_accuracy, strengths_of

    for name, features in (
        ("memberships", model.factors_[0] > 0.5),
        ("strengths", strengths_of(model, tensor)),
    ):
        print(f"    types of cancer from {name}: {forest_accuracy(features, types):.3f}", flush=True)


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


def plant_sets(
    n_sets: int, seed: int, shape: tuple[int, int] = (150, 40)
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Values in which sets of eight attributes are up, or down, in a quarter of the objects; and the sets.

    Of the comparisons of such an attribute with others 15% are wrong.
    """
    rng = np.random.default_rng(seed)
    values, factors = rng.normal(size=shape), [np.zeros((n, n_sets), bool) for n in (*shape, shape[1])]
    for number in range(n_sets):
        objects, members = rng.random(shape[0]) < 0.25, rng.permutation(shape[1])[:8]
        values[np.ix_(objects, members)] += 1.466 * (-1) ** number
        up, down = (factors[1], factors[2])[:: (-1) ** number]
        factors[0][objects, number] = up[members, number] = True
        down[:, number] = ~up[:, number]
    return values, factors


def measure_planted() -> None:
    """How many of the planted sets the evidence keeps, for some weights of a pair."""
    for n_sets, seed in ((3, 0), (3, 1), (5, 0), (5, 1), (5, 2), (5, 3)):
        values, factors = plant_sets(n_sets, seed)
        tensor, kept = RelationalTensor(values, normalise=None).compared(), []
        for share in (2 / 40, 3 / 41, 3.5 / 41, 4 / 41):
            model = Target(n_sets, WeighedComparisons(1, 1, share), SidesPrior(), np.uint64(0))
            found = prune(Explanation(tensor, model, Factors.from_bits(factors)).polished(5))
            kept.append(f"{found.target.n_components} ({log_evidence(found):.1f})")
        print(f"{n_sets} sets, weights 2 / A, 3, 3.5 and 4 / (A + 1): {', '.join(kept)}", flush=True)


SIMULATED = (  # how many sets are planted, the seed, objects and attributes
    (0, 30, (150, 40)),
    (2, 31, (150, 40)),
    (3, 32, (150, 40)),
    (5, 33, (150, 40)),
    (5, 34, (150, 40)),
    (0, 35, (80, 60)),
    (2, 36, (80, 60)),
    (3, 37, (300, 30)),
    (5, 38, (200, 60)),
    (3, 39, (120, 100)),
)


def measure_number(first: str = "0") -> None:
    """How many of the planted sets are found."""
    for n_sets, seed, shape in SIMULATED[int(first) :]:
        tensor = RelationalTensor(plant_sets(n_sets, seed, shape)[0], normalise=None)
        found = select_components(tensor, n_jobs=1, progress=False)
        print(f"{n_sets} sets planted in {shape}: {found.reason}", flush=True)


MEASURES = {
    "sweeps": measure_sweeps,
    "number": measure_number,
    "planted": measure_planted,
    "by_number": measure_by_number,
    "sides": measure_sides,
    "prior": measure_prior,
    "fits": measure_fits,
}


if __name__ == "__main__":
    MEASURES[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:] else measure_held_out()
