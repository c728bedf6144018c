"""Choices by what chains do: the Bayesian Occam's razor, and the posterior of the number of components.

Both start with more components than are needed (sampler/occam.py); the posterior then lets components come
and go (sampler/inclusion.py). Without candidates, the number to start with is doubled until a quarter of it
is left over, or MOST are reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.estimator.progress import watching
from tensorm.posterior.align import NEGLIGIBLE
from tensorm.sampler.pool import ChainPool, Stop
from tensorm.sampler.sweep import Target
from tensorm.selection.counting import Numbers, Proposal, count_components
from tensorm.selection.members import to_factors, to_members
from tensorm.selection.occam import Found, Stage, join, shave
from tensorm.selection.result import Candidate, Selection, Trial
from tensorm.tensors.protocol import Tensor

FIRST, MOST, LEFT_OVER = 16, 128, 0.75
N_CHAINS, N_DRAWS = 2, 200


def choose_by_occam(
    tensor: Tensor, target: Target, pool: ChainPool, candidates: Sequence[int] | None = None
) -> Selection:
    """Start large, take out what does not contribute, and count what is left in the best chain.

    Parameters
    ----------
    tensor : Tensor
    target : Target
        What is sampled; its number of components is not used.
    pool : ChainPool
    candidates : sequence of int, optional
        Numbers to choose from; the largest is the one to start with.
    """
    found, most = _shave(tensor, target, pool, candidates)
    best = max(found, key=lambda chain: chain.evidence)
    n = best.n_components
    chosen = _nearest(n, candidates)
    table = [
        Trial(stage.n_components, chain, stage.evidence, {"least worth": stage.least})
        for chain, one in enumerate(found)
        for stage in one.stages
    ]
    if n:
        reason = (
            f"{_components(n, 'contributes', 'contribute')}: without the weakest the log evidence would fall "
            f"by {max(best.least, 0):,.{1 if best.least < 100 else 0}f}, and nothing better was found."
        )
    else:
        reason = NONE
    reason += _remarks(tensor, n, chosen, most, candidates, [one.n_components for one in found])
    scores: dict[int, float] = {}
    for row in table:
        scores[row.n_components] = max(row.score, scores.get(row.n_components, -math.inf))
    rows = tuple(Candidate(number, scores[number], math.nan) for number in sorted(scores))
    return Selection("occam", chosen, reason, tuple(table), rows, "log evidence")


def choose_by_posterior(
    tensor: Tensor,
    target: Target,
    pool: ChainPool,
    candidates: Sequence[int] | None = None,
    n_draws: int = N_DRAWS,
) -> Selection:
    """Draw the number of components along with everything else; parameters as for ``choose_by_occam``."""
    found, most = _shave(tensor, target, pool, candidates)
    proposal = Proposal(join([one.seen for one in found]), target.tied)
    large, shared = replace(target, n_components=most), pool.share(tensor)
    with watching(pool.n_repeats, pool.progress) as watch:

        def count(chain: int, stop: Stop) -> Numbers:
            def make() -> Numbers:
                return count_components(shared, found[chain], large, proposal, chain, n_draws, watch, stop)

            form = pool.remember(f"counts-{most}-{chain}", make, _plain, stop)
            return Numbers(np.array(form[0], np.int64), np.array(form[1]))

        numbers = pool.run(count)
    kept = _kept(numbers)
    shares = np.array([np.bincount(one.counts, minlength=most + 1) / len(one.counts) for one in numbers])
    mean = shares[kept].mean(axis=0)
    n = int(mean.argmax())
    chosen = _nearest(n, candidates)
    table = [
        Trial(number, chain, float(shares[chain, number]), {"kept": float(kept[chain])})
        for chain in range(len(numbers))
        for number in np.flatnonzero(shares[chain]).tolist()
    ]
    errors = _errors([one.counts for one, keep in zip(numbers, kept, strict=True) if keep], most)
    seen = np.flatnonzero(mean)
    rows = tuple(Candidate(int(number), float(mean[number]), float(errors[number])) for number in seen)
    reason = _describe(mean) if n else NONE
    reason += _remarks(tensor, n, chosen, most, candidates, [int(share.argmax()) for share in shares[kept]])
    return Selection("posterior", chosen, reason, tuple(table), rows, "posterior probability")


NONE = "No component explains more than the rate of ones alone does: this looks like noise."


def _shave(
    tensor: Tensor, target: Target, pool: ChainPool, candidates: Sequence[int] | None
) -> tuple[list[Found], int]:
    """Return what every chain found, and with how many components they started."""
    limit = min(max(tensor.n_ones, 1), MOST)
    most = min(FIRST, limit) if candidates is None else candidates[-1]
    while True:
        found = _shave_from(tensor, replace(target, n_components=most), pool)
        enough = max(one.n_components for one in found) <= LEFT_OVER * most
        if candidates is not None or most == limit or enough:
            return found, most
        most = min(2 * most, limit)


def _shave_from(tensor: Tensor, target: Target, pool: ChainPool) -> list[Found]:
    shared = pool.share(tensor)
    with watching(pool.n_repeats, pool.progress) as watch:

        def work(chain: int, stop: Stop) -> Found:
            def make() -> Found:
                return shave(shared, target, chain, watch, stop)

            form = pool.remember(f"chain-{target.n_components}-{chain}", make, _encode, stop)
            return _decode(form, tensor.shape)

        return pool.run(work)


def _encode(found: Found) -> Any:
    """Return what a chain found as lists and numbers, as JSON holds them."""
    members = to_members(found.factors)
    seen = [shares.tolist() for shares in found.seen]
    stages = [list(stage) for stage in found.stages]
    return [members, found.n_components, found.evidence, found.least, stages, seen]


def _decode(form: Any, shape: Sequence[int]) -> Found:
    members, n_components, evidence, least, stages, seen = form
    shares = tuple(np.array(part, np.float64) for part in seen)
    stages = tuple(Stage(*stage) for stage in stages)
    return Found(to_factors(members, shape), n_components, evidence, least, stages, shares)


def _plain(numbers: Numbers) -> Any:
    return [numbers.counts.tolist(), numbers.evidence.tolist()]


def _kept(numbers: Sequence[Numbers]) -> npt.NDArray[np.bool_]:
    """Return which chains count: those that did not end in a much worse explanation (diagnostics.worse)."""
    medians = np.array([np.median(one.evidence) for one in numbers])
    best = int(medians.argmax())
    lower, upper = np.quantile(numbers[best].evidence, [0.25, 0.75])
    return np.asarray(medians[best] - medians <= NEGLIGIBLE + 3 * (upper - lower) / 1.35)


def _errors(chains: Sequence[npt.NDArray[np.int64]], most: int) -> npt.NDArray[np.float64]:
    """Return standard errors of the shares of each number, from the halves of the chains."""
    halves = [half for counts in chains for half in np.array_split(counts, 2)]
    shares = [np.bincount(half, minlength=most + 1) / len(half) for half in halves]
    return np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))


def _nearest(n: int, candidates: Sequence[int] | None) -> int:
    """Return the smallest candidate that has room for n components, or the largest of all."""
    if candidates is None:
        return max(n, 1)
    return next((candidate for candidate in candidates if candidate >= n), candidates[-1])


def _describe(mean: npt.NDArray[np.float64]) -> str:
    n = int(mean.argmax())
    others = [f"{other}: {mean[other]:.2f}" for other in np.argsort(-mean)[1:4] if mean[other] >= 0.005]
    text = f"{_components(n, 'is', 'are')} the most probable number, with probability {mean[n]:.2f}"
    return f"{text} ({', '.join(others)})." if others else f"{text}."


def _remarks(
    tensor: Tensor, n: int, chosen: int, most: int, candidates: Sequence[int] | None, counts: Sequence[int]
) -> str:
    """Say what the reader should know besides."""
    text = ""
    if n >= most and (candidates is not None or most == MOST):
        what = "the largest candidate" if candidates is not None else "as many as are looked for"
        text += f" That is {what}; more may be needed: try candidates beyond {most}."
    elif candidates is not None and chosen != max(n, 1):
        text += f" {chosen} is the smallest candidate with room for them."
    if len(set(counts)) > 1:
        text += f" Chains differ: they end with {', '.join(map(str, sorted(counts)))}."
    if tensor.mirrored is not None and tensor.pair is None:  # comparisons
        text += (
            " Comparisons within an object hang together, which the model does not know, so fewer "
            "may tell as much: try some."
        )
    return text


def _components(n: int, verb: str, verbs: str) -> str:
    return f"{n} component{'s' * (n != 1)} {verb if n == 1 else verbs}"
