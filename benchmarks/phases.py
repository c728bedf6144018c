"""Where the time of a whole fit goes, phase by phase, for this version and any other.

    python -m benchmarks.phases                                   # all cases but the largest
    python -m benchmarks.phases --cases 20^3,1000^2 --against OTHER/src --repeats 3

Each case runs in a process of its own, first a short fit that compiles everything, then the fit that counts,
with one thread and the default settings. A second thread looks at the stack of the fit every few milliseconds
and books the processor time since its last look under the phase whose function it sees, so that nothing has
to be changed in the version that is measured. With another version the two take turns, the best of the
repeats counts, and the last column is the whole time (fit and after) relative to it.

*noise* and *number* are what `noise="auto"` and `n_components="auto"` take; *start* and *repairs* look for
components; *records* collects draws, aligns chains and weighs them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np

HERE = Path(__file__).parents[1] / "src"
EVERY = 0.003  # seconds between two looks
FUNCTIONS = {  # of all versions so far; the outermost on the stack names the phase, the main thread's first
    "choose_noise": "noise", "choose_number": "number", "choose_by_posterior": "number",
    "begin": "start", "repair": "repairs", "heat": "heating",
    "sweep": "sweeps", "record": "records", "trace": "records", "from_traces": "records",
    "diagnostics_": "diagnostics", "predict": "predict", "save": "save", "report": "report",
    "write_report": "report",
}  # fmt: skip
PHASES = ["noise", "number", "start", "repairs", "heating", "burn-in", "draws", "records", "other"]
AFTER = ["diagnostics", "predict", "save", "report"]


def planted(shape: tuple[int, ...], rank: int, noise: float = 0.1) -> np.ndarray:
    """Return a simulated tensor whose ones are a fifth of the cells or fewer."""
    from tensorm import datasets

    share = 1 - 0.8 ** (1 / rank)
    density = share ** (1 / len(shape))
    return np.asarray(datasets.simulate(shape, rank, density, noise, random_state=1).observed)


def listed(shape: tuple[int, ...], n_ones: int) -> Any:
    """Return a sparse tensor with 20 blocks and 1% of the ones anywhere."""
    from benchmarks.sparse import build, plant

    return build(plant(shape, n_ones)[0], shape)


def comparisons(patients: int, attributes: int) -> Any:
    """Return comparisons of simulated measurements with a few groups of objects and attributes."""
    import tensorm

    rng = np.random.default_rng(1)
    values = rng.normal(size=(patients, attributes))
    for _ in range(8):
        values[np.ix_(rng.random(patients) < 0.2, rng.random(attributes) < 0.1)] += 2
    return tensorm.RelationalTensor(values)


def hospital() -> Any:
    from tensorm import datasets

    return datasets.hospital()


CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "20^3, 5": (lambda: planted((20,) * 3, 5), {"n_components": 5}),
    "hospital, 30": (hospital, {"n_components": 30}),
    "hospital, auto": (hospital, {"n_components": "auto"}),
    "100^3, 20": (lambda: planted((100,) * 3, 20), {"n_components": 20}),
    "300^3, 20": (lambda: planted((300,) * 3, 20), {"n_components": 20}),
    "1000^2, 30": (lambda: planted((1000,) * 2, 30), {"n_components": 30}),
    "50^4, 10": (lambda: planted((50,) * 4, 10), {"n_components": 10}),
    "1000 x 200 comparisons, 10": (lambda: comparisons(1000, 200), {"n_components": 10}),
    "sparse 30000 x 30000 x 100, 12": (
        lambda: listed((30_000, 30_000, 100), 10**6),
        {"n_components": 12},
    ),
    "sparse 10^5 x 10^5 x 100, 20": (lambda: listed((10**5, 10**5, 100), 10**6), {"n_components": 20}),
}
LARGE = {"sparse 10^5 x 10^5 x 100, 20"}


class Watcher:
    """Books processor time under phases while a block of code runs."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._drawing = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        mine, last = threading.get_ident(), time.process_time()
        while not self._over.wait(EVERY):
            stacks = sys._current_frames()
            stacks = {thread: stacks[thread] for thread in (threading.main_thread().ident, *stacks)}
            seen = (self._phase(frame) for thread, frame in stacks.items() if thread != mine)
            phase = next(filter(None, seen), "other")
            now = time.process_time()
            self.spent[phase], last = self.spent[phase] + now - last, now

    def _phase(self, frame: FrameType | None) -> str | None:
        names = [name for name in callers(frame) if name in FUNCTIONS]
        found = FUNCTIONS[names[-1]] if names else None
        self._drawing |= found == "records"  # what is swept before the first draw is recorded is burn-in
        return found if found != "sweeps" else "draws" if self._drawing else "burn-in"


def callers(frame: FrameType | None) -> Iterator[str]:
    """Yield the functions of the package on a stack, from the innermost to the outermost."""
    while frame is not None:
        if "tensorm" in frame.f_code.co_filename:
            yield frame.f_code.co_name
        frame = frame.f_back


def measure(case: str) -> dict[str, float]:
    """Fit once with everything compiled, and use the fit; return processor seconds by phase."""
    from tensorm import TensOrMachine

    make, settings = CASES[case]
    X, settings = make(), settings | {"n_jobs": 1, "progress": False, "random_state": 0}
    with tempfile.TemporaryDirectory() as folder:
        brief = {"n_chains": 2, "n_draws": 20} | (
            {"burn_in": 20} if settings["n_components"] != "auto" else {}
        )
        use(TensOrMachine(**settings | brief).fit(X), folder)
        with Watcher() as watcher:
            use(TensOrMachine(**settings).fit(X), folder)
    return {name: watcher.spent[name] for name in [*PHASES, *AFTER]}


def use(model: Any, folder: str) -> None:
    """Do what people do with a fit."""
    model.summary()
    if np.prod(model.shape_ if hasattr(model, "shape_") else model.posterior_.shape) < 10**8:
        model.predict()
    model.save(f"{folder}/fit.{'tensorm' if hasattr(model, 'report') else 'nc'}")
    if hasattr(model, "report"):
        model.report(f"{folder}/page.html")
    else:  # version 0.1
        from tensorm.report import write_report

        write_report(model, f"{folder}/page.html")


def run(source: str, case: str) -> dict[str, float]:
    """Measure a case with the version in a folder."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.phases", "--measure", case]
    path = {"PYTHONPATH": source}
    done = subprocess.run(
        command, env=os.environ | threads | path, cwd=HERE.parent, check=True, stdout=subprocess.PIPE
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def row(case: str, spent: dict[str, float], before: float | None) -> str:
    """Return a row of the table."""
    fit, after = (sum(spent[name] for name in names) for names in (PHASES, AFTER))
    shares = [f"{100 * spent[name] / fit:.0f}" for name in PHASES]
    later = [f"{spent[name]:.2f}" for name in AFTER]
    ratio = [] if before is None else [f"{(fit + after) / before:.2f}"]
    return f"| {' | '.join([case, f'{fit:.2f}', *shares, *later, *ratio])} |"


@click.command()
@click.option(
    "--cases", default="", help="Beginnings of names, separated by semicolons; all but the largest."
)
@click.option("--against", default=None, help="The src folder of another version.")
@click.option("--repeats", default=1)
@click.option("--measure", "alone", default=None, hidden=True)
def main(cases: str, against: str | None, repeats: int, alone: str | None) -> None:
    """Print a row for each case and version: seconds of a fit, shares in %, and seconds after it."""
    if alone:
        print(json.dumps(measure(alone)))
        return
    names = ["case", "fit, s", *(f"{name}, %" for name in PHASES), *(f"{name}, s" for name in AFTER)]
    names += ["relative"] if against else []
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    chosen = [case for case in CASES if any(map(case.startswith, filter(None, cases.split(";"))))]
    for case in chosen or [case for case in CASES if case not in LARGE]:
        versions = [source for source in (against, str(HERE)) if source]
        runs = [[run(source, case) for source in versions] for _ in range(repeats)]
        best = [min(found, key=lambda spent: sum(spent.values())) for found in zip(*runs, strict=True)]
        for source, spent in zip(versions, best, strict=True):
            title = f"{case}, before" if source == against else case
            print(row(title, spent, sum(best[0].values()) if against else None), flush=True)


if __name__ == "__main__":
    main()
