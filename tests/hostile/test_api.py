"""Every public name, with bad values for its parameters: a seeded part of what ``hostile.api`` tries."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tensorm
from hostile import api, good

CALLS = 540  # one for every parameter of every name


def test_bad_values_end_in_a_result_or_one_sentence(tmp_path: Path) -> None:
    assert len({(case.door, case.parameter) for case in api.list_cases()}) <= CALLS
    outcomes = list(api.try_cases(api.pick(CALLS), tmp_path))
    bad = [f"{case}: {outcome.kind} {outcome.message}" for case, outcome in outcomes if not outcome.accepted]
    assert not bad, "\n".join(bad)
    assert sum(outcome.kind == "error" for _, outcome in outcomes) > CALLS / 2


def names_in(module: ModuleType) -> dict[str, Any]:
    """Everything that a module and the modules in its ``__all__`` offer, by name."""
    things = {name: getattr(module, name) for name in module.__all__}
    inner = [names_in(thing) for thing in things.values() if isinstance(thing, ModuleType)]
    return things | {name: thing for found in inner for name, thing in found.items()}


def classes_returned(function: Any) -> set[type]:
    """The package's own classes that a function or property says it returns."""
    function = getattr(function, "fget", function)
    said = re.findall(r"\w+", str(getattr(function, "__annotations__", {}).get("return", "")))
    rooms = [room for path, room in sys.modules.items() if path.startswith("tensorm")]
    found = {getattr(room, word, None) for room in rooms for word in said}
    return {kind for kind in found if inspect.isclass(kind) and kind.__module__.startswith("tensorm.")}


def test_every_public_name_and_its_methods_are_tried() -> None:
    doors = {case.door for case in api.list_cases()}
    public = names_in(tensorm) | names_in(tensorm.report.plots)
    functions = {name for name, thing in public.items() if inspect.isfunction(thing)}
    kinds = {kind for kind in public.values() if inspect.isclass(kind) and not issubclass(kind, Exception)}
    kinds |= {kind for kind in good.list_public().values() if inspect.isclass(kind)}
    methods = {f"{kind.__name__}.{verb}" for kind in kinds for verb in good.list_verbs(kind)}
    assert len(functions) > 25
    assert len(methods) > 50
    assert functions | methods <= doors
    fit = {case.parameter for case in api.list_cases() if case.door == "TensOrMachine.fit"}
    assert fit == {"X", "run_dir", *api.MORE["TensOrMachine.fit"]}


def test_the_methods_of_what_public_functions_return_are_tried() -> None:
    tried = {thing for thing in good.list_public().values() if inspect.isclass(thing)}
    functions = [thing for thing in good.list_public().values() if not inspect.isclass(thing)]
    for kind in tried:
        members = dict(inspect.getmembers(kind)).items()
        functions += [
            thing for name, thing in members if not name.startswith("_") and name not in good.INSIDE
        ]
    returned = set().union(*map(classes_returned, functions))
    shown = {kind for kind in returned if not kind.__module__.startswith("tensorm.sampler")}
    missing = {kind for kind in shown - tried if not inspect.isabstract(kind) and good.list_verbs(kind)}
    assert len(returned) > 10
    assert not missing


def test_every_command_is_tried() -> None:
    doors = {case.door for case in api.list_cases()}
    assert {f"tensorm {name}" for name in tensorm.cli.main.list_commands(None) if name != "demo"} <= {
        " ".join(door.split()[:2]) for door in doors
    }


def test_every_verb_that_the_reference_pages_show_is_tried() -> None:
    pages = (Path(__file__).parents[2] / "mkdocs.yml").read_text()
    hidden = re.compile("|".join(re.findall(r'"!(\^[^"]+)"', pages)))
    public = good.list_public().values()
    kinds = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, tensorm.tensors.Tensor)]
    shown = {(kind.__name__, verb) for kind in kinds for verb, _ in inspect.getmembers(kind, callable)}
    tried = {tuple(case.door.split(".")) for case in api.list_cases()}
    parameters = {pair for pair in shown if not hidden.search(pair[1])}
    assert len(parameters) > 10
    assert parameters <= tried


@pytest.mark.slow
def test_all_bad_values_end_in_a_result_or_one_sentence() -> None:
    assert api.main()[1] == 0
