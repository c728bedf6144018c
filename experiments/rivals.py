"""All rivals on 18 configurations of random tensors: accuracy against the noise-free tensor, and time.

    python -m experiments.rivals --quick    # one tensor each
    python -m experiments.rivals --full     # ten

Defaults everywhere, with the planted rank as the number of components. Walk'n'Merge is run at three density
thresholds, and the shortest description is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.grid import FITS, LABELS, measure_tensors
from experiments.record import Row, drawing, markdown, mean, options, show, spread, write_section

CONFIGURATIONS = (
    *((rank, density, noise) for rank in (5, 10) for density in (0.1, 0.3) for noise in (0.0, 0.1, 0.2)),
    *((10, 0.5, 0.1), (10, 0.7, 0.1), (10, 0.3, 0.3), (10, 0.3, 0.4), (5, 0.5, 0.3), (5, 0.7, 0.1)),
)


def tabulate(tensors: Sequence[Row], methods: Sequence[str]) -> list[Row]:
    """Return mean accuracies of each configuration, the best rival, and our lead."""
    table = []
    for rank, density, noise in CONFIGURATIONS:
        mine = [
            row for row in tensors if (row["rank"], row["density"], row["noise"]) == (rank, density, noise)
        ]
        if not mine:
            continue
        line: Row = {"configuration": f"L{rank} d{density} n{noise:g}"}
        line |= {LABELS[name]: mean(mine, f"{name} test") for name in methods}
        best = max((name for name in methods if name != "ours"), key=lambda name: mean(mine, f"{name} test"))
        ahead = [{"ahead": row["ours test"] - row[f"{best} test"]} for row in mine]
        line |= {"best rival": LABELS[best], "ahead": mean(ahead, "ahead"), "±": spread(ahead, "ahead")}
        table.append(line)
    return table


def judge(table: Sequence[Row], tensors: Sequence[Row], methods: Sequence[str]) -> list[str]:
    """Return sentences on where we are ahead, level or behind."""
    behind = [row for row in table if row["ahead"] < -max(2 * row["±"], 0.001)]
    said = [
        f"{len(table) - len(behind)} of {len(table)} configurations: ahead of every rival, or level with the "
        "best within two standard errors of the paired difference (or 0.001)."
    ]
    said += [
        f"Behind in {row['configuration']}: {row['ahead']:+.4f} ± {row['±']:.4f} to {row['best rival']}."
        for row in behind
    ]
    noisy = [row for row in tensors if row["noise"] >= 0.2]
    if noisy:
        means = ", ".join(f"{LABELS[name]} {mean(noisy, f'{name} test'):.4f}" for name in methods)
        said.append(f"Mean accuracy at 20% noise or more: {means}.")
    seconds = ", ".join(f"{LABELS[name]} {mean(tensors, f'{name} seconds'):.2f}" for name in methods)
    said.append(f"Mean processor seconds per tensor: {seconds}. Ours runs four chains with 250 draws each.")
    return said


def draw(table: Sequence[Row], methods: Sequence[str]) -> None:
    """Draw the accuracy of every method in every configuration."""
    with drawing("rivals", 1, height=4) as (ax,):
        for name in methods:
            style = {"color": "k", "zorder": 3} if name == "ours" else {}
            values = [row[LABELS[name]] for row in table]
            ax.plot(range(len(table)), values, "o-", ms=4, lw=1, label=LABELS[name], **style)
        ax.set_xticks(range(len(table)), [row["configuration"] for row in table], rotation=60, ha="right")
        ax.set_ylabel("accuracy on noise-free cells")
        ax.legend(frameon=False, fontsize=8)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Every rival on every configuration."""
    tensors, methods = 1 if quick else 10, list(FITS)
    found = measure_tensors(CONFIGURATIONS, tensors, jobs, fresh, methods)
    table = tabulate(found, methods)
    show("rivals", table)
    draw(table, methods)
    said = judge(table, found, methods)
    print("\n".join(said))
    write_section(
        "rivals",
        f"Tensors per configuration: {tensors}. L: rank, d: density, n: noise.",
        "![accuracy of all methods](figures/rivals.png)",
        markdown(table),
        "\n".join(f"- {sentence}" for sentence in said),
    )


if __name__ == "__main__":
    main()
