"""Section 5.3, Table 1: genes of components against the pathways of KEGG.

    python -m experiments.pathways                # a fit of messenger RNA: some minutes
    python -m experiments.pathways --genes 500    # those that vary most

KEGG lists genes but not miRNAs, so this is not the fit that predicts types of cancer. The higher and the
lower genes of each component are its two sides. Only genes of pathways are fitted and counted, so that chance
is defined among genes that can be found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click
import numpy as np

from experiments.record import Bits, Row, markdown, show, write_section
from experiments.study import members, options, write_numbers
from experiments.tumours import (
    COMPONENTS,
    COUNT,
    SMALLEST,
    fit,
    most_varying,
    sample,
    symbols_of,
    types_of,
    write_study_report,
)
from tensorm import datasets

GENES = 2500  # the matrix you can build has more, and the number of cells grows with their square
LARGEST_Q = 0.05
NAMED = 3  # pathways named per side in the table
TABLE_1 = (  # pathways of the paper's components, as KEGG calls them
    "Tight junction",
    "Hippo signaling pathway",
    "Wnt signaling pathway",
    "AGE-RAGE signaling pathway in diabetic complications",
    "Rap1 signaling pathway",
    "Regulation of actin cytoskeleton",
    "Focal adhesion",
    "PI3K-Akt signaling pathway",
    "Platelet activation",
    "Ras signaling pathway",
)
Sides = Mapping[str, Sequence[Sequence[int]]]  # for "+" and "-", the gene numbers of each component


class Enriched(NamedTuple):
    """The overlap of a component's higher (+) or lower (-) genes with a pathway."""

    component: int
    sign: str
    pathway: str
    both: int
    expected: float
    q: float

    def __str__(self) -> str:
        """The pathway with its figures."""
        return f"{self.pathway} ({self.both} genes, {self.expected:.1f} expected, q {self.q:.0e})"


def enrich(sides: Sides, genes: Sequence[str], pathways: Mapping[str, Sequence[str]]) -> list[Enriched]:
    """Return all pairs of a component's side and a pathway, the most significant first.

    Parameters
    ----------
    sides : mapping
        For "+" and "-", the numbers of the members of each component.
    genes : sequence of str
        Symbols of all genes in the fit, from which chance draws.
    pathways : mapping
        Symbols of the genes of each pathway.
    """
    from scipy.stats import false_discovery_control, hypergeom

    inside: dict[str, Bits] = {name: np.isin(genes, list(symbols)) for name, symbols in pathways.items()}
    tests = [
        (l, sign, name, chosen)
        for sign, components in sides.items()
        for l, chosen in enumerate(components)
        for name in inside
        if chosen and inside[name].sum() >= SMALLEST
    ]
    found, p = [], []
    for l, sign, name, chosen in tests:
        size, both = int(inside[name].sum()), int(inside[name][chosen].sum())
        p.append(float(hypergeom.sf(both - 1, len(genes), size, len(chosen))))
        found.append(Enriched(l, sign, name, both, len(chosen) * size / len(genes), 1.0))
    q = false_discovery_control(np.clip(p, 0, 1)) if p else []
    corrected = [row._replace(q=float(value)) for row, value in zip(found, q, strict=True)]
    return sorted(corrected, key=lambda row: row.q)


def weigh(tests: Sequence[Enriched], sure: Sequence[Enriched]) -> Row:
    """Return how strong the enrichment is, and how many pathways of Table 1 chance would find."""
    from scipy.stats import hypergeom

    tested, hit = {row.pathway for row in tests}, {row.pathway for row in sure}
    listed, again = tested.intersection(TABLE_1), [name for name in TABLE_1 if name in hit]
    return {
        "pathways": len(tested),
        "hit": len(hit),
        "median enrichment": float(np.median([row.both / row.expected for row in sure])),
        "of Table 1": len(listed),
        "again": again,
        "by chance": len(listed) * len(hit) / len(tested),
        "p": float(hypergeom.sf(len(again) - 1, len(tested), len(hit), len(listed))),
    }


def tell(weight: Row) -> str:
    """Return sentences about the weight of the evidence."""
    again, listed = weight["again"], weight["of Table 1"]
    return (
        f"They involve {weight['hit']} of the {weight['pathways']} pathways; the median pair has "
        f"{weight['median enrichment']:.2f} times the genes expected by chance. Of the {listed} pathways in "
        f"the paper's Table 1, {len(again)} are among them{': ' * bool(again)}{', '.join(again)}. "
        f"Of {listed} random pathways, {weight['by chance']:.1f} would be on average, "
        f"and {len(again)} or more with a probability of {weight['p']:.2g}."
    )


def tabulate(sure: Sequence[Enriched], sides: Sides, types: Sequence[Mapping[str, float]]) -> list[Row]:
    """Return a row for each side of a component with enriched pathways."""
    rows: list[Row] = []
    for l, sign in sorted({(row.component, row.sign) for row in sure}):
        best = [row for row in sure if (row.component, row.sign) == (l, sign)]
        more = [f"{len(best) - NAMED} more"] if len(best) > NAMED else []
        rows.append(
            {
                "component (side)": f"{l} ({sign})",
                "genes": len(sides[sign][l]),
                "more than half of": ", ".join(types[l]) or "no type",
                "pathways": ", ".join([*map(str, best[:NAMED]), *more]),
            }
        )
    return rows


@options
@click.option("--components", default=COMPONENTS, type=click.IntRange(min=1), help="Components of the fit.")
@click.option(
    "--genes",
    default=GENES,
    type=COUNT,
    help="Maximum number of genes in pathways, those that vary most; 0 for all.",
)
def main(quick: bool, fresh: bool, components: int, genes: int) -> None:
    """Test the genes of components of messenger RNA against the pathways of KEGG."""
    if quick:
        components, genes = 10, 100
    M, pathways = sample("mrna", 0, 0), datasets.kegg()
    known = np.isin(symbols_of(M), [gene for pathway in pathways.values() for gene in pathway])
    M = most_varying(M[:, known], genes)
    _, fitted = fit(M, "mrna", components, "zscore", fresh)
    patients, higher, lower = fitted.model.factors_
    sides = {"+": members(higher), "-": members(lower)}
    tests = enrich(sides, symbols_of(M), pathways)
    sure = [row for row in tests if row.q <= LARGEST_Q]
    weight = weigh(tests, sure) if sure else {}
    rows = tabulate(sure, sides, types_of(patients, M.coords["cancer"].values))
    show("pathways", rows)
    numbers = {"shape": fitted.model.posterior_.shape, "tests": len(tests), **weight}
    write_numbers("pathways", {**numbers, "sure": [row._asdict() for row in sure], "facts": fitted.facts})
    write_study_report("pathways", fitted, M, "Cancer: messenger RNA of genes in pathways")
    which = "all" if known.sum() == M.shape[1] else "those that vary most"
    shares = [len(side) / M.shape[1] for side in sides["+"] + sides["-"] if side] or [0.0]
    cancers = np.unique(M.coords["cancer"].values)
    text = (
        f"{M.shape[0]:,} patients, {M.shape[1]:,} genes ({which} of those in KEGG), {components} "
        f"components, whose sides contain {min(shares):.0%} to {max(shares):.0%} of the genes. {fitted.cost} "
        f"{len(sure)} of {len(tests):,} pairs of a component's side and a pathway have q <= {LARGEST_Q}. "
    )
    table = markdown(rows) if rows else "No pathway is enriched."
    limits = (
        f"This matrix has only {len(cancers)} types of cancer ({', '.join(cancers)}), so the pairs of a "
        "pathway and a type in Table 1 cannot be checked."
    )
    write_section("pathways", text + (f"{tell(weight)} {limits}" if sure else limits), table)


if __name__ == "__main__":
    main()
