"""Checkpoints: chains are saved while they run, so that they can continue after a power cut.

Every chain has a file of its own, replaced in one step. A chain that continues from it makes the same draws
as one that was never stopped: all its random numbers are numbered (kernels/philox.py). A file names its run
and its chain, and a file of another run or chain is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.burnin import CHECK_EVERY, MOST_REPAIRS, REPAIRS_IN_VAIN, Memory
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import Plan, Snapshot
from tensorm.sampler.search.heating import Heat
from tensorm.sampler.search.rounds import choose_rounds
from tensorm.sampler.stages import MOST_STAGES
from tensorm.sampler.state import LARGEST_LOG, State, Trace
from tensorm.sampler.sweep import Target
from tensorm.storage.archive import Stored, open_archive, write_archive
from tensorm.storage.chain import (
    check_components,
    check_density,
    check_noise,
    check_tied,
    pack_trace,
    read_members,
    read_trace,
)
from tensorm.storage.files import CHECKPOINT_SECONDS, Due, delete_parts
from tensorm.storage.fit import check_format, describe_file
from tensorm.tensors.bits import words_for
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

CHAIN_FORMAT = "tensorm chain"
SEARCHED = "searched_noise"  # the array in place of "noise" while a stand-in is sampled


class Checkpoints:
    """The files of a run's chains in one folder.

    Parameters
    ----------
    folder : Path
    run : str
        The run's digest (run.py); files of another run are refused.
    tensor : Tensor
        Whose cells are sampled.
    plan : Plan
        How chains are run; what they cannot leave is refused.
    every : float
        Seconds between two checkpoints of a chain.
    """

    def __init__(
        self, folder: Path, run: str, tensor: Tensor, plan: Plan, every: float = CHECKPOINT_SECONDS
    ) -> None:
        self.folder, self.run, self.due = folder, run, Due(every)
        self.tensor, self.plan = tensor, plan
        for name in ("chain-*", "run", "fit"):  # all that a run writes
            delete_parts(folder, f"{name}.tensorm")

    def write(self, number: int, snapshot: Snapshot) -> None:
        """Save a chain, in place of an older snapshot."""
        about = {**describe_file(CHAIN_FORMAT), "run": self.run, "chain": number}
        write_archive(self._path(number), about | _pack(snapshot, self.plan.target.noise))
        self.due.reset(number)

    def read(self, number: int) -> Snapshot | None:
        """Return the last snapshot of a chain, or None if there is none."""
        path = self._path(number)
        if not path.exists():
            return None
        with open_archive(path) as file:
            check_format(file, CHAIN_FORMAT)
            if file.word("run") != self.run:
                raise file.refuse("it belongs to another run")
            if (found := file.integer("chain", 0)) != number:
                raise file.refuse(f"it belongs to chain {found}, not {number}")
            snapshot = _read(file, self.tensor, self.plan)
            file.expect_end()
            return snapshot

    def _path(self, number: int) -> Path:
        return self.folder / f"chain-{number}.tensorm"


def _pack(snapshot: Snapshot, model: NoiseModel) -> dict[str, Any]:
    state, memory = snapshot.state, snapshot.memory
    burn_in, settled = snapshot.burnt or (-1, False)
    searching = model.searching(state.noise)
    tree = {
        "n_components": state.factors.n_components,
        "sweep": state.sweep,
        "repairs": memory.repairs,
        "in_vain": memory.in_vain,
        "sweeps_since": memory.sweeps,
        "stage": memory.stage,
        "burn_in": burn_in,
        "settled": int(settled),
        **_pack_state("state", state, SEARCHED if searching else "noise"),
        "history": np.array(memory.history, np.float64),
        **_pack_heat(memory.heat),
    }
    if snapshot.confusion is not None:
        tree["confusion"] = np.array(snapshot.confusion, np.int64)
    return tree if snapshot.draws is None else tree | {"draws": pack_trace(snapshot.draws)}


def _read(file: Stored, tensor: Tensor, plan: Plan) -> Snapshot:
    shape, target = tensor.shape, plan.target
    check_components(file, target.n_components)
    burnt = _read_burnt(file, plan)
    most = plan.most_burn_in if burnt is None else burnt[0] + plan.n_draws
    state = _read_state(file, "state", shape, target, file.integer("sweep", 0, most))
    draws = read_trace(file.tree("draws"), shape, target) if file.has("draws") else None
    _check_number(file, state.sweep, burnt, draws)
    for counts in () if draws is None else draws.confusion[:1].tolist():
        _check_cells(file.tree("draws"), counts, tensor)
    confusion = file.array("confusion", "i8", (4,)).tolist() if file.has("confusion") else None
    if confusion:
        _check_cells(file, confusion, tensor)
    memory = _read_memory(file, shape, target, state.sweep)
    return Snapshot(state, memory, burnt, Confusion(*confusion) if confusion else None, draws)


def _read_burnt(file: Stored, plan: Plan) -> tuple[int, bool] | None:
    """Read after how many sweeps burn-in was over, and whether it settled; None before."""
    burn_in = file.integer("burn_in", -1, plan.most_burn_in)
    if burn_in < 0:
        return None
    fixed = plan.burn_in is not None
    if fixed and burn_in != plan.most_burn_in:
        raise file.refuse(f"burn_in is {burn_in:,}, not {plan.most_burn_in:,}")
    return burn_in, bool(file.integer("settled", int(fixed), 1))


def _pack_state(name: str, state: State | None, noise: str = "noise") -> dict[str, Any]:
    """Return a state under some names, or nothing."""
    if state is None:
        return {}
    masks = {f"{name}_{k}": masks for k, masks in enumerate(state.factors)}
    return masks | {f"{name}_{noise}": state.noise.row(), f"{name}_density": np.array(state.density)}


def _read_state(file: Stored, name: str, shape: Sequence[int], target: Target, sweep: int) -> State:
    L, factors = target.n_components, _read_factors(file, name, shape, target)
    searching = file.has(f"{name}_{SEARCHED}")
    model = target.noise.stand_in if searching else target.noise
    row = f"{name}_{SEARCHED if searching else 'noise'}"
    noise = file.array(row, "f8", (model.parameters.width(L, shape),))
    density = file.array(f"{name}_density", "f8", (len(shape),))
    check_noise(file, noise, model, shape, L)
    check_density(file, density, target.prior, LearnedPrior())  # a repair leaves shares of ones
    return State(factors, model.parameters.from_row(noise, L, shape), tuple(density.tolist()), sweep)


def _check_number(file: Stored, sweep: int, burnt: tuple[int, bool] | None, draws: Trace | None) -> None:
    """Raise unless every sweep after burn-in left a draw."""
    n_draws = 0 if draws is None else len(draws)
    if n_draws != (0 if burnt is None else sweep - burnt[0]):
        at = "no end of burn-in" if burnt is None else f"burn-in {burnt[0]:,}"
        raise file.refuse(f"there are {n_draws:,} draws after {sweep:,} sweeps, with {at}")
    if draws is not None and (draws.burn_in, draws.settled) != burnt:
        raise file.refuse("its draws say otherwise how burn-in ended")


def _read_factors(file: Stored, name: str, shape: Sequence[int], target: Target) -> Factors:
    L, sizes = target.n_components, enumerate((size, words_for(target.n_components)) for size in shape)
    factors = Factors(tuple(read_members(file, f"{name}_{k}", "u8", size, L) for k, size in sizes), L)
    check_tied(file, tuple(factors), target)
    return factors


def _pack_heat(heat: Heat) -> dict[str, Any]:
    return {
        "heat_rounds": heat.rounds,
        "heat_planned": heat.planned,
        "heat_exhausted": int(heat.exhausted),
        "heat_sweeps": heat.sweeps,
        "heat_scores": np.array([heat.first_score, heat.best_score, heat.base_score]),
        "heat_score_sum": np.array([heat.score_sum]),
        **_pack_state("base", heat.base),
        **_pack_state("hot", heat.hot),
    }


def _read_heat(file: Stored, shape: Sequence[int], target: Target, sweep: int) -> Heat:
    kind = choose_rounds(target)
    rounds, planned = file.integer("heat_rounds", 0, sweep), file.integer("heat_planned", 0, kind.most)
    if kind.total(rounds) > sweep:
        raise file.refuse(f"heat_rounds is {rounds:,}, more than {sweep:,} sweeps allow")
    sweeps = file.integer("heat_sweeps", 0, kind.length(rounds) - 1)
    scores = file.array("heat_scores", "f8", (3,))
    (score_sum,) = file.array("heat_score_sum", "f8", (1,)).tolist()
    begun = bool(rounds or sweeps)
    if bool(planned) != begun or not ((np.abs(scores) < LARGEST_LOG) == begun).all():
        raise file.refuse("heat_scores does not contain log posteriors")
    if not abs(score_sum) < LARGEST_LOG or (score_sum and not sweeps):
        raise file.refuse("heat_score_sum does not fit what is heated")
    base, hot = (
        _read_state(file, name, shape, target, sweep) if file.has(f"{name}_0") else None
        for name in ("base", "hot")
    )
    if (hot is not None) != bool(sweeps):
        raise file.refuse("heat_sweeps does not fit what is heated")
    exhausted, (first, best, base_score) = bool(file.integer("heat_exhausted", 0, 1)), scores.tolist()
    return Heat(rounds, planned, exhausted, first, best, base_score, base, sweeps, hot, score_sum)


def _read_memory(file: Stored, shape: Sequence[int], target: Target, sweep: int) -> Memory:
    history, sweeps = file.array("history", "f8", (None,)), file.integer("sweeps_since", 0, sweep)
    if len(history) > min(sweeps, 2 * target.noise.trend) or not (np.abs(history) < LARGEST_LOG).all():
        raise file.refuse("history does not contain log-likelihoods")
    repairs = file.integer("repairs", 0, min(MOST_REPAIRS, sweep // CHECK_EVERY))
    in_vain = file.integer("in_vain", 0, min(REPAIRS_IN_VAIN, repairs))
    heat = _read_heat(file, shape, target, sweep)
    stage = file.integer("stage", 0, MOST_STAGES - 1)
    return Memory(tuple(history.tolist()), sweeps, repairs, in_vain, stage, heat)


def _check_cells(file: Stored, counts: Sequence[int], tensor: Tensor) -> None:
    """Raise unless four counts add up to the cells of the tensor."""
    tp, _, fn, _ = counts
    if min(counts) < 0 or (tp + fn, sum(counts)) != (tensor.n_ones, tensor.n_observed):
        raise file.refuse("confusion contains counts of other cells")
