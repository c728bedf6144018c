"""The methods of a fitted model; what they return is tested where it is made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import forge
import tensorm
from tensorm import InputError, TensOrMachine
from tensorm.report.describe import describe
from tensorm.report.plots import PLOTS


def test_every_output_of_one_fit(tmp_path: Path) -> None:
    model = forge.small_fit()
    model.save(tmp_path / "run.tensorm")
    again = tensorm.load(tmp_path / "run.tensorm")
    for fitted in (model, again):
        tree = fitted.to_datatree(np.zeros((4, 5, 3)), log_likelihood=True)
        assert tree["posterior/factor_gene"].shape[2:] == (4, 9)
        assert tree["log_likelihood/x"].sizes["cell"] == 60
        assert tree["constant_data"].attrs["random_state"] == 5
        assert set(fitted.members(threshold=0.0).columns) >= {"mode", "label", "component"}
        fitted.write_gmt(tmp_path / "sets.gmt", "mouse", threshold=0.0)
        assert (tmp_path / "sets.gmt").read_text().startswith("component_0\tmouse with probability above 0\t")
        fitted.report(tmp_path / "page.html", np.zeros((4, 5, 3)), title="Mice & genes")
        assert "<h1>Mice &amp; genes</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    for method in (TensOrMachine.members, TensOrMachine.describe):
        assert str(method(model)) == str(method(again))


def test_a_table_is_read_as_in_fit(tmp_path: Path) -> None:
    orders = pd.DataFrame({"who": ["ann", "ann", "bob"], "what": ["tea", "nuts", "tea"], "n": [3, 0, 2]})
    model = TensOrMachine(1, n_chains=1, n_draws=3, burn_in=0, noise="asymmetric", random_state=0)
    model.fit(orders, modes=["who", "what"], value="n", threshold=1)
    model.report(tmp_path / "page.html", orders)
    assert model.scores(orders).n_ones == 2
    assert model.score(orders) in (0.25, 0.5, 0.75, 1.0)
    assert model.transform(orders).shape == (2, 1)
    assert model.score(np.ones((2, 2))) >= 0  # an array needs no options
    with pytest.raises(InputError, match=r"has shape \(2, 2, 3\)"):
        model.fit(tensorm.read(np.ones((2, 2)))).scores(orders)  # another fit, without them


def test_the_report_as_a_function(tmp_path: Path) -> None:
    model = forge.small_fit()
    model.report(tmp_path / "method.html")
    tensorm.write_report(model, tmp_path / "function.html")
    assert (tmp_path / "method.html").read_bytes() == (tmp_path / "function.html").read_bytes()


def test_a_picture_of_each_kind() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = forge.small_fit()
    first = model.modes_[0]
    options: dict[str, dict[str, Any]] = {
        "associations": {"metadata": {first: ["a", "a", "b", "b"]}, "threshold": 0.05},
        "calibration": {"X": np.zeros((4, 5, 3))},
        "component": {"component": 0},
        "contributions": {},
        "factor": {"mode": first},
        "factors": {"groups": {first: ["a", "a", "b", "b"]}},
        "members": {"component": 0, "mode": first},
        "reconstruction": {"X": np.zeros((4, 5, 3)), "at": {first: 0}},
        "slice": {"at": {first: 0}},
    }
    assert {*options, "activity", "strengths"} == set(PLOTS)  # those two need strengths
    for kind, given in options.items():
        drawn = model.plot(kind, **given)
        assert drawn.get_figure() is not None
    assert len(model.plot().axes) == 4  # three modes and a colour bar
    with pytest.raises(InputError, match="kind is 'traces'; choose 'activity', "):
        model.plot("traces")
    for kind, wanted in {
        "associations": "metadata={MODE: TABLE}",
        "component": "component=NUMBER",
        "factor": "mode=NAME",
        "members": "component=NUMBER and mode=NAME",
        "reconstruction": "X=DATA",
    }.items():
        with pytest.raises(InputError, match=f"^plot\\('{kind}'\\) needs {re.escape(wanted)}\\.$"):
            model.plot(kind)
    with pytest.raises(
        InputError, match=r"plot\('component'\) is 'mode'; choose 'component', 'threshold' or 'X'\.$"
    ):
        model.plot("component", mode=0)
    pyplot.close("all")


def test_groups_in_the_description() -> None:
    fixed = [np.eye(4)[:, :2]] * 2
    model = TensOrMachine(
        2, n_chains=1, n_draws=4, burn_in=0, factor_prior=fixed, noise="asymmetric", progress=False
    )
    model.fit(np.eye(4))
    groups = {0: ["a", "a", "b", "b"]}
    assert model.describe(groups, most=1) == describe(model.posterior_, groups, 1)
    assert "mode 0: 1 of 2 a" in str(model.describe(groups))
    assert "mode 0: 0 (1 of 4)" in str(model.describe())


def test_data_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"X has shape \(4, 5\); give \(4, 5, 3\), as in fit"):
        forge.small_fit().to_datatree(np.zeros((4, 5)))


def test_outputs_need_a_fit(tmp_path: Path) -> None:
    model = TensOrMachine()
    for call in (
        lambda: model.save(tmp_path / "x"),
        lambda: model.to_datatree(),
        lambda: model.members(),
        lambda: model.describe(),
        lambda: model.plot(),
        lambda: model.report(tmp_path / "x"),
        lambda: model.summary(),
        lambda: model.contributions_,
        lambda: model.to_tensorly(),
        lambda: model.write_gmt(tmp_path / "x", 0),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_loading_a_file_needs_none_of_the_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "run.tensorm"
    forge.small_fit().save(path)
    others = "{'h5py', 'h5netcdf', 'xarray', 'tensorly', 'arviz_stats', 'netCDF4'}"
    code = f"import sys, tensorm; tensorm.load({str(path)!r}); print(sorted({others} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
