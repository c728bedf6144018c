"""Gene expression of tumours (The Cancer Genome Atlas), and gene sets of KEGG."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tensorm.datasets.locating import locate
from tensorm.datasets.mirna import PATIENT
from tensorm.errors import FileError, InputError

if TYPE_CHECKING:
    import xarray

KINDS = ("mirna", "mrna")


def cancer(kind: str = "mirna") -> xarray.DataArray:
    """Return the expression of genes in tumours, one tumour per patient; for ``RelationalTensor``.

    Parameters
    ----------
    kind : "mirna" or "mrna", default "mirna"
        MicroRNA, 8,943 patients x 1,046 microRNAs, 28 cancers; or messenger RNA, 7 cancers. Of the latter
        there are two matrices. Our studies read one of 1,106 patients x 5,991 genes from the folder
        TENSORM_DATA; it has no public address. What is downloaded (1.9 GB, of which a small part is kept) is
        the Pan-Cancer Atlas' own, with more patients, and all genes without missing values. Scores on one are
        not to be compared with scores on the other; ``attrs["remarks"]`` says which one it is.

    Returns
    -------
    xarray.DataArray
        float32, logarithms to base 2; dimensions "patient" (barcodes of 12 characters) and "gene". Along
        "patient" there is a coordinate "cancer", and for microRNA also "sample", the tumour's whole barcode.
        Title, source, citation, licence and remarks are in its ``attrs``.

    Raises
    ------
    InputError
        When there is no such kind.
    FileError
        When the file is not there and cannot be downloaded.
    """
    import xarray

    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; choose 'mirna' or 'mrna'.")
    path, attrs = locate(kind)
    try:
        with np.load(path, allow_pickle=False) as file:
            expression, genes, barcodes, cancers = (
                file[name] for name in ("expr", "genes", "barcode", "cancer")
            )
        coords = {
            "patient": ("patient", barcodes.astype(f"U{PATIENT}")),
            "gene": ("gene", genes),
            "cancer": ("patient", cancers),
        }
        if kind == "mirna":
            coords["sample"] = ("patient", barcodes)
        return xarray.DataArray(expression, coords, ("patient", "gene"), "expression", attrs)
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(
            f"{path} does not hold expr, genes, barcode and cancer that fit together; delete it, and it is "
            "made again."
        ) from error


def kegg() -> dict[str, list[str]]:
    """Return KEGG's human pathways: for each name its genes' symbols.

    Raises
    ------
    FileError
        When the file is not there and cannot be downloaded.
    """
    lines = locate("kegg").path.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line)
    return {name: [gene for gene in genes if gene] for name, _, *genes in rows}
