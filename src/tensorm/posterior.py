"""What the draws say: means, most probable values, and predictions of cells (eq. 7)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.diagnostics import align, factor_means, worse
from tensorm.errors import InputError
from tensorm.kernels.predict import add_product
from tensorm.model import Noise
from tensorm.sampler.state import SweepInfo, Trace
from tensorm.tensors.bits import combine, pack, unpack
from tensorm.tensors.memory import available_memory
from tensorm.tensors.seam import Tensor

Floats = npt.NDArray[np.float64]
METHODS = ("predictive", "mean", "map")


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of all chains, components aligned across them and strongest first.

    Attributes
    ----------
    chains : tuple of Trace
        The draws of every chain.
    shape : tuple of int
    modes : tuple of str
    labels : tuple of ndarray or None
    kept : tuple of bool
        Which chains count: those that did not end in a worse explanation of the data (diagnostics.worse).
        Everything derived from the draws leaves the others out.
    """

    chains: tuple[Trace, ...]
    shape: tuple[int, ...]
    modes: tuple[str, ...]
    labels: tuple[npt.NDArray[Any] | None, ...]
    kept: tuple[bool, ...]

    @classmethod
    def from_traces(cls, traces: Sequence[Trace], tensor: Tensor) -> Posterior:
        """Align the chains' components and put the one that explains most first."""
        aligned = align(traces)
        best = max(aligned, key=lambda trace: trace.log_posterior.max())
        order = strongest_first(tensor, best, int(best.log_posterior.argmax()))
        ordered = tuple(trace.reorder(order) for trace in aligned)
        kept = tuple(not stuck for stuck in worse(ordered))
        return cls(ordered, tensor.shape, tensor.modes, tensor.labels, kept)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The draws of the chains that count."""
        return tuple(trace for trace, kept in zip(self.chains, self.kept, strict=True) if kept)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.chains[0].n_components

    @property
    def n_draws(self) -> int:
        """Number of draws of the chains that count."""
        return sum(len(trace) for trace in self.traces)

    @cached_property
    def factors(self) -> list[Floats]:
        """Posterior mean of each mode's factor, (N_k, L)."""
        return [
            np.average(
                [factor_means(trace, mode) for trace in self.traces],
                axis=0,
                weights=[len(trace) for trace in self.traces],
            )
            for mode in range(len(self.shape))
        ]

    @cached_property
    def noise(self) -> dict[str, float]:
        """Posterior means: rate of ones where the product is 1, where it is 0, share of cells explained."""
        hit, false_alarm = np.concatenate([trace.noise for trace in self.traces]).mean(axis=0)
        explained = np.concatenate([trace.accuracy for trace in self.traces]).mean()
        return {"hit": float(hit), "false_alarm": float(false_alarm), "explained": float(explained)}

    @cached_property
    def _distinct(self) -> list[tuple[Trace, int, float]]:
        """Draws with distinct factors, each with its share of all draws times the contrast of its rates."""
        weights: dict[bytes, tuple[Trace, int, float]] = {}
        for trace in self.traces:
            for draw, (hit, false_alarm) in enumerate(trace.noise.tolist()):
                key = blake2b(b"".join(octets[draw].tobytes() for octets in trace.factors)).digest()
                first, at, weight = weights.get(key, (trace, draw, 0.0))
                weights[key] = first, at, weight + (hit - false_alarm) / self.n_draws
        return list(weights.values())

    def predict_block(self, first: int, stop: int, method: str = "predictive") -> Floats:
        """Return P(x = 1) of the cells with first <= n < stop in mode 0, (stop - first, N_1, ..., N_K-1)."""
        shape = (stop - first, *self.shape[1:])
        if method == "predictive":
            total = np.full((math.prod(shape[:-1]), shape[-1]), self.noise["false_alarm"])
            for trace, draw, weight in self._distinct:
                factors = trace.masks(draw)
                rows = combine([factors[0][first:stop], *factors[1:-1]], self.n_components)
                add_product(total, rows, factors[-1], weight)
            return total.reshape(shape)
        means = self.factors if method == "mean" else [np.rint(mean) for mean in self.factors]
        unexplained = np.ones(shape)
        for l in range(self.n_components):
            block = means[0][first:stop, l]
            for mean in means[1:]:
                block = np.multiply.outer(block, mean[:, l])
            unexplained *= 1 - block
        return 1 - unexplained

    def predict_cells(self, indices: Sequence[npt.NDArray[np.intp]], method: str = "predictive") -> Floats:
        """Return P(x = 1) of some cells, given as K index arrays of one length."""
        if method == "predictive":
            total = np.full(len(indices[0]), self.noise["false_alarm"])
            for trace, draw, weight in self._distinct:
                factors = trace.masks(draw)
                shared = factors[0][indices[0]]
                for masks, index in zip(factors[1:], indices[1:], strict=True):
                    shared = shared & masks[index]
                total += weight * shared.any(axis=1)
            return total
        means = self.factors if method == "mean" else [np.rint(mean) for mean in self.factors]
        together = np.ones((len(indices[0]), self.n_components))
        for mean, index in zip(means, indices, strict=True):
            together *= mean[index]
        return 1 - np.prod(1 - together, axis=1)

    def predict_all(self, method: str = "predictive") -> Floats:
        """Return P(x = 1) of every cell at once."""
        need, room = 8 * math.prod(self.shape), available_memory()
        if need > room:
            raise InputError(
                f"All {math.prod(self.shape):,} cells take {need / 2**30:,.1f} GB and this machine has "
                f"{room / 2**30:,.1f} GB; give indices, or go through posterior_.blocks()."
            )
        cells = np.empty(self.shape)
        for where, block in self.blocks(method):
            cells[where] = block
        return cells

    def blocks(self, method: str = "predictive", max_cells: int = 2**22) -> Iterator[tuple[slice, Floats]]:
        """Yield (indices along mode 0, P(x = 1)) in blocks, so that the whole is never in memory."""
        step = max(1, max_cells // math.prod(self.shape[1:]))
        for first in range(0, self.shape[0], step):
            stop = min(first + step, self.shape[0])
            yield slice(first, stop), self.predict_block(first, stop, method)


def check_room(shape: Sequence[int], n_components: int, n_chains: int, n_draws: int) -> None:
    """Raise, before anything is allocated, if the draws cannot fit in this machine's memory."""
    L, room = n_components, available_memory()
    entries = sum(shape) * L
    need = n_chains * (n_draws * entries // 8 + 8 * entries) + 8 * L**2  # draws, means, similarities
    if need > room:
        raise InputError(
            f"n_components is {L:,}, n_chains {n_chains:,} and n_draws {n_draws:,}, and such draws take "
            f"{need / 2**30:,.1f} GB, but this machine has {room / 2**30:,.1f} GB; make one of them smaller."
        )


def strongest_first(tensor: Tensor, trace: Trace, draw: int) -> list[int]:
    """Order the components by the log-likelihood that is lost when each is taken out."""
    factors, L = trace.masks(draw), trace.n_components
    noise = Noise(*map(float, trace.noise[draw]))
    left = []
    for l in range(L):
        kept = unpack(factors[0], L)
        kept[:, l] = False
        confusion = tensor.confusion((pack(kept), *factors[1:]), L)
        left.append(SweepInfo(confusion, noise).log_likelihood)
    return [int(l) for l in np.argsort(left, kind="stable")]
