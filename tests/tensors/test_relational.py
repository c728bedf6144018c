"""Relational tensors: the cells follow from the values, and every verb gives what a dense tensor gives."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logit

import tensorm
from tensorm import DenseTensor, InputError, RelationalTensor, TensOrMachine
from tensorm.tensors import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Weights, read, relational, slices
from tensorm.tensors.factors import Factors
from tensorm.tensors.measurements import RankTable
from tensorm.tensors.slices import SlicedTensor

Index = list[np.ndarray]


def compare(matrix: np.ndarray, part: Index | None = None) -> np.ndarray:
    """The definition, cell by cell."""
    objects, first, second = part or [np.arange(n) for n in (*matrix.shape, matrix.shape[1])]
    X = np.full((len(objects), len(first), len(second)), np.nan)
    for cell in np.ndindex(X.shape):
        o, i, j = (index[n] for index, n in zip((objects, first, second), cell, strict=True))
        if matrix[o, i] > matrix[o, j]:
            X[cell] = 1
        elif matrix[o, i] < matrix[o, j]:
            X[cell] = 0
    return X


def numbers(shape: tuple[int, int], levels: int, missing: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(levels, size=shape).astype(float)
    matrix[rng.random(shape) < missing] = np.nan
    return matrix


def cells_of(tensor: SlicedTensor, max_cells: int = 2**22) -> np.ndarray:
    return np.concatenate([np.where(seen, ones, np.nan) for _, ones, seen in tensor.blocks(max_cells)])


def widen(tensor: RelationalTensor) -> RelationalTensor:
    """Put the same ranks in twice the room, as many attributes would."""
    table = tensor._left
    wide = RankTable.empty(len(table.alone), table.numbers, np.uint32)
    wide.ranks[...] = np.where(table.ranks == 2**16 - 1, 2**32 - 1, table.ranks.astype(np.uint32) * 7)
    wide = wide._replace(alone=table.alone)
    return tensor._with(wide, wide, None)


def make_cases() -> dict[str, tuple[RelationalTensor, np.ndarray]]:
    rng, cases = np.random.default_rng(1), {}
    for name, matrix in {
        "distinct": rng.random((9, 70)),
        "ties": numbers((9, 70), 12),
        "missing": numbers((7, 66), 40, 0.2),
        "one": numbers((1, 1), 3),
        "two words": rng.random((70, 3)),
        "vectors": rng.random((3, 300)),
        "some missing": np.where(np.arange(8)[:, None] == 3, np.nan, rng.random((8, 20))),
    }.items():
        cases[name] = RelationalTensor(matrix, normalise=None), compare(matrix)
    matrix = numbers((12, 70), 50, 0.1, seed=2)
    tensor = RelationalTensor(matrix, normalise=None)
    for name, part in {
        "few left": [np.arange(12), np.array([3, 60, 9]), np.arange(70)],
        "few right": [np.arange(12), np.arange(70), np.array([5, 4])],
        "few objects": [np.array([7, 2]), np.arange(70), np.arange(70)],
        "a box": [np.array([1, 5, 6]), np.arange(10, 40), np.array([66, 12, 15])],
        "the same on both sides": [np.arange(6), np.arange(3, 33), np.arange(3, 33)],
        "twice the same": [np.arange(6), np.array([3, 3, 9]), np.array([3, 9, 9, 3])],
    }.items():
        cases[name] = tensor.take(part), compare(matrix, part)
    matrix, part = rng.random((3, 70)), [np.arange(3), np.array([3, 3, 9]), np.array([3, 8, 9, 9])]
    cases["twice, no ties"] = RelationalTensor(matrix, normalise=None).take(part), compare(matrix, part)
    matrix = numbers((12, 70), 50, 0.1, seed=2)
    cases["wide ranks"] = widen(tensor), compare(matrix)
    matrix, part = numbers((100, 70), 50, 0.01), [np.arange(100), np.arange(8), np.arange(70)]
    cases["many objects"] = RelationalTensor(matrix, normalise=None).take(part), compare(matrix, part)
    for name in ("distinct", "missing", "few right", "wide ranks", "many objects"):
        tensor, X = cases[name]
        for side, held in zip(("train", "test"), tensor.hold_out(0.3, 5), strict=True):
            cases[f"{name}, {side}"] = held, np.where(np.isnan(cells_of(held)), np.nan, X)
    return cases


CASES = make_cases()
cases = pytest.mark.parametrize(("tensor", "X"), CASES.values(), ids=CASES.keys())


@cases
def test_cells(tensor: RelationalTensor, X: np.ndarray) -> None:
    np.testing.assert_array_equal(cells_of(tensor), X)
    np.testing.assert_array_equal(cells_of(tensor, max_cells=1), X)
    assert tensor.shape == X.shape
    assert tensor.n_observed == np.count_nonzero(~np.isnan(X))
    assert tensor.n_ones == np.count_nonzero(X == 1)
    assert read(tensor) is tensor
    compact = tensor.compact()
    assert isinstance(compact, DenseTensor if min(X.shape[1:]) < relational.SHORT else RelationalTensor)
    np.testing.assert_array_equal(cells_of(compact), X)
    assert (compact.n_observed, compact.n_ones) == (tensor.n_observed, tensor.n_ones)


@cases
@pytest.mark.parametrize("L", [3, 70])
def test_every_verb_is_a_dense_tensors(
    tensor: RelationalTensor, X: np.ndarray, L: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    dense, rng = DenseTensor(X), np.random.default_rng(L)
    factors = Factors.from_bits([rng.random((size, L)) < (0.6 if L == 3 else 0.1) for size in X.shape])
    for mode, size in enumerate(X.shape):
        for got in (tensor, tensor.with_threads(3), tensor.compact()):
            np.testing.assert_array_equal(got.counts(mode, factors), dense.counts(mode, factors))
        some = [L - 1, 0]
        np.testing.assert_array_equal(tensor.counts(mode, factors, some), dense.counts(mode, factors, some))
        rows = np.sort(rng.choice(size, 1 + size // 2, replace=False))
        for got in (tensor, dense):
            np.testing.assert_array_equal(
                got.counts(mode, factors, some, rows),
                np.array(dense.counts(mode, factors, some))[:, rows],
            )
        for kind in (GIBBS, METROPOLIS, GREEDY):
            prior = logit(rng.choice([0.0, 1.0, 0.5, 0.3], size=(size, L)))
            rule = Rule(rng.permutation(L), kind, Weights(0.9, 0.8), prior)
            stream = Stream(np.uint64(rng.integers(2**63)), 1, 5, mode)
            expected = dense.update_factor(mode, factors, rule, stream)
            for got in (tensor, tensor.with_threads(2)):
                np.testing.assert_array_equal(got.update_factor(mode, factors, rule, stream), expected)
            mixed = factors[mode].copy()
            mixed[rows] = expected[rows]
            for got in (tensor, dense):
                new = got.update_factor(mode, factors, rule, stream, rows)
                np.testing.assert_array_equal(new, mixed)
    assert tensor.confusion(factors) == dense.confusion(factors)
    cells = [got.sample_ones(np.random.default_rng(7), 50) for got in (tensor, dense)]
    np.testing.assert_array_equal(*cells)


def test_values_are_brought_to_one_scale() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.lognormal(size=(30, 8)) * 10.0 ** np.arange(8)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    matrix[:, 3] = 5.0  # the same for all: its z-score is 0
    mean, spread = np.nanmean(matrix, axis=0), np.nanstd(matrix, axis=0)
    scores = (matrix - mean) / np.where(spread > 0, spread, 1)
    np.testing.assert_array_equal(cells_of(RelationalTensor(matrix)), compare(scores))
    shares = np.full(matrix.shape, np.nan)
    for o, a in np.argwhere(~np.isnan(matrix)):
        known = matrix[~np.isnan(matrix[:, a]), a]
        below, equal = np.sum(known < matrix[o, a]), np.sum(known == matrix[o, a])
        shares[o, a] = (below + equal / 2) / len(known)
    np.testing.assert_array_equal(cells_of(RelationalTensor(matrix, normalise="rank")), compare(shares))


def test_rounding_is_no_comparison() -> None:
    """Columns of the same values, in another order and another unit, are equal where their values are."""
    rng, column = np.random.default_rng(0), np.repeat([0.0, 1.0, 3.0], [440, 40, 20])
    matrix = np.stack([rng.permutation(column) for _ in range(20)], axis=1)
    unscaled = RelationalTensor(matrix, normalise=None)
    for units in (1, np.linspace(0.3, 7, 20)):
        np.testing.assert_array_equal(cells_of(RelationalTensor(matrix * units)), cells_of(unscaled))


def test_large_integers_are_not_rounded() -> None:
    matrix = np.array([[2**60, 2**60 + 1], [5, 4]])
    np.testing.assert_array_equal(cells_of(RelationalTensor(matrix, normalise=None))[:, 0, 1], [0, 1])


@pytest.mark.parametrize("normalise", ["zscore", "rank", None])
def test_new_objects_are_scaled_like_the_old(normalise: str | None) -> None:
    matrix = np.random.default_rng(3).normal(size=(40, 6)) * np.arange(1, 7)
    tensor = RelationalTensor(matrix, normalise=normalise)
    again = tensor.new_objects(matrix[5:9])
    np.testing.assert_array_equal(cells_of(again), cells_of(tensor)[5:9])
    with pytest.raises(InputError, match="has 5 attributes; give 6"):
        tensor.new_objects(matrix[:, :5])
    with pytest.raises(InputError, match="part of another"):
        tensor.take([np.arange(2), np.arange(6), np.arange(6)]).new_objects(matrix)


def test_tables_bring_names() -> None:
    import pandas as pd

    table = pd.DataFrame(
        {"b": [1.0, None], "a": [2, 3]}, index=pd.Index(["x", "y"], name="patient")
    ).rename_axis(columns="gene")
    tensor = RelationalTensor(table, normalise=None)
    assert tensor.modes == ("patient", "gene", "other gene")
    np.testing.assert_array_equal(tensor.labels[0], ["x", "y"])
    np.testing.assert_array_equal(tensor.labels[2], ["b", "a"])
    assert tensor.n_observed == 2
    with pytest.raises(InputError, match="different attributes, or a different order"):
        tensor.new_objects(table[["a", "b"]])
    small = tensor.take([np.array([1]), np.array([0, 1]), np.array([1])])
    np.testing.assert_array_equal(small.labels[2], ["a"])
    named = RelationalTensor([[1, 2]], modes=("o", "i", "j"), labels=(None, ["p", "q"]))
    assert named.modes == ("o", "i", "j")
    assert named.labels[0] is None
    np.testing.assert_array_equal(named.labels[2], ["p", "q"])


def test_anndata_brings_names() -> None:
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(np.array([[1.0, 2.0], [4.0, 3.0]], np.float32))
        data.obs_names, data.var_names = ["x", "y"], ["p", "q"]
    tensor = RelationalTensor(data, normalise=None)
    np.testing.assert_array_equal(tensor.labels[1], ["p", "q"])
    np.testing.assert_array_equal(cells_of(tensor)[:, 0, 1], [0, 1])


def test_masked_values_are_missing() -> None:
    matrix = np.ma.array([[1, 2, 3]], mask=[[False, True, False]])
    np.testing.assert_array_equal(
        cells_of(RelationalTensor(matrix, normalise=None)), compare(np.array([[1, np.nan, 3]]))
    )


@pytest.mark.parametrize(
    ("matrix", "settings", "message"),
    [
        (np.ones(3), {}, r"shape \(3,\); give objects by attributes"),
        (np.ones((0, 3)), {}, "at least one of each"),
        ([[1.0, np.inf]], {}, r"contains inf at \(0, 1\); give finite numbers"),
        ([["a", "b"]], {}, "convert to integer, or float"),
        ([[1, 2]], {"normalise": "log"}, "normalise is 'log'; choose 'zscore' or 'rank'"),
        ([[1, 2]], {"ties": "zero"}, "ties is 'zero'; choose 'missing'"),
        ([[1, 2]], {"modes": ("a", "b")}, "give 3 different names"),
        ([[1, 2]], {"modes": ("a", "a", "b")}, "give 3 different names"),
        ([[1, 2]], {"modes": 3}, "modes is 3; give a list"),
        ([[1, 2]], {"labels": (["a"], ["b"])}, r"labels of 'attribute' have shape \(1,\); give \(2,\)"),
        ([[1, 2]], {"labels": (["a"], [["b"], ["c", "d"]])}, "must be flat lists"),
        ([[1e308], [-1e308]], {}, "too large to be scaled"),
    ],
)
def test_bad_input(matrix: object, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RelationalTensor(matrix, **settings)


def test_ranks_take_two_bytes_or_four() -> None:
    few = RelationalTensor(np.random.default_rng(0).random((2, 65_536)).round(4), normalise=None)
    many = RelationalTensor(np.random.default_rng(0).random((2, 65_536)), normalise=None)
    assert (few._left.flat.itemsize, many._left.flat.itemsize) == (2, 4)
    part = [np.arange(2), np.arange(0, 65_536, 2000), np.arange(1, 65_536, 3000)]
    values = np.random.default_rng(0).random((2, 65_536))
    np.testing.assert_array_equal(cells_of(many.take(part)), compare(values, part))
    assert many.n_observed == 2 * 65_536 * 65_535
    assert many.n_ones == many.n_observed // 2


def test_parts_are_disjoint_whole_and_mirrored() -> None:
    tensor = RelationalTensor(numbers((60, 90), 400))
    train, test = tensor.hold_out(0.2, random_state=3)
    seen, hidden = (~np.isnan(cells_of(part)) for part in (train, test))
    np.testing.assert_array_equal(seen ^ hidden, ~np.isnan(cells_of(tensor)))
    np.testing.assert_array_equal(hidden, hidden.swapaxes(1, 2))
    assert not (seen & hidden).any()
    np.testing.assert_array_equal(cells_of(tensor.hold_out(0.2, random_state=3)[1]), cells_of(test))
    assert (cells_of(tensor.hold_out(0.2, random_state=4)[1]) != cells_of(test)).any()
    small = [np.arange(5, 9), np.arange(30, 80), np.arange(20)]
    np.testing.assert_array_equal(cells_of(test.take(small)), cells_of(test)[np.ix_(*small)])
    overlapping = tensor.take([np.arange(60), np.arange(50), np.arange(20, 80)]).hold_out(0.2)[1]
    shared = ~np.isnan(cells_of(overlapping)[:, 20:, :30])
    np.testing.assert_array_equal(shared, shared.swapaxes(1, 2))


def test_ones_of_a_part_are_its_own() -> None:
    tensor = RelationalTensor(numbers((9, 40), 30))
    tensor.sample_ones(np.random.default_rng(0), 5)
    for part in tensor.hold_out(0.5):
        cells = part.sample_ones(np.random.default_rng(0), 50)
        np.testing.assert_array_equal(cells_of(part)[tuple(cells.T)], 1)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_parts_look_like_chance(share: float) -> None:
    """Shares by object, by attribute and by pair, and neighbours of all kinds, are as if drawn at random."""
    O, A = 200, 120
    matrix = np.random.default_rng(0).random((O, A))
    hidden = ~np.isnan(cells_of(RelationalTensor(matrix).hold_out(share, 8)[1]))
    upper = np.triu(np.ones((A, A), bool), 1)
    pairs = hidden[:, upper]
    noise = np.sqrt(share * (1 - share))
    assert abs(pairs.mean() - share) < 0.01 * np.sqrt(share)
    for found, cells in (
        (pairs.mean(axis=1), pairs.shape[1]),
        (pairs.mean(axis=0), O),
        (hidden.sum(axis=(0, 2)) / (O * (A - 1)), O * (A - 1)),
    ):
        spread = (found - share).std() / (noise / np.sqrt(cells))
        assert 0.6 < spread < 1.35  # evener than chance does no harm
    centred = pairs - pairs.mean()
    for a, b in (
        (centred[1:], centred[:-1]),
        (centred[:, 1:], centred[:, :-1]),
        (centred[: O // 2], centred[O // 2 :]),
        (centred[:, ::2][:, : len(centred.T) // 2], centred[:, 1::2]),
    ):
        assert abs((a * b).mean() / noise**2) < 0.01


def test_held_out_twice_is_refused() -> None:
    train, _ = RelationalTensor(np.eye(3)).hold_out()
    with pytest.raises(InputError, match="held out already; use the tensor before the split"):
        train.hold_out()
    with pytest.raises(InputError, match="above 0 and below 1"):
        RelationalTensor(np.eye(3)).hold_out(1.0)


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    """Two groups of patients, in one of which some genes are up."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 16)).round(2)
    values[:10, :6] += 3
    values[rng.random(values.shape) < 0.05] = np.nan
    return values


SETTINGS = {
    "noise": "asymmetric",
    "n_components": 3,
    "n_chains": 2,
    "n_draws": 8,
    "effort": 0.1,
    "random_state": 0,
    "progress": False,
}


def same_draws(a: TensOrMachine, b: TensOrMachine) -> None:
    for x, y in zip(a.posterior_.chains, b.posterior_.chains, strict=True):
        for f, g in zip(x.factors, y.factors, strict=True):
            np.testing.assert_array_equal(f, g)
        for name in ("noise", "density", "confusion", "log_posterior"):
            np.testing.assert_array_equal(getattr(x, name), getattr(y, name))
        assert (x.burn_in, x.settled) == (y.burn_in, y.settled)


def test_a_fit_is_that_of_the_dense_tensor(matrix: np.ndarray, tmp_path: Path) -> None:
    tensor = RelationalTensor(matrix)
    train, test = tensor.hold_out(0.2)
    model = TensOrMachine(**SETTINGS).fit(train, run_dir=tmp_path / "run")
    dense = TensOrMachine(**SETTINGS).fit(DenseTensor(cells_of(train)))
    same_draws(model, dense)
    assert model.contributions_ == dense.contributions_
    assert model.score(test) == dense.score(cells_of(test))
    assert str(model.scores(test)) == str(dense.scores(cells_of(test)))
    assert model.scores(test).model.auc > 0.6
    np.testing.assert_array_equal(
        model.transform(tensor.new_objects(matrix[:4])), dense.transform(cells_of(tensor)[:4])
    )
    (tmp_path / "run" / "fit.tensorm").unlink()
    for checkpoint in (tmp_path / "run").glob("chain-*"):
        checkpoint.unlink()
    same_draws(tensorm.resume(tmp_path / "run", progress=False), model)
    model.save(tmp_path / "fit.tensorm")
    assert tensorm.load(tmp_path / "fit.tensorm").modes_ == ("object", "attribute", "other attribute")
    assert model.to_datatree(test)["observed_data"]["x"].shape == tensor.shape


@pytest.mark.parametrize("name", ["missing", "few right", "wide ranks", "missing, train", "few right, test"])
def test_a_run_keeps_ranks(name: str) -> None:
    tensor, X = CASES[name]
    again = RelationalTensor.from_arrays(tensor.arrays(), tensor.shape)
    np.testing.assert_array_equal(cells_of(again), X)
    assert again.n_ones == tensor.n_ones


def test_scores_of_many_cells_rest_on_some_objects(
    matrix: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorm.posterior import scores

    tensor = RelationalTensor(matrix)
    model = TensOrMachine(**SETTINGS).fit(tensor)
    monkeypatch.setattr(scores, "SCORED", tensor.n_observed // 4)
    some = model.scores(tensor)
    assert tensor.n_observed // 6 < some.n_cells < tensor.n_observed // 3
    monkeypatch.undo()
    every = model.scores(tensor)
    assert every.n_cells == tensor.n_observed
    assert abs(some.model.accuracy - every.model.accuracy) < 0.1


def test_masks_of_relational_tensors_are_mirrored(matrix: np.ndarray) -> None:
    tensor = RelationalTensor(matrix)
    mask = tensorm.train_test_mask(tensor, 0.2)
    np.testing.assert_array_equal(mask, mask.swapaxes(1, 2))
    with pytest.raises(InputError, match="use its hold_out"):
        tensorm.hide(tensor, mask)
    huge = RelationalTensor(np.zeros((2**8, 2**10))).take([np.arange(2**8)] + 2 * [np.arange(2**10)])
    huge.shape = (2**20, 2**20, 2**20)
    with pytest.raises(InputError, match="use hold_out, also of a RelationalTensor"):
        tensorm.train_test_mask(huge, 0.2)


def test_memory_is_that_of_the_ranks() -> None:
    tensor = RelationalTensor(np.random.default_rng(0).random((200, 640)))
    assert tensor.nbytes < 3.5 * 200 * 640


@pytest.mark.parametrize("normalise", ["zscore", "rank", None])
def test_values_at_the_floor_are_not_compared(normalise: str | None) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.lognormal(size=(40, 6)) + 1
    matrix[:, :2] = 0  # measured in nobody
    matrix[:15, 2] = 0
    tensor = RelationalTensor(matrix, normalise=normalise, floor=0)
    cells = cells_of(tensor)
    assert np.isnan(cells[:, :2]).all()
    assert np.isnan(cells[:, :, :2]).all()
    assert np.isnan(cells[:15, 2]).all()
    assert not np.isnan(cells[15:, 2, 3:]).any()
    gaps = np.where(matrix == 0, np.nan, matrix)
    np.testing.assert_array_equal(cells, cells_of(RelationalTensor(gaps, normalise=normalise)))
    new = cells_of(tensor.new_objects(matrix[:20]))
    np.testing.assert_array_equal(new, cells[:20])
    whole = RelationalTensor(matrix, normalise=normalise)
    assert whole.n_observed > tensor.n_observed
    for wrong in ("0", np.nan, np.inf):
        with pytest.raises(InputError, match=r"floor is .*; give a number"):
            RelationalTensor(matrix, floor=wrong)  # type: ignore[arg-type]


def test_comparisons_that_were_made_are_known() -> None:
    """Whichever of the two is higher: the mirror image of a zero is a one."""
    tensor = RelationalTensor(np.array([[3.0, 1.0, np.nan]]), normalise=None)
    np.testing.assert_array_equal(tensor.known_keys(1, 1), [3])  # cell (0, 1, 0), a zero
    np.testing.assert_array_equal(tensor.known_keys(1, 0), [1])
