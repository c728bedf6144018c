"""Every compiled function of the package: arrays in, arrays out, no checks, no prints.

This is the only room that imports numba. Kernels release the interpreter lock and start no threads of
their own, so that callers may run them side by side in ordinary Python threads.
"""

import warnings

import numba

from tensorm.errors import PackageError

OLDEST, BEYOND = (0, 61), (0, 69)  # of numba: intrinsics lean on its insides, so other versions may break


def check_numba(version: str) -> None:
    """Raise if numba is too old, and warn if it is newer than those that were tested."""
    found = tuple(map(int, version.split(".")[:2]))
    wanted = 'pip install "numba>={}.{},<{}.{}"'.format(*OLDEST, *BEYOND)
    if found < OLDEST:
        raise PackageError(f"tensorm cannot work with numba {version}; upgrade it: {wanted}")
    if found >= BEYOND:
        told = f"tensorm has not been tested with numba {version}; if it fails, go back: {wanted}"
        warnings.warn(told, RuntimeWarning, stacklevel=2)


check_numba(numba.__version__)
