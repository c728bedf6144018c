"""Runs in a folder: killed at any moment, they end as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

import forge
import killable
import tensorm
from forking import SERVER
from interrupting import CtrlC, let_chain_fail
from tensorm import FileError, SparseTensor, TensOrMachine, datasets

KILLS = 20


@pytest.fixture(scope="module")
def whole() -> TensOrMachine:
    return TensOrMachine(**killable.SETTINGS).fit(killable.X)


def assert_same_fit(a: TensOrMachine, b: TensOrMachine) -> None:
    for x, y in zip(a.posterior_.chains, b.posterior_.chains, strict=True):
        for f, g in zip(x.factors, y.factors, strict=True):
            np.testing.assert_array_equal(f, g)
        np.testing.assert_array_equal(x.noise, y.noise)
        assert x.burn_in == y.burn_in
    np.testing.assert_array_equal(a.predict_proba(), b.predict_proba())


def run_child(folder: Path, seconds: float) -> bool:
    """Begin or go on with the run, kill it after so long, and return whether it was killed."""
    child = SERVER.Process(target=killable.run, args=(folder,))
    child.start()
    child.join(seconds)
    killed = child.is_alive()
    child.kill()  # SIGKILL: nothing can be cleaned up
    child.join()
    assert killed or child.exitcode == 0
    return killed


def test_killed_twenty_times_a_run_ends_as_if_never_killed(whole: TensOrMachine, tmp_path: Path) -> None:
    run_child(tmp_path / "warm", 60)
    rng, kills, runs = random.Random(0), 0, 0
    while kills < KILLS:
        folder, seconds = tmp_path / f"run-{runs}", 0.1
        while run_child(folder, seconds * (0.5 + rng.random())):
            kills, seconds = kills + 1, seconds * 1.15  # in the end it must get somewhere
        assert_same_fit(tensorm.load(folder / "fit.tensorm"), whole)
        assert not list(folder.glob(".*.part"))
        runs += 1


def test_a_run_in_a_folder_is_an_ordinary_fit(tmp_path: Path) -> None:
    X = datasets.ward()
    settings = {
        "noise": "asymmetric",
        "n_components": 7,
        "n_chains": 2,
        "n_draws": 5,
        "random_state": 1,
        "progress": False,
    }
    plain = TensOrMachine(**settings).fit(X)
    kept = TensOrMachine(**settings).fit(X, run_dir=tmp_path / "runs" / "ward")
    assert_same_fit(kept, plain)
    resumed = tensorm.resume(tmp_path / "runs" / "ward")  # finished: this only reads it
    assert_same_fit(resumed, plain)
    assert resumed.modes_ == ("hour", "person", "met")
    np.testing.assert_array_equal(resumed.labels_[1], X["person"].values)


def test_a_chain_that_fails_leaves_a_fit_of_the_others_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = killable.SETTINGS | {"n_chains": 3, "n_draws": 10}
    told = r"^1 of 3 chains failed \(MemoryError: no room\); this fit is based on the others\.$"
    with monkeypatch.context() as patch:
        let_chain_fail(patch)
        with pytest.warns(RuntimeWarning, match=told) as caught:
            model = TensOrMachine(**settings).fit(killable.X, run_dir=tmp_path)
        assert caught[0].filename == __file__
        with pytest.warns(RuntimeWarning, match=told):  # again
            tensorm.resume(tmp_path)
    for one in (model, tensorm.load(tmp_path)):
        assert one.posterior_.outcomes == ("included", "failed", "included")
        assert one.diagnostics_.conclusion.startswith("1 of 3 chains failed and is not counted")
        assert [row.chain for row in one.diagnostics_.chains] == [0, 2]
        assert one.to_datatree()["posterior"].chain.values.tolist() == [0, 2]
    before = (tmp_path / "fit.tensorm").read_bytes()
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: step.phase == "draws").watch_in("tensorm.estimator.machine")
        with pytest.raises(KeyboardInterrupt):
            tensorm.resume(tmp_path)
    assert (tmp_path / "fit.tensorm").read_bytes() == before
    again = tensorm.resume(tmp_path)
    assert again.posterior_.outcomes == ("included", "included", "included")
    assert_same_fit(again, TensOrMachine(**settings).fit(killable.X))
    assert_same_fit(again, tensorm.load(tmp_path))


def test_how_the_number_was_chosen_is_known_after_a_stop(tmp_path: Path) -> None:
    X = datasets.simulate((12, 12, 12), rank=2, noise=0.05, random_state=0).observed
    folder = tmp_path / "run"
    model = TensOrMachine("auto", n_chains=1, n_draws=20, random_state=0, noise="asymmetric", progress=False)
    chosen = model.fit(X, run_dir=folder).selection_
    assert tensorm.resume(folder).selection_.to_json() == chosen.to_json()
    (folder / "fit.tensorm").unlink()
    assert tensorm.resume(folder).selection_.to_json() == chosen.to_json()
    assert_same_fit(tensorm.resume(folder), model)
    (folder / "selection.json").write_text("{")
    with pytest.raises(FileError, match=r"selection\.json is damaged; delete it to continue without it"):
        tensorm.resume(folder)
    (folder / "selection.json").unlink()
    assert not hasattr(tensorm.resume(folder), "selection_")


def test_seeds_drawn_by_chance_are_kept(tmp_path: Path) -> None:
    X = datasets.simulate((8, 8, 8), rank=2, random_state=0, missing=0.2).observed
    TensOrMachine(2, n_chains=2, n_draws=5, noise="asymmetric", progress=False).fit(X, run_dir=tmp_path)
    first = tensorm.load(tmp_path / "fit.tensorm")
    for name in ("fit.tensorm", "chain-0.tensorm", "chain-1.tensorm"):
        (tmp_path / name).unlink()
    assert_same_fit(tensorm.resume(tmp_path), first)


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    X = datasets.simulate((6, 6, 6), rank=2, random_state=0).observed
    model = TensOrMachine(
        2, n_chains=1, n_draws=3, burn_in=2, random_state=0, noise="asymmetric", progress=False
    )
    model.fit(X, run_dir=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileError, match=r"already contains a finished fit; give another run_dir\.$"):
        model.fit(X, run_dir=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "fit.tensorm").unlink()
    with pytest.raises(FileError, match=r"already contains a run; continue it with tensorm\.resume, or give"):
        model.fit(X, run_dir=tmp_path)


def stopped_run(folder: Path, **changes) -> TensOrMachine:
    """A run whose chains are done, but whose fit was not saved."""
    X = datasets.simulate((8, 8, 8), rank=2, noise=0.1, random_state=0).observed
    settings = {
        "noise": "asymmetric",
        "n_components": 2,
        "n_chains": 2,
        "n_draws": 5,
        "random_state": 3,
        "progress": False,
    }
    model = TensOrMachine(**settings | changes).fit(X, run_dir=folder)
    (folder / "fit.tensorm").unlink()
    return model


def test_a_chain_copied_over_another_is_refused(tmp_path: Path) -> None:
    stopped_run(tmp_path)
    shutil.copy(tmp_path / "chain-1.tensorm", tmp_path / "chain-0.tensorm")
    with pytest.raises(FileError, match=r"chain-0\.tensorm cannot be read: it belongs to chain 1, not 0"):
        tensorm.resume(tmp_path)


@pytest.mark.parametrize(
    "change", [{"n_components": 3}, {"n_draws": 4}, {"noise_prior": (2.0, 1.0)}], ids=str
)
def test_a_chain_of_another_run_with_the_same_seed_is_refused(tmp_path: Path, change: dict) -> None:
    stopped_run(tmp_path / "mine")
    stopped_run(tmp_path / "theirs", **change)
    shutil.copy(tmp_path / "theirs" / "chain-0.tensorm", tmp_path / "mine")
    with pytest.raises(FileError, match=r"chain-0\.tensorm cannot be read: it belongs to another run"):
        tensorm.resume(tmp_path / "mine")


def test_a_chain_with_a_forged_number_of_components_is_refused(tmp_path: Path) -> None:
    stopped_run(tmp_path)
    path = tmp_path / "chain-0.tensorm"
    parts = forge.Parts(path.read_bytes())
    parts.about["n_components"] = parts.about["draws"]["n_components"] = 130
    for k in range(3):
        parts.write(f"state_{k}", np.full((8, 3), 2**64 - 1, "u8"))
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match="there are 130 components instead of 2"):
        tensorm.resume(tmp_path)


def test_a_folder_is_loaded_once_its_run_is_finished(tmp_path: Path) -> None:
    model = stopped_run(tmp_path)
    with pytest.raises(FileError, match=r"contains no finished fit; finish it with tensorm\.resume\.$"):
        tensorm.load(tmp_path)
    tensorm.resume(tmp_path)
    assert_same_fit(tensorm.load(tmp_path), model)
    assert_same_fit(tensorm.load(str(tmp_path)), model)


def test_resume_says_that_a_run_was_finished(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stopped_run(tmp_path)
    with caplog.at_level("INFO", "tensorm"):
        tensorm.resume(tmp_path)
        assert "finished" not in caplog.text
        tensorm.resume(tmp_path)
    assert f"The run in {tmp_path} was already finished; nothing was left to do." in caplog.messages


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="contains no run"):
        tensorm.resume(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    X = datasets.simulate((6, 6, 6), rank=2, random_state=0).observed
    with pytest.raises(FileError, match="cannot be created"):
        TensOrMachine(2, noise="asymmetric", progress=False).fit(X, run_dir=tmp_path / "file" / "run")


@pytest.mark.parametrize(("n_chains", "times"), [(1, 100), (2, 1)], ids=["for long", "for one of two chains"])
def test_a_full_disk_ends_the_run_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch, n_chains: int, times: int
) -> None:
    """The disk is full after a few checkpoints; once there is room, the run goes on to the same end."""
    from tensorm.storage import files

    X = datasets.simulate((8, 8, 8), rank=2, noise=0.1, random_state=0).observed
    settings = {
        "noise": "asymmetric",
        "n_components": 2,
        "n_chains": n_chains,
        "n_draws": 20,
        "random_state": 3,
        "progress": False,
    }
    expected = TensOrMachine(**settings).fit(X)
    monkeypatch.setattr(files.Due, "__call__", lambda self, chain: True)
    written, real = [], files.os.fsync

    def full(descriptor: int) -> None:
        written.extend([descriptor] * stat.S_ISREG(os.fstat(descriptor).st_mode))  # folders are synced, too
        if 4 <= len(written) < 4 + times:
            written.append(descriptor)
            raise OSError(28, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(FileError, match=r"(?i)no space left on device"):
            TensOrMachine(**settings).fit(X, run_dir=tmp_path)
    assert not list(tmp_path.glob(".*.part"))
    assert_same_fit(tensorm.resume(tmp_path), expected)


@pytest.mark.parametrize("cell", [(0, 0, 0), (3, 7, 1), (7, 7, 7)])
def test_a_run_is_resumed_with_its_own_cells_only(tmp_path: Path, cell: tuple[int, ...]) -> None:
    X = datasets.simulate((8, 8, 8), rank=2, noise=0.1, random_state=0).observed
    model = stopped_run(tmp_path)
    other = X.copy()
    other[cell] = 1 - other[cell]
    with pytest.raises(tensorm.InputError, match="X differs from the cells of this run"):
        tensorm.resume(tmp_path, other)
    listed = SparseTensor(np.argwhere(X == 1), X.shape)
    assert_same_fit(tensorm.resume(tmp_path, listed, progress=False), model)


def test_two_corners_that_change_places_are_noticed(tmp_path: Path) -> None:
    """Every index keeps as many ones as it had."""
    X = np.zeros((4, 4, 3))
    X[0, 0, 0] = X[1, 1, 0] = X[2, 3, 1] = 1
    TensOrMachine(
        1, n_chains=1, n_draws=2, burn_in=1, random_state=0, noise="asymmetric", progress=False
    ).fit(X, run_dir=tmp_path)
    (tmp_path / "fit.tensorm").unlink()
    Y = X.copy()
    Y[:2, :2, 0] = X[:2, :2, 0][::-1]
    with pytest.raises(tensorm.InputError, match="X differs from the cells"):
        tensorm.resume(tmp_path, Y)


def test_the_fit_of_another_run_is_refused(tmp_path: Path) -> None:
    stopped_run(tmp_path / "mine")
    stopped_run(tmp_path / "theirs", random_state=4)
    tensorm.resume(tmp_path / "theirs", progress=False)
    shutil.copy(tmp_path / "theirs" / "fit.tensorm", tmp_path / "mine")
    with pytest.raises(FileError, match=r"fit\.tensorm cannot be read: it belongs to another run"):
        tensorm.load(tmp_path / "mine")


def test_settings_decide_what_a_run_samples(tmp_path: Path) -> None:
    """A model that says otherwise, such as one of more components than ``init`` has, is not listened to."""
    model = stopped_run(tmp_path, init=[np.eye(8, 2, dtype=bool)] * 3)
    for path in tmp_path.glob("chain-*"):
        path.unlink()
    parts = forge.Parts((tmp_path / "run.tensorm").read_bytes())
    parts.about["model"] |= {"n_components": 130, "noise": "symmetric"}
    (tmp_path / "run.tensorm").write_bytes(parts.join())
    assert_same_fit(tensorm.resume(tmp_path, progress=False), model)
