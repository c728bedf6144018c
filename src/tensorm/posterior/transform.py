"""Memberships of new slices along mode 0 in known components; the factors of other modes stay as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import expit

from tensorm.data.arrays import Floats, Indices
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.sampler.noise_model import Parameters
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.state import PLACE
from tensorm.sampler.sweep import Target
from tensorm.tensors import GIBBS, Rule, Tensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

MAX_TRANSFORM_DRAWS = 100  # of the posterior
UPDATES_PER_DRAW = 3  # by Gibbs; the last is kept. Metropolised flips would keep more of the draw before


def transform_slices(tensor: Tensor, posterior: Posterior, target: Target) -> Floats:
    """Return the probability that each slice along mode 0 is in each component, (N, L)."""
    entries = [unpack(factors[0], posterior.n_components) for factors, _ in place(tensor, posterior, target)]
    return np.mean(entries, axis=0)


def predict_slices(tensor: Tensor, posterior: Posterior, target: Target, cells: Sequence[Indices]) -> Floats:
    """Return P(x = 1) of cells of new slices, whose memberships follow from what the tensor shows of them."""
    total, draws = np.zeros(len(cells[0])), 0
    for factors, noise in place(tensor, posterior, target):
        total, draws = total + noise.predict(factors, cells), draws + 1
    return total / draws


def place(tensor: Tensor, posterior: Posterior, target: Target) -> Iterator[tuple[Factors, Parameters]]:
    """Yield draws of factors and noise, with memberships of new slices along mode 0.

    The slices' entries, and their activities if the noise has any, are drawn given the factors and the noise
    of posterior draws. All slices share their random numbers, so the result for one slice does not depend on
    the others.
    """
    L = posterior.n_components
    draws = [(trace, draw) for trace in posterior.traces for draw in range(len(trace))]
    chosen = draws[:: math.ceil(len(draws) / MAX_TRANSFORM_DRAWS)]
    entries, noise = Factors.empty(tensor.shape, L)[0], None
    for number, (trace, draw) in enumerate(chosen):
        factors = trace.factors_at(draw).replace(0, entries)
        noise = trace.noise_at(draw).follow(noise, tensor.shape)
        prior = _prior(target, tuple(trace.density[draw]))
        for update in range(UPDATES_PER_DRAW):
            stream = target.stream(0, number * UPDATES_PER_DRAW + update, PLACE)._replace(by_row=0)
            rule = Rule(np.arange(L), GIBBS, noise.weights, prior)
            factors = factors.replace(0, tensor.update_factor(0, factors, rule, stream))
            noise = noise.redraw_slices(tensor, factors, stream)
        entries = factors[0]
        yield factors, noise


def share_shown(tensor: Tensor, posterior: Posterior) -> Floats:
    """Return the share of ones among the cells of each component's members, slice by slice, (N, L).

    Members are those along the other modes, with a probability above one half. NaN where no such cell is
    observed.
    """
    nobody = np.zeros((tensor.shape[0], posterior.n_components), np.bool_)  # none hides another's cells
    members = [means > MEMBER for means in posterior.factors[1:]]
    ones, observed = tensor.counts(0, Factors.from_bits([nobody, *members]))
    return np.divide(ones, observed, out=np.full(ones.shape, np.nan), where=observed > 0)


def _prior(target: Target, density: tuple[float, ...]) -> Floats:
    """Return the prior log-odds of a new row: the mean over known rows, since none of them is the new one."""
    table = target.prior.log_odds(0, density)
    if len(table) == 1:
        return table
    return FixedPrior.from_probabilities([expit(table).mean(axis=0)]).tables[0]
