"""What a noise model says about entries, as a tensor wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorm.data.arrays import Words
from tensorm.errors import InputError
from tensorm.kernels import decisions

if TYPE_CHECKING:
    from tensorm.tensors.factors import Factors
    from tensorm.tensors.protocol import Stream, Tensor


class Weights(decisions.RateWeights):
    """What cells say about an entry where all ones weigh the same, and all zeros.

    Another noise model brings another class with these methods (ranked.py), and kernels for it.
    """

    def update(self, tensor: Tensor, *given: Any) -> Words:
        """Let a tensor decide some rows of a factor."""
        return tensor._update(*given)

    def update_all(self, tensor: Tensor, factors: Factors, rules: Sequence[Any], stream: Stream) -> Factors:
        """Let a tensor decide the factors of all modes in turn."""
        for mode, rule in enumerate(rules):
            masks = tensor.update_factor(mode, factors, rule, stream._replace(purpose=mode))
            factors = factors.replace(mode, masks)
        return factors

    def tempered(self, beta: float) -> Weights:
        """Return weights that say so much less; a chain that is heated uses beta < 1."""
        return Weights(beta * self.gain, beta * self.loss)


def with_steps(rule: decisions.Rule, shape: tuple[int, int]) -> decisions.Rule:
    """Return a rule for a factor of this shape that says whether all rows, or components, share a prior."""
    order, kind, weights, prior, *_ = rule
    if prior.ndim != 2 or prior.shape[0] not in (1, shape[0]) or prior.shape[1] not in (1, shape[1]):
        raise InputError(f"prior has shape {prior.shape}; give {shape}, or 1 in place of either.")
    return decisions.Rule(order, kind, weights, prior, int(prior.shape[0] > 1), int(prior.shape[1] > 1))
