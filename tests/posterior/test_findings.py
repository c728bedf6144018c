"""Who found what is said by one rule, from the explanations, and it adds up."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from posteriors import bits, make_posterior
from tensorm import Posterior, TensOrMachine
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.findings import compare_explanations, doubt_findings
from tensorm.report.describe import describe, describe_components

A, B, C = ([0, 1, 2], [0, 1]), ([4, 5], [2, 3]), ([3, 7], [4, 6])  # members of components, in two modes
NOTHING: tuple[list[int], list[int]] = ([], [])
Blocks = Sequence[tuple[list[int], list[int]]]


def factors(blocks: Blocks) -> list[np.ndarray]:
    return [bits(8, *(block[k] for block in blocks)) for k in range(2)]


def fit_of(*explanations: Blocks, chains: Sequence[int] = (), n_draws: int = 20) -> Posterior:
    """A fit with these explanations, of so many chains each, the first with most weight."""
    chains = chains or (1,) * len(explanations)
    numbers = tuple(np.repeat(np.arange(len(chains)), chains).tolist())
    posterior = make_posterior([[factors(explanations[number])] * n_draws for number in numbers])
    weights = np.array([1.0 + (number == 0) for number in numbers])
    return dataclasses.replace(
        posterior, explanations=numbers, weights=tuple((weights / weights.sum()).tolist())
    )


@pytest.mark.parametrize(
    ("explanations", "found", "lacking", "extra"),
    [
        ([[A, B], [B, A]], (0, 1), (), 0),
        ([[A, B], [B, C]], (1,), (0,), 1),
        ([[A, NOTHING], [A, B]], (0,), (), 1),
        ([[A, B], [NOTHING, NOTHING]], (), (0, 1), 0),
        ([[NOTHING, NOTHING], [A, B]], (), (), 2),
        ([[NOTHING, NOTHING], [NOTHING, NOTHING]], (), (), 0),
    ],
)
def test_explanations_are_compared_with_the_first(
    explanations: list[Blocks], found: tuple[int, ...], lacking: tuple[int, ...], extra: int
) -> None:
    findings = compare_explanations(fit_of(*explanations))
    assert (findings[1].found, findings[1].lacking, len(findings[1].extra)) == (found, lacking, extra)
    assert findings[0].lacking == findings[0].extra == ()
    assert findings.same == (not lacking and not extra)
    assert findings.nothing == (not findings[0].active and not findings[1].active)


@pytest.mark.parametrize("second", [[A, B], [A, NOTHING], [NOTHING, C], [B, C]])
@pytest.mark.parametrize("first", [[A, B], [A, NOTHING], [NOTHING, NOTHING]])
def test_numbers_of_chains_add_up(first: Blocks, second: Blocks) -> None:
    """Who found a component, who did not, and how many each chain has, in all outputs."""
    posterior = fit_of(first, second, chains=(2, 1))
    findings, told = compare_explanations(posterior), diagnose(posterior)
    for l, finders in enumerate(told.finders):
        missing = sum(len(one.chains) for one in findings if l in one.lacking)
        assert finders + missing == (3 if l in findings.used else 0)
    assert [one.chains for one in describe_components(posterior)] == list(told.finders)
    for row in told.chains:
        one = findings[row.explanation]
        assert row.active == len(one.found) + len(one.extra)
        assert 0 <= row.agreement < 1.001
        assert (row.agreement > 0.999) == (not one.lacking and not one.extra)
    assert ("all chains found the same" in told.conclusion) == (findings.same and not findings.nothing)


def test_a_component_that_one_has_halfway_makes_no_difference_from_either_side() -> None:
    """Two chains with 49 and 51 of 100 draws for a component do not differ on it, whichever is first."""
    chains = [[factors([A, B])] * n + [factors([A, NOTHING])] * (100 - n) for n in (49, 51)]
    posterior = dataclasses.replace(make_posterior(chains), explanations=(0, 1))
    for one in (posterior, posterior.put_first(1)):
        assert compare_explanations(one).same
        assert diagnose(one).differences[0].endswith("found the same components with other members.")
    assert [row.active for row in diagnose(posterior).chains] == [1, 2]


def test_an_empty_explanation_shares_no_component() -> None:
    half = [[factors([A, B])] * 9 + [factors([NOTHING, NOTHING])] * 11, [factors([A, B])] * 20]
    posterior = dataclasses.replace(make_posterior(half), explanations=(0, 1))
    assert doubt_findings(posterior) == "no two chains found the same component"


def test_of_noise_no_component_is_said_to_be_trusted() -> None:
    told = diagnose(fit_of([A, B], [B, C]))
    assert told.conclusion.endswith("; trust that one.")
    assert told.beside("no membership has p > 0.9").endswith(" was found by all chains.")


def test_chains_that_found_others_besides_are_not_said_to_have_found_the_same() -> None:
    told = diagnose(fit_of([A, NOTHING], [A, B], chains=(3, 1)))
    assert told.conclusion.endswith(
        "but some found others beside the component that all chains found; trust that one."
    )
    assert told.differences == ("Chain 3 (weight 0.14) found the same components and 1 other.",)


def test_nothing_was_found_only_if_no_chain_found_anything() -> None:
    empty = diagnose(fit_of([NOTHING, NOTHING], [NOTHING, NOTHING]))
    assert empty.conclusion.startswith("No pattern was found beyond a constant rate of ones.")
    some = diagnose(fit_of([NOTHING, NOTHING], [A, B], chains=(2, 2)))
    assert "No pattern" not in str(some)
    assert "but no component was found by all chains" in some.conclusion
    assert some.differences == ("Chains 2 and 3 (weight 0.33) found 2 components.",)


def test_whether_data_look_like_noise_does_not_depend_on_what_is_described() -> None:
    posterior = fit_of([A, B], [NOTHING, NOTHING], chains=(2, 2))
    assert not doubt_findings(posterior)
    other = posterior.put_first(1)
    assert not doubt_findings(other)
    assert "noise" not in repr(describe(other))
    assert "No component has members in every mode" in repr(describe(other))
    alone = fit_of([A, NOTHING], [B, NOTHING], [NOTHING, NOTHING])
    assert (
        doubt_findings(alone)
        == doubt_findings(alone.put_first(2))
        == "no two chains found the same component"
    )
    assert doubt_findings(fit_of([NOTHING], [NOTHING])) == "no component has members in every mode"


def test_components_of_every_explanation_are_counted_alike() -> None:
    X = np.zeros((8, 8), bool)
    for block in (A, B, C):
        X[np.ix_(*block)] = True
    X[0, 7] = X[6, 2] = True
    model = TensOrMachine(2, n_chains=2, n_draws=5, burn_in=5, effort=0, progress=False, random_state=0).fit(
        X
    )
    posterior = fit_of([A, B], [B, C], n_draws=5)
    posterior = posterior.measure(model.posterior_.check_tensor(X))
    for number in range(2):
        shown = posterior.put_first(number)
        for told, row in zip(describe_components(shown), shown.contributions, strict=True):
            assert (told.cells, told.ones) == (row.covered, row.explained / row.covered)
    covered = [[row.covered for row in one.contributions] for one in posterior.measures]
    assert covered == [[6, 4], [4, 4]]
