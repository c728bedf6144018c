"""Every public name, with bad values for its parameters: a seeded part of what ``hostile.api`` tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile import api

CALLS = 400


def test_bad_values_end_in_a_result_or_one_sentence(tmp_path: Path) -> None:
    outcomes = list(api.try_cases(api.pick(CALLS), tmp_path))
    bad = [f"{case}: {outcome.kind} {outcome.message}" for case, outcome in outcomes if not outcome.accepted]
    assert not bad, "\n".join(bad)
    assert sum(outcome.kind == "error" for _, outcome in outcomes) > CALLS / 2


def test_every_public_name_is_tried() -> None:
    doors = {case.door.removeprefix("tensorm.") for case in api.list_cases()}
    wanted = {"read", "load", "resume", "select_components", "TensOrMachine", "TensOrMachine.fit"}
    wanted |= {
        "Posterior.predict_block",
        "report.plots.plot_slice",
        "baselines.BooleanALS.fit",
        "tensorm fit",
    }
    assert wanted <= doors
    assert {case.parameter for case in api.list_cases() if case.door == "TensOrMachine.fit"} == {
        "X",
        "run_dir",
    }


@pytest.mark.slow
def test_all_bad_values_end_in_a_result_or_one_sentence() -> None:
    assert not api.report()
