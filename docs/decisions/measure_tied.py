"""Print the processor time of an update where two modes share a factor, beside a plain one of the same mode.

``python docs/decisions/measure_tied.py``; best of 15 updates in turn, 2 x 800 x 800 cells, 10 components.
"""

from __future__ import annotations

import time

import numpy as np

from tensorm.model import boolean_product
from tensorm.sampler.strengths import ConstantStrengths
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import METROPOLIS, DenseTensor, Rule, SparseTensor, Stream, SymmetricTensor, Tensor
from tensorm.tensors.factors import Factors

N, L = 800, 10
WEIGHTS = {
    "two rates": Rates(0.6, 0.02).weights,
    "strengths": ConstantStrengths(np.full(L, 0.6), 0.5, 0.3, 0.02).weights,
}


def both_ways(half: np.ndarray) -> np.ndarray:
    return np.triu(half, 1) | np.triu(half, 1).swapaxes(1, 2)


def make() -> tuple[dict[str, Tensor], Factors]:
    """Return the same people in three kinds of tensor, in the last a fifth of the cells, and factors."""
    rng = np.random.default_rng(0)
    people, hours = rng.random((N, L)) < 0.15, rng.random((2, L)) < 0.7
    product = boolean_product([hours, people, people])
    ones = both_ways(rng.random(product.shape) < np.where(product, 0.6, 0.02))
    diagonal = np.broadcast_to(np.eye(N, dtype=bool), ones.shape)
    some = both_ways(rng.random(ones.shape) < 0.2)
    kinds = {
        "dense": DenseTensor(np.where(diagonal, np.nan, ones)),
        "sparse": SparseTensor(np.argwhere(ones), ones.shape, missing=np.argwhere(diagonal)),
        "listed": SparseTensor(np.argwhere(some), ones.shape, ones[some], unlisted="missing"),
    }
    return kinds, Factors.from_bits([hours, people, people])


def measure(tensors: tuple[Tensor, Tensor], factors: Factors, rule: Rule) -> list[float]:
    """Return the milliseconds of an update of mode 1 by each tensor."""
    best = [np.inf, np.inf]
    for sweep in range(16):  # the first compiles
        for i, tensor in enumerate(tensors):
            start = time.process_time()
            tensor.update_factor(1, factors, rule, Stream(np.uint64(1), 0, sweep, 1))
            best[i] = min(best[i], 1e3 * (time.process_time() - start)) if sweep else np.inf
    return best


if __name__ == "__main__":
    KINDS, FACTORS = make()
    for kind, tensor in KINDS.items():
        for noise, weights in WEIGHTS.items():
            rule = Rule(np.arange(L), METROPOLIS, weights, np.zeros((1, 1)))
            plain, tied = measure((tensor, SymmetricTensor(tensor, (1, 2))), FACTORS, rule)
            print(f"{kind}, {noise}: plain {plain:.2f} ms, shared {tied:.2f} ms, ratio {tied / plain:.2f}")
