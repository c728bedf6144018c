"""Students' scans of seats, extracted from an archive of 5 GB of which nothing else is needed."""

from __future__ import annotations

import io
import re
import sys
import tarfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from tensorm.errors import FileError

WANTED = re.compile(r"(?:.*/)?QR_Code/(QR_u\d+\.json)")
STUDENTS = 49
LARGEST = 2**20  # bytes; the largest of them has 5,014
TIMEOUT = 30  # seconds without a byte


def take_scans(stream: IO[bytes]) -> dict[str, bytes]:
    """Return the files with scans in an archive, by name; reading stops after the last of them."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=stream, mode="r|*") as archive:
        for member in archive:
            match = WANTED.fullmatch(member.name)
            if match and match[1] not in found and member.isreg() and member.size <= LARGEST:
                content = archive.extractfile(member)
                assert content is not None  # it is a regular file
                found[match[1]] = content.read()
                if len(found) == STUDENTS:
                    return found
    raise FileError(f"the archive contains {len(found)} files QR_Code/QR_u*.json, not {STUDENTS}")


def fetch_scans(address: str, path: Any, _: Any = None) -> None:
    """Download only the scans, for pooch, as a small archive: the large one is never on disk."""
    import requests
    import urllib3

    try:
        as_it_is = {"Accept-Encoding": "identity"}
        with requests.get(address, headers=as_it_is, stream=True, timeout=TIMEOUT) as answer:
            answer.raise_for_status()
            with _progress(answer) as stream:
                found = take_scans(stream)
    except urllib3.exceptions.HTTPError as error:  # pooch and its callers expect the errors of requests
        raise requests.exceptions.ConnectionError(str(error)) from error
    with tarfile.open(path, "w") as archive:
        for name, content in found.items():
            member = tarfile.TarInfo(f"QR_Code/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def make_scans(files: Sequence[Path], folder: Path) -> None:
    """Write the scans in an archive, the original or the small one, to a folder."""
    with open(files[0], "rb") as stream:
        found = take_scans(stream)
    folder.mkdir()
    for name, content in found.items():
        (folder / name).write_bytes(content)


def _progress(answer: Any) -> AbstractContextManager[Any]:
    """Return the bytes of an answer, with a progress bar on a terminal."""
    if not (sys.stderr.isatty() and find_spec("tqdm")):
        return nullcontext(answer.raw)
    from tqdm import tqdm

    size = int(answer.headers.get("content-length", 0)) or None
    return cast(AbstractContextManager[Any], tqdm.wrapattr(answer.raw, "read", total=size))
