"""Random tensors as in the paper's section "Random Tensor Decomposition", for any number of modes.

Factors are i.i.d. Bernoulli with the density that gives the product the requested expected density; noise
flips cells of the product independently. Cells are drawn block by block along mode 0, so that a large tensor
needs little memory beyond the returned arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Bits, ShortFloats
from tensorm.data.checks import MAX_REPEATS, check_count, check_generator, check_number, is_list, short
from tensorm.data.coordinates import MAX_MODES
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.model import boolean_product, factor_density

BLOCK_CELLS = 2**20


class Simulation(NamedTuple):
    """A simulated tensor and the factors behind it.

    Attributes
    ----------
    observed : ndarray
        The product with noise: int8, or float32 with NaN when cells are missing.
    noise_free : ndarray of bool
        The Boolean product of the factors.
    factors : list of ndarray of bool
        One array of shape (N_k, rank) per mode.
    """

    observed: npt.NDArray[np.int8] | ShortFloats
    noise_free: Bits
    factors: list[Bits]


def simulate(
    shape: Sequence[int] = (20, 20, 20),
    rank: int = 5,
    density: float = 0.3,
    noise: float = 0.1,
    missing: float = 0.0,
    random_state: Any = None,
    false_ones: float | None = None,
    false_zeros: float | None = None,
) -> Simulation:
    """Draw random factors, multiply them, and flip cells of the product.

    Parameters
    ----------
    shape : sequence of int
        Sizes of the modes, two or more.
    rank : int
        Number of components.
    density : float
        Expected share of ones in the product; single tensors vary around it.
    noise : float
        Probability that a cell is flipped.
    missing : float
        Probability that a cell is missing.
    random_state : int, numpy.random.Generator or None
        Random seed; the same seed gives the same tensor.
    false_ones, false_zeros : float, optional
        Probability of flipping a 0 and of flipping a 1, instead of ``noise``.

    Returns
    -------
    Simulation
        ``observed``, ``noise_free`` and ``factors``.
    """
    sizes, rank = _check_shape(shape), check_count("rank", rank, 1, most=MAX_REPEATS)
    need = 6 * math.prod(sizes) + 9 * rank * sum(sizes)  # two arrays of cells, and the factors
    check_fits(f"shape is {sizes} and rank {rank}: these cells take", need, "give smaller sizes")
    density = check_number("density", density)
    noise = check_number("noise", noise)
    missing = check_number("missing", missing)
    flip_zero = noise if false_ones is None else check_number("false_ones", false_ones)
    flip_one = noise if false_zeros is None else check_number("false_zeros", false_zeros)
    # Separate streams, so that the factors of a seed stay the same when the noise changes.
    seeds = check_generator(random_state).integers(2**63, size=3)
    for_factors, for_noise, for_missing = map(np.random.default_rng, seeds)

    f = factor_density(density, rank, len(sizes))
    factors = [for_factors.random((N, rank)) < f for N in sizes]
    noise_free = np.empty(sizes, dtype=bool)
    observed = np.empty(sizes, dtype=np.float32 if missing else np.int8)
    step = max(1, BLOCK_CELLS // math.prod(sizes[1:]))
    for start in range(0, sizes[0], step):
        rows = slice(start, start + step)
        product = boolean_product([factors[0][rows], *factors[1:]])
        noise_free[rows] = product
        observed[rows] = product ^ (for_noise.random(product.shape) < np.where(product, flip_one, flip_zero))
        if missing:
            observed[rows][for_missing.random(product.shape) < missing] = np.nan
    return Simulation(observed, noise_free, factors)


def _check_shape(shape: Any) -> tuple[int, ...]:
    if not is_list(shape) or not 2 <= len(shape) <= MAX_MODES:
        wanted = f"give the sizes of 2 to {MAX_MODES} modes, as in (20, 20, 20)"
        raise InputError(f"shape is {short(shape)}; {wanted}.")
    return tuple(check_count(f"shape[{k}]", N, 1) for k, N in enumerate(shape))
