"""Lists of cells as people have them: sparse matrices and arrays, and long tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.inputs import Labels, is_a
from tensorm.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

Place = Callable[[int], str]

NOTHING = ("na", "n/a", "nan", "none", "null", "<na>")
WORDS = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1.0),
    **dict.fromkeys(("0", "0.0", "false", "no"), 0.0),
    **dict.fromkeys(NOTHING, np.nan),
}


class Listing(NamedTuple):
    """Cells by their indices, not yet checked, and all that was said about them."""

    columns: tuple[npt.NDArray[Any], ...]
    shape: tuple[int, ...]
    values: npt.NDArray[Any] | None = None
    unlisted: str = "zero"
    modes: tuple[str, ...] | None = None
    labels: Labels | None = None
    place: Place = "row {}".format


def is_matrix(X: Any) -> bool:
    """Whether X is a scipy.sparse matrix or array, or a ``sparse.COO`` or the like."""
    known = ("scipy.sparse", "sparray"), ("scipy.sparse", "spmatrix"), ("sparse", "SparseArray")
    return any(is_a(X, module, name) for module, name in known)


def read_matrix(X: Any) -> Listing:
    """List the stored cells of a sparse matrix or array; all others have its fill value."""
    fill = getattr(X, "fill_value", 0)
    if fill != 0 and not np.isnan(fill):
        raise InputError(f"X has fill value {fill}; give 0, or NaN if unlisted cells are missing.")
    if is_a(X, "sparse", "SparseArray"):
        matrix = X.asformat("coo")
        columns = tuple(matrix.coords)
    else:
        matrix = X.tocoo()
        columns = tuple(getattr(matrix, "coords", None) or (matrix.row, matrix.col))
    return Listing(columns, tuple(X.shape), matrix.data, "zero" if fill == 0 else "missing")


def read_table(
    table: Any,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    shape: Sequence[int] | None = None,
    labelled: bool = False,
    place: Place = "row {}".format,
) -> Listing:
    """List the rows of a long table; see ``SparseTensor.from_table``."""
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise InputError(
            f"table is a {type(table).__name__}; give a pandas, polars or pyarrow table."
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise InputError("table has several columns with the same name; give each its own.") from error
    if isinstance(modes, str):
        raise InputError(f"modes is {modes!r}; give a list of columns.")
    names = [name for name in frame.columns if name != value] if modes is None else list(modes)
    for name in names if value is None else [*names, value]:
        if name not in frame.columns:
            raise InputError(
                f"table has no column {name!r}; choose from {', '.join(map(repr, frame.columns))}."
            )
    if len(names) < 2:
        raise InputError(f"table has {len(names)} column(s) for modes; give two or more.")
    read = [_read_indices(frame[name], labelled, place) for name in names]
    columns, labels = zip(*read, strict=True)
    sizes = [
        (int(column.max()) + 1 if column.size else 1) if known is None else len(known)
        for column, known in read
    ]
    values = None if value is None else read_values(frame[value], place)
    return Listing(
        columns,
        tuple(sizes) if shape is None else tuple(shape),
        values,
        modes=tuple(map(str, names)),
        labels=labels,
        place=place,
    )


def _read_indices(
    series: nw.Series[Any], labelled: bool, place: Place
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return a column as indices, and the labels that they stand for; integers are indices themselves."""
    unknown = series.is_null().to_numpy()
    if unknown.any():
        raise InputError(f"column {series.name!r} is empty in {place(int(unknown.argmax()))}; give an index.")
    array = series.to_numpy()
    if array.dtype.kind in "iuf" and not labelled:
        return array, None
    if array.dtype.kind not in "iufUM":
        texts = [str(item) for item in array]
        zero = next((text for text in texts if "\0" in text), None)
        if zero is not None:
            raise InputError(
                f"column {series.name!r} holds {zero!r}, a label with a character 0; give it without."
            )
        array = np.array(texts)
    labels, indices = np.unique(array, return_inverse=True)
    return indices, labels


def read_values(series: nw.Series[Any], place: Place) -> npt.NDArray[Any]:
    """Return a column of values, NaN where there is none; yes, no, true, false and NA are understood."""
    array = series.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    values = np.full(len(array), np.nan)
    for row in np.flatnonzero(~series.is_null().to_numpy()):
        word = str(array[row]).strip().lower()
        if word not in WORDS:
            raise InputError(
                f"column {series.name!r} holds {array[row]!r} in {place(int(row))}; give 0, 1, or nothing "
                "where it is not known."
            )
        values[row] = WORDS[word]
    return values
