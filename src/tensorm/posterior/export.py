"""What a fit found, for other tools: a table of members, a CP tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_number
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER, SURE
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import read_modes

if TYPE_CHECKING:
    import pandas as pd


def list_members(posterior: Posterior, threshold: float = MEMBER) -> pd.DataFrame:
    """Return the members of each component as a table; see ``TensOrMachine.members``."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError("A table needs pandas, which is not installed: pip install pandas.") from error
    check_number("threshold", threshold)
    rows = []
    for l in range(posterior.n_components):
        for mode in read_modes(posterior):
            p = mode.means[:, l]
            labels = np.arange(len(p)) if mode.labels is None else mode.labels
            rows += [(mode.name, labels[n], l, p[n], p[n] > SURE) for n in mode.members(l, threshold)]
    table = pd.DataFrame(rows, columns=["mode", "label", "component", "probability", "sure"])
    return table.astype({"component": np.int64, "probability": np.float64, "sure": np.bool_})


def to_tensorly(posterior: Posterior, rounded: bool = False) -> Any:
    """Return the factors as a tensorly ``CPTensor``; see ``TensOrMachine.to_tensorly``."""
    try:
        import tensorly
        from tensorly.cp_tensor import CPTensor
    except ImportError as error:
        wanted = "pip install tensorly"
        raise InputError(f"A CPTensor needs tensorly, which is not installed: {wanted}.") from error
    means = [(mean > MEMBER).astype(np.float64) if rounded else mean for mean in posterior.factors]
    weights = tensorly.tensor(np.ones(posterior.n_components))
    return CPTensor((weights, [tensorly.tensor(mean) for mean in means]))
