"""Print the size of the package, and how many functions a row of a file and an array pass through (note 13).

Run with ``python docs/decisions/measure_house.py``, with PYTHONPATH=src of the version to measure.
"""

import ast
import io
import sys
import tempfile
import threading
import tokenize
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import tensorm
from tensorm.cli import main

ROOT = Path(tensorm.__file__).parent
BLANK = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(path: Path) -> int:
    """Lines without blank ones, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*BLANK, tokenize.COMMENT):
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if documented and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def functions_called(run: Callable[[], object]) -> tuple[int, int]:
    """Functions of the package that a call passes through, and the files that they are in."""
    seen = set()

    def note(frame, event, _) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(seen), len({file for file, _ in seen})


def kernels_behind(module: str) -> set[str]:
    """Return the kernel files that one of them calls into, itself included; compiled code shows no calls."""
    found, left = set(), [module]
    while left:
        if (name := left.pop()) in found:
            continue
        found.add(name)
        for node in ast.walk(ast.parse((ROOT / "kernels" / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "tensorm.kernels":
                left += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tensorm.kernels."):
                left.append(node.module.removeprefix("tensorm.kernels."))
    return found


def flip() -> tuple[int, int]:
    """Return through how many files of Python, and of kernels, an update of one mode's entries goes."""
    from tensorm.estimator.plan import make_plan
    from tensorm.sampler.sweep import random_factors, start
    from tensorm.tensors import Rule

    X = tensorm.datasets.simulate((12, 12, 12), rank=3, density=0.2, noise=0.1, random_state=0).observed
    tensor = tensorm.DenseTensor(X)
    target = make_plan(tensorm.TensOrMachine(3, noise="asymmetric", random_state=0), tensor).target
    state = start(target, random_factors(tensor, target, 0))
    rule = Rule(np.arange(3), target.flips, state.noise.weights, target.prior.log_odds(0, state.density))
    stream = target.stream(0, 0, 0)
    _, files = functions_called(lambda: tensor.update_factor(0, state.factors, rule, stream))
    return files, len(kernels_behind("slices"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    files = list(ROOT.rglob("*.py"))
    names = [path.name for path in ROOT.iterdir() if not path.name.startswith(("__", ".", "py."))]
    print(f"names at the top {len(names)}, modules {len(files)}, code lines {sum(map(code_lines, files)):,}")

    X = tensorm.datasets.simulate((12, 12, 12), rank=3, density=0.2, noise=0.1, random_state=0).observed

    def predict() -> None:
        model = tensorm.TensOrMachine(3, n_chains=2, n_draws=20, random_state=0, progress=False)
        model.fit(X).predict_proba()

    def to_page() -> None:
        fit = f"fit {table} --modes hour,a,b --components 3 --out {folder}/run"
        for line in (fit, f"report {folder}/run"):
            assert CliRunner().invoke(main, line.split()).exit_code == 0

    predict()  # compiles
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "cells.csv"
        rows = "".join(f"h{i},a{j},b{k}\n" for i, j, k in np.argwhere(X == 1))
        table.write_text(f"hour,a,b\n{rows}", encoding="utf-8")
        print("CSV row to report: {} functions in {} files".format(*functions_called(to_page)))
    print("one flip: {} files of Python that are called, {} of kernels behind them".format(*flip()))
    print("array to predict_proba: {} functions in {} files".format(*functions_called(predict)))
