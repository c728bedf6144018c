"""Every method finds the number of planted components where the data show it plainly."""

from __future__ import annotations

import pytest

import tensorm
from tensorm import TensOrMachine, datasets


@pytest.mark.parametrize("method", ["posterior", "occam", "cv", "mdl"])
@pytest.mark.parametrize("rank", [2, 4])
def test_the_planted_number_is_chosen(method: str, rank: int) -> None:
    X = datasets.simulate((20, 20, 20), rank=rank, density=0.3, noise=0.1, random_state=1).observed
    found = tensorm.select_components(
        X, method=method, candidates=[2, 3, 4, 6], random_state=0, progress=False
    )
    assert found.best == rank
    assert found.reason.startswith(str(rank))
    assert found.reason.endswith(".")


def test_auto_fits_the_number_it_chose() -> None:
    X = datasets.simulate((20, 20, 20), rank=3, density=0.3, noise=0.1, random_state=0).observed
    model = TensOrMachine("auto", n_chains=2, n_draws=10, random_state=0, progress=False).fit(X)
    assert model.n_components_ == model.selection_.best == 3
    assert model.factors_[0].shape == (20, 3)
