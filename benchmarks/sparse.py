"""What sparse tensors cost, what is found in them, and where dense ones take over.

    python -m benchmarks.sparse                # everything but the largest: some ten minutes
    python -m benchmarks.sparse levels found   # only some of: levels, strengths, found, crossing, links, ...
    python -m benchmarks.sparse caida          # 10^8 ones: needs 8 GB and a few minutes

Planted tensors have 20 blocks of ones, and 1% of the ones anywhere. Figures go to benchmarks/out/sparse.json.
The links are the triples of nations in the folder named by TENSORM_DATA.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.sweep import machine, show
from tensorm import DenseTensor, SparseTensor, TensOrMachine, baselines
from tensorm.model import boolean_product
from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.sweep import Target, enter, sweep
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import pick_storage
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

BLOCKS, NOISE = 20, 0.01
THREADS = 2
OUT = Path(__file__).parent / "out" / "sparse.json"


def plant(
    shape: Sequence[int], n_ones: int, noise: float = NOISE, seed: int = 0
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the ones (n, K) of a tensor with equal blocks, some of them twice, and the factors."""
    rng, K = np.random.default_rng(seed), len(shape)
    left, sizes = n_ones * (1 - noise) / BLOCKS, np.zeros(K, int)
    for done, k in enumerate(np.argsort(shape)):
        sizes[k] = np.clip(round(left ** (1 / (K - done))), 2, max(2, shape[k] // 5))
        left /= sizes[k]
    factors = [np.zeros((N, BLOCKS), bool) for N in shape]
    cells = [np.column_stack([rng.integers(N, size=int(n_ones * noise), dtype=np.int32) for N in shape])]
    for block in range(BLOCKS):
        index = [rng.choice(N, size, replace=False) for N, size in zip(shape, sizes, strict=True)]
        for factor, members in zip(factors, index, strict=True):
            factor[members, block] = True
        grid = np.meshgrid(*(members.astype(np.int32) for members in index), indexing="ij")
        cells.append(np.column_stack([axis.ravel() for axis in grid]))
    return np.concatenate(cells), factors


def build(cells: np.ndarray, shape: Sequence[int]) -> SparseTensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ones that are planted twice
        return SparseTensor(cells, shape)


def make_model(n_components: int) -> Target:
    return Target(n_components, Asymmetric(), LearnedPrior(), np.uint64(0))


def start_at(factors: Sequence[np.ndarray], false_alarm: float) -> State:
    density = tuple(max(float(factor.mean()), 1e-9) for factor in factors)
    return State(Factors.from_bits(factors), Rates(0.95, false_alarm), density, 0)


def time_sweeps(tensor: Any, state: State, n_components: int, rounds: int = 5) -> float:
    """Return the seconds of the best of some sweeps, the first of which may compile."""
    times, model = [], make_model(n_components)
    for _ in range(rounds):
        started = time.perf_counter()
        state, _ = sweep(tensor, state, model, 0)
        times.append(time.perf_counter() - started)
    return min(times[1:])


def peak() -> float:
    """Return the most memory that this process has held, in GB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure_levels() -> list[dict[str, Any]]:
    """Time per one from 10^5 to 10^7 of them, in modes that grow along."""
    rows = []
    for n, shape in (
        (10**5, (10**4, 10**4, 10**3)),
        (10**6, (10**5, 10**5, 10**3)),
        (10**7, (10**6, 10**6, 10**3)),
    ):
        started = time.perf_counter()
        cells, factors = plant(shape, n)
        made = time.perf_counter()
        tensor = build(cells, shape)
        built = time.perf_counter() - made
        del cells
        state = start_at(factors, 1e-9)
        one, two = (time_sweeps(tensor.with_threads(t), state, BLOCKS) for t in (1, THREADS))
        row = {"shape": shape, "ones": tensor.n_ones, "planting": made - started, "building": built}
        row |= {"sweep_1": one, "sweep_2": two, "ns_per_one": 1e9 * two / tensor.n_ones}
        rows.append(row | {"mb_held": tensor.nbytes / 1e6, "gb_peak": peak()})
    show(
        "A sweep over planted tensors, 20 components",
        ("shape", "ones", "build s", "1 thread s", "2 threads s", "ns per one", "held MB", "peak GB"),
        [
            [
                " x ".join(f"{N:,}" for N in row["shape"]),
                f"{row['ones']:,}",
                f"{row['building']:.1f}",
                f"{row['sweep_1']:.3f}",
                f"{row['sweep_2']:.3f}",
                f"{row['ns_per_one']:.0f}",
                f"{row['mb_held']:.0f}",
                f"{row['gb_peak']:.2f}",
            ]
            for row in rows
        ],
    )
    return rows


def measure_strengths() -> list[dict[str, Any]]:
    """Time sweeps with strengths and with two rates in turns, in processor time.

    Each sweep draws the activities of one mode, so the best of each mode are averaged.
    """
    shape, L = (30_000, 30_000, 100), 12
    cells, planted = plant(shape, 10**6, noise=0.3)
    tensor, factors = build(cells, shape), [factor[:, :L] for factor in planted]
    models = {
        "two rates": Asymmetric(),
        "strengths": ConstantModel(),
        "strengths, activities": ActivityModel(),
    }
    states = {name: start_at(factors, 1e-6) for name in models}
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(12):
        for name, model in models.items():
            target = Target(L, model, LearnedPrior(), np.uint64(0))
            state = enter(tensor, target, states[name])
            started = time.process_time()
            states[name], _ = sweep(tensor, state, target, 0)
            times[name].append(time.process_time() - started)
    rows = [
        {"model": name, "sweep": float(np.mean([min(seconds[k::3]) for k in (1, 2, 3)]))}
        for name, seconds in times.items()
    ]
    show(
        f"30,000 x 30,000 x 100 with {tensor.n_ones:,} ones, 12 components, one thread",
        ("noise", "sweep ms", "over two rates"),
        [
            [row["model"], f"{1e3 * row['sweep']:.1f}", f"{row['sweep'] / rows[0]['sweep']:.2f}"]
            for row in rows
        ],
    )
    return rows


def count_found(masks: Sequence[np.ndarray], factors: Sequence[np.ndarray]) -> int:
    """Return how many planted blocks are there to the last member of every mode."""
    found = [unpack(mask, BLOCKS) for mask in masks]
    blocks = {tuple(bits[:, l].tobytes() for bits in found) for l in range(BLOCKS)}
    return sum(tuple(factor[:, l].tobytes() for factor in factors) in blocks for l in range(BLOCKS))


def measure_found() -> list[dict[str, Any]]:
    """Find the planted blocks among 10^15 cells: the start from the data, and sweeps of burn-in after it."""
    shape = (10**6, 10**6, 10**3)
    cells, factors = plant(shape, 10**7)
    tensor = build(cells, shape).with_threads(THREADS)
    del cells
    rows = []
    for chain in range(3):
        model = make_model(BLOCKS)
        burn_in = BurnIn(tensor, model, chain, "data", None)
        started = time.perf_counter()
        state = burn_in.start()
        begun = time.perf_counter()
        at_start, times = count_found(state.factors, factors), []
        while state.sweep < 11:
            before = time.perf_counter()
            state, confusion = sweep(tensor, state, model, chain)
            times.append(time.perf_counter() - before)
            state = burn_in.after(state, confusion)
        row = {"chain": chain, "start": begun - started, "found_at_start": at_start}
        row |= {"found": count_found(state.factors, factors), "sweep": min(times), "slowest": max(times)}
        rows.append(row | {"with_repairs": time.perf_counter() - begun, "gb_peak": peak()})
    show(
        "1,000,000 x 1,000,000 x 1,000 with 10^7 ones: of 20 blocks, found to the last member",
        ("chain", "start s", "found", "sweep s", "slowest s", "11 sweeps, 2 repairs s", "found", "peak GB"),
        [
            [
                str(row["chain"]),
                f"{row['start']:.1f}",
                str(row["found_at_start"]),
                f"{row['sweep']:.2f}",
                f"{row['slowest']:.2f}",
                f"{row['with_repairs']:.1f}",
                str(row["found"]),
                f"{row['gb_peak']:.2f}",
            ]
            for row in rows
        ],
    )
    return rows


def measure_caida() -> dict[str, Any]:
    """A sweep at the shape of the largest set that rivals report: 10^8 ones, a tenth of them anywhere."""
    shape, n = (9_300, 9_300, 393_000), 10**8
    cells, factors = plant(shape, n, noise=0.1)
    started = time.perf_counter()
    tensor = build(cells, shape).with_threads(THREADS)
    built = time.perf_counter() - started
    del cells
    seconds = time_sweeps(tensor, start_at(factors, 1e-6), BLOCKS, rounds=3)
    row = {"ones": tensor.n_ones, "building": built, "sweep": seconds, "gb_held": tensor.nbytes / 1e9}
    row |= {"gb_peak": peak()}
    show(
        "9,300 x 9,300 x 393,000 (the shape of CAIDA), 20 components",
        ("ones", "build s", "sweep s", "held GB", "peak GB"),
        [[f"{row['ones']:,}", *(f"{row[k]:.1f}" for k in ("building", "sweep", "gb_held", "gb_peak"))]],
    )
    return row


def measure_crossing() -> list[dict[str, Any]]:
    """Dense and sparse sweeps over the same cells, and what the choice costs beside the better one."""
    rows = []
    for shape in ((3000, 2000), (10_000, 4000), (200, 200, 200), (400, 400, 300), (100, 100, 60, 60)):
        for L in (5, 20):
            for density in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4):
                rng, p = np.random.default_rng(0), (density / L) ** (1 / len(shape))
                factors = [rng.random((N, L)) < p for N in shape]
                cells = boolean_product(factors)
                some = tuple(rng.integers(N, size=int(cells.size * density / 5)) for N in shape)
                cells[some] = True
                dense, state = DenseTensor(cells), start_at(factors, density / 5)
                sparse = SparseTensor(np.nonzero(cells), shape)
                picked = type(pick_storage(dense, L)).__name__
                times = {
                    name: min(time_sweeps(tensor, state, L, 8) for _ in range(2))
                    for name, tensor in (("DenseTensor", dense), ("SparseTensor", sparse))
                }
                row = {"shape": shape, "components": L, "density": float(cells.mean()), "picked": picked}
                rows.append(row | times | {"over_better": times[picked] / min(times.values())})
    show(
        "A sweep, ms, one thread",
        ("shape", "L", "ones", "dense", "sparse", "picked", "over the better"),
        [
            [
                " x ".join(map(str, row["shape"])),
                str(row["components"]),
                f"{row['density']:.3%}",
                *(f"{1e3 * row[name]:.2f}" for name in ("DenseTensor", "SparseTensor")),
                row["picked"].removesuffix("Tensor").lower(),
                f"{row['over_better']:.2f}",
            ]
            for row in rows
        ],
    )
    return rows


def measure_links() -> list[dict[str, Any]]:
    """Predict the test triples of nations among all triples that are not known, beside frequencies."""
    folder = os.environ.get("TENSORM_DATA")
    if folder is None:
        raise click.UsageError("TENSORM_DATA is not set: there are no triples to read.")
    parts = {
        name: np.loadtxt(Path(folder) / "nations" / f"{name}.txt", dtype=str, delimiter="\t")
        for name in ("train", "valid", "test")
    }
    every = np.concatenate(list(parts.values()))
    nations, links = np.unique(every[:, [0, 2]]), np.unique(every[:, 1])
    shape = (len(nations), len(links), len(nations))
    number = {
        name: np.column_stack(
            [np.searchsorted(v, triples[:, k]) for k, v in enumerate((nations, links, nations))]
        )
        for name, triples in parts.items()
    }
    train = SparseTensor(number["train"], shape)
    known = np.zeros(shape, bool)
    for triples in number.values():
        known[tuple(triples.T)] = True
    seen = np.zeros(shape, bool)
    seen[tuple(number["train"].T)] = True
    scores: dict[str, Callable[[], np.ndarray]] = {
        "links of both nations": lambda: np.broadcast_to(seen.sum(axis=1)[:, None], shape) * 1.0,
        "head and tail with the link": lambda: seen.sum(2)[:, :, None] * 1.0 * seen.sum(0)[None],
    }
    best = max((10, 20, 30, 40), key=lambda L: auc(fit_links(train, L), number["valid"], known))
    scores[f"tensorm, {best} components (most AUC on valid)"] = lambda: fit_links(train, best)
    rows = [rank(name, score(), number["test"], known) for name, score in scores.items()]
    show(
        f"{len(number['test'])} test triples of nations, ranked among unknown ones (filtered)",
        ("", "MRR", "hits@1", "hits@3", "hits@10", "AUC"),
        [
            [row["name"], *(f"{row[k]:.3f}" for k in ("mrr", "hits@1", "hits@3", "hits@10", "auc"))]
            for row in rows
        ],
    )
    return rows


def fit_links(train: SparseTensor, L: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TensOrMachine(L, n_chains=4, n_draws=250, random_state=0, progress=False).fit(train)
    return model.predict_proba()


def auc(p: np.ndarray, triples: np.ndarray, known: np.ndarray) -> float:
    """Return the AUC of triples against random corruptions of their heads or tails."""
    rng = np.random.default_rng(0)
    false = np.repeat(triples, 10, axis=0)
    side = np.where(rng.random(len(false)) < 0.5, 0, 2)
    false[np.arange(len(false)), side] = rng.integers(known.shape[0], size=len(false))
    false = false[~known[tuple(false.T)]]
    both = np.concatenate([p[tuple(triples.T)], p[tuple(false.T)]])
    return float(roc_auc_score(np.arange(len(both)) < len(triples), both))


def rank(name: str, p: np.ndarray, triples: np.ndarray, known: np.ndarray) -> dict[str, Any]:
    """Rank each triple among those with another head, or another tail, that are not known; ties share."""
    ranks = []
    for head, link, tail in triples:
        for line, others in ((p[:, link, tail], known[:, link, tail]), (p[head, link], known[head, link])):
            mine, rest = p[head, link, tail], line[~others]
            ranks.append(1 + (rest > mine).sum() + (rest == mine).sum() / 2)
    ranks = np.array(ranks)
    hits = {f"hits@{n}": float((ranks <= n).mean()) for n in (1, 3, 10)}
    return {"name": name, "mrr": float((1 / ranks).mean()), **hits, "auc": auc(p, triples, known)}


def measure_rivals() -> list[dict[str, Any]]:
    """Time and accuracy beside the rivals on a planted 10^3 x 10^3 x 10^2 tensor."""
    shape = (1000, 1000, 100)
    cells, factors = plant(shape, 10**5)
    tensor, truth = build(cells, shape), boolean_product(factors)
    rivals: dict[str, Any] = {
        "tensorm": TensOrMachine(
            BLOCKS, noise="asymmetric", n_chains=1, n_draws=50, random_state=0, progress=False
        ),
        "Boolean ALS": baselines.BooleanALS(n_components=BLOCKS, random_state=0, progress=False),
        "Walk'n'Merge": baselines.WalkNMerge(random_state=0),
    }
    rows = []
    for name, rival in rivals.items():
        data = tensor if name == "tensorm" else DenseTensor(observed_array(tensor))
        started = time.perf_counter()
        rival.fit(data)
        seconds, guess = time.perf_counter() - started, rival.predict().astype(bool)
        both = np.count_nonzero(guess & truth)
        rows.append(
            {"name": name, "seconds": seconds, "recall": both / truth.sum(), "precision": both / guess.sum()}
        )
    show(
        "1,000 x 1,000 x 100 with 10^5 ones, 20 blocks and 1% noise",
        ("", "seconds", "recall", "precision"),
        [
            [row["name"], f"{row['seconds']:.1f}", f"{row['recall']:.3f}", f"{row['precision']:.3f}"]
            for row in rows
        ],
    )
    return rows


def observed_array(tensor: SparseTensor) -> np.ndarray:
    cells = np.zeros(tensor.shape, bool)
    for where, ones, _ in tensor.blocks():
        cells[where] = ones
    return cells


PARTS: dict[str, Callable[[], Any]] = {
    "levels": measure_levels,
    "strengths": measure_strengths,
    "found": measure_found,
    "crossing": measure_crossing,
    "links": measure_links,
    "rivals": measure_rivals,
    "caida": measure_caida,
}


@click.command(help=__doc__.partition("\n")[0])
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: Sequence[str]) -> None:
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    for name in parts or [name for name in PARTS if name != "caida"]:
        found[name] = {"machine": machine(), "found": PARTS[name]()}
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
