"""Arrays lent to kernels, without reference counting: somebody else holds them while they are used."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from numba import types

import tensorm.kernels
from makers import KINDS
from problems import fast_update, make_problem, make_turn

FOLDER = Path(tensorm.kernels.__file__).parent


def lenders(text: str) -> list[ast.FunctionDef]:
    """The functions that lend something."""
    every = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    inner = {
        id(part)
        for node in every
        for part in ast.walk(node)
        if isinstance(part, ast.FunctionDef) and part is not node
    }
    outer = [
        node for node in every if id(node) in inner or not any(id(part) in inner for part in ast.walk(node))
    ]
    return [node for node in outer if node.name not in ("lend", "_lend") and list(calls(node, "lend"))]


def calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name:
            yield part


def not_held(function: ast.FunctionDef) -> list[str]:
    """What a function lends that is neither an argument, which its caller holds, nor kept to the end."""
    held = {argument.arg for argument in function.args.args}
    for statement in function.body:  # parts of an argument
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name | ast.Tuple):
            values = [part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)]
            if set(values) <= held:
                held |= {part.id for part in ast.walk(statement.targets[0]) if isinstance(part, ast.Name)}
    *_, last, end = [None, *function.body]
    kept = {part.id for part in ast.walk(end) if isinstance(end, ast.Return) and isinstance(part, ast.Name)}
    for statement in (last, end):
        kept |= {call.args[0].id for call in calls(statement or end, "keep")}
    lent = {call.args[0].id for call in calls(function, "lend")}
    return sorted(lent - held - kept)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_the_owner_outlives_what_is_lent(file: Path) -> None:
    for function in lenders(file.read_text()):
        assert not_held(function) == [], function.name


def test_a_loan_without_owner_is_found() -> None:
    text = "def f(rows):\n    own = make()\n    cells = lend(own)\n    use(cells)\n"
    assert not_held(lenders(text)[0]) == ["own"]
    assert not_held(lenders(text + "    keep(own)\n    return 1\n")[0]) == []
    assert not_held(lenders("def f(rows):\n    rows = lend(rows)\n")[0]) == []


def kernels(file: Path) -> Iterator[object]:
    module = importlib.import_module(f"tensorm.kernels.{file.stem}")
    for value in vars(module).values():
        yield from (
            part for part in (value if isinstance(value, tuple) else [value]) if hasattr(part, "py_func")
        )


def test_no_array_leaves_a_kernel_that_was_lent_any() -> None:
    """It would point to memory that nobody holds."""
    for name in ("dense", "cached", "sparse", "sharded", "relational", "symmetric", "symmetric over sparse"):
        tensor, problem = KINDS[name].store(make_problem((4, 5, 5), 3, 1, 0.2, 0.6))
        for mode in range(3):
            fast_update(tensor, problem, make_turn(problem, mode, "gibbs", mode))
            tensor.counts(mode, problem.masks)
        tensor.confusion(problem.masks)
    seen = 0
    for file in sorted(FOLDER.glob("*.py")):
        lending = {function.name for function in lenders(file.read_text())}
        for kernel in kernels(file):
            if kernel.py_func.__name__ in lending and kernel.py_func.__module__.endswith(file.stem):
                for signature in kernel.nopython_signatures:
                    parts = [signature.return_type, *getattr(signature.return_type, "types", ())]
                    assert not any(isinstance(part, types.Array) for part in parts), kernel
                    seen += 1
    assert seen >= 5
