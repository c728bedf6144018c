"""Compiled kernels are cached, and never run from a cache that was made before an edit."""

from __future__ import annotations

import ast
import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from numba.core.errors import TypingError

import tensorm.kernels
from tensorm.kernels.decisions import bit_of
from tensorm.kernels.rows import count_ones

SCRIPT = """
import numpy as np
from tensorm.kernels.rows import count_ones
print(count_ones(np.array([[7, 0, 1]], np.uint64)), sum(count_ones.stats.cache_hits.values()))
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The kernels and their errors alone, in a package of the same name."""
    (tmp_path / "tensorm").mkdir()
    (tmp_path / "tensorm" / "__init__.py").touch()
    source = Path(tensorm.kernels.__file__).parent
    shutil.copy(source.parent / "errors.py", tmp_path / "tensorm")
    shutil.copytree(
        source, tmp_path / "tensorm" / "kernels", ignore=lambda *_: ["__pycache__", ".ruff_cache"]
    )
    return tmp_path


def run(folder: Path, script: str = SCRIPT, **environment: str) -> str:
    """Count the set bits of 7, 0 and 1; also tell whether compiled code came from the cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=kept | {"PYTHONPATH": str(folder)} | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_a_caller_does_not_outlive_an_edit_of_what_it_calls(copied: Path) -> None:
    """`count_ones` stands in rows.py, and what it calls for each word in vectors.py."""
    assert run(copied) == "4 0"
    assert run(copied) == "4 1"
    before = {file.name for file in copied.rglob("*.nbc")}
    callee = copied / "tensorm" / "kernels" / "vectors.py"
    text = callee.read_text()
    edited = text.replace("b.ctpop(a[0])", "b.mul(b.ctpop(a[0]), ir.Constant(ir.IntType(64), 10))")
    assert edited != text
    callee.write_text(edited)
    assert run(copied) == "40 0"
    assert run(copied) == "40 1"
    assert {file.name for file in copied.rglob("*.nbc")} == before  # old code was overwritten


def test_kernels_compile_without_the_insides_of_numba(copied: Path) -> None:
    """As `count_ones` does, which calls parts; a numba without one of the names that linked.py imports."""
    script = "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary" + SCRIPT
    script += "from tensorm.kernels.compiled import MAKER, OPTIONS\nprint(MAKER is OPTIONS)"
    assert run(copied, script) == "4 0\nTrue"


def test_the_cache_goes_where_numba_is_told(copied: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert run(copied, NUMBA_CACHE_DIR=str(elsewhere)) == "4 0"
    assert run(copied, NUMBA_CACHE_DIR=str(elsewhere)) == "4 1"
    assert list(elsewhere.rglob("rows.count_ones*.nbc"))
    assert not list((tmp_path / "tensorm").rglob("*.nbc"))


def test_from_a_zip_archive(copied: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", copied, "tensorm")
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(Path(archive), **home) == "4 0"
    assert run(Path(archive), **home) == "4 1"


def test_python_cannot_call_a_part() -> None:
    """It has no machine code of its own, so that calling it must not reach any."""
    with pytest.raises(KeyError, match="bit_of is a part, which only compiled code can call"):
        bit_of(3)


def test_garbage_is_collected_again_after_compiling() -> None:
    assert gc.isenabled()
    with pytest.raises(TypingError):
        count_ones.compile((types.unicode_type,))
    assert gc.isenabled()


NUMBAS = {"typing", "context", "builder", "sig", "args"}  # arguments that numba gives to intrinsics


def find_faults(source: str, most: int = 6) -> list[str]:
    """Functions with too many arguments, or with a branch on what kind of array an argument is."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            if len({a.arg for a in node.args.args} - NUMBAS) > most:
                faults.append(node.name)
            compiled = any("intrinsic" not in ast.unparse(d) for d in node.decorator_list)
            tests = (
                n.test for n in ast.walk(node) if compiled and isinstance(n, (ast.If, ast.IfExp, ast.While))
            )
            asked = {n.attr for test in tests for n in ast.walk(test) if isinstance(n, ast.Attribute)}
            faults += [node.name] * bool(asked & {"dtype", "ndim"})
    return faults


def test_kernels_take_few_arguments_and_do_not_ask_what_they_are() -> None:
    folder = Path(tensorm.kernels.__file__).parent
    assert [fault for path in folder.glob("*.py") for fault in find_faults(path.read_text())] == []
    assert find_faults("@kernel\ndef many(a, b, c, d, e, f, g): pass") == ["many"]
    assert find_faults("@part\ndef picky(a):\n    return 1 if a.ndim > 1 else 2") == ["picky"]
    assert find_faults("@intrinsic\ndef made(typing, a, b, c, d, e, f): pass") == []
