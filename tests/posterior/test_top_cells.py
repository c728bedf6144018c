"""The likeliest unknown cells of a slice, and cells held out of a sparse tensor."""

from __future__ import annotations

import numpy as np
import pytest

from tensorm import InputError, SparseTensor, TensOrMachine, hold_out, score_cells
from tensorm.posterior import top_cells as links


def blocks(shape: tuple[int, ...]) -> np.ndarray:
    X = np.zeros(shape, bool)
    X[:8, :9, :7] = X[5:20, 12:20, 5:12] = True
    return X


@pytest.fixture(scope="module")
def fitted() -> tuple[np.ndarray, np.ndarray, TensOrMachine]:
    """Two blocks that overlap in some modes, a tenth of their ones flipped."""
    X = blocks((25, 24, 23))
    given = X & (np.random.default_rng(0).random(X.shape) < 0.9)
    model = TensOrMachine(2, n_chains=2, n_draws=30, random_state=0, noise="asymmetric", progress=False)
    return X, given, model.fit(SparseTensor(np.nonzero(given), X.shape))


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_top_cells_are_those_of_the_whole_slice(fitted: tuple, mode: int, sparse: bool) -> None:
    X, given, model = fitted
    p = np.where(given, -1, model.predict_proba())
    known = SparseTensor(np.nonzero(given), X.shape) if sparse else given
    row = p.take(6, axis=mode)
    wanted = int((row > 0.5).sum())
    assert wanted > 3
    found = model.top_cells(mode, 6, n=wanted, known=known)
    np.testing.assert_array_equal(found.probabilities, np.sort(row.ravel())[::-1][:wanted])
    np.testing.assert_array_equal(found.probabilities, p[tuple(found.indices.T)])
    assert (found.indices[:, mode] == 6).all()
    assert X[tuple(found.indices.T)].all()
    assert len(str(found).splitlines()) == wanted


def test_listed_zeros_are_known(fitted: tuple) -> None:
    X, given, model = fitted
    known = SparseTensor(np.argwhere(X), X.shape, given[X], unlisted="missing")
    assert not X[tuple(model.top_cells(0, 6, known=known).indices.T)].any()


def test_a_slice_outside_of_all_components_has_none(fitted: tuple) -> None:
    _, _, model = fitted
    assert len(model.top_cells(0, 24).indices) < 3
    with pytest.raises(InputError, match=r"^n is 0; give an integer of at least 1.$"):
        model.top_cells(0, 1, n=0)
    with pytest.raises(InputError, match=r"^known has shape \(2, 2\); give \(25, 24, 23\), as in fit.$"):
        model.top_cells(0, 1, known=np.eye(2))


def test_of_large_components_the_surest_members(fitted: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, model = fitted
    monkeypatch.setattr(links, "MAX_CONSIDERED", 12)
    found = model.top_cells(0, 6, n=50)
    assert 10 <= len(found.indices) <= 24
    assert X[tuple(found.indices.T)].all()


def test_the_most_probable_cells_of_all(fitted) -> None:
    _, known, model = fitted
    p = model.predict_proba()
    found = model.top_cells(n=30)
    np.testing.assert_allclose(found.probabilities, np.sort(p.ravel())[::-1][:30])
    new = model.top_cells(n=5, known=known)
    np.testing.assert_allclose(new.probabilities, np.sort(p[~known])[::-1][:5], atol=1e-9)
    with pytest.raises(InputError, match=r"^top_cells\('mode 1'\) needs an index, too; give a label"):
        model.top_cells("mode 1")


@pytest.mark.parametrize("shared", [True, False])
def test_pairs_without_direction_are_named_once(shared: bool) -> None:
    X = np.zeros((3, 12, 12))
    X[:2, :6, :6] = X[1:, 5:12, 5:12] = 1
    X[1, 2, 4] = X[1, 4, 2] = X[1, 8, 9] = X[1, 9, 8] = 0
    X[:, range(12), range(12)] = np.nan
    pair = (1, 2) if shared else None
    model = TensOrMachine(
        2, symmetric=pair, n_chains=2, n_draws=20, random_state=0, noise="asymmetric", progress=False
    ).fit(X)
    told = None if shared else (1, 2)  # by default those of the model
    of_time = model.top_cells(0, 1, n=2, known=X, symmetric=told).indices.tolist()
    assert sorted(of_time) == [[1, 2, 4], [1, 8, 9]]
    i, j = model.top_cells(1, 4, n=100, symmetric=told).indices.T[1:]
    assert (i == 4).all()
    assert set(j) >= {0, 1, 2, 3, 5}
    assert 4 not in j


@pytest.mark.parametrize("unlisted", ["zero", "missing"])
def test_held_out_cells_are_missing(unlisted: str) -> None:
    X = blocks((25, 24, 23))
    cells = np.random.default_rng(0).random(X.shape) < 0.5
    if unlisted == "zero":
        tensor = SparseTensor(np.nonzero(X), X.shape, missing=np.argwhere(~cells & ~X))
    else:
        tensor = SparseTensor(np.argwhere(cells), X.shape, X[cells], unlisted="missing")
    train, tested, values = hold_out(tensor, 0.25, zeros=2, random_state=1)
    assert len(np.unique(tested, axis=0)) == len(tested)
    np.testing.assert_array_equal(values, X[tuple(tested.T)])
    (_, _, before), *_ = tensor.blocks()
    (_, after_ones, after), *_ = train.blocks()
    np.testing.assert_array_equal(np.argwhere(before & ~after), np.unique(tested, axis=0))
    np.testing.assert_array_equal(after_ones, X & after)
    assert values.sum() == round(0.25 * tensor.n_ones)
    if unlisted == "zero":
        assert (~values).sum() == 2 * values.sum()
        model = TensOrMachine(
            2, n_chains=1, n_draws=20, random_state=0, noise="asymmetric", progress=False
        ).fit(train)
        assert score_cells(values, model.predict_proba(tested)).model.auc > 0.99


def test_holding_out_of_a_huge_tensor() -> None:
    coords = np.random.default_rng(0).integers(10**5, size=(1000, 3))
    train, tested, values = hold_out(SparseTensor(coords, (10**5,) * 3), random_state=0)
    assert (len(tested), values.sum(), train.n_ones) == (400, 200, 800)
    with pytest.raises(InputError, match=r"^test_size is 1.5; give a probability"):
        hold_out(train, 1.5)
