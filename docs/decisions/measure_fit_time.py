"""Print the processor time of default fits beside another version of the package, for note 18.

    python docs/decisions/measure_fit_time.py OTHER/src [REPEATS]

Each version fits the same simulated tensors with four chains, in turn and in a process of its own, after
everything is compiled; the best of the repeats counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[2] / "src"
CASES = [  # size, rank, density, noise
    (20, 5, 0.3, 0.1),
    (20, 5, 0.3, 0.3),
    (20, 5, 0.1, 0.4),
    (20, 10, 0.3, 0.4),
    (300, 10, 0.2, 0.1),
]
FIT = """
import json, sys, time
from tensorm import TensOrMachine, datasets
size, rank, density, noise = json.loads(sys.argv[1])
sim = datasets.simulate((size,) * 3, rank, density, noise, random_state=1)
settings = {"n_components": rank, "n_jobs": 1, "progress": False}
TensOrMachine(**settings, n_chains=1).fit(sim.observed)
started = time.process_time()
model = TensOrMachine(**settings, random_state=0).fit(sim.observed)
seconds = time.process_time() - started
print(json.dumps([seconds, float((model.predict() == sim.noise_free).mean())]))
"""


def fit(source: str, case: tuple[float, ...]) -> tuple[float, float]:
    """Return processor seconds of a fit by one version, and its accuracy on noise-free cells."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FIT, json.dumps(case)]
    done = subprocess.run(
        command, env=os.environ | threads | {"PYTHONPATH": source}, check=True, capture_output=True
    )
    seconds, accuracy = json.loads(done.stdout.splitlines()[-1])
    return seconds, accuracy


if __name__ == "__main__":
    other, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for case in CASES:
        runs = [(fit(other, case), fit(str(HERE), case)) for _ in range(repeats)]
        (before, old), (now, new) = (min(versions) for versions in zip(*runs, strict=True))
        size, rank, density, noise = case
        print(
            f"{size}^3, rank {rank}, density {density}, noise {noise}: {before:.2f} and {now:.2f} s, "
            f"{now / before:.2f} times; accuracy {old:.4f} and {new:.4f}",
            flush=True,
        )
