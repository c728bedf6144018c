"""The lock on a folder, and leaving on SIGTERM."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tensorm
from interrupting import terminate
from tensorm import FileError, TensOrMachine, select_components
from tensorm.storage.files import LOCK, name_stop, owning

X = np.random.default_rng(0).random((5, 5, 5)) < 0.4
SETTINGS = {
    "noise": "asymmetric",
    "n_chains": 1,
    "n_draws": 3,
    "burn_in": 2,
    "random_state": 0,
    "progress": False,
}


def hold(folder: Path) -> subprocess.Popen:
    """Own a folder in another process, until it is killed."""
    script = (
        "import sys, time, pathlib; from tensorm.storage.files import owning\n"
        "with owning(pathlib.Path(sys.argv[1])): print(1, flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"1\n"
    return child


def test_a_folder_has_one_owner_until_it_dies(tmp_path: Path) -> None:
    run = tmp_path / "run"
    model = TensOrMachine(2, **SETTINGS).fit(X, run_dir=run)
    (run / "fit.tensorm").unlink()
    (tmp_path / "new").mkdir()
    children = [hold(run), hold(tmp_path / "new")]
    taken = "is in use by another run; wait until it ends, or give another run_dir"
    with pytest.raises(FileError, match=taken):
        tensorm.resume(run)
    with pytest.raises(FileError, match=taken):
        TensOrMachine(2, **SETTINGS).fit(X, run_dir=tmp_path / "new")
    with pytest.raises(FileError, match=taken):
        select_components(X, "mdl", [1], run_dir=tmp_path / "new", progress=False)
    assert [path.name for path in (tmp_path / "new").iterdir()] == [LOCK]
    for child in children:
        child.kill()  # nothing is cleaned up
        child.communicate()
    again = tensorm.resume(run, progress=False)
    np.testing.assert_array_equal(again.predict_proba(), model.predict_proba())


def test_a_thread_may_own_a_folder_twice_and_another_not_at_all(tmp_path: Path) -> None:
    refused = []

    def want() -> None:
        try:
            with owning(tmp_path):
                pass
        except FileError as error:
            refused.append(str(error))

    with owning(tmp_path), owning(tmp_path / "." / ""):
        thread = threading.Thread(target=want)
        thread.start()
        thread.join()
    assert len(refused) == 1
    with owning(tmp_path):
        pass


@pytest.mark.parametrize("thing", ["folder", "link", "dangling link"])
def test_a_lock_that_is_no_file_is_refused(thing: str, tmp_path: Path) -> None:
    to = tmp_path / "missing" if thing == "dangling link" else "/dev/null"
    (tmp_path / LOCK).mkdir() if thing == "folder" else (tmp_path / LOCK).symlink_to(to)
    told = r"cannot be locked: .*; delete \.lock in it, which is not a plain file\.$"
    with pytest.raises(FileError, match=told), owning(tmp_path):
        pass


def test_sigterm_ends_the_block_as_ctrl_c_does_and_then_the_process(tmp_path: Path) -> None:
    heard = []

    def work() -> None:
        with owning(tmp_path):
            try:
                terminate()
                time.sleep(10)
            except KeyboardInterrupt:
                heard.append(name_stop())
            terminate()  # a second one changes nothing
            time.sleep(0.01)
            heard.append("written")

    with pytest.raises(SystemExit) as caught:
        work()
    assert [*heard, name_stop()] == ["SIGTERM", "written", "Ctrl-C"]
    assert caught.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_error_on_the_way_out_is_not_lost(tmp_path: Path) -> None:
    def work() -> None:
        with owning(tmp_path):
            try:
                terminate()
                time.sleep(10)
            except KeyboardInterrupt:
                raise FileError("The last checkpoint cannot be written.") from None

    with pytest.raises(FileError, match=r"^The last checkpoint cannot be written\.$"):
        work()
    assert name_stop() == "Ctrl-C"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_handlers_of_sigterm_stay(tmp_path: Path) -> None:
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with owning(tmp_path):
            terminate()
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1]
