"""Parts of predictions, against NumPy."""

from __future__ import annotations

import numpy as np

from tensorm.kernels.compiled import kernel
from tensorm.kernels.predict import exp_minus


@kernel
def exp_minus_all(x, found):
    for i in range(len(x)):
        found[i] = exp_minus(x[i])


def test_exponentials_are_those_of_the_library() -> None:
    """Of all sizes: 0, so small that the sum with 1 is 1, and so large that nothing is left."""
    x = np.concatenate([[0.0, 5e-324, np.inf], np.geomspace(1e-20, 1e20, 5000), np.linspace(0, 700, 5000)])
    found = np.empty_like(x)
    exp_minus_all(x, found)
    np.testing.assert_allclose(found, np.exp(-x), rtol=4e-16, atol=1e-300)
    assert found[:2].tolist() == [1.0, 1.0]
