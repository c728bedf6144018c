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


def choose(X: npt.NDArray[np.bool_]) -> int:
    """Choose a number of components, and compare with the paper's algorithm and a rival."""
    found = tensorm.select_components(X, method="cv", candidates=range(1, 6))
    published = TensOrMachine.as_published(found.best, n_draws=20).fit(X)
    rival = tensorm.baselines.BooleanALS(found.best).fit(X)
    print(found.reason, published.score(X), rival.score(X))
    return found.best
