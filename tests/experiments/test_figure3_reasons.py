"""Variations of the paper's rules for the number of components: what is pruned, and what is concluded."""

from __future__ import annotations

import itertools

import numpy as np

from experiments import figure3_reasons as reasons
from experiments.record import Row


def test_components_that_raise_no_likelihood_are_taken_out() -> None:
    block = np.zeros((4, 3), bool)
    block[:2, 0] = True  # the ones
    block[0, 1] = True  # inside the first
    block[2:, 2] = True  # zeros only
    X = np.zeros((4, 4, 4), bool)
    X[:2, :2, :2] = True
    assert reasons.useful(X, [block] * 3) == [0]
    assert reasons.useful(~X & False, [block] * 3) == []


def trials(errors: dict[tuple[str, str], float]) -> list[Row]:
    """The error of each rule on six tensors, with and without noise; 0.4 unless given."""
    return [
        {"rule": rule, "change": change, "noise": noise, "error": errors.get((rule, change), 0.4)}
        for rule, changes in reasons.RULES.items()
        for change in changes
        for noise, _ in itertools.product((0.0, 0.2), range(3))
    ]


def test_a_change_counts_only_if_it_clearly_beats_mdl() -> None:
    razor = "Occam's razor"
    found = trials({(razor, reasons.FROM_DATA): 0.005, (razor, reasons.TEN): 0.39})
    one, other = reasons.conclude(found).splitlines()
    assert f"ahead of {reasons.RIVAL}: *{reasons.FROM_DATA}*; level with" in one
    assert (
        f"level with {reasons.WEAK}: *{reasons.PLAIN}*, *{reasons.TEN}*" in one
    )  # 0.01 is within the margin
    assert f"*{reasons.FROM_DATA}* 0.005" in one
    assert f"ahead of {reasons.RIVAL}: none; level with" in other
    (row,) = (
        line
        for line in reasons.tabulate(found)
        if (line["rule"], line["change"]) == (razor, reasons.FROM_DATA)
    )
    assert (row["0%"], row["mean"], row["ahead of MDL, best of 20"]) == ("0.005", "0.005", "+0.3950 ± 0.0000")
