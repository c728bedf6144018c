"""What the cancer studies share: samples of expression, their fits, and the types of components."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
import numpy.typing as npt

from experiments import record
from experiments.forests import SEED
from experiments.prepare import RECIPES, ensure
from experiments.record import Floats
from experiments.study import Fitted, fit_once
from tensorm import RelationalTensor, datasets, write_report
from tensorm.errors import InputError
from tensorm.posterior.modes import MEMBER

CHAIN = {"n_chains": 1, "n_draws": 50, "random_state": SEED}
COMPONENTS = 25
LEGEND = {  # types of cancer in the supplement of the paper
    "BLCA": "bladder urothelial carcinoma",
    "BRCA": "breast invasive carcinoma",
    "CESC": "cervical squamous cell carcinoma and endocervical adenocarcinoma",
    "COAD": "colon adenocarcinoma",
    "ESCA": "oesophageal carcinoma",
    "GBM": "glioblastoma multiforme",
    "HNSC": "head and neck squamous cell carcinoma",
    "KIRC": "kidney renal clear cell carcinoma",
    "KIRP": "kidney renal papillary cell carcinoma",
    "LAML": "acute myeloid leukaemia",
    "LGG": "brain lower grade glioma",
    "LIHC": "liver hepatocellular carcinoma",
    "LUAD": "lung adenocarcinoma",
    "LUSC": "lung squamous cell carcinoma",
    "OV": "ovarian serous cystadenocarcinoma",
    "PAAD": "pancreatic adenocarcinoma",
    "PCPG": "phaeochromocytoma and paraganglioma",
    "PRAD": "prostate adenocarcinoma",
    "SARC": "sarcoma",
    "SKCM": "skin cutaneous melanoma",
    "STAD": "stomach adenocarcinoma",
    "TGCT": "testicular germ cell tumours",
    "THCA": "thyroid carcinoma",
}
SMALLEST = 5  # patients of a type, and genes of a pathway, that can be tested
COUNT = click.IntRange(min=0)  # where 0 means all


def sample(kind: str, patients: int, attributes: int) -> Any:
    """Return the expression of random patients, for the attributes that vary most; 0 means all."""
    if kind in RECIPES:
        ensure(kind)
    M = datasets.cancer(kind)
    rows = np.random.default_rng(SEED).permutation(M.shape[0])[: patients or None]
    M = most_varying(M, attributes)[np.sort(rows)]
    types, counts = np.unique(M.coords["cancer"], return_counts=True)
    if counts.max() < SMALLEST:
        raise InputError(f"No type of cancer has {SMALLEST} of the {len(rows)} patients; use more patients.")
    return M[np.isin(M.coords["cancer"], types[counts >= SMALLEST])]


def most_varying(M: Any, attributes: int) -> Any:
    """Return the attributes that vary most; 0 means all."""
    return M[:, np.sort(np.argsort(-M.values.std(axis=0), kind="stable")[: attributes or None])]


def symbols_of(M: Any) -> list[str]:
    """Return the symbols of the genes of a matrix."""
    return [str(name).split("_")[0] for name in M.coords["gene"].values]


def fit(M: Any, kind: str, components: int, normalise: str, fresh: bool) -> tuple[RelationalTensor, Fitted]:
    """Return the relational tensor of a matrix, and its fit."""
    tensor = RelationalTensor(M, normalise=normalise)
    about = {"kind": kind, "patients": M.shape[0], "attributes": M.shape[1], "normalise": normalise}
    return tensor, fit_once("cancer", tensor, about, {"n_components": components, **CHAIN}, fresh)


def types_of(factor: Floats, types: npt.NDArray[Any], share: float = 0.5) -> list[dict[str, float]]:
    """Return the types of each component: those with more than this share of their patients in it."""
    names = np.unique(types)
    shares = np.array([(factor[types == name] > MEMBER).mean(axis=0) for name in names])
    return [
        {str(names[n]): float(column[n]) for n in np.argsort(-column) if column[n] > share}
        for column in shares.T
    ]


def write_study_report(name: str, fitted: Fitted, M: Any, title: str) -> None:
    """Write the report of a fit with the patients' types of cancer."""
    metadata = {"patient": {known: M.coords[known].values for known in ("patient", "cancer")}}
    write_report(fitted.model, record.OUT / f"{name}.html", metadata=metadata, title=title)
