"""Tensors on a Dask cluster: each worker loads and keeps some slices of mode 0 (sharded.py, workers.py).

dask is imported only when such a tensor is created.
"""

from __future__ import annotations

import logging
import math
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from tensorm.data.checks import check_count, short
from tensorm.data.coordinates import check_shape
from tensorm.data.inputs import is_a
from tensorm.data.opening import need
from tensorm.data.options import Options
from tensorm.data.read import read_cells
from tensorm.data.tables import Header, choose_columns
from tensorm.data.zarr import open_array, read_slices
from tensorm.errors import ClusterError, FileError, InputError
from tensorm.tensors.sharded import ShardedTensor
from tensorm.tensors.sparse import SparseTensor
from tensorm.tensors.threads import MOST_JOBS
from tensorm.tensors.workers import Workers

MAX_TIMEOUT = 10**9  # seconds
TIMEOUT = 600.0
DASK = ("distributed", "Tensors on a cluster", '"tensorm[dask]"')
DASHBOARD = 8787  # the port where people expect it


class DaskTensor(ShardedTensor):
    """Observations on the workers of a Dask cluster, in parts along mode 0.

    Each worker loads its own parts. Workers return counts, never cells, and for the same seed ``fit`` makes
    the same draws as on one machine. When a worker is lost, others load its parts again and the run
    continues.

    Parameters
    ----------
    parts : sequence
        One entry for each part, in the order of mode 0: the path of an .npy, .npz or .zarr array that
        every worker can read; a function without arguments that returns an array or a tensor; a
        ``dask.delayed`` object; or an array or a tensor, which is then sent to a worker.
    client : distributed.Client, optional
        The active client by default.
    modes, labels : sequence, optional
        Names of the modes and of their indices; by default those of the parts.
    timeout : float, default 600
        Seconds to wait for an answer from the workers, including the time to load lost parts again.

    Attributes
    ----------
    shape, modes, labels, n_observed, n_ones, nbytes
        As of ``DenseTensor``; the memory is that of all parts together.
    n_shards : int
        Number of parts.
    """

    def __init__(
        self,
        parts: Any,
        client: Any = None,
        *,
        modes: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        timeout: Any = TIMEOUT,
    ) -> None:
        if isinstance(parts, str) or not isinstance(parts, Sequence) or len(parts) == 0:
            raise InputError("parts must list a path, function, array or delayed object for each part.")
        if not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT:
            raise InputError(f"timeout is {short(timeout)}; give seconds above 0, at most {MAX_TIMEOUT:,}.")
        host = Workers(find_client(client), [_locate(part) for part in parts], timeout)
        super().__init__(host, host.ask("describe", [()] * len(parts)), modes, labels)

    @classmethod
    def from_array(
        cls, array: Any, client: Any = None, *, n_shards: int | None = None, **settings: Any
    ) -> Self:
        """Make a tensor of a ``dask.array``, or of an ``xarray.DataArray`` that holds one.

        Parameters
        ----------
        array : dask.array.Array or xarray.DataArray
            Cells of 0, 1 and NaN for missing; computed on the workers, chunk by chunk.
        client : distributed.Client, optional
        n_shards : int, optional
            Number of parts; as many as there are workers by default.
        **settings
            As for ``DaskTensor``.
        """
        client = find_client(client)
        if is_a(array, "xarray", "DataArray"):
            labels = [array.coords[dim].values if dim in array.coords else None for dim in array.dims]
            settings = {"modes": array.dims, "labels": labels} | settings
            array = array.data
        if not is_a(array, "dask.array", "Array"):
            raise InputError(f"array is of type {type(array).__name__}; give a dask.array.")
        _check_modes(array.shape)
        if any(np.isnan(size) for size in array.shape):
            raise InputError("X has chunks of unknown size; call X.compute_chunk_sizes() first.")
        edges = _cut(array.shape[0], n_shards, client, array.chunks[0])
        rows = tuple(int(size) for size in np.diff(edges))
        whole = array.rechunk((rows, *((size,) for size in array.shape[1:])))
        tensor = cls(list(whole.to_delayed().ravel()), client, **settings)
        if tensor.shape != array.shape:
            raise InputError(
                f"X says that its shape is {array.shape}, but its chunks together have {tensor.shape}; "
                "give map_blocks the chunks that it returns."
            )
        return tensor

    @classmethod
    def from_zarr(
        cls, path: Any, client: Any = None, *, n_shards: int | None = None, **settings: Any
    ) -> Self:
        """Make a tensor of a zarr array, of which each worker reads its own slices.

        Parameters
        ----------
        path : path or str
            A folder or an address that every worker can read.
        client : distributed.Client, optional
        n_shards : int, optional
            Number of parts; as many as there are workers by default.
        **settings
            As for ``DaskTensor``.
        """
        client = find_client(client)
        array = open_array(path)
        _check_modes(array.shape)
        chunks = [array.chunks[0]] * -(-array.shape[0] // array.chunks[0])
        edges = _cut(array.shape[0], n_shards, client, chunks)
        parts = [partial(read_slices, _address(path), int(a), int(b)) for a, b in pairwise(edges)]
        return cls(parts, client, **settings)

    @classmethod
    def from_table(
        cls,
        table: Any,
        modes: Sequence[str] | None = None,
        value: str | None = None,
        *,
        shape: Sequence[int] | None = None,
        unlisted: str = "zero",
        client: Any = None,
        n_shards: int | None = None,
        **settings: Any,
    ) -> Self:
        """Make a sparse tensor of a Dask table with one row for each listed cell.

        Parameters
        ----------
        table : dask.dataframe.DataFrame or path
            Indices counted from 0, a column for each mode; or the path of a Parquet file or folder of them
            that every worker can read.
        modes : sequence of str, optional
            The columns with indices; by default all but ``value``.
        value : str, optional
            The column with the cells' values: 0, 1 or missing; without it every row is a 1.
        shape : sequence of int, optional
            Sizes of the modes; by default as large as the largest index needs.
        unlisted : "zero" or "missing", default "zero"
            What all other cells are.
        client : distributed.Client, optional
        n_shards : int, optional
            Number of parts; as many as there are workers by default.
        **settings
            As for ``DaskTensor``.
        """
        client = find_client(client)
        if isinstance(table, str | os.PathLike):
            table = _open_parquet(table)
        if not is_a(table, "dask.dataframe", "DataFrame"):
            raise InputError(f"table is of type {type(table).__name__}; give a Dask table, or a path.")
        options = Options(modes, value, unlisted, indices=True).check()
        names, value = choose_columns(Header("table", [str(name) for name in table.columns]), options)
        if any(table.dtypes[name].kind not in "iu" for name in names):
            raise InputError("table has columns that are not integers; give indices counted from 0.")
        if shape is None:
            largest = client.compute(table[names].max()).result()
            if largest.isna().any():
                raise InputError("table has no rows, so the sizes of its modes are unknown; give shape.")
            shape = [int(index) + 1 for index in largest]
        sizes = check_shape(shape)
        if len(sizes) != len(names):
            raise InputError(f"shape has {len(sizes)} sizes; give one for each of {len(names)} modes.")
        edges = _cut(sizes[0], n_shards, client)
        options = options._replace(modes=names)
        columns = table[names if value is None else [*names, value]]
        parts = _split_table(columns, edges, partial(_list_cells, options, sizes))
        return cls(parts, client, **{"modes": names} | settings)


def find_client(client: Any = None) -> Any:
    """Return the client given or the active one, or raise if there is none."""
    distributed = need(*DASK)
    if client is None:
        try:
            client = distributed.Client.current()
        except ValueError as error:
            raise InputError("No Dask client is active; start one: distributed.Client().") from error
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(f"client is of type {type(client).__name__}; give a distributed.Client.")
    if client.status != "running":
        raise InputError(f"client is {client.status}; give one that is connected to a cluster.")
    return client


@contextmanager
def connect(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster by its address, or start one on this machine, until the block ends.

    Parameters
    ----------
    scheduler : str, optional
        Address of a running scheduler, as in ``tcp://10.0.0.1:8786``.
    workers : int, optional
        Number of worker processes to start on this machine; its processor cores are shared out among them.

    Yields
    ------
    distributed.Client
        The active client.
    """
    distributed = need(*DASK)
    if (scheduler is None) == (workers is None):
        raise InputError(
            "Give either scheduler=ADDRESS of a running cluster or workers=NUMBER for a new one."
        )
    settings: dict[str, Any] = {"address": scheduler}
    if workers is not None:
        count = check_count("workers", workers, 1, most=MOST_JOBS)
        settings = {
            "n_workers": count,
            "threads_per_worker": max(1, (os.cpu_count() or 1) // count),
            "dashboard_address": f":{_free_port(DASHBOARD)}",
            "direct_to_workers": True,
            "silence_logs": logging.ERROR,  # else it complains of workers that end while they compute
        }
    try:
        client = distributed.Client(**settings)
    except (OSError, ValueError, AssertionError) as error:  # it asserts that a port is one
        if scheduler is None:
            raise
        raise ClusterError(f"No scheduler answers at {scheduler}; check the address.") from error
    with client:
        yield client


def _locate(part: Any) -> Any:
    """Return what a worker can load: paths become absolute, web addresses are zarr, everything else stays."""
    if isinstance(part, str | os.PathLike):
        return partial(read_slices, str(part)) if "://" in str(part) else _address(part)
    return part


def _address(path: str | os.PathLike[str]) -> str:
    """Return a path that means the same in every folder; web addresses do already."""
    return str(path) if "://" in str(path) else str(Path(path).absolute())


def _open_parquet(path: Any) -> Any:
    from dask import dataframe

    try:
        return dataframe.read_parquet(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read as Parquet; give a file or a folder of them.") from error


def _split_table(table: Any, edges: Sequence[int], make: Callable[..., Any]) -> list[Any]:
    """Return for each part a delayed function that makes a tensor of its rows, from all partitions."""
    from dask import delayed

    partitions, pick = table.to_delayed(), delayed(_pick_rows, pure=True)
    parts = []
    for start, stop in pairwise(map(int, edges)):
        # Rows that are out of range go to the first and the last part, where they are refused: none is lost.
        low, high = start if start else -math.inf, stop if stop < edges[-1] else math.inf
        rows = [pick(partition, low, high) for partition in partitions]
        parts.append(delayed(partial)(make, start, stop, rows))
    return parts


def _pick_rows(table: Any, low: float, high: float) -> Any:
    """Return the rows whose first index is in a range; those without one are below any other."""
    first = table.iloc[:, 0]
    return table[(first.isna() & (low < 0)) | ((first >= low) & (first < high))]


def _list_cells(
    options: Options, shape: Sequence[int], start: int, stop: int, tables: list[Any]
) -> SparseTensor:
    """Return a tensor of those rows of a table whose first index is from ``start`` to ``stop``."""
    import pandas as pd

    rows = pd.concat(tables, ignore_index=True)
    if not len(rows):
        return SparseTensor(np.zeros((0, len(shape))), (stop - start, *shape[1:]), None, options.unlisted)
    cells: Any = read_cells(rows, options).cells
    first, *others = cells.coords
    outside = (first < start) | (first >= stop)
    if outside.any():
        wanted = f"give integers from 0 to {shape[0] - 1}"
        raise InputError(f"table contains {first[outside][0]} for {cells.modes[0]!r}; {wanted}.")
    own = cells._replace(coords=(first - start, *others), shape=(stop - start, *shape[1:]))
    return SparseTensor.from_listed(own)


def _check_modes(shape: tuple[int, ...]) -> None:
    if len(shape) < 2 or 0 in shape:
        raise InputError(f"X has shape {shape}; give at least 2 modes, none of them empty.")


def _cut(size: int, n_shards: int | None, client: Any, chunks: Sequence[int] = ()) -> list[int]:
    """Cut a mode into parts of about equal size, between chunks where there are enough of them."""
    n_workers = max(1, len(client.scheduler_info()["workers"]))
    count = n_workers if n_shards is None else check_count("n_shards", n_shards, 1)
    wanted = np.linspace(0, size, min(count, size) + 1).round().astype(int)
    if not len(chunks):
        return list(wanted)
    between = np.minimum(np.concatenate([[0], np.cumsum(chunks)]), size)
    near = between[np.abs(between[:, None] - wanted).argmin(axis=0)]
    return list(near if len(set(near)) == len(near) else wanted)


def _free_port(wanted: int) -> int:
    """Return the port that is wanted, or 0 for any if another process listens there."""
    with socket.socket() as trial:
        try:
            trial.bind(("", wanted))
        except OSError:
            return 0
    return wanted
