"""Gene expression in tumours (The Cancer Genome Atlas), and gene sets of KEGG."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tensorm.data.checks import check_choice
from tensorm.datasets.registry import fetch
from tensorm.errors import FileError

if TYPE_CHECKING:
    import xarray

EXPRESSION_FILES = {
    "mirna": ("cancer/mirna_8943x1046.npz", "cancer/mirna.npz"),
    "mrna": ("cancer/mrna_7types.npz", "cancer/mrna_pancan.npz"),
    "mrna17": ("cancer/mrna_17types_809genes.npz",),
}


def cancer(kind: str = "mirna") -> xarray.DataArray:
    """Return gene expression in tumours, one tumour per patient, for ``RelationalTensor``.

    The files are read from the folder TENSORM_DATA, or from the cache where ``python -m experiments.prepare``
    (part of the repository, not of the package) builds them from public downloads.

    Parameters
    ----------
    kind : "mirna", "mrna" or "mrna17", default "mirna"
        MicroRNA (8,943 patients x 1,046 microRNAs, 28 cancers) or messenger RNA (7 cancers). There are two
        matrices of the latter: that of our studies, 1,106 patients x 5,991 genes, has no public address; the
        one you can build from the Pan-Cancer Atlas has more patients and genes. Do not compare scores on one
        with scores on the other; ``attrs["remarks"]`` says which one it is. "mrna17" has 1,904 patients x 809
        genes and 17 cancers, put together from three sources, and no public address.

    Returns
    -------
    xarray.DataArray
        float32, logarithms to base 2; dimensions "patient" (barcodes of 12 characters) and "gene". The
        coordinate "cancer" belongs to "patient", as does, for microRNA, "sample", the tumour's full barcode.
        Title, source, citation, licence and remarks are in ``attrs``.

    Raises
    ------
    InputError
        When ``kind`` is unknown.
    FileError
        When there is no such file, or it is damaged.
    """
    import xarray

    path, attrs = fetch(*EXPRESSION_FILES[check_choice("kind", kind, tuple(EXPRESSION_FILES))])
    try:
        with np.load(path, allow_pickle=False) as file:
            expression, genes, barcodes, cancers = (
                file[name] for name in ("expr", "genes", "barcode", "cancer")
            )
        coords = {
            "patient": ("patient", barcodes.astype("U12")),
            "gene": ("gene", genes),
            "cancer": ("patient", cancers),
        }
        if kind == "mirna":
            coords["sample"] = ("patient", barcodes)
        return xarray.DataArray(
            expression.astype(np.float32, copy=False), coords, ("patient", "gene"), "expression", attrs
        )
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(
            f"{path} does not contain expr, genes, barcode and cancer of matching sizes; delete it and run "
            f"`python -m experiments.prepare {kind}` in a clone of the repository."
        ) from error


def kegg() -> dict[str, list[str]]:
    """Return the gene symbols of each human pathway in KEGG, by the name of the pathway.

    Raises
    ------
    FileError
        When the file cannot be downloaded.
    """
    path, _ = fetch("cancer/KEGG_2021_Human.gmt")
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {name: [gene for gene in genes if gene] for name, _, *genes in rows}
