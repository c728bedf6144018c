"""Files of runs that are damaged, forged or another run's: one sentence or a result, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import forge
import tensorm
from hostile import child, runs
from tensorm import FileError

# python -m hostile runs 5000, in tests/, tries more
CASES = [50, pytest.param(100, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return runs.make_samples(tmp_path_factory.mktemp("samples"))


def try_all(folder: Path, cases: list[str]) -> list[child.Outcome]:
    (folder / "outside").mkdir(exist_ok=True)
    return list(child.run("hostile.runs:use", cases, folder / "outside"))


@pytest.mark.parametrize("n_cases", CASES)
def test_mutated_files_of_runs(samples: list[Path], tmp_path: Path, n_cases: int) -> None:
    cases, told = runs.make_cases(tmp_path / "cases", samples, range(n_cases))
    outcomes = try_all(tmp_path, cases)
    bad = [pair for pair in zip(told, outcomes, strict=True) if not pair[1].accepted]
    assert not bad
    kinds = [outcome.kind for outcome in outcomes]
    assert kinds.count("error") > n_cases // 2  # most mutations are noticed


def test_files_of_other_runs_are_refused(samples: list[Path], tmp_path: Path) -> None:
    """Every file of a run with an identity, in the place of the same file of other runs."""
    cases = []
    runs = [sample for sample in samples if (sample / "run.tensorm").exists()]
    for mine, theirs in [
        *zip(runs, runs[1:] + runs[:1], strict=True),
        *zip(runs, runs[5:] + runs[:5], strict=True),
    ]:
        names = {"chain-0.tensorm", "fit.tensorm", "selection.json", "choice/selection.json"}
        for name in sorted(names):
            if (mine / name).exists() and (theirs / name).exists():
                copy = tmp_path / "cases" / f"{mine.name}-{theirs.name}-{name.replace('/', '-')}"
                shutil.copytree(mine, copy)
                shutil.copy(theirs / name, copy / name)
                same = (mine / "run.tensorm").read_bytes() == (theirs / "run.tensorm").read_bytes()
                done = mine.name.startswith("done")
                unread = name == "chain-0.tensorm" and done  # the fit is there, or the choice
                unread |= name == "choice/selection.json" and (done or mine.name == "auto")
                cases.append((str(copy), "result" if same or unread else "error"))
    outcomes = try_all(tmp_path, [case for case, _ in cases])
    assert len(cases) > 20
    assert [outcome.kind for outcome in outcomes] == [kind for _, kind in cases]


def test_a_trial_of_another_name_is_refused(samples: list[Path], tmp_path: Path) -> None:
    sample = next(sample for sample in samples if sample.name == "choosing")
    shutil.copytree(sample, tmp_path / "case")
    first, second = sorted((tmp_path / "case" / "choice").glob("chain-*.json"))[:2]
    shutil.copy(first, second)
    with pytest.raises(FileError, match="belongs to another selection or trial; delete it"):
        tensorm.resume(tmp_path / "case", progress=False)


def test_small_files_with_large_demands(samples: list[Path], tmp_path: Path) -> None:
    """Each asks for years or terabytes; the user who waits a few seconds can still stop it."""
    sample = samples[0]
    demands = {
        "draws": {"n_draws": 2**40},
        "chains": {"n_chains": 10**7, "n_draws": 1},
        "burn-in": {"burn_in": 2**31},
        "components": {"n_components": 2**20, "n_draws": 1, "n_chains": 1},
        "threads": {"n_jobs": 10**9},
    }
    cases = []
    for name, changes in demands.items():
        copy = tmp_path / "cases" / name
        shutil.copytree(sample, copy)
        for path in copy.glob("chain-*"):
            path.unlink()
        parts = forge.Parts((copy / "run.tensorm").read_bytes())
        parts.about["settings"]["parameters"].update(changes)
        (copy / "run.tensorm").write_bytes(parts.join())
        cases.append(str(copy))
    bomb = tmp_path / "cases" / "bomb"  # zeros shrink a thousandfold
    shutil.copytree(sample, bomb)
    parts = forge.Parts((bomb / "run.tensorm").read_bytes())
    parts.about["shape"] = [2**14, 64, 64]
    parts.write("cells/ones", np.zeros((2**14, 512), "u1"))
    (bomb / "run.tensorm").write_bytes(parts.join())
    assert (bomb / "run.tensorm").stat().st_size < 16_000
    outcomes = try_all(tmp_path, [*cases, str(bomb)])
    assert not [pair for pair in zip([*cases, bomb], outcomes, strict=True) if not pair[1].accepted]
