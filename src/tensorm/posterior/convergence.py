"""How well chains have mixed: rank-normalised R-hat and effective sample sizes (Vehtari et al. 2021).

arviz-stats computes them and is imported on first use. A quantity that never moved has no such number but a
state instead: see ``Mixing.state``. Chains of different lengths are cut to the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Floats, Indices
from tensorm.sampler.factor_draws import unpack_bytes
from tensorm.sampler.noise_model import COMPONENT, ONCE
from tensorm.sampler.state import Trace

MIN_DRAWS = 4  # draws needed for R-hat and ESS
TAILS = (0.05, 0.95)
MAX_ENTRIES = 1000  # entries whose R-hat and ESS are computed, evenly spread over those that change
POOR_RHAT, MAX_RHAT = 1.1, 100.0  # R-hat of an entry not to be trusted, and of chains that never overlap


class Mixing(NamedTuple):
    """How well the chains have mixed in one quantity.

    Attributes
    ----------
    name : str
    state : str
        "moving"; "constant", the same in all draws; "stuck", constant within chains but different between
        them; "unknown", fewer than four draws (eight for a single chain).
    rhat : float or None
        Rank-normalised split R-hat: 1 where chains agree. None unless moving.
    ess, ess_tail : float or None
        Independent draws that would give the same precision of the mean, and of the 5% and 95% quantiles.
        None unless moving.
    judged : bool
        Whether the conclusion depends on it. Parameters of priors are not judged: no prediction depends on
        them. Nor are the activities of single indices, of which there may be thousands: only cells of its
        index depend on each.
    """

    name: str
    state: Literal["moving", "constant", "stuck", "unknown"]
    rhat: float | None = None
    ess: float | None = None
    ess_tail: float | None = None
    judged: bool = True


class EntryMixing(NamedTuple):
    """How well the chains have mixed in the entries of all factors, components aligned.

    Attributes
    ----------
    total : int
        Number of entries.
    constant : int
        Entries that are the same in every draw of every chain.
    stuck : int
        Entries that never change within a chain but differ between chains: their mean is a vote of chains.
    examined : int
        Other entries whose R-hat and ESS were computed: all of them, or 1000 evenly spread.
    rhat : float or None
        Largest R-hat of those; None if there is none.
    poor : int
        How many of those have an R-hat above 1.1.
    ess : float or None
        Smallest effective sample size of those.
    """

    total: int
    constant: int
    stuck: int
    examined: int
    rhat: float | None
    poor: int
    ess: float | None


class EntrySummary(NamedTuple):
    """How certain the entries of a factor are; arrays (N_k, L).

    Attributes
    ----------
    mean : ndarray
        Probability that the entry is 1.
    sd : ndarray
        Standard deviation over draws; sqrt(mean * (1 - mean)), since an entry is 0 or 1.
    error : ndarray
        Monte Carlo standard error of the mean, sd / sqrt(ess). 0 where all draws agree: the probability is
        then closer to 0 or 1 than this number of draws can resolve.
    ess : ndarray
        Effective sample size; the number of draws where all agree.
    """

    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats


def assess(
    traces: Sequence[Trace], owner: Callable[[str, int], str], used: Sequence[int] = ()
) -> tuple[Mixing, ...]:
    """Return how well the chains have mixed in the noise parameters and in the log-likelihood.

    ``owner`` says what a number along an axis of parameters belongs to, such as "component 1". If components
    are in use, those of the others are left out: nothing but their prior says what they are.
    """
    length = min(len(trace) for trace in traces)
    parameters, found = traces[0].parameters, []
    for name, axis in parameters.AXES.items():
        draws = np.stack([trace.noise_fields[name][:length] for trace in traces])
        draws = draws.reshape(*draws.shape[:2], -1)
        numbers = list(used) if axis == COMPONENT and used else range(draws.shape[2])
        n, worst = _measure_worst(draws[:, :, numbers])
        title = parameters.TITLES[name] + ("" if axis == ONCE else f" of {owner(axis, numbers[n])}")
        found.append(worst._replace(name=title, judged=name not in parameters.UNJUDGED))
    log_likelihood = np.stack([trace.log_likelihood[:length] for trace in traces])
    return (*found, measure("log-likelihood", log_likelihood))


def _measure_worst(draws: Floats) -> tuple[int, Mixing]:
    """Return which of some quantities (chains, draws, n) mixes worst, and how well."""
    n = draws.shape[2]
    spread = np.linspace(0, n - 1, min(n, MAX_ENTRIES)).astype(np.intp)
    worst = int(spread[_find_worst(draws[:, :, spread])]) if _enough(draws) else 0
    return worst, measure("", draws[:, :, worst])


def _find_worst(draws: Floats) -> int:
    """Return the first quantity that is stuck, or else the one with the largest R-hat."""
    halves = halve(draws)
    moves = (halves != halves[:, :1]).any(axis=(0, 1))
    stuck = (halves != halves[0, 0]).any(axis=(0, 1)) & ~moves
    if stuck.any():
        return int(stuck.argmax())
    rhat = np.zeros(draws.shape[2])
    if moves.any():
        with np.errstate(invalid="ignore", divide="ignore"):  # folded values may all be the same
            found = _arviz().rhat(_two(draws[:, :, moves]), chain_axis=0, draw_axis=1)
        rhat[moves] = np.minimum(np.nan_to_num(found), MAX_RHAT)
    return int(rhat.argmax())


def measure(name: str, draws: Floats) -> Mixing:
    """Return how well chains have mixed in one quantity, (chains, draws)."""
    if not _enough(draws):
        return Mixing(name, "unknown")
    halves = halve(draws)
    if (halves == halves[0, 0]).all():
        return Mixing(name, "constant")
    if (halves == halves[:, :1]).all():
        return Mixing(name, "stuck")
    with np.errstate(invalid="ignore", divide="ignore"):  # folded values may all be the same
        rhat = float(_arviz().rhat(_two(draws), chain_axis=0, draw_axis=1))
    ess = float(_arviz().ess(draws, chain_axis=0, draw_axis=1, method="bulk"))
    tail = float(_arviz().ess(draws, chain_axis=0, draw_axis=1, method="tail", prob=TAILS))
    return Mixing(name, "moving", min(rhat, MAX_RHAT), ess, tail)


def assess_entries(traces: Sequence[Trace]) -> EntryMixing:
    """Return how well the chains have mixed in the entries of their factors."""
    total = constant = stuck = 0
    moving = []
    for mode in range(len(traces[0].factors)):
        moves, differs = entry_states(traces, mode)
        total += moves.size
        constant += int(np.count_nonzero(~moves & ~differs))
        stuck += int(np.count_nonzero(~moves & differs))
        moving.append(np.insert(np.argwhere(moves), 0, mode, axis=1))
    addresses = np.concatenate(moving)  # of the entries that change: mode, row, component
    spread = np.linspace(0, len(addresses) - 1, min(len(addresses), MAX_ENTRIES)).astype(np.intp)
    chosen = addresses[spread]
    draws = [
        entry_draws(traces, mode, *chosen[chosen[:, 0] == mode, 1:].T)
        for mode in np.unique(chosen[:, 0]).tolist()
    ]
    if not draws or not _enough(draws[0]):
        return EntryMixing(total, constant, stuck, 0, None, 0, None)
    rhat = np.concatenate([entry_rhat(part) for part in draws])
    ess = np.concatenate([entry_ess(part) for part in draws])
    poor = int(np.count_nonzero(rhat > POOR_RHAT))
    return EntryMixing(total, constant, stuck, len(chosen), float(rhat.max()), poor, float(ess.min()))


def entry_states(traces: Sequence[Trace], mode: int) -> tuple[Bits, Bits]:
    """Return which entries (N, L) of a mode change in some chain, and which differ in chains' first draws."""
    length, reference = min(len(trace) for trace in traces), traces[0].factors[mode]
    moves, differs = np.zeros((2, *reference.first.shape), np.uint8)
    for trace in traces:
        draws = trace.factors[mode]
        moving = draws.moves[:length]
        moves[draws.rows] |= np.bitwise_or.reduce(moving, axis=0) & ~np.bitwise_and.reduce(moving, axis=0)
        differs |= draws.first ^ reference.first
    L = traces[0].n_components
    return unpack_bytes(moves, L), unpack_bytes(differs, L)


def entry_draws(traces: Sequence[Trace], mode: int, rows: Indices, components: Indices) -> Floats:
    """Return the draws (chains, draws, entries) of some entries of a mode."""
    length = min(len(trace) for trace in traces)
    parts = [trace.factors[mode].entries(rows, components)[:length] for trace in traces]
    return np.stack(parts).astype(np.float64)


def entry_rhat(draws: Floats) -> Floats:
    """Return R-hat of entries that change, (chains, draws, entries).

    Ranking and folding keep the distance between two values, so the plain split R-hat of an entry equals the
    rank-normalised one. A chain that changes once, half way, has no spread in halves: that gives MAX_RHAT.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        rhat = _arviz().rhat(_two(draws), chain_axis=0, draw_axis=1, method="split")
    return np.minimum(np.nan_to_num(rhat, nan=1.0), MAX_RHAT)  # NaN: changed in the draw between halves only


def entry_ess(draws: Floats) -> Floats:
    """Return the effective sample sizes of entries, (chains, draws, entries).

    With fewer than four draws each chain counts as one.
    """
    if draws.shape[1] < MIN_DRAWS:
        return np.full(draws.shape[2], float(len(draws)))
    return np.asarray(_arviz().ess(draws, chain_axis=0, draw_axis=1, method="mean"))


def summarise_entries(traces: Sequence[Trace], mode: int, mean: Floats) -> EntrySummary:
    """Return how certain the entries of a mode are, given their mean over the draws."""
    ess = np.full(mean.shape, float(sum(map(len, traces))))
    rows, components = np.nonzero((mean > 0) & (mean < 1))
    if rows.size:
        ess[rows, components] = entry_ess(entry_draws(traces, mode, rows, components))
    sd = np.sqrt(mean * (1 - mean))
    return EntrySummary(mean, sd, sd / np.sqrt(ess), ess)


def halve(draws: Floats) -> Floats:
    """Return the halves of chains as chains; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _enough(draws: Floats) -> bool:
    return draws.shape[1] >= MIN_DRAWS * (2 if len(draws) == 1 else 1)


def _two(draws: Floats) -> Floats:
    """One chain's halves are compared with each other, since R-hat needs two chains."""
    return draws if len(draws) > 1 else halve(draws)


def _arviz() -> Any:
    from arviz_stats.base import array_stats

    return array_stats
