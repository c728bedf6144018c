"""Every public name, and good values for what it needs: ``hostile.api`` puts bad ones among them.

Public is what the reference pages name; of a module they name, everything in its ``__all__``. A class that is
new there fails until MADE can make one, and a required parameter until GOOD knows a value for its name.
"""

from __future__ import annotations

import atexit
import inspect
import pkgutil
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import distributed
import numpy as np
from click.testing import CliRunner

import tensorm
from tensorm import baselines, datasets
from tensorm.cli import main
from tensorm.posterior.contributions import Contributions
from tensorm.posterior.top_cells import TopCells
from tensorm.report import associations, describe
from tensorm.report.describe import Sentences

RETURNED = (Contributions, Sentences, TopCells)  # without an entry in the pages
PAGES = Path(__file__).parents[2] / "docs" / "api"
QUICK: dict[str, Any] = {
    "noise": "asymmetric",
    "n_components": 2,
    "n_chains": 1,
    "n_draws": 4,
    "burn_in": 2,
    "random_state": 0,
}
STRONG = QUICK | {"noise": "strengths"}
INSIDE = {  # what the reference pages do not show (docs/api/data.md), and constructors of results
    *(
        "update_factor",
        "update_all",
        "update_tied",
        "counts",
        "confusion",
        "times_counted",
        "cached",
        "compact",
        "arrays",
    ),
    *("from_arrays", "from_cells", "from_listed", "of_layout", "miniature", "choose_mask", "split", "tied"),
    *("split_listed", "sample_ones", "sample_slices", "ones_at", "known_keys", "listed_keys", "digest"),
    *("digest_slices", "check_mirrored", "with_threads", "ranked", "compared", "find_known"),
    *("sample_observed", "predict_observed", "choose_part"),
    *("from_traces", "measure", "count_contributions", "member_factors", "beside", "note"),
    *("fingerprint", "check_tensor", "get_metadata_routing"),
    *("set_output", "set_fit_request", "set_predict_request", "set_predict_proba_request"),
    *("set_transform_request", "set_score_request", "get_params", "set_params"),  # scikit-learn's own
    *(*dir(list), *dir(tuple)),  # Python's own
}


@cache
def list_public() -> dict[str, Any]:
    """Return every public function and class by name, without the errors."""
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md")))
    found: dict[str, Any] = {kind.__name__: kind for kind in RETURNED}
    for path in re.findall(r"^::: (\S+)$", pages, re.MULTILINE):
        thing = pkgutil.resolve_name(path)
        names = thing.__all__ if isinstance(thing, ModuleType) else [path.rpartition(".")[2]]
        found |= {name: getattr(thing, name, thing) for name in names}
    return {name: thing for name, thing in found.items() if not _is_error(thing)}


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def list_verbs(kind: type) -> list[str]:
    """Return the public methods of a class."""
    return [
        verb
        for verb, _ in inspect.getmembers(kind, callable)
        if not verb.startswith("_") and verb not in INSIDE
    ]


@cache
def cells() -> Any:
    return datasets.simulate((5, 4, 4), rank=2, noise=0.05, random_state=0).observed


@cache
def model() -> tensorm.TensOrMachine:
    return tensorm.TensOrMachine(**QUICK, progress=False).fit(cells())


@cache
def strong() -> tensorm.TensOrMachine:
    return tensorm.TensOrMachine(**STRONG, progress=False).fit(cells())


@cache
def chosen() -> Any:
    return tensorm.select_components(cells(), candidates=[1, 2], n_repeats=1, progress=False)


@cache
def scored() -> Any:
    return tensorm.score_cells([0, 1], [0.2, 0.6])


@cache
def cluster() -> Any:
    """A cluster inside this process: without sockets, which are watched."""
    client = distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    atexit.register(client.close)
    return client


def shards() -> tensorm.DaskTensor:
    return tensorm.DaskTensor([cells()[:2], cells()[2:]], cluster())


def dask_table() -> Any:
    import dask.dataframe
    import pandas

    cluster()
    return dask.dataframe.from_pandas(pandas.DataFrame(np.argwhere(cells()), columns=[*"ijk"]), npartitions=1)


def dask_array() -> Any:
    import dask.array

    cluster()
    return dask.array.from_array(np.asarray(cells()), chunks=(2, 4, 4))


@cache
def store() -> Path:
    import zarr

    cluster()
    zarr.save_array(folder() / "cells.zarr", np.asarray(cells(), np.int8))
    return folder() / "cells.zarr"


@cache
def folder() -> Path:
    """A folder for whatever is written; it is removed in the end."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def run_folder() -> Path:
    """The folder of a finished fit by the command line."""
    table = folder() / "cells.csv"
    rows = "\n".join(",".join(map(str, cell)) for cell in np.argwhere(cells()))
    table.write_text(f"i,j,k\n{rows}\n")
    words = "--components 2 --chains 1 --draws 4 --burn-in 2 --quiet"
    CliRunner().invoke(main, ["fit", str(table), "--out", str(folder() / "run"), *words.split()])
    return folder() / "run"


GOOD: dict[str, Callable[[], Any]] = {  # of required parameters
    "X": cells,
    "array": cells,
    "self": model,
    "source": cells,
    "posterior": lambda: model().posterior_,
    "mode": lambda: 1,
    "index": lambda: 0,
    "component": lambda: 0,
    "indices": lambda: [[0, 0, 0]],
    "labels": lambda: [None] * 3,
    "mask": lambda: np.zeros(cells().shape, bool),
    "metadata": lambda: {0: list("aabbc")},
    "path": lambda: folder() / "new.out",
    "run_dir": run_folder,
    "run": lambda: "0" * 16,
    "folder": run_folder,
    "text": lambda: chosen().to_json(),
    "y_true": lambda: [0, 1],
    "p": lambda: [0.2, 0.6],
    "coords": lambda: [[0, 0], [1, 1]],
    "shape": lambda: (3, 3),
    "matrix": lambda: np.arange(12.0).reshape(4, 3),
    "first": lambda: 0,
    "compare_fits first": model,
    "second": model,
    "stop": lambda: 1,
    "q": lambda: 0.05,
    "explanation": lambda: 0,
    "unlisted": lambda: "zero",
    "parts": lambda: [cells()[:2], cells()[2:]],
    "table": dask_table,
    "DaskTensor.from_array array": dask_array,
    "DaskTensor.from_zarr path": store,
}

MADE: dict[str, Callable[[], Any]] = {
    "TensOrMachine": model,
    "Posterior": lambda: model().posterior_,
    "DenseTensor": lambda: tensorm.DenseTensor(cells()),
    "SparseTensor": lambda: tensorm.SparseTensor(np.nonzero(cells()), cells().shape),
    "RelationalTensor": lambda: tensorm.RelationalTensor(np.arange(12.0).reshape(4, 3)),
    "DaskTensor": shards,
    "Selection": chosen,
    "Associations": lambda: associations.associate(model().posterior_, {0: list("aabbc")}),
    "BooleanALS": lambda: baselines.BooleanALS(2, n_init=1, random_state=0, progress=False).fit(cells()),
    "WalkNMerge": lambda: baselines.WalkNMerge(random_state=0).fit(cells()),
    "Simulation": lambda: datasets.simulate(random_state=0),
    "WardTruth": datasets.ward_truth,
    "ScoredCells": scored,
    "Calibration": lambda: scored().calibration,
    "Comparison": lambda: tensorm.compare_fits(model(), model()),
    "Description": lambda: describe.describe_components(model().posterior_)[0],
    "ModeMembers": lambda: describe.describe_components(model().posterior_)[0].members[0],
    "Association": lambda: MADE["Associations"]().rows[0],
    "Diagnostics": lambda: model().diagnostics_,
    "Contributions": lambda: model().contributions_,
    "Sentences": lambda: model().describe(),
    "TopCells": lambda: model().top_cells(0, 0),
}
