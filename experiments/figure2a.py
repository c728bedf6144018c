"""Fig. 2a: reconstruction accuracy over noise, density and rank, against Boolean ALS.

    python -m experiments.figure2a --quick    # 60 configurations of 20^3, one tensor each
    python -m experiments.figure2a --full     # ten tensors each, as in the paper

Test accuracy is measured on the noise-free tensor, training accuracy on the noisy one. *As published* is the
paper's own algorithm, and *as published, start from data* the same with components found in the cells to
start with. *ALS, DBTF start* starts from the fibres of random one-cells, best of 20 starts; *ALS, our start*
from the components that our chains start with, which makes it stronger than the rival in the paper.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import click

from experiments.grid import BOOLEAN, LABELS, measure_grid
from experiments.record import Row, average, drawing, markdown, mean, options, show, write_section
from experiments.verdicts import (
    AHEAD,
    BEHIND,
    MARGIN,
    Claim,
    Lead,
    claims,
    count_words,
    lead,
    rise,
    tell_words,
)

OVER = ("noise", "density", "rank")
FITS = ("published", "ours")
SIMILAR = 0.01  # training accuracies that differ by less are similar


def split(tensors: Sequence[Row], over: str) -> dict[float, list[Row]]:
    """Return the tensors of each value of noise, density or rank."""
    return {v: [row for row in tensors if row[over] == v] for v in sorted({row[over] for row in tensors})}


def tabulate(tensors: Sequence[Row], kind: str, trivial: str) -> list[Row]:
    """Return test or training accuracy for each value of noise, density and rank, beside what is trivial."""
    table = []
    for over in OVER:
        for row in average(tensors, [over], [trivial, *(f"{name} {kind}" for name in BOOLEAN)]):
            line: Row = {"over": over, "value": row[over]}
            line |= {LABELS[name]: row[f"{name} {kind}"] for name in BOOLEAN}
            table.append(line | {trivial.removesuffix(f" {kind}"): row[trivial]})
    return table


def leads(tensors: Sequence[Row], first: str, second: str, over: str) -> dict[float, Lead]:
    """Return the lead of one column over another for each value of noise, density or rank."""
    return {value: lead(rows, first, second) for value, rows in split(tensors, over).items()}


def tabulate_leads(tensors: Sequence[Row]) -> list[Row]:
    """Return leads in test accuracy over ALS from the start of DBTF, with their errors."""
    pairs = (
        ("published", "dbtf"),
        ("seeded", "dbtf"),
        ("ours", "dbtf"),
        ("ours", "als"),
        ("ours", "published"),
    )
    return [
        {"over": over, "value": value}
        | {f"{LABELS[a]} - {LABELS[b]}": str(lead(rows, f"{a} test", f"{b} test")) for a, b in pairs}
        for over in OVER
        for value, rows in split(tensors, over).items()
    ]


def compare(tensors: Sequence[Row]) -> list[Claim]:
    """Return the paper's statements about the figure and our measurements."""
    said = []
    for fit in FITS:
        for rival in ("dbtf", "als"):
            said.append(
                throughout(tensors, "higher accuracy than dbtf in all conditions", fit, "test", rival)
            )
        said.append(
            throughout(tensors, "MAP factors, too, are more accurate (abstract)", fit, "map test", "dbtf")
        )
        found = [
            one for over in OVER for one in leads(tensors, f"{fit} test", "constant test", over).values()
        ]
        words = count_words(found)
        text = f"against the more frequent value: {tell_words(words)} of {len(found)}"
        said.append(
            Claim("(not in the paper) better than a constant", LABELS[fit], text, words[AHEAD] == len(found))
        )
        said += [
            grows(tensors, fit, "noise", "for very noisy data"),
            grows(tensors, fit, "rank", "for higher ranks"),
            bends(tensors, fit),
        ]
    return [*said, *(claim for fit in FITS for claim in overfits(tensors, fit))]


def throughout(tensors: Sequence[Row], paper: str, fit: str, kind: str, rival: str) -> Claim:
    """Whether a fit is clearly ahead of a rival for every value of noise, density and rank."""
    found = {
        (over, value): one
        for over in OVER
        for value, one in leads(tensors, f"{fit} {kind}", f"{rival} test", over).items()
    }
    words, least = count_words(found.values()), min(found, key=lambda place: found[place].mean)
    text = f"against {LABELS[rival]}: {tell_words(words)} of {len(found)}; "
    text += f"least at {least[0]} {least[1]:g}: {found[least]}"
    return Claim(paper, LABELS[fit], text, words[AHEAD] == len(found))


def grows(tensors: Sequence[Row], fit: str, over: str, words: str) -> Claim:
    """Whether the lead over ALS, DBTF start, is clearly larger at the last value than at all others."""
    found = list(leads(tensors, f"{fit} test", "dbtf test", over).values())
    text = f"{', '.join(f'{one.mean:+.3f}' for one in found)} over {over}"
    holds = len(found) > 1 and all(rise(one, found[-1]).judge() == AHEAD for one in found[:-1])
    return Claim(f"the margin is bigger {words}", LABELS[fit], text, holds)


def bends(tensors: Sequence[Row], fit: str) -> Claim:
    """Whether the lead is clearly larger at both ends of the densities than between them."""
    found = list(leads(tensors, f"{fit} test", "dbtf test", "density").values())
    inner, ends = found[1:-1], (found[0], found[-1])
    text = f"{', '.join(f'{one.mean:+.3f}' for one in found)} over density"
    holds = bool(inner) and all(rise(one, end).judge() == AHEAD for one in inner for end in ends)
    return Claim("the margin is bigger for particularly dense and sparse data", LABELS[fit], text, holds)


def overfits(tensors: Sequence[Row], fit: str) -> list[Claim]:
    """Whether ALS fits noise: its training accuracy beside ours and that of the planted tensor."""
    similar = {
        (over, value): one.judge(SIMILAR)
        for over in OVER
        for value, one in leads(tensors, "dbtf train", f"{fit} train", over).items()
    }
    lower = [f"{over} {value:g}" for (over, value), word in similar.items() if word == BEHIND]
    noisy = [row for row in tensors if row["noise"] == max(row["noise"] for row in tensors)]
    above = lead(noisy, "dbtf train", "truth train")
    text = f"DBTF start lower at {', '.join(lower) or 'no value'} of {len(similar)}; at the highest noise "
    text += f"{mean(noisy, 'dbtf train'):.4f}, {LABELS[fit]} {mean(noisy, f'{fit} train'):.4f}, "
    text += f"the planted tensor {mean(noisy, 'truth train'):.4f}, all zeros {mean(noisy, 'zeros train'):.4f}"
    said = [Claim("dbtf's training accuracy is similar or higher", LABELS[fit], text, not lower)]
    if fit == FITS[0]:
        by_rank = leads(noisy, "dbtf train", "truth train", "rank")
        gaps = list(by_rank.values())
        more = len(gaps) > 1 and all(rise(a, b).judge() == AHEAD for a, b in itertools.pairwise(gaps))
        text = f"DBTF start minus the planted tensor at the highest noise: {above}; by rank "
        text += ", ".join(f"{one.mean:+.4f}" for one in gaps)
        said.append(
            Claim("dbtf over-fits, most at high noise and rank", "ALS", text, above.judge() == AHEAD and more)
        )
    return said


def draw(tensors: Sequence[Row]) -> None:
    """Draw test accuracy in full and training accuracy in faint colours."""
    with drawing("figure2a", 3) as axes:
        for ax, over in zip(axes, OVER, strict=True):
            for number, name in enumerate(BOOLEAN):
                rows = average(tensors, [over], [f"{name} test", f"{name} train"])
                x, color = [row[over] for row in rows], f"C{number}"
                ax.plot(x, [row[f"{name} test"] for row in rows], "o-", color=color, label=LABELS[name])
                ax.plot(x, [row[f"{name} train"] for row in rows], "o--", color=color, alpha=0.35)
            rows = average(tensors, [over], ["constant test"])
            ax.plot(
                [row[over] for row in rows],
                [row["constant test"] for row in rows],
                ":",
                color="0.5",
                label="constant",
            )
            ax.set_xlabel(over)
        axes[0].set_ylabel("accuracy (dashed: training)")
        axes[0].legend(frameon=False, fontsize=8)


@options
@click.option("--tensors", "number", default=10, help="Tensors of each configuration, if not a sample.")
def main(quick: bool, fresh: bool, jobs: int, number: int) -> None:
    """Accuracy over noise, density and rank."""
    number = 1 if quick else number
    tensors = measure_grid(number, jobs, fresh)
    tables = {
        "figure2a": tabulate(tensors, "test", "constant test"),
        "figure2a-training": tabulate(tensors, "train", "truth train"),
        "figure2a-leads": tabulate_leads(tensors),
    }
    for name, table in tables.items():
        show(name, table)
    draw(tensors)
    test, train, ahead = map(markdown, tables.values())
    write_section(
        "figure2a",
        f"{len(tensors)} tensors, {number} for each of {len(tensors) // number} configurations. "
        "Test accuracy; *constant* predicts the more frequent value:",
        "![accuracy over noise, density and rank](figures/figure2a.png)",
        test,
        "Training accuracy; *truth* is the planted tensor:",
        train,
        "Paired differences in test accuracy and their standard errors. A lead of less than two errors or "
        f"{MARGIN} is *level*:",
        ahead,
        claims(compare(tensors)),
    )


if __name__ == "__main__":
    main()
