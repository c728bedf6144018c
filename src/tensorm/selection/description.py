"""Minimum description length: the number of components whose factors and errors take the fewest bits.

The code is that of Erdos and Miettinen (2013), after Miettinen and Vreeken's for matrices, for tensors with
K modes: first the factors, then where the product is wrong ("typed XOR": ones that it misses and zeros
that it covers are encoded separately).

- the number of components L, by the universal code for integers;
- for each column of each factor the number of its members, log2(N + 1) bits, and which of the columns with
  that many it is, log2 binomial(N, members) bits;
- for the cells inside the product the number of zeros among them, and which they are; the same for the ones
  outside. Only observed cells are encoded.

The sizes of the modes are the same for all L and left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from tensorm.model import Confusion
from tensorm.tensors.bits import Bits


class Length(NamedTuple):
    """A description in bits."""

    factors: float
    errors: float

    @property
    def total(self) -> float:
        """Bits for factors and errors."""
        return self.factors + self.errors


def describe_length(factors: Sequence[Bits], confusion: Confusion) -> Length:
    """Return how many bits it takes to describe the factors and, given them, the observed cells.

    Parameters
    ----------
    factors : list of K Boolean arrays (N_k, L)
    confusion : Confusion
        Observed cells by the value of the factors' product and their own.
    """
    bits = universal(factors[0].shape[1])
    bits += sum(float(choose(len(factor), factor.sum(axis=0)).sum()) for factor in factors)
    tp, fp, fn, tn = confusion
    return Length(bits, float(choose(tp + fp, fp) + choose(fn + tn, fn)))


def choose(n: int, ones: int | np.ndarray) -> np.ndarray:
    """Return the bits that describe a subset of n things: its size, then which one of that size it is."""
    # (n + 1) * binomial(n, ones)
    return -betaln(1 + np.asarray(ones), 1 + n - np.asarray(ones)) / math.log(2)


def universal(n: int) -> float:
    """Return the length of Rissanen's universal code for an integer n >= 1."""
    bits, rest = math.log2(2.865064), math.log2(n)
    while rest > 0:
        bits, rest = bits + rest, math.log2(rest)
    return bits
