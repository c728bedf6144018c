"""Every public name, with bad values for its parameters: a seeded part of what ``hostile.api`` tries."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tensorm
from hostile import api

CALLS = 430  # one for every parameter of every name


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
        *api.MORE["TensOrMachine.fit"],
    }


def test_every_verb_that_the_reference_pages_show_is_tried() -> None:
    pages = (Path(__file__).parents[2] / "mkdocs.yml").read_text()
    hidden = re.compile("|".join(re.findall(r'"!(\^[^"]+)"', pages)))
    kinds = [
        kind
        for _, kind in api._public()
        if inspect.isclass(kind) and issubclass(kind, tensorm.tensors.Tensor)
    ]
    shown = {(kind.__name__, verb) for kind in kinds for verb, _ in inspect.getmembers(kind, callable)}
    tried = {tuple(case.door.split(".")) for case in api.list_cases()}
    parameters = {pair for pair in shown if not hidden.search(pair[1])}
    assert len(parameters) > 10
    assert parameters <= tried


@pytest.mark.slow
def test_all_bad_values_end_in_a_result_or_one_sentence() -> None:
    assert not api.report()
