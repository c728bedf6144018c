"""The yardstick: the paper's Algorithm 1 and its plug-in noise (eq. 6) as plain loops over cells, K = 3.

It does what the paper says, early exits and all, and gets what favours it: numba compiles it, and a copy of
the cells for each mode, a byte each (-1, 1, or 0 for missing), lets every loop read memory in order.
"""

from __future__ import annotations

import math
import random

import numpy as np
from numba import njit


class Algorithm1:
    """A three-way tensor, its factors and its noise, swept by Algorithm 1.

    Parameters
    ----------
    X : ndarray (N_1, N_2, N_3)
        Cells of 0, 1 and NaN.
    factors : list of ndarray of bool (N_k, L)
        Where to start.
    sigma : float
        The share of cells explained at the start, sigma(lambda).
    """

    def __init__(self, X, factors, sigma=0.9):
        cells = np.where(X == 1, np.int8(1), np.int8(-1))
        cells[X != X] = 0  # NaN
        self._cells = [np.ascontiguousarray(np.moveaxis(cells, mode, 0)) for mode in range(3)]
        self.factors = [factor.astype(np.int8) for factor in factors]
        self.lam = math.log(sigma / (1 - sigma))

    def sweep(self):
        """Sample all factors in turn, then set the noise."""
        for mode, cells in enumerate(self._cells):
            others = [factor for k, factor in enumerate(self.factors) if k != mode]
            update_factor(self.factors[mode], *others, cells, self.lam)
        correct, observed = count_correct(*self.factors, self._cells[0])
        self.lam = math.log((1 + correct) / (1 + observed - correct))  # the logit of eq. 6, a = b = 1


@njit(cache=True, error_model="numpy")
def update_factor(factor, first, second, cells, lam):
    """Sample every entry of one factor, in place; its mode is the first of the cells."""
    for n in range(factor.shape[0]):
        for l in range(factor.shape[1]):
            m = count_relevant(factor[n], l, first, second, cells[n])
            step = -lam * m if factor[n, l] else lam * m
            if step >= 0 or random.random() < math.exp(step):  # a Metropolised flip
                factor[n, l] = 1 - factor[n, l]


@njit(error_model="numpy")
def count_relevant(row, l, first, second, cells):
    """Algorithm 1: the sum of eq. 4 over the cells of a slice that hang on entry l of its row."""
    m = 0
    for i in range(first.shape[0]):
        for j in range(second.shape[0]):
            if first[i, l] == 0 or second[j, l] == 0:
                continue
            if not explains(row, l, first[i], second[j]):
                m += cells[i, j]
    return m


@njit(error_model="numpy")
def explains(row, l, first, second):
    """Whether any component but l explains a cell; with l = -1 this is the Boolean product (eq. 1)."""
    for other in range(row.shape[0]):
        if other == l:
            continue
        if row[other] == 0 or first[other] == 0 or second[other] == 0:
            continue
        return True
    return False


@njit(cache=True, error_model="numpy")
def count_correct(factor, first, second, cells):
    """(cells equal to the product, observed cells)."""
    correct, observed = 0, 0
    for n in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            for j in range(cells.shape[2]):
                product = 1 if explains(factor[n], -1, first[i], second[j]) else -1
                correct += cells[n, i, j] == product
                observed += cells[n, i, j] != 0
    return correct, observed
