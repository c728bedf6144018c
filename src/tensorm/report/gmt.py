"""The members of components as gene sets in a GMT file, a common format in biology."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tensorm.data.checks import check_mode, check_number
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import read_modes
from tensorm.storage.files import replace_file


def write_gmt(
    posterior: Posterior, path: str | os.PathLike[str], mode: str | int, threshold: float = MEMBER
) -> None:
    """Write the members of each component in one mode to a GMT file; see ``TensOrMachine.write_gmt``."""
    check_number("threshold", threshold)
    fitted = read_modes(posterior)[check_mode(mode, posterior.modes)]
    names = [fitted.label(n) for n in range(len(fitted.means))]
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
    replace_file(Path(path), "".join(lines).encode())
