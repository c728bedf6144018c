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
    folder = tmp_path_factory.mktemp("good")
    content = forge.saved(folder)
    forge.load_bytes(folder, content)  # imports what it needs
    return content


def refuse(path: Path) -> str:
    """Load a file that must be refused, and return the message."""
    global watching
    size = path.stat().st_size if path.is_file() else 0
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
    "one byte": (lambda good: b"P", "not a tensorm file"),
    "text": (lambda good: b"gene,day\n1,2\n", "not a tensorm file"),
    "pickle": (lambda good: pickle.dumps(print), "not a tensorm file"),
    "netCDF-3": (lambda good: b"CDF\x01" + bytes(100), "not a tensorm file"),
    "an empty zip": (lambda good: b"PK\x05\x06" + bytes(18), "not a tensorm file"),
    "another's zip": (lambda good: b"PK\x03\x04" + bytes(100), "tensorm did not write it"),
    "signature": (lambda good: good[:4], "tensorm did not write it"),
    "signature and comment": (lambda good: good[:4] + good[-72:], "checksum is wrong"),
    "half": (lambda good: good[: len(good) // 2], "tensorm did not write it"),
    "last byte missing": (lambda good: good[:-1], "tensorm did not write it"),
    "one byte more": (lambda good: good + b"\n", "tensorm did not write it"),
    "something before it": (lambda good: bytes(512) + good, "not a tensorm file"),
    "a hole": (lambda good: good[:3000] + bytes(500) + good[3500:], "checksum is wrong"),
    "twice": (lambda good: good + good, "checksum is wrong"),
    "checksum of another": (lambda good: good[:-64] + b"0" * 64, "checksum is wrong"),
    "zip of nothing, sealed": (lambda good: forge.seal(good[:4] + good[-72:]), "directory is damaged"),
    "no directory, sealed": (lambda good: forge.seal(good[:1000] + good[-72:]), "directory is damaged"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_files_that_are_none_of_ours(name: str, good: bytes, tmp_path: Path) -> None:
    make, why = STRANGE[name]
    path = tmp_path / "file.tensorm"
    path.write_bytes(make(good))
    assert why in refuse(path)


def test_a_file_of_numpy_is_none_of_ours(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "file.npz", noise=np.ones(3))
    assert "tensorm did not write it" in refuse(tmp_path / "file.npz")


def test_things_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"^No such file: .*missing\.tensorm\.$"):
        tensorm.load(tmp_path / "missing.tensorm")
    with pytest.raises(FileError, match="contains no finished fit; give the folder of a fit"):
        tensorm.load(tmp_path)
    (tmp_path / "loop.tensorm").symlink_to(tmp_path / "loop.tensorm")
    assert "symbolic links" in refuse(tmp_path / "loop.tensorm")
    os.mkfifo(tmp_path / "pipe.tensorm")
    assert refuse(tmp_path / "pipe.tensorm") == "it is not a file."  # opening it would wait for ever


# Files by someone who knows our format, checksum and all.


def said(name: str, value: Any, tree: str = "") -> Callable[[forge.Parts], None]:
    return lambda parts: parts.tree(tree).update({name: value})


def numbers(path: str, at: Any, value: Any) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.change(path, at, value)


def header(path: str, **changes: Any) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.say(path, **changes)


def array(path: str, array: np.ndarray) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.write(path, array)


def missing(path: str) -> Callable[[forge.Parts], None]:
    return lambda parts: parts.members.pop(f"{path}.npy")


def setting(name: str, value: Any) -> Callable[[forge.Parts], None]:
    return said(name, value, "settings/parameters")


def no_chain(parts: forge.Parts) -> None:
    del parts.about["chain_1"]
    parts.members = {name: content for name, content in parts.members.items() if "chain_1" not in name}


def strange_array(parts: forge.Parts) -> None:
    parts.members["__init__.npy"] = parts.members["weights.npy"]


def again_and_again(parts: forge.Parts) -> None:
    """Reading a large array a thousand times would fill the memory."""
    parts.about["settings"]["parameters"]["init"] = [{"array": 0}] * 1000


def other_cells(parts: forge.Parts) -> None:
    parts.write("chain_1/confusion", np.tile(np.array([1, 1, 1, 1], "<i8"), (6, 1)))


def more_components(parts: forge.Parts) -> None:
    """All agree on 2^24 components, of which the file has none."""
    for path in ("", "model", "chain_0", "chain_1"):
        parts.tree(path)["n_components"] = 2**24


def many_chains(parts: forge.Parts) -> None:
    """A thousand chains are named, all of them small."""
    parts.about["n_chains"] = 1000
    parts.write("weights", np.ones(1000, "f8"))
    for number in range(2, 1000):
        parts.about[f"chain_{number}"] = parts.about["chain_0"]


def bomb(parts: forge.Parts) -> None:
    """32 MB that take 32 kB."""
    parts.write("chain_0/moves_0", np.zeros((6, 2**22, 2), "u1"))


def bomb_of_text(parts: forge.Parts) -> None:
    parts.about = b"[" + b" " * 2**24 + b"]"


MODE = {"name": "x", "labels": None}

FORGED: dict[str, tuple[Callable[[forge.Parts], Any], str]] = {
    "older": (said("format_version", 3), "reads format 6: fit again"),
    "one mode twice": (said("undirected", [0, 0]), "undirected is [0, 0], not two modes"),
    "unequal modes": (said("undirected", [0, 1]), "undirected is [0, 1], not two modes"),
    "newer": (said("format_version", 7), "install a newer tensorm"),
    "version 0": (said("format_version", 0), "format_version is 0"),
    "version true": (said("format_version", True), "format_version is True"),
    "version huge": (said("format_version", 10**300), "format_version is a very large number"),
    "outcomes of other chains": (
        said("outcomes", ["included", "failed"]),
        "which 2 chains are included",
    ),
    "outcomes unknown": (
        said("outcomes", ["included", "included", ["x"]]),
        "which 2 chains are included",
    ),
    "outcomes no list": (said("outcomes", "included"), "which 2 chains are included"),
    "no sentence": (said("noise_choice", 7), "noise_choice is 7, not a text"),
    "other format": (said("format", "tensorm chain"), "format is 'tensorm chain', not 'tensorm fit'"),
    "escape codes": (said("format", "\x1b]0;\x07\n"), r"format is '\x1b]0;\x07\n', not"),
    "long word": (said("format", "x" * 10**5), "format is 'xxx"),
    "chains 10^6": (said("n_chains", 10**6), "'chain_2' is missing"),
    "three chains": (said("n_chains", 3), "'chain_2' is missing"),
    "chains 10^63": (said("n_chains", 10**63), "n_chains is a very large number"),
    "chains 10^12": (said("n_chains", 10**12), "'chain_2' is missing"),
    "no chains": (said("n_chains", 0), "n_chains is 0"),
    "a thousand chains": (many_chains, "'log_posterior' is missing in chain_2"),
    "chain missing": (no_chain, "'chain_1' is missing"),
    "array too many": (strange_array, "'__init__' is unexpected"),
    "an array again and again": (again_and_again, "'array_0' is missing in settings"),
    "chain of text": (said("chain_1", "x"), "'chain_1' is not a tree"),
    "components differ": (said("n_components", 10), "there are 9 components in the model and 10 in draws"),
    "components differ in a chain": (said("n_components", 8, "chain_1"), "8 components instead of 9"),
    "components differ in the model": (said("n_components", 8, "model"), "has shape"),
    "components 2^24": (more_components, "prior_1 has shape (5, 9), not (5, 16777216) in model"),
    "components 10^12": (said("n_components", 10**12, "chain_0"), "n_components is 1000000000000"),
    "array missing": (missing("chain_1/density"), "'density' is missing in chain_1"),
    "labels missing": (missing("mode_0"), "'mode_0' is missing"),
    "settings missing": (said("settings", {}), "'parameters' is missing in settings"),
    "10^12 draws": (
        header("chain_0/log_posterior", shape=(10**12,)),
        "does not have the size that its header states",
    ),
    "10^12 indices": (header("chain_0/factor_0", shape=(10**12, 2)), "not (4, 2)"),
    "a bomb": (bomb, "has shape (6, 4194304, 2), not (6, "),
    "a bomb of text": (bomb_of_text, "about.json is missing or too long"),
    "objects": (header("chain_0/noise", descr="|O"), "is of type '|O', not '<f8'"),
    "single precision": (array("chain_0/noise", np.ones((6, 2), "f4")), "is of type '<f4'"),
    "flat": (header("chain_0/noise", shape=(12,)), "has shape (12,), not (6, 2)"),
    "by columns": (
        header("chain_0/noise", fortran_order=True),
        "does not have the size that its header states",
    ),
    "rate nan": (numbers("chain_0/noise", (0, 0), np.nan), "rates that are not ordered"),
    "rate above 1": (numbers("chain_0/noise", (0, 0), 1.5), "rates that are not ordered"),
    "density under a fixed prior": (numbers("chain_1/density", slice(None), 0.5), "density contains numbers"),
    "burn-in beyond all": (said("burn_in", 2**32, "chain_0"), "burn_in is 4294967296"),
    "density infinite": (numbers("chain_1/density", slice(None), np.inf), "density contains numbers"),
    "log posterior nan": (numbers("chain_1/log_posterior", 3, np.nan), "log_posterior contains"),
    "negative count": (numbers("chain_0/confusion", (0, 0), -5), "confusion contains counts"),
    "member of no component": (numbers("chain_0/factor_1", (0, 1), 255), "beyond the last"),
    "other cells": (other_cells, "not sampled from the same cells"),
    "larger chain": (array("chain_1/factor_0", np.zeros((5, 2), "u1")), "shape (5, 2), not (4, 2)"),
    "no draws": (array("chain_0/log_posterior", np.zeros(0)), "there are no draws in chain_0"),
    "no indices": (array("chain_0/factor_0", np.zeros((0, 2), "u1")), "has shape (0, 2)"),
    "shape of nothing": (said("shape", [4, 0, 3]), "shape is [4, 0, 3], not 3 sizes"),
    "shape of text": (said("shape", "435"), "shape is '435', not 3 sizes"),
    "shape of Booleans": (said("shape", [4, 5, True]), "shape is [4, 5, True], not 3 sizes"),
    "another shape": (said("shape", [4, 5, 4]), "prior_2 has shape (3, 9), not (4, 9) in model"),
    "shape beyond all": (said("shape", [4, 5, 2**60]), "shape is [4, 5, 1152921504606846976], not 3 sizes"),
    "burn-in negative": (said("burn_in", -1, "chain_0"), "burn_in is -1"),
    "settled 2": (said("settled", 2, "chain_0"), "settled is 2"),
    "no chain counts": (numbers("weights", slice(None), 0), "shares that add up to 1"),
    "a negative weight": (numbers("weights", 0, -0.5), "shares that add up to 1"),
    "a weight that is no number": (numbers("weights", 0, np.nan), "shares that add up to 1"),
    "an endless weight": (numbers("weights", 0, np.inf), "shares that add up to 1"),
    "no first explanation": (numbers("explanations", slice(None), 1), "not numbered from 0"),
    "a huge explanation": (numbers("explanations", 0, 2**62), "not numbered from 0"),
    "a negative explanation": (numbers("explanations", 0, -1), "not numbered from 0"),
    "one mode": (said("modes", [MODE]), "not a list of 2 to 64 names"),
    "65 modes": (said("modes", [MODE] * 65), "not a list of 2 to 64 names"),
    "shape beyond all numbers": (said("shape", [10**200, 10**200, 3]), "not 3 sizes"),
    "two modes": (said("modes", [MODE] * 2), "shape is [4, 5, 3], not 2 sizes"),
    "modes without names": (said("modes", [{"name": 3, "labels": None}] * 3), "not a list of 2 to 64 names"),
    "modes of another kind": (said("modes", ["a", 1, 2]), "not a list of 2 to 64 names"),
    "labels of another kind": (said("modes", [MODE | {"labels": "os"}, MODE, MODE]), "unknown kind"),
    "labels too few": (array("mode_0", np.array(["a", "b", "c"])), "has shape (3,), not (4)"),
    "labels of objects": (header("mode_1", descr="|O"), "is of type '|O'"),
    "setting unknown": (setting("__class__", "os.system"), "'__class__' is not a setting"),
    "setting of a class": (setting("init", {"py/object": "os.system"}), "the settings are damaged"),
    "deep setting": (setting("init", forge.deep(10)), "the settings are damaged"),
    "very deep setting": (setting("init", forge.deep(400)), "the settings are damaged"),
    "deep tuple": (setting("init", forge.deep(10, '{"tuple": [%s]}')), "the settings are damaged"),
    "setting of a pickle": (said("settings", str(pickle.dumps(print))), "'settings' is not a tree"),
    "10^9 threads": (setting("n_jobs", 10**9), "n_jobs is 1000000000, more than 4096"),
    "seed of 65 bits": (said("seed", 2**64, "model"), "seed is"),
    "seed of text": (said("seed", "0", "model"), "seed is '0'"),
    "unknown noise": (said("noise", "os", "model"), "noise is 'os', not 'symmetric' or 'asymm"),
    "unknown flips": (said("flips", ["gibbs"], "model"), "flips is ['gibbs']"),
    "prior nan": (numbers("model/prior_1", (0, 0), np.nan), "prior_1 contains nan in model"),
    "prior of another size": (header("model/prior_1", shape=(9, 5)), "prior_1 has shape (9, 5), not (5, 9)"),
    "contribution nan": (
        numbers("contributions/accuracy_lost", 0, np.nan),
        "accuracy_lost contains impossible",
    ),
    "contribution negative": (numbers("contributions/alone", 0, -1), "alone contains impossible"),
    "share of 101%": (numbers("shares/shown_0", (0, 0), 101), "shares of mode 0 are no percentages"),
    "share of another size": (header("shares/own_1", shape=(9, 5)), "own_1' has shape (9, 5)"),
    "contribution missing": (missing("contributions/alone"), "'alone' is missing in contributions"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_files(name: str, good: bytes, tmp_path: Path) -> None:
    change, why = FORGED[name]
    parts = forge.Parts(good)
    change(parts)
    path = tmp_path / "file.tensorm"
    path.write_bytes(parts.join())
    assert why in refuse(path)


@pytest.mark.parametrize("name", forge.strange_labels(1))
@pytest.mark.parametrize("k", [0, 1])
def test_forged_labels(name: str, k: int, good: bytes, tmp_path: Path) -> None:
    parts = forge.Parts(good)
    forge.relabel(parts, k, *forge.strange_labels((4, 5)[k])[name])
    (tmp_path / "file.tensorm").write_bytes(parts.join())
    assert f"the labels mode_{k}" in refuse(tmp_path / "file.tensorm")


def test_counts_of_single_draws_in_older_files_are_not_used(good: bytes, tmp_path: Path) -> None:
    parts = forge.Parts(good)
    missing("contributions/added_errors")(parts)
    del parts.about["shares"]
    parts.members = {name: content for name, content in parts.members.items() if "shares" not in name}
    model = forge.load_bytes(tmp_path, parts.join())
    assert (*model.contributions_, *model.posterior_.shares) == ()


def test_a_good_file_is_taken(good: bytes, tmp_path: Path) -> None:
    """So that the refusals above are not for nothing."""
    assert forge.load_bytes(tmp_path, forge.Parts(good).join()).modes_ == ("gene", "day", "mouse")


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def try_to_load(folder: Path, content: bytes) -> str:
    """The message if the file is refused; else it works."""
    try:
        model = forge.load_bytes(folder, content)
    except FileError as error:
        return str(error)
    assert np.isfinite(model.predict_proba()).all()
    return ""


ODD = [None, True, 0, 1, -1, 0.5, float("nan"), 10**12, 2**63, 10**400, "", "x", "<f8", "|S1", [], [1, 2], {}]


def test_json_with_anything_in_it(good: bytes, tmp_path: Path) -> None:
    """Every entry of the JSON replaced by something odd: refused in one sentence, or harmless."""
    parts = forge.Parts(good)
    whole = parts.about
    rng = np.random.default_rng(0)
    refused = 0
    for at in places(whole):
        parts.about = copy.deepcopy(whole)
        node = parts.about
        for key in at[:-1]:
            node = node[key]
        node[at[-1]] = ODD[rng.integers(len(ODD))]
        message = try_to_load(tmp_path, parts.join())
        assert message.isprintable()
        refused += bool(message)
    assert refused > 35


def test_arrays_with_anything_in_them(good: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for path in forge.Parts(good).members:
        for filling in (b"\0", b"\xff", b"[", None):
            parts = forge.Parts(good)
            array = parts.read(path.removesuffix(".npy"))
            content = rng.bytes(array.nbytes) if filling is None else filling * array.nbytes
            parts.write(path.removesuffix(".npy"), np.frombuffer(content, array.dtype).reshape(array.shape))
            assert try_to_load(tmp_path, parts.join()).isprintable()


def test_members_with_anything_in_them(good: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for path in forge.Parts(good).members:
        for junk in (b"", b"\x93NUMPY", pickle.dumps([1]), rng.bytes(200)):
            parts = forge.Parts(good)
            parts.members[path] = junk
            assert "cannot be read" in try_to_load(tmp_path, parts.join())


def test_bits_flipped_with_the_checksum_put_right(good: bytes, tmp_path: Path) -> None:
    """Refused in one sentence, or in a place that says nothing, such as a date: then all is as it was."""
    expected = forge.small_fit().predict_proba().tobytes()
    for bit in np.random.default_rng(3).integers(8 * len(good) - 512, size=400):
        changed = bytearray(good)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            model = forge.load_bytes(tmp_path, forge.seal(bytes(changed)))
        except FileError as error:
            assert str(error).isprintable()  # noqa: PT017
        else:
            assert model.predict_proba().tobytes() == expected
