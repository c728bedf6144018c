"""Which noise model: strengths where they predict hidden cells clearly better than two rates do.

A fifth of the cells is hidden, of a large tensor those of a part. One chain searches the rest for components
with two rates, without heating. If ones are then spread evenly, as two rates say, these are chosen, unless
cells are too few to tell. Otherwise the chain is sampled on with either model, so that only the noise
differs. Strengths are chosen if they make the hidden cells at least 1,000 times as probable, and the gain is
worth having or certain. Where the noise is that of two rates they hardly ever do; with real data they nearly
always do (docs/decisions/0021-noise-by-hidden-cells.md). Few cells cannot tell: strengths are then chosen
unless they make them that much less probable, or, where the number of components is open, if they make them
more probable at all. How to add a noise model: sampler/noise_model.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Counts, Floats
from tensorm.errors import InputError, printable
from tensorm.posterior.align import NEGLIGIBLE_LOG_ODDS
from tensorm.sampler.chains import Bookmark, ChainPool
from tensorm.sampler.noise_model import count_alone
from tensorm.sampler.sample import Plan, Snapshot, Step, Stop, sample
from tensorm.sampler.search.region import SearchSize
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import mark_place, pack_snapshot, read_snapshot
from tensorm.selection.validation import (
    Split,
    chances,
    choose_part,
    predict_held_out,
    read_chances,
    split_cells,
)
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

SHARE_TO_HIDE = 0.2  # share of the cells
ENOUGH_HIDDEN, MOST_SPLITS = 1000, 3  # a small tensor is split again until so many cells were hidden
TRIAL_SIZE = SearchSize(2**18, 2**18, 2048)  # of a larger tensor
N_SWEEPS = 50  # to search, to settle with either model, and as draws that predict; all splits share them
MOST_ONES = 2**22  # beyond, strengths would take long: their time goes with the ones
WORTH_HAVING, CERTAIN_Z = 0.002, 2.0  # gain per cell, and in standard errors where it is less
EVEN_Z = 3.0  # below, what two rates leave unexplained may be chance
# Where the number of components is yet to be chosen. With too few, strengths make up for those that are
# missing, so that they have to be ahead with many as well. With few cells the gain from each number is mostly
# chance, and the mean from all of them decides.
TRIAL_NUMBERS = 10, 20, 40
NOT_TRIED = "Two rates were used because {}."
TRYING = "noise"
ALONE = ChainPool(1, 1)


class NoiseChoice(NamedTuple):
    """Whether components get strengths, and a sentence that says why."""

    strong: bool
    reason: str

    @classmethod
    def decode(cls, form: Any) -> NoiseChoice:
        """Return a choice that was kept as a list; raises ValueError if it is none."""
        strong, reason = form
        if type(strong) is not bool or type(reason) is not str:
            raise ValueError("no choice")
        return cls(strong, printable(reason))


def two_rates(target: Target) -> Target:
    """Return a target with two rates in place of strengths, or with the noise that it has."""
    return replace(target, noise=target.noise.stand_in)


def choose_untried(tensor: Tensor, target: Target) -> NoiseChoice | None:
    """Return two rates for a tensor for which strengths are not tried, or None."""
    try:
        target.noise.hold(tensor)
    except InputError:
        return NoiseChoice(False, NOT_TRIED.format("strengths are not available for this kind of tensor"))
    if tensor.n_ones > MOST_ONES:
        few = f"strengths are only tried with up to {MOST_ONES:,} ones, and X has {tensor.n_ones:,}"
        return NoiseChoice(False, NOT_TRIED.format(few))
    return None


def choose_noise(
    tensor: Tensor, target: Target, pool: ChainPool = ALONE, numbers: Sequence[int] = ()
) -> NoiseChoice:
    """Choose between the noise model of a target, which has strengths, and its stand-in of two rates.

    Parameters
    ----------
    tensor : Tensor
    target : Target
    pool : ChainPool, optional
    numbers : sequence of int, optional
        Numbers of components with the first and last of which strengths have to be ahead, or, where cells are
        few, on average; by default that of the target.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C cut it short; the store of the pool, if it has one, keeps what was done.
    """

    def work(_: int, stop: Stop) -> NoiseChoice | None:
        def make(_: Bookmark) -> NoiseChoice | None:
            choice, gains, few = None, np.zeros(0), _count_splits(tensor) > 1
            tries = numbers or [target.n_components]
            for number in tries if few else dict.fromkeys([tries[0], tries[-1]]):
                tried = replace(target, n_components=number)
                found = _try_splits(pool.share(tensor), tried, pool, stop)
                if found is None or isinstance(found, NoiseChoice):
                    return found
                gains = np.append(gains, found) if few else found
                choice = _judge(gains, few, bool(numbers))
                if not (choice.strong or few):
                    break
            return choice

        return pool.remember("noise", make, stop, list, NoiseChoice.decode)

    choices, interrupted = pool.run(work)
    if interrupted or not choices:
        raise KeyboardInterrupt
    return choices[0]


def _try_splits(tensor: Tensor, target: Target, pool: ChainPool, stop: Stop) -> Floats | NoiseChoice | None:
    """Try both models on one split after the other; None if stopped.

    Return by how much strengths raise the log probability of each hidden cell, or a choice that needs none.
    """
    rng, gains = np.random.default_rng([int(target.seed), 4]), np.zeros(0)
    part = choose_part(tensor, tensor.pair, rng, TRIAL_SIZE)
    if part is not None:
        tensor = tensor.take(part).tied(tensor.pair)
        target = replace(target, prior=target.prior.at(part))
    n_splits = _count_splits(tensor)
    for number in range(n_splits):
        try:
            split = split_cells(tensor, SHARE_TO_HIDE, None, rng)
        except InputError:
            return NoiseChoice(False, NOT_TRIED.format("there are too few cells to hide any"))
        trial = NoiseTrial(f"noise-{target.n_components}-{number}", N_SWEEPS // n_splits, pool, stop)
        found = trial.search(split, two_rates(target))
        if found is None:
            return None
        if n_splits == 1 and (z := unevenness(split.train, found.factors)) < EVEN_Z:
            told = "neither components nor indices differ in their rates of ones by more than chance"
            if z < -EVEN_Z:  # as where cells with the same index exclude each other
                told = "components and indices differ even less in their rates of ones than by chance"
            return NoiseChoice(False, f"Two rates are enough: {told} (z = {z:.1f}).")
        strong, plain = (trial.predict(split, one, found) for one in (target, two_rates(target)))
        if strong is None or plain is None:
            return None
        gains = np.append(gains, strong - plain)
    return gains


def _count_splits(tensor: Tensor) -> int:
    """Return how often a tensor is split; where once is not enough, its cells are few."""
    return min(-(-ENOUGH_HIDDEN // max(round(SHARE_TO_HIDE * tensor.n_observed), 1)), MOST_SPLITS)


def _judge(gains: Floats, few: bool, unknown: bool = False) -> NoiseChoice:
    """Choose by how much strengths raise the log probability of each hidden cell.

    They have to be clearly ahead. Few cells cannot tell: there they must not be clearly behind, or, if the
    number of components is unknown, be ahead.
    """
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    change = f"change in mean log probability: {gain:+.4f} ± {error:.4f}"
    worth = gain > WORTH_HAVING and not (few and unknown)
    if gains.sum() > NEGLIGIBLE_LOG_ODDS and (worth or gain > CERTAIN_Z * error):
        return NoiseChoice(True, f"Strengths were chosen: they predict hidden cells better ({change}).")
    behind, told = (
        gains.sum() <= -NEGLIGIBLE_LOG_ODDS and gain <= -CERTAIN_Z * error,
        "too few cells to decide",
    )
    if few and not behind and (gain > 0 or not unknown):
        cost = "strengths cost little even where two rates suffice"
        why = "they seem to predict hidden cells better" if unknown else cost
        return NoiseChoice(True, f"Strengths were chosen: there are {told}, and {why} ({change}).")
    if few and not behind:
        why = "strengths do not seem to predict hidden cells better"
        return NoiseChoice(False, f"Two rates were chosen: there are {told}, and {why} ({change}).")
    told = f"strengths predict hidden cells {'hardly any' if gain > 0 else 'no'} better"
    return NoiseChoice(False, f"Two rates are enough: {told} ({change}).")


def unevenness(tensor: Tensor, factors: Factors) -> float:
    """Return how far rates of ones differ, between components and outside them between indices.

    A sum of Pearson's chi-squared over each mode's indices and over components, standardised: two rates give
    about 0, with a spread of 1 or little more. Components that were searched for add to it, so that it errs
    on the side of a trial.
    """
    bits, last = factors.bits(), factors.n_components
    whole = Factors.from_bits([np.pad(each, ((0, 0), (0, 1)), constant_values=True) for each in bits])
    outside = [tensor.counts(mode, whole, [last]) for mode in range(len(factors))]
    hits, misses = count_alone(tensor, factors, bits[0])
    found = [_chi_squared(*counts) for counts in (*outside, (hits, hits + misses))]
    excess, freedom = (float(sum(column)) for column in zip(*found, strict=True))
    return excess / np.sqrt(2 * max(freedom, 1))


def _chi_squared(ones: Counts, cells: Counts) -> tuple[float, int]:
    """Return by how much Pearson's statistic of equal rates exceeds its mean, and that mean."""
    ones, cells = ones[cells > 0], cells[cells > 0]
    rate = (ones.sum() + 0.5) / (cells.sum() + 1)
    freedom = max(len(cells) - 1, 0)
    return float(((ones - cells * rate) ** 2 / (cells * rate * (1 - rate))).sum()) - freedom, freedom


@dataclass(frozen=True)
class NoiseTrial:
    """How chains run on one split of the cells; whatever a pool remembers of them is not done again."""

    name: str
    n_sweeps: int
    pool: ChainPool
    stop: Stop

    def search(self, split: Split, target: Target) -> State | None:
        """Return a state with components found in the data, or None if stopped."""
        plan = Plan(target, 0, self.n_sweeps)
        read = partial(read_snapshot, tensor=split.train, target=target, most_sweeps=self.n_sweeps)

        def make(bookmark: Bookmark) -> Snapshot | None:
            saved = bookmark.open(read)
            for step in sample(split.train, plan, 0, saved, self._watch, self.stop):
                saved = step.snapshot
                mark_place(bookmark, saved, target)
            return saved

        pack = partial(pack_snapshot, target=target)
        found = self.pool.remember(f"{self.name}-search", make, self.stop, pack, read)
        return None if found is None or self.stop() else found.state

    def predict(self, split: Split, target: Target, state: State) -> Floats | None:
        """Return the log probability of each hidden cell after sampling on from a state; None if stopped."""
        n, name = self.n_sweeps, f"{self.name}-{type(target.noise).__name__}"
        predict = partial(predict_held_out, split, state, target, 0, self._watch, self.stop, n, 2 * n)
        read = partial(read_chances, ones=split.ones)
        p = self.pool.remember(name, predict, self.stop, np.ndarray.tolist, read)
        return None if p is None or self.stop() else np.log(chances(split.ones, p))

    def _watch(self, step: Step) -> None:
        self.pool.watch(step._replace(phase=TRYING))
