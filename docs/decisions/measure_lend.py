"""Print how much longer updates take without ``lend``, which saves kernels reference counting (note 11).

Run with ``python docs/decisions/measure_lend.py``. It measures the package and a copy of it in which ``lend``
returns what it is given, in turns and in processor time of one thread.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tensorm
from tensorm.tensors import METROPOLIS, Rule, SparseTensor, Stream, Tensor, Weights
from tensorm.tensors.factors import Factors

TIMES = 15
PLAIN = "\n\nlend = inlined(lambda value: value)\n"  # instead of the real one


def make_tensors() -> dict[str, Tensor]:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, 2000, (20_000, 3)), axis=0)
    return {
        "dense 20^3": tensorm.DenseTensor(rng.random((20, 20, 20)) < 0.2),
        "dense 100^3": tensorm.DenseTensor(rng.random((100, 100, 100)) < 0.2),
        "sparse": SparseTensor(cells, (2000, 2000, 2000)),
    }


def sweep(tensor: Tensor, n_components: int = 10) -> float:
    """Seconds of processor time to update every mode once."""
    rng = np.random.default_rng(1)
    factors = Factors.from_bits([rng.random((size, n_components)) < 0.2 for size in tensor.shape])
    rule = Rule(np.arange(n_components), METROPOLIS, Weights(2.0, 1.0), np.zeros((1, 1)))
    begun = time.thread_time()
    for mode in range(len(tensor.shape)):
        tensor.update_factor(mode, factors, rule, Stream(np.uint64(0), 0, 0, mode))
    return time.thread_time() - begun


def measure() -> None:
    """Print the median time of each tensor, after a first sweep that compiles."""
    for name, tensor in make_tensors().items():
        sweep(tensor)
        print(name, statistics.median(sweep(tensor) for _ in range(TIMES)), sep="\t")


def run(source: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "measure"]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return {name: float(seconds) for name, seconds in (line.split("\t") for line in lines.splitlines())}


if __name__ == "__main__":
    if sys.argv[1:]:
        measure()
        sys.exit()
    source = Path(tensorm.__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source / "tensorm", Path(folder) / "tensorm")
        compiled = Path(folder) / "tensorm" / "kernels" / "compiled.py"
        compiled.write_text(compiled.read_text(encoding="utf-8") + PLAIN, encoding="utf-8")
        rounds = [(run(source), run(Path(folder))) for _ in range(3)]
    for name in rounds[0][0]:
        ratios = sorted(without[name] / with_lend[name] for with_lend, without in rounds)
        print(f"{name}: {ratios[0]:.2f} to {ratios[-1]:.2f} times as long without lend")
