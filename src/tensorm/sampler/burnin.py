"""Burn-in: where a chain starts, what may mend it before the first draw, and when it is over.

Chains that start from the data (seeding.py) are mended every STEP sweeps until nothing better was found
PATIENCE times in a row. "auto" burn-in ends when that is so and the log-likelihood has stopped rising:
the mean of the last WINDOW sweeps exceeds that of the WINDOW before by no more than half the spread of the
last window, so that what is left of the rise is smaller than the chain's own wandering.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorm.sampler.seeding import Ground, begin, repair
from tensorm.sampler.state import State, SweepInfo
from tensorm.sampler.sweep import Model, random_factors, start
from tensorm.tensors.bits import Bits
from tensorm.tensors.seam import Tensor

WINDOW, STEP, MOST = 25, 5, 2000
PATIENCE, MOST_REPAIRS = 4, 40


class BurnIn:
    """Follows one chain from its start to its first draw.

    Parameters
    ----------
    tensor, model, chain
        What is sampled.
    init : "data", "random" or Boolean arrays (N_k, L)
        Where the chain starts. Only chains that start from the data are mended.
    length : int or None
        Sweeps to make; None: until the rule above holds, or MOST sweeps were made.
    """

    def __init__(
        self, tensor: Tensor, model: Model, chain: int, init: str | Sequence[Bits], length: int | None
    ) -> None:
        self.tensor, self.model, self.chain = tensor, model, chain
        self.init, self.length = init, length
        self._history: list[float] = []  # log-likelihoods since the chain was last mended
        self._repairs = self._in_vain = 0

    def start(self) -> State:
        """Return the chain's first state."""
        if isinstance(self.init, str):
            if self.init == "data":
                return begin(self.tensor, self.model, self._rng(0)).state(sweep=0)
            return start(random_factors(self.tensor, self.model, self.chain))
        return start(self.init)

    def settled(self, state: State) -> bool:
        """Whether burn-in came to its end by its own rule."""
        if self.length is not None:
            return state.sweep >= self.length
        return not self._mending and steady(self._history)

    def over(self, state: State) -> bool:
        """Whether the next sweep is a draw, settled or not."""
        return self.settled(state) or state.sweep >= MOST

    def after(self, state: State, info: SweepInfo) -> State:
        """Take note of a sweep, and mend the chain where that is due."""
        self._history.append(info.log_likelihood)
        last = self.length is not None and state.sweep + STEP > self.length
        if not self._mending or state.sweep % STEP or last:
            return state
        self._repairs += 1
        ground = Ground(self.tensor, self.model, state.factors)
        mended, better = repair(ground, self._rng(state.sweep), n_out=1 + self._repairs % 2)
        if not better:
            self._in_vain += 1
            return state
        self._in_vain, self._history = 0, []
        return mended.state(state.sweep)

    @property
    def _mending(self) -> bool:
        from_data = isinstance(self.init, str) and self.init == "data"
        return from_data and self._in_vain < PATIENCE and self._repairs < MOST_REPAIRS

    def _rng(self, sweep: int) -> np.random.Generator:
        key = np.array([self.model.seed, self.chain], np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, sweep]))


def steady(history: Sequence[float]) -> bool:
    """Whether the log-likelihood has stopped rising; looked at every STEP sweeps."""
    if len(history) < 2 * WINDOW or len(history) % STEP:
        return False
    before, last = np.array(history[-2 * WINDOW :]).reshape(2, WINDOW)
    return bool(last.mean() - before.mean() <= 0.5 * last.std())
