"""What a user may write, for ``mypy --strict``: the public names are typed."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
import numpy.typing as npt

import tensorm
from tensorm import TensOrMachine


def find_groups(table: Path, out: Path) -> list[str]:
    """Read a table, fit it, keep the fit and say what was found."""
    X = tensorm.read(table, modes=["hour", "person", "met"])
    model = TensOrMachine(n_components="auto", noise="asymmetric", random_state=0).fit(X, run_dir=out)
    assert_type(model, TensOrMachine)
    assert_type(model.predict_proba(), npt.NDArray[np.float64])
    assert_type(model.predict(method="best"), npt.NDArray[np.int8])
    assert_type(model.score(X), float)
    model.save(out / "fit.tensorm")
    model.report(out / "page.html", X, metadata={"person": {"label": ["ann"], "role": ["nurse"]}})
    print(model.diagnostics_, model.contributions_[0].alone)
    return list(tensorm.load(out / "fit.tensorm").describe())


def look_closer(X: npt.NDArray[np.bool_], out: Path) -> float:
    """Set everything that a fit can be told, and use everything that it knows."""
    model = TensOrMachine(
        n_components=5,
        n_chains=4,
        n_draws=250,
        burn_in="auto",
        init="data",
        noise="strengths",
        background="activity",
        noise_update="sample",
        factor_prior="learned",
        symmetric=(1, 2),
        n_jobs=None,
        random_state=0,
        progress=False,
    ).fit(X)
    for factor in model.factors_:
        assert_type(factor, npt.NDArray[np.float64])
    assert_type(model.posterior_, tensorm.Posterior)
    sentences: list[str] = model.describe()
    assert_type(model.transform(X), npt.NDArray[np.float64])
    chances = model.predict_proba([(0, 1, 2)])
    for method in ("predictive", "mean", "map", "best"):
        chances = chances + model.predict(method=method)
    model.members().to_csv(out / "members.csv")
    model.plot("factor", mode=0)
    print(
        sentences,
        model.noise_,
        model.strengths_,
        model.activity_,
        model.contributions_,
        model.diagnostics_,
        model.noise_choice_,
    )
    print(model.top_cells(1, "ann", n=5))
    mask = tensorm.train_test_mask(X, test_size=0.2, random_state=0)
    return model.fit(tensorm.hide(X, mask)).scores(X, mask).model.log_loss


def bring(X: npt.NDArray[np.bool_], levels: npt.NDArray[np.float64]) -> int:
    """Make tensors of every kind, and simulate one."""
    simulated = tensorm.datasets.simulate(shape=(20, 20, 20), rank=5, density=0.3, noise=0.1, random_state=0)
    print(simulated.observed, simulated.noise_free, simulated.factors)
    sparse = tensorm.SparseTensor(np.argwhere(X), shape=X.shape)
    kinds = [tensorm.DenseTensor(X), sparse, tensorm.RelationalTensor(levels, floor=0)]
    selection = tensorm.select_components(kinds[0], candidates=[2, 3])
    selection.plot()
    print(selection.table, tensorm.DaskTensor, tensorm.baselines.WalkNMerge().fit(X).factors_)
    try:
        resumed = tensorm.resume("runs/ward")
    except (tensorm.FileError, tensorm.InputError, tensorm.ClusterError):
        return 0
    print(tensorm.compare_fits(resumed, resumed))
    return sum(len(kind.shape) for kind in kinds)


def choose(X: npt.NDArray[np.bool_]) -> int:
    """Choose a number of components, and compare with the paper's algorithm and a rival."""
    found = tensorm.select_components(X, method="cv", candidates=range(1, 6))
    published = TensOrMachine.as_published(found.best, n_draws=20).fit(X)
    rival = tensorm.baselines.BooleanALS(found.best).fit(X)
    print(found.reason, published.score(X), rival.score(X))
    return found.best
