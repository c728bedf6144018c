"""Build the data of studies that cannot be downloaded as they are.

    python -m experiments.prepare students | mirna | mrna

The result goes to the folder TENSORM_DATA, or to the cache if that is not set, where the loaders of
``tensorm.datasets`` find it. Downloads are deleted afterwards; one that is already in that folder, under the
name given here, is used instead. A result appears under its name only when it is complete.
"""

from __future__ import annotations

import lzma
import os
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import pooch

from experiments.mirna import make_mirna
from experiments.mrna import make_mrna
from experiments.scans import fetch_scans, make_scans
from tensorm.datasets.registry import ARCHIVE, DATA_FOLDER, FILES, PACKAGE, checksum, data_folder
from tensorm.errors import FileError

# No network (requests' errors are OSErrors), a full disk, a wrong checksum, an incomplete archive.
ERRORS = (OSError, ValueError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError)
GDC = "https://api.gdc.cancer.gov/data"


class Download(NamedTuple):
    """A file on the network; without a checksum, what is built from it is checked instead."""

    path: str
    address: str
    checksum: str | None
    size: str = ""
    downloader: Callable[[str, Any, Any], None] | None = None


class Recipe(NamedTuple):
    """What is built from which downloads, and how."""

    path: str
    make: Callable[[Sequence[Path], Path], None]
    downloads: tuple[Download, ...]


RECIPES = {
    "students": Recipe(
        "students/QR_Code",
        make_scans,
        (Download("students/dataset.tar.bz2", ARCHIVE, None, "5 GB", fetch_scans),),
    ),
    "mirna": Recipe(
        "cancer/mirna.npz",
        make_mirna,
        (
            Download(
                "cancer/RTCGA.miRNASeq_1.30.0.tar.gz",
                PACKAGE,
                # As published by Spack for its package r-rtcga-mirnaseq.
                "sha256:64ec211586dd6077f2d6a5e24bd9781643adf22e2d667c17f6706d42d8396bc3",
            ),
        ),
    ),
    "mrna": Recipe(
        "cancer/mrna_pancan.npz",
        make_mrna,
        (  # The GDC publishes MD5 only, in its manifest of the Pan-Cancer Atlas.
            Download(
                "cancer/EBPlusPlusAdjustPANCAN_IlluminaHiSeq_RNASeqV2.geneExp.tsv",
                f"{GDC}/3586c0da-64d0-4b74-a449-5ff4d9136611",
                "md5:02e72c33071307ff6570621480d3c90b",
                "1.9 GB",
            ),
            Download(
                "cancer/merged_sample_quality_annotations.tsv",
                f"{GDC}/1a7d7be8-675d-4e60-a105-19d4121bdebf",
                "md5:05ddd2270fb1fb24fbdc2fe9bf7384e5",
            ),
        ),
    ),
}


def ensure(name: str) -> None:
    """Build data into the cache if they are not there; a folder of the user is left alone."""
    if not os.environ.get(DATA_FOLDER):
        copies = [path for path, file in FILES.items() if file.source == name]
        if not any((data_folder() / path).exists() for path in copies):
            prepare(name)


def prepare(name: str) -> Path:
    """Download what is needed, build the data, and return their path."""
    recipe = RECIPES[name]
    path, expected = data_folder() / recipe.path, FILES[recipe.path]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            files = [fetch(download, Path(folder)) for download in recipe.downloads]
            click.echo(f"{name}: building {path} from {files[0].name}.", err=True)
            made = Path(folder) / path.name
            recipe.make(files, made)
            if expected.sha256 and checksum(made, expected.pattern) != expected.sha256:
                raise FileError("its content is a different version")
            if path.exists():  # a folder can only replace an empty one
                os.replace(path, Path(folder) / "old")
            os.replace(made, path)
    except ERRORS as error:
        raise FileError(f"Cannot build {name} ({explain(error)}); {advice(recipe)}.") from error
    return path


def fetch(download: Download, folder: Path) -> Path:
    """Return a file of the data folder, or download it into another folder; its checksum is right."""
    own = data_folder() / download.path
    if own.exists():
        pooch.hashes.hash_matches(own, download.checksum, strict=True, source=own.name)
        return own
    if download.size:
        click.echo(f"Downloading {download.address}, about {download.size}.", err=True)
    pooch.get_logger().setLevel("WARNING")
    found = pooch.retrieve(
        download.address,
        download.checksum,
        own.name,
        folder,
        downloader=download.downloader,
        progressbar=sys.stderr.isatty() and find_spec("tqdm") is not None,
    )
    return Path(found)


def explain(error: BaseException) -> str:
    """Return the reason of a failure in a few words."""
    if isinstance(error, FileError):
        return str(error)
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno else type(error).__name__
    if isinstance(error, ValueError) and "hash" in str(error):  # pooch's only sign of it
        return "wrong checksum"
    return "a download is incomplete or not in the expected format"


def advice(recipe: Recipe) -> str:
    """Return what to do when a download fails."""
    addresses, paths = (
        " and ".join(getattr(download, name) for download in recipe.downloads) for name in ("address", "path")
    )
    return (
        f"download {addresses}, save as {paths} in a folder, set {DATA_FOLDER} to that folder, and try again"
    )


@click.command()
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(RECIPES)))
def main(names: tuple[str, ...]) -> None:
    """Build data of studies from public downloads."""
    for name in names:
        try:
            click.echo(f"Written: {prepare(name)}")
        except FileError as error:
            raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
