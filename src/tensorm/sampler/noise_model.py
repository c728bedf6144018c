"""What a noise model is: the two classes that a new one brings, and all that the package asks of them.

A *model* (``NoiseModel``) has the prior: where chains start, how parameters are drawn, fitted and judged.
Its *parameters* (``Parameters``) are what a chain carries from draw to draw, and they answer for the cells.
Nobody outside the two classes knows which model it is. To add one:

1. write both classes in a file of their own, as two_rates.py has ``Rates`` and ``TwoRates``;
2. give the model its place in ``MODELS`` (models.py), where the estimator, the command line and files look:
   each class once, with an entry for "sample"; its first two fields are the numbers of ``noise_prior``;
3. only if (pos, tot) with ``Weights`` do not decide an entry, for example because it matters how many
   components cover a cell: do as strengths do, with weights of their own (ranked.py in tensors/ and
   kernels/), a class of counts for each storage (tensors/*_ranked.py) and ``Tensor.ranked`` to return it;
4. name it in the docstring of ``TensOrMachine``.

tests/sampler/test_noise_model.py takes such a model through fit, report, plots, files, resume and selection.

Draws are kept as rows of numbers (``Trace.noise``, and ``noise`` in files), the fields one after the other.
``AXES`` says what a field has a number for. That is enough to reorder components, to store, check, export and
summarise a field, and to tell how well it mixes. Sentences, tables, plots and the page also show a field for
each component called STRENGTH, and one for each index called ACTIVITY.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.errors import InputError
from tensorm.model import Confusion
from tensorm.sampler.prior import FactorPrior
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Stream, Tensor

# What a field has a number for; INDEX: those of all modes, one after the other.
ONCE, COMPONENT, MODE, INDEX = "once", "component", "mode", "index"
STRENGTH, ACTIVITY = "strength", "activity"
TREND_SWEEPS = 25  # in which most models show whether the log-likelihood rises


class Parameters(ABC):
    """One draw of a noise model's parameters; subclasses are NamedTuples as well.

    Attributes
    ----------
    AXES : mapping
        For each field whether there is one number (ONCE), or one for each COMPONENT, MODE or INDEX.
    TITLES : mapping
        For each field its name in sentences and tables.
    UNJUDGED : set of str
        Fields that the conclusion about a fit does not depend on: parameters of priors, and those of single
        indices, on which only the predictions of these depend.
    pair : (int, int) or None
        Two modes that can be exchanged: what is said of a cell depends on its mirror image, too.
    """

    AXES: ClassVar[Mapping[str, str]]
    TITLES: ClassVar[Mapping[str, str]]
    UNJUDGED: ClassVar[frozenset[str]] = frozenset()
    pair: ClassVar[Pair | None] = None

    @property
    @abstractmethod
    def weights(self) -> Any:
        """What kernels turn an entry's counts into log-odds with (``Rule.weights``)."""

    @property
    @abstractmethod
    def purity(self) -> float:
        """Rate of ones in components beyond that elsewhere, as a share of what is possible; for searches."""

    @abstractmethod
    def log_ratios(
        self, tensor: Tensor, factors: Factors, members: Bits, components: Sequence[int] | None = None
    ) -> Floats:
        """Return by how much the log-likelihood falls without each component; as for ``count_alone``."""

    @abstractmethod
    def predict(self, factors: Factors, cells: Sequence[Indices]) -> Floats:
        """Return P(x = 1) of some cells, given as K index arrays."""

    @abstractmethod
    def add_box(self, total: Floats, factors: Factors, where: Sequence[slice], weight: float) -> float:
        """Add P(x = 1) times a weight to the cells of a box, (rows of all modes but the last, columns).

        What all cells have in common may be left out and returned instead.
        """

    def follow(self, before: Self | None, shape: Sequence[int]) -> Self:
        """Return the parameters of new slices along mode 0, beside those of the draw before."""
        return self

    def redraw_slices(self, tensor: Tensor, factors: Factors, stream: Stream) -> Self:
        """Draw what belongs to the slices alone."""
        return self

    @classmethod
    def merge(cls, draws: Sequence[Self]) -> list[tuple[Self, float]]:
        """Return parameters and weights that predict what these draws do together, all with equal factors."""
        return [(draw, 1.0) for draw in draws]

    @classmethod
    def certain(cls) -> Parameters | None:
        """Return parameters without noise; None: a cell is what the Boolean product says."""
        return None

    @classmethod
    def rebuild(cls, means: Sequence[Floats], unite: Callable[[Sequence[Floats]], Floats]) -> Floats:
        """Return P(x = 1) of cells without noise from means of the factors; ``unite`` says where any is 1."""
        return unite(means)

    @classmethod
    @abstractmethod
    def find_fault(cls, fields: Mapping[str, Floats]) -> str | None:
        """Return what is wrong with numbers read from a file, (S,) or (S, n) for each field, or None."""

    @classmethod
    @abstractmethod
    def describe(
        cls, means: Mapping[str, Any], percent: Callable[[float], str], interval: Callable[[str], str]
    ) -> str:
        """Return sentences for readers, from posterior means.

        ``percent`` writes a share as text; ``interval`` the 90% interval of the share with a given name.
        """

    def information(self, tensor: Tensor) -> float:
        """Return how many nats the cells tell about parameters with which ones can be explained, if any."""
        return 0.0

    @classmethod
    def by_name(cls, rows: Floats, n_components: int, shape: Sequence[int]) -> dict[str, Floats]:
        """Return the fields (...) or (..., n) of rows (..., P)."""
        fields, first = {}, 0
        for name, axis in cls.AXES.items():
            stop = first + _size(axis, n_components, shape)
            fields[name] = rows[..., first] if axis == ONCE else rows[..., first:stop]
            first = stop
        return fields

    @classmethod
    def width(cls, n_components: int, shape: Sequence[int]) -> int:
        """Return the length of a row."""
        return sum(_size(axis, n_components, shape) for axis in cls.AXES.values())

    @classmethod
    def from_row(cls, row: Floats, n_components: int, shape: Sequence[int]) -> Self:
        """Return the draw that is stored as a row."""
        fields = cls.by_name(row, n_components, shape).values()
        return cls(*(field if field.ndim else float(field) for field in fields))

    def row(self) -> Floats:
        """Return the draw as a row of numbers."""
        return np.hstack(list(self))  # type: ignore[call-overload]  # a NamedTuple

    @classmethod
    def narrow(
        cls, rows: Floats, shape: Sequence[int], n_components: int, chosen: Mapping[str, Any]
    ) -> Floats:
        """Return rows with some of the components or indices, in their order."""
        if chosen.keys().isdisjoint(cls.AXES.values()):
            return rows
        places = cls.by_name(np.arange(float(rows.shape[-1])), n_components, shape)
        kept = [
            place[list(chosen[cls.AXES[name]])] if cls.AXES[name] in chosen else np.atleast_1d(place)
            for name, place in places.items()
        ]
        return np.ascontiguousarray(rows[..., np.concatenate(kept).astype(np.intp)])

    def keep(self, components: Sequence[int]) -> Self:
        """Return the parameters of some of the components, in their order."""
        pairs = zip(self.AXES.values(), self, strict=True)  # type: ignore[call-overload]
        return type(self)(*(field[list(components)] if axis == COMPONENT else field for axis, field in pairs))


def _size(axis: str, n_components: int, shape: Sequence[int]) -> int:
    if axis == COMPONENT:
        return n_components
    if axis == MODE:
        return len(shape)
    return sum(shape) if axis == INDEX else 1


@dataclass(frozen=True)
class NoiseModel(ABC):
    """A noise model: the prior of its parameters; subclasses are frozen dataclasses of positive numbers.

    Attributes
    ----------
    parameters : type
        The class of its parameters.
    about : str
        What it says about cells, in a few words for lists of choices.
    trend : int
        Sweeps whose mean log-likelihood is compared with that of as many before, to see whether it rises.
    counted : str
        What to say when ``counting`` has chosen the number of components in this model's place.
    """

    parameters: ClassVar[type[Parameters]]
    about: ClassVar[str] = ""
    trend: ClassVar[int] = TREND_SWEEPS
    counted: ClassVar[str] = ""
    # Fields that ``strength_prior`` can set, two each: name_a, name_b of a Beta prior (None), or name_least,
    # name_most, which lie between two numbers.
    settable: ClassVar[Mapping[str, tuple[float, float] | None]] = {}

    def hold(self, tensor: Tensor) -> Tensor:
        """Return the cells as this model counts them, or raise if it cannot."""
        return tensor

    @classmethod
    def suits(cls, tensor: Tensor) -> bool:
        """Whether cells are of the kind that this model is made for, so that noise="auto" means it."""
        return False

    def find_fault(self, fields: Mapping[str, Floats]) -> str | None:
        """Return what is wrong with parameters of this model that were read from a file, or None."""
        return self.parameters.find_fault(fields)

    @abstractmethod
    def start(self, shape: Sequence[int], n_components: int) -> Any:
        """Return the parameters that a chain with random factors starts with."""

    def start_at(self, log_odds: float) -> Any:
        """Return parameters with the paper's lambda, the log-odds that a cell equals the product."""
        raise InputError("lambda_start needs noise='symmetric' or 'asymmetric'; leave it out.")

    @abstractmethod
    def update(
        self, tensor: Tensor, factors: Factors, counted: Confusion | None, parameters: Any, stream: Stream
    ) -> tuple[Any, Confusion]:
        """Draw new parameters from their conditional, given all cells; return their confusion, too.

        It is given if it is known already. Of the stream's row 0 only the first two numbers are free; later
        rows are, as far as they go.
        """

    @abstractmethod
    def log_likelihood(
        self, tensor: Tensor, factors: Factors, confusion: Confusion, parameters: Any
    ) -> float:
        """Return the log probability of the observed cells."""

    @property
    def stand_in(self) -> NoiseModel:
        """The model that takes this one's place while components are searched for."""
        return self

    def counting(self, tensor: Tensor) -> NoiseModel:
        """Return the model that takes this one's place while the number of components is chosen."""
        return self.stand_in

    def counting_prior(self, prior: FactorPrior) -> FactorPrior:
        """Return the prior of factors that goes with ``counting``."""
        return prior

    @property
    def has_stand_in(self) -> bool:
        """Whether another model takes this one's place in searches."""
        return self.stand_in != self

    def searching(self, parameters: Any) -> bool:
        """Whether a chain with these parameters still has those of the stand-in."""
        return self.has_stand_in and type(parameters) is not self.parameters

    @abstractmethod
    def estimate(self, tensor: Tensor, factors: Factors, confusion: Confusion) -> Any:
        """Return parameters that fit these factors."""

    @abstractmethod
    def log_marginal(self, tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Floats:
        """Return the log-likelihood of such counts with the parameters integrated out; arrays broadcast.

        Searches and Occam's razor compare components by it, so it may be approximate; no draw depends on it.
        """

    def fill_background(self, tensor: Tensor, parameters: Any, stream: Stream) -> Any:
        """Return parameters that explain as many ones as they can without components, for searches."""
        return parameters

    def renew(self, parameters: Any, components: Indices) -> Any:
        """Return the parameters of an explanation in which these components are new, for searches."""
        return parameters

    def widen(self, parameters: Any, extra: int, rng: np.random.Generator) -> Any:
        """Return the parameters with so many more components, drawn from their prior."""
        return parameters


def count_alone(
    tensor: Tensor, factors: Factors, members: Bits, components: Sequence[int] | None = None
) -> tuple[Counts, Counts]:
    """Return for each component the ones and the zeros that it alone covers.

    Parameters
    ----------
    tensor, factors, components
        As for ``Tensor.counts``.
    members : Boolean array (N_0, components)
        The components' columns of mode 0; the factors say what other components cover.
    """
    rows = np.flatnonzero(members.any(axis=1))
    pos, tot = (
        np.where(members[rows], counts, 0).sum(axis=0) // tensor.times_counted(0)
        for counts in tensor.counts(0, factors, components, rows)
    )
    return pos, tot - pos
