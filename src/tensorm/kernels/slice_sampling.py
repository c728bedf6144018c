"""Slice sampling (Neal 2003): a number is drawn from a density known up to a constant.

A *target* is a NamedTuple with the method ``height``, its log density. The next state is uniform among all
places that are at least as high as a random share of the height here; they are found by shrinking an interval
towards the state now. Every number has a row of the stream to itself.
"""

from __future__ import annotations

import numpy as np

from tensorm.kernels.compiled import part, verb
from tensorm.kernels.philox import one_uniform

PATIENCE = 300  # turns after which the interval is next to nothing, and the state stays


@verb
def height(target, x):
    """Log density at x, up to a constant."""


@part
def draw_number(target, x, low, high, stream, row):
    """The next state of x between two bounds."""
    level, turn = height(target, x) + np.log(one_uniform(stream, row, 0)), 1
    while turn < PATIENCE:
        new = low + one_uniform(stream, row, turn) * (high - low)
        if height(target, new) >= level:
            return new
        low, high = (new, high) if new < x else (low, new)
        turn += 1
    return x


@part
def draw_step(target, x, bounds, window, stream, row):
    """The next state of a whole number between two bounds, in a window placed at random around it."""
    low = x - int(one_uniform(stream, row, 1) * (window + 1))
    high = min(low + window, bounds[1])
    low, turn = max(low, bounds[0]), 2
    level = height(target, x) + np.log(one_uniform(stream, row, 0))
    while True:
        new = low + int(one_uniform(stream, row, turn) * (high - low + 1))
        if new == x or height(target, new) >= level:
            return new
        low, high = (new + 1, high) if new < x else (low, new - 1)
        turn += 1
