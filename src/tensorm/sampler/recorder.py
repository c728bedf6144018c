"""Collecting draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensorm.model import Confusion, Noise
from tensorm.sampler.state import Octets, State, SweepInfo, Trace, narrow
from tensorm.sampler.sweep import Target, log_posterior


class Draw(NamedTuple):
    """What is kept of one sweep."""

    factors: tuple[Octets, ...]
    noise: Noise
    density: tuple[float, ...]
    confusion: Confusion


class Recorder:
    """Collects draws and makes a ``Trace`` of them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._draws: list[Draw] = []

    def __len__(self) -> int:
        return len(self._draws)

    @classmethod
    def continuing(cls, target: Target, trace: Trace) -> Recorder:
        """Return a recorder that holds the draws of a trace."""
        recorder = cls(target)
        for i in range(len(trace)):
            recorder._draws.append(
                Draw(
                    tuple(octets[i] for octets in trace.factors),
                    Noise(*trace.noise[i].tolist()),
                    tuple(trace.density[i].tolist()),
                    Confusion(*trace.confusion[i].tolist()),
                )
            )
        return recorder

    def record(self, state: State, info: SweepInfo) -> None:
        """Keep a draw."""
        factors = tuple(narrow(masks, self._target.n_components) for masks in state.factors)
        self._draws.append(Draw(factors, state.noise, state.density, info.confusion))

    def trace(self, burn_in: int, settled: bool = True) -> Trace:
        """Return the draws kept so far."""
        factors, noise, density, confusion = zip(*self._draws, strict=True)
        stacked = tuple(np.stack(draws) for draws in zip(*factors, strict=True))
        counts = np.array(confusion, np.int64)
        return Trace(
            factors=stacked,
            noise=np.array(noise),
            density=np.array(density),
            confusion=counts,
            log_posterior=log_posterior(self._target, stacked, counts),
            n_components=self._target.n_components,
            burn_in=burn_in,
            settled=settled,
        )
