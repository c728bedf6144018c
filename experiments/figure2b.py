"""Fig. 2b: posterior predictive, factor means and MAP against Boolean ALS, and where the margin comes from.

    python -m experiments.figure2b --quick | --full

Rank 10. M1, from better factors: MAP minus ALS (DBTF start). M2, from averaging over the posterior:
predictive minus MAP. The trials are those of Fig. 2a.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.grid import measure_grid
from experiments.record import Row, average, claims, drawing, markdown, mean, options, show, write_section

LABELS = {
    "ours": "predictive",
    "mean": "mean",
    "map": "MAP",
    "als": "ALS, our start",
    "dbtf": "ALS, DBTF start",
}


def tabulate(trials: Sequence[Row]) -> list[Row]:
    """Return test accuracies and both margins for each noise."""
    table = []
    for row in average(trials, ["noise"], [f"{name} test" for name in LABELS]):
        line: Row = {"noise": row["noise"]} | {LABELS[name]: row[f"{name} test"] for name in LABELS}
        line["M1"] = line["MAP"] - line["ALS, DBTF start"]
        line["M2"] = line["predictive"] - line["MAP"]
        table.append(line)
    return table


def compare(table: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Return the paper's statements about the figure and our measurements."""
    quiet, noisy = [row for row in table if row["noise"] < 0.3], table[-1]
    most = max(abs(row["M2"]) for row in quiet)
    m1, m2 = mean(table, "M1"), mean(table, "M2")
    gap = max(abs(row["predictive"] - row["mean"]) for row in table if row["noise"] <= 0.3)
    return [
        ("averaging has virtually no impact below 30% noise", f"M2 at most {most:.4f} there", most < 0.005),
        (
            "it matters at high noise",
            f"M2 is {noisy['M2']:+.4f} at {noisy['noise']:.0%}",
            noisy["M2"] > 0.005,
        ),
        ("most of the gain is due to better factors", f"mean M1 {m1:+.4f}, mean M2 {m2:+.4f}", m1 > m2),
        (
            "factor means predict as well as the predictive",
            f"largest difference {gap:.4f} up to 30% noise, "
            f"{noisy['predictive'] - noisy['mean']:+.4f} at {noisy['noise']:.0%}",
            gap < 0.01 and abs(noisy["predictive"] - noisy["mean"]) < 0.01,
        ),
    ]


def draw(table: Sequence[Row]) -> None:
    """Draw accuracy over noise for each kind of reconstruction."""
    with drawing("figure2b", 1, width=5) as (ax,):
        for label in LABELS.values():
            ax.plot([row["noise"] for row in table], [row[label] for row in table], "o-", label=label)
        ax.set(xlabel="noise", ylabel="accuracy on noise-free cells")
        ax.legend(frameon=False, fontsize=8)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Kinds of reconstruction, against ALS."""
    table = tabulate(measure_grid(2 if quick else 10, jobs, fresh, ranks=(10,)))
    show("figure2b", table)
    draw(table)
    write_section(
        "figure2b",
        "![accuracy of each kind of reconstruction](figures/figure2b.png)",
        markdown(table),
        claims(compare(table)),
    )


if __name__ == "__main__":
    main()
