"""When burn-in may end: the log-likelihood has stopped rising.

The mean of the last WINDOW sweeps is compared with the mean of the WINDOW before. Burn-in ends once it is
higher by no more than half the spread of the last window: what is left of the rise is then smaller than
the chain's own wandering. Looked at every STEP sweeps, and given up after MOST sweeps.
"""

from __future__ import annotations

import numpy as np

WINDOW, STEP, MOST = 25, 5, 2000


class Convergence:
    """Watches the log-likelihood of a chain during burn-in."""

    def __init__(self) -> None:
        self._history: list[float] = []

    def reached(self, log_likelihood: float) -> bool:
        """Take note of one more sweep, and say whether burn-in may end."""
        self._history.append(log_likelihood)
        n = len(self._history)
        if n < 2 * WINDOW or n % STEP:
            return False
        before, last = np.array(self._history[-2 * WINDOW :]).reshape(2, WINDOW)
        return bool(last.mean() - before.mean() <= 0.5 * last.std())

    @property
    def exhausted(self) -> bool:
        """Whether burn-in took as long as it may."""
        return len(self._history) >= MOST
