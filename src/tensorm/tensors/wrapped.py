"""Tensors around tensors: whatever one does not answer itself, it asks the tensor inside."""

from __future__ import annotations

import copy
from typing import Any, Self

from tensorm.tensors.protocol import Pair, Tensor, pass_on

# What is built on other verbs of the same tensor, which the one around may have changed.
OWN_VERBS = {
    *("update_factor", "update_all", "counts", "confusion", "ones_at", "take", "split", "choose_mask"),
    *("tied", "cached", "compact", "miniature"),
}


class Wrapped(Tensor):
    """A tensor that wraps another one; every verb of the protocol but OWN_VERBS is passed on.

    Parameters
    ----------
    tensor : Tensor
    """

    nbytes: int
    tensor: Any  # Tensor

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.names, self.caveat = tensor.shape, tensor.names, tensor.caveat
        self.n_observed, self.n_ones = tensor.n_observed, tensor.n_ones
        self._hold(tensor)

    def _hold(self, tensor: Tensor) -> None:
        self.tensor, self.nbytes, self.storage = tensor, tensor.nbytes, tensor.storage

    def around(self, tensor: Tensor) -> Self:
        """Return the same around another tensor with the same cells."""
        twin = copy.copy(self)
        twin._hold(tensor)
        return twin

    def with_threads(self, n_threads: int) -> Self:
        return self.around(self.tensor.with_threads(n_threads))

    @property
    def mirrored(self) -> Pair | None:
        return self.pair or self.tensor.mirrored

    _count, _take, _ones_at, _read_slices = map(pass_on, ("_count", "_take", "_ones_at", "_read_slices"))


def list_verbs() -> set[str]:
    """Return the verbs of the protocol that others call."""
    return {
        name
        for kind in Tensor.__mro__[:-1]
        for name, value in vars(kind).items()
        if callable(value) and not name.startswith("_")
    }


for verb in list_verbs() - OWN_VERBS - set(vars(Wrapped)):
    setattr(Wrapped, verb, pass_on(verb))
