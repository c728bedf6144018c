"""Compiled code on disk: damaged files, full disks, and folders that others can write to."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

import tensorm
from tensorm.kernels import stored
from tensorm.kernels.compiled import kernel


def twice(x):
    return 2 * x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder that code is stored in."""
    monkeypatch.setattr(stored, "list_folders", lambda: [tmp_path / "code"])
    forget()
    yield tmp_path / "code"
    forget()


def forget() -> None:
    stored.find_folder.cache_clear()
    stored.warn_once.cache_clear()


def run() -> int:
    """Compile a kernel, or load it; return how many loads there were."""
    compiled = kernel(twice)
    assert compiled(4) == 8
    return sum(compiled.stats.cache_hits.values())


def test_code_is_stored_and_loaded(folder: Path) -> None:
    assert [run(), run()] == [0, 1]
    assert len(list(folder.iterdir())) == 1
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["empty", "seal only", "truncated", "random", "one bit", "a folder"])
def test_damaged_code_is_compiled_again(folder: Path, damage: str) -> None:
    run()
    (file,) = folder.iterdir()
    content, rng = file.read_bytes(), np.random.default_rng(0)
    file.unlink()
    if damage == "a folder":
        file.mkdir()
        with pytest.warns(RuntimeWarning, match="Is a directory: .*; every process compiles its kernels"):
            assert run() == 0
        return
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    file.write_bytes(
        {
            "empty": b"",
            "seal only": content[: stored.SEAL],
            "truncated": content[: len(content) // 2],
            "random": rng.bytes(len(content)),
            "one bit": bytes(flipped),
        }[damage]
    )
    assert [run(), run()] == [0, 1]
    assert len(list(folder.iterdir())) == 1


def test_a_full_disk_is_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.warns(RuntimeWarning, match="No space left on device: .*; every process") as told:
        assert [run(), run()] == [0, 0]
    assert len(told) == 1
    assert not list(folder.iterdir())  # nothing half written is left behind


def test_windows_does_not_replace_code_that_another_process_reads(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(new: str, old: Path) -> None:
        old.write_bytes(b"of another process")
        raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(stored.sys, "platform", "win32")
    assert [run(), run()] == [0, 0]  # without a warning, which would be an error here
    monkeypatch.setattr(stored.sys, "platform", "linux")
    with pytest.warns(RuntimeWarning, match="Access is denied: .*; every process compiles its kernels"):
        run()


def test_code_without_bytes_is_used_but_not_stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no compiled object yet")  # as numba says after Ctrl-C

    monkeypatch.setattr(stored, "dumps", fail)
    assert [run(), run()] == [0, 0]
    assert not list(folder.iterdir())


def test_without_a_folder_code_is_compiled_in_memory(folder: Path) -> None:
    folder.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="No folder for compiled code can be written to; every") as told:
        assert [run(), run()] == [0, 0]
    assert len(told) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
class TestStrangers:
    def test_code_that_others_could_have_written_is_not_run(self, folder: Path, tmp_path: Path) -> None:
        run()
        (file,) = folder.iterdir()
        compiled = kernel(twice)
        path, about = compiled._cache.locate((numba.int64,), compiled.targetctx.codegen())
        assert path == file
        evil = pickle.dumps(Evil(tmp_path / "run"))
        file.write_bytes(stored.seal(about, evil) + evil)
        folder.chmod(0o777)
        forget()
        with pytest.warns(RuntimeWarning, match="Other users can write to "):
            assert run() == 0
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("leaf", "parent", "private"),
        [
            (0o700, 0o700, True),
            (0o755, 0o755, True),
            (0o777, 0o700, False),
            (0o1777, 0o700, False),
            (0o700, 0o777, False),
            (0o700, 0o1777, True),  # as below /tmp
        ],
    )
    def test_who_may_write(self, tmp_path: Path, leaf: int, parent: int, private: bool) -> None:
        inner = tmp_path / "parent" / "leaf"
        inner.mkdir(parents=True)
        inner.chmod(leaf)
        inner.parent.chmod(parent)
        assert stored.is_private(inner) == private

    @pytest.mark.skipif(getattr(os, "getuid", int)() != 0, reason="only root can give folders away")
    def test_a_folder_of_somebody_else(self, tmp_path: Path) -> None:
        inner = tmp_path / "parent" / "leaf"
        inner.mkdir(parents=True)
        os.chown(inner, 12345, -1)
        assert not stored.is_private(inner)
        os.chown(inner, 0, -1)
        os.chown(inner.parent, 12345, -1)
        assert not stored.is_private(inner)

    def test_another_group(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tmp_path.chmod(0o770)
        assert stored.is_private(tmp_path)  # this user's own group
        monkeypatch.setattr(os, "getgid", lambda: tmp_path.stat().st_gid + 1)
        assert not stored.is_private(tmp_path)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.slow
def test_import_and_fit_without_any_folder(tmp_path: Path) -> None:
    """As in a container: the sources cannot be written to, and there is no home."""
    source = Path(tensorm.__file__).parents[1]
    script = f"""
import sys, pathlib
sys.dont_write_bytecode = True
mkdir = pathlib.Path.mkdir
def refuse(self, *args, **kwargs):
    raise PermissionError(13, "Permission denied")
pathlib.Path.mkdir = refuse
sys.path.insert(0, {str(source)!r})
import tensorm
X = tensorm.datasets.simulate((6, 6, 6), rank=2, density=0.2, noise=0.1, random_state=0).observed
settings = {"n_chains": 2, "n_draws": 5, "burn_in": 5, "noise": "asymmetric", "progress": False}
print(tensorm.TensOrMachine(2, **settings).fit(X).predict_proba().shape)
"""
    nowhere = "/dev/null/home"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "(6, 6, 6)"
    assert done.stderr.count("RuntimeWarning: No folder for compiled code can be written to") == 1


def test_no_warning_where_all_is_well(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
