"""Print the processor time of a first fit, with an empty folder for compiled code (note 11).

    python docs/decisions/measure_compile.py [CASE ...]

PYTHONPATH picks the version. Each case runs in a process of its own; the second fit is what the first one
takes without compiling.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

STRENGTHS = {"noise": "strengths"}
CASES = {
    "dense, two rates": ("dense", {"noise": "asymmetric"}),
    "dense, constant background": ("dense", {**STRENGTHS, "background": "constant"}),
    "dense, activity": ("dense", {**STRENGTHS, "background": "activity"}),
    "sparse, two rates": ("sparse", {"noise": "asymmetric"}),
    "sparse, activity": ("sparse", {**STRENGTHS, "background": "activity"}),
    "relational, two rates": ("relational", {"noise": "asymmetric"}),
    "relational, comparisons": ("relational", {"noise": "comparisons"}),
}


def fit_twice(case: str) -> None:
    """Print the processor time of two fits, the first of which compiles."""
    import numpy as np

    import tensorm

    kind, noise = CASES[case]
    rng = np.random.default_rng(0)
    if kind == "sparse":
        size = 3000, 3000, 100
        X = tensorm.SparseTensor(np.unique(rng.integers(size, size=(4000, 3)), axis=0), size)
    elif kind == "relational":
        X = tensorm.RelationalTensor(rng.normal(size=(40, 20)))
    else:
        X = tensorm.datasets.simulate((20, 20, 20), 4, density=0.3, noise=0.1, random_state=0).observed
    taken = []
    for _ in range(2):
        start = time.process_time()
        settings = {"n_components": 4, "n_chains": 1, "n_draws": 20, "random_state": 0, "n_jobs": 1}
        tensorm.TensOrMachine(**settings, **noise, progress=False).fit(X)
        taken.append(time.process_time() - start)
    print(f"{case}: {taken[0]:.1f} s, then {taken[1]:.1f} s", flush=True)


if __name__ == "__main__":
    if os.environ.get("FIT_TWICE"):
        fit_twice(sys.argv[1])
    else:
        for case in sys.argv[1:] or CASES:
            with tempfile.TemporaryDirectory() as folder:
                more = {"FIT_TWICE": "1", "NUMBA_CACHE_DIR": folder}
                subprocess.run([sys.executable, __file__, case], env={**os.environ, **more}, check=True)
