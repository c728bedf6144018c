"""What a fit found, for other tools: tables, a CP tensor, gene sets in a GMT file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_flag, check_mode, check_number
from tensorm.data.opening import need
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER, SURE, active
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import list_modes
from tensorm.sampler.noise_model import ACTIVITY, STRENGTH
from tensorm.storage.files import as_path, replace_file

if TYPE_CHECKING:
    import pandas as pd

INTERVAL_QUANTILES = 0.05, 0.95
NEEDED = {  # settings that give a fit such a parameter
    STRENGTH: 'noise="strengths"',
    ACTIVITY: 'noise="strengths", background="activity"',
}


def list_members(posterior: Posterior, threshold: float = MEMBER) -> pd.DataFrame:
    """Return the members of each component as a table; see ``TensOrMachine.members``."""
    pandas = need("pandas", "Tables", "pandas")
    check_number("threshold", threshold)
    rows = []
    for l in np.flatnonzero(active(posterior.factors)).tolist():  # others cover no cell
        for mode in list_modes(posterior):
            p, labels = mode.means[:, l], np.arange(len(mode.means)) if mode.labels is None else mode.labels
            rows += [(mode.name, labels[n], l, p[n], p[n] > SURE) for n in mode.members(l, threshold)]
    table = pandas.DataFrame(rows, columns=["mode", "label", "component", "probability", "sure"])
    return table.astype({"component": np.int64, "probability": np.float64, "sure": np.bool_})


def list_strengths(posterior: Posterior) -> pd.DataFrame:
    """Return the strength of each component as a table; nothing but the prior says that of an empty one."""
    table = _tabulate(posterior, STRENGTH).rename_axis("component")
    return table.assign(empty=~active(posterior.factors))


def list_activities(posterior: Posterior) -> pd.DataFrame:
    """Return the activity of each index of each mode as a table, the most active first."""
    table = _tabulate(posterior, ACTIVITY)
    labels = [
        label
        for names, size in zip(posterior.labels, posterior.shape, strict=True)
        for label in (range(size) if names is None else names)
    ]
    table.insert(0, "mode", np.repeat(np.array(posterior.modes, object), posterior.shape))
    table.insert(1, "label", np.array(labels, object))
    return table.sort_values(["mode", "mean"], ascending=[True, False], kind="stable", ignore_index=True)


def _tabulate(posterior: Posterior, field: str) -> pd.DataFrame:
    """Return a noise parameter as a table; a fit without it has no such attribute."""
    try:
        return need("pandas", "Tables", "pandas").DataFrame(summarise_parameter(posterior, field))
    except InputError as error:
        raise AttributeError(str(error)) from None


def summarise_parameter(posterior: Posterior, field: str) -> dict[str, Any]:
    """Return posterior mean and 90% interval of a noise parameter with many numbers."""
    if field not in posterior.noise:
        raise InputError(f"This fit has no {field}; fit with {NEEDED[field]}.")
    draws = np.concatenate([trace.noise_fields[field] for trace in posterior.traces])
    low, high = np.quantile(draws, INTERVAL_QUANTILES, axis=0)
    return {"mean": draws.mean(axis=0), "low": low, "high": high}


def to_networkx(posterior: Posterior, threshold: float = MEMBER) -> Any:
    """Return who is in which component as a graph; see ``TensOrMachine.to_networkx``."""
    networkx = need("networkx", "Graphs", '"tensorm[network]"')
    check_number("threshold", threshold)
    graph = networkx.Graph()
    for l in range(posterior.n_components):
        graph.add_node(("component", l), kind="component", bipartite=1)
    for mode in list_modes(posterior):
        for n, p in enumerate(mode.means):
            graph.add_node((mode.name, mode.label(n)), kind=mode.name, bipartite=0)
            found = np.flatnonzero(p > threshold).tolist()
            graph.add_edges_from(
                ((mode.name, mode.label(n)), ("component", l), {"weight": float(p[l])}) for l in found
            )
    return graph


def to_anndata(posterior: Posterior, adata: Any = None) -> Any:
    """Return the memberships as an AnnData object; see ``TensOrMachine.to_anndata``."""
    anndata, pandas = need("anndata", "AnnData objects", '"tensorm[bio]"'), need("pandas", "Tables", "pandas")
    modes = list_modes(posterior)
    names = [[mode.label(n) for n in range(len(mode.means))] for mode in modes]
    if adata is None:
        obs, var = (pandas.DataFrame(index=labels) for labels in names[:2])
        adata = anndata.AnnData(obs=obs, var=var)
    elif not isinstance(adata, anndata.AnnData) or adata.shape != posterior.shape[:2]:
        found = (
            f"of shape {adata.shape}" if isinstance(adata, anndata.AnnData) else f"a {type(adata).__name__}"
        )
        raise InputError(
            f"adata is {found}; give an AnnData object of shape {posterior.shape[:2]}, as in fit."
        )
    adata.obsm["X_tensorm"], adata.varm["tensorm"] = modes[0].means.copy(), modes[1].means.copy()
    adata.uns["tensorm"] = {
        "modes": list(posterior.modes),
        "noise": {name: float(np.mean(value)) for name, value in posterior.noise.items()},
        "factors": {mode.name: mode.means.copy() for mode in modes[2:]},
    }
    return adata


def to_tensorly(posterior: Posterior, rounded: bool = False) -> Any:
    """Return the factors as a tensorly ``CPTensor``; see ``TensOrMachine.to_tensorly``."""
    tensorly = need("tensorly", "CP tensors", "tensorly")
    from tensorly.cp_tensor import CPTensor

    check_flag("rounded", rounded)
    means = [(mean > MEMBER).astype(np.float64) if rounded else mean for mean in posterior.factors]
    weights = tensorly.tensor(np.ones(posterior.n_components))
    return CPTensor((weights, [tensorly.tensor(mean) for mean in means]))


def write_gmt(
    posterior: Posterior, path: str | os.PathLike[str], mode: str | int, threshold: float = MEMBER
) -> None:
    """Write the members of each component in one mode to a GMT file; see ``TensOrMachine.write_gmt``."""
    check_number("threshold", threshold)
    fitted = list_modes(posterior)[check_mode(mode, posterior.modes)]
    labels = range(len(fitted.means)) if fitted.labels is None else fitted.labels
    names = list(map(str, labels))
    for name in names:
        if not name.strip() or len(name.splitlines()) > 1 or "\t" in name:
            wanted = "a GMT file needs labels that are not blank, without tabs and line breaks"
            raise InputError(f"{fitted.name!r} has the label {name!r}; {wanted}.")
    lines = []
    for l, probabilities in enumerate(fitted.means.T):
        members = [names[n] for n in np.flatnonzero(probabilities > threshold)]
        about = f"{' '.join(fitted.name.split())} with probability above {threshold:g}"
        if members:
            lines.append("\t".join([f"component_{l}", about, *members]) + "\n")
    replace_file(as_path(path), "".join(lines).encode(errors="backslashreplace"))
