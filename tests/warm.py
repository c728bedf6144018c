"""What the server that forks (forking.py) imports, so that its children start at once, compiled."""

from __future__ import annotations

import killable
import tensorm
from hostile import races

QUICK = {"n_draws": 2, "effort": 0.1, "n_jobs": 1, "random_state": 0, "progress": False}
for cells in (killable.X, races.make_cells(0)):
    tensorm.TensOrMachine(2, noise="asymmetric", **QUICK).fit(cells)
