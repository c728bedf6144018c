"""The equations of the paper as loops over single cells: what everything else is compared with.

Nothing here comes from the package, and nothing is clever. Factors are lists of boolean arrays (N_k, L);
cells are a boolean array ``ones`` and a boolean array ``observed`` (None when nothing is missing). Noise is
two rates: ``hit`` = p(x = 1 | product 1) and ``false_alarm`` = p(x = 1 | product 0).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def cells(factors: Sequence[np.ndarray]) -> Iterator[tuple[int, ...]]:
    """Every index tuple [n_1, ..., n_K]."""
    return itertools.product(*(range(len(factor)) for factor in factors))


def value(factors: Sequence[np.ndarray], index: tuple[int, ...]) -> bool:
    """Eq. 1 for one cell."""
    for l in range(factors[0].shape[1]):
        if all(factor[n, l] for factor, n in zip(factors, index, strict=True)):
            return True
    return False


def product(factors: Sequence[np.ndarray]) -> np.ndarray:
    """Eq. 1."""
    result = np.zeros([len(factor) for factor in factors], dtype=bool)
    for index in cells(factors):
        result[index] = value(factors, index)
    return result


def seen(observed: np.ndarray | None, index: tuple[int, ...]) -> bool:
    return observed is None or bool(observed[index])


def log_likelihood(
    ones: np.ndarray,
    observed: np.ndarray | None,
    factors: Sequence[np.ndarray],
    hit: float,
    false_alarm: float,
) -> float:
    """Eq. 3, summed over the observed cells."""
    total = 0.0
    for index in cells(factors):
        if seen(observed, index):
            p = hit if value(factors, index) else false_alarm
            total += math.log(p if ones[index] else 1.0 - p)
    return total


def confusion(
    ones: np.ndarray, observed: np.ndarray | None, factors: Sequence[np.ndarray]
) -> tuple[int, int, int, int]:
    """(tp, fp, fn, tn): positive is a product of 1, true that the cell agrees with it."""
    tp = fp = fn = tn = 0
    for index in cells(factors):
        if not seen(observed, index):
            continue
        if value(factors, index):
            tp, fp = (tp + 1, fp) if ones[index] else (tp, fp + 1)
        else:
            fn, tn = (fn + 1, tn) if ones[index] else (fn, tn + 1)
    return tp, fp, fn, tn


def counts(
    ones: np.ndarray, observed: np.ndarray | None, factors: Sequence[np.ndarray], mode: int, n: int, l: int
) -> tuple[int, int]:
    """(pos, tot) of an entry: the cells whose product would change with it (eq. 5)."""
    pos = tot = 0
    for index in cells(factors):
        if index[mode] != n or not seen(observed, index):
            continue
        if not all(factors[k][index[k], l] for k in range(len(factors)) if k != mode):
            continue  # a co-parent is 0
        if any(
            all(factors[k][index[k], other] for k in range(len(factors)))
            for other in range(factors[0].shape[1])
            if other != l
        ):
            continue  # explained away
        tot += 1
        pos += bool(ones[index])
    return pos, tot


def with_entry(factors: Sequence[np.ndarray], mode: int, n: int, l: int, entry: bool) -> list[np.ndarray]:
    """Copies of the factors, one entry set."""
    copies = [np.array(factor, dtype=bool) for factor in factors]
    copies[mode][n, l] = entry
    return copies


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def conditional(
    ones: np.ndarray,
    observed: np.ndarray | None,
    factors: Sequence[np.ndarray],
    mode: int,
    n: int,
    l: int,
    hit: float,
    false_alarm: float,
    prior: float,
) -> float:
    """P(f = 1 | rest) by brute force: the whole likelihood at f = 1 and at f = 0, by Bayes' rule."""
    if prior in (0, 1):
        return float(prior)
    on = log_likelihood(ones, observed, with_entry(factors, mode, n, l, True), hit, false_alarm)
    off = log_likelihood(ones, observed, with_entry(factors, mode, n, l, False), hit, false_alarm)
    return sigmoid(on + math.log(prior) - off - math.log(1.0 - prior))


def log_odds(pos: int, tot: int, hit: float, false_alarm: float, prior: float) -> float:
    """Eq. 4 for two rates and a prior inside (0, 1); exactly 0 where ones and zeros balance."""
    w1 = math.log(hit / false_alarm)
    w0 = math.log((1.0 - false_alarm) / (1.0 - hit))
    return w1 * pos - w0 * (tot - pos) + math.log(prior / (1.0 - prior))


def decide(rule: str, current: bool, odds: float, u: float) -> bool:
    """The new value of an entry whose log-odds of being 1 are ``odds``, given a uniform number."""
    if rule == "greedy":
        return odds > 0
    if odds == 0:
        return u < 0.5  # a Metropolised flip would be certain here, and the entry would alternate
    if rule == "gibbs":
        return u < sigmoid(odds)
    if rule == "metropolis":
        delta = -odds if current else odds
        accepted = delta >= 0 or u < math.exp(delta)
        return current != accepted
    raise ValueError(rule)


def update_factor(
    ones: np.ndarray,
    observed: np.ndarray | None,
    factors: Sequence[np.ndarray],
    mode: int,
    hit: float,
    false_alarm: float,
    prior: Any,
    order: Any,
    uniforms: np.ndarray,
    rule: str,
    counts: Callable[..., tuple[int, int]] = counts,
    rows: Sequence[int] | None = None,
) -> np.ndarray:
    """One sweep over a factor, entry after entry; returns the new factor.

    ``prior`` is a number or an (N_k, L) array; an entry whose prior is 0 or 1 is set to it. ``order`` lists
    the components in the order of their updates, once for all rows or one list per row; those it leaves out
    stay as they are. ``uniforms[n, l]`` decides entry (n, l); ``rule`` is "gibbs", "metropolis" or "greedy".
    ``counts`` may be a faster equal of the loops above, for tensors too large for them. With ``rows`` only
    these are updated, in their order.
    """
    state = [np.array(factor, dtype=bool) for factor in factors]
    factor = state[mode]
    priors = np.broadcast_to(np.asarray(prior, dtype=float), factor.shape)
    orders = np.broadcast_to(np.asarray(order), (len(factor), np.shape(order)[-1]))
    for n in range(len(factor)) if rows is None else rows:
        for l in orders[n]:
            p = float(priors[n, l])
            if p in (0, 1):
                factor[n, l] = bool(p)
                continue
            pos, tot = counts(ones, observed, state, mode, n, l)
            odds = log_odds(pos, tot, hit, false_alarm, p)
            factor[n, l] = decide(rule, bool(factor[n, l]), odds, float(uniforms[n, l]))
    return factor


def predictive(
    draws: Sequence[Sequence[np.ndarray]], hits: Sequence[float], false_alarms: Sequence[float]
) -> np.ndarray:
    """Eq. 7."""
    result = np.zeros([len(factor) for factor in draws[0]])
    for index in cells(draws[0]):
        for factors, hit, false_alarm in zip(draws, hits, false_alarms, strict=True):
            result[index] += (hit if value(factors, index) else false_alarm) / len(draws)
    return result


def mean_reconstruction(mean_factors: Sequence[np.ndarray]) -> np.ndarray:
    """1 - prod_l (1 - prod_k f), the text below eq. 7."""
    result = np.zeros([len(factor) for factor in mean_factors])
    for index in cells(mean_factors):
        missed = 1.0
        for l in range(mean_factors[0].shape[1]):
            joint = 1.0
            for factor, n in zip(mean_factors, index, strict=True):
                joint *= float(factor[n, l])
            missed *= 1.0 - joint
        result[index] = 1.0 - missed
    return result


def log_factor_given(factor: np.ndarray, prior: np.ndarray) -> float:
    """Log probability of a factor whose entries are 1 with given probabilities."""
    return sum(
        math.log(prior[n, l] if factor[n, l] else 1 - prior[n, l]) for n, l in np.ndindex(*factor.shape)
    )


def log_factor_learned(factor: np.ndarray, a: float, b: float) -> float:
    """Log probability of a factor with a Beta(a, b) density, entry by entry, as from Polya's urn."""
    total, ones, zeros = 0.0, a, b
    for n, l in np.ndindex(*factor.shape):
        total += math.log((ones if factor[n, l] else zeros) / (ones + zeros))
        ones, zeros = (ones + 1, zeros) if factor[n, l] else (ones, zeros + 1)
    return total


def strongest(factors: Sequence[np.ndarray], strengths: Sequence[float], index: tuple[int, ...]) -> float:
    """The strength of the strongest component that holds a cell, or 0."""
    found = 0.0
    for l, strength in enumerate(strengths):
        if all(factor[n, l] for factor, n in zip(factors, index, strict=True)):
            found = max(found, float(strength))
    return found


def chance(background: float | Sequence[np.ndarray], index: tuple[int, ...]) -> float:
    """The probability of a one without components: one number, or from an activity of each index."""
    if isinstance(background, float):
        return background
    rate = 1.0
    for activity, n in zip(background, index, strict=True):
        rate *= float(activity[n])
    return -math.expm1(-rate)


def strength_likelihood(
    ones: np.ndarray,
    observed: np.ndarray | None,
    factors: Sequence[np.ndarray],
    strengths: Sequence[float],
    background: float | Sequence[np.ndarray],
    some: Callable[[tuple[int, ...]], bool] = lambda index: True,
) -> float:
    """The log-likelihood of (some) cells: p(x = 1) = 1 - (1 - b)(1 - q), q the strength of the strongest."""
    total = 0.0
    for index in cells(factors):
        if seen(observed, index) and some(index):
            p = 1.0 - (1.0 - chance(background, index)) * (1.0 - strongest(factors, strengths, index))
            total += math.log(p if ones[index] else 1.0 - p)
    return total


def strength_odds(
    ones: np.ndarray,
    observed: np.ndarray | None,
    factors: Sequence[np.ndarray],
    entry: tuple[int, int, int],
    strengths: Sequence[float],
    background: float | Sequence[np.ndarray],
    pair: tuple[int, int] | None = None,
) -> float:
    """Log-odds of an entry (mode, n, l) without its prior, by all cells with its index; a pair shares it."""
    mode, n, _ = entry
    modes = pair if pair is not None and mode in pair else (mode,)
    values = []
    for value in (True, False):
        changed = with_entry(factors, *entry, value)
        for k in modes:
            changed[k] = changed[mode]
        values.append(
            strength_likelihood(
                ones,
                observed,
                changed,
                strengths,
                background,
                lambda index: any(index[k] == n for k in modes),
            )
        )
    return values[0] - values[1]


def comparison_likelihood(
    ones: np.ndarray, observed: np.ndarray | None, factors: Sequence[np.ndarray], agreement: float
) -> float:
    """Cells (o, a, b) that are the opposite of (o, b, a): each pair counts once.

    One half where components say both a above b and b above a, or neither.
    """
    total = 0.0
    for o, a, b in cells(factors):
        if a < b and seen(observed, (o, a, b)):
            up, down = value(factors, (o, a, b)), value(factors, (o, b, a))
            p = 0.5 if up == down else agreement if up else 1 - agreement
            total += math.log(p if ones[o, a, b] else 1 - p)
    return total
