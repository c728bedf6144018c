"""Collecting draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorm.sampler.state import State, SweepInfo, Trace, narrow
from tensorm.sampler.sweep import Target, log_posterior


class Recorder:
    """Collects draws and makes a ``Trace`` of them.

    Parameters
    ----------
    target : Target
    draws : Trace, optional
        Draws to go on from.
    """

    def __init__(self, target: Target, draws: Trace | None = None) -> None:
        self._target = target
        self._draws: list[Any] = []  # factors, noise, density and confusion of each
        if draws is not None:
            factors = zip(*draws.factors, strict=True)
            self._draws = list(zip(factors, draws.noise, draws.density, draws.confusion, strict=True))

    def __len__(self) -> int:
        return len(self._draws)

    def record(self, state: State, info: SweepInfo) -> None:
        """Keep a draw."""
        factors = tuple(narrow(masks, self._target.n_components) for masks in state.factors)
        self._draws.append((factors, state.noise, state.density, info.confusion))

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
