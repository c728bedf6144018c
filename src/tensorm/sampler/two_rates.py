"""Noise models of two rates: how the rates of ones inside and outside the components are drawn.

The rates keep a small distance, CONTRAST, so that a component always means more ones: with equal rates the
data say nothing about the factors, and Metropolised flips would alternate for ever.

noise_model.py says what a noise model is and how to add one; models.py lists all of them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.kernels.philox import uniforms
from tensorm.kernels.predict import add_product
from tensorm.model import Confusion, Noise
from tensorm.sampler.noise_model import ONCE, NoiseModel, Parameters, count_alone
from tensorm.tensors.bits import combine
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream, Tensor, Weights

CONTRAST = 0.1  # least difference of the rates' log-odds
RATE_EDGE = 1e-15  # rates stay this far from 0 and 1


class Rates(Noise, Parameters):
    """A rate of ones where the product is 1, and one where it is 0."""

    AXES: ClassVar = {"hit": ONCE, "false_alarm": ONCE}
    TITLES: ClassVar = {"hit": "rate of ones inside", "false_alarm": "rate of ones outside"}

    def __str__(self) -> str:
        return f"{self.hit:.2f}/{self.false_alarm:.2f}"

    @property
    def weights(self) -> Weights:
        return Weights(*super().weights)

    def row(self) -> Floats:
        return np.array(self)

    def log_ratios(
        self, tensor: Tensor, factors: Factors, members: Bits, components: Sequence[int] | None = None
    ) -> Floats:
        return np.asarray(self.log_ratio(*count_alone(tensor, factors, members, components)))

    def predict(self, factors: Factors, cells: Sequence[Indices]) -> Floats:
        return self.cell_probability(factors.covers(cells))

    def add_box(self, total: Floats, factors: Factors, where: Sequence[slice], weight: float) -> float:
        *rows, columns = (masks[span] for masks, span in zip(factors, where, strict=True))
        add_product(
            total, combine(rows, factors.n_components), columns, weight * (self.hit - self.false_alarm)
        )
        return weight * self.false_alarm

    @classmethod
    def merge(cls, draws: Sequence[Rates]) -> list[tuple[Rates, float]]:
        return [
            (cls(*np.mean(draws, axis=0).tolist()), float(len(draws)))
        ]  # probabilities are linear in rates

    @classmethod
    def find_fault(cls, fields: Mapping[str, Floats]) -> str | None:
        hit, false_alarm = fields["hit"], fields["false_alarm"]
        ordered = np.all((false_alarm > 0) & (false_alarm < hit) & (hit < 1))
        return None if ordered else "rates that are not ordered numbers between 0 and 1"

    @classmethod
    def describe(
        cls, means: Mapping[str, Any], percent: Callable[[float], str], interval: Callable[[str], str]
    ) -> str:
        inside, outside = interval("hit"), interval("false_alarm")
        sure = " (90% intervals)" if " to " in inside + outside else ""
        return f"Inside the components {inside} of the cells are 1, outside {outside}{sure}."


def rates_of(log_odds: float) -> Rates:
    """Return the paper's noise with this lambda, the log-odds that a cell equals the product."""
    return Rates.symmetric(1 / (1 + math.exp(-log_odds)))


PAPERS_LAMBDA = 0.5  # where its chains start
PAPERS_RATES = rates_of(PAPERS_LAMBDA)


@dataclass(frozen=True)
class TwoRates(NoiseModel):
    """What models of two rates share: rates start as in the paper, and four counts are all they need."""

    a: float = 1.0
    b: float = 1.0
    parameters: ClassVar[type[Parameters]] = Rates

    def start(self, shape: Sequence[int], n_components: int) -> Rates:
        return PAPERS_RATES

    def start_at(self, log_odds: float) -> Rates:
        return rates_of(log_odds)

    def update(
        self, tensor: Tensor, factors: Factors, counted: Confusion | None, parameters: Any, stream: Stream
    ) -> tuple[Any, Confusion]:
        confusion = counted or tensor.confusion(factors)
        return self.draw(confusion, parameters, uniforms(stream, 0, 2)), confusion

    def log_likelihood(
        self, tensor: Tensor, factors: Factors, confusion: Confusion, parameters: Any
    ) -> float:
        return float(parameters.log_likelihood(confusion))

    def estimate(self, tensor: Tensor, factors: Factors, confusion: Confusion) -> Any:
        return self.fit(confusion)

    @abstractmethod
    def draw(self, confusion: Confusion, noise: Rates, u: Floats) -> Rates:
        """Draw the rates by two uniform numbers."""

    @abstractmethod
    def fit(self, confusion: Confusion) -> Rates:
        """Return the rates that fit four counts, smoothed by the prior."""


class Symmetric(TwoRates):
    """One rate sigma(lambda) at which cells equal the product, under a truncated Beta(a, b) prior."""

    about: ClassVar[str] = "one error rate"

    def find_fault(self, fields: Mapping[str, Floats]) -> str | None:
        mirrored = np.all(fields["false_alarm"] == 1 - fields["hit"])
        return super().find_fault(fields) or (None if mirrored else "rates of errors that differ")

    def draw(self, confusion: Confusion, noise: Rates, u: Floats) -> Rates:
        """Draw the rate from its conditional, by the first of two uniform numbers: a Gibbs step."""
        wrong = confusion.observed - confusion.correct
        low = _shift(0.5, CONTRAST / 2)
        return Rates.symmetric(truncated_beta(self.a + confusion.correct, self.b + wrong, low, 1.0, u[0]))

    def fit(self, confusion: Confusion) -> Rates:
        """Return the share of cells explained, smoothed by the prior (eq. 6)."""
        sigma = (self.a + confusion.correct) / (self.a + self.b + confusion.observed)
        return Rates.symmetric(max(sigma, _shift(0.5, CONTRAST / 2)))

    def log_marginal(self, tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Floats:
        return betaln(self.a + tp + tn, self.b + fp + fn)


class SymmetricPlugIn(Symmetric):
    """The paper's update of the one rate (eq. 6): quick, but not a Gibbs step, so never exact."""

    def draw(self, confusion: Confusion, noise: Rates, u: Floats) -> Rates:
        """Set the rate to its estimate."""
        return self.fit(confusion)


class Asymmetric(TwoRates):
    """Two rates of ones, where the product is 1 and where it is 0, under ordered Beta(a, b) priors."""

    about: ClassVar[str] = "two rates of ones, inside and outside the components"

    def draw(self, confusion: Confusion, noise: Rates, u: Floats) -> Rates:
        """Draw each rate from its conditional given the other: two Gibbs steps."""
        tp, fp, fn, tn = confusion
        low = _shift(noise.false_alarm, CONTRAST)
        hit = truncated_beta(self.a + tp, self.b + fp, low, 1.0, u[0])
        high = _shift(hit, -CONTRAST)
        return Rates(hit, truncated_beta(self.a + fn, self.b + tn, 0.0, high, u[1]))

    def fit(self, confusion: Confusion) -> Rates:
        """Return the shares of ones, smoothed by the prior and kept in order."""
        tp, fp, fn, tn = confusion
        false_alarm = min((self.a + fn) / (self.a + self.b + fn + tn), 1 - 2 * RATE_EDGE)
        hit = (self.a + tp) / (self.a + self.b + tp + fp)
        return Rates(min(max(hit, _shift(false_alarm, CONTRAST)), 1 - RATE_EDGE), false_alarm)

    def log_marginal(self, tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Floats:
        return betaln(self.a + tp, self.b + fp) + betaln(self.a + fn, self.b + tn)


class AsymmetricPlugIn(Asymmetric):
    """The plug-in of eq. 6 for two rates; like it, not a Gibbs step."""

    def draw(self, confusion: Confusion, noise: Rates, u: Floats) -> Rates:
        """Set both rates to their estimates."""
        return self.fit(confusion)


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
    return float(min(max(x, low, RATE_EDGE), high, 1 - RATE_EDGE))


def _shift(rate: float, log_odds: float) -> float:
    """Return the rate whose log-odds differ by so much."""
    odds = math.exp(log_odds) * rate / (1 - rate)
    return odds / (1 + odds)
