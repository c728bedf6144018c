"""Choices by trying every candidate: cross-validation and description length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from tensorm.data.arrays import Bits, Floats
from tensorm.model import Confusion
from tensorm.report.selection import Candidate, Selection, Trial
from tensorm.sampler.chains import Bookmark, ChainPool
from tensorm.sampler.sample import Plan, Snapshot, Step, Stop, Watch, sample
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import PURITIES, begin, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import mark_place, read_snapshot, to_factors, to_members
from tensorm.selection.by_sampling import CUT_SHORT, more_may_be_needed
from tensorm.selection.noise import two_rates
from tensorm.selection.occam import add_empty
from tensorm.selection.validation import (
    Holdout,
    Split,
    fewest_within_error,
    predict_held_out,
    score_held_out,
    split_cells,
    standard_errors,
)
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

DESCRIBED = 10  # sweeps after burn-in, of which the shortest description counts
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # numbers that are tried where none are given
IN_VAIN = 2  # of them in a row that predict no better, after which a repeat ends
SCORE_NAMES = {"log_likelihood": "log-likelihood per held-out cell", "accuracy": "accuracy on held-out cells"}
RANGES = {  # what trials of each method leave, and between which numbers that is
    "cv": {"log_likelihood": (-30.0, 0.0), "accuracy": (0.0, 1.0), "cells": (1.0, 2.0**63)},
    "mdl": dict.fromkeys(("bits", "bits for factors", "bits for errors"), (0.0, 2.0**63)),
}
Measures = dict[str, float]
Measure = Callable[[State, Target, int, Watch, Stop], Measures]  # (state after burn-in, target, repeat, ...)


def choose_by_validation(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int] | None, holdout: Holdout
) -> Selection:
    """Take the fewest components whose predictions of hidden cells are within one error of the best.

    Of the candidates that all repeats have tried: fewer after Ctrl-C. Without candidates, a repeat climbs the
    LADDER until IN_VAIN numbers in a row have predicted no better.
    """
    target, climbing = plan.target, candidates is None
    numbers = candidates or [number for number in LADDER if number <= max(tensor.n_ones, 1)]

    @cache
    def split(repeat: int) -> Split:
        rng = np.random.default_rng([int(target.seed), repeat, 3])
        return split_cells(tensor, holdout.test_size, holdout.symmetric, rng)

    def measure(state: State, target: Target, repeat: int, watch: Watch, stop: Stop) -> Measures:
        p = predict_held_out(split(repeat), state, target, repeat, watch, stop)
        return score_held_out(split(repeat).ones, p)

    def enough(found: list[Measures]) -> bool:
        best = max(range(len(found)), key=lambda i: found[i][holdout.scoring])
        return climbing and len(found) - 1 - best >= IN_VAIN

    rows, complete = _try_all(
        lambda repeat: split(repeat).train, target, pool, numbers, measure, "cv", enough
    )
    return _take_fewest(rows, numbers[: len(rows[0])], holdout, complete, candidates)


def _take_fewest(
    rows: list[list[Measures]],
    candidates: Sequence[int],
    holdout: Holdout,
    complete: bool,
    given: Sequence[int] | None,
) -> Selection:
    """Take the fewest components within one error of the best, and say why."""
    scores = np.array([[found[holdout.scoring] for found in row] for row in rows])
    means = scores.mean(axis=0)
    cells = min(found["cells"] for row in rows for found in row)
    best, chosen = fewest_within_error(scores, holdout.test_size, cells, candidates)
    at, name = candidates.index(best), SCORE_NAMES[holdout.scoring]
    errors = standard_errors(scores[:, [at]] - scores, holdout.test_size)  # of differences, which decide
    if chosen == best:
        have = "component has" if best == 1 else "components have"
        rest = "no smaller number is about as good"
        reason = f"{best} {have} the best {name}, {means[at]:.4f}, and {rest}."
    else:
        reason = f"{chosen} is the smallest number that is about as good as the best {name}, "
        reason += f"{means[at]:.4f} with {best}{_tell_behind(means, errors, at, candidates.index(chosen))}."
    if chosen == candidates[-1] and len(candidates) > 1:
        reason += more_may_be_needed(given)
    reason += CUT_SHORT * (not complete)
    together = tuple(map(Candidate, candidates, means.tolist(), errors.tolist()))
    return Selection(
        "cv", chosen, reason, _list_trials(rows, candidates, holdout.scoring), together, name, complete
    )


def _tell_behind(means: Floats, errors: Floats, best: int, chosen: int) -> str:
    """Say how far the chosen number is behind the best, if there were several splits."""
    error = errors[chosen]
    return "" if np.isnan(error) else f": it is {means[best] - means[chosen]:.4f} ± {error:.4f} behind"


def choose_by_description(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int], _: Holdout
) -> Selection:
    """Take the number of components that gives the shortest description."""

    def measure(state: State, target: Target, repeat: int, watch: Watch, stop: Stop) -> Measures:
        plan = Plan(target, DESCRIBED, burn_in=0)
        steps = sample(tensor, plan, repeat, Snapshot(state), watch, stop)
        states = [state, *(step.state for step in steps)]
        polished = [Explanation(tensor, target, one.factors).polished() for one in states]
        lengths = [describe_length(one.bits, one.confusion) for one in polished]
        length = min(lengths, key=lambda length: length.total)
        return {"bits": length.total, "bits for factors": length.factors, "bits for errors": length.errors}

    shared = pool.share(tensor)
    rows, complete = _try_all(lambda repeat: shared, plan.target, pool, candidates, measure, "mdl")
    candidates = candidates[: len(rows[0])]
    best = [min((row[i] for row in rows), key=lambda found: found["bits"]) for i in range(len(candidates))]
    order = np.argsort([found["bits"] for found in best], kind="stable")
    chosen, bits = candidates[order[0]], best[order[0]]
    reason = (
        f"{chosen} component{'s' * (chosen != 1)} give{'s' * (chosen == 1)} the shortest description: "
        f"{bits['bits']:,.0f} bits, {bits['bits for factors']:,.0f} of them for the factors"
    )
    if len(candidates) > 1:
        second = order[1]
        reason += f"; the next shortest, with {candidates[second]}, takes {best[second]['bits']:,.0f}"
    reason += "." + CUT_SHORT * (not complete)
    together = tuple(Candidate(L, found["bits"], math.nan) for L, found in zip(candidates, best, strict=True))
    name = "description length in bits"
    return Selection("mdl", chosen, reason, _list_trials(rows, candidates, "bits"), together, name, complete)


def _try_all(
    tensor_of: Callable[[int], Tensor],
    target: Target,
    pool: ChainPool,
    candidates: Sequence[int],
    measure: Measure,
    method: str,
    enough: Callable[[list[Measures]], bool] = lambda found: False,
) -> tuple[list[list[Measures]], bool]:
    """Fit every candidate in every repeat, one after the other along the candidates until there are enough.

    Returns for each repeat what was measured with the first candidates, and whether none was left out.
    """

    def climb(repeat: int, stop: Stop) -> list[Measures] | None:
        found: list[Measures] = []
        members = None
        for L in candidates:
            make = partial(fit, repeat, L, members, stop)
            check = partial(_check_trial, ranges=RANGES[method], shape=tensor_of(repeat).shape, most=L)
            form = pool.remember(f"{method}-{L}-{repeat}", make, stop, decode=check)
            if form is None or stop():
                break
            members = form["members"]
            found.append(form["measures"])
            if enough(found):
                break
        return found or None

    def fit(repeat: int, L: int, members: Any, stop: Stop, bookmark: Bookmark) -> Any:
        def watch(step: Step) -> None:
            pool.watch(step._replace(phase=method, done=candidates.index(L), total=len(candidates)))

        tensor, mine = tensor_of(repeat), replace(target, n_components=L)
        before = None if members is None else to_factors(members, tensor.shape, L)
        state = burn_in_from(before, tensor, mine, repeat, watch, stop, bookmark)
        return {"measures": measure(state, mine, repeat, watch, stop), "members": to_members(state.factors)}

    rows, interrupted = pool.run(climb)
    n = min(map(len, rows), default=0)
    if not n:
        raise KeyboardInterrupt
    return [row[:n] for row in rows], not interrupted


def _check_trial(form: Any, ranges: dict[str, tuple[float, float]], shape: Sequence[int], most: int) -> Any:
    """Return what a trial left; raises ValueError or such if no trial leaves that."""
    measures = form["measures"]
    to_factors(form["members"], shape, most)
    right = all(type(measures[name]) is float and a <= measures[name] <= b for name, (a, b) in ranges.items())
    if not right or len(measures) > len(ranges):
        raise ValueError("no trial")
    return form


def _list_trials(rows: list[list[Measures]], candidates: Sequence[int], name: str) -> tuple[Trial, ...]:
    """Return every trial, with this measure as its score."""
    return tuple(
        Trial(L, repeat, found[name], found)
        for repeat, row in enumerate(rows)
        for L, found in zip(candidates, row, strict=True)
    )


def burn_in_from(
    before: Factors | None,
    tensor: Tensor,
    target: Target,
    chain: int,
    watch: Watch,
    stop: Stop,
    bookmark: Bookmark,
) -> State:
    """Return the state of a chain after burn-in, or where it was at ``stop()``.

    It starts from the components of a fit with fewer, if there is one, and others found in the data, or
    from the data alone if that is better. All are searched for with two rates if the noise has strengths.
    """
    plan = Plan(target, n_draws=0)
    saved = bookmark.open(lambda form: read_snapshot(form, tensor, target, plan.most_burn_in))
    if saved is None:
        saved = Snapshot(_begin_from(before, tensor, target, chain))
    for step in sample(tensor, plan, chain, saved, watch, stop):
        saved = step.snapshot
        mark_place(bookmark, saved, target)
    return saved.state


def _begin_from(before: Factors | None, tensor: Tensor, target: Target, chain: int) -> State:
    rng, searched = np.random.default_rng([int(target.seed), chain, target.n_components]), two_rates(target)
    explanation = begin(tensor, searched, rng)
    if before is not None:
        fewer = Explanation(tensor, searched, before)
        wider = add_empty(fewer, target.n_components - before.n_components)
        grown = (search(wider, rng, purity) for purity in PURITIES)
        explanation = max((explanation, *grown), key=lambda one: one.score)
    return explanation.state(sweep=0)


class Length(NamedTuple):
    """A description in bits."""

    factors: float
    errors: float

    @property
    def total(self) -> float:
        """Bits for factors and errors."""
        return self.factors + self.errors


def describe_length(factors: Sequence[Bits], confusion: Confusion) -> Length:
    """Return how many bits it takes to describe the factors and, given them, the observed cells.

    The code is that of Erdos and Miettinen (2013), after Miettinen and Vreeken's for matrices, for K modes.
    The number of components takes the universal code for integers; each column of a factor log2(N + 1) bits
    for the number of its members, and log2 binomial(N, members) for which they are; the zeros inside the
    product and the ones outside ("typed XOR") likewise their number, and which they are. Only observed cells
    are encoded. The sizes of the modes are the same for all numbers of components and left out.

    Parameters
    ----------
    factors : list of K Boolean arrays (N_k, L)
    confusion : Confusion
        Observed cells by the value of the factors' product and their own.
    """
    bits = universal(factors[0].shape[1])
    bits += sum(float(subset_bits(len(factor), factor.sum(axis=0)).sum()) for factor in factors)
    tp, fp, fn, tn = confusion
    return Length(bits, float(subset_bits(tp + fp, fp) + subset_bits(fn + tn, fn)))


def subset_bits(n: int | np.ndarray, ones: int | np.ndarray) -> np.ndarray:
    """Return the bits that describe a subset of n things: its size, then which one of that size it is."""
    # (n + 1) * binomial(n, ones)
    return -betaln(1 + np.asarray(ones), 1 + n - np.asarray(ones)) / math.log(2)


def universal(n: int) -> float:
    """Return the length of Rissanen's universal code for an integer n >= 1."""
    bits, rest = math.log2(2.865064), math.log2(n)
    while rest > 0:
        bits, rest = bits + rest, math.log2(rest)
    return bits
