"""Posteriors made by hand: each chain is a list of draws, each draw a list of Boolean factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorm.data.inputs import Names, check_names
from tensorm.model import Confusion
from tensorm.posterior.draws import Posterior
from tensorm.sampler.factor_draws import FactorDraws
from tensorm.sampler.state import Trace
from tensorm.sampler.two_rates import Rates

HOURS = np.array(["night", "08-09", "09-10", "10-11", "11-12", "12-13"])
PEOPLE = np.array([f"{role} {i:02d}" for role in ("doctor", "nurse") for i in range(1, 5)])
ROLES = np.array([name.split()[0] for name in PEOPLE])


def make_trace(draws: Sequence[Sequence[npt.NDArray[np.bool_]]], noise, accuracy) -> Trace:
    S, L = len(draws), draws[0][0].shape[1]
    trace = Trace(
        factors=tuple(
            FactorDraws.from_all(np.packbits(np.stack(factor), axis=-1, bitorder="little"))
            for factor in zip(*draws, strict=True)
        ),
        noise=np.tile(noise, (S, 1)),
        parameters=Rates,
        density=np.full((S, len(draws[0])), 0.5),
        confusion=np.tile(_confuse(*noise, accuracy), (S, 1)),
        log_likelihood=np.zeros(S),
        log_posterior=np.zeros(S),
        n_components=L,
        burn_in=0,
    )
    set_noise(trace, trace.noise)
    return trace


def _confuse(hit: float, false_alarm: float, accuracy: float) -> list[int]:
    """Counts of 10,000 cells with this accuracy and, if possible, these rates inside and outside."""
    inside = (1 - false_alarm - accuracy) / ((1 - false_alarm - hit) or np.inf)
    if not 0 < inside < 1:
        return [round(10_000 * accuracy), round(10_000 * (1 - accuracy)), 0, 0]
    shares = inside * hit, inside * (1 - hit), (1 - inside) * false_alarm, (1 - inside) * (1 - false_alarm)
    return [round(10_000 * share) for share in shares]


def set_noise(trace: Trace, rates: npt.ArrayLike) -> None:
    """Give a trace other rates (S, 2), with the log-likelihood that follows."""
    trace.noise[:] = rates
    trace.log_likelihood[:] = Rates(*trace.noise.T).log_likelihood(Confusion(*trace.confusion.T))


def make_posterior(chains, modes=None, labels=None, noise=(0.59, 0.012), accuracy=0.96) -> Posterior:
    shape = tuple(len(factor) for factor in chains[0][0])
    return Posterior(
        tuple(make_trace(draws, noise, accuracy) for draws in chains),
        shape,
        Names(modes or check_names(shape).modes, labels or check_names(shape).labels),
    )


def bits(size: int, *members: Sequence[int]) -> npt.NDArray[np.bool_]:
    """A factor from the members of each of its components."""
    factor = np.zeros((size, len(members)), dtype=bool)
    for l, these in enumerate(members):
        factor[list(these), l] = True
    return factor


def ward_posterior(n_chains: int = 2) -> Posterior:
    """A small ward: all doctors and nurse 01 meet in the morning, two nurses at night and at noon."""
    people = bits(8, [0, 1, 2, 3, 4], [5, 6])
    draw = [bits(6, [1, 2, 3], [0, 5]), people, people]
    unsure = [draw[0], people, bits(8, [0, 1, 2, 3, 4], [5, 6, 7])]
    chain = [draw, draw, draw, unsure]
    return make_posterior([chain] * n_chains, ("hour", "person", "met"), (HOURS, PEOPLE, PEOPLE))
