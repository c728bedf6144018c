"""Boolean CP by alternating greedy updates, as in BCP_ALS and DBTF.

- P. Miettinen, Boolean tensor factorizations, ICDM 2011.
- N. Park, S. Oh and U. Kang, Fast and scalable distributed Boolean tensor factorization, ICDE 2017 (and VLDB
  Journal 2019).

The modes are updated in turn, the other factors fixed: row by row and component by component, an entry takes
the value that leaves fewer wrong cells, and 0 in a tie. The error never rises; a start ends when it stops
falling. DBTF's cached row sums correspond to the workspace of the packed kernels.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensorm.baselines.baseline import Baseline, read_tensor
from tensorm.data.checks import (
    MAX_COMPONENTS,
    MAX_REPEATS,
    check_choice,
    check_count,
    check_flag,
    check_generator,
)
from tensorm.data.memory import check_fits
from tensorm.estimator.progress import announcing_compilation, counting
from tensorm.model import factor_density
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Symmetric
from tensorm.tensors import GREEDY, DenseTensor, Rule, Stream, Tensor, Weights
from tensorm.tensors.factors import Factors
from tensorm.tensors.threads import count_threads


class Descent(NamedTuple):
    """The result of one start."""

    factors: Factors
    wrong: int  # observed cells that differ from the product
    rounds: int
    converged: bool


@dataclass(eq=False, repr=False)
class BooleanALS(Baseline):
    """Boolean CP decomposition by alternating greedy updates: one set of factors, no posterior.

    The method that the TensOrMachine paper compares with (BCP_ALS, Miettinen 2011; DBTF, Park, Oh and Kang
    2017). It minimises the number of wrong cells and therefore fits noise where it can: with much noise its
    training accuracy is high and its reconstruction poor. It suits nearly noise-free data when you need a
    fast point estimate and no probabilities.

    Parameters
    ----------
    n_components : int, default 5
        Number of components L.
    init : "data", "fibres" or "random", default "data"
        Starting point. "fibres" is DBTF's: each component consists of the fibres through a random one-cell,
        one along each mode. "random" draws entries with the density that gives the product as many ones as
        X. "data" finds components one after another in the cells that the others leave unexplained, as
        BCP_ALS does with ASSO, but with the search that starts the chains of ``TensOrMachine``; where that
        finds nothing more, it adds fibres. This start is stronger than those of both papers.
    n_init : int, default 3
        Number of starts; the result with the fewest wrong cells is kept.
    max_iter : int, default 100
        Maximum number of rounds over all modes per start.
    missing : "ignore" or "zero", default "ignore"
        Leave missing cells out of the error, or treat them as zeros as in the papers.
    n_jobs : int or None, default None
        Number of threads, used on large tensors; None for one per available core.
    random_state : int, Generator or None, default None
        Random seed.
    progress : bool, default True
        Show a progress bar if the output is a terminal.

    Attributes
    ----------
    factors_ : list of K Boolean ndarrays (N_k, L)
    error_ : float
        Share of the counted cells that differ from the Boolean product of the factors.
    n_iter_ : int
        Number of rounds of the start that was kept.

    Examples
    --------
    >>> from tensorm import baselines, datasets
    >>> sim = datasets.simulate(shape=(20, 20, 20), rank=3, density=0.2, noise=0.05, random_state=0)
    >>> model = baselines.BooleanALS(n_components=3, random_state=0).fit(sim.observed)
    >>> bool((model.predict() == sim.noise_free).mean() > 0.99)
    True
    """

    n_components: int = 5
    _: KW_ONLY
    init: str = "data"
    n_init: int = 3
    max_iter: int = 100
    missing: str = "ignore"
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool = True

    def fit(self, X: Any, y: None = None) -> Self:
        """Find binary factors whose Boolean product differs from X in few cells.

        Parameters
        ----------
        X : array-like or tensor
            Cells of 0, 1 and missing (NaN, masked) with K >= 2 modes.
        y : None
            Ignored; part of the scikit-learn interface.

        Returns
        -------
        self
        """
        L = check_count("n_components", self.n_components, 1, most=MAX_COMPONENTS)
        start = INIT_METHODS[check_choice("init", self.init, tuple(INIT_METHODS))]
        n_init = check_count("n_init", self.n_init, 1, most=MAX_REPEATS)
        max_iter = check_count("max_iter", self.max_iter, 1, most=MAX_REPEATS)
        check_choice("missing", self.missing, ("ignore", "zero"))
        check_flag("progress", self.progress)
        rng = check_generator(self.random_state)
        threads, tensor = count_threads(self.n_jobs), read_tensor(X)
        check_fits(f"n_components is {L:,}: its factors take", 8 * L * sum(tensor.shape), "give fewer")
        if self.missing == "zero":
            tensor = DenseTensor(np.concatenate([ones for _, ones, _ in tensor.blocks()]))
        tensor = tensor.with_threads(threads)
        with announcing_compilation(self.progress):
            turns = counting("starts", n_init, self.progress)
            found = [descend(tensor, start(tensor, L, rng), max_iter) for _ in turns]
        best = min(found, key=lambda descent: descent.wrong)
        self.factors_ = best.factors.bits()
        self.error_ = best.wrong / tensor.n_observed
        self.n_iter_ = best.rounds
        if not best.converged:
            text = f"The error was still falling after {max_iter} rounds; increase max_iter."
            warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return self


def descend(tensor: Tensor, factors: Factors, max_iter: int) -> Descent:
    """Update the modes in turn until the number of wrong cells stops falling."""
    rule = Rule(np.arange(factors.n_components), GREEDY, Weights(1.0, 1.0), np.zeros((1, 1)))
    before = tensor.n_observed + 1
    for number in range(1, max_iter + 1):
        for mode in range(len(factors)):
            new = tensor.update_factor(mode, factors, rule, Stream(np.uint64(0), 0, 0, mode))
            factors = factors.replace(mode, new)
        wrong = tensor.n_observed - tensor.confusion(factors).correct
        if wrong == before:
            return Descent(factors, wrong, number, True)
        before = wrong
    return Descent(factors, wrong, max_iter, False)


def from_data(tensor: Tensor, L: int, rng: np.random.Generator) -> Factors:
    """Return components found one after another, and fibres where nothing was found.

    An empty component would stay empty: changing a single entry of it changes no cell.
    """
    prior = FixedPrior.from_probabilities([0.5] * len(tensor.shape))
    found = begin(tensor, Target(L, Symmetric(), prior, np.uint64(0)), rng)
    factors = [bits.copy() for bits in found.bits]
    if len(found.unused):
        fibres = from_fibres(tensor, len(found.unused), rng)
        for factor, columns in zip(factors, fibres.bits(), strict=True):
            factor[:, found.unused] = columns
    return Factors.from_bits(factors)


def from_fibres(tensor: Tensor, L: int, rng: np.random.Generator) -> Factors:
    """Return one component per random one-cell: the fibres through it."""
    cells = tensor.sample_ones(rng, L)
    single = [np.zeros((size, L), np.bool_) for size in tensor.shape]
    for column, index in zip(single, cells.T, strict=True):
        column[index, np.arange(len(cells))] = True
    cross, fibres = Factors.from_bits(single), []
    for mode, own in enumerate(cross):
        ones, _ = tensor.counts(mode, cross.replace(mode, np.zeros_like(own)))
        fibres.append(ones > 0)
    return Factors.from_bits(fibres)


def from_coins(tensor: Tensor, L: int, rng: np.random.Generator) -> Factors:
    """Return random entries whose product has about as many ones as the tensor."""
    share = factor_density(min(tensor.n_ones / tensor.n_observed, 0.99), L, len(tensor.shape))
    return Factors.from_bits([rng.random((size, L)) < share for size in tensor.shape])


INIT_METHODS = {"data": from_data, "fibres": from_fibres, "random": from_coins}
