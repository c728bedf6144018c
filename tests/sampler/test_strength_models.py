"""Models with strengths from the estimator to files, against loops where possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

import naive
import tensorm
from makers import dense, listed, mirror, sharded, sparse
from page_data import page_data
from problems import Problem
from strong_cases import Case, make_case
from tensorm import DenseTensor, RelationalTensor, SparseTensor, TensOrMachine, select_components
from tensorm.datasets import simulate
from tensorm.errors import FileError, InputError
from tensorm.estimator.plan import make_plan
from tensorm.posterior.align import most_probable
from tensorm.sampler.chains import run_chain
from tensorm.sampler.sample import sample
from tensorm.sampler.state import Trace
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.strengths import ActiveStrengths, ConstantStrengths
from tensorm.selection.trials import LADDER
from tensorm.storage.checkpoints import Checkpoints
from tensorm.tensors import SymmetricTensor, Tensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream

L, SHAPE = 3, (9, 8, 7)
SIM = simulate(SHAPE, rank=L, density=0.3, noise=0.1, random_state=0)
BACKGROUNDS = ("activity", "constant")
MODELS = {ActiveStrengths: ActivityModel(), ConstantStrengths: ConstantModel(2.0, 3.0)}


def make_settings(background: str, **others: Any) -> dict[str, Any]:
    given = {"noise": "strengths", "background": background, "n_chains": 2, "n_draws": 12}
    return given | {"effort": 0.1, "random_state": 0, "progress": False} | others


def fit(background: str) -> TensOrMachine:
    return TensOrMachine(L, **make_settings(background)).fit(SIM.observed)


@pytest.fixture(scope="module", params=BACKGROUNDS)
def model(request: pytest.FixtureRequest) -> TensOrMachine:
    return fit(request.param)


@pytest.mark.parametrize("evenness", [0.5, 4.0])
@pytest.mark.parametrize("rate", [0.3, 3.0])
def test_information_is_how_far_activities_are_from_their_prior(rate: float, evenness: float) -> None:
    """Averaged over posterior draws it is the divergence of two Gamma distributions, of shape and rate."""
    rng, others, known = np.random.default_rng(1), 50, 512.0
    tensor = DenseTensor(np.zeros((4, others), bool))
    truth = rng.gamma(evenness, 1 / evenness, 4)
    exposure = rate * others
    shapes = np.concatenate([evenness + rng.poisson(exposure * truth), np.full(others, known)])
    scales = np.repeat([evenness + exposure, known], [4, others])
    told = [
        ActiveStrengths(np.array([0.5]), 0.5, 0.3, rate, np.array([evenness, known]), a).information(tensor)
        for a in rng.gamma(shapes, 1 / scales, (2000, len(shapes)))
    ]
    even = ActiveStrengths(np.array([0.5]), 0.5, 0.3, 1e-9, np.array([known, known]), np.ones(4 + others))
    own, own_scales = shapes[:4], scales[:4]
    exact = (own - evenness) * digamma(own) - gammaln(own) + gammaln(evenness)
    exact += evenness * np.log(own_scales / evenness) + own * (evenness - own_scales) / own_scales
    # Activities of the other mode are drawn from their prior, which a precision that counts cells exceeds.
    rest = 0.5 * others * np.log1p(rate * truth.sum() / known)
    assert np.mean(told) == pytest.approx(exact.sum() + rest, abs=1.0)
    assert even.information(tensor) == pytest.approx(-0.5 * (4 + others), abs=0.1)


def assert_same(a: Trace, b: Trace) -> None:
    pairs = zip((*a.factors, a.noise, a.log_posterior), (*b.factors, b.noise, b.log_posterior), strict=True)
    for mine, other in pairs:
        np.testing.assert_array_equal(mine, other)


def likelihood(case: Case, factors: list[np.ndarray]) -> float:
    return naive.strength_likelihood(
        case.ones, case.facts, factors, case.noise.strength, case.background, lambda index: True
    )


@pytest.mark.parametrize("store", [dense, sparse, listed])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("active", [False, True])
def test_likelihoods_as_by_loops(symmetric: bool, active: bool, store: Callable[[Problem], Tensor]) -> None:
    for seed in range(20):
        case = make_case(seed, symmetric, active)
        factors, noise, tensor = Factors.from_bits(case.factors), case.noise, case.store(store)
        whole = likelihood(case, case.factors)
        found = MODELS[type(noise)].log_likelihood(tensor, factors, None, noise)
        assert found == pytest.approx(whole, rel=1e-9, abs=1e-9), f"case {seed}"
        lost = noise.log_ratios(tensor, factors, case.factors[0])
        for l, fall in enumerate(lost):
            without = [bits & (np.arange(bits.shape[1]) != l) for bits in case.factors]
            assert fall == pytest.approx(whole - likelihood(case, without), rel=1e-7, abs=1e-7)
        hidden = factors.replace(0, np.zeros_like(factors[0]))  # none covers another's cells
        nobody = likelihood(case, [np.zeros_like(bits) for bits in case.factors])
        apart = noise.log_ratios(case.tensor, hidden, case.factors[0])
        for l, fall in enumerate(apart):
            alone = [bits & (np.arange(bits.shape[1]) == l) for bits in case.factors]
            assert fall == pytest.approx(likelihood(case, alone) - nobody, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("active", [False, True])
def test_predictions_as_by_loops(active: bool) -> None:
    for seed in range(10):
        case = make_case(seed, False, active)
        wanted = np.empty(case.ones.shape)
        for index in naive.cells(case.factors):
            q = naive.strongest(case.factors, case.noise.strength, index)
            wanted[index] = 1 - (1 - naive.chance(case.background, index)) * (1 - q)
        factors, shape = Factors.from_bits(case.factors), wanted.shape
        cells = np.indices(shape).reshape(len(shape), -1)
        np.testing.assert_allclose(case.noise.predict(factors, cells), wanted.ravel())
        box = np.zeros((math.prod(shape[:-1]), shape[-1]))
        assert case.noise.add_box(box, factors, [slice(None)] * len(shape), 2.0) == 0
        np.testing.assert_allclose(box.reshape(shape), 2 * wanted)


def test_contributions_with_the_strengths_of_the_same_components(model: TensOrMachine) -> None:
    posterior, tensor = model.posterior_, DenseTensor(SIM.observed)
    lead, draw = most_probable(posterior.chains, posterior.explanations)
    trace = posterior.chains[lead]
    lost = trace.noise_at(draw).log_ratios(tensor, trace.factors_at(draw), posterior.best_factors[0])
    np.testing.assert_allclose([row.log_likelihood_lost for row in model.contributions_], lost)
    assert (np.diff(lost) <= 0).all()


def test_components_are_found_with_two_rates_first() -> None:
    plan = make_plan(TensOrMachine(L, **make_settings("activity")), DenseTensor(SIM.observed))
    kinds = [type(step.state.noise).__name__ for step in sample(DenseTensor(SIM.observed), plan, 0)]
    first = kinds.index("ActiveStrengths")
    assert first >= 20
    assert set(kinds[:first]) == {"Rates"}
    assert set(kinds[first:]) == {"ActiveStrengths"}
    assert len(kinds) - first >= 50 + plan.n_draws
    short = TensOrMachine(L, **make_settings("constant", burn_in=6))
    plan = make_plan(short, DenseTensor(SIM.observed))
    kinds = [type(step.state.noise).__name__ for step in sample(DenseTensor(SIM.observed), plan, 0)]
    assert kinds[:4] == ["Rates"] * 3 + ["ConstantStrengths"]


def test_planted_strengths_are_found() -> None:
    rng = np.random.default_rng(1)
    factors = [np.repeat(np.eye(2, dtype=bool), 9, axis=0) for _ in range(3)]
    p = 1 - (1 - 0.05) * (1 - np.einsum("al,bl,cl,l->abc", *factors, [0.9, 0.4]))
    model = TensOrMachine(2, **make_settings("constant", n_draws=60)).fit(rng.random(p.shape) < p)
    table = model.strengths_.sort_values("mean")
    assert (table["low"] < [0.4, 0.9]).all()
    assert (table["high"] > [0.4, 0.9]).all()
    assert (table["high"] - table["low"]).max() < 0.1


def test_a_fit_predicts_describes_and_exports(model: TensOrMachine) -> None:
    posterior, cells = model.posterior_, np.indices(SHAPE).reshape(3, -1)
    wanted = np.zeros(SHAPE)
    for trace, weight in zip(posterior.chains, posterior.weights, strict=True):
        for draw in range(len(trace)):
            p = trace.noise_at(draw).predict(trace.factors_at(draw), cells)
            wanted += weight * p.reshape(SHAPE) / len(trace)
    np.testing.assert_allclose(model.predict_proba(), wanted)
    np.testing.assert_allclose(model.predict_proba(cells.T), wanted.ravel())
    assert (model.predict() == SIM.noise_free).mean() > 0.97
    assert "makes a cell 1 with probability" in model.describe()[0]
    assert list(model.strengths_.columns) == ["mean", "low", "high", "empty"]
    tree = model.to_datatree(SIM.observed, log_likelihood=True)
    assert tree["posterior/strength"].dims == ("chain", "draw", "component")
    assert np.isfinite(tree["log_likelihood/x"]).all()
    sums = tree["log_likelihood/x"].sum("cell")
    np.testing.assert_allclose(sums, tree["sample_stats/log_likelihood"], rtol=1e-6)
    quantities = model.diagnostics_.quantities
    assert quantities[0].name.startswith("strength ")
    assert {"typical strength", "spread of strengths"} <= {row.name for row in quantities if not row.judged}
    assert {"rate of ones outside", "log-likelihood"} <= {row.name for row in quantities if row.judged}
    memberships = model.transform(SIM.observed[[3, 5]])
    np.testing.assert_allclose(memberships, model.factors_[0][[3, 5]], atol=0.35)
    np.testing.assert_array_equal(model.transform(SIM.observed[[5]])[0], memberships[1])
    top = model.top_cells(0, 3, n=4)
    np.testing.assert_allclose(top.probabilities, -np.sort(-wanted[3], axis=None)[:4])
    assert model.contributions_[0].log_likelihood_lost > model.contributions_[-1].log_likelihood_lost > 0


def test_pictures_and_page_of_strengths_and_activities(model: TensOrMachine, tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    table = model.strengths_
    ax = model.plot("strengths")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], table["mean"])
    ends = [path.vertices[:, 0] for path in ax.collections[0].get_paths()]
    np.testing.assert_allclose(ends, table[["low", "high"]])
    model.report(tmp_path / "page.html")
    page = page_data(tmp_path / "page.html")
    told = [component["strength"][0] for component in page["components"]]
    np.testing.assert_allclose(told, table["mean"], rtol=1e-3)
    active = "activity" in model.noise_
    assert [mode["activity"] is not None for mode in page["modes"]] == [active] * 3
    if active:
        figure, most = model.plot("activity"), model.activity_.groupby("mode")["mean"].max()
        for ax in figure.axes:
            assert ax.lines[1].get_xdata()[0] == pytest.approx(most[ax.get_title()])
    else:
        with pytest.raises(InputError, match="no activity"):
            model.plot("activity")
    pyplot.close("all")


def test_who_is_active() -> None:
    model = fit("activity")
    table = model.activity_
    assert list(table.columns) == ["mode", "label", "mean", "low", "high"]
    assert len(table) == sum(SHAPE)
    told = model.describe()[-1]
    assert "Most active" not in told  # all are equally active
    assert "; outside them, a cell of typically active indices is 1 with probability " in told
    tree = model.to_datatree()
    assert tree["posterior/evenness"].dims == ("chain", "draw", "mode")
    other = TensOrMachine(L, noise="asymmetric", n_chains=1, n_draws=5, progress=False).fit(SIM.observed)
    with pytest.raises(AttributeError, match="This fit has no strength; fit with noise="):
        _ = other.strengths_


def test_a_fit_is_saved_loaded_and_checked(model: TensOrMachine, tmp_path: Path) -> None:
    model.save(tmp_path / "fit.tensorm")
    again = tensorm.load(tmp_path / "fit.tensorm")
    for mine, other in zip(again.posterior_.chains, model.posterior_.chains, strict=True):
        assert_same(mine, other)
    assert again._target == model._target
    assert type(again._target.noise) is type(model._target.noise)
    np.testing.assert_array_equal(again.predict_proba(), model.predict_proba())
    for column, value in ((0, 1.5), (L, np.nan), (L + 1, 2.0), (-1, -1.0), (-1, np.inf)):
        spoiled = tensorm.load(tmp_path / "fit.tensorm")
        spoiled.posterior_.chains[0].noise[3, column] = value
        spoiled.save(tmp_path / "spoiled.tensorm")
        with pytest.raises(FileError, match=r"noise contains numbers for .* that do not lie between"):
            tensorm.load(tmp_path / "spoiled.tensorm")


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_a_stopped_chain_goes_on_from_its_checkpoint(background: str, tmp_path: Path) -> None:
    tensor = DenseTensor(SIM.observed)
    plan = make_plan(TensOrMachine(L, **make_settings(background)), tensor)
    whole = run_chain(tensor, plan, 0)
    for sweeps in (8, 30, 40):  # in the search, in burn-in with strengths, among draws
        left = iter(range(sweeps))
        files = Checkpoints(tmp_path, "run", tensor, plan)
        run_chain(tensor, plan, 0, stop=lambda left=left: next(left, None) is None, checkpoints=files)
    resumed = run_chain(tensor, plan, 0, checkpoints=Checkpoints(tmp_path, "run", tensor, plan))
    assert_same(resumed, whole)


def test_a_run_in_a_folder(model: TensOrMachine, tmp_path: Path) -> None:
    TensOrMachine(**model.get_params()).fit(SIM.observed, run_dir=tmp_path / "run")
    (tmp_path / "run" / "fit.tensorm").unlink()
    again = tensorm.resume(tmp_path / "run", progress=False)
    assert_same(again.posterior_.chains[0], model.posterior_.chains[0])


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_threads_do_not_matter(background: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorm.tensors.slices.WORTH_THREADS", 1)
    settings = make_settings(background, n_chains=1, burn_in=10)
    one = TensOrMachine(L, **settings, n_jobs=1).fit(SIM.observed)
    many = TensOrMachine(L, **settings, n_jobs=3).fit(SparseTensor(np.argwhere(SIM.observed), SHAPE))
    assert_same(one.posterior_.chains[0], many.posterior_.chains[0])


@pytest.mark.parametrize("kind", ["sparse", "listed", "sharded", "symmetric"])
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_chains_do_not_depend_on_the_storage(background: str, kind: str) -> None:
    seen = np.random.default_rng(0).random(SHAPE) < 0.9
    problem, pair = Problem(SIM.observed.astype(bool), seen, []), None
    if kind == "symmetric":
        problem = mirror(Problem(problem.ones, seen, [np.ones((2, L), bool)]))
        pair = problem.pair
    store = {"sparse": sparse, "listed": listed, "sharded": sharded, "symmetric": sparse}[kind]
    one, other = (make(problem).tied(pair) for make in (dense, store))
    plan = make_plan(TensOrMachine(L, **make_settings(background, burn_in=8)), one)
    assert_same(run_chain(one, plan, 0), run_chain(other, plan, 0))


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_modes_that_share_a_factor(background: str) -> None:
    rng = np.random.default_rng(2)
    x = np.triu(rng.random((6, 12, 12)) < 0.3, 1)
    x[:, :5, :5] |= np.triu(rng.random((6, 5, 5)) < 0.8, 1)
    x = (x | x.swapaxes(1, 2)).astype(float)
    x[:, range(12), range(12)] = np.nan
    model = TensOrMachine(2, **make_settings(background, symmetric=(1, 2))).fit(x)
    for trace in model.posterior_.chains:
        np.testing.assert_array_equal(trace.factors[1], trace.factors[2])
    fields = model.posterior_.chains[0].noise_fields
    if background == "activity":
        np.testing.assert_array_equal(fields["activity"][:, 6:18], fields["activity"][:, 18:])
    assert model.transform(x[:2]).shape == (2, 2)


def test_shared_activities_may_move_far_at_once() -> None:
    x = np.full((200, 200, 2), np.nan)  # nearly all are drawn from the prior, and two modes move together
    x[0, 1] = x[1, 0] = 1
    tensor, factors = SymmetricTensor(DenseTensor(x), (0, 1)), Factors.empty(x.shape, 1)
    start = ActivityModel().start(x.shape, 1)
    for seed in range(4):
        stream = Stream(np.uint64(seed), 0, 0, 250)
        levels = ActivityModel().update(tensor, factors, None, start, stream)[0].levels
        np.testing.assert_array_equal(levels[:200], levels[200:400])
        assert np.ptp(levels) > 38


def test_what_cannot_have_strengths_is_refused() -> None:
    ranks = RelationalTensor(np.random.default_rng(0).random((6, 5)))
    with pytest.raises(InputError, match="noise='strengths' does not work: components of comparisons cannot"):
        TensOrMachine(L, **make_settings("activity")).fit(ranks)

    class Bare(DenseTensor):
        ranked = Tensor.ranked

    with pytest.raises(InputError, match="does not work: components of a Bare cannot have strengths; choose"):
        TensOrMachine(L, **make_settings("activity")).fit(Bare(SIM.observed))
    with pytest.raises(InputError, match="background is 'loud'; choose 'activity' or 'constant'"):
        TensOrMachine(L, **make_settings("loud")).fit(SIM.observed)
    with pytest.raises(
        InputError, match=r"noise_update='map' does not work with noise='[a-z]+'; choose 'sample'"
    ):
        TensOrMachine(L, **make_settings("constant", noise_update="map")).fit(SIM.observed)


def test_the_number_is_chosen_by_hidden_cells(tmp_path: Path) -> None:
    rng, factors = np.random.default_rng(1), [np.repeat(np.eye(3, dtype=bool), 4, axis=0) for _ in range(3)]
    p = 1 - (1 - 0.03) * (1 - np.einsum("al,bl,cl,l->abc", *factors, [0.95, 0.6, 0.4]))
    cells, settings = rng.random(p.shape) < p, make_settings("constant")
    model = TensOrMachine("auto", **settings).fit(cells, run_dir=tmp_path)
    assert model.n_components_ == model.selection_.best == 3
    assert model.selection_.method == "cv"
    tried = [row.n_components for row in model.selection_.candidates]
    assert tried[:4] == [1, 2, 3, 4]
    assert len(tried) < len(LADDER)  # it ends where more predict no better
    assert tensorm.resume(tmp_path).selection_.reason == model.selection_.reason
    estimator = TensOrMachine(**settings)
    given = {"estimator": estimator, "candidates": [1, 3], "random_state": 0, "progress": False}
    found = select_components(cells, "cv", n_repeats=2, **given)
    assert found.best == 3
    assert "two rates" not in found.reason


def test_other_ways_choose_with_two_rates() -> None:
    estimator = TensOrMachine(**make_settings("activity"))
    found = select_components(
        SIM.observed,
        "posterior",
        estimator=estimator,
        candidates=[1, 2, 3, 4],
        random_state=0,
        progress=False,
    )
    plain = TensOrMachine(**make_settings("activity", noise="asymmetric"))
    other = select_components(
        SIM.observed, "posterior", estimator=plain, candidates=[1, 2, 3, 4], random_state=0, progress=False
    )
    told = "The number was chosen with two rates of ones instead of strengths."
    assert found.reason == f"{other.reason} {told}"
    assert found.best == other.best
