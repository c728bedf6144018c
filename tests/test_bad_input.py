"""Every wrong argument gets one sentence that names it and its value, and leaves model and data unchanged."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.exceptions import NotFittedError

import tensorm
from tensorm import DenseTensor, InputError, TensOrMachine
from tensorm.data.checks import check_indices
from tensorm.datasets import simulate

NAN = np.nan
X = simulate((5, 4, 3), rank=2, noise=0.05, random_state=0).observed
QUICK: dict[str, Any] = {
    "noise": "asymmetric",
    "n_chains": 1,
    "n_draws": 3,
    "burn_in": 2,
    "random_state": 0,
    "progress": False,
}
STRONG = {"noise": "strengths"}
GIB = r"[\d,]+\.\d GB"


def factors(L: int = 2, value: float = 0.0) -> list[np.ndarray]:
    return [np.full((size, L), value) for size in X.shape]


def with_cell(value: Any, dtype: Any = float) -> np.ndarray:
    cells = X.astype(dtype)
    cells[4, 1, 2] = value
    return cells


@pytest.fixture(scope="module")
def fitted() -> TensOrMachine:
    return TensOrMachine(2, **QUICK).fit(X)


def refusal(call: Any, *args: Any, **kwargs: Any) -> str:
    """The one sentence that a call is refused with."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as caught:
            call(*args, **kwargs)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert re.fullmatch(r"[^\n]+\.", message), message
    assert not re.search(r"numba|Traceback|ufunc|broadcast", message)
    return message


def check_fit_refuses(X: Any, message: str, **settings: Any) -> None:
    """By a new model, which stays unfitted, and by a fitted one, which stays as it was."""
    model = TensOrMachine(**{"n_components": 2, **QUICK, **settings})
    before = dict(vars(model))
    assert re.match(message, refusal(model.fit, X))
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict()

    model = TensOrMachine(2, **QUICK).fit([[0, 1], [1, 1]])
    model.set_params(**settings)
    before, factors = dict(vars(model)), [factor.copy() for factor in model.factors_]
    refusal(model.fit, X)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert set(vars(model)) == set(before)
    for mine, old in zip(model.factors_, factors, strict=True):
        np.testing.assert_array_equal(mine, old)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            with_cell(2.0),
            r"X contains 2\.0 at \(4, 1, 2\); cells must be 0, 1 or missing \(NaN\), "
            r"unless you use tensorm\.read\(X, threshold=NUMBER\)\.$",
        ),
        (with_cell(-1, int), r"X contains -1 at \(4, 1, 2\); cells must be 0, 1 or missing"),
        (with_cell(0.5), r"X contains 0\.5 at \(4, 1, 2\); cells must be 0, 1 or missing"),
        (with_cell(np.inf), r"X contains inf at \(4, 1, 2\); cells must be 0, 1 or missing"),
        (with_cell(255, np.uint8), r"X contains 255 at \(4, 1, 2\); cells must be 0, 1 or missing"),
        (
            xr.DataArray(with_cell(7), dims=("hour", "who", "met"), coords={"who": list("abcd")}),
            r"X contains 7\.0 at \(4, 1, 2\) \(who 'b'\); cells must be",
        ),
        (np.array(1), r"X has 0 modes \(shape \(\)\); give at least 2 modes\.$"),
        (X[:, 0, 0], r"X has 1 mode \(shape \(5,\)\); give at least 2 modes\.$"),
        (X[:0], r"X has shape \(0, 4, 3\); mode 0 is empty, but every mode needs at least one index\.$"),
        (X[:, :, :0], r"X has shape \(5, 4, 0\); mode 2 is empty"),
        (np.zeros((0, 0)), r"X has shape \(0, 0\); mode 0 is empty"),
        ([], r"X has 1 mode \(shape \(0,\)\); give at least 2 modes\.$"),
        ([[]], r"X has shape \(1, 0\); mode 1 is empty"),
        (
            np.array([[0, NAN], [1, 1]], dtype=object),
            r"X has dtype object, with nan at \(0, 1\); convert to ",
        ),
        (
            [[0, None], [1, 1]],
            r"X has dtype object, with None at \(0, 1\); convert to bool, integer, or float",
        ),
        (np.array([[0, pd.NA]], dtype=object), r"X has dtype object, with <NA> at \(0, 1\); convert"),
        (X.astype(object), r"X has dtype object; convert to bool, integer, or float with NaN for missing\.$"),
        (X.astype(complex), r"X has dtype complex128, with .* at \(0, 0, 0\); convert"),
        (X.astype(str), r"X has dtype <U\d, with '\d' at \(0, 0, 0\); convert"),
        (X.astype(bytes), r"X has dtype \|S\d, with b'\d' at \(0, 0, 0\); convert"),
        (X.astype("M8[D]"), r"X has dtype datetime64\[D\], with "),
        (X.astype("m8[D]"), r"X has dtype timedelta64\[D\]"),
        ([[0, 1], [1]], r"X has lists of different lengths; make them equally long\.$"),
        (None, r"X is None; give an array, a table or the path of a file"),
        ("cells.csv", r"No such file: cells\.csv\.$"),
        ({"a": [0, 1]}, r"X is \{'a': \[0, 1\]\}, which cannot be read as an array; "),
        (iter([[0, 1]]), r"X is of type list_iterator, which cannot be read as an array; "),
        (
            pd.DataFrame({"a": [0.5], "b": ["x"]}),
            r"The table has the columns 'a', 'b', and numbers with fractions in 'a'; name the modes, as in "
            r"tensorm.read\(X, modes=\['a', 'b'\]\), or set wide=True if its first column has labels, or "
            r"threshold=NUMBER to turn the numbers in every column into 0 and 1\.$",
        ),
        (np.full((3, 4), NAN), r"X has no observed cell; give at least one that is not missing\.$"),
        (np.ma.masked_all((3, 4, 2)), r"X has no observed cell; give at least one that is not missing\.$"),
    ],
)
def test_data(cells: Any, message: str) -> None:
    before = repr(cells)
    check_fit_refuses(cells, message)
    assert repr(cells) == before


INTEGERS = [0, -1, 2.5, 2.0, "x", "3", True, None, NAN, [2], np.array([1, 2]), 1j]


@pytest.mark.parametrize("name", ["n_components", "n_chains", "n_draws"])
@pytest.mark.parametrize("value", INTEGERS, ids=repr)
def test_counts(name: str, value: Any) -> None:
    otherwise = ", or 'auto'" if name == "n_components" else ""
    message = rf"{name} is {re.escape(repr(value))}; give an integer of at least 1{otherwise}\.$"
    check_fit_refuses(X, message, **{name: value})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"burn_in": -1}, r"burn_in is -1; give an integer of at least 0, or 'auto'\.$"),
        ({"burn_in": "x"}, r"burn_in is 'x'; give an integer of at least 0, or 'auto'\.$"),
        ({"burn_in": 2.5}, r"burn_in is 2\.5; give an integer of at least 0, or 'auto'\.$"),
        ({"burn_in": None}, r"burn_in is None; "),
        ({"burn_in": np.array([1, 2])}, r"burn_in is array\(\[1, 2\]\); "),
        ({"n_jobs": 0}, r"n_jobs is 0; give an integer of at least 1, or None for all cores\.$"),
        ({"n_jobs": -2}, r"n_jobs is -2; "),
        ({"n_jobs": 1.5}, r"n_jobs is 1\.5; "),
        ({"n_jobs": "all"}, r"n_jobs is 'all'; "),
        ({"n_jobs": np.array([1, 2])}, r"n_jobs is array\(\[1, 2\]\); "),
        ({"random_state": -1}, r"random_state is -1; give an integer of at least 0, or None\.$"),
        ({"random_state": "a"}, r"random_state is 'a'; "),
        ({"random_state": 1.5}, r"random_state is 1\.5; "),
        (
            {"noise": "x"},
            r"noise is 'x'; choose 'symmetric', 'asymmetric', 'strengths', 'comparisons' or 'auto'\.$",
        ),
        ({"noise": ["symmetric"]}, r"noise is \['symmetric'\]; choose "),
        ({"noise_update": "gibbs"}, r"noise_update is 'gibbs'; choose 'sample' or 'map'\.$"),
        ({"flips": 1}, r"flips is 1; choose 'gibbs' or 'metropolis'\.$"),
        ({"order": "sorted"}, r"order is 'sorted'; choose 'random' or 'fixed'\.$"),
        ({"noise_prior": (1, 0)}, r"noise_prior is \(1, 0\); give two positive numbers\.$"),
        ({"noise_prior": (1, -2)}, r"noise_prior is \(1, -2\); "),
        ({"noise_prior": 1}, r"noise_prior is 1; "),
        ({"noise_prior": (1, 2, 3)}, r"noise_prior is \(1, 2, 3\); "),
        ({"noise_prior": (1, NAN)}, r"noise_prior is \(1, nan\); "),
        ({"noise_prior": (1, np.inf)}, r"noise_prior is \(1, inf\); "),
        ({"noise_prior": "ab"}, r"noise_prior is 'ab'; "),
        (
            {"strength_prior": {"spread": (1, 1)}},
            r"strength_prior needs noise='strengths' or 'auto'; leave it ",
        ),
        (
            STRONG | {"strength_prior": 3},
            r"strength_prior is 3; give a mapping such as \{'spread': \(0\.01, 1\)\}",
        ),
        (
            STRONG | {"strength_prior": {"mean": (1, 1)}},
            r"strength_prior names 'mean'; choose from typical, spread, rate, evenness\.$",
        ),
        (
            STRONG | {"strength_prior": {"rate": (1, 1)}, "background": "constant"},
            r"strength_prior names 'rate'; choose from typical, spread\.$",
        ),
        (
            STRONG | {"strength_prior": {"typical": (1, 0)}},
            r"strength_prior\['typical'\] is \(1, 0\); give two positive numbers\.$",
        ),
        (
            STRONG | {"strength_prior": {"spread": 0.1}},
            r"strength_prior\['spread'\] is 0\.1; give two positive",
        ),
        (
            STRONG | {"strength_prior": {"spread": (0.5, 0.1)}},
            r"strength_prior\['spread'\] is \(0\.5, 0\.1\); give two numbers from 0\.0001 to 1, the sm",
        ),
        (
            STRONG | {"strength_prior": {"evenness": (1, 1000)}},
            r"strength_prior\['evenness'\] is \(1, 1000\); give two numbers from 0\.25 to 512, the sm",
        ),
        ({"factor_prior": 1.5}, r"factor_prior is 1\.5; give a probability between 0 and 1\.$"),
        ({"factor_prior": -0.1}, r"factor_prior is -0\.1; "),
        ({"factor_prior": NAN}, r"factor_prior is nan; "),
        ({"factor_prior": None}, r"factor_prior is None; "),
        ({"factor_prior": True}, r"factor_prior is True; "),
        ({"factor_prior": "flat"}, r"factor_prior is 'flat'; choose 'learned' or 'short'\.$"),
        ({"factor_prior": "short"}, r"factor_prior='short' is for comparisons that count once; "),
        (
            {"factor_prior": [0.5, 0.5]},
            r"factor_prior has length 2; give 3 arrays, one per mode\.$",
        ),
        ({"factor_prior": {}}, r"factor_prior is \{\}"),
        ({"factor_prior": [0.5, 0.5, 2]}, r"factor_prior for mode 2 is 2\.0; give a probability"),
        (
            {"factor_prior": factors(value=1.5)},
            r"factor_prior for mode 0 contains 1\.5 at \(0, 0\); give probabilities between 0 and 1\.$",
        ),
        (
            {"factor_prior": factors(L=3, value=0.5)},
            r"factor_prior for mode 0 has shape \(5, 3\); give \(5, 2\), the size of the mode by n_comp",
        ),
        (
            {"factor_prior": [*factors()[:2], [["a", "b"]] * 3]},
            r"factor_prior for mode 2 has dtype <U1, with",
        ),
        ({"init": "zeros"}, r"init is 'zeros'; choose 'data', 'random' or 'coins'\.$"),
        ({"init": None}, r"init is None; give a list of 3 arrays, one per mode\.$"),
        ({"init": factors()[:2]}, r"init has length 2; give 3 arrays, one per mode\.$"),
        (
            {"init": factors(L=3)},
            r"init for mode 0 has shape \(5, 3\); give \(5, 2\), the size of the mode by n_components\.$",
        ),
        ({"init": [factor.T for factor in factors()]}, r"init for mode 0 has shape \(2, 5\); give \(5, 2\)"),
        ({"init": factors(value=0.5)}, r"init for mode 0 contains 0\.5 at \(0, 0\); give only 0 and 1\.$"),
        ({"init": factors(value=NAN)}, r"init for mode 0 contains nan at \(0, 0\); give only 0 and 1\.$"),
    ],
    ids=lambda value: "-".join(f"{k}={v}"[:30] for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    check_fit_refuses(X, message, **settings)


@pytest.mark.parametrize("take", [TensOrMachine(2, **QUICK).fit, DenseTensor], ids=["fit", "DenseTensor"])
@pytest.mark.parametrize("shape", [(10**5, 10**5, 10**4), (10**7, 10**7), (2, 10**14), (10**3,) * 5])
def test_a_tensor_larger_than_memory(take: Any, shape: tuple[int, ...]) -> None:
    """An estimate before any cell is read: these share one byte, and would need thousands of GB."""
    message = refusal(take, np.broadcast_to(np.int8(1), shape))
    cells = f"{np.prod(shape, dtype=object):,}"
    assert re.match(rf"X has {cells} cells, which take {GIB} packed .* this machine has {GIB}; ", message)


@pytest.mark.parametrize(
    "settings", [{"n_components": 2**24}, {"n_draws": 10**6, "n_chains": 10**5}], ids=["components", "draws"]
)
def test_draws_larger_than_memory(settings: dict[str, int]) -> None:
    for name, value in settings.items():
        message = rf".*{name}( is)? {value:,}.* take {GIB} and this machine has {GIB}; "
        check_fit_refuses(X, message, **settings)


@pytest.mark.parametrize("number", [10**12, 10**400])
def test_more_components_than_any_machine_holds(number: int) -> None:
    check_fit_refuses(
        X, r"n_components is .*; give an integer of at most 16,777,216, or 'auto'\.", n_components=number
    )


def test_transform(fitted: TensOrMachine) -> None:
    assert refusal(fitted.transform, X[:, :3]) == "X has shape (5, 3, 3); give (any, 4, 3), as in fit."
    assert refusal(fitted.transform, X[0]) == "X has shape (4, 3); give (any, 4, 3), as in fit."
    assert refusal(fitted.transform, X[None]) == "X has shape (1, 5, 4, 3); give (any, 4, 3), as in fit."
    assert refusal(fitted.transform, with_cell(3)).startswith("X contains 3.0 at (4, 1, 2); ")
    assert refusal(fitted.transform, X[:0]).startswith("X has shape (0, 4, 3); mode 0 is empty")


def test_score(fitted: TensOrMachine) -> None:
    assert refusal(fitted.score, X[:, :3]) == "X has shape (5, 3, 3); give (5, 4, 3), as in fit."
    assert refusal(fitted.score, with_cell(0.5)).startswith("X contains 0.5 at (4, 1, 2); ")
    everything_missing = np.full(X.shape, NAN)
    assert refusal(fitted.score, everything_missing).startswith("X has no observed cell; ")


@pytest.mark.parametrize("method", ["x", None, 1, ["mean"]])
def test_method(fitted: TensOrMachine, method: Any) -> None:
    message = refusal(fitted.predict, method=method)
    assert message == f"method is {method!r}; choose 'predictive', 'mean', 'map' or 'best'."


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        (
            [0, 1, 1],
            "indices has shape (3,) and dtype int64; give integers of shape (n, 3), one row for each",
        ),
        ([[0, 1]], "indices has shape (1, 2) and dtype int64; give integers of shape (n, 3), one row for"),
        ([[0.0, 1.0, 1.0]], "indices has shape (1, 3) and dtype float64; give integers of shape (n, 3)"),
        ([[True, False, True]], "indices has shape (1, 3) and dtype bool; give integers of shape (n, 3)"),
        ([["a", "b", "c"]], "Unknown mode 0 'a' in row 0 of indices; labels look like '0'."),
        ([[0, 1], [1]], "indices has lists of different lengths; make them equally long."),
        ([[0, 0, 0], [0, 4, 0]], "indices contains 4 for mode 1; give indices from 0 to 3."),
        ([[0, 0, 0], [0, 0, -1]], "indices contains -1 for mode 2; give indices from 0 to 2."),
        (
            np.array([[2**63, 0, 0]], np.uint64),
            "indices contains 9223372036854775808 for mode 0; give indices",
        ),
        (7, "indices has shape () and dtype int64; give integers of shape (n, 3)"),
        (X, "indices has shape (5, 4, 3) and dtype int8; give integers of shape (n, 3)"),
    ],
)
def test_indices(fitted: TensOrMachine, indices: Any, message: str) -> None:
    assert refusal(fitted.predict, indices).startswith(message)
    assert refusal(fitted.predict_proba, indices).startswith(message)


def test_names_of_modes_and_nothing_at_all() -> None:
    assert refusal(check_indices, [[0, 9]], (2, 3), ("hour", "met")) == (
        "indices contains 9 for met; give indices from 0 to 2."
    )
    assert refusal(tensorm.read, None) == "X is None; give an array, a table or the path of a file."


def test_before_fit() -> None:
    model = TensOrMachine(2, **QUICK)
    for call in (model.predict, model.predict_proba, lambda: model.transform(X), lambda: model.score(X)):
        with pytest.raises(NotFittedError, match="TensOrMachine"):
            call()


def test_nothing_is_checked_before_fit() -> None:
    """As scikit-learn wants it: a setting is what it is until it is used."""
    model = TensOrMachine(n_components="many", noise=None)  # type: ignore[arg-type]
    assert model.get_params()["n_components"] == "many"
    assert tensorm.TensOrMachine(**model.get_params()).noise is None


class NoArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError


class Endless:
    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, _: int) -> float:
        return 0.5


def test_priors_of_strange_classes() -> None:
    check_fit_refuses(X, "factor_prior is of type NoArray, which cannot be read", factor_prior=NoArray())
    check_fit_refuses(X, "factor_prior needs more memory than is available", factor_prior=Endless())
