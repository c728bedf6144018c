"""Checkpoints: chains written down while they run, so that they can go on after a power cut.

Every chain has a file of its own, replaced in one step. A chain that goes on from it makes the same draws
as one that was never stopped: all its random numbers are numbered (kernels/philox.py).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.model import Confusion, Noise
from tensorm.sampler.burnin import WINDOW, Memory
from tensorm.sampler.sample import Snapshot
from tensorm.sampler.state import State
from tensorm.storage.chain import read_trace, write_trace
from tensorm.storage.netcdf import Stored, describe, put, reading, writing
from tensorm.tensors.factors import Factors

FORMAT, FORMAT_VERSION = "tensorm chain", 1
EVERY = 10.0  # seconds


class Checkpoints:
    """The files of a run's chains in one folder.

    Parameters
    ----------
    folder : Path
    seed : uint64
        The run's; files of another run are refused.
    every : float
        Seconds between two checkpoints of a chain.
    """

    def __init__(self, folder: Path, seed: np.uint64, every: float = EVERY) -> None:
        self.folder, self.seed, self.every = folder, seed, every
        self._written: dict[int, float] = {}
        for name in ("chain-*", "run", "fit"):  # all that a run writes
            for cut_short in folder.glob(f".{name}.nc.*.part"):  # the process was killed while it wrote
                cut_short.unlink(missing_ok=True)

    def due(self, number: int) -> bool:
        """Whether it is time to write a chain down."""
        return time.monotonic() - self._written.setdefault(number, time.monotonic()) >= self.every

    def write(self, number: int, snapshot: Snapshot) -> None:
        """Write a chain down, in place of an older snapshot."""
        with writing(self._path(number)) as file:
            describe(file, format=FORMAT, format_version=np.int64(FORMAT_VERSION), seed=self.seed)
            _write(file, snapshot)
        self._written[number] = time.monotonic()

    def read(self, number: int) -> Snapshot | None:
        """Return the last snapshot of a chain, or None if there is none."""
        path = self._path(number)
        if not path.exists():
            return None
        with reading(path) as file:
            file.word("format", [FORMAT])
            file.integer("format_version", 1, FORMAT_VERSION)
            if file.integer("seed", 0, 2**64 - 1) != self.seed:
                raise file.refuse("it belongs to another run")
            return _read(file)

    def _path(self, number: int) -> Path:
        return self.folder / f"chain-{number}.nc"


def _write(file: Any, snapshot: Snapshot) -> None:
    state, memory = snapshot.state, snapshot.memory
    sweeps, settled = snapshot.burnt or (-1, False)
    describe(
        file,
        n_modes=np.int64(len(state.factors)),
        n_components=np.int64(state.factors.n_components),
        sweep=np.int64(state.sweep),
        repairs=np.int64(memory.repairs),
        in_vain=np.int64(memory.in_vain),
        sweeps_since=np.int64(memory.sweeps),
        burn_in=np.int64(sweeps),
        settled=np.int8(settled),
        n_draws=np.int64(0 if snapshot.draws is None else len(snapshot.draws)),
    )
    for k, masks in enumerate(state.factors):
        put(file, f"state_{k}", (f"mode_{k}", "word"), masks)
    put(file, "noise", ("rate",), np.array(state.noise))
    put(file, "density", ("mode",), np.array(state.density))
    unused = (np.nan,) * (2 * WINDOW - len(memory.history))  # a netCDF dimension cannot be 0
    put(file, "history", ("sweep_before",), np.array((*memory.history, *unused)))
    counts = (-1,) * 4 if snapshot.confusion is None else snapshot.confusion
    put(file, "confusion", ("outcome",), np.array(counts, np.int64))
    if snapshot.draws is not None:
        write_trace(file.create_group("draws"), snapshot.draws)


def _read(file: Stored) -> Snapshot:
    K = file.integer("n_modes", 2, 255)
    masks = tuple(file.array(f"state_{k}", "u8", (None, None)) for k in range(K))
    factors = Factors(masks, file.integer("n_components", 0))
    state = State(
        factors,
        Noise(*file.array("noise", "f8", (2,)).tolist()),
        tuple(file.array("density", "f8", (K,)).tolist()),
        file.integer("sweep", 0),
    )
    sweeps = file.integer("sweeps_since", 0)
    memory = Memory(
        tuple(file.array("history", "f8", (2 * WINDOW,)).tolist()[:sweeps]),
        sweeps,
        file.integer("repairs", 0),
        file.integer("in_vain", 0),
    )
    burn_in = file.integer("burn_in", -1)
    counts = file.array("confusion", "i8", (4,)).tolist()
    shape = [len(masks) for masks in factors]
    return Snapshot(
        state,
        memory,
        None if burn_in < 0 else (burn_in, bool(file.integer("settled", 0, 1))),
        None if counts[0] < 0 else Confusion(*counts),
        read_trace(file.group("draws"), shape) if file.integer("n_draws", 0) else None,
    )
