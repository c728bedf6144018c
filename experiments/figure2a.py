"""Fig. 2a: reconstruction accuracy over noise, density and rank, against Boolean ALS.

    python -m experiments.figure2a --quick    # 60 configurations of 20^3, two tensors each
    python -m experiments.figure2a --full     # ten tensors each, as in the paper

Test accuracy is measured on the noise-free tensor, training accuracy on the noisy one. *ALS, DBTF start*
starts from the fibres of random one-cells, best of 20 starts; *ALS, our start* from components found by the
search that starts our chains, which makes it stronger than the rival in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.grid import LABELS, measure_grid
from experiments.record import Row, average, claims, drawing, markdown, mean, options, show, write_section

OVER = ("noise", "density", "rank")


def tabulate(trials: Sequence[Row]) -> list[Row]:
    """Return test and training accuracy for each value of noise, density and rank."""
    table = []
    for over in OVER:
        columns = [f"{name} {kind}" for kind in ("test", "train") for name in LABELS]
        for row in average(trials, [over], columns):
            line: Row = {"over": over, "value": row[over]}
            line |= {f"{LABELS[name]}, test": row[f"{name} test"] for name in LABELS}
            line |= {f"{LABELS[name]}, train": row[f"{name} train"] for name in LABELS}
            table.append(line)
    return table


def margins(trials: Sequence[Row], over: str, rival: str) -> list[float]:
    """Return our lead in test accuracy for each value of noise, density or rank."""
    rows = average(trials, [over], ["ours test", f"{rival} test"])
    return [row["ours test"] - row[f"{rival} test"] for row in rows]


def compare(trials: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Return the paper's statements about the figure and our measurements."""
    said = []
    for rival in ("dbtf", "als"):
        least = min(min(margins(trials, over, rival)) for over in OVER)
        text = f"{LABELS[rival]}: the smallest of {len(tabulate(trials))} margins is {least:+.4f}"
        said.append(("higher accuracy than dbtf throughout", text, least > 0))
    for over, words in (("noise", "for very noisy data"), ("rank", "for higher ranks")):
        gaps = margins(trials, over, "dbtf")
        text = f"DBTF start: {', '.join(f'{gap:+.3f}' for gap in gaps)} over {over}"
        said.append((f"the margin grows {words}", text, gaps[-1] > gaps[0]))
    noisy = [row for row in trials if row["noise"] >= 0.4]
    ours, als, dbtf = (mean(noisy, f"{name} train") for name in LABELS)
    text = f"training accuracy at 40% noise: ALS {als:.3f} and {dbtf:.3f}, ours {ours:.3f}; the truth scores "
    text += f"{mean(noisy, 'truth train'):.3f}"
    said.append(("dbtf's training accuracy is similar or higher: it over-fits", text, min(als, dbtf) > ours))
    return said


def draw(trials: Sequence[Row]) -> None:
    """Draw test accuracy in full and training accuracy in faint colours."""
    with drawing("figure2a", 3) as axes:
        for ax, over in zip(axes, OVER, strict=True):
            for number, (name, label) in enumerate(LABELS.items()):
                rows = average(trials, [over], [f"{name} test", f"{name} train"])
                x, color = [row[over] for row in rows], f"C{number}"
                ax.plot(x, [row[f"{name} test"] for row in rows], "o-", color=color, label=label)
                ax.plot(x, [row[f"{name} train"] for row in rows], "o--", color=color, alpha=0.35)
            ax.set_xlabel(over)
        axes[0].set_ylabel("accuracy (dashed: training)")
        axes[0].legend(frameon=False, fontsize=8)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Accuracy over noise, density and rank."""
    tensors = 2 if quick else 10
    trials = measure_grid(tensors, jobs, fresh)
    table = tabulate(trials)
    show("figure2a", table)
    draw(trials)
    write_section(
        "figure2a",
        f"{len(trials)} tensors, {tensors} for each of {len(trials) // tensors} configurations.",
        "![accuracy over noise, density and rank](figures/figure2a.png)",
        markdown(table),
        claims(compare(trials)),
    )


if __name__ == "__main__":
    main()
