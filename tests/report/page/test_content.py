"""What the page's script is given: members and what they contribute, cells, the first sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posteriors import HOURS, PEOPLE, bits, make_posterior, set_noise, ward_posterior
from tensorm import RelationalTensor, SparseTensor, TensOrMachine, datasets
from tensorm.posterior.contributions import count_members
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.modes import list_modes
from tensorm.report.describe import describe_components
from tensorm.report.page.cells import (
    list_surprises,
    list_unknown,
    picture_box,
    read_box,
    slice_cells,
    thin,
    weigh_pairs,
)
from tensorm.report.page.charts import trace_chains
from tensorm.report.page.content import collect
from tensorm.report.page.finding import name_sizes, tell_finding
from tensorm.report.page.members import find_homes, pack_members
from tensorm.tensors import read


def everything(posterior, X=None, metadata=None):
    tensor = None if X is None else read(X)
    posterior = posterior if tensor is None else posterior.measure(tensor)
    return collect(posterior, tensor, metadata, describe_components(posterior))


def count_all(posterior, X):
    return count_members(read(X), posterior.member_factors(), [np.arange(size) for size in posterior.shape])


def cover(factors):
    """Which cells components cover."""
    return np.einsum("il,jl,kl->ijk", *(factor.astype(int) for factor in factors)) > 0


@pytest.fixture(scope="module")
def ward(ward_fit):
    X, model = ward_fit
    return model, X, everything(model.posterior_, X, {"person": X.role, "met": X.role})


def test_probabilities_are_as_they_are(ward) -> None:
    model, _, data = ward
    for k, factor in enumerate(model.factors_):
        found = np.zeros_like(factor)
        for l, component in enumerate(data["components"]):
            found[component["members"][k]["at"], l] = np.array(component["members"][k]["p"]) / 1000
        np.testing.assert_allclose(found, factor, atol=0.0051)


def test_contributions_are_shares_of_the_components_cells(ward) -> None:
    model, X, data = ward
    best, values = [factor > 0.5 for factor in model.factors_], X.values
    for l, k in ((0, 0), (2, 1), (5, 2)):
        inside = cover([factor[:, [l]] for factor in best])
        others = cover([np.delete(factor, l, axis=1) for factor in best])
        members = data["components"][l]["members"][k]
        for i, n in enumerate(members["at"]):
            if not best[k][n, l]:
                continue
            cells = values.take(n, k)[inside.take(n, k)]
            ones = np.nansum(cells)
            assert members["shown"][i] == round(100 * ones / np.count_nonzero(~np.isnan(cells)))
            alone = np.nansum(values.take(n, k)[inside.take(n, k) & ~others.take(n, k)])
            assert members["own"][i] == round(100 * alone / ones)


def test_without_data_members_have_probabilities_only() -> None:
    members = pack_members(ward_posterior(), 1)
    assert members[2] == {"at": [5, 6, 7], "p": [1000, 1000, 250]}


def test_rows_are_put_where_they_contribute_most() -> None:
    people = bits(4, [0, 1, 2], [2])
    posterior = make_posterior([[[people, people, bits(3, [0], [0, 1, 2])]]])
    X = np.ones((4, 4, 3))
    homes = find_homes(posterior, count_all(posterior, X), (0, 1))
    assert [home.tolist() for home in homes] == [[0, 0, 0, 2], [0, 0, 0, 2], [0, 1, 1]]
    X[:2], X[:, :2] = 0, 0
    assert find_homes(posterior, count_all(posterior, X), (0, 1))[0].tolist() == [0, 0, 1, 2]


def test_cells_and_predictions_are_as_they_are(ward) -> None:
    model, X, data = ward
    slices = data["slices"]
    shown = np.array(slices["predicted"][1:]).reshape(X.shape) / 100
    np.testing.assert_allclose(shown, model.predict_proba(), atol=0.0051)
    cells = np.array(slices["data"]).reshape(-1, *X.shape[1:])
    np.testing.assert_array_equal(cells[1:], np.nan_to_num(100 * X.values, nan=-1))
    mean = np.where(np.eye(75), -1, np.rint(100 * np.nan_to_num(X.values).mean(axis=0)))
    np.testing.assert_array_equal(cells[0], mean)
    assert slices["titles"][:2] == ["mean of all 13 slices", "hour night"]


@pytest.mark.parametrize("shape", [(5, 4), (3, 2, 5, 4), (9, 7, 12, 11)])
def test_any_number_of_modes(shape) -> None:
    posterior = make_posterior([[[bits(size, [0, 1], [size - 1]) for size in shape]] * 4])
    X = np.random.default_rng(0).random(shape) < 0.5
    data = everything(posterior, X)
    slices, K = data["slices"], len(shape)
    assert (slices["rows"], slices["columns"]) == (K - 2, K - 1)
    shown = slices["data"][1:] if K > 2 else slices["data"]
    np.testing.assert_array_equal(np.reshape(shown, shape) / 100, X)
    assert slices["complete"]
    assert len(data["components"][0]["block"]["pairs"]) == K * (K - 1) // 2
    assert all(len(row) == K + 1 for row in data["unknown"])


def test_pairs_count_the_direction_with_more_ones() -> None:
    X = np.random.default_rng(3).random((5, 7, 5)) < 0.4
    posterior = make_posterior([[[bits(5, [0]), bits(7, [0]), bits(5, [0])]]])
    found = weigh_pairs(posterior, read(X), (0, 2), np.zeros(5, int))
    mean = [[X[i, :, j].sum() / 7 for j in range(5)] for i in range(5)]
    wanted = [round(100 * max(mean[i][j], mean[j][i])) for i in range(5) for j in range(i + 1, 5)]
    assert found == {"at": [0, 1, 2, 3, 4], "shares": wanted}
    large = make_posterior([[[bits(300, range(90)), bits(300, range(90)), bits(50, [3])]]])
    found = weigh_pairs(large, None, (0, 1), np.zeros(300, int))
    assert (len(found["at"]), found["at"][-1], len(found["shares"])) == (160, 299, 160 * 159 // 2)


def test_large_tensors_are_thinned_out() -> None:
    factors = [bits(400, range(0, 400, 2)), bits(300, range(30)), bits(50, [3])]
    posterior = make_posterior([[factors]])
    X = np.random.default_rng(0).random((400, 300, 50)) < 0.5
    tensor = read(X)
    slices = slice_cells(posterior, tensor, find_homes(posterior, None, None))
    assert (len(slices["row_indices"]), len(slices["column_indices"]), len(slices["titles"])) == (160, 160, 6)
    assert not slices["complete"]
    assert 0.4 < np.mean([n % 2 == 0 for n in slices["row_indices"]]) < 0.6
    n = int(slices["titles"][3].removeprefix("mode 2 "))
    where = np.ix_(slices["row_indices"], slices["column_indices"], [n])
    np.testing.assert_array_equal(np.reshape(slices["data"][3], (160, 160)) / 100, X[where][..., 0])
    expected = posterior.predict_slice(2, n)[np.ix_(slices["row_indices"], slices["column_indices"])]
    np.testing.assert_allclose(np.reshape(slices["predicted"][3], (160, 160)) / 100, expected, atol=0.0051)
    block = picture_box(posterior, read_box(posterior, tensor, 0))
    rows, columns, _ = block["at"]
    assert (len(rows), len(columns), block["complete"]) == (60, 30, False)
    cells = X[np.ix_(rows, columns, [3])]
    np.testing.assert_array_equal(np.reshape(block["pairs"]["0,1"], (60, 30)) / 100, cells[..., 0])


def test_the_cells_of_a_component_are_shares_of_observed_ones() -> None:
    posterior = ward_posterior()
    X = np.zeros((6, 8, 8))
    X[[1, 2], 0, 1] = 1
    X[1, 0, 2] = np.nan
    X[1:4, 1, 1] = np.nan
    pairs = picture_box(posterior, read_box(posterior, read(X), 0))["pairs"]
    shares = np.reshape(pairs["1,2"], (5, 5))
    assert (shares[0, 1], shares[0, 2], shares[1, 1], shares[2, 2]) == (67, 0, -1, 0)
    assert np.reshape(pairs["0,1"], (3, 5))[0, 0] == 25  # hour 1, person 0: one of four
    assert set(picture_box(posterior, read_box(posterior, None, 0))["pairs"]["1,2"]) == {59}
    assert read_box(make_posterior([[[bits(2, []), bits(2, [])]]]), None, 0) is None


def test_unknown_cells_are_the_likeliest_of_each_index(ward) -> None:
    model, X, data = ward
    ones = {tuple(cell) for cell in np.argwhere(X.values == 1)}
    rows = data["unknown"]
    assert not ones & {tuple(row[:3]) for row in rows}
    p = model.predict_proba([row[:3] for row in rows])
    np.testing.assert_allclose([row[3] / 1000 for row in rows], p, atol=0.00051)
    best = model.top_cells("person", "doctor 04", n=1, known=X)
    mine = max(row[3] for row in rows if row[1] == 3)
    assert mine / 1000 == pytest.approx(best.probabilities[0], abs=0.001)
    assert all(row[1] != row[2] for row in rows)


def test_surprises_are_the_least_expected_cells(ward) -> None:
    model, X, data = ward
    p, values = model.predict_proba(), X.values
    found = np.array(data["surprises"])
    at = tuple(found[:, :3].T)
    np.testing.assert_array_equal(found[:, 3], values[at])
    np.testing.assert_allclose(found[:, 4] / 1000, p[at], atol=0.00051)
    ones, zeros = found[found[:, 3] == 1], found[found[:, 3] == 0]
    assert len(ones) == len(zeros) == 100
    assert ones[0, 4] / 1000 == pytest.approx(p[values == 1].min(), abs=0.001)
    assert zeros[0, 4] / 1000 == pytest.approx(p[values == 0].max(), abs=0.001)


def test_labels_that_the_fit_misses_are_listed(ward) -> None:
    model, X, data = ward
    assert data["residuals"] == []  # the planted components explain all
    busy = X.copy()
    busy[:, 70, :60] = 1
    p, values = model.predict_proba(), busy.values
    first = everything(model.posterior_, busy)["residuals"][0]
    known = np.isfinite(values[:, 70])
    expected, variance = p[:, 70][known].sum(), (p[:, 70] * (1 - p[:, 70]))[known].sum()
    assert first[:3] == [1, 70, int(values[:, 70][known].sum())]
    assert first[3] == pytest.approx(expected, rel=0.2)  # most zeros are sampled
    assert first[4] > 0.2 * (first[2] - expected) / np.sqrt(variance)


def test_surprises_that_are_equal_are_not_all_of_the_first_labels(ward) -> None:
    data = ward[2]
    assert len({row[0] for row in data["surprises"] if row[3]}) > 8  # of 13 hours


def test_listed_zeros_are_known() -> None:
    posterior = make_posterior([[[bits(3, [0, 1]), bits(3, [0, 1])]]])
    cells = [(0, 0), (0, 1), (1, 1), (2, 2)]
    tensor = SparseTensor(cells, (3, 3), values=[1, 0, 1, 1], unlisted="missing")
    boxes = [read_box(posterior, tensor, 0)]
    assert [row[:2] for row in list_unknown(posterior, tensor, boxes, None)] == [[1, 0]]
    assert list_unknown(posterior, tensor, boxes, (0, 1))[0][:2] == [1, 0]
    assert list_surprises(posterior, tensor, boxes)[0][:3] == [2, 2, 1]


def test_huge_sparse_tensors_cost_little() -> None:
    rng = np.random.default_rng(0)
    shape = (50_000, 20_000, 4000)
    cells = np.stack([rng.integers(0, size, 3000) for size in shape], axis=1)
    factors = [bits(size, np.unique(cells[:40, k])) for k, size in enumerate(shape)]
    posterior = make_posterior([[factors]])
    data = everything(posterior, SparseTensor(cells, shape))
    assert len(data["slices"]["row_indices"]) == 160
    assert data["unknown"]
    assert sum(row[3] for row in data["surprises"]) == 100


def test_comparisons() -> None:
    M = np.random.default_rng(0).random((12, 6))
    tensor = RelationalTensor(M)
    model = TensOrMachine(1, n_chains=2, n_draws=5, burn_in=3, random_state=0, progress=False).fit(tensor)
    data = everything(model.posterior_, tensor)
    assert data["compares"]
    assert data["pair"] == (1, 2)
    found = tell_finding(model.posterior_).found
    assert found.startswith(("The data look like noise", "1 component predicts"))


def test_strengths_and_activities_have_intervals() -> None:
    X = datasets.ward()[:, :20, :20]
    options = {"noise": "strengths", "background": "activity", "n_chains": 2, "n_draws": 5, "burn_in": 5}
    model = TensOrMachine(2, random_state=0, progress=False, effort=0, **options).fit(X)
    data = everything(model.posterior_, X)
    mean, low, high = data["components"][0]["strength"]
    assert 0 < low <= mean <= high < 1
    activity = data["modes"][1]["activity"]
    assert len(activity["mean"]) == 20
    assert all(a <= b for a, b in zip(activity["low"], activity["high"], strict=True))


def test_the_first_sentence() -> None:
    posterior = ward_posterior()
    for trace in posterior.chains:
        trace.confusion[:] = [60, 40, 20, 880]
        set_noise(trace, (0.6, 0.02))
    finding = tell_finding(posterior)
    assert finding.found == (
        "2 components explain 75% of the ones in 6 × 8 × 8 cells (hour × person × met) and cover 10% "
        "of the cells."
    )
    assert finding.sure == "The same number of random cells would contain 10% of the ones."


def test_noise_is_the_first_sentence() -> None:
    empty = make_posterior([[[bits(3, []), bits(4, [])]] * 3] * 2)
    found = tell_finding(empty)
    assert found.found.startswith("The data look like noise: no component was found in 3 × 4 cells")
    X = np.random.default_rng(0).random((12, 12, 12)) < 0.2
    options = {
        "noise": "asymmetric",
        "n_chains": 2,
        "n_draws": 10,
        "random_state": 0,
        "progress": False,
        "effort": 0,
    }
    model = TensOrMachine(2, **options).fit(X)
    assert tell_finding(model.posterior_).noise
    each = [[[bits(3, [n]), bits(4, [n])]] * 3 for n in range(2)]
    apart = replace(make_posterior(each), weights=(0.5, 0.5), explanations=(0, 1))
    assert tell_finding(apart).noise


def test_sizes_name_the_modes_as_they_are() -> None:
    two = [bits(3, [0]), bits(4, [0])]
    modes = list_modes(make_posterior([[two]], ("city", "Item X")))
    assert name_sizes(modes) == "3 × 4 cells (city × Item X)"
    assert name_sizes(list_modes(ward_posterior())) == "6 × 8 × 8 cells (hour × person × met)"


def test_traces_only_where_they_say_something(ward_fit) -> None:
    _, model = ward_fit
    diagnostics = diagnose(model.posterior_)
    assert not diagnostics.fine
    lines = trace_chains(model.posterior_, diagnostics)
    assert [len(line["y"]) for line in lines] == [20, 20]
    assert trace_chains(model.posterior_, diagnostics._replace(problems=())) == []


def test_thinning_keeps_the_ends() -> None:
    np.testing.assert_array_equal(thin(np.arange(10), 4), [0, 3, 6, 9])
    np.testing.assert_array_equal(thin(np.arange(3), 4), [0, 1, 2])


def test_labels_are_named_and_ordered_for_sentences() -> None:
    hour, person, met = everything(ward_posterior())["modes"]
    assert hour["labels"] == HOURS.tolist()
    assert (hour["follows"], hour["ordered"]) == ("001111", False)
    assert (person["plural"], met["plural"], person["labels"]) == ("people", "met", PEOPLE.tolist())
