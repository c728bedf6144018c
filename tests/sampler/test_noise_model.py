"""A third noise model, known to nobody but this file, goes through all that a fit can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import tensorm
from tensorm import TensOrMachine, datasets, select_components
from tensorm.errors import FileError, InputError
from tensorm.estimator.plan import make_plan
from tensorm.kernels.philox import uniforms
from tensorm.sampler.chains import run_chain
from tensorm.sampler.models import MODELS
from tensorm.sampler.noise_model import COMPONENT, INDEX, ONCE, Parameters
from tensorm.sampler.state import Trace
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.storage.checkpoints import Checkpoints
from tensorm.tensors import DenseTensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

SHAPE, L = (9, 8, 7), 3
SIM = datasets.simulate(SHAPE, rank=L, density=0.3, noise=0.1, missing=0.1, random_state=0)
SETTINGS: dict[str, Any] = {
    "noise": "jittered",
    "n_chains": 2,
    "n_draws": 24,
    "random_state": 3,
    "progress": False,
}


class _Fields(NamedTuple):
    strength: Any
    background: float
    activity: Any


class Jitters(_Fields, Parameters):
    """A rate of ones for each component, of which the highest counts, and a number for each index."""

    AXES: ClassVar = {"strength": COMPONENT, "background": ONCE, "activity": INDEX}
    TITLES: ClassVar = {"strength": "strength", "background": "background", "activity": "activity"}

    def __str__(self) -> str:
        return f"{self.background:.2f}"

    @property
    def rates(self) -> Rates:
        """What the sampler makes of it: the exact sampler of such a model is not the point here."""
        return Rates(float(np.mean(self.strength)) if len(self.strength) else 0.9, self.background)

    @property
    def weights(self) -> Any:
        return self.rates.weights

    @property
    def purity(self) -> float:
        return self.rates.purity

    def log_likelihood(self, statistics: Any) -> Any:
        return self.rates.log_likelihood(statistics)

    def log_ratios(self, *args: Any) -> Any:
        return self.rates.log_ratios(*args)

    def predict(self, factors: Factors, cells: Sequence[np.ndarray]) -> np.ndarray:
        held = np.logical_and.reduce(
            [unpack(masks[index], factors.n_components) for masks, index in zip(factors, cells, strict=True)]
        )
        return np.where(held.any(axis=1), np.where(held, self.strength, 0.0).max(axis=1), self.background)

    def add_box(self, total: np.ndarray, factors: Factors, where: Sequence[slice], weight: float) -> float:
        spans = [np.arange(len(masks))[span] for masks, span in zip(factors, where, strict=True)]
        cells = [axis.ravel() for axis in np.meshgrid(*spans, indexing="ij")]
        total += weight * self.predict(factors, cells).reshape(total.shape)
        return 0.0

    @classmethod
    def find_fault(cls, fields: Mapping[str, np.ndarray]) -> str | None:
        return None if (fields["strength"] > 0).all() else "strengths that are not positive"

    @classmethod
    def describe(
        cls, means: Mapping[str, Any], percent: Callable[[float], str], interval: Callable[[str], str]
    ) -> str:
        return f"The strongest makes {percent(max(means['strength']))} of its cells 1."


@dataclass(frozen=True)
class Jittered(Asymmetric):
    """Two rates that are drawn, and a strength near the first for each component."""

    spread: float = 0.02
    parameters: ClassVar[type[Parameters]] = Jitters

    def _around(self, rates: Rates, jitter: np.ndarray, activity: np.ndarray) -> Jitters:
        return Jitters(rates.hit * (1 - self.spread * jitter), rates.false_alarm, activity)

    def start(self, shape: Sequence[int], n_components: int) -> Any:
        return self._around(super().start(shape, n_components), np.zeros(n_components), np.zeros(sum(shape)))

    def update(self, tensor: Any, factors: Any, counted: Any, parameters: Jitters, stream: Any) -> Any:
        confusion = counted or tensor.confusion(factors)
        rates = self.draw(confusion, parameters.rates, uniforms(stream, 0, 2))
        jitter = uniforms(stream, 1, len(parameters.strength))
        return self._around(rates, jitter, uniforms(stream, 2, len(parameters.activity))), confusion

    def estimate(self, tensor: Any, factors: Factors, confusion: Any) -> Any:
        L, N = factors.n_components, sum(map(len, factors))
        return self._around(self.fit(confusion), np.zeros(L), np.zeros(N))

    def widen(self, parameters: Jitters, extra: int, rng: np.random.Generator) -> Jitters:
        return parameters._replace(strength=np.append(parameters.strength, rng.uniform(0.5, 1, extra)))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, ("jittered", "sample"), Jittered)


@pytest.fixture
def model() -> TensOrMachine:
    return TensOrMachine(L, **SETTINGS).fit(SIM.observed)


def assert_same(a: Trace, b: Trace) -> None:
    for mine, other in zip(
        (*a.factors, a.noise, a.log_posterior), (*b.factors, b.noise, b.log_posterior), strict=True
    ):
        np.testing.assert_array_equal(mine, other)


def test_rows_come_back_and_follow_the_components() -> None:
    draw = Jitters(np.array([0.7, 0.8, 0.9]), 0.1, np.arange(5.0))
    row = draw.row()
    assert row.tolist() == [0.7, 0.8, 0.9, 0.1, 0, 1, 2, 3, 4]
    assert len(row) == Jitters.width(3, (2, 3))
    again = Jitters.from_row(row, 3, (2, 3))
    assert again.background == 0.1
    np.testing.assert_array_equal(again.strength, draw.strength)
    assert draw.keep([2, 0]).strength.tolist() == [0.9, 0.7]
    chosen = Jitters.narrow(row[None], (2, 3), 3, {COMPONENT: [1, 0, 2], INDEX: [0, 3]})
    assert chosen.tolist() == [[0.8, 0.7, 0.9, 0.1, 0, 3]]


def test_predictions_are_means_over_draws(model: TensOrMachine) -> None:
    expected = np.zeros(SHAPE)
    cells = np.indices(SHAPE).reshape(3, -1)
    for trace in model.posterior_.traces:
        for draw in range(len(trace)):
            p = trace.noise_at(draw).predict(trace.factors_at(draw), cells).reshape(SHAPE)
            expected += p / model.posterior_.n_draws
    np.testing.assert_allclose(model.predict_proba(), expected)
    np.testing.assert_allclose(model.predict_proba(cells.T), expected.ravel())
    np.testing.assert_allclose(model.posterior_.cell_summary(cells.T).mean, expected.ravel())
    np.testing.assert_array_equal(np.unique(model.predict(method="best")), [0, 1])


def test_strengths_go_with_their_components(model: TensOrMachine) -> None:
    trace = model.posterior_.chains[0]
    other = trace.reorder([2, 0, 1])
    np.testing.assert_array_equal(
        other.noise_fields["strength"], trace.noise_fields["strength"][:, [2, 0, 1]]
    )
    part = model.posterior_.take([np.array([1, 2]), np.arange(8), np.array([0])]).chains[0]
    np.testing.assert_array_equal(
        part.noise_fields["activity"], trace.noise_fields["activity"][:, [1, 2, *range(9, 17), 17]]
    )


def test_it_is_described_diagnosed_and_exported(model: TensOrMachine) -> None:
    assert model.noise_.keys() == {"strength", "background", "activity", "explained"}
    assert len(model.noise_["strength"]) == L
    assert "The strongest makes" in model.describe()[-1]
    names = [row.name for row in model.diagnostics_.quantities]
    assert names[0].startswith("strength ")
    assert names[1::2] == ["background", "log-likelihood"]
    tree = model.to_datatree(SIM.observed, log_likelihood=True)
    assert tree["posterior/strength"].dims == ("chain", "draw", "component")
    for k, N in enumerate(SHAPE):
        assert tree[f"posterior/activity_mode_{k}"].shape == (2, 24, N)
    with np.errstate(divide="ignore"):
        assert np.isfinite(tree["log_likelihood/x"]).all()
    assert model.transform(SIM.observed).shape == (9, L)


def test_it_is_drawn_and_reported(model: TensOrMachine, tmp_path: Path) -> None:
    assert len(model.strengths_) == L
    assert len(model.activity_) == sum(SHAPE)
    assert len(model.plot("strengths").patches) == L
    assert len(model.plot("activity").axes) == len(SHAPE)
    model.report(tmp_path / "page.html", SIM.observed)
    assert "The strongest makes" in (tmp_path / "page.html").read_text()


def test_it_is_saved_loaded_and_checked(model: TensOrMachine, tmp_path: Path) -> None:
    model.save(tmp_path / "fit.tensorm")
    again = tensorm.load(tmp_path / "fit.tensorm")
    for mine, other in zip(again.posterior_.chains, model.posterior_.chains, strict=True):
        assert_same(mine, other)
    assert again._target == model._target
    np.testing.assert_array_equal(again.predict_proba(), model.predict_proba())
    model.posterior_.chains[0].noise[3, 1] = -0.5
    model.save(tmp_path / "spoiled.tensorm")
    with pytest.raises(FileError, match="noise contains strengths that are not positive in chain_0"):
        tensorm.load(tmp_path / "spoiled.tensorm")


def test_a_stopped_chain_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    tensor = DenseTensor(SIM.observed)
    plan = make_plan(TensOrMachine(L, **SETTINGS), tensor)
    whole = run_chain(tensor, plan, 0)
    for sweeps in (20, 90):
        left = iter(range(sweeps))
        files = Checkpoints(tmp_path, "run", tensor, plan)
        run_chain(tensor, plan, 0, stop=lambda left=left: next(left, None) is None, checkpoints=files)
    resumed = run_chain(tensor, plan, 0, checkpoints=Checkpoints(tmp_path, "run", tensor, plan))
    assert_same(resumed, whole)


def test_a_run_in_a_folder(tmp_path: Path, model: TensOrMachine) -> None:
    TensOrMachine(L, **SETTINGS).fit(SIM.observed, run_dir=tmp_path / "run")
    (tmp_path / "run" / "fit.tensorm").unlink()
    again = tensorm.resume(tmp_path / "run", progress=False)
    assert_same(again.posterior_.chains[0], model.posterior_.chains[0])


def test_components_come_and_go() -> None:
    found = select_components(
        SIM.observed,
        estimator=TensOrMachine(**SETTINGS),
        candidates=[1, 2, 3, 4],
        random_state=0,
        progress=False,
    )
    assert found.best in (1, 2, 3, 4)


def test_the_choices_are_those_of_the_table() -> None:
    choices = "'symmetric', 'asymmetric', 'strengths', 'comparisons', 'jittered' or 'auto'"
    with pytest.raises(InputError, match=f"noise is 'loud'; choose {choices}"):
        TensOrMachine(L, **(SETTINGS | {"noise": "loud"})).fit(SIM.observed)
    with pytest.raises(
        InputError, match=r"noise_update='map' does not work with noise='[a-z]+'; choose 'sample'"
    ):
        TensOrMachine(L, noise_update="map", **SETTINGS).fit(SIM.observed)
