"""Components with strengths of their own, and a background that is constant or knows how active each index is."""

from __future__ import annotations

from typing import Any, NamedTuple
import math
import numpy as np
import numpy.typing as npt

from tensorm.kernels import strengths as kernel
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP, WINDOW
from tensorm.tensors.factors import Factors
from tensorm.tensors.bits import pack, unpack
from tensorm.tensors.protocol import Stream

Floats = npt.NDArray[np.float64]

SHAPES = 2.0 ** np.arange(-2, 9.1, 0.25)
GRID = STEP * np.arange(LOWEST, HIGHEST + 1)
NORMALISERS = np.array([np.logaddexp.reduce(s * (GRID - np.exp(GRID))) for s in SHAPES])
MARGIN = WINDOW + kernel.LEAP + 1


class Parameters(NamedTuple):
    strengths: Floats
    mean: float
    spread: float
    background: float  # constant, or NaN
    level: int = 0
    shapes: tuple = ()
    activities: tuple = ()

    @property
    def with_activity(self):
        return math.isnan(self.background)


def rank(factors: Factors, order: npt.NDArray[np.intp]) -> Factors:
    return Factors(tuple(kernel.permute_masks(m, order) for m in factors), factors.n_components)


def levels_along(levels, modes):
    """Sum of the levels of all index tuples of some modes, counted from the least."""
    from tensorm.tensors.layout import add_up
    flat = add_up([levels[k] for k in modes])
    low = int(flat.min())
    return flat - low, low


class Ranked(NamedTuple):
    """Parameters as kernels want them: components by strength, levels of all modes, and scores."""
    order: Any
    q: Any  # (L+1)
    zeros: Any
    ones: Any
    levels: tuple
    level: int
    first: int  # step of the first column of ones


def prepare(p: Parameters, shape) -> Ranked:
    order = np.argsort(-p.strengths, kind="stable")
    q = np.append(p.strengths[order], 0.0)
    zeros = np.log1p(-q)
    if not p.with_activity:
        ones = np.rint(np.log(p.background + (1 - p.background) * q) / 2.0**-26).astype(np.int64)[:, None]
        levels = tuple(np.zeros(n, np.int64) for n in shape)
        return Ranked(order, q, zeros, np.ascontiguousarray(ones), levels, 0, 0)
    levels = p.activities
    first = p.level + sum(int(x.min()) for x in levels) - MARGIN
    last = p.level + sum(int(x.max()) for x in levels) + MARGIN
    return Ranked(order, q, zeros, kernel.make_scores(q, last - first + 1, first), levels, p.level, first)


def scores_for(r: Ranked, view, mode, share=1.0):
    rows, low = levels_along(r.levels, view.rows)
    columns, least = levels_along(r.levels, view.packed)
    base = r.level + low + least - r.first if r.ones.shape[1] > 1 else 0
    return (r.zeros, r.ones, r.levels[mode] + base, rows, columns, share), base


def update_factor(tensor, mode, factors, r, prior, kind, stream, rows=None):
    """factors ranked; prior (N, L) log-odds ranked"""
    from tensorm.tensors.slices import _masks
    view, factor = tensor._views[mode], factors[mode].copy()
    L = factors.n_components
    turns = np.arange(L), kind, np.broadcast_to(prior, (len(factor), L))
    scores, _ = scores_for(r, view, mode)
    rows = np.arange(len(factor)) if rows is None else rows
    tensor._kernels.update_ranked(factor, rows, view.source, _masks(view, factors), turns, scores, tuple(stream))
    return factor


def sweep(tensor, factors, p, density, target, chain, number, pick=None):
    """One sweep; densities learned."""
    from tensorm.tensors.slices import _masks
    from tensorm.sampler.state import NOISE
    from tensorm.kernels.philox import uniforms
    K, L = len(factors), factors.n_components
    r = prepare(p, tensor.shape)
    f = rank(factors, r.order)
    for mode in range(K):
        prior = target.prior.log_odds(mode, density)
        f = f.replace(mode, update_factor(tensor, mode, f, r, prior, target.flips, target.stream(chain, number, mode)))
    stream = target.stream(chain, number, NOISE)
    mode = number % K
    probe = int(uniforms(stream, 2000, 1)[0] * L)
    view = tensor._views[mode]
    every = np.arange(tensor.shape[mode])
    q, share = r.q.copy(), 1.0
    if not p.with_activity:
        counts = np.zeros((2, 2, L + 1), np.int64)
        tensor._kernels.count_decided(counts, f[mode], every, view.source, _masks(view, f), probe)
        counts[0, 0, -1] = tensor.n_ones - counts[0, 0, :-1].sum()
        counts[0, 1, -1] = tensor.n_observed - counts[0, 1, :-1].sum()
        counts[0] -= counts[1]
        quiet = np.array([1 - p.background])
        ones = np.ascontiguousarray(counts[:, 0, :, None]).astype(float)
        mean, spread, zeros, ones = kernel.draw_strengths(q, (p.mean, p.spread), counts[:, 1], ones, quiet, probe, share, tuple(stream))
        b = kernel.draw_background(p.background, q, zeros, ones, tuple(stream))
        strengths = np.empty(L); strengths[r.order] = q[:L]
        new = Parameters(strengths, mean, spread, b)
        ll = zeros.sum() * np.log1p(-b) + (zeros * np.log1p(-q)).sum() + (ones[:, 0] * np.log(b + (1 - b) * q)).sum()
    else:
        scores, base = scores_for(r, view, mode)
        others = [k for k in range(K) if k != mode]
        rest_levels = np.zeros(1, np.int64)
        hist = np.ones(1, np.int64)
        for k in others:
            x = r.levels[k] - r.levels[k].min()
            hist = np.convolve(hist, np.bincount(x))
        n_levels = r.ones.shape[1]
        rest = np.zeros(n_levels, np.int64); rest[:len(hist)] = hist
        low = r.level + sum(int(r.levels[k].min()) for k in others)
        rates = np.exp(STEP * (low + np.arange(n_levels)))
        levels = r.levels[mode].copy()
        tot = np.zeros((2, L + 1), np.int64); ones = np.zeros((2, L + 1, n_levels), np.int64)
        exposures = np.zeros(len(levels))
        given = levels, base, rates, rest, float(p.shapes[mode]), share, exposures
        act_stream = target.stream(chain, number, 240 + mode)
        tensor._kernels.count_levels(ones, tot, f[mode], every, view.source, _masks(view, f), probe, scores, given, tuple(act_stream))
        quiet = np.exp(-np.exp(STEP * (r.first + np.arange(n_levels))))
        mean, spread, zeros, ones = kernel.draw_strengths(q, (p.mean, p.spread), tot, ones.astype(float), quiet, probe, share, tuple(stream))
        exposure = share * float(exposures @ np.exp(STEP * levels))
        level = kernel.draw_level(r.level, q, zeros, ones, quiet, exposure, tuple(stream))
        acts = [*r.levels]; acts[mode] = levels
        shapes = list(p.shapes)
        for k in range(K):
            shapes[k] = kernel.draw_shape(acts[k], SHAPES, NORMALISERS, tuple(stream), 10 + k)
            d = kernel.draw_scale(acts[k], level, shapes[k], 1, tuple(stream), 20 + k)
            acts[k] = acts[k] + d
            level -= d
        strengths = np.empty(L); strengths[r.order] = q[:L]
        new = Parameters(strengths, mean, spread, math.nan, int(level), tuple(shapes), tuple(acts))
        ll = (zeros * np.log1p(-q)).sum() + sum((ones[g] * np.log(np.maximum(1 - quiet * (1 - q[g]), 1e-300))).sum() for g in range(L + 1)) - exposure
    u = uniforms(stream, 0, 2 + K)
    back = np.argsort(r.order)
    factors = rank(f, back)
    density = target.prior.update(factors, u[2:])
    return factors, new, density, ll
