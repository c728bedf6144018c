"""The paper's Bayesian Occam's razor: start with many components and remove those that do not contribute.

A chain with many components runs to convergence. Then components that do not contribute are removed, the
worst first; better ones are searched for with the moves of burn-in (seeding.py), and so on, until nothing is
removed and nothing better is found.

What a component contributes, its *worth*, is the fall of the log evidence without it, averaged over a few
sweeps. The *evidence* of a set of n components is their posterior with noise rates and densities integrated
out, times n! for the orders in which they can be listed, so that different numbers can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Floats, Indices
from tensorm.sampler.chains import Bookmark
from tensorm.sampler.sample import Plan, Snapshot, Step, Stop, Watch, sample
from tensorm.sampler.search.explanation import Explanation, losses
from tensorm.sampler.search.seeding import PURITIES, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import mark_place, read_count, read_shares, read_snapshot
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

AVERAGED = 5  # sweeps over which a component's worth is averaged
BETWEEN = 3  # sweeps between two searches for better components
SEARCHES_IN_VAIN, MOST_SEARCHES = 8, 60  # after which searches end
EXTRA = 2  # components that a search may add
SUMMARY_SWEEPS = 20  # sweeps over which the members of components are averaged in the end
PRUNING = "pruning"


class Stage(NamedTuple):
    """A number of components on the way down from many to one, the weakest removed at each step."""

    n_components: int
    evidence: float
    least: float  # worth of the component that contributes least


class Found(NamedTuple):
    """What one chain found.

    Attributes
    ----------
    factors : Factors
        The components that contribute.
    n_components : int
        Their number; 0 if none contributes, and then the factors are one empty component.
    evidence : float
        Log evidence of the factors, each entry at its more probable value.
    least : float
        Worth of the component that contributes least, averaged over sweeps; 0 if none contributes.
    stages : tuple of Stage
        From the many components of the start, and from those that contribute, down to one.
    seen : tuple of ndarray (J, N_k)
        For each mode how often its indices were members of J components, kept ones and others.
    """

    factors: Factors
    n_components: int
    evidence: float
    least: float
    stages: tuple[Stage, ...]
    seen: tuple[Floats, ...]


def log_evidence(explanation: Explanation) -> float:
    """Return the log evidence of a set of components, up to a constant that all sets share."""
    return explanation.score + math.lgamma(explanation.used + 1)


def worths(explanation: Explanation) -> Floats:
    """Return by how much the log evidence would fall without each component; -inf for unused ones."""
    worth = losses(explanation) + math.log(max(explanation.used, 1))
    worth[explanation.unused] = -np.inf
    return worth


def find_components(
    tensor: Tensor,
    target: Target,
    chain: int,
    watch: Watch = lambda step: None,
    stop: Stop = lambda: False,
    before: Found | None = None,
    bookmark: Bookmark | None = None,
) -> Found | None:
    """Find the components that contribute, at most ``target.n_components``.

    A chain that has found something before, with fewer components, begins there and returns the better of
    both. Once ``stop()``, what is there is pruned without further sweeps; None if burn-in was not over.
    """
    pruner = Pruner(tensor, target, chain, watch, stop, bookmark or Bookmark())
    state = pruner.go_on() or pruner.burn_in(before)
    if state is None:
        return before
    while pruner.in_vain < SEARCHES_IN_VAIN and pruner.searches < MOST_SEARCHES and not stop():
        pruner.mark(state)
        pruner.searches += 1
        state = [state, *pruner.sweeps(state, BETWEEN)][-1]
        better = search_better(
            pruner.explain(state), pruner.rng, n_out=pruner.searches % 3, most=target.n_components
        )
        pruner.in_vain = pruner.in_vain + 1 if better is None else 0
        if better is not None:
            state = pruner.remove_idle(better.state(state.sweep))
    found = pruner.summarise(pruner.remove_idle(state))
    return before if before and before.evidence > found.evidence else found


class Pruner:
    """Removes components from one chain, and remembers what it saw."""

    def __init__(
        self, tensor: Tensor, target: Target, chain: int, watch: Watch, stop: Stop, bookmark: Bookmark
    ) -> None:
        self.tensor, self.target, self.chain, self.watch, self.stop = tensor, target, chain, watch, stop
        self.bookmark, self.rng = bookmark, np.random.default_rng([int(target.seed), chain, 1])
        self.searches = self.in_vain = 0  # and the last of them that found nothing better
        self.first: list[Stage] = []  # down from where burn-in ended
        self.removed: list[list[Floats]] = []  # shares of the components removed
        self._saved: Snapshot | None = None

    def mark(self, state: State) -> None:
        """Mark that a search is about to begin."""
        mark_place(
            self.bookmark,
            Snapshot(state),
            self.target,
            searches=(self.searches, self.in_vain),
            rng=self.rng.bit_generator.state,
            first=tuple(self.first),
            removed=[[share.tolist() for share in shares] for shares in self.removed],
        )

    def go_on(self) -> State | None:
        """Return the state in which a search was about to begin, or None if burn-in is not over."""
        return self.bookmark.open(self._restore)

    def _restore(self, form: Any) -> State | None:
        most = Plan(self.target, n_draws=0).most_burn_in
        if "searches" not in form:
            self._saved = read_snapshot(form, self.tensor, self.target, most)
            return None
        searches, in_vain = form["searches"]
        self.searches = read_count(searches, MOST_SEARCHES)
        self.in_vain = read_count(in_vain, self.searches)
        # Between two searches, and after burn-in, each component may be removed by itself.
        most += (1 + self.searches) * (BETWEEN + AVERAGED * (1 + self.target.n_components))
        self.rng.bit_generator.state = form["rng"]
        self.first = [Stage(int(n), float(evidence), float(least)) for n, evidence, least in form["first"]]
        self.removed = [list(read_shares(shares, self.tensor.shape)) for shares in form["removed"]]
        if not np.isfinite(self.first).all():
            raise ValueError("no stages")
        return read_snapshot(form, self.tensor, self.target, most).state

    def explain(self, state: State) -> Explanation:
        """Return the components of a state."""
        return Explanation(self.tensor, self.target, state.factors)

    def burn_in(self, before: Found | None) -> State | None:
        """Return the state after burn-in, without idle components, or None if it was stopped."""
        plan, saved = Plan(self.target, n_draws=0), self._saved
        if before and saved is None:
            extra = self.target.n_components - before.factors.n_components
            found = Explanation(self.tensor, self.target, before.factors)
            saved = Snapshot(add_empty(found, extra).state(sweep=0))
        for step in sample(self.tensor, plan, self.chain, saved, self.watch, self.stop):
            saved = step.snapshot
            mark_place(self.bookmark, saved, self.target)
        if saved is None or (self.stop() and not saved.burnt):
            return None
        self.first = list_stages(self.explain(saved.state))
        return self.remove_idle(saved.state)

    def sweeps(self, state: State, n_sweeps: int) -> Iterator[State]:
        """Return the states after the next sweeps."""

        def watch(step: Step) -> None:
            self.watch(step._replace(phase=PRUNING, done=self.searches, total=MOST_SEARCHES))

        plan = Plan(self.target, n_sweeps, burn_in=0)
        steps = sample(self.tensor, plan, self.chain, Snapshot(state), watch, self.stop)
        return (step.state for step in steps)

    def average(self, state: State, n_sweeps: int = AVERAGED) -> tuple[State, Floats, list[Floats]]:
        """Average what components contribute, and their members, over the states before each sweep.

        Returns the state after the last, the worth of each component, and for each mode (L, N_k) how often
        an index was a member.
        """
        states = [state, *self.sweeps(state, n_sweeps)]
        before = states[:-1] or states
        worth = np.zeros(state.factors.n_components)
        shares = [np.zeros((len(worth), size)) for size in self.tensor.shape]
        for explanation in map(self.explain, before):
            worth += worths(explanation) / len(before)
            for share, bits in zip(shares, explanation.bits, strict=True):
                share += bits.T / len(before)
        return states[-1], worth, shares

    def remove_idle(self, state: State) -> State:
        """Remove components until each that is left contributes; one always stays."""
        while True:
            state, worth, shares = self.average(state)
            idle = np.flatnonzero(worth < 0)
            kept = remove_in_turn(self.explain(state), idle[np.argsort(worth[idle])])
            if len(kept) == len(worth):
                return state
            removed = np.setdiff1d(np.arange(len(worth)), kept)
            self.removed.append([share[removed] for share in shares])
            kept_factors = keep_components(self.explain(state), kept).factors
            state = state._replace(factors=kept_factors, noise=state.noise.keep(kept))

    def summarise(self, state: State) -> Found:
        """Return the components that contribute, and all that were seen."""
        _, worth, shares = self.average(state, SUMMARY_SWEEPS)
        best = self.explain(state).polished()
        seen = tuple(np.concatenate(parts) for parts in zip(*self.removed, shares, strict=True))
        n_components, least = len(worth), float(worth.min())
        many = (stage for stage in self.first if stage.n_components > n_components)
        stages = (*many, *list_stages(best))
        if n_components == 1 and least < 0:  # the rate of ones alone says as much
            best, n_components, least = best.emptied([0]), 0, 0.0
        return Found(best.factors, n_components, log_evidence(best), least, stages, seen)


def keep_components(explanation: Explanation, components: Indices) -> Explanation:
    """Return the explanation with these components only."""
    factors = Factors.from_bits([bits[:, components] for bits in explanation.bits])
    return Explanation(explanation.tensor, explanation.target, factors)


def add_empty(explanation: Explanation, extra: int) -> Explanation:
    """Return the explanation with so many more components, all empty."""
    wider = Factors.from_bits([np.pad(bits, ((0, 0), (0, extra))) for bits in explanation.bits])
    return Explanation(explanation.tensor, explanation.target, wider)


def remove_in_turn(explanation: Explanation, candidates: Indices) -> Indices:
    """Remove candidates in their order, each only if that still raises the evidence; return what is left.

    Of two that explain the same cells neither contributes, but one does as soon as the other is gone.
    """
    kept = np.arange(explanation.target.n_components)
    for component in candidates:
        here = np.flatnonzero(kept == component)[0]
        if len(kept) > 1 and worths(explanation)[here] < 0:
            rest = np.delete(np.arange(len(kept)), here)
            explanation, kept = keep_components(explanation, rest), kept[rest]
    return kept


def prune(explanation: Explanation) -> Explanation:
    """Remove the components that do not contribute, the worst first."""
    return keep_components(explanation, remove_in_turn(explanation, np.argsort(worths(explanation))))


def list_stages(explanation: Explanation) -> list[Stage]:
    """Return the stages from the components that are used down to the last one."""
    used = np.delete(np.arange(explanation.target.n_components), explanation.unused)
    explanation, stages = keep_components(explanation, used), []
    while n := explanation.target.n_components:
        worth = worths(explanation)
        stages.append(Stage(n, log_evidence(explanation), float(worth.min())))
        if n == 1:
            break
        explanation = keep_components(explanation, np.delete(np.arange(n), worth.argmin()))
    return stages


def search_better(
    explanation: Explanation, rng: np.random.Generator, n_out: int, most: int
) -> Explanation | None:
    """Search for a better set of components, with a few removed and up to EXTRA more."""
    n = explanation.target.n_components
    out = rng.permutation(n)[:n_out]
    wider = add_empty(explanation.emptied([int(l) for l in out]), min(EXTRA, most - n))
    new = prune(search(wider, rng, rng.choice([*PURITIES, explanation.noise.purity])))
    return new if log_evidence(new) > log_evidence(prune(explanation.polished())) + 1e-6 else None
