"""Print the time of a settled sweep over ten billion comparisons, and of its changed slices (note 7).

Run with ``TENSORM_DATA=... python docs/decisions/measure_cached_counts.py``; it takes about four minutes.
Times are the median processor time on one thread. The methods take turns, and must give the same result.
"""

import os
import time
from pathlib import Path

import numpy as np

from tensorm import RelationalTensor
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors.cached import CachedCounts
from tensorm.tensors.layout import Layout

L, REST, ROUNDS = 25, 60, 9
MODEL = Target(L, Asymmetric(), LearnedPrior(), np.uint64(0))


class Ranked(RelationalTensor):
    """A tensor whose parts are also read by comparing ranks."""

    def compact(self):
        """Return the same tensor."""
        return self


def read(kind):
    path = Path(os.environ["TENSORM_DATA"]) / "cancer" / "mirna_8943x1046.npz"
    return kind(np.load(path)["expr"])


def compare(ways):
    """Return how many milliseconds each method takes."""
    spent = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            started = time.process_time()
            way()
            spent[name].append(time.process_time() - started)
    return ", ".join(f"{name} {1e3 * np.median(seconds):.1f} ms" for name, seconds in spent.items())


def measure_rest(tensor):
    """Time one sweep of a settled chain with three methods."""
    state = begin(tensor, MODEL, np.random.default_rng(0)).state(sweep=0)
    cached, ranked = CachedCounts(tensor), CachedCounts(read(Ranked), most=np.inf)
    for _ in range(REST):
        state, _ = sweep(cached, state, MODEL, 0)
    sweep(ranked, state, MODEL, 0)  # fills the cache
    ways = {"all cells read": tensor, "cached, slices by ranks": ranked, "cached": cached}
    spent, flips = {name: [] for name in ways}, []
    for _ in range(ROUNDS):
        after = []
        for name, one in ways.items():
            started = time.process_time()
            new, _ = sweep(one, state, MODEL, 0)
            spent[name].append(time.process_time() - started)
            after.append(np.concatenate(new.factors.masks))
        assert all(np.array_equal(after[0], other) for other in after)
        flips.append(np.bitwise_count(after[0] ^ np.concatenate(state.factors.masks)).sum())
        state = new
    print(f"One sweep of a settled chain, {np.mean(flips):.1f} entries flip:")
    for name, seconds in spent.items():
        print(f"  {name}: {np.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f})")
    return state


def measure_slice(tensor, state):
    """Time making the slices of one attribute dense, and counting them as seen from another attribute."""
    indices = [np.arange(size) for size in tensor.shape]
    indices[1] = np.array([500])
    part, turn = tensor.take(indices), Layout.turn
    dense = part.compact()
    factors = state.factors.take(indices)

    def gather():
        Layout.turn = lambda to, source, shape: to.gather(source, [np.arange(n) for n in shape], shape)
        try:
            return part.compact()
        finally:
            Layout.turn = turn

    print("One attribute made dense:", compare({"squares turned": part.compact, "bit by bit": gather}))
    ways = {"dense": dense, "by ranks": part}
    counts = {name: lambda one=one: one.counts(2, factors) for name, one in ways.items()}
    print("and counted once:", compare(counts))
    for a, b, c in zip(*(one.counts(2, factors) for one in (part, dense, gather())), strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)


if __name__ == "__main__":
    comparisons = read(RelationalTensor)
    measure_slice(comparisons, measure_rest(comparisons))
