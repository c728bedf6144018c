"""What every reader of files needs: is it a file, is its library installed, one sentence if it is damaged."""

from __future__ import annotations

import os
import stat
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorm.errors import FileError, InputError

FREE_CHUNK = 2**26  # bytes of a chunk of any array
CODED = {"_FillValue", "add_offset", "missing_value", "scale_factor", "units"}  # attributes of coded numbers
MAX_EXPANSION = 100  # times its size that a compressed file may unpack to


def check_exists(file: Path, folder: bool = False, plain: bool = True) -> None:
    """Raise unless there is a plain file, or a folder: no pipe or device, which might never end."""
    try:
        exists, found = file.exists(), (folder and file.is_dir()) or (plain and file.is_file())
    except (OSError, ValueError) as error:  # a name that is too long, or no name at all
        raise FileError(f"No such file: {str(file)[:100]!r}.") from error
    if not exists:
        raise FileError(f"No such file: {file}.")
    if not found:
        raise FileError(f"{file} is not a {'plain file' if plain else 'folder'}; give another path.")


def weigh_folder(path: Path) -> tuple[int, int]:
    """Return the number and the size of all files in a folder, or raise if one of them leads elsewhere."""
    count, size, folders = 0, 0, [path]
    while folders:
        for entry in os.scandir(folders.pop()):
            kind = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(kind.st_mode):
                folders.append(Path(entry.path))
            elif stat.S_ISREG(kind.st_mode):
                count, size = count + 1, size + kind.st_size
            else:
                problem = f"{entry.name[:40]!r} inside it is not a plain file"
                raise FileError(f"{path} cannot be read: {problem}; replace it with a copy of the file.")
    return count, size


def check_packed(member: zipfile.ZipInfo) -> None:
    """Raise unless a member of a zip is stored or deflated: other packers take what memory they like."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("packed in an unusual way")


def need(name: str, what: str, install: str) -> Any:
    """Import a package that reads a kind of file, or say how to install it."""
    try:
        return __import__(name)
    except ImportError as error:
        raise FileError(f"{what} need {name}; install it with: pip install {install}.") from error


@contextmanager
def reading(file: Any, what: str, writer: str) -> Iterator[None]:
    """Turn whatever a library says when it reads a damaged file into one sentence."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except InputError:
        raise
    except MemoryError as error:
        raise FileError(f"{file} does not fit in memory; give a smaller file.") from error
    except Exception as error:
        raise FileError(f"{file} cannot be read as {what}; write it with {writer}.") from error


def check_chunk(file: Any, chunk: int, array: int) -> None:
    """Raise if a chunk has far more bytes than its array: a library would unpack all of it."""
    if chunk > max(FREE_CHUNK, array):
        problem = f"it has a chunk of {chunk:,} bytes for an array of {array:,}"
        raise FileError(f"{file} cannot be read: {problem}; use smaller chunks.")


def weigh_decoded(size: int, attributes: Any) -> int:
    """Return how many bytes a number of an array takes in all when xarray reads it, maybe into a float."""
    return size + 8 * any(name in attributes for name in CODED)


def load_variable(file: Any, value: str | None, **how: Any) -> Any:
    """Return the variable of a file that xarray opens which has the cells."""
    import xarray

    with xarray.open_dataset(file, **how) as dataset:
        return pick_variable(file, dataset, value).load()


def pick_variable(title: Any, dataset: Any, value: str | None) -> Any:
    """Return the only variable of an ``xarray.Dataset``, or the one that is named."""
    names = [str(name) for name in dataset.data_vars]
    if value is None and len(names) == 1:
        value = names[0]
    if value not in names:
        raise FileError(f"{title} contains {list_names(names, 'variables')}; choose one: value=NAME.")
    return dataset[value]


def list_names(names: list[str], what: str) -> str:
    """Return how many things there are, and the names of the first."""
    shown = ", ".join(repr(name[:40]) for name in names[:6]) + ", ..." * (len(names) > 6)
    return f"{len(names)} {what.removesuffix('s' * (len(names) == 1))} ({shown})" if names else f"no {what}"
