"""MicroRNA of tumours, from the R data frames of Bioconductor's RTCGA.miRNASeq.

A data frame has three rows per sample, one of them with reads per million; row names start with the sample's
barcode of 28 characters, such as TCGA-OR-A5J1-01A-11R-A29W-13: patient (12), kind of sample (01), aliquot.
Rows of the older machine come first, and rows of one machine are sorted. The first tumour of each patient is
kept, as in the matrix of our studies, which is in the order of the data frames.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.errors import FileError

COHORTS = (
    *("ACC", "BLCA", "BRCA", "CESC", "CHOL", "DLBC", "ESCA", "HNSC", "KICH", "KIRC", "KIRP", "LGG", "LIHC"),
    *("LUAD", "LUSC", "MESO", "PAAD", "PCPG", "PRAD", "SARC", "SKCM", "STAD", "TGCT", "THCA", "THYM", "UCEC"),
    *("UCS", "UVM"),
)
MEMBER = re.compile(r"(?:.*/)?data/([A-Z]+)\.miRNASeq\.rda")
BARCODE, PATIENT, KIND = 28, 12, slice(13, 15)
TUMOURS = ("01", "06")  # primary, metastasis
VALUES = b"reads_per_million_miRNA_mapped"
ABOUT = ("machine", "miRNA_ID")
LABELS = "4374c21064a3ce553a4d5737342ffbaeeb9a28852c171afa6a453fff9fe5b58e"  # of our studies' matrix


class Cohort(NamedTuple):
    """The tumours of one kind of cancer: barcodes, names of microRNAs, and reads per million."""

    barcodes: list[str]
    genes: list[str]
    values: npt.NDArray[np.float64]


def make_mirna(files: Sequence[Path], path: Path, cohorts: Sequence[str] = COHORTS) -> None:
    """Write expr, genes, barcode and cancer of the package's archive to an .npz file."""
    found: dict[str, Cohort] = {}
    with tarfile.open(files[0]) as archive:
        for member in archive:
            match = MEMBER.fullmatch(member.name)
            content = archive.extractfile(member) if match and match[1] in cohorts else None
            if match and content:
                found[match[1]] = read_cohort(content.read(), f"{match[1]}.miRNASeq")
    for name in cohorts:
        if name not in found:
            raise FileError(f"{files[0].name} contains no data/{name}.miRNASeq.rda")
    genes = sorted(set.intersection(*(set(cohort.genes) for cohort in found.values())))
    tables = [found[name] for name in cohorts]
    barcodes = [barcode for table in tables for barcode in table.barcodes]
    cancers = [name for name, table in zip(cohorts, tables, strict=True) for _ in table.barcodes]
    places = [{gene: j for j, gene in enumerate(table.genes)} for table in tables]
    values = [
        table.values[:, [place[gene] for gene in genes]] for table, place in zip(tables, places, strict=True)
    ]
    if sha256("\n".join([*genes, *barcodes, *cancers]).encode()).hexdigest() != LABELS:
        print(
            f"mirna: {len(barcodes):,} patients x {len(genes):,} microRNAs differ from those of our studies, "
            "and so may scores.",
            file=sys.stderr,
        )
    expr = np.log2(1 + np.concatenate(values)).astype(np.float32)
    np.savez_compressed(path, expr=expr, genes=genes, barcode=barcodes, cancer=cancers)


def read_cohort(content: bytes, name: str) -> Cohort:
    """Return the first tumour of each patient in an .rda file with the data frame ``name``."""
    import rdata.parser

    try:
        # rdata's own conversion to pandas takes 50% more time and memory.
        frame = dict(_pairs(rdata.parser.parse_data(content).object))[name]
        about = dict(_pairs(frame.attributes))
        columns = dict(zip([text.decode() for text in _texts(about["names"])], frame.value, strict=True))
        labels = [text.decode()[:BARCODE] for text in _texts(about["row.names"])]
        first: dict[str, int] = {}
        for row, of in enumerate(_texts(columns["miRNA_ID"])):
            if of == VALUES and labels[row][KIND] in TUMOURS:
                first.setdefault(labels[row][:PATIENT], row)
        rows = np.array(list(first.values()), int)
        genes = [gene for gene in columns if gene not in ABOUT]
        values = np.stack([_numbers(columns[gene], rows) for gene in genes], axis=1)
    except Exception as error:  # rdata raises anything for a file that is not R's
        raise FileError(f"{name}.rda cannot be read") from error
    if not rows.size or not np.isfinite(values).all() or (values < 0).any():
        raise FileError(f"{name}.rda lacks reads per million for some tumour")
    return Cohort([labels[row] for row in rows], genes, values)


def _pairs(pairlist: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of an R pairlist as parsed by rdata."""
    while pairlist is not None and pairlist.value is not None:
        tag = pairlist.tag.referenced_object or pairlist.tag
        value, pairlist = pairlist.value
        yield tag.value.value.decode(), value


def _texts(column: Any) -> npt.NDArray[np.object_]:
    """Return the bytes of a character vector, or of a factor, which is stored as numbers of its levels."""
    if isinstance(column.value, np.ndarray):
        levels = _texts(dict(_pairs(column.attributes))["levels"])
        return levels[np.asarray(column.value) - 1]
    return np.array([text.value for text in column.value], object)


def _numbers(column: Any, rows: npt.NDArray[np.int_]) -> npt.NDArray[np.float64]:
    is_number = isinstance(column.value, np.ndarray) and "levels" not in dict(_pairs(column.attributes))
    return np.asarray((column.value if is_number else _texts(column))[rows], float)
