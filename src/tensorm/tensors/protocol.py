"""The protocol: what the rest of the package may ask of a tensor, however its cells are stored.

No code outside this folder tests for a kind of tensor; everything that differs between kinds is a verb here.

A new kind of storage is a subclass of ``Tensor`` that

- has the attributes ``shape``, ``names``, ``n_observed``, ``n_ones`` and ``nbytes``, which its constructors
  set in one method (``_hold`` of a dense tensor, ``_store`` of a sparse one);
- implements the six abstract methods: ``_update``, ``_count``, ``_confusion``, ``_ones_at``, ``_take`` and
  ``_read_slices``, the work behind ``update_factor``, ``counts``, ``confusion``, ``ones_at``, ``take`` and
  ``blocks``. What comes in is checked there, once; kernels check nothing.

Everything else has a default that is built on these. All kinds make the same draws, to the bit. If the slices
of a mode can be read as rows of 64-bit words, start from ``SlicedTensor`` (slices.py), which implements most
of them; if cells are read from elsewhere, from ``ReadTensor`` (dense.py), which asks for ``_read``.
``ranked`` refuses by default; a kind whose components can have strengths returns an object with the verbs of
``RankedCells`` (ranked.py), best a subclass of ``StoredCells`` (stored_ranked.py). Likewise ``_read_tied``
refuses; a kind of which two modes can share a factor names its kernel there. Override another default where
the storage allows something quicker (``listed_keys``, ``known_keys``, ``split``), or where the cells can be
saved in another form than bits: ``arrays``, with ``ESSENTIAL`` and ``from_arrays``, and their names in
pick.py (``KINDS``, ``ARRAY_NAMES``). ``_make_tensor`` of read.py picks the kind for what ``tensorm.read`` has
read; __init__.py of this folder and of the package list it. Add the kind to tests/makers.py: the contract
tests run on it.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Counts, Floats, Indices, Ints, Keys, Rows, Words
from tensorm.data.checks import check_count, check_parts, check_range
from tensorm.data.coordinates import key_of
from tensorm.data.inputs import Named, Pair
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.kernels.decisions import GIBBS, GREEDY, METROPOLIS, Rule
from tensorm.model import Confusion
from tensorm.tensors import blocks
from tensorm.tensors.bits import DIGEST_BYTES
from tensorm.tensors.blocks import PredictsCells
from tensorm.tensors.factors import Factors
from tensorm.tensors.held_cells import choose_mask, refuse_unmirrored
from tensorm.tensors.ranked import RankedCells
from tensorm.tensors.weights import Weights, with_steps

__all__ = ["GIBBS", "GREEDY", "METROPOLIS", "Rule", "Stream", "Tensor", "Weights"]


MISSING = -1  # in the array that ``read_cells`` returns


class Stream(NamedTuple):
    """Which random numbers to use: one for every row and component."""

    seed: np.uint64
    chain: int
    sweep: int
    purpose: int  # the mode whose factor is updated, or one of the numbers above 200 of sampler/state.py
    by_row: int = 1  # 0: all rows share their numbers
    first: int = 0  # number of the first row, for a part of a factor that uses the numbers of the whole


class HeldOut(NamedTuple):
    """Data in two parts: a tensor to fit, in which some cells are missing, and those cells.

    Attributes
    ----------
    train : Tensor
    cells : ndarray of int (n, K)
    values : ndarray of bool (n,)
    """

    train: Tensor
    cells: Indices
    values: Bits


class Tensor(Named, ABC):
    """Observations of 0, 1 and missing with K >= 2 modes.

    Attributes
    ----------
    shape : tuple of int
        Sizes of the modes.
    names : Names
        What the modes and their indices are called, and which two modes have pairs without direction.
    modes, labels, undirected
        Parts of the names.
    n_observed, n_ones : int
        Number of cells that are not missing, and of cells that are 1.
    storage : str
        What messages call it: "sparse" if cells are listed, otherwise "dense"; or both, if parts differ.
    caveat : str
        What to keep in mind about a number of components that was chosen from these cells, or "".
    pair : (int, int) or None
        Two modes that share a factor.
    crowd : int or None
        A mode whose indices are alike, so that burn-in may begin with some of them.
    mirrored : (int, int) or None
        Two modes that can be exchanged: a cell tells what its mirror image is, so both are held out together.
    """

    shape: tuple[int, ...]
    n_observed: int
    n_ones: int
    storage = "dense"
    caveat = ""
    pair: Pair | None = None
    crowd: int | None = None
    _n_threads = 1
    _facts: tuple[str, ...] = ("n_observed", "n_ones")  # that its text shows, beside the shape

    if TYPE_CHECKING:  # an attribute or a property

        @property
        def nbytes(self) -> int:
            """Memory held, in bytes."""

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("shape", *self._facts))
        return f"{type(self).__name__}({facts})"

    @property
    def undirected(self) -> Pair | None:
        """Two modes of which the user said that their pairs have no direction."""
        return self.names.undirected

    @property
    def mirrored(self) -> Pair | None:
        """Two modes in which every cell has a mirror image, or None."""
        return self.pair or self.undirected

    def update_factor(
        self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows | None = None
    ) -> Words:
        """Return a new factor for a mode, every entry decided in turn given all others (eq. 4).

        Parameters
        ----------
        mode : int
        factors : Factors
        rule : Rule
            How an entry is decided.
        stream : Stream
            The random numbers to use.
        rows : array of int, optional
            Decide only these rows, each with the random numbers that it would have among all.
        """
        chosen = self._check(factors, mode, rows)
        rule = with_steps(rule, (self.shape[mode], factors.n_components))
        return rule.weights.update(self, mode, factors, rule, stream, chosen)

    def update_all(
        self, factors: Factors, rules: Sequence[Rule], stream: Stream
    ) -> tuple[Factors, Confusion | None]:
        """Update the factors of all modes in turn.

        Parameters
        ----------
        factors : Factors
        rules : sequence of Rule
            For each mode how its entries are decided; only their priors differ.
        stream : Stream
            The random numbers of the first mode.

        Returns
        -------
        factors : Factors
        confusion : Confusion or None
            The cells counted by the new product, if that took hardly any time on the way.
        """
        return rules[0].weights.update_all(self, factors, rules, stream), None

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        """Return a new factor for two modes that share one: the rows take turns, each given those before.

        No cell with the same index along both modes may be observed.
        """
        factor, (update, *cells) = factors[pair[0]].copy(), self._read_tied(pair, factors)
        update(factor, rows, *cells, rule.arguments(), tuple(stream))
        return factor

    def counts(
        self, mode: int, factors: Factors, components: Sequence[int] | None = None, rows: Rows | None = None
    ) -> tuple[Counts, Counts]:
        """Return (pos, tot) of a mode's entries, two arrays (len(rows), len(components)) (eq. 5).

        All rows and components by default. All other entries are held; ``tot`` counts the observed cells
        whose value depends on the entry, ``pos`` those of them that are 1, whatever the entry's own value is.
        """
        chosen, L = every(factors.n_components), factors.n_components
        if components is not None:
            chosen = check_range("components", np.array(components), L)
        pos, tot = self._count(mode, factors, chosen, self._check(factors, mode, rows))
        return pos, tot

    def confusion(self, factors: Factors) -> Confusion:
        """Count the observed cells by the value of the Boolean product and their own."""
        self._check(factors, 0)
        return self._confusion(factors)

    def ones_at(self, ranks: Ints) -> Indices:
        """Return the indices (n, K) of ones by their sorted ranks among all ones, in the order of indices."""
        return self._ones_at(check_range("ranks", ranks, self.n_ones))

    def take(self, indices: Sequence[Indices]) -> Tensor:
        """Return a small tensor of the cells with these indices along each mode."""
        return self._take(check_parts(indices, self.shape))

    def _check(self, factors: Factors, mode: int, rows: Rows | None = None) -> Rows:
        """Return the rows of a mode, by default all; raise unless they and the factors fit this tensor."""
        if tuple(map(len, factors.masks)) != self.shape:
            found = tuple(map(len, factors.masks))
            raise InputError(f"factors has sizes {found}; give those of the tensor, {self.shape}.")
        if not 0 <= mode < len(self.shape):
            raise InputError(f"mode is {mode}; give a number from 0 to {len(self.shape) - 1}.")
        return every(self.shape[mode]) if rows is None else check_range("rows", rows, self.shape[mode])

    @abstractmethod
    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        """Return a mode's factor with these rows decided anew."""

    def _read_tied(self, pair: Pair, factors: Factors) -> tuple[Any, ...]:
        """Return a kernel that lets rows take turns, and what it reads: the slices, and what ties them."""
        raise InputError(
            f"symmetric is given, but modes of a {type(self).__name__} cannot share a factor; leave it out."
        )

    @abstractmethod
    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        """Return (pos, tot) as one array (2, len(rows), len(components))."""

    @abstractmethod
    def _confusion(self, factors: Factors) -> Confusion:
        """Count the cells, of factors that fit."""

    def _confuse(self, shares: Sequence[tuple[int, int]]) -> Confusion:
        """Return the confusion from the (ones, observed cells) that components cover, one pair per thread."""
        tp, covered = (sum(share) for share in zip(*shares, strict=True))
        fp = covered - tp
        return Confusion(tp, fp, self.n_ones - tp, self.n_observed - self.n_ones - fp)

    @abstractmethod
    def _ones_at(self, ranks: Ints) -> Indices:
        """Return the indices of ones by ranks that exist."""

    @abstractmethod
    def _take(self, indices: Sequence[Indices]) -> Tensor:
        """Return the cells with indices that exist."""

    @abstractmethod
    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        """Return the ones and the observed cells of some slices of mode 0."""

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        """Yield (indices along mode 0, ones, observed) in blocks of whole slices."""
        step = max(1, check_count("max_cells", max_cells, 1) // math.prod(self.shape[1:]))
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            yield slice(start, stop), *self._read_slices(start, stop)

    def times_counted(self, mode: int) -> int:
        """Return how often a cell counts when the counts of all rows of a mode are added up."""
        return 1

    def sample_ones(self, rng: np.random.Generator, count: int) -> Indices:
        """Return the indices (count, K) of random cells that are 1, drawn with replacement.

        The same cells for the same generator, however they are stored.
        """
        if self.n_ones == 0:
            return np.empty((0, len(self.shape)), np.intp)
        return rng.permutation(self.ones_at(np.sort(rng.integers(self.n_ones, size=count))))

    def with_threads(self, n_threads: int) -> Self:
        """Return the same tensor (its cells are shared, not copied), using this number of threads."""
        twin = copy.copy(self)
        twin._n_threads = n_threads
        return twin

    def cached(self, n_components: int) -> Tensor:
        """Return a tensor that remembers its counts for one chain, or this one if that would not pay."""
        return self

    def compact(self) -> Tensor:
        """Return the same cells in the form that is quickest to count again and again."""
        return self

    def miniature(self) -> Tensor | None:
        """Return a tensor of a few cells on which to compile what this one needs, or None for nothing."""
        return None

    def read_cells(self, indices: Sequence[Indices]) -> npt.NDArray[np.int8]:
        """Return the cells with these indices along each mode: 0, 1, and MISSING where missing."""
        indices = check_parts(indices, self.shape)
        cells = np.empty([len(index) for index in indices], np.int8)
        for where, ones, observed in self.take(indices).blocks():
            cells[where] = np.where(observed, ones, MISSING)
        return cells

    def listed_keys(self, unlisted: str = "missing") -> tuple[Keys, Keys]:
        """Return the sorted keys of all cells but those that are "missing", or "zero": ones, then others."""
        return blocks.list_keys(self, unlisted)

    def find_known(self, cells: npt.NDArray[np.int8]) -> Bits:
        """Return which cells, as ``read_cells`` returns them, are certain: ones, since zeros may be gaps."""
        return cells == 1

    def known_keys(self, mode: int, n: int) -> Keys:
        """Return the keys of the known cells of slice n of a mode."""
        part = [every(size) for size in self.shape]
        part[mode] = np.array([n])
        columns = [*np.nonzero(self.find_known(self.read_cells(part)))]
        columns[mode] += n
        return key_of(columns, self.shape)

    def sample_observed(self, rng: np.random.Generator, most: int) -> tuple[Indices, Indices]:
        """Return random ones and random zeros (n, K), at most so many of each."""
        return blocks.sample_observed(self, rng, most)

    def predict_observed(
        self, predictor: PredictsCells, mask: Bits | None = None
    ) -> Iterator[tuple[Bits, Floats]]:
        """Yield the values of observed cells, or of those in a mask, and what is predicted of them."""
        return blocks.predict_observed(self, predictor, mask)

    def choose_part(
        self, choose: Callable[[], list[Rows] | None], pair: Pair | None = None
    ) -> list[Rows] | None:
        """Return the indices of a part, chosen if need be, with both cells of a pair, or None for all."""
        part, mirrored = choose(), pair or self.mirrored
        if part is not None and mirrored is not None:
            part[mirrored[1]] = part[mirrored[0]]
        return part

    def sample_slices(self, n_cells: int) -> Rows | None:
        """Return slices of mode 0 with about this many observed cells, or None if all can be read."""
        return None

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which the cells can be rebuilt, for ``from_arrays`` (pick.py).

        Here the ones and, if any cell is missing, the observed cells: a row of bits for each slice of mode 0.
        """
        planes = [
            [np.packbits(bits.reshape(len(bits), -1), axis=1, bitorder="little") for bits in block]
            for _, *block in self.blocks()
        ]
        ones, observed = (np.concatenate(plane) for plane in zip(*planes, strict=True))
        missing = self.n_observed < math.prod(self.shape)
        return {"ones": ones, "observed": observed} if missing else {"ones": ones}

    def digest(self) -> str:
        """Return a short text that is the same for the same cells only, dense or sparse, in parts or not."""
        missing = math.prod(self.shape) - self.n_observed
        unlisted = "zero" if self.n_ones + missing <= self.n_observed else "missing"
        whole = repr(self.shape).encode() + b"".join(self.digest_slices(unlisted))
        return blake2b(whole, digest_size=DIGEST_BYTES).hexdigest()

    def digest_slices(self, unlisted: str) -> list[bytes]:
        """Return a digest of each slice of mode 0, by its cells but those that are "missing", or "zero"."""
        return blocks.digest_slices(self, unlisted)

    def hide(self, mask: Bits) -> Tensor:
        """Return the same tensor with the cells of a mask missing; override it if ``take`` keeps the kind."""
        return self._take([every(size) for size in self.shape]).hide(mask)

    def split(self, share: float, rng: np.random.Generator, pair: Pair | None = None) -> HeldOut:
        """Hold out a random share of the observed cells; every index of every mode keeps one.

        With a pair of modes, or in a tensor that is mirrored, mirror images are held out together.
        """
        mask, ones = self.choose_mask(share, rng, pair)
        return HeldOut(self.hide(mask), np.argwhere(mask), ones[mask])

    def choose_mask(
        self, share: float, rng: np.random.Generator, pair: Pair | None = None, stratify: bool = False
    ) -> tuple[Bits, Bits]:
        """Return a mask of the cells that ``split`` holds out, and which cells are 1."""
        cells, remedy = math.prod(self.shape), "use hold_out, also of a RelationalTensor, or a part of X"
        check_fits(f"A mask of {cells:,} cells takes", 6 * cells, remedy, " to make")
        ones, observed = np.empty((2, *self.shape), np.bool_)
        for where, *block in self.blocks():
            ones[where], observed[where] = block
        return choose_mask(ones, observed, share, rng, pair or self.mirrored, stratify), ones

    def tied(self, pair: Pair | None) -> Tensor:
        """Return the same cells with two modes that share a factor, or this tensor if there is no pair."""
        from tensorm.tensors.symmetric import SymmetricTensor  # which is itself a tensor

        return self if pair is None else SymmetricTensor(self, pair)

    def compared(self) -> Tensor:
        """Return the same cells as comparisons that count once (compared.py), or raise saying why."""
        raise InputError("its cells do not compare attributes")

    def ranked(self) -> RankedCells:
        """Return what models with strengths ask instead of the tensor (ranked.py), or raise saying why."""
        raise InputError(f"components of a {type(self).__name__} cannot have strengths")

    def check_mirrored(self, pair: Pair) -> None:
        """Raise unless two modes can share a factor: cells are mirrored, and the diagonal is missing."""
        refuse_unmirrored(self, pair)


def pass_on(verb: str) -> Any:
    """Return a method that asks ``self.tensor`` the same."""
    return lambda self, *given, **named: getattr(self.tensor, verb)(*given, **named)


@cache
def every(size: int) -> Rows:
    """Return the numbers of all rows, the same array each time."""
    return np.arange(size)
