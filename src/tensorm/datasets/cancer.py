"""Gene expression of tumours (The Cancer Genome Atlas), and gene sets of KEGG."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import numpy as np

from tensorm.datasets.sources import locate
from tensorm.errors import FileError, InputError

if TYPE_CHECKING:
    import xarray

KINDS = ("mirna", "mrna", "mrna60")


def cancer(kind: str = "mirna") -> xarray.DataArray:
    """Return the expression of genes in tumours, one tumour per patient; for ``RelationalTensor``.

    Parameters
    ----------
    kind : "mirna", "mrna" or "mrna60", default "mirna"
        8,943 patients x 1,046 microRNAs, 28 cancers; 1,106 x 5,991 genes, 7 cancers; or 6,703 x 60 genes,
        32 cancers.

    Returns
    -------
    xarray.DataArray
        float32, logarithms to base 2; dimensions "patient" and "gene", and a coordinate "cancer" along
        "patient".

    Raises
    ------
    FileError
        When the file is not there.
    """
    import xarray

    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; choose 'mirna', 'mrna' or 'mrna60'.")
    path = locate(kind)
    try:
        with np.load(path, allow_pickle=False) as file:
            expression, genes, patients, cancers = (
                file[name] for name in ("expr", "genes", "barcode", "cancer")
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise FileError(f"{path} does not hold expr, genes, barcode and cancer; make it again.") from error
    return xarray.DataArray(
        expression,
        dims=("patient", "gene"),
        coords={"patient": patients, "gene": genes, "cancer": ("patient", cancers)},
        name="expression",
    )


def kegg() -> dict[str, list[str]]:
    """Return KEGG's human pathways: for each name its genes' symbols.

    Raises
    ------
    FileError
        When the file is not there and cannot be downloaded.
    """
    lines = locate("kegg").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line)
    return {name: [gene for gene in genes if gene] for name, _, *genes in rows}
