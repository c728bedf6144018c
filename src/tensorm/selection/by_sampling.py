"""Choices by what chains do: the Bayesian Occam's razor, and the posterior of the number of components.

Both start with more components than are needed (occam.py); the posterior then lets components come and go
(counting.py). Without candidates, the number to start with is doubled until a quarter of it is left over, or
LARGEST_NUMBER are reached. Ctrl-C leaves a choice that is based on what the chains had found by then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tensorm.data.arrays import Bits, Floats
from tensorm.posterior.align import NEGLIGIBLE_LOG_ODDS
from tensorm.report.selection import Candidate, Selection, Trial
from tensorm.sampler.chains import ChainPool
from tensorm.sampler.sample import Plan, Stop
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import read_shares, to_factors, to_members
from tensorm.selection.counting import Numbers, Proposal, count_components, decode_numbers
from tensorm.selection.occam import Found, Stage, find_components
from tensorm.selection.validation import Holdout
from tensorm.tensors.protocol import Tensor

FIRST_NUMBER, LARGEST_NUMBER, LEFT_OVER = 16, 128, 0.75
COUNTING_DRAWS = 200
CUT_SHORT = " Ctrl-C stopped the choice, so it is based on what had been found by then."


def choose_by_occam(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int] | None, _: Holdout
) -> Selection:
    """Start large, remove what does not contribute, and count what is left in the best chain.

    Parameters
    ----------
    tensor : Tensor
    plan : Plan
        Its target is sampled; its number of components is not used.
    pool : ChainPool
    candidates : sequence of int or None
        Numbers to choose from; the largest is the one to start with.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C came before anything was found.
    """
    return _count_found(tensor, candidates, *_search(tensor, plan.target, pool, candidates))


def choose_by_posterior(
    tensor: Tensor, plan: Plan, pool: ChainPool, candidates: Sequence[int] | None, _: Holdout
) -> Selection:
    """Draw the number of components along with everything else; parameters as for ``choose_by_occam``.

    If Ctrl-C comes before the first draws, Occam's razor chooses.
    """
    target = plan.target
    found, most, complete = _search(tensor, target, pool, candidates)
    if not complete:
        return _count_found(tensor, candidates, found, most, complete=False)
    seen = zip(*(one.seen for one in found), strict=True)
    proposal = Proposal(tuple(map(np.concatenate, seen)), target.tied)
    large, shared = replace(target, n_components=most), pool.share(tensor)

    decode = partial(decode_numbers, most=most, lengths=range(2, COUNTING_DRAWS + 1))

    def count(chain: int, stop: Stop) -> Numbers | None:
        start = found[chain]
        make = partial(
            count_components, shared, start, large, proposal, chain, COUNTING_DRAWS, pool.watch, stop
        )
        return pool.remember(f"counts-{most}-{chain}", make, stop, decode=decode)

    numbers, interrupted = pool.run(count)
    if not numbers:
        return _count_found(tensor, candidates, found, most, complete=False)
    kept = _kept(numbers)
    shares = np.array([np.bincount(one.counts, minlength=most + 1) / len(one.counts) for one in numbers])
    mean = shares[kept].mean(axis=0)
    errors = _errors([one.counts for one, keep in zip(numbers, kept, strict=True) if keep], most)
    n = _most_probable(mean, errors, shares[_best(numbers)])
    chosen = _nearest(n, candidates)
    table = tuple(
        Trial(number, chain, float(shares[chain, number]), {"kept": float(kept[chain])})
        for chain in range(len(numbers))
        for number in np.flatnonzero(shares[chain]).tolist()
    )
    rows = tuple(Candidate(n, float(mean[n]), float(errors[n])) for n in np.flatnonzero(mean).tolist())
    reason = _describe(n, mean) if n else tell_none(chosen)
    reason += _remarks(tensor, n, chosen, most, candidates, [int(share.argmax()) for share in shares[kept]])
    reason += CUT_SHORT * interrupted
    return Selection("posterior", chosen, reason, table, rows, "posterior probability", not interrupted)


def _count_found(
    tensor: Tensor, candidates: Sequence[int] | None, found: list[Found], most: int, complete: bool
) -> Selection:
    """Return the choice of Occam's razor."""
    best = max(found, key=lambda chain: chain.evidence)
    n = best.n_components
    chosen = _nearest(n, candidates)
    table = tuple(
        Trial(stage.n_components, chain, stage.evidence, {"least worth": stage.least})
        for chain, one in enumerate(found)
        for stage in one.stages
    )
    if n:
        reason = (
            f"{_components(n, 'contributes', 'contribute')}: without the weakest, the log evidence would "
            f"fall by {max(best.least, 0):,.{1 if best.least < 100 else 0}f}, and nothing better was found."
        )
    else:
        reason = tell_none(chosen)
    reason += _remarks(tensor, n, chosen, most, candidates, [one.n_components for one in found])
    reason += CUT_SHORT * (not complete)
    return Selection("occam", chosen, reason, table, best_of(table), "log evidence", complete)


def best_of(table: Sequence[Trial]) -> tuple[Candidate, ...]:
    """Return the best score of each number, without errors."""
    numbers = sorted({row.n_components for row in table})
    scores = (max(row.score for row in table if row.n_components == number) for number in numbers)
    return tuple(Candidate(number, score, math.nan) for number, score in zip(numbers, scores, strict=True))


def _search(
    tensor: Tensor, target: Target, pool: ChainPool, candidates: Sequence[int] | None
) -> tuple[list[Found], int, bool]:
    """Start with enough components, and remove those that do not contribute.

    Returns what every chain found, with how many components they started, and whether none was stopped.
    """
    limit = min(max(tensor.n_ones, 1), LARGEST_NUMBER)
    size = min(FIRST_NUMBER, limit) if candidates is None else candidates[-1]
    found: list[Found] = []
    most = size
    while True:
        more, interrupted = _search_from(tensor, replace(target, n_components=size), pool, found)
        found, most = (more, size) if more else (found, most)
        if not found:
            raise KeyboardInterrupt
        enough = max(one.n_components for one in found) <= LEFT_OVER * size
        if interrupted or candidates is not None or size == limit or enough:
            return found, most, not interrupted
        size = min(2 * size, limit)


def _search_from(
    tensor: Tensor, target: Target, pool: ChainPool, before: Sequence[Found]
) -> tuple[list[Found], bool]:
    """Let every chain begin where it ended before, if it has."""
    shared = pool.share(tensor)

    def work(chain: int, stop: Stop) -> Found | None:
        start = before[chain] if before else None
        make = partial(find_components, shared, target, chain, pool.watch, stop, start)
        decode = partial(_decode_found, shape=tensor.shape, most=target.n_components)
        return pool.remember(f"chain-{target.n_components}-{chain}", make, stop, _encode_found, decode)

    return pool.run(work)


def _encode_found(found: Found) -> Any:
    """Return what a chain found as lists and numbers."""
    members = to_members(found.factors)
    seen = [shares.tolist() for shares in found.seen]
    stages = [list(stage) for stage in found.stages]
    return [members, found.n_components, found.evidence, found.least, stages, seen]


def _decode_found(form: Any, shape: Sequence[int], most: int) -> Found:
    """Undo ``_encode_found``; raises ValueError or such if no chain can have found that."""
    members, n_components, evidence, least, stages, seen = form
    shares = read_shares(seen, shape)
    stages = tuple(Stage(*stage) for stage in stages)
    numbers = [evidence, least, *(number for stage in stages for number in stage)]
    small = max(n_components, 1) == len(members[0]) <= most and n_components >= 0
    if not small or not all(type(x) in (int, float) for x in numbers):
        raise ValueError("no chain found this")
    return Found(to_factors(members, shape, most), n_components, evidence, least, stages, shares)


def _kept(numbers: Sequence[Numbers]) -> Bits:
    """Return which chains count: those that did not end in a much worse explanation (align.worse)."""
    medians, best = np.array([np.median(one.evidence) for one in numbers]), _best(numbers)
    lower, upper = np.quantile(numbers[best].evidence, [0.25, 0.75])
    return np.asarray(medians[best] - medians <= NEGLIGIBLE_LOG_ODDS + 3 * (upper - lower) / 1.35)


def _best(numbers: Sequence[Numbers]) -> int:
    """Return the chain with the highest evidence."""
    return int(np.argmax([np.median(one.evidence) for one in numbers]))


def _most_probable(mean: Floats, errors: Floats, best: Floats) -> int:
    """Return the most probable number; where chains cannot tell, that of the chain with the highest evidence.

    Chains that disagree hardly ever change their minds, so that how many say what is chance.
    """
    level = mean >= mean.max() - 2 * errors.max()
    return int(np.where(level, best, -1.0).argmax())


def _errors(chains: Sequence[Sequence[int]], most: int) -> Floats:
    """Return standard errors of the shares of each number, from the halves of the chains."""
    halves = [half for counts in chains for half in np.array_split(counts, 2)]
    shares = [np.bincount(half, minlength=most + 1) / len(half) for half in halves]
    return np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))


def _nearest(n: int, candidates: Sequence[int] | None) -> int:
    """Return the smallest candidate that has room for n components, or the largest of all."""
    if candidates is None:
        return max(n, 1)
    return next((candidate for candidate in candidates if candidate >= n), candidates[-1])


def _describe(n: int, mean: Floats) -> str:
    ranked = [other for other in np.argsort(-mean)[:4] if other != n and mean[other] >= 0.005]
    others = ", ".join(f"{other}: {mean[other]:.2f}" for other in ranked[:3])
    text = f"{n} is the number of components in the chain with the highest evidence"
    if mean[n] == mean.max():
        text = f"{_components(n, 'is', 'are')} the most probable number"
    text += f", with probability {mean[n]:.2f}"
    return f"{text} ({others})." if others else f"{text}."


def _remarks(
    tensor: Tensor, n: int, chosen: int, most: int, candidates: Sequence[int] | None, counts: Sequence[int]
) -> str:
    """Return what else the reader should know."""
    text = ""
    if n >= most and (candidates is not None or most == LARGEST_NUMBER):
        text += more_may_be_needed(candidates)
    elif n and candidates is not None and chosen != n:
        text += f" {chosen} is the smallest candidate with room for them."
    if len(set(counts)) > 1:
        text += f" The chains disagreed on the number: {', '.join(map(str, sorted(counts)))}."
    return text + tensor.caveat


def tell_none(chosen: int) -> str:
    """Return sentences for a choice where no component was found; some number has to be returned."""
    smallest = ", the smallest candidate," * (chosen > 1)
    return (
        "No component improves on a constant rate of ones. "
        f"A fit needs at least one component, so {chosen}{smallest} is returned."
    )


def more_may_be_needed(candidates: Sequence[int] | None) -> str:
    """Return a sentence for a choice of the largest number; without candidates none can be extended."""
    if candidates is None:
        return " That is the largest number tried, so more components may be needed."
    return " That is the largest candidate; more may be needed: try larger candidates."


def _components(n: int, verb: str, verbs: str) -> str:
    return f"{n} component{'s' * (n != 1)} {verb if n == 1 else verbs}"
