"""Fig. 2b: posterior predictive, factor means and MAP against Boolean ALS, and where the margin comes from.

    python -m experiments.figure2b --quick | --full

Rank 10. M1, from better factors: MAP minus ALS (DBTF start). M2, from averaging over the posterior:
predictive minus MAP. *MAP* takes the more probable value of each entry, *joint MAP* the most probable draw.
The trials are those of Fig. 2a.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from experiments.grid import LABELS, measure_grid
from experiments.record import Row, average, drawing, markdown, options, show, write_section
from experiments.verdicts import AHEAD, LEVEL, Claim, Lead, claims, lead

RECONSTRUCTIONS = {"test": "predictive", "mean test": "mean", "map test": "MAP", "joint test": "joint MAP"}
FITS = ("published", "ours")
HIGH = 0.3  # the paper's moderate noise is below


def tabulate(tensors: Sequence[Row], fit: str) -> list[Row]:
    """Return test accuracies and both margins for each noise."""
    table = []
    for noise in sorted({row["noise"] for row in tensors}):
        mine = [row for row in tensors if row["noise"] == noise]
        (means,) = average(
            mine, ["noise"], [*(f"{fit} {kind}" for kind in RECONSTRUCTIONS), "dbtf test", "constant test"]
        )
        line: Row = {"noise": noise} | {
            name: means[f"{fit} {kind}"] for kind, name in RECONSTRUCTIONS.items()
        }
        line |= {"ALS, DBTF start": means["dbtf test"], "constant": means["constant test"]}
        line |= {
            "M1": str(lead(mine, f"{fit} map test", "dbtf test")),
            "M2": str(lead(mine, f"{fit} test", f"{fit} map test")),
        }
        table.append(line)
    return table


def compare(tensors: Sequence[Row], fit: str) -> list[Claim]:
    """Return the paper's statements about the figure and our measurements."""
    noises = sorted({row["noise"] for row in tensors})
    at = {noise: [row for row in tensors if row["noise"] == noise] for noise in noises}
    averaging = {noise: lead(rows, f"{fit} test", f"{fit} map test") for noise, rows in at.items()}
    quiet = {noise: one for noise, one in averaging.items() if noise < HIGH}
    factors, both = (
        lead(tensors, f"{fit} map test", "dbtf test"),
        lead(tensors, f"{fit} test", f"{fit} map test"),
    )
    name, last = LABELS[fit], noises[-1]
    return [
        Claim(
            "averaging has virtually no impact below 30% noise",
            name,
            "M2 " + ", ".join(f"{one} at {noise:.0%}" for noise, one in quiet.items()),
            all(one.judge() == LEVEL for one in quiet.values()),
        ),
        Claim(
            "averaging matters at high noise",
            name,
            f"M2 {averaging[last]} at {last:.0%}",
            averaging[last].judge() == AHEAD,
        ),
        Claim(
            "most of the gain is due to better factors",
            name,
            f"over all noises M1 {factors}, M2 {both}",
            factors.judge() == AHEAD
            and Lead(factors.mean - both.mean, factors.error + both.error).judge() == AHEAD,
        ),
        on_par(at, "factor means predict as well as the predictive", fit, "test", "mean test"),
        on_par(
            at,
            "the joint MAP makes no relevant difference to the marginal MAP",
            fit,
            "map test",
            "joint test",
        ),
    ]


def on_par(at: dict[float, list[Row]], paper: str, fit: str, first: str, second: str) -> Claim:
    """Whether two kinds of reconstruction are level at every noise, or so close that it does not matter."""
    found = {noise: lead(rows, f"{fit} {first}", f"{fit} {second}") for noise, rows in at.items()}
    largest = max(found, key=lambda noise: abs(found[noise].mean))
    (means,) = average(at[largest], ["noise"], [f"{fit} {first}", f"{fit} {second}"])
    a, b = (means[f"{fit} {kind}"] for kind in (first, second))
    text = f"largest difference {found[largest]} at {largest:.0%} noise: {a:.4f} against {b:.4f}"
    return Claim(paper, LABELS[fit], text, all(one.judge() == LEVEL for one in found.values()))


def draw(tables: dict[str, list[Row]]) -> None:
    """Draw accuracy over noise for each kind of reconstruction."""
    with drawing("figure2b", len(tables), width=9) as axes:
        for ax, (fit, table) in zip(axes, tables.items(), strict=True):
            for label in (*RECONSTRUCTIONS.values(), "ALS, DBTF start", "constant"):
                style = {"ls": ":", "color": "0.5"} if label == "constant" else {"marker": "o"}
                ax.plot([row["noise"] for row in table], [row[label] for row in table], label=label, **style)
            ax.set(xlabel="noise", title=LABELS[fit], ylim=(0.5, 1.01))
        axes[0].set_ylabel("accuracy on noise-free cells")
        axes[0].legend(frameon=False, fontsize=8)


@options
@click.option("--tensors", "number", default=10, help="Tensors of each configuration, if not a sample.")
def main(quick: bool, fresh: bool, jobs: int, number: int) -> None:
    """Kinds of reconstruction, against ALS."""
    number = 1 if quick else number
    tensors = measure_grid(number, jobs, fresh, ranks=(10,))
    tables = {fit: tabulate(tensors, fit) for fit in FITS}
    for fit, table in tables.items():
        show(f"figure2b-{fit}", table)
    draw(tables)
    write_section(
        "figure2b",
        f"{len(tensors)} tensors, {len(tensors) // 5} for each noise.",
        "![accuracy of each kind of reconstruction](figures/figure2b.png)",
        *(part for fit, table in tables.items() for part in (f"{LABELS[fit]}:", markdown(table))),
        claims([claim for fit in FITS for claim in compare(tensors, fit)]),
    )


if __name__ == "__main__":
    main()
