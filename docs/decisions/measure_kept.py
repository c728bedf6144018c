"""Prints what a sweep at rest costs on ten billion comparisons, and what its changed slices do (note 7).

Run as ``TENSORM_DATA=... python docs/decisions/measure_kept.py``; it takes about four minutes. Seconds are
of processor time on one thread, the middle of several. Ways to do the same take turns and give the same.
"""

import os
import time
from pathlib import Path

import numpy as np

from tensorm import RelationalTensor
from tensorm.sampler.noise import Asymmetric
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors.cached import CachedCounts
from tensorm.tensors.layout import Layout

L, REST, ROUNDS = 25, 60, 9
MODEL = Target(L, Asymmetric(), LearnedPrior(), np.uint64(0))


class Ranked(RelationalTensor):
    """A tensor whose parts are read as it is itself, by comparing ranks."""

    def compact(self):
        """Return the same tensor."""
        return self


def read(kind):
    path = Path(os.environ["TENSORM_DATA"]) / "cancer" / "mirna_8943x1046.npz"
    return kind(np.load(path)["expr"])


def compare(ways):
    """Say how many milliseconds each way takes."""
    spent = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            started = time.process_time()
            way()
            spent[name].append(time.process_time() - started)
    return ", ".join(f"{name} {1e3 * np.median(seconds):.1f} ms" for name, seconds in spent.items())


def measure_rest(tensor):
    """A chain that has come to rest: one sweep in three ways."""
    state = begin(tensor, MODEL, np.random.default_rng(0)).state(sweep=0)
    kept, ranked = CachedCounts(tensor), CachedCounts(read(Ranked), most=np.inf)
    for _ in range(REST):
        state, _ = sweep(kept, state, MODEL, 0)
    sweep(ranked, state, MODEL, 0)  # which has nothing to go by yet
    ways = {"all cells read": tensor, "counts kept, slices by ranks": ranked, "counts kept": kept}
    spent, flips = {name: [] for name in ways}, []
    for _ in range(ROUNDS):
        after = []
        for name, one in ways.items():
            started = time.process_time()
            new, _ = sweep(one, state, MODEL, 0)
            spent[name].append(time.process_time() - started)
            after.append(np.concatenate(new.factors))
        assert all(np.array_equal(after[0], other) for other in after)
        flips.append(np.bitwise_count(after[0] ^ np.concatenate(state.factors)).sum())
        state = new
    print(f"One sweep at rest, {np.mean(flips):.1f} entries flip:")
    for name, seconds in spent.items():
        print(f"  {name}: {np.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f})")
    return state


def measure_slice(tensor, state):
    """The slices of one attribute: made dense in two ways, and counted as seen from another attribute."""
    indices = [np.arange(size) for size in tensor.shape]
    indices[1] = np.array([500])
    part, turn = tensor.take(indices), Layout.turn
    dense = part.compact()
    factors = [masks[index] for masks, index in zip(state.factors, indices, strict=True)]

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
