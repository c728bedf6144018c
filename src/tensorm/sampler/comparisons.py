"""The noise model of comparisons: how often components predict a pair correctly.

In a relational tensor, x[o, a, b] and x[o, b, a] are one fact. A component that covers (o, a, b) says that a
is above b in o. Where components say one thing, P(x = 1) is the agreement q, or 1 - q for the mirror image;
where they contradict each other, or none says anything, it is one half. The tensor counts each pair once
(tensors/compared.py), and so this is the model of two rates in which the rate outside is one half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaincc, betaln, xlog1py, xlogy

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.errors import InputError
from tensorm.kernels.philox import uniforms
from tensorm.kernels.predict import add_product
from tensorm.model import Confusion, Noise
from tensorm.sampler.noise_model import ONCE, NoiseModel, Parameters, count_alone
from tensorm.sampler.prior import FactorPrior, LearnedPrior, ShortSides, SidesPrior
from tensorm.sampler.two_rates import CONTRAST, PAPERS_RATES, RATE_EDGE, truncated_beta
from tensorm.tensors.bits import combine
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream, Tensor, Weights

# With less, a component that says nothing would alternate for ever.
MIN_AGREEMENT = 1 / (1 + math.exp(-CONTRAST))
SMALLEST_TAIL = 1e-300
FACTS_OF_A_RANKING = 3.5  # for each attribute; note 22 says why not 3


class _Agreement(NamedTuple):
    agreement: float


class _Weighed(NamedTuple):
    agreement: float
    share: float


class Agreement(_Agreement, Parameters):
    """How often what components say is so."""

    AXES: ClassVar = {"agreement": ONCE}
    TITLES: ClassVar = {"agreement": "share of predicted comparisons that are correct"}
    pair: ClassVar = (1, 2)
    share = 1.0  # of a fact that a pair counts as

    def __str__(self) -> str:
        return f"{self.agreement:.2f}"

    @property
    def rates(self) -> Noise:
        """The same as rates of ones inside and outside."""
        return Noise(self.agreement, 0.5)

    @property
    def weights(self) -> Weights:
        return Weights(*self.rates.weights).tempered(self.share)

    @property
    def purity(self) -> float:
        return self.rates.purity

    def log_ratios(
        self, tensor: Tensor, factors: Factors, members: Bits, components: Sequence[int] | None = None
    ) -> Floats:
        ratios = self.rates.log_ratio(*count_alone(tensor, factors, members, components))
        return np.asarray(self.share * ratios)

    def predict(self, factors: Factors, cells: Sequence[Indices]) -> Floats:
        objects, above, below = cells
        said = factors.covers(cells).astype(np.float64) - factors.covers([objects, below, above])
        return 0.5 + (self.agreement - 0.5) * said

    def add_box(self, total: Floats, factors: Factors, where: Sequence[slice], weight: float) -> float:
        objects, above, below = factors
        excess = weight * (self.agreement - 0.5)
        for masks, share in (((objects, above, below), excess), ((objects, below, above), -excess)):
            *rows, columns = (part[span] for part, span in zip(masks, where, strict=True))
            add_product(total, combine(rows, factors.n_components), columns, share)
        return weight * 0.5

    @classmethod
    def merge(cls, draws: Sequence[Agreement]) -> list[tuple[Agreement, float]]:
        mean = float(np.mean([draw.agreement for draw in draws]))
        return [(cls(mean), float(len(draws)))]  # probabilities are linear in it

    @classmethod
    def certain(cls) -> Agreement:
        return cls(1.0)

    @classmethod
    def rebuild(cls, means: Sequence[Floats], unite: Callable[[Sequence[Floats]], Floats]) -> Floats:
        objects, above, below = means
        return 0.5 + (unite(means) - unite([objects, below, above])) / 2

    @classmethod
    def find_fault(cls, fields: Mapping[str, Floats]) -> str | None:
        right = np.all((fields["agreement"] > 0.5) & (fields["agreement"] < 1))
        return None if right else "shares of comparisons that do not lie between one half and 1"

    @classmethod
    def describe(
        cls, means: Mapping[str, Any], percent: Callable[[float], str], interval: Callable[[str], str]
    ) -> str:
        share = interval("agreement")
        sure = " (90% interval)" if " to " in share else ""
        return f"{share} of the comparisons that the components predict are correct{sure}."


class WeighedAgreement(_Weighed, Agreement):  # type: ignore[misc]  # two NamedTuples
    """The same where a pair counts as less than one fact."""

    AXES: ClassVar = {"agreement": ONCE, "share": ONCE}
    TITLES: ClassVar = {**Agreement.TITLES, "share": "weight of a pair"}


@dataclass(frozen=True)
class Comparisons(NoiseModel):
    """One agreement for all components, under a Beta(a, b) prior above one half."""

    a: float = 1.0
    b: float = 1.0
    parameters: ClassVar[type[Parameters]] = Agreement
    about: ClassVar[str] = "comparisons that count once"
    counted: ClassVar[str] = (
        "Comparisons within an object are not independent, so each had less weight when the number of "
        "components was chosen."
    )

    def hold(self, tensor: Tensor) -> Tensor:
        if not self.suits(tensor):
            raise InputError(
                "noise='comparisons' needs cells that compare attributes; read them with relational=True, or "
                "choose another noise."
            )
        return tensor.compared()

    @classmethod
    def suits(cls, tensor: Tensor) -> bool:
        try:
            tensor.compared()
        except InputError:
            return False
        return True

    def start(self, shape: Sequence[int], n_components: int) -> Agreement:
        return self._make(PAPERS_RATES.hit)

    def update(
        self, tensor: Tensor, factors: Factors, counted: Confusion | None, parameters: Any, stream: Stream
    ) -> tuple[Agreement, Confusion]:
        confusion = counted or tensor.confusion(factors)
        a, b = self._shapes(confusion.tp, confusion.fp)
        agreement = truncated_beta(a, b, MIN_AGREEMENT, 1.0, uniforms(stream, 0, 1)[0])
        return self._make(agreement), confusion

    def log_likelihood(
        self, tensor: Tensor, factors: Factors, confusion: Confusion, parameters: Agreement
    ) -> float:
        q, (tp, fp, _, _) = parameters.agreement, confusion
        said = xlogy(tp, q) + xlog1py(fp, -q)
        return float(parameters.share * (said - _count_silent(*confusion) * math.log(2)))

    def estimate(self, tensor: Tensor, factors: Factors, confusion: Confusion) -> Agreement:
        a, b = self._shapes(confusion.tp, confusion.fp)
        return self._make(min(max(a / (a + b), MIN_AGREEMENT), 1 - RATE_EDGE))

    def log_marginal(self, tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Floats:
        a, b = self._shapes(np.maximum(tp, 0), np.maximum(fp, 0))
        above, share = np.maximum(betaincc(a, b, MIN_AGREEMENT), SMALLEST_TAIL), self._make(0.5).share
        return betaln(a, b) + np.log(above) - share * _count_silent(tp, fp, fn, tn) * math.log(2)

    def counting(self, tensor: Tensor) -> WeighedComparisons:
        """Return the model with which the number of components is chosen.

        The pairs of an object follow from one ranking. In noise, the number of pairs that are as a component
        says, with A attributes in two groups, has (A + 1) / 3 times the variance of as many independent
        facts (Mann and Whitney 1947). As such they would pay for components wherever values are noise.
        """
        return WeighedComparisons(self.a, self.b, FACTS_OF_A_RANKING / (1 + max(tensor.shape[1:])))

    def counting_prior(self, prior: FactorPrior) -> FactorPrior:
        """Return densities for each side, unless probabilities are given: short sides are for reading."""
        return SidesPrior() if isinstance(prior, LearnedPrior | ShortSides) else prior

    def _make(self, agreement: float) -> Agreement:
        return Agreement(agreement)

    def _shapes(self, right: Any, wrong: Any) -> tuple[Any, Any]:
        """Return the parameters of the conditional Beta of the agreement."""
        share = self._make(0.5).share
        return self.a + share * right, self.b + share * wrong


@dataclass(frozen=True)
class WeighedComparisons(Comparisons):
    """The same where a pair counts as less than one fact; only to choose the number of components."""

    share: float = 1.0
    parameters: ClassVar[type[Parameters]] = WeighedAgreement

    def find_fault(self, fields: Mapping[str, Floats]) -> str | None:
        equal = np.all(fields["share"] == self.share)
        return super().find_fault(fields) or (None if equal else "another weight of a pair")

    def _make(self, agreement: float) -> WeighedAgreement:
        return WeighedAgreement(agreement, self.share)


class ComparisonsPlugIn(Comparisons):
    """The agreement set to its estimate, as in eq. 6: not a Gibbs step."""

    def update(
        self, tensor: Tensor, factors: Factors, counted: Confusion | None, parameters: Any, stream: Stream
    ) -> tuple[Agreement, Confusion]:
        confusion = counted or tensor.confusion(factors)
        return self.estimate(tensor, factors, confusion), confusion


def _count_silent(tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Any:
    """Return the number of pairs that nothing is said about; both of their cells are counted."""
    return (np.add(fn, tn) - tp - fp) / 2
