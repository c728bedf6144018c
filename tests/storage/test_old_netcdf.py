"""Fits and runs written by tensorm 0.1.0 can still be read, and damaged ones are refused."""

from __future__ import annotations

import gzip
import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tensorm
from page_data import page_data
from tensorm import FileError, RelationalTensor, SparseTensor, TensOrMachine
from tensorm.cli import main
from tensorm.storage.run import open_run

DATA = Path(__file__).parent / "data"
PARAMETERS = TensOrMachine._get_param_names()


def unpack(name: str, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.decompress((DATA / f"{name}.nc.gz").read_bytes()))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return unpack("fit", tmp_path / "fit.nc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpack("run-dense", tmp_path / "run" / "run.nc")
    return unpack("fit", tmp_path / "run" / "fit.nc").parent


def test_a_fit_has_the_draws_that_netcdf_says(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = tensorm.load(path)
    with h5py.File(path) as file:
        for number, trace in enumerate(model.posterior_.chains):
            group = file[f"chain_{number}"]
            for k, draws in enumerate(trace.factors):
                np.testing.assert_array_equal(np.asarray(draws), group[f"factor_{k}"], strict=True)
                assert draws.moves.flags.writeable
            for name in ("noise", "density", "confusion", "log_posterior"):
                np.testing.assert_array_equal(getattr(trace, name), group[name])
        assert model._target.seed == file["model"].attrs["seed"]
        np.testing.assert_array_equal(model._target.prior.tables[1], file["model/prior_1"])


def test_labels_and_settings_are_as_they_were(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("h5py", "h5netcdf"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it would raise
    model = tensorm.load(path)
    genes, days, mice, doses = model.labels_
    assert genes.tolist() == ["BRCA2", "TP53", "Österreich", ""]
    assert days.dtype == np.dtype("M8[s]")
    assert str(days[3]) == "1969-12-31T00:00:00"
    assert mice.tolist() == ["a", None, 3]
    assert doses.tolist() == [0.5, 1.5]
    assert (model.modes_, model.n_draws, model.noise_prior) == (
        ("gene", "day", "mouse", "dose"),
        3,
        (2.0, 1.5),
    )
    assert [array.dtype for array in model.init] == [np.dtype(bool)] * 4
    assert model.factor_prior[1].tolist() == [[0.25] * 3] * 5


def test_saved_again_it_is_an_archive(path: Path, tmp_path: Path) -> None:
    model, path = tensorm.load(path), tmp_path / "again.tensorm"
    model.save(path)
    assert path.read_bytes().startswith(b"PK")
    again = tensorm.load(path)
    assert again.predict_proba().tobytes() == model.predict_proba().tobytes()
    np.testing.assert_equal(again.get_params(), model.get_params())
    np.testing.assert_equal(again.labels_, model.labels_)


def test_a_folder_of_the_first_edition(folder: Path) -> None:
    model = tensorm.load(folder)
    assert tensorm.resume(folder).predict_proba().tobytes() == model.predict_proba().tobytes()
    with pytest.raises(FileError, match="already contains a finished fit"):
        TensOrMachine(2).fit(np.eye(4), run_dir=folder)
    (folder / "fit.nc").unlink()
    with pytest.raises(FileError, match=r"contains no finished fit; finish it with tensorm\.resume"):
        tensorm.load(folder)
    (folder / "chain-0.nc").write_bytes(b"an old checkpoint is not read: the chain begins again")
    resumed = tensorm.resume(folder, progress=False)
    assert resumed.predict_proba().tobytes() == model.predict_proba().tobytes()
    assert tensorm.load(folder).noise_ == model.noise_
    assert (folder / "fit.tensorm").exists()


def test_a_folder_of_the_first_edition_can_be_reported(folder: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(folder)])
    assert result.exit_code == 0, result.output
    assert "BRCA2" in page_data(folder / "report.html")["modes"][0]["labels"]


def test_cells_of_every_kind(tmp_path: Path) -> None:
    dense = open_run(unpack("run-dense", tmp_path / "run.nc").parent, PARAMETERS).tensor
    assert dense.shape == (4, 5, 3, 2)
    assert (dense.n_ones, dense.n_observed) == (42, 110)
    sparse = open_run(unpack("run-sparse", tmp_path / "run.nc").parent, PARAMETERS).tensor
    assert isinstance(sparse, SparseTensor)
    assert [keys.tolist() for keys in sparse.listed_keys(sparse.unlisted)] == [[5, 13, 34], [0]]
    assert sparse.labels[0].tolist() == ["a", "bb", "c", "d"]
    assert sparse.labels[0].dtype == object
    assert sparse.labels[1].tolist() == [b"x", b"\xff", b""]
    ranks = open_run(unpack("run-ranks", tmp_path / "run.nc").parent, PARAMETERS).tensor
    assert isinstance(ranks, RelationalTensor)
    same = RelationalTensor(np.random.default_rng(0).normal(size=(4, 5)))
    np.testing.assert_array_equal(ranks.arrays()["ranks"], same.arrays()["ranks"])


def take_apart(content: bytes) -> tuple[bytes, Any]:
    length = int.from_bytes(content[-48:-40], "little")
    return content[: -48 - length], json.loads(content[-48 - length : -48])


def join(body: bytes, index: Any) -> bytes:
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    whole = body + text + len(text).to_bytes(8, "little")
    return whole + blake2b(whole, digest_size=32).digest() + b"tensorm\n"


def refuse(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(FileError, match="cannot be read") as caught:
        tensorm.load(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_damage_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(8, len(whole), 997):
        refuse(path, whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        refuse(path, whole[:at])
    assert "impossible length" in refuse(path, whole[:-48] + b"\xff" * 8 + whole[-40:])
    assert "checksum is wrong" in refuse(path, whole[:-40] + bytes(32) + whole[-8:])
    for index in (b"", b"[]", b"null", b"{", b"\xff", b"[" * 200_000, b"9" * 10_000):
        assert "index is damaged" in refuse(path, join(take_apart(whole)[0], index))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"offset": -1}, "index is damaged"),
        ({"offset": 10**9}, "index is damaged"),
        ({"offset": 1.0}, "index is damaged"),
        ({"shape": [10**6, 10**6]}, "index is damaged"),
        ({"shape": [0, 2**61]}, "index is damaged"),
        ({"shape": [True, 6]}, "index is damaged"),
        ({"shape": "3, 2"}, "index is damaged"),
        ({"shape": [6]}, "draws are damaged"),
        ({"dtype": "|O"}, "index is damaged"),
        ({"dtype": "<i8"}, "is of type '<i8', not '<f8'"),
        ({"dtype": ["<f8"]}, "index is damaged"),
    ],
)
def test_impossible_places(path: Path, change: dict[str, Any], why: str) -> None:
    body, index = take_apart(path.read_bytes())
    index["groups"]["chain_0"]["variables"]["noise"].update(change)
    assert why in refuse(path, join(body, index))


def test_no_more_is_read_than_the_file_has(path: Path) -> None:
    body, index = take_apart(path.read_bytes())
    for number in range(1000):
        index["groups"][f"chain_{number}"] = index["groups"]["chain_0"]
        index["groups"][f"chain_{number}"]["variables"]["noise"] = {
            "offset": 0, "dtype": "|u1", "shape": [len(body)],
        }  # fmt: skip
    assert "index is damaged" in refuse(path, join(body, index))


def places(node: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


ODD = [None, True, 0, 1, -1, 0.5, float("nan"), 10**12, 2**63, 10**400, "", "x", "<f8", "|S1", [], [1, 2], {}]


def test_an_index_with_anything_in_it(path: Path) -> None:
    """Every entry of the index replaced by something odd: refused in one sentence, or harmless."""
    body, whole = take_apart(path.read_bytes())
    rng, refused = np.random.default_rng(0), 0
    text = json.dumps(whole)
    for at in places(whole):
        index = json.loads(text)
        node = index
        for key in at[:-1]:
            node = node[key]
        node[at[-1]] = ODD[rng.integers(len(ODD))]
        path.write_bytes(join(body, index))
        try:
            assert np.isfinite(tensorm.load(path).predict_proba()).all()
        except FileError as error:
            assert str(error).isprintable()  # noqa: PT017
            refused += 1
    assert refused > 200


def test_arrays_with_anything_in_them(path: Path) -> None:
    body, index = take_apart(path.read_bytes())
    rng = np.random.default_rng(1)
    for group in (index, *index["groups"].values()):
        for entry in group["variables"].values():
            size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
            for filling in (b"\0" * size, b"\xff" * size, rng.bytes(size)):
                start = entry["offset"]
                path.write_bytes(join(body[:start] + filling + body[start + size :], index))
                try:
                    assert np.isfinite(tensorm.load(path).predict_proba()).all()
                except FileError as error:
                    assert str(error).isprintable()  # noqa: PT017
