"""What arrays contain: the types of arrays in signatures, each defined here alone.

Every room above `kernels` uses these names; two names of one type differ in what the numbers mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]  # eight bits to a byte, or a flag in each
Words = npt.NDArray[np.uint64]  # 64 bits to a word
Floats = npt.NDArray[np.float64]
ShortFloats = npt.NDArray[np.float32]  # in half the memory
Counts = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int64]  # numbers of cells in the tensor, the last mode fastest
Ints = npt.NDArray[np.int64]  # other whole numbers: scores, levels, ranks
Indices = npt.NDArray[np.intp]  # of modes, cells, components or places in another array
Rows = npt.NDArray[np.intp]  # indices of some rows of a factor, each once
Array = npt.NDArray[Any]  # of any type: labels, columns of a table, what a file contains
