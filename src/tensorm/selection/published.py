"""The number of components as the paper chooses it, to compare with: plain pruning, and the best accuracy.

Chains run as a plan says, which is ``TensOrMachine.as_published`` unless the caller gives another. Unlike
occam.py and trials.py nothing is searched for in the data, no component is weighed by its evidence, and the
best score wins however small its lead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tensorm.report.selection import Candidate, Selection, Trial
from tensorm.sampler.chains import Bookmark, ChainPool
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, Stop, Watch, sample
from tensorm.sampler.sweep import log_likelihood
from tensorm.selection.bookmarks import mark_place, read_snapshot
from tensorm.selection.by_sampling import CUT_SHORT, best_of, tell_none
from tensorm.selection.validation import Holdout, score_held_out, split_cells, standard_errors
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

N_BEFORE_PRUNING = 30  # components to start with
ACCURACY = "accuracy on held-out cells"


def prune_as_published(
    tensor: Tensor, plan: Plan, chain: int, watch: Watch, stop: Stop, bookmark: Bookmark
) -> list[tuple[int, float]] | None:
    """Burn in, remove components that are empty or equal to another, and again until none is removed.

    Returns the number of components after each round, with the log-likelihood; None if stopped.
    """
    rounds: list[tuple[int, float]] = []

    def go_on(form: Any) -> Snapshot:
        nonlocal plan
        rounds.extend(_read_rounds(form["rounds"]) if form["rounds"] else [])
        for n, _ in rounds:
            plan = _with_fewer(plan, n)
        return read_snapshot(form, tensor, plan.target, plan.most_burn_in)

    saved, plan = bookmark.open(go_on), replace(plan, n_draws=0)
    while True:
        for step in sample(tensor, plan, chain, saved, watch, stop):
            saved = step.snapshot
            mark_place(bookmark, saved, plan.target, rounds=tuple(rounds))
        if saved is None or saved.confusion is None or stop():
            return None
        state, kept = saved.state, distinct(saved.state.factors)
        rounds.append((len(kept), log_likelihood(tensor, plan.target, state, saved.confusion)))
        if not kept or len(kept) == state.factors.n_components:
            return rounds
        factors = Factors.from_bits([bits[:, kept] for bits in state.factors.bits()])
        saved = Snapshot(state._replace(factors=factors, noise=state.noise.keep(kept), sweep=0))
        plan = _with_fewer(plan, len(kept))


def _with_fewer(plan: Plan, n_components: int) -> Plan:
    """Return a plan with fewer components, and random numbers of its own."""
    seed = np.random.SeedSequence([int(plan.target.seed), n_components]).generate_state(1, np.uint64)[0]
    return replace(plan, target=replace(plan.target, n_components=n_components, seed=seed))


def distinct(factors: Factors) -> list[int]:
    """Return the components with members in all modes, the first of those that are equal."""
    seen: dict[bytes, int] = {}
    columns = [bits.T for bits in factors.bits()]
    for component in range(factors.n_components):
        if all(mode[component].any() for mode in columns):
            seen.setdefault(b"".join(mode[component].tobytes() for mode in columns), component)
    return list(seen.values())


def choose_by_pruning(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int] | None, _: Holdout
) -> Selection:
    """Start with many components, and count what pruning leaves in the chain with the best likelihood."""
    most = min(N_BEFORE_PRUNING, max(tensor.n_ones, 1)) if candidates is None else candidates[-1]
    plan, shared = replace(plan, target=replace(plan.target, n_components=most)), pool.share(tensor)

    def work(chain: int, stop: Stop) -> list[tuple[int, float]] | None:
        make = partial(prune_as_published, shared, plan, chain, pool.watch, stop)
        return pool.remember(f"pruned-{most}-{chain}", make, stop, decode=_read_rounds)

    chains, interrupted = pool.run(work)
    if not chains:
        raise KeyboardInterrupt
    best = max(chains, key=lambda rounds: rounds[-1][1])[-1][0]
    left = [rounds[-1][0] for rounds in chains]
    reason = tell_none(1)
    if best:
        reason = (
            f"{best} of {most} components {'is' if best == 1 else 'are'} neither empty nor equal to another."
        )
    if len(set(left)) > 1:
        reason += f" Chains ended with {', '.join(map(str, sorted(left)))}."
    table = tuple(Trial(n, chain, value, {}) for chain, rounds in enumerate(chains) for n, value in rounds)
    reason += CUT_SHORT * interrupted
    name = "log-likelihood"
    return Selection("occam-published", max(best, 1), reason, table, best_of(table), name, not interrupted)


def choose_by_accuracy(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int], holdout: Holdout
) -> Selection:
    """Take the number of components that predicts hidden cells with the highest mean accuracy."""

    def score(repeat: int, stop: Stop) -> list[float] | None:
        rng = np.random.default_rng([int(plan.target.seed), repeat, 3])
        split = split_cells(tensor, holdout.test_size, holdout.symmetric, rng)
        found = []
        for L in candidates:
            mine = replace(plan, target=replace(plan.target, n_components=L))

            def fit(_: Bookmark, mine: Plan = mine) -> float | None:
                p, n = np.zeros(len(split.ones)), 0
                for step in sample(split.train, mine, repeat, None, pool.watch, stop):
                    if step.phase == DRAWS:
                        p, n = p + step.state.noise.predict(step.state.factors, split.cells), n + 1
                return score_held_out(split.ones, p / n)["accuracy"] if n else None

            accuracy = pool.remember(f"accuracy-{L}-{repeat}", fit, stop, decode=_read_accuracy)
            if accuracy is None or stop():
                break
            found.append(accuracy)
        return found or None

    rows, interrupted = pool.run(score)
    n = min(map(len, rows), default=0)
    if not n:
        raise KeyboardInterrupt
    scores = np.array([row[:n] for row in rows])
    means, errors = scores.mean(axis=0), standard_errors(scores, holdout.test_size)
    best = candidates[int(means.argmax())]
    reason = f"{best} has the highest {ACCURACY}, {means.max():.4f}." + CUT_SHORT * interrupted
    table = tuple(
        Trial(L, repeat, value, {})
        for repeat, row in enumerate(scores.tolist())
        for L, value in zip(candidates, row, strict=False)
    )
    together = tuple(map(Candidate, candidates, means.tolist(), errors.tolist()))
    return Selection("cv-published", best, reason, table, together, ACCURACY, not interrupted)


def _read_rounds(form: Any) -> list[tuple[int, float]]:
    rounds = [(n, float(value)) for n, value in form]
    if not rounds or not all(type(n) is int and n >= 0 and math.isfinite(value) for n, value in rounds):
        raise ValueError("no rounds")
    return rounds


def _read_accuracy(form: Any) -> float:
    if type(form) is not float or not 0 <= form <= 1:
        raise ValueError("no accuracy")
    return form
