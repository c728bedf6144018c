"""A constant, class or function has a name of its own: no other module of the package defines the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import tensorm

PACKAGE = Path(tensorm.__file__).parent


def defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that are defined at the top of a module; imports define nothing."""
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not is_type_variable(statement.value):
                yield from (node.id for target in targets for node in ast.walk(target) if is_new(node))
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from defined(statement.body)
            yield from defined(getattr(statement, "orelse", []))


def is_new(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def is_type_variable(value: ast.expr | None) -> bool:
    """Whether this makes a type variable: such a letter means nothing outside one signature."""
    made = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    return made and value.func.id in ("TypeVar", "ParamSpec")


def test_a_name_has_one_meaning() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for name in defined(ast.parse(path.read_text("utf-8")).body):
            if not name.startswith("_"):
                places[name].add(str(path.relative_to(PACKAGE)))
    assert len(places) > 1000
    shared = [f"{name}: {', '.join(sorted(found))}" for name, found in places.items() if len(found) > 1]
    assert not shared, "\n".join(shared)


def test_names_are_found_wherever_a_module_defines_them() -> None:
    source = """
from elsewhere import GIVEN
ONE, (TWO, *THREE) = 1, (2, 3)
FOUR: int = 4
T = TypeVar("T")
TABLE["key"] = lambda x: (FIVE := x)
if ONE:
    class Six: SEVEN = 7
else:
    EIGHT = 8
def nine(): TEN = 10
"""
    assert [*defined(ast.parse(source).body)] == ["ONE", "TWO", "THREE", "FOUR", "Six", "EIGHT", "nine"]
