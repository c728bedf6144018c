"""The draws of a fit: their weights, posterior means, most probable values, and what components do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import compress
from typing import Any

import numpy as np

from tensorm.data.arrays import Bits, Floats, Indices
from tensorm.data.checks import (
    check_count,
    check_mode,
    check_parts,
    find_orders,
)
from tensorm.data.inputs import Names
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER, align, factor_means, group_chains, mean_factors, most_probable
from tensorm.posterior.cells import CellPredictions
from tensorm.posterior.contributions import (
    Contribution,
    Measured,
    MemberShares,
    contributions,
    share_members,
    strongest_first,
)
from tensorm.posterior.convergence import EntrySummary, summarise_entries
from tensorm.posterior.stacking import weigh_chains
from tensorm.sampler.factor_draws import differing_rows
from tensorm.sampler.noise_model import ACTIVITY, STRENGTH, Parameters
from tensorm.sampler.state import INCLUDED, Trace
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import read
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Tensor
from tensorm.tensors.ranked import by_mode

NO_NOISE = Rates(1.0, 0.0)  # the product itself, without noise
MIN_LIKELY = 0.005  # probability from which it is known what an index would contribute


@dataclass(frozen=True, eq=False)
class Posterior(CellPredictions):
    """Draws of all chains, components aligned across them and strongest first.

    Predictions average all chains by their weights. Everything about components refers to the first
    explanation, the one with the most weight.

    Attributes
    ----------
    chains : tuple of Trace
        The draws of every chain.
    shape : tuple of int
    names : Names
        What the modes and their indices are called; ``modes`` and ``labels`` are parts of it.
    weights : tuple of float
        Weight of each chain in predictions; they sum to 1. By default in proportion to its draws.
    explanations : tuple of int
        For each chain the number of its explanation: chains that found the same components have the same
        number (align.group_chains). 0 has the most weight. By default all chains have number 0.
    measures : tuple of Measured
        For each explanation what its components contribute, and what the indices of each mode contribute to
        them, by which members are ranked; ``contributions`` and ``shares`` are those of the first one.
    order : tuple of int
        Which component of the chain with that draw each one was while it was sampled. Not saved to a file.
    noise_choice : str or None
        Which noise model was chosen and why, if the cells chose it.
    outcomes : tuple of str
        For each chain that was asked for "included", or why it is not among ``chains``: it "failed", or was
        "stopped" in burn-in. By default all are included.
    """

    chains: tuple[Trace, ...]
    shape: tuple[int, ...]
    names: Names
    weights: tuple[float, ...] = ()
    explanations: tuple[int, ...] = ()
    measures: tuple[Measured, ...] = ()
    order: tuple[int, ...] = ()
    noise_choice: str | None = None
    outcomes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        drawn = sum(map(len, self.chains))
        object.__setattr__(self, "weights", self.weights or tuple(len(c) / drawn for c in self.chains))
        object.__setattr__(self, "explanations", self.explanations or (0,) * len(self.chains))
        object.__setattr__(self, "outcomes", self.outcomes or (INCLUDED,) * len(self.chains))

    @classmethod
    def from_traces(
        cls,
        traces: Sequence[Trace],
        tensor: Tensor,
        noise_choice: str | None = None,
        outcomes: tuple[str, ...] = (),
    ) -> Posterior:
        """Weigh the chains, align their components, and put the one that explains most first."""
        means = [factor_means(trace) for trace in traces]
        numbers = group_chains(traces, means)
        weights = weigh_chains(tensor, traces, numbers)
        heaviest = np.argsort(-np.bincount(numbers, weights), kind="stable")
        explanations = tuple(int(number) for number in np.argsort(heaviest)[numbers])
        lead, draw = most_probable(traces, explanations)
        aligned = align(traces, means, lead)
        first = mean_factors([*compress(aligned, np.equal(explanations, 0))])
        order = strongest_first(tensor, _members(first), traces[lead].noise_at(draw))
        chains = tuple(trace.reorder(order) for trace in aligned)
        given = chains, tensor.shape, tensor.names, tuple(weights.tolist()), explanations
        return cls(*given, (), tuple(order), noise_choice, outcomes).measure(tensor)

    def measure(self, tensor: Tensor) -> Posterior:
        """Return the posterior with what components and members contribute to these cells."""
        parts = [self.put_first(number) for number in range(len(self.explained_by))]
        measured = replace(self, measures=tuple(part._measure(tensor) for part in parts))
        vars(measured)["_remembered"] = self._remembered  # they follow from the draws alone
        return measured

    def _measure(self, tensor: Tensor) -> Measured:
        likely = [mean >= MIN_LIKELY for mean in self.factors]
        shares = share_members(tensor, self.member_factors(), likely)
        return Measured(self.count_contributions(tensor), shares)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each component contributes, strongest first; empty if that was not counted."""
        return self.measures[0].contributions if self.measures else ()

    @property
    def shares(self) -> tuple[MemberShares, ...]:
        """For each mode what its indices contribute to the components; empty if that was not counted."""
        return self.measures[0].shares if self.measures else ()

    def count_contributions(self, tensor: Tensor, threshold: float = MEMBER) -> tuple[Contribution, ...]:
        """Return what each component contributes if members are those above a threshold."""
        lead, draw = most_probable(self.chains, self.explanations)
        return contributions(tensor, self.member_factors(threshold), self.chains[lead].noise_at(draw))

    def member_factors(self, threshold: float = MEMBER) -> Factors:
        """Return the factors of which each entry is 1 if its probability is above a threshold."""
        return _members(self.factors, threshold)

    def __repr__(self) -> str:
        draws = f"{self.n_draws} draws from {len(self.chains)} chains"
        return f"Posterior(shape={self.shape}, n_components={self.n_components}, {draws})"

    @property
    def numbers(self) -> list[int]:
        """The number of each chain, among all that were asked for."""
        return [number for number, outcome in enumerate(self.outcomes) if outcome == INCLUDED]

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The draws of the chains that found the explanation with most weight."""
        return self.traces_of(0)

    def traces_of(self, explanation: int) -> tuple[Trace, ...]:
        """Return the draws of the chains that found an explanation, 0 for the one with most weight."""
        explanation = check_count("explanation", explanation, 0, most=max(self.explanations))
        return tuple(compress(self.chains, (number == explanation for number in self.explanations)))

    def put_first(self, explanation: int) -> Posterior:
        """Return the posterior with another explanation in first place, to which components then refer.

        Averages of all chains stay the same, and components keep their numbers.
        """
        number = check_count("explanation", explanation, 0, most=max(self.explanations))
        if number == 0:
            return self
        moved = {0: number, number: 0}
        explanations = tuple(moved.get(own, own) for own in self.explanations)
        measures = tuple(self.measures[moved.get(own, own)] for own in range(len(self.measures)))
        return replace(self, explanations=explanations, measures=measures)

    @property
    def counted(self) -> tuple[tuple[Trace, float], ...]:
        """The chains that count in predictions, with their weights."""
        return tuple((trace, w) for trace, w in zip(self.chains, self.weights, strict=True) if w)

    @cached_property
    def explained_by(self) -> list[tuple[float, list[Floats]]]:
        """For each explanation its weight and the means of its factors; the one with most weight first."""
        totals = np.bincount(self.explanations, self.weights).tolist()
        return [(weight, mean_factors(self.traces_of(number))) for number, weight in enumerate(totals)]

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.chains[0].n_components

    @property
    def n_draws(self) -> int:
        """Number of draws that count in predictions."""
        return sum(len(trace) for trace, _ in self.counted)

    @property
    def factors(self) -> list[Floats]:
        """Posterior mean of each mode's factor, (N_k, L), in the explanation with most weight."""
        return self.explained_by[0][1]

    @cached_property
    def noise(self) -> dict[str, Any]:
        """Means of the noise parameters by name and of what is explained, beside ``factors``."""
        trace, explained = self.traces[0], np.concatenate([trace.explained for trace in self.traces])
        rows = np.concatenate([trace.noise for trace in self.traces]).mean(axis=0)
        means = trace.parameters.by_name(rows, trace.n_components, trace.shape)
        return {**{name: mean.tolist() for name, mean in means.items()}, "explained": float(explained.mean())}

    @property
    def parameters(self) -> type[Parameters]:
        """The noise model's parameters: the class that draws of the noise belong to."""
        return self.chains[0].parameters

    @property
    def compared(self) -> Pair | None:
        """The two modes whose indices the cells compare, or None."""
        return self.parameters.pair

    @property
    def strengths(self) -> Floats | None:
        """Mean strength of each component, or None if the noise model has none."""
        return np.array(self.noise[STRENGTH]) if STRENGTH in self.noise else None

    @property
    def background(self) -> float | None:
        """Mean probability of a one outside components, for typical indices; None without strengths."""
        if STRENGTH not in self.noise:
            return None
        return self.noise["background"] if "background" in self.noise else -math.expm1(-self.noise["rate"])

    @property
    def activities(self) -> list[Floats] | None:
        """Mean activity of each mode's indices, or None if the noise model has none."""
        return by_mode(np.array(self.noise[ACTIVITY]), self.shape) if ACTIVITY in self.noise else None

    @property
    def base_rate(self) -> float:
        """Share of ones among the observed cells of the fit."""
        tp, _, fn, _ = self.chains[0].confusion[0].tolist()
        return float((tp + fn) / self.n_observed)

    @property
    def n_observed(self) -> int:
        """Number of observed cells of the fit."""
        return int(self.chains[0].confusion[0].sum())

    @cached_property
    def best_factors(self) -> list[Bits]:
        """Factors of the draw with the highest log posterior, in the explanation with most weight."""
        lead, draw = most_probable(self.chains, self.explanations)
        trace = self.chains[lead]
        return trace.factors_at(draw).bits()

    @cached_property
    def _distinct(self) -> list[tuple[Trace, int, Parameters, float]]:
        """Draws with distinct factors, each with its noise and its weight; all weights together are 1."""
        alike: dict[tuple[bytes, float], tuple[Trace, list[int], list[Any]]] = {}
        differing = [
            differing_rows(parts) for parts in zip(*(c.factors for c, _ in self.counted), strict=True)
        ]
        for trace, weight in self.counted:
            parts = [draws.take(rows) for draws, rows in zip(trace.factors, differing, strict=True)]
            for draw in range(len(trace)):
                key = blake2b(b"".join(part.at(draw).tobytes() for part in parts)).digest()
                _, draws, noises = alike.setdefault((key, weight / len(trace)), (trace, [], []))
                draws.append(draw)
                noises.append(trace.noise_at(draw))
        return [
            (trace, draws[0], noise, count * each)
            for (_, each), (trace, draws, noises) in alike.items()
            for noise, count in trace.parameters.merge(noises)
        ]

    def _weighted(self, method: str) -> Iterator[tuple[Factors, Parameters, float]]:
        """Yield the draws that a method averages, with their noise and weights."""
        if method == "predictive":
            for trace, draw, noise, weight in self._distinct:
                yield trace.factors_at(draw), noise, weight
        elif method == "map":
            for weight, means in self.explained_by:
                yield _members(means), self._certain, weight
        else:
            yield Factors.from_bits(self.best_factors), self._certain, 1.0

    @property
    def _certain(self) -> Parameters:
        return self.parameters.certain() or NO_NOISE

    def check_tensor(self, X: Any, name: str = "X") -> Tensor:
        """Return X as a tensor, or raise unless it has the shape of the fit, and its labels if it has any."""
        tensor = self.check_shape(X, name)
        for k, order in enumerate(find_orders(name, tensor.labels, self.shape, self.modes, self.labels)):
            if not np.array_equal(order, np.arange(len(order))):
                problem = f"the labels of {self.modes[k]!r} in another order than the fit"
                raise InputError(f"{name} has {problem}; put them in the order of labels_[{k}].")
        return tensor

    def check_shape(self, X: Any, name: str = "X") -> Tensor:
        """Return X as a tensor, or raise unless it has the shape of the fit."""
        tensor = read(X)
        if tensor.shape != self.shape:
            raise InputError(f"{name} has shape {tensor.shape}; give {self.shape}, as in fit.")
        return tensor

    def match(self, labels: Sequence[Any]) -> Posterior:
        """Return the posterior with its indices in the order of these labels; None stands for the fit's."""
        orders = find_orders("X", labels, self.shape, self.modes, self.labels)
        same = all(np.array_equal(order, np.arange(len(order))) for order in orders)
        return self if same else self.take(orders)

    def take(self, indices: Sequence[Indices]) -> Posterior:
        """Return the posterior of the cells with these indices along each mode; components keep their order.

        Measured are dropped: they refer to all cells.
        """
        indices, pair = check_parts(indices, self.shape), self.compared
        if pair is not None and not np.array_equal(indices[pair[0]], indices[pair[1]]):
            raise InputError("Comparisons need the same attributes on both sides; give them twice.")
        chains = tuple(trace.take(indices) for trace in self.chains)
        shape = tuple(len(index) for index in indices)
        names = self.names.take(indices)
        return replace(self, chains=chains, shape=shape, names=names, measures=())

    def entry_summary(self, mode: str | int) -> EntrySummary:
        """Return mean, spread and Monte Carlo error of each entry of a mode's factor.

        Parameters
        ----------
        mode : str or int
            Name or number of the mode.

        Returns
        -------
        EntrySummary
            Arrays (N_k, L).
        """
        k = check_mode(mode, self.modes)
        return summarise_entries(self.traces, k, self.factors[k])


def check_draws_fit(shape: Sequence[int], n_components: int, n_chains: int, n_draws: int) -> None:
    """Raise before anything is allocated if the draws do not fit in memory."""
    L, entries = n_components, sum(shape) * n_components
    need = n_chains * (n_draws * entries // 8 + 8 * entries) + 8 * L**2  # draws, means, similarities
    what = f"n_components is {L:,}, n_chains {n_chains:,} and n_draws {n_draws:,}: these draws take"
    check_fits(what, need, "reduce one of the three")


def _members(means: Sequence[Floats], threshold: float = MEMBER) -> Factors:
    return Factors.from_bits([mean > threshold for mean in means])
