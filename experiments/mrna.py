"""Messenger RNA of tumours, from the Pan-Cancer Atlas' table of genes by samples and its notes on samples.

The table has 1.9 GB, so it is read line by line, and only the columns of wanted samples are kept. Barcodes
are those of ``mirna``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np

from tensorm.errors import FileError

CANCERS = ("ACC", "BRCA", "CHOL", "DLBC", "STAD", "UCS", "UVM")
PATIENT, KIND, PRIMARY = 12, slice(13, 15), "01"
MISSING = {b"", b"NA", b"NaN", b"nan"}


def make_mrna(files: Sequence[Path], path: Path) -> None:
    """Write expr, genes, barcode and cancer of primary tumours, one per patient, to an .npz file."""
    table, notes = files
    cancers, unusable = read_notes(notes)
    genes, rows = [], []
    with open(table, "rb") as file:
        header = [name.decode("ascii", "replace") for name in _split(file.readline())]
        column: dict[str, int] = {}
        for barcode, j in sorted((barcode, j) for j, barcode in enumerate(header)):
            patient = barcode[:PATIENT]
            if barcode[KIND] == PRIMARY and patient in cancers and barcode not in unusable:
                column.setdefault(patient, j)
        patients = sorted(column, key=lambda patient: (cancers[patient], patient))
        if len(patients) < 2:
            raise FileError(f"{table.name} has no columns for the patients in {notes.name}")
        take = itemgetter(*(column[patient] for patient in patients))
        for number, line in enumerate(file, 2):
            cells = _split(line)
            if len(cells) != len(header):
                raise FileError(f"line {number} of {table.name} has {len(cells)} columns, not {len(header)}")
            wanted = take(cells)
            if MISSING.isdisjoint(wanted):
                genes.append(cells[0].decode("utf-8", "replace").replace("|", "_"))
                rows.append(np.array([float(cell) for cell in wanted], np.float32))
    if not genes:
        raise FileError(f"{table.name} has no gene without missing values")
    # The adjustment for batches leaves some counts slightly below 0.
    expr = np.log2(1 + np.maximum(np.stack(rows, axis=1), 0))
    np.savez_compressed(
        path, expr=expr, genes=genes, barcode=patients, cancer=[cancers[patient] for patient in patients]
    )


def read_notes(path: Path) -> tuple[dict[str, str], set[str]]:
    """Return the cancer of each patient with one of ``CANCERS``, and the samples that must not be used."""
    with open(path, "rb") as file:
        header = [
            name.decode("utf-8", "replace") for name in _split(file.readline().lower().replace(b" ", b"_"))
        ]
        wanted = ("patient_barcode", "aliquot_barcode", "cancer_type", "do_not_use")
        for name in wanted:
            if name not in header:
                raise FileError(f"{path.name} has no column {name}")
        places = [header.index(name) for name in wanted]
        cancers, unusable = {}, set()
        for line in file:
            cells = [cell.decode("utf-8", "replace") for cell in _split(line)]
            if len(cells) > max(places):
                patient, sample, cancer, unfit = (cells[place] for place in places)
                if cancer in CANCERS:
                    cancers[patient] = cancer
                if unfit.lower() == "true":
                    unusable.add(sample)
    return cancers, unusable


def _split(line: bytes) -> list[bytes]:
    return line.rstrip(b"\r\n").replace(b'"', b"").split(b"\t")
