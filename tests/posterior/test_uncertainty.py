"""How sure entries and cells are, against loops over draws."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

import naive
from posteriors import make_posterior, make_trace
from tensorm import Posterior
from tensorm.data.inputs import Names, check_names
from tensorm.errors import InputError
from tensorm.posterior import predict


def random_posterior(shape=(4, 3, 2), L=3, lengths=(12, 12), seed=0) -> Posterior:
    rng = np.random.default_rng(seed)
    chains = []
    for n_draws in lengths:
        draws = [[rng.random((size, L)) < 0.5 for size in shape] for _ in range(n_draws)]
        trace = make_trace(draws, (0.5, 0.5), 0.9)
        trace.noise[:] = np.stack([0.55 + 0.4 * rng.random(n_draws), 0.45 * rng.random(n_draws)], axis=1)
        chains.append(trace)
    return Posterior(tuple(chains), shape, check_names(shape))


def probabilities(posterior) -> np.ndarray:
    """P(x = 1 | draw) of all cells, (draws, N_1, ..., N_K)."""
    found = []
    for trace in posterior.traces:
        for s in range(len(trace)):
            product = naive.product([trace.bits(k)[s] for k in range(len(posterior.shape))])
            found.append(np.where(product, *trace.noise[s]))
    return np.array(found)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("at_once", [1, 50, 2**21])
def test_cells(monkeypatch, threshold, at_once) -> None:
    monkeypatch.setattr(predict, "CELLS_TIMES_DRAWS", at_once)
    posterior = random_posterior(lengths=(5, 9))
    indices = np.argwhere(np.ones(posterior.shape))[::-1]
    each = probabilities(posterior)[:, *indices.T]
    found = posterior.cell_summary(indices, threshold)
    np.testing.assert_allclose(found.mean, each.mean(axis=0))
    np.testing.assert_allclose(found.mean, posterior.predict_cells(tuple(indices.T)))
    np.testing.assert_allclose(found.sd, each.std(axis=0))
    np.testing.assert_allclose(found.above, (each > threshold).mean(axis=0))


def test_entries() -> None:
    posterior = random_posterior(lengths=(40, 40))
    for mode, name in enumerate(posterior.modes):
        found = posterior.entry_summary(name)
        draws = np.stack([trace.bits(mode) for trace in posterior.traces]).astype(float)
        np.testing.assert_allclose(found.mean, draws.mean(axis=(0, 1)))
        np.testing.assert_allclose(found.sd, draws.std(axis=(0, 1)))
        ess = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean")
        np.testing.assert_allclose(found.ess, ess)
        np.testing.assert_allclose(found.error, draws.std(axis=(0, 1)) / np.sqrt(ess))


def test_entries_that_all_draws_agree_on_have_no_error() -> None:
    draw = [np.eye(3, 2, dtype=bool), np.ones((2, 2), bool)]
    found = make_posterior([[draw] * 10] * 2).entry_summary(0)
    np.testing.assert_array_equal(found.mean, draw[0])
    assert not found.sd.any()
    assert not found.error.any()
    np.testing.assert_array_equal(found.ess, np.full((3, 2), 20))


def test_a_vote_of_chains_counts_as_few_draws() -> None:
    """Each chain keeps to its answer: a hundred draws of four chains are worth four."""
    yes, no = np.ones((2, 1), bool), np.zeros((2, 1), bool)
    chains = [[[answer, yes]] * 100 for answer in (yes, yes, no, no)]
    found = make_posterior(chains).entry_summary(0)
    assert found.mean[0, 0] == 0.5
    assert 3 < found.ess[0, 0] < 6
    assert found.error[0, 0] > 0.2


def test_chains_that_do_not_count_and_draws_of_unequal_number() -> None:
    posterior = random_posterior(lengths=(30, 20))
    cut = random_posterior(lengths=(30, 20))
    found = posterior.entry_summary(1)
    np.testing.assert_allclose(found.mean, posterior.factors[1])
    np.testing.assert_array_equal(found.ess, cut.entry_summary(1).ess)
    alone = Posterior(posterior.chains, posterior.shape, posterior.names, (1.0, 0.0), (0, 1))
    assert not np.array_equal(alone.entry_summary(1).mean, found.mean)
    few = random_posterior(lengths=(2, 2)).entry_summary(0)
    assert set(np.unique(few.ess)) <= {2.0, 4.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.cell_summary([[0, 0, 0]], 1.5), "threshold is 1.5; give a probability between 0 and 1."),
        (
            lambda p: p.cell_summary([[0, 0, 0]], [0.5]),
            "threshold is an array of shape (1,); give one number",
        ),
        (lambda p: p.cell_summary([[0, 0]]), "indices has shape (1, 2)"),
        (lambda p: p.cell_summary([[4, 0, 0]]), "indices contains 4 for mode 0; give indices from 0 to 3."),
        (
            lambda p: p.entry_summary("hour"),
            "Unknown mode 'hour'; the modes are 'mode 0', 'mode 1', 'mode 2'",
        ),
        (lambda p: p.entry_summary(3), "Unknown mode 3; the modes are"),
        (lambda p: p.entry_summary(True), "Unknown mode True; the modes are"),
        (lambda p: p.predict_slice(0, 4), "index is 4; 'mode 0' has 4 indices: give a number from 0 to 3."),
        (lambda p: p.predict_slice(0, -1), "index is -1; 'mode 0' has 4 indices: give a number from 0 to 3."),
        (lambda p: p.predict_slice(0, "a"), "index is 'a'; 'mode 0' has 4 indices: give a number from 0 to"),
        (lambda p: p.predict_slice(9, 0), "Unknown mode 9; the modes are"),
        (lambda p: p.predict_slice(0, 0, "worst"), "method is 'worst'; choose 'predictive', "),
        (lambda p: p.predict_all("worst"), "method is 'worst'; choose 'predictive', "),
    ],
)
def test_wrong_arguments(call, message) -> None:
    with pytest.raises(InputError) as caught:
        call(random_posterior())
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


def test_a_slice_by_its_label() -> None:
    posterior = random_posterior()
    names = np.array(["a", "b", "c"])
    dates = np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")
    labels = (np.array([2, 1, 0, 7]), names, dates)
    named = Posterior(posterior.chains, posterior.shape, Names(posterior.modes, labels))
    cells = named.predict_all()
    np.testing.assert_array_equal(named.predict_slice(1, "b"), cells[:, 1])
    np.testing.assert_array_equal(named.predict_slice("mode 1", np.str_("c")), cells[:, 2])
    np.testing.assert_array_equal(named.predict_slice(0, np.int64(2)), cells[2])  # integers are never labels
    for date in (dates[1], dates.tolist()[1], "2024-01-02"):
        np.testing.assert_array_equal(named.predict_slice(2, date), cells[..., 1])
    with pytest.raises(InputError, match=r"^Unknown mode 1 'z'; labels look like 'a'\.$"):
        named.predict_slice(1, "z")
