"""The noise models: how the rates of ones inside and outside the components are drawn, given the factors.

The rates keep a small distance, CONTRAST, so that a component always means more ones: with equal rates the
data say nothing about the factors, and Metropolised flips would alternate for ever.

A noise model is two objects. The *model* (here) has the prior: where chains ``start``, how parameters are
drawn (``update``) or fitted (``estimate``), and the likelihood with the parameters integrated out
(``log_marginal``). Its *parameters* (``model.Noise``) are a flat tuple of numbers, one row for each draw in
traces and files, and answer for the cells: the ``weights`` of ones and zeros in an entry's log-odds, the
``log_ratio`` of cells that become covered, the ``log_likelihood``, the ``cell_probability``, and the
``purity`` that the search starts with. A new model of two rates brings a class here, and its place in
NoiseModel and MODELS. A model with other parameters also has to say how its rows in traces and files are
read (``Trace.noise_at``, storage/chain.py) and how predictions follow from them (posterior/predict.py).
Kernels assume that a cell covered twice is as probable as one covered once: rates for each component need
counts of another kind as well (``weigh`` in kernels/decisions.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln

from tensorm.model import Confusion, Noise

Floats = npt.NDArray[np.float64]
Counts = int | npt.NDArray[np.int64]

CONTRAST = 0.1  # least difference of the rates' log-odds
EDGE = 1e-15  # rates stay this far from 0 and 1
START = Noise.symmetric(1 / (1 + math.exp(-0.5)))  # the paper starts at lambda = 0.5


class Symmetric(NamedTuple):
    """One rate sigma(lambda) at which cells equal the product, under a truncated Beta(a, b) prior."""

    a: float = 1.0
    b: float = 1.0

    def start(self) -> Noise:
        """Return the rates that the paper starts with."""
        return START

    def update(self, confusion: Confusion, noise: Noise, uniforms: Floats) -> Noise:
        """Draw the rate from its conditional, by the first of two uniform numbers: a Gibbs step."""
        wrong = confusion.observed - confusion.correct
        low = _shift(0.5, CONTRAST / 2)
        sigma = truncated_beta(self.a + confusion.correct, self.b + wrong, low, 1.0, uniforms[0])
        return Noise.symmetric(sigma)

    def estimate(self, confusion: Confusion) -> Noise:
        """Return the share of cells explained, smoothed by the prior (eq. 6)."""
        sigma = (self.a + confusion.correct) / (self.a + self.b + confusion.observed)
        return Noise.symmetric(max(sigma, _shift(0.5, CONTRAST / 2)))

    def log_marginal(self, tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Floats:
        """Return the log-likelihood of such counts with the rate integrated out; arrays broadcast."""
        return betaln(self.a + tp + tn, self.b + fp + fn)


class SymmetricPlugIn(Symmetric):
    """The paper's update of the one rate (eq. 6): quick, but not a Gibbs step, so never exact."""

    def update(self, confusion: Confusion, noise: Noise, uniforms: Floats) -> Noise:
        """Set the rate to its estimate."""
        return self.estimate(confusion)


class Asymmetric(NamedTuple):
    """Two rates of ones, where the product is 1 and where it is 0, under ordered Beta(a, b) priors."""

    a: float = 1.0
    b: float = 1.0

    def start(self) -> Noise:
        """Return the rates that the paper starts with."""
        return START

    def update(self, confusion: Confusion, noise: Noise, uniforms: Floats) -> Noise:
        """Draw each rate from its conditional given the other: two Gibbs steps."""
        tp, fp, fn, tn = confusion
        low = _shift(noise.false_alarm, CONTRAST)
        hit = truncated_beta(self.a + tp, self.b + fp, low, 1.0, uniforms[0])
        high = _shift(hit, -CONTRAST)
        return Noise(hit, truncated_beta(self.a + fn, self.b + tn, 0.0, high, uniforms[1]))

    def estimate(self, confusion: Confusion) -> Noise:
        """Return the shares of ones, smoothed by the prior and kept in order."""
        tp, fp, fn, tn = confusion
        false_alarm = min((self.a + fn) / (self.a + self.b + fn + tn), 1 - 2 * EDGE)
        hit = (self.a + tp) / (self.a + self.b + tp + fp)
        return Noise(min(max(hit, _shift(false_alarm, CONTRAST)), 1 - EDGE), false_alarm)

    def log_marginal(self, tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Floats:
        """Return the log-likelihood of such counts with both rates integrated out."""
        return betaln(self.a + tp, self.b + fp) + betaln(self.a + fn, self.b + tn)


class AsymmetricPlugIn(Asymmetric):
    """The plug-in of eq. 6 for two rates; like it, not a Gibbs step."""

    def update(self, confusion: Confusion, noise: Noise, uniforms: Floats) -> Noise:
        """Set both rates to their estimates."""
        return self.estimate(confusion)


NoiseModel = Symmetric | Asymmetric
MODELS: dict[tuple[str, str], Callable[[float, float], NoiseModel]] = {  # made with (a, b)
    ("symmetric", "sample"): Symmetric,
    ("symmetric", "map"): SymmetricPlugIn,
    ("asymmetric", "sample"): Asymmetric,
    ("asymmetric", "map"): AsymmetricPlugIn,
}


def truncated_beta(a: float, b: float, low: float, high: float, u: float) -> float:
    """Return the quantile u of a Beta(a, b) confined to (low, high)."""
    if low * (a + b) > a:  # the upper tail: count from above, where small numbers keep their digits
        mass_low, mass_high = betaincc(a, b, low), betaincc(a, b, high)
        x = betainccinv(a, b, mass_low + u * (mass_high - mass_low)) if mass_low > 1e-280 else math.nan
    else:
        mass_low, mass_high = betainc(a, b, low), betainc(a, b, high)
        x = betaincinv(a, b, mass_low + u * (mass_high - mass_low)) if mass_high > 1e-280 else math.nan
    if not low <= x <= high:  # so far out that the density falls off like an exponential
        edge, beyond = (low, 1 - u) if low * (a + b) > a else (high, u)
        rate = (b - 1) / (1 - edge) - (a - 1) / edge
        x = edge - math.log(beyond) / rate
    return float(min(max(x, low, EDGE), high, 1 - EDGE))


def _shift(rate: float, log_odds: float) -> float:
    """Return the rate whose log-odds differ by so much."""
    odds = math.exp(log_odds) * rate / (1 - rate)
    return odds / (1 + odds)
