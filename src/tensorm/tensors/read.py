"""``tensorm.read``: turn files, tables and arrays into a labelled tensor. All data come in through here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.checks import check_mode
from tensorm.data.coordinates import ListedCells
from tensorm.data.files import FORMATS, Format
from tensorm.data.inputs import Matrix, Observations, is_a
from tensorm.data.options import Options
from tensorm.data.read import Contents, read_cells
from tensorm.data.text import ending_of
from tensorm.errors import InputError
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.distributed import DaskTensor
from tensorm.tensors.protocol import Tensor
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.sparse import SparseTensor

ON_CLUSTERS = ("modes", "value", "unlisted", "indices")  # options that a cluster's workers understand


def read(
    source: Any,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    unlisted: str = "zero",
    time: str | None = None,
    bins: str | int | None = None,
    origin: str | None = None,
    pair: Sequence[str] | None = None,
    undirected: bool = False,
    wide: bool = False,
    columns: Sequence[str] | None = None,
    relational: bool = False,
    normalise: str | None = "zscore",
    floor: float | None = None,
    missing: Any = (),
    threshold: float | None = None,
    order: Mapping[str, Sequence[Any]] | None = None,
    indices: bool = False,
    header: bool | None = None,
    skip_bad_rows: bool = False,
    merge_labels: bool = False,
    client: Any = None,
) -> Tensor:
    """Read cells of 0, 1 and missing from a file, a table or an array.

    The values of a table's columns are labels, even if they are integers. Labels that are numbers are sorted
    as numbers, ordered categoricals keep their order, English names of months and of days of the week
    (also Jan, Mon) are in the order of the calendar, and text is sorted naturally ("bench 4" before
    "bench 10").

    Parameters
    ----------
    source : path, table or array
        A file: a table (.csv, .tsv, .txt, .tns, also with .gz; .parquet; .xlsx) or an array (.npy, .npz, .nc,
        .zarr, .h5ad). Or a pandas, polars or pyarrow table, an AnnData, an ``xarray.DataArray``, a sparse
        matrix or array, a NumPy or Dask array, nested lists. A tensor is returned as it is.
    modes : sequence of str, optional
        Columns that are modes, or names for the modes of an array or a wide table. A pandas table may have
        them in its index. By default all columns without another purpose, if they are at most six.
    value : str, optional
        Column with 0 or 1, empty where the cell is missing; without it every row is a 1.
    unlisted : "zero" or "missing", default "zero"
        Value of the cells that no row of a table mentions, or that a sparse matrix does not store.
    time : str, optional
        Column with times, which is cut into bins and becomes a mode.
    bins : str or int, optional
        "clock" for the hours of the day (the default), "weekday", "month", a length such as "1h", "30min" or
        "1d", a number of equal bins, or "each" if each time is a label of its own.
    origin : str, optional
        Date and time at which the seconds in the time column start, such as "2010-12-06 13:00".
    pair : pair of str, optional
        Two modes that stand for the same things, such as people; they get the same labels.
    undirected : bool, default False
        Whether pairs have no direction: a row counts for both orders, and cells of an index with itself are
        missing.
    wide : bool, default False
        Whether the table has one mode in its rows and the other in its columns. The labels of the rows are in
        the first column, or in the index of a pandas table. Without this, a table is wide if all its columns
        contain 0, 1, yes, no or nothing, or all but the first, which then has the labels. Rows and columns
        keep their order, as those of an array do, so that rows of ``factors_`` are rows of the table.
    columns : sequence of str, optional
        Columns of a wide table that contain cells, such as ``["q1", "q2"]``, or patterns such as ``["q*"]``;
        by default all but the first. The other columns describe the rows: the command line uses them as
        metadata.
    relational : bool, default False
        Whether to compare the numbers of a wide table or matrix: which of two columns is higher in each row.
        The result is a ``RelationalTensor``, which also explains ``normalise`` and ``floor``.
    normalise : "zscore", "rank", "none" or None, default "zscore"
        With ``relational``: compare z-scores, ranks among all rows, or the numbers themselves.
    floor : float, optional
        With ``relational``: ignore numbers at or below this value, for example 0 for counts.
    missing : str, number or sequence of them, optional
        Values that stand for missing cells, in addition to empty fields, NaN, "NA" and "null". Without
        ``value``: labels that stand for a missing one, which make a row bad.
    threshold : float, optional
        Numbers at or above this are 1, all others 0. A cell in several rows of a table is 1 if one of their
        numbers is.
    order : mapping, optional
        All labels of a mode in their order, including labels that no row mentions.
    indices : bool, default False
        Whether the columns of a table are indices counted from 0, not labels. In .tns files they always are,
        counted from 1.
    header : bool, optional
        Whether the first line of a text file has names; by default it does if it contains no number. Without
        a header, ``modes``, then ``value``, name the columns in their order.
    skip_bad_rows : bool, default False
        Whether to leave out rows that cannot be used: with too many fields, without a label, or with a time
        or a value that cannot be read. A warning counts them and names the first.
    merge_labels : bool, default False
        Whether labels of a table that differ only in case, spaces or punctuation, such as "Bldg B" and "BLDG
        B", are one: the most frequent of them.
    client : distributed.Client, optional
        A Dask cluster whose workers read the cells (zarr, or Parquet with ``indices=True``), each its part.

    Returns
    -------
    DenseTensor, SparseTensor, RelationalTensor or DaskTensor

    Raises
    ------
    FileError, InputError
        When the source cannot be read; the message names the line or the column.

    Examples
    --------
    >>> import pandas as pd, tensorm
    >>> contacts = pd.DataFrame({"hour": [9, 10], "person": ["ann", "bob"], "met": ["bob", "cat"]})
    >>> X = tensorm.read(contacts, modes=["hour", "person", "met"], pair=["person", "met"])
    >>> X.shape
    (2, 3, 3)
    """
    options = Options(
        modes, value, unlisted, time, bins, origin, pair, undirected, wide, columns, relational, normalise,
        floor, missing, threshold, order, indices, header, skip_bad_rows,
        merge_labels,
    )  # fmt: skip
    return _read(source, options.check(), client)[0]


def read_with_metadata(
    source: Any, options: Options, client: Any = None
) -> tuple[Tensor, dict[str, dict[str, list[Any]]]]:
    """Return a tensor, and for some modes a table of what the source knows of their indices."""
    tensor, found = _read(source, options.check(), client)
    return tensor, {} if found is None else found.metadata()


def _read(source: Any, options: Options, client: Any) -> tuple[Tensor, Contents | None]:
    if source is None:
        raise InputError("X is None; give an array, a table or the path of a file.")
    if isinstance(source, Tensor):
        if options != Options().check():
            raise InputError("X is already a tensor, so options do not apply; leave them out.")
        return source, None
    if client is not None or is_distributed(source):
        return _read_distributed(source, options, client), None
    try:
        found = read_cells(source, options)
        tensor = _make_tensor(found.cells, options)
        if options.pair is not None:
            _pair_up(tensor, options)
        return tensor, found
    except MemoryError as error:
        title = source if isinstance(source, (str, os.PathLike)) else "X"
        raise InputError(f"{title} does not fit in memory; give a part of it.") from error


def _make_tensor(cells: ListedCells | Observations, options: Options) -> Tensor:
    if isinstance(cells, ListedCells):
        return SparseTensor.from_listed(cells)
    if not isinstance(cells, Matrix):
        return DenseTensor(cells)
    scale = None if options.normalise == "none" else options.normalise
    return RelationalTensor(cells, normalise=scale, floor=options.floor)


def _pair_up(tensor: Tensor, options: Options) -> None:
    """Check that two modes can stand for the same things, and note if their pairs have no direction."""
    i, j = sorted(check_mode(name, tensor.modes, "pair") for name in options.pair or ())
    one, other = (range(tensor.shape[k]) if tensor.labels[k] is None else tensor.labels[k] for k in (i, j))
    if not np.array_equal(np.asarray(one), np.asarray(other)):
        names = f"{tensor.modes[i]} and {tensor.modes[j]}"
        raise InputError(f"pair is {names}, which have different labels; give two modes that share them.")
    if options.undirected and tensor.undirected is None:  # else rows were made to count for both directions
        tensor.check_mirrored((i, j))
        tensor.names = tensor.names._replace(undirected=(i, j))


def is_distributed(source: Any) -> bool:
    """Whether this is a Dask array or table, or an xarray array that holds one."""
    if is_a(source, "xarray", "DataArray"):
        return source.chunks is not None
    return is_a(source, "dask.array", "Array") or is_a(source, "dask.dataframe", "DataFrame")


def _read_distributed(source: Any, options: Options, client: Any) -> DaskTensor:
    """Let the workers of a cluster read the cells, each its own part."""
    table, title = is_a(source, "dask.dataframe", "DataFrame"), "X"
    stored, parted = isinstance(source, (str, os.PathLike)), is_distributed(source)
    if stored:
        how = FORMATS.get(ending_of(Path(source)), Format(False))
        table, title, parted = how.table, str(source), how.parts
    known = {name: getattr(options, name) for name in ON_CLUSTERS}
    if not parted or options != Options(**known).check() or table != options.indices:
        wanted = "give an array, or a table with a column of indices for each mode and indices=True"
        raise InputError(f"{title} cannot be read in parts; on a cluster {wanted}.")
    if table:
        options.refuse_only_ones(options.value)
        return DaskTensor.from_table(
            source, options.modes, options.value, unlisted=options.unlisted, client=client
        )
    options.refuse(title, "an array", "unlisted")
    named: dict[str, Any] = {} if options.modes is None else {"modes": options.modes}
    make = DaskTensor.from_zarr if stored else DaskTensor.from_array
    return make(source, client, **named)
