"""Tensors on a Dask cluster: the same draws as on one machine, whatever happens to the workers."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorm
from tensorm import ClusterError, DaskTensor, FileError, InputError, TensOrMachine, datasets
from tensorm.tensors import DenseTensor, read, workers
from tensorm.tensors.distributed import connect
from tensorm.tensors.factors import Factors
from tensorm.tensors.pick import to_sparse

distributed = pytest.importorskip("distributed")
SETTINGS: dict[str, Any] = {
    "noise": "asymmetric",
    "n_chains": 2,
    "n_draws": 5,
    "burn_in": 12,
    "random_state": 0,
    "progress": False,
}
SIM = datasets.simulate((23, 20, 15), rank=3, density=0.3, noise=0.1, random_state=0)
X = np.where(np.random.default_rng(0).random(SIM.observed.shape) < 0.1, np.nan, SIM.observed)


def fit(X: Any, **settings: Any) -> TensOrMachine:
    return TensOrMachine(3, **SETTINGS | settings).fit(X)


def assert_same_draws(a: TensOrMachine, b: TensOrMachine) -> None:
    for x, y in zip(a.posterior_.chains, b.posterior_.chains, strict=True):
        for f, g in zip(x.factors, y.factors, strict=True):
            np.testing.assert_array_equal(f, g)
        np.testing.assert_array_equal(x.noise, y.noise)
        np.testing.assert_array_equal(x.confusion, y.confusion)


def assert_same_cells(tensor: DaskTensor, X: np.ndarray) -> None:
    assert tensor.shape == X.shape
    for where, ones, observed in tensor.blocks(max_cells=2000):
        np.testing.assert_array_equal(ones, X[where] == 1)
        np.testing.assert_array_equal(observed, ~np.isnan(X[where]))


def in_threads(n_workers: int) -> Any:
    """A cluster in this process, which starts in no time."""
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def alone() -> TensOrMachine:
    return fit(X)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with in_threads(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_draws_of_one_machine(n_workers: int, alone: TensOrMachine) -> None:
    with in_threads(n_workers) as cluster, distributed.Client(cluster) as client:
        tensor = DaskTensor(np.array_split(X, n_workers), client)
        places = {place.worker for place in tensor._host._places}
        assert len(places) == tensor.n_shards == n_workers
        assert_same_draws(fit(tensor), alone)


def test_dask_arrays_are_fitted_where_they_are(client: Any, alone: TensOrMachine) -> None:
    da = pytest.importorskip("dask.array")
    array = da.from_array(X, chunks=(5, 7, 8))
    fitted = fit(array)
    assert_same_draws(fitted, alone)
    assert fitted.score(array) == alone.score(X)
    np.testing.assert_array_equal(fitted.transform(array), alone.transform(X))


def test_names_and_labels_come_along(client: Any) -> None:
    pytest.importorskip("dask.array")
    ward = datasets.ward()
    tensor = read(ward.chunk({"hour": 4}))
    assert isinstance(tensor, DaskTensor)
    assert tensor.modes == ("hour", "person", "met")
    np.testing.assert_array_equal(tensor.labels[1], ward["person"].values)
    assert_same_cells(tensor, ward.values)


def test_storage_is_that_of_the_parts(client: Any) -> None:
    dense, sparse = DenseTensor(X[:9]), to_sparse(DenseTensor(X[9:]))
    assert DaskTensor([dense, X[9:]]).storage == "dense"
    assert DaskTensor([dense, sparse]).storage == "dense and sparse"
    tensor = DaskTensor([to_sparse(dense), sparse])
    assert fit(tensor).storage_ == tensor.storage == "sparse"


def test_workers_read_their_own_parts(client: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X[:9])
    np.savez_compressed(tmp_path / "b.npz", X[9:11])
    parts = [tmp_path / "a.npy", str(tmp_path / "b.npz"), partial(DenseTensor, X[11:])]
    assert_same_cells(DaskTensor(parts), X)
    (tmp_path / "b.npz").write_text("nothing")
    with pytest.raises(FileError, match=r"Part 1: .*b.npz cannot be read as arrays of numbers"):
        DaskTensor(parts)


def test_zarr_is_read_in_slices(client: Any, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "X.zarr", data=X, chunks=(4, 20, 15))
    tensor = DaskTensor.from_zarr(tmp_path / "X.zarr", n_shards=3)
    assert list(tensor._edges) == [0, 8, 16, 23]  # between chunks
    assert_same_cells(tensor, X)
    assert_same_cells(DaskTensor([tmp_path / "X.zarr"]), X)
    with pytest.raises(FileError, match="cannot be read as a zarr array"):
        DaskTensor.from_zarr(tmp_path)


@pytest.mark.filterwarnings(r"ignore:(.|\n)*The inplace keyword in DataFrame")  # by dask itself
@pytest.mark.parametrize("where", ["table", "parquet"])
def test_tables_of_cells_are_parted_by_the_workers(client: Any, tmp_path: Path, where: str) -> None:
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    cells = np.random.default_rng(0).permutation(np.argwhere(X == 1))
    table = dd.from_pandas(pd.DataFrame(cells, columns=["who", "what", "when"]), npartitions=3, sort=False)
    if where == "parquet":
        table.to_parquet(tmp_path / "cells")
        tensor = DaskTensor.from_table(tmp_path / "cells", shape=X.shape, n_shards=3)
        assert tensor.n_shards == 3
    else:
        with pytest.raises(InputError, match=r"^X cannot be read in parts; .* and indices=True.$"):
            tensorm.read(table)
        tensor = tensorm.read(table, indices=True)
    assert tensor.modes == ("who", "what", "when")
    assert_same_cells(tensor, (X == 1).astype(float))
    zeros = np.nan_to_num(X)
    assert_same_draws(fit(tensor, n_chains=1, burn_in=5), fit(zeros, n_chains=1, burn_in=5))


def test_wrong_tables(client: Any, tmp_path: Path) -> None:
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = dd.from_pandas(pd.DataFrame({"a": [0, 5], "b": [1, 2], "c": [0.5, 1.0]}), npartitions=1)
    with pytest.raises(InputError, match="table has no column 'z'; choose from"):
        DaskTensor.from_table(table, ["a", "z"])
    with pytest.raises(InputError, match="columns that are not integers"):
        DaskTensor.from_table(table)
    with pytest.raises(InputError, match=r"Part 0: .*0\.5"):
        DaskTensor.from_table(table, ["a", "b"], "c")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        DaskTensor.from_table(tmp_path / "nothing")
    with pytest.raises(InputError, match="table is of type list; give a Dask table"):
        DaskTensor.from_table([1])
    with pytest.raises(InputError, match=r"shape has 3 sizes; give one for each of 2 modes"):
        DaskTensor.from_table(table, ["a", "b"], shape=(6, 3, 3))
    empty = dd.from_pandas(pd.DataFrame({"a": [0], "b": [1]}), npartitions=1)
    with pytest.raises(InputError, match="table has no rows, so the sizes of its modes are unknown"):
        DaskTensor.from_table(empty[empty["a"] > 0])


@pytest.mark.parametrize("wrong", [-1, 23])
def test_no_row_of_a_table_is_lost(client: Any, wrong: int) -> None:
    """Workers take the rows of their slices: what is in no slice is refused."""
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    cells = np.argwhere(X == 1)
    cells[7, 0] = wrong
    table = dd.from_pandas(pd.DataFrame(cells, columns=["who", "what", "when"]), npartitions=3, sort=False)
    with pytest.raises(InputError, match=rf"contains {wrong} .*'who'; give integers "):
        DaskTensor.from_table(table, shape=X.shape)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("nowhere.npy", "Part 1: No such file: .*nowhere.npy"),
        ("X.csv", r"Part 1: No such file: .*X.csv"),
        (np.full((2, 20, 15), 7), r"Part 1: X contains 7 at \(0, 0, 0\)"),
        (partial(np.zeros, (2, 20)), r"part 1 has shape \(2, 20\) and part 0"),
        (partial(int, "x"), "Part 1 cannot be loaded: ValueError: invalid literal"),
    ],
)
def test_bad_parts_are_named(client: Any, part: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        DaskTensor([X[:5], part])


def test_wrong_arguments(client: Any) -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(InputError, match="parts must list a path"):
        DaskTensor("X.npy")
    with pytest.raises(InputError, match="client is of type str"):
        DaskTensor([X], "tcp://10.0.0.1")
    for timeout in (0, None, "long"):
        with pytest.raises(InputError, match=f"timeout is {timeout!r}; give seconds"):
            DaskTensor([X], timeout=timeout)
    with pytest.raises(InputError, match=r"array is of type ndarray; give a dask\.array"):
        DaskTensor.from_array(X)
    with pytest.raises(
        InputError, match=r"shape is \(23, 20, 15\), but its chunks together have \(8, 20, 15\)"
    ):
        fit(da.from_array(X, chunks=(6, 20, 15)).map_blocks(lambda cells: cells[:2], dtype=X.dtype))
    with pytest.raises(InputError, match="modes is"):
        DaskTensor([X], modes=["a", "b"])
    with pytest.raises(InputError, match="labels of 'mode 1' have shape"):
        DaskTensor([X], labels=[None, ["a"], None])
    with pytest.raises(InputError, match="at least 2 modes"):
        fit(da.zeros(3))
    with pytest.raises(InputError, match="chunks of unknown size"):
        fit(da.from_array(X)[da.from_array(X[:, 0, 0]) > 0])
    with pytest.raises(InputError, match="Give either scheduler"), connect():
        pass
    with pytest.raises(ClusterError, match="No scheduler answers at nothing"), connect("nothing://"):
        pass


def test_a_run_is_resumed_with_the_same_cells_only(client: Any, alone: TensOrMachine, tmp_path: Path) -> None:
    tensor = DaskTensor(np.array_split(X, 2))
    assert_same_draws(TensOrMachine(3, **SETTINGS).fit(tensor, run_dir=tmp_path), alone)
    assert (tmp_path / "run.tensorm").stat().st_size < 40_000  # no cells
    (tmp_path / "fit.tensorm").unlink()
    with pytest.raises(FileError, match=r"on a cluster; use Python: resume\(run_dir, X\)"):
        tensorm.resume(tmp_path)
    with pytest.raises(InputError, match="X differs from the cells of this run"):
        tensorm.resume(tmp_path, 1 - X)
    assert_same_draws(tensorm.resume(tmp_path, tensor, progress=False), alone)


def test_without_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(distributed.Client, "current", partial(int, "no client"))  # a ValueError, as there
    with pytest.raises(InputError, match="No Dask client is active; start one"):
        fit(da.zeros((3, 3)))


def with_timeout(tensor: DaskTensor, seconds: float) -> DaskTensor:
    """A limit that loading itself, on a busy machine, may be too slow for."""
    tensor._host._timeout = seconds
    return tensor


def test_without_workers_a_run_ends_after_the_time_given() -> None:
    with in_threads(1) as cluster, distributed.Client(cluster) as client:
        tensor = with_timeout(DaskTensor([X], client), 1.0)
        cluster.scale(0)
        while client.scheduler_info()["workers"]:
            time.sleep(0.05)
        began = time.monotonic()
        with pytest.raises(
            ClusterError, match=r"No worker was available on the cluster at .* for 1 s; start"
        ):
            fit(tensor)
        assert time.monotonic() < began + 100


class Slow(DenseTensor):
    def confusion(self, *question: Any) -> Any:
        time.sleep(3)
        return super().confusion(*question)


def test_without_an_answer_a_run_ends_after_the_time_given(client: Any) -> None:
    tensor = with_timeout(DaskTensor([partial(Slow, X)]), 0.5)
    with pytest.raises(ClusterError, match=r"No answer from the cluster at .* within 0.5 s; check its"):
        tensor.confusion(Factors.empty(X.shape, 1))


def test_without_a_cluster_a_run_ends() -> None:
    cluster = in_threads(1)
    client = distributed.Client(cluster)
    tensor = DaskTensor([X], client, timeout=60.0)
    client.close()
    cluster.close()
    with pytest.raises(ClusterError, match="start"):
        tensor.counts(0, Factors.empty(X.shape, 1))


def test_a_worker_killed_in_mid_run_changes_nothing(
    alone: TensOrMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Real processes, one of them really killed while it counts."""
    np.save(tmp_path / "first.npy", X[:10])
    np.save(tmp_path / "rest.npy", X[10:])
    with connect(workers=2) as client:
        tensor = DaskTensor([tmp_path / "first.npy", tmp_path / "rest.npy"], timeout=120.0)
        alive = client.run(os.getpid)
        numbers, plain = itertools.count(), workers._send

        def send(place: Any, verb: str, call: Any) -> Any:
            answer = plain(place, verb, call)
            if next(numbers) == 40:
                os.kill(alive.pop(place.worker), signal.SIGKILL)
            return answer

        monkeypatch.setattr(workers, "_send", send)
        assert_same_draws(fit(tensor), alone)
        assert len(alive) == 1
