"""Commands whose folders are closed to writing, or become so: run by ``test_closed.py`` in a child process.

Nothing is closed to root, so the child of root gives up the right to write everywhere.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import tensorm
from hostile.races import WORDS, make_cells
from tensorm.cli import main
from tensorm.sampler import chains

RIGHTS = "-dac_override,-dac_read_search"
SETTINGS = {
    "noise": "asymmetric",
    "n_components": 2,
    "n_chains": 1,
    "n_draws": 9,
    "burn_in": 3,
    "progress": False,
}
COMMANDS = (
    f"fit cells.npy --out closed {' '.join(WORDS)}",
    f"fit cells.npy --out closed/run {' '.join(WORDS)}",
    f"resume stopped {' '.join(WORDS[-1:])}",
    "select cells.npy --run-dir closed/chosen --candidates 1-2",
    "select cells.npy --run-dir closed --candidates 1-2",
    "select cells.npy --plot closed/plot.png --candidates 1-2 --quiet",
    "report run",
    "report run --out closed/page.html",
    "report fit.tensorm --out closed/page.html",
    "predict run --of 'mode 0' 0 --out closed/cells.csv",
    "members run --out closed/members.csv",
    "simulate --out closed/cells.npz",
    "datasets get ward --out closed/ward.nc",
)


def run_child(folder: Path) -> dict[str, tuple[int, str]] | None:
    """Try all in a child that is no root; None where root cannot be less than that."""
    before = [] if os.geteuid() else ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]
    if before and shutil.which("setpriv") is None:
        return None
    paths = os.pathsep.join(filter(None, sys.path))
    command = [*before, sys.executable, "-m", "hostile.closed", str(folder)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def try_commands(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the exit code of each command and what it says."""
    os.chdir(folder)
    np.save("cells.npy", make_cells(0))
    tensorm.TensOrMachine(**SETTINGS).fit(make_cells(0), run_dir="run").save("fit.tensorm")
    shutil.copytree("run", "stopped")
    Path("stopped/fit.tensorm").unlink()
    Path("closed").mkdir()
    for place in ("closed", "run", "stopped"):
        os.chmod(place, 0o500)
    found = {}
    for line in COMMANDS:
        done = CliRunner().invoke(main, shlex.split(line))
        error = done.exception if not isinstance(done.exception, SystemExit) else None
        found[line] = (-1, repr(error)) if error else (done.exit_code, done.output)
    for place in ("closed", "run", "stopped"):
        os.chmod(place, 0o700)
    return found


def close_in_the_midst(run: Path) -> str:
    """Close the folder of a run after its third checkpoint; return the error, and go on once it is open."""
    left, write = 3, tensorm.storage.checkpoints.Checkpoints.write

    def write_and_close(self, number: int, snapshot: chains.Snapshot) -> None:
        nonlocal left
        write(self, number, snapshot)
        left -= 1
        if not left:
            os.chmod(run, 0o500)

    tensorm.storage.files.Due.__call__ = lambda self, chain: True
    tensorm.storage.checkpoints.Checkpoints.write = write_and_close
    settings = SETTINGS | {"random_state": 1}
    try:
        tensorm.TensOrMachine(**settings).fit(make_cells(0), run_dir=run)
    except tensorm.FileError as error:
        told = str(error)
    os.chmod(run, 0o700)
    assert not list(run.glob(".*.part"))
    resumed = tensorm.resume(run, progress=False).posterior_.chains[0]
    whole = tensorm.TensOrMachine(**settings).fit(make_cells(0)).posterior_.chains[0]
    np.testing.assert_array_equal(resumed.log_posterior, whole.log_posterior)
    return told


if __name__ == "__main__":
    place = Path(sys.argv[1])
    outcomes = try_commands(place)
    outcomes["in the midst"] = (2, f"Error: {close_in_the_midst(place / 'midst')}\n")
    print(json.dumps(outcomes))
