"""Public data: checksum, origin, licence and citation of each file, and how it gets onto this machine.

Most files are downloaded by pooch on first use and kept in the user's cache; a damaged one is downloaded
again. If TENSORM_DATA names a folder, data are read from there, and nothing in it is changed. None of the
data is part of the package.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tensorm.data.files import need
from tensorm.errors import FileError

FOLDER = "TENSORM_DATA"
POOCH = ("pooch", "Public data", "'tensorm[data]'")


class Source(NamedTuple):
    """A data set: title, licence and citation.

    ``build`` says what to do by hand for files that cannot be downloaded as they are.
    """

    title: str
    licence: str
    citation: str
    build: str = ""


class File(NamedTuple):
    """One file, or a folder with files of one pattern.

    Attributes
    ----------
    source : str
        Key of ``SOURCES``.
    sha256 : str
        Checksum; empty for what is built on the user's machine, where the last bits may differ.
    origin : str
        Address of the download, or where else it is from.
    remarks : str
        What to know before comparing numbers.
    pattern : str
        Which files of a folder count.
    """

    source: str
    sha256: str
    origin: str
    remarks: str = ""
    pattern: str = ""


def fetch(*paths: str) -> tuple[Path, dict[str, str]]:
    """Return the first of these files that is on this machine, or else the last, and its attributes.

    Raises
    ------
    FileError
        When there is no intact file and none can be downloaded.
    """
    folder = data_folder()
    name = next((name for name in paths if (folder / name).exists()), paths[-1])
    path, file = folder / name, FILES[name]
    source = SOURCES[file.source]
    if not (source.build or os.environ.get(FOLDER)):
        _download(folder, name)
    elif not path.exists():
        raise FileError(f"No such file: {path}; {_advice(name)}.")
    elif file.sha256 and checksum(path, file.pattern) != file.sha256:
        raise FileError(f"{path} is damaged or a different version; {_advice(name)}.")
    _cite(file.source)
    known = source._asdict() | file._asdict() | {"source": file.origin}
    return path, {key: known[key] for key in ("title", "source", "citation", "licence", "remarks")}


def data_folder() -> Path:
    """Return the folder TENSORM_DATA, or the user's cache if that is not set."""
    return Path(os.environ.get(FOLDER) or need(*POOCH).os_cache("tensorm"))


def checksum(path: Path, pattern: str = "") -> str:
    """Return the SHA-256 of a file, or of the names and checksums of the files in a folder."""
    try:
        if not pattern:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise FileError(f"Cannot read {path} ({error.strerror}); check its permissions.") from error
    parts = sorted(part for part in path.glob(pattern) if part.is_file())
    return hashlib.sha256("".join(f"{part.name}\0{checksum(part)}\n" for part in parts).encode()).hexdigest()


def _download(folder: Path, name: str) -> None:
    file, pooch = FILES[name], need(*POOCH)
    try:
        pooch.retrieve(file.origin, f"sha256:{file.sha256}", name, folder)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        reason = type(error).__name__ if isinstance(error, OSError) else "wrong checksum"
        raise FileError(f"Cannot download {file.source} ({reason}); {_advice(name)}.") from error


def _advice(name: str) -> str:
    source = FILES[name].source
    how = f"download {FILES[name].origin}"
    if SOURCES[source].build:
        how = f"run `python -m experiments.prepare {source}` in a clone of the repository, or "
        how += SOURCES[source].build
    return f"{how}, save it as {name} in a folder, and set {FOLDER} to that folder"


@cache
def _cite(name: str) -> None:
    source = SOURCES[name]
    print(f"{name}: please cite {source.citation}. Licence: {source.licence}.", file=sys.stderr)


ARCHIVE = "https://studentlife.cs.dartmouth.edu/dataset/dataset.tar.bz2"
PACKAGE = "https://bioconductor.org/packages/3.18/data/experiment/src/contrib/RTCGA.miRNASeq_1.30.0.tar.gz"
ATLAS = "https://gdc.cancer.gov/about-data/publications/pancanatlas"
MATRIX = "build an .npz file with expr, genes, barcode and cancer from"

SOURCES = {
    "hospital": Source(
        "Contacts on a hospital ward in Lyon, measured by badges",
        "CC BY-NC-SA 3.0",
        "Vanhems et al. (2013), PLoS ONE 8(9): e73970",
    ),
    "students": Source(
        "Seats that students scanned in a course (StudentLife)",
        "none stated",
        "Wang et al. (2014), StudentLife, UbiComp '14",
        f"unpack the folder QR_Code of {ARCHIVE} (5 GB)",
    ),
    "nations": Source(
        "Relations between nations",
        "MIT (package pykeen)",
        "Rummel (1968), Dimensionality of Nations; Kemp et al. (2006), AAAI",
    ),
    "mirna": Source(
        "MicroRNA in tumours of 28 cancers (TCGA)",
        "TCGA, open access; package GPL-2",
        "The Cancer Genome Atlas; Bioconductor package RTCGA.miRNASeq (Broad GDAC Firehose, 2015-11-01)",
        f"{MATRIX} {PACKAGE}",
    ),
    "mrna": Source(
        "Messenger RNA in tumours of 7 cancers (TCGA)",
        "TCGA, open access",
        "The Cancer Genome Atlas; Hoadley et al. (2018), Cell 173: 291-304",
        f"{MATRIX} {ATLAS}",
    ),
    "kegg": Source(
        "Human pathways of KEGG, 2021",
        "KEGG's own terms",
        "Kanehisa and Goto (2000), KEGG, Nucleic Acids Research 28: 27-30; Enrichr, Ma'ayan Laboratory",
    ),
}

READS = (
    "Values are log2(1 + reads per million mapped microRNAs); 0 where no read was seen. One tumour per "
    "patient: primary tumours, and metastases of melanoma."
)

FILES = {
    "hospital/hospital_lyon_contacts.dat.gz": File(
        "hospital",
        "12124ddc438300bcaea0022d4937e0e566679e1fd8f11f16a62214fbebc2b012",
        "https://www.sociopatterns.org/assets/data/hospital_lyon_contacts.dat.gz",
        "1 where the badges of two people met at least once in that hour of the day, on any of the days; 0 "
        "where they never did; missing on the diagonal. The paper does not say how it cut its 13 windows of "
        "time: hours and one night are our choice.",
    ),
    "students/QR_Code": File(
        "students",
        "555c733496e77233b63d02fa631a88cc8e66932ed7265f72aba27bf5930d9b39",
        ARCHIVE,
        "Regions are equal ranges of seat numbers that stand in for places in the room, whose map is not "
        "public as data; '?' is for scans that name no seat.",
        "QR_u*.json",
    ),
    **{
        f"nations/{part}.txt": File(
            "nations",
            sha256,
            f"https://raw.githubusercontent.com/pykeen/pykeen/v1.7.0/src/pykeen/datasets/nations/{part}.txt",
            "1 for the relations of one part; 0 also for those of the other two parts.",
        )
        for part, sha256 in {
            "train": "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
            "valid": "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
            "test": "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
        }.items()
    },
    "cancer/mirna_8943x1046.npz": File(
        "mirna", "9d4eed2ff791bf98185fcd23e6f4d81f03301593d022c31e78dde9d23ad519e6", PACKAGE, READS
    ),
    "cancer/mirna.npz": File("mirna", "", PACKAGE, READS),
    "cancer/mrna_7types.npz": File(
        "mrna",
        "622b463a018436c45806fdf85cd1b155c004edf4e4804b0bf86f99c67c545ac2",
        "selected from TCGA's RNASeqV2 data as other packages contain them; has no address of its own",
        "Values are log2 of RSEM's normalised counts; -3, the smallest, mostly stands for 0. These 1,106 "
        "patients x 5,991 genes are the matrix of our studies, smaller than what you can build.",
    ),
    "cancer/mrna_pancan.npz": File(
        "mrna",
        "",
        ATLAS,
        "Values are log2(1 + RSEM's normalised counts, adjusted for batches); 0 where none is left. Primary "
        "tumours, one per patient; genes without missing values. Larger than the 1,106 x 5,991 of our "
        "studies: do not compare scores with theirs.",
    ),
    "cancer/KEGG_2021_Human.gmt": File(
        "kegg",
        "328cd8c193ee672cd5da00173c465dd32dd998eeffe81f1eddb572df9e57626d",
        "https://maayanlab.cloud/Enrichr/geneSetLibrary?mode=text&libraryName=KEGG_2021_Human",
    ),
}
