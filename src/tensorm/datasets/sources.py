"""Public data: where each file comes from, its checksum and licence, and how it gets onto this machine.

A file is read from the folder named by the environment variable TENSORM_DATA if that is set, else from the
user's cache, where it is downloaded on first use (pooch). None of it is part of the package.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tensorm.errors import FileError

MIRROR = "TENSORM_DATA"


class Source(NamedTuple):
    """A public file.

    Attributes
    ----------
    path : str
        Where it lies in the folder TENSORM_DATA.
    address : str
        Where it is downloaded from; empty if it has to be made or asked for, as ``advice`` says.
    sha256 : str
        Of the file; empty if any will do.
    licence, citation : str
        Said once, when the file is first used.
    advice : str
        How to come by the file without a download.
    """

    path: str
    address: str
    sha256: str
    licence: str
    citation: str
    advice: str = ""


SOURCES = {
    "hospital": Source(
        "hospital/hospital_lyon_contacts.dat.gz",
        "https://www.sociopatterns.org/assets/data/hospital_lyon_contacts.dat.gz",
        "12124ddc438300bcaea0022d4937e0e566679e1fd8f11f16a62214fbebc2b012",
        "CC BY-NC-SA 3.0",
        "Vanhems et al. (2013), PLoS ONE 8(9): e73970",
    ),
    "students": Source(
        "students/QR_Code",
        "",
        "",
        "none stated",
        "Wang et al. (2014), StudentLife, UbiComp '14",
        "download https://studentlife.cs.dartmouth.edu/dataset/dataset.tar.bz2 and unpack its folder QR_Code",
    ),
    "mirna": Source(
        "cancer/mirna_8943x1046.npz",
        "",
        "9d4eed2ff791bf98185fcd23e6f4d81f03301593d022c31e78dde9d23ad519e6",
        "TCGA open access",
        "The Cancer Genome Atlas; Bioconductor package RTCGA.miRNASeq",
        "make it from Bioconductor's RTCGA.miRNASeq: arrays expr (log2(1 + RPM)), genes, barcode, cancer",
    ),
    "mrna": Source(
        "cancer/mrna_7types.npz",
        "",
        "622b463a018436c45806fdf85cd1b155c004edf4e4804b0bf86f99c67c545ac2",
        "TCGA open access",
        "The Cancer Genome Atlas, Pan-Cancer Atlas",
        "make it from the Pan-Cancer Atlas' RNASeqV2 matrix: arrays expr (log2 RSEM), genes, barcode, cancer",
    ),
    "mrna60": Source(
        "cancer/mrna_60genes_32types.npz",
        "",
        "e85ef358f1bf5ba6c5824a67df8e9f3894b86b16900f98994dc49824c3a1a912",
        "CC0",
        "The Cancer Genome Atlas, Pan-Cancer Atlas",
        "make it from the Pan-Cancer Atlas' RNASeqV2 matrix: arrays expr (log2 RSEM), genes, barcode, cancer",
    ),
    "kegg": Source(
        "cancer/KEGG_2021_Human.gmt",
        "https://maayanlab.cloud/Enrichr/geneSetLibrary?mode=text&libraryName=KEGG_2021_Human",
        "328cd8c193ee672cd5da00173c465dd32dd998eeffe81f1eddb572df9e57626d",
        "KEGG's own terms",
        "Kanehisa and Goto (2000), KEGG, Nucleic Acids Research 28: 27-30; Enrichr, Ma'ayan Laboratory",
    ),
    **{
        f"nations {part}": Source(
            f"nations/{part}.txt",
            f"https://raw.githubusercontent.com/pykeen/pykeen/master/src/pykeen/datasets/nations/{part}.txt",
            checksum,
            "MIT (package pykeen)",
            "Rummel (1968), Dimensionality of Nations; Kemp et al. (2006), AAAI",
        )
        for part, checksum in {
            "train": "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
            "valid": "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
            "test": "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
        }.items()
    },
}

_told: set[tuple[str, str]] = set()


def locate(name: str) -> Path:
    """Return where a public file lies on this machine, downloaded if need be; its checksum holds.

    Raises
    ------
    FileError
        When it is not there and cannot be downloaded, or is another file than expected.
    """
    source = SOURCES[name]
    mirror = os.environ.get(MIRROR)
    path = Path(mirror) / source.path if mirror else _cached(name, source)
    if not path.exists():
        raise FileError(f"{path} is not there; {_advice(source)}.")
    if source.sha256 and sha256(path.read_bytes()).hexdigest() != source.sha256:
        raise FileError(f"{path} is damaged or another version than expected; {_advice(source)}.")
    if (source.citation, source.licence) not in _told:
        _told.add((source.citation, source.licence))
        print(
            f"{name.split()[0]}: please cite {source.citation}. Licence: {source.licence}.", file=sys.stderr
        )
    return path


def _cached(name: str, source: Source) -> Path:
    """Download a file into the cache unless it is there."""
    try:
        import pooch
    except ImportError as error:
        raise FileError("Public data need pooch; get it by: pip install 'tensorm[data]'.") from error
    folder = pooch.os_cache("tensorm")
    path = Path(folder) / source.path
    if path.exists() or not source.address:
        return path
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            source.address, f"sha256:{source.sha256}", path.name, path.parent, progressbar=sys.stderr.isatty()
        )
    except (OSError, ValueError) as error:  # no network (requests' errors are OSErrors), or a wrong checksum
        raise FileError(
            f"{name} cannot be downloaded ({type(error).__name__}); {_advice(source)}."
        ) from error
    return path


def _advice(source: Source) -> str:
    get = source.advice or f"download {source.address}"
    return f"{get}, save it as {source.path} in a folder of yours, and set {MIRROR} to that folder"
