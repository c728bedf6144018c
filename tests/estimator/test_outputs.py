"""The methods that hand a fit out; what they hand out is tested where it is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import forge
import tensorm
from tensorm import InputError, TensOrMachine


def test_every_output_of_one_fit(tmp_path: Path) -> None:
    model = forge.small_fit()
    model.save(tmp_path / "run.tensorm")
    again = tensorm.load(tmp_path / "run.tensorm")
    for fitted in (model, again):
        tree = fitted.to_datatree(np.zeros((4, 5, 3)), log_likelihood=True)
        assert tree["posterior/factor_gene"].shape[2:] == (4, 9)
        assert tree["log_likelihood/x"].sizes["cell"] == 60
        assert tree["constant_data"].attrs["random_state"] == 5
        assert set(fitted.to_dataframe(threshold=0.0).columns) >= {"mode", "label", "component"}
        fitted.write_gmt(tmp_path / "sets.gmt", "mouse", threshold=0.0)
        assert (tmp_path / "sets.gmt").read_text().startswith("component_0\tmouse with probability above 0\t")
    xy = [str(fitted.to_dataframe()) for fitted in (model, again)]
    assert xy[0] == xy[1]


def test_data_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"X has shape \(4, 5\); give \(4, 5, 3\), as in fit"):
        forge.small_fit().to_datatree(np.zeros((4, 5)))


def test_outputs_need_a_fit(tmp_path: Path) -> None:
    model = TensOrMachine()
    for call in (
        lambda: model.save(tmp_path / "x"),
        lambda: model.to_datatree(),
        lambda: model.to_dataframe(),
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
