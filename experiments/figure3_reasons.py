"""Why the paper's own rules choose worse numbers here than in its Fig. 3: one thing is changed at a time.

    python -m experiments.figure3_reasons --quick | --full

The razor may start from components found in the data, take the likeliest of ten chains, or also remove the
components that do not raise the likelihood; cross-validation may start from the data. Their rival, MDL, may
take components of Boolean ALS from one start instead of the best of 20.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy import Cell
from benchmarks.selection import CANDIDATES, NOISES, describe_als
from experiments.figure3 import MARGIN, RANKS
from experiments.grid import SEEDED
from experiments.record import Bits, Row, markdown, mean, options, run, show, write_section
from experiments.verdicts import AHEAD, LEVEL, lead
from tensorm import TensOrMachine, select_components
from tensorm.tensors import DenseTensor

PLAIN, FROM_DATA = "as published", "start from data"
TEN, USEFUL = "likeliest of ten chains", "useless components removed, too"
BOTH = "useless components removed, start from data"
RIVAL, WEAK = "MDL of ALS, best of 20 starts", "MDL of ALS, one start"
FULL_RANKS, FULL_DENSITIES = (2, 4, 6, 8, 10), (0.1, 0.3, 0.5)


def choose(X: Bits, seed: int, method: str, chains: int = 1, **changes: Any) -> int:
    """Return the number that one of the paper's rules chooses with one thing changed."""
    machine = TensOrMachine.as_published(**changes)
    settings = {"n_repeats": chains, "n_jobs": 1, "random_state": seed, "progress": False}
    return select_components(X, method, CANDIDATES, estimator=machine, **settings).best


def useful(X: Bits, factors: Sequence[Bits]) -> list[int]:
    """Return the components that raise the likelihood; the others are taken out one by one, the worst first.

    With an error rate below one half, these cover more ones than zeros that no other component covers.
    """
    kept = list(range(factors[0].shape[1]))
    while kept:
        covered = [np.einsum("i,j,k->ijk", *(mode[:, n] for mode in factors)) for n in kept]
        alone = np.sum(covered, axis=0, dtype=int) == 1
        gains = [int(np.where(X[cells & alone], 1, -1).sum()) for cells in covered]
        if min(gains) > 0:
            break
        kept.pop(int(np.argmin(gains)))
    return kept


def prune_useless(X: Bits, seed: int, **changes: Any) -> int:
    """Burn in and remove components that do not raise the likelihood, until all of them do."""
    left, start = CANDIDATES[-1], changes
    while True:
        settings = {"n_draws": 1, "n_jobs": 1, "random_state": seed, "progress": False, **start}
        model = TensOrMachine.as_published(left, **settings).fit(X)
        factors = [np.asarray(factor) > 0.5 for factor in model.factors_]
        kept = useful(X, factors)
        if len(kept) in (0, left):
            return max(len(kept), 1)
        left, start = len(kept), {"init": [factor[:, kept].astype(float) for factor in factors]}


RULES: dict[str, dict[str, Callable[[Bits, int], int]]] = {
    "Occam's razor": {
        PLAIN: lambda X, seed: choose(X, seed, "occam-published"),
        FROM_DATA: lambda X, seed: choose(X, seed, "occam-published", **SEEDED),
        TEN: lambda X, seed: choose(X, seed, "occam-published", 10),
        USEFUL: lambda X, seed: prune_useless(X, seed),
        BOTH: lambda X, seed: prune_useless(X, seed, **SEEDED),
    },
    "cross-validation": {
        PLAIN: lambda X, seed: choose(X, seed, "cv-published"),
        FROM_DATA: lambda X, seed: choose(X, seed, "cv-published", **SEEDED),
    },
    "MDL": {
        RIVAL: lambda X, seed: describe_als(DenseTensor(X), seed),
        WEAK: lambda X, seed: describe_als(DenseTensor(X), seed, 1),
    },
}


def measure(rank: int, density: float, noise: float, number: int, rule: str, change: str) -> Row:
    """Return the relative error of one rule with one change on one tensor."""
    X = Cell((20,) * 3, rank, density, noise).simulate(number).observed
    chosen = RULES[rule][change](X, number)
    return {"chosen": chosen, "error": abs(chosen - rank) / rank}


def tabulate(trials: Sequence[Row]) -> list[Row]:
    """Return relative errors by noise, and the lead over MDL from the same tensors."""
    mdl = [row["error"] for row in trials if row["change"] == RIVAL]
    weak = [row["error"] for row in trials if row["change"] == WEAK]
    table = []
    for rule, changes in RULES.items():
        for change in changes:
            mine = [row for row in trials if (row["rule"], row["change"]) == (rule, change)]
            line: Row = {"rule": rule, "change": change}
            for noise in sorted({row["noise"] for row in mine}):
                line[f"{noise:.0%}"] = f"{mean([row for row in mine if row['noise'] == noise], 'error'):.3f}"
            line["mean"] = f"{mean(mine, 'error'):.3f}"
            for title, rival in (("ahead of MDL, best of 20", mdl), ("ahead of MDL, one start", weak)):
                both = [{"a": a, "b": row["error"]} for a, row in zip(rival, mine, strict=True)]
                line[title] = str(lead(both, "a", "b")) if rule != "MDL" else ""
            table.append(line)
    return table


def conclude(trials: Sequence[Row]) -> str:
    """Return with which changes each rule is ahead of MDL, or level with it, and its errors without noise."""
    said = []
    for rule in ("Occam's razor", "cross-validation"):
        clean = []
        words: dict[tuple[str, str], list[str]] = {}
        for change in RULES[rule]:
            mine = [row for row in trials if (row["rule"], row["change"]) == (rule, change)]
            clean.append(f"*{change}* {mean([row for row in mine if row['noise'] == 0], 'error'):.3f}")
            for rival in (RIVAL, WEAK):
                theirs = [row for row in trials if row["change"] == rival]
                both = [{"a": a["error"], "b": row["error"]} for a, row in zip(theirs, mine, strict=True)]
                words.setdefault((rival, lead(both, "a", "b").judge(MARGIN)), []).append(change)
        told = [
            f"{word} {'of' if word == AHEAD else 'with'} {rival}: "
            f"{', '.join(f'*{one}*' for one in words.get((rival, word), [])) or 'none'}"
            for rival in (RIVAL, WEAK)
            for word in (AHEAD, LEVEL)
        ]
        said.append(f"- **{rule}** is {'; '.join(told)}. Errors without noise: {', '.join(clean)}.")
    return "\n".join(said)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Variations of the paper's rules for the number of components."""
    ranks, densities = (RANKS, (0.1, 0.3)) if quick else (FULL_RANKS, FULL_DENSITIES)
    work = [
        {"rank": rank, "density": density, "noise": noise, "number": 0, "rule": rule, "change": change}
        for rule, changes in RULES.items()
        for change in changes
        for rank, density, noise in itertools.product(ranks, densities, NOISES)
    ]
    trials = run("figure3_reasons", measure, work, jobs, fresh)
    table = tabulate(trials)
    show("figure3_reasons", table)
    tensors = len(trials) // sum(map(len, RULES.values()))
    write_section(
        "figure3_reasons",
        f"{tensors} tensors; relative error by noise, and the difference to MDL on the same tensors with its "
        "standard error (positive: the rule is better).",
        markdown(table),
        conclude(trials),
    )


if __name__ == "__main__":
    main()
