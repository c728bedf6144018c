"""The number that is chosen from what chains counted."""

from __future__ import annotations

import numpy as np

from tensorm.selection.by_sampling import _describe, _errors, _kept, _most_probable
from tensorm.selection.counting import Numbers


def choose(chains: list[Numbers]) -> tuple[int, str]:
    kept = [one for one, keep in zip(chains, _kept(chains), strict=True) if keep]
    shares = np.array([np.bincount(one.counts, minlength=8) / len(one.counts) for one in kept])
    best = int(np.argmax([np.median(one.evidence) for one in kept]))
    mean = shares.mean(axis=0)
    n = _most_probable(mean, _errors([one.counts for one in kept], 7), shares[best])
    return n, _describe(n, mean)


def test_where_chains_disagree_the_one_with_the_highest_evidence_decides() -> None:
    rng = np.random.default_rng(0)
    high, low = (rng.normal(mean, 30, 100).tolist() for mean in (-950, -1000))
    for better, worse in ((5, 4), (4, 5)):
        n, text = choose([Numbers([worse] * 100, low), Numbers([better] * 100, high)])
        assert n == better
        text_of_both = f"{better} components are the most probable number, with probability 0.50"
        assert text == f"{text_of_both} ({worse}: 0.50)."
    n, text = choose([Numbers([4] * 100, low), Numbers([4] * 10 + [5] * 90, high)])
    assert n == 5
    assert text == (
        "5 is the number of components in the chain with the highest evidence, "
        "with probability 0.45 (4: 0.55)."
    )


def test_chains_that_agree_are_averaged() -> None:
    rng = np.random.default_rng(0)
    counts = [rng.permutation([3] * 20 + [4] * a + [5] * (80 - a)).tolist() for a in (50, 46)]
    n, text = choose([Numbers(some, rng.normal(0, 5, 100).tolist()) for some in counts])
    assert n == 4
    assert text == "4 components are the most probable number, with probability 0.48 (5: 0.32, 3: 0.20)."


def test_much_worse_chains_do_not_count() -> None:
    rng = np.random.default_rng(0)
    evidence = [rng.normal(mean, 1, 100).tolist() for mean in (-1000, -900)]
    assert choose([Numbers([4] * 100, evidence[0]), Numbers([5] * 100, evidence[1])])[0] == 5
