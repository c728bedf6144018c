"""Files that are broken, or made to do harm: one clear sentence, nothing touched, nothing large allocated."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import forge
import tensorm
from tensorm import FileError

opened: list[str] = []
watching: int | None = None  # the thread whose doings are noted


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    if watching == threading.get_ident() and event in (
        "open",
        "os.listdir",
        "subprocess.Popen",
        "os.system",
        "exec",
        "import",
    ):
        opened.append(f"{event} {arguments[0]}")


sys.addaudithook(listen)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return forge.saved(tmp_path_factory.mktemp("good"))


def refuse(path: Path) -> str:
    """Load a file that must be refused, and return the message."""
    global watching
    size = path.stat().st_size if path.is_file() else 0
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "h5py"}
    sys.modules["h5py"] = None  # type: ignore[assignment]  # importing it raises
    opened.clear()
    tracemalloc.start()
    collecting = gc.isenabled()
    gc.disable()  # other libraries hook into collections, and read files of their own there
    try:
        watching = threading.get_ident()
        with pytest.raises(FileError) as caught:
            tensorm.load(path)
    finally:
        watching = None
        if collecting:
            gc.enable()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del sys.modules["h5py"]
        sys.modules.update(modules)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be read: ")
    assert message.endswith(".")
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < len(str(path)) + 200
    assert {entry for entry in opened if not entry.startswith("import")} <= {f"open {path}"}
    assert peak < 16 * min(size, 2**20) + 2**20
    return message.removeprefix(f"{path} cannot be read: ")


# Things that are no file of ours: made from the bytes of a good one, in an empty folder.

STRANGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda good: b"", "it is empty"),
    "one byte": (lambda good: b"\x89", "not a netCDF-4 file"),
    "text": (lambda good: b"gene,day\n1,2\n", "not a netCDF-4 file"),
    "pickle": (lambda good: pickle.dumps(print), "not a netCDF-4 file"),
    "zip": (lambda good: b"PK\x03\x04" + bytes(100), "not a netCDF-4 file"),
    "netCDF-3": (lambda good: b"CDF\x01" + bytes(100), "not a netCDF-4 file"),
    "signature": (lambda good: good[:8], "tensorm did not write it"),
    "signature and seal": (lambda good: good[:8] + good[-8:], "tensorm did not write it"),
    "half": (lambda good: good[: len(good) // 2], "tensorm did not write it"),
    "last byte missing": (lambda good: good[:-1], "tensorm did not write it"),
    "one byte more": (lambda good: good + b"\n", "tensorm did not write it"),
    "something before it": (lambda good: bytes(512) + good, "not a netCDF-4 file"),
    "a hole": (lambda good: good[:9000] + bytes(500) + good[9500:], "checksum is wrong"),
    "twice": (lambda good: good + good, "checksum is wrong"),
    "index of any length": (lambda good: good[:-48] + b"\xff" * 8 + good[-40:], "impossible length"),
    "checksum of another": (lambda good: good[:-40] + bytes(32) + good[-8:], "checksum is wrong"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_files_that_are_none_of_ours(name: str, good: bytes, tmp_path: Path) -> None:
    make, why = STRANGE[name]
    path = tmp_path / "file.nc"
    path.write_bytes(make(good))
    assert why in refuse(path)


def test_things_that_are_no_files(tmp_path: Path) -> None:
    assert refuse(tmp_path / "missing.nc") == "no such file or directory."
    (tmp_path / "folder.nc").mkdir()
    assert refuse(tmp_path / "folder.nc") == "it is not a file."
    (tmp_path / "loop.nc").symlink_to(tmp_path / "loop.nc")
    assert "symbolic links" in refuse(tmp_path / "loop.nc")
    os.mkfifo(tmp_path / "pipe.nc")
    assert refuse(tmp_path / "pipe.nc") == "it is not a file."  # opening it would wait for ever


# Files by HDF5's own means: parts of a good file that lead out of it, or blow up. A pipe waits at the other
# end, so that opening it would never come back.


def external_link(file: h5py.File, trap: Path) -> None:
    del file["chain_0"]
    file["chain_0"] = h5py.ExternalLink(str(trap), "/chain_0")


def soft_link(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file["chain_0/noise"] = h5py.SoftLink("/chain_1/noise")


def dangling_link(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file["chain_0/noise"] = h5py.SoftLink("/etc/passwd")


def external_storage(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file.create_dataset("chain_0/noise", (6, 2), "f8", external=[(str(trap), 0, 96)])


def virtual(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    layout = h5py.VirtualLayout((6, 2), "f8")
    layout[...] = h5py.VirtualSource(str(trap), "noise", (6, 2))
    file.create_virtual_dataset("chain_0/noise", layout)


def references(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file.create_dataset("chain_0/noise", (6, 2), h5py.ref_dtype)


def references_of_any_length(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file.create_dataset("chain_0/noise", (6, 2), h5py.vlen_dtype(h5py.ref_dtype))


def texts_of_any_length(file: h5py.File, trap: Path) -> None:
    del file["modes"]
    file.create_dataset("modes", data=["x" * 1000] * 100, dtype=h5py.string_dtype())


def many_cells(file: h5py.File, trap: Path) -> None:
    del file["chain_0/factor_0"]
    file.create_dataset("chain_0/factor_0", (10**6, 10**6, 2), "u1", chunks=(1, 1000, 2))


def bomb(file: h5py.File, trap: Path) -> None:
    del file["chain_0/factor_0"]
    zeros = np.zeros((2**12, 2**12, 2), "u1")
    file.create_dataset("chain_0/factor_0", data=zeros, compression="gzip", compression_opts=9)


def unknown_filter(file: h5py.File, trap: Path) -> None:
    del file["chain_0/factor_0"]
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((6, 4, 2))
    made.set_filter(31999, h5py.h5z.FLAG_OPTIONAL, (1,))  # HDF5 looks for code to load
    space = h5py.h5s.create_simple((6, 4, 2))
    h5py.h5d.create(file["chain_0"].id, b"factor_0", h5py.h5t.STD_U8LE, space, made)


def large_attribute(file: h5py.File, trap: Path) -> None:
    file.attrs.create("format_version", np.ones(10**6, "i8"))


def large_word(file: h5py.File, trap: Path) -> None:
    file.attrs["format"] = np.bytes_(b"tensorm fit" * 5000)


def circle(file: h5py.File, trap: Path) -> None:
    file["chain_0/chain_0"] = file["chain_0"]


def compound(file: h5py.File, trap: Path) -> None:
    del file["chain_0/noise"]
    file.create_dataset("chain_0/noise", (6,), [("hit", "f8"), ("false_alarm", "f8")])


BY_HDF5 = [
    external_link,
    soft_link,
    dangling_link,
    external_storage,
    virtual,
    references,
    references_of_any_length,
    texts_of_any_length,
    many_cells,
    bomb,
    unknown_filter,
    large_attribute,
    large_word,
    circle,
    compound,
]


def spoil(change: Callable[[h5py.File, Path], None], good: bytes, folder: Path) -> Path:
    trap = folder / "trap.h5"
    os.mkfifo(trap)
    path = folder / "file.nc"
    path.write_bytes(good)
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        change(file, trap)
    return path


@pytest.mark.parametrize("change", BY_HDF5, ids=lambda change: change.__name__)
def test_files_changed_with_hdf5(
    change: Callable[[h5py.File, Path], None], good: bytes, tmp_path: Path
) -> None:
    path = spoil(change, good, tmp_path)
    assert refuse(path).startswith(("tensorm did not write it", "its checksum is wrong"))


@pytest.mark.parametrize("change", BY_HDF5, ids=lambda change: change.__name__)
def test_files_changed_with_hdf5_and_sealed_again(
    change: Callable[[h5py.File, Path], None], good: bytes, tmp_path: Path
) -> None:
    """What HDF5 holds is not looked at: the index alone says what is read, and there "noise" is gone."""
    path = spoil(change, good, tmp_path)
    parts = forge.Parts(bytearray(path.read_bytes()), forge.take_apart(good).index)
    del parts.group("chain_0")["variables"]["noise"]
    path.write_bytes(parts.join())
    assert refuse(path) == "there is no 'noise' in chain_0."


# Files by someone who knows our format, checksum and all.


def attribute(name: str, value: Any, group: str = "") -> Callable[[forge.Parts], None]:
    return lambda parts: parts.group(group)["attributes"].update({name: value})


def numbers(path: str, at: Any, value: Any) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.change(path, at, value)


def place(path: str, **entry: Any) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.place(path).update(entry)


def missing(path: str) -> Callable[[forge.Parts], None]:
    group, _, name = path.rpartition("/")
    return lambda parts: parts.group(group)["variables"].pop(name)


def text(path: str, content: Any) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.write_text(path, content)


def setting(name: str, value: Any) -> Callable[[forge.Parts], None]:
    path = "settings/settings"
    return lambda parts: parts.write_text(path, parts.text(path) | {name: value})


def no_chain(parts: forge.Parts) -> None:
    del parts.index["groups"]["chain_1"]


def strange_group(parts: forge.Parts) -> None:
    parts.index["groups"]["__init__"] = parts.index["groups"]["chain_0"]


def larger_chain(parts: forge.Parts) -> None:
    parts.write("chain_1/factor_0", np.zeros((6, 5, 2), "u1"))


def other_cells(parts: forge.Parts) -> None:
    parts.write("chain_1/confusion", np.tile(np.array([1, 1, 1, 1], "<i8"), (6, 1)))


def more_components(parts: forge.Parts) -> None:
    """All agree on 2^24 components, of which the file has none."""
    for path in ("", "model", "chain_0", "chain_1"):
        parts.group(path)["attributes"]["n_components"] = 2**24


def on_top_of_each_other(parts: forge.Parts) -> None:
    """Many chains in the bytes of one."""
    parts.index["attributes"]["n_chains"] = 1000
    parts.write("kept", np.ones(1000, "i1"))
    for number in range(1000):
        parts.index["groups"][f"chain_{number}"] = parts.index["groups"]["chain_0"]


def deep_index(parts: forge.Parts) -> None:
    for _ in range(100):
        parts.index["groups"] = {"chain_0": copy.copy(parts.index), "chain_1": {}}


MODE = {"name": "x", "labels": None}

FORGED: dict[str, tuple[Callable[[forge.Parts], Any], str]] = {
    "newer": (attribute("format_version", 2), "install a newer tensorm"),
    "version 0": (attribute("format_version", 0), "format_version is 0"),
    "version true": (attribute("format_version", True), "format_version is True"),
    "version huge": (attribute("format_version", 10**300), "format_version is a very large number"),
    "other format": (attribute("format", "tensorm chain"), "format is 'tensorm chain', not 'tensorm fit'"),
    "escape codes": (attribute("format", "\x1b]0;\x07\n"), r"format is '\x1b]0;\x07\n', not"),
    "long word": (attribute("format", "x" * 10**5), "format is 'xxx"),
    "chains 10^6": (attribute("n_chains", 10**6), "n_chains is 1000000, not an integer from 1 to"),
    "three chains": (attribute("n_chains", 3), "there is no 'chain_2'"),
    "chains 10^12": (attribute("n_chains", 10**12), "n_chains is 1000000000000"),
    "no chains": (attribute("n_chains", 0), "n_chains is 0"),
    "chain missing": (no_chain, "there is no 'chain_1'"),
    "group too many": (strange_group, "'__init__' does not belong there"),
    "components differ": (attribute("n_components", 10), "there are 9 components instead of 10 in chain_0"),
    "components differ in a chain": (attribute("n_components", 8, "chain_1"), "8 components instead of 9"),
    "components differ in the model": (attribute("n_components", 8, "model"), "has shape"),
    "components 2^24": (more_components, "has shape (6, 4, 2), not (6, any, 2097152)"),
    "components 10^12": (attribute("n_components", 10**12, "chain_0"), "n_components is 1000000000000"),
    "variable missing": (missing("chain_1/density"), "there is no 'density' in chain_1"),
    "labels missing": (missing("mode_0"), "there is no 'mode_0'"),
    "settings missing": (missing("settings/settings"), "there is no 'settings' in settings"),
    "10^12 draws": (place("chain_0/log_posterior", shape=[10**12]), "lies outside of the file"),
    "10^12 indices": (place("chain_0/factor_0", shape=[6, 10**12, 2]), "lies outside of the file"),
    "draws before the file": (place("chain_0/noise", offset=-96), "not a place"),
    "draws behind the file": (place("chain_0/noise", offset=10**6), "lies outside of the file"),
    "objects": (place("chain_0/noise", dtype="|O"), "is of type '|O', not '<f8'"),
    "single precision": (place("chain_0/noise", dtype="<f4"), "is of type '<f4'"),
    "flat": (place("chain_0/noise", shape=[12]), "has shape (12,), not (6, 2)"),
    "1,000 chains in one": (on_top_of_each_other, "lies outside of the file"),
    "rate nan": (numbers("chain_0/noise", (0, 0), np.nan), "rates that are not ordered"),
    "rate above 1": (numbers("chain_0/noise", (0, 0), 1.5), "rates that are not ordered"),
    "density infinite": (numbers("chain_1/density", slice(None), np.inf), "density holds numbers"),
    "log posterior nan": (numbers("chain_1/log_posterior", 3, np.nan), "log_posterior holds"),
    "negative count": (numbers("chain_0/confusion", (0, 0), -5), "confusion holds counts"),
    "member of no component": (numbers("chain_0/factor_1", (0, 0, 1), 255), "past the last"),
    "other cells": (other_cells, "not sampled from the same cells"),
    "larger chain": (larger_chain, "has shape (6, 5, 2), not (6, 4, 2)"),
    "burn-in negative": (attribute("burn_in", -1, "chain_0"), "burn_in is -1"),
    "settled 2": (attribute("settled", 2, "chain_0"), "settled is 2"),
    "no chain counts": (numbers("kept", slice(None), 0), "which chains count"),
    "kept 2": (numbers("kept", 0, 2), "which chains count"),
    "one mode": (text("modes", [MODE]), "not a list of 2 to 64 names"),
    "65 modes": (text("modes", [MODE] * 65), "not a list of 2 to 64 names"),
    "two modes": (text("modes", [MODE] * 2), "does not belong there"),
    "modes without names": (text("modes", [{"name": 3, "labels": None}] * 3), "not a list of 2 to 64 names"),
    "modes of another kind": (text("modes", {"a": 1}), "not a list of 2 to 64 names"),
    "modes of nothing": (text("modes", b"{" * 10**5), "names of the modes are damaged"),
    "labels of another kind": (text("modes", [MODE | {"labels": "os"}, MODE, MODE]), "'mode_1' does not"),
    "labels too few": (place("mode_0", shape=[3, 11]), "has shape (3, 11), not (4, any)"),
    "times as text": (place("mode_1", dtype="|S1"), "is of type '|S1', not '<i8'"),
    "setting unknown": (setting("__class__", "os.system"), "'__class__' is no setting"),
    "setting of a class": (setting("init", {"py/object": "os.system"}), "the settings are damaged"),
    "setting of a pickle": (text("settings/settings", pickle.dumps(print)), "in settings"),
    "10^9 threads": (setting("n_jobs", 10**9), "n_jobs is 1000000000, more than 4096"),
    "seed of 65 bits": (attribute("seed", 2**64, "model"), "seed is"),
    "seed of text": (attribute("seed", "0", "model"), "seed is '0'"),
    "unknown noise": (attribute("noise", "os", "model"), "noise is 'os', not 'symmetric' or 'asymmetric'"),
    "unknown flips": (attribute("flips", ["gibbs"], "model"), "flips is ['gibbs']"),
    "prior nan": (numbers("model/prior_1", (0, 0), np.nan), "prior_1 holds nan in model"),
    "prior of another size": (place("model/prior_1", shape=[9, 5]), "prior_1 has shape (9, 5), not (5, 9)"),
    "contribution nan": (numbers("contributions/accuracy_lost", 0, np.nan), "accuracy_lost holds numbers"),
    "contribution negative": (numbers("contributions/alone", 0, -1), "alone holds numbers"),
    "contribution missing": (missing("contributions/alone"), "there is no 'alone' in contributions"),
    "deep index": (deep_index, "there is no 'contributions'"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_files(name: str, good: bytes, tmp_path: Path) -> None:
    change, why = FORGED[name]
    parts = forge.take_apart(good)
    change(parts)
    path = tmp_path / "file.nc"
    path.write_bytes(parts.join())
    assert why in refuse(path)


def test_a_good_file_is_taken(good: bytes, tmp_path: Path) -> None:
    """So that the refusals above are not for nothing."""
    assert forge.load_bytes(tmp_path, forge.take_apart(good).join()).modes_ == ("gene", "day", "mouse")


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def try_to_load(folder: Path, parts: forge.Parts) -> str:
    """The message if the file is refused; else it works."""
    try:
        model = forge.load_bytes(folder, parts.join())
    except FileError as error:
        return str(error)
    assert np.isfinite(model.predict_proba()).all()
    return ""


ODD = [None, True, 0, 1, -1, 0.5, float("nan"), 10**12, 2**63, 10**400, "", "x", "<f8", "|S1", [], [1, 2], {}]


def test_an_index_with_anything_in_it(good: bytes, tmp_path: Path) -> None:
    """Every entry of the index replaced by something odd: refused in one sentence, or harmless."""
    whole = forge.take_apart(good)
    rng = np.random.default_rng(0)
    refused = 0
    for at in places(whole.index):
        parts = forge.Parts(whole.body, copy.deepcopy(whole.index))
        node = parts.index
        for key in at[:-1]:
            node = node[key]
        node[at[-1]] = ODD[rng.integers(len(ODD))]
        message = try_to_load(tmp_path, parts)
        assert message.isprintable()
        refused += bool(message)
    assert refused > 200


def test_variables_with_anything_in_them(good: bytes, tmp_path: Path) -> None:
    whole = forge.take_apart(good)
    rng = np.random.default_rng(1)
    for path in forge.variables(whole.index):
        for filling in (b"\0", b"\xff", b"[", None):
            parts = forge.Parts(bytearray(whole.body), copy.deepcopy(whole.index))
            array = parts.read(path)
            octets = rng.bytes(array.nbytes) if filling is None else filling * array.nbytes
            parts.write(path, np.frombuffer(octets, array.dtype).reshape(array.shape))
            assert try_to_load(tmp_path, parts).isprintable()
