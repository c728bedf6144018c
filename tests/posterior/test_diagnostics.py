"""The conclusion on chains: one sentence for each thing that can be wrong, the gravest first."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import xarray

from posteriors import bits, make_posterior, set_noise
from tensorm import InputError, Posterior, TensOrMachine, datasets
from tensorm.posterior.align import factor_means, group_chains
from tensorm.posterior.contributions import Contribution, Measured
from tensorm.posterior.convergence import EntryMixing, Mixing
from tensorm.posterior.diagnostics import _judge_mixing, _tell_shared, diagnose, name_owner, number_components
from tensorm.posterior.findings import Findings, FoundBy
from tensorm.report.describe import describe_components

BLOCK = [bits(6, [0, 1, 2], [4, 5]), bits(5, [0, 1], [2, 3])]
OTHER = [bits(6, [3], [1, 4]), bits(5, [4], [0, 2])]
N_DRAWS = 200


def posterior(n_chains=4, n_draws=N_DRAWS, factors=BLOCK, lag=0.0, apart=0.0, seed=0) -> Posterior:
    """Chains whose noise wanders, slowly if there is a lag.

    They have the same factors in all draws, or, if they are far apart, one more member in the second half.
    """
    later = [factors[0].copy(), factors[1]]
    later[0][3, 0] |= apart > 0.3
    found = make_posterior([[factors] * (n_draws - n_draws // 2) + [later] * (n_draws // 2)] * n_chains)
    rng = np.random.default_rng(seed)
    for chain, trace in enumerate(found.chains):
        steps = rng.normal(size=(n_draws, 2))
        for s in range(1, n_draws):
            steps[s] = lag * steps[s - 1] + np.sqrt(1 - lag**2) * steps[s]
        set_noise(trace, [0.7, 0.2] + 0.01 * (steps + apart * chain))
    return found


def change(found: Posterior, chain: int, **attributes) -> Posterior:
    chains = list(found.chains)
    chains[chain] = dataclasses.replace(chains[chain], **attributes)
    return dataclasses.replace(found, chains=tuple(chains))


def test_chains_that_agree() -> None:
    found = diagnose(posterior())
    assert found.conclusion == "All 4 chains agree."
    assert found.fine
    assert not found._replace(problems=("Run more chains.",)).fine
    assert [row.chain for row in found.chains] == [0, 1, 2, 3]
    assert all(row.rhat < 1.05 and row.ess > 100 for row in found.quantities)
    assert found.entries.constant == found.entries.total == 22


def test_the_whole_text() -> None:
    lines = str(diagnose(posterior())).splitlines()
    assert (
        lines[0]
        == "chain  explanation  weight  explained  covered  log-likelihood  active  agreement  burn-in"
    )
    assert len({len(line) for line in lines[:5]}) == 1
    trace = posterior().traces[0]
    assert lines[1].split()[3:5] == [f"{trace.explained[0]:.3f}", f"{trace.covered[0]:.3f}"]
    assert lines[5] == "quantity              R-hat    ESS  tail ESS"
    assert len({len(line) for line in lines[5:9]}) == 1
    assert lines[6].startswith("rate of ones inside    1.0")
    assert lines[9:] == [
        "All 22 factor entries are the same in all draws.",
        "All 4 chains found components 0 and 1.",
        "All 4 chains agree.",
    ]


def test_long_names_of_quantities_widen_the_table() -> None:
    found = diagnose(posterior())
    long = found.quantities[0]._replace(name="shape of the prior of activities 1")
    lines = str(found._replace(quantities=(long, *found.quantities[1:]))).splitlines()
    assert len({len(line) for line in lines[5:9]}) == 1


def test_parameters_are_named_by_what_they_belong_to() -> None:
    none = EntryMixing(22, 22, 0, 0, None, 0, None)
    worst = Mixing("strength of component 1", "moving", 1.5, 11.0, 11.0)
    moving = EntryMixing(22, 12, 0, 10, 1.3, 1, 20.0)
    assert next(_judge_mixing([worst], moving, 200)) == (
        "The chains have not mixed: the R-hat of the strength of component 1 is 1.50; use at least 2,000 "
        "draws per chain."
    )
    mild = Mixing("log-likelihood", "moving", 1.1, 99.0, 99.0)
    assert next(_judge_mixing([mild], none, 200)) == (
        "The chains agree on all memberships, but the R-hat of the log-likelihood is 1.10; use at least 400 "
        "draws per chain if you rely on it."
    )
    slow = mild._replace(rhat=1.25)
    assert next(_judge_mixing([slow], none, 200)).startswith("The chains agree on all memberships")
    assert next(_judge_mixing([slow], moving, 200)).startswith("The chains have not mixed")
    told = next(_judge_mixing([slow], moving, 200, alike=True))
    assert told.startswith("All chains found the same components but have not mixed: the R-hat of the log-")
    for doubtful in (none._replace(stuck=1), none._replace(rhat=1.06)):  # memberships have not mixed either
        assert next(_judge_mixing([mild], doubtful, 200)).startswith("The chains have not mixed")
    told = next(_judge_mixing([Mixing("strength of component 1", "stuck")], none, 200))
    assert told.startswith("The strength of component 1 never changes within a chain ")


def test_activities_are_named_by_mode_and_label() -> None:
    cells = np.random.default_rng(0).random((5, 4, 3)) < 0.4
    labels = {"person": [*"abcd"], "met": [*"xyz"]}
    tensor = xarray.DataArray(cells.astype(int), labels, ["hour", "person", "met"])
    fit = TensOrMachine(
        1, noise="strengths", n_chains=2, n_draws=20, burn_in=5, progress=False, random_state=0
    )
    posterior = fit.fit(tensor).posterior_
    names = {quantity.name for quantity in diagnose(posterior).quantities}
    known = {f"activity of {owner}" for owner in (*(f"hour {n}" for n in range(5)), "person a", "person b",
        "person c", "person d", "met x", "met y", "met z")}  # fmt: skip
    assert len(names & known) == 1
    assert "strength of component 0" in names
    assert [name_owner(posterior, "index", n) for n in (0, 4, 5, 8, 9, 11)] == [
        "hour 0", "hour 4", "person a", "person d", "met x", "met z",
    ]  # fmt: skip


def with_explanations() -> Posterior:
    """Chain 2 has another component in place of one, and chain 3 both and another."""
    other = [np.stack([BLOCK[k][:, 0], OTHER[k][:, 1]], axis=1) for k in range(2)]
    found = change(posterior(), 2, factors=posterior(1, factors=other).chains[0].factors)
    found.chains[2].noise[:] += 0.1  # its draws are not looked at any further
    return dataclasses.replace(found, weights=(0.3, 0.3, 0.15, 0.25), explanations=(0, 0, 2, 1))


def with_disputed_entries() -> Posterior:
    """Four of 22 entries, the components being much the same."""
    mine, yours = [factor.copy() for factor in BLOCK], [factor.copy() for factor in BLOCK]
    mine[0][3, 0] = mine[1][4, 1] = True
    yours[0][3, 1] = yours[0][4, 0] = True
    packed = [posterior(1, factors=factors).chains[0].factors for factors in (mine, yours)]
    return change(change(posterior(2), 0, factors=packed[0]), 1, factors=packed[1])


def frozen(apart=0.0) -> Posterior:
    """Nothing ever moves."""
    found = make_posterior([[BLOCK] * 50] * 3)
    for chain, trace in enumerate(found.chains):
        set_noise(trace, trace.noise + np.array([apart * chain, 0]))
    return found


def without_one(**changes) -> Posterior:
    """A fit of four chains, of which number 1 failed."""
    outcomes = ("included", "failed", "included", "included")
    return dataclasses.replace(posterior(3, **changes), outcomes=outcomes)


SITUATIONS = (  # the gravest first
    without_one,
    lambda: make_posterior([[[np.zeros((4, 2), bool), np.zeros((3, 2), bool)]] * 30] * 2),
    lambda: posterior(1),
    lambda: change(posterior(), 1, settled=False),
    with_explanations,
    lambda: posterior(n_draws=3),
    lambda: frozen(apart=0.01),
    lambda: posterior(apart=1.0),
    lambda: posterior(apart=0.3),
    lambda: posterior(2, n_draws=1500, lag=0.95, seed=5),
    with_disputed_entries,
    posterior,
)


def test_every_conclusion_is_explained_on_its_page_in_this_order() -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    page = page[page.index("\n## The conclusions\n") :]
    rows = re.findall(r"^\| ((?:[A-Z]|\d)[^|]+?) \|", page, re.MULTILINE)
    for row, make in zip(rows, SITUATIONS, strict=True):
        pattern = re.sub(r"\d[\d.]*", r"[\\d.,]+", row)
        assert re.match(pattern.replace("...", ".*"), diagnose(make()).conclusion), row


def test_the_gravest_comes_first() -> None:
    apart = posterior(apart=1.0)
    assert "not mixed" in diagnose(apart).conclusion
    assert "burn-in ended" in diagnose(change(apart, 1, settled=False)).conclusion
    lagging = posterior(2, n_draws=1500, lag=0.95, seed=5)
    assert "effective sample size" in diagnose(lagging).conclusion
    several = dataclasses.replace(lagging, weights=(0.5, 0.5), explanations=(0, 1))
    assert "2 explanations" in diagnose(several).conclusion


def test_slow_chains_are_told_of_where_chains_differ_too() -> None:
    slow = {"n_draws": 1500, "lag": 0.95, "seed": 5}
    (problem,) = diagnose(posterior(2, **slow)).problems
    found = dataclasses.replace(posterior(3, **slow), weights=(0.3, 0.3, 0.4), explanations=(0, 0, 1))
    several = diagnose(found)
    first, second = several.problems
    assert first.startswith("The 3 chains found 2 explanations of the data; ")
    assert problem.startswith("The effective sample size of the ")
    assert second == f"In the explanation with most weight, the {problem.removeprefix('The ')}"
    assert several.sentences()[-1] == several.conclusion == f"{first} {second}"


def test_one_chain_with_an_explanation_of_its_own_needs_no_draws() -> None:
    """More draws would not make explanations agree, and one chain cannot disagree with itself."""
    lagging = posterior(2, n_draws=1500, lag=0.95, seed=5)
    (problem,) = diagnose(dataclasses.replace(lagging, weights=(0.5, 0.5), explanations=(0, 1))).problems
    assert problem.startswith("The 2 chains found 2 explanations of the data; ")


def test_chains_that_are_not_counted_come_first() -> None:
    told = diagnose(without_one())
    assert [row.chain for row in told.chains] == [0, 2, 3]
    assert told.about_components() == ["All 3 remaining chains found components 0 and 1."]
    assert told.conclusion == "1 of 4 chains failed and is not counted; the others agree."
    assert not told.fine
    unsettled = diagnose(change(without_one(), 1, settled=False))
    assert unsettled.problems[0] == "1 of 4 chains failed and is not counted."
    assert unsettled.problems[1].startswith("Some chains were still improving")
    outcomes = ("stopped", "included", "failed", "stopped", "included")
    told = diagnose(dataclasses.replace(posterior(2), outcomes=outcomes))
    assert told.problems == (
        "1 of 5 chains failed and is not counted; 2 of 5 chains stopped in burn-in and are not counted; the "
        "others agree.",
    )
    apart = dataclasses.replace(without_one(), weights=(0.5, 0.3, 0.2), explanations=(0, 0, 1))
    assert diagnose(apart).differences[0].startswith("Chain 3 (weight 0.20) ")


def test_one_chain() -> None:
    assert diagnose(posterior(1)).conclusion == (
        "A single chain cannot be checked against others; run at least 2 chains."
    )


def test_different_explanations_are_told() -> None:
    told = diagnose(with_explanations())
    assert told.conclusion == (
        "The 4 chains found 3 explanations of the data; predictions average them by weight, but only "
        "1 of 2 components was found by all chains; trust that one."
    )
    assert told.finders == (4, 3)
    assert told.differences == (
        "Chain 3 (weight 0.25) found the same components with other members.",
        "Chain 2 (weight 0.15) did not find component 1 but found 1 other.",
    )
    assert "All 4 chains found component 0; 3 chains found component 1.\nChain 3" in str(told)
    assert [(row.explanation, row.weight) for row in told.chains] == [
        (0, 0.3),
        (0, 0.3),
        (2, 0.15),
        (1, 0.25),
    ]
    assert all(row.rhat < 1.05 for row in told.quantities)
    assert "agree" not in str(told).replace("agreement", "")


NO_COMPONENT = "no component was found by all chains; trust predictions more than components"


def found_by(*others: tuple[tuple[int, ...], tuple[int, ...]], used: tuple[int, ...] = (0, 1, 2, 3)) -> str:
    """What is told of explanations that found some components of the first one, and some others."""
    first = FoundBy((0,), 0.4, used, (), (), (), 0.0)
    rest = [
        FoundBy((n,), 0.2, found, tuple(sorted({*used} - {*found})), extra, (), 0.0)
        for n, (found, extra) in enumerate(others, 1)
    ]
    return _tell_shared(Findings([first, *rest]))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (found_by(((), ())), f"but {NO_COMPONENT}"),
        (
            found_by(((0, 1), ()), ((0, 2), (5,))),
            "but only 1 of 4 components was found by all chains; trust that one",
        ),
        (found_by(((0, 1, 2), ())), "but only 3 of 4 components were found by all chains; trust those"),
        (
            found_by(((0, 1, 2, 3), ())),
            "and all chains found the same components with partly different members",
        ),
        (
            found_by(((0, 1, 2, 3), (4,))),
            "but some found others beside the 4 components that all chains found; trust those",
        ),
        (
            found_by(((0,), (4, 5)), used=(0,)),
            "but some found others beside the component that all chains found; trust that one",
        ),
        (found_by(((), (0, 1)), used=()), f"but {NO_COMPONENT}"),
        (found_by(((), ()), used=()), "and all chains found no component"),
    ],
)
def test_what_chains_share_is_told_in_plain_words(found: str, told: str) -> None:
    assert found == told


def test_a_better_explanation_with_less_weight_is_told() -> None:
    found = with_explanations()
    found.chains[3].log_likelihood[:] = found.chains[0].log_likelihood + 440
    first, second = diagnose(found).differences
    assert first.startswith("Chain 3 (weight 0.25, log-likelihood 44")
    assert second.startswith("Chain 2 (weight 0.15) did not")


def test_components_that_nobody_uses_are_not_judged() -> None:
    """Their strengths are drawn from the prior alone."""
    cells = np.random.default_rng(0).random((9, 8, 7)) < 0.05
    cells[:5, :4, :4] = True
    fit = TensOrMachine(
        2, noise="strengths", n_chains=2, n_draws=40, burn_in=20, effort=0, progress=False, random_state=0
    )
    found = fit.fit(cells).posterior_
    width = found.chains[0].noise.shape[1]
    columns = found.parameters.by_name(np.arange(width)[None], 2, found.shape)["strength"][0]
    assert diagnose(found).finders == (2, 0)
    for chain, trace in enumerate(found.chains):
        trace.noise[:, int(columns[1])] = 0.2 + 0.3 * chain + 0.001 * np.arange(40)
    told = diagnose(dataclasses.replace(found))
    assert "strength of component 0" in {quantity.name for quantity in told.quantities}
    assert "component 1" not in told.conclusion
    assert told.about_components() == ["Both chains found component 0; component 1 is empty."]


def test_chains_said_to_agree_found_all_components() -> None:
    """Also one that a chain has in a little less than half of its draws, and so without sure members."""

    def draw(share: float) -> list[list[np.ndarray]]:
        rng = np.random.default_rng(3)
        here = rng.permutation(1000) < 1000 * share
        return [BLOCK if one else [BLOCK[0], BLOCK[1] & [True, False]] for one in here]

    found = make_posterior([draw(0.51), draw(0.51), draw(0.51), draw(0.49)])
    rng = np.random.default_rng(0)
    for trace in found.chains:
        set_noise(trace, [0.7, 0.2] + 0.01 * rng.normal(size=(1000, 2)))
    means = [factor_means(trace) for trace in found.chains]
    assert group_chains(found.chains, means) == [0, 0, 0, 0]
    told = diagnose(found)
    assert told.conclusion == "All 4 chains agree."
    assert told.about_components() == ["All 4 chains found components 0 and 1."]
    assert [one.chains for one in describe_components(found)] == [4, 4]


def test_many_explanations_are_cut_short() -> None:
    def differences(*weights: float) -> tuple[str, ...]:
        several = {"weights": weights, "explanations": tuple(range(len(weights)))}
        return diagnose(dataclasses.replace(posterior(len(weights)), **several)).differences

    every = differences(0.4, 0.3, 0.2, 0.1)
    assert [text.split(")")[0] for text in every] == [f"Chain {n} (weight 0.{4 - n}0" for n in (1, 2, 3)]
    assert differences(0.4, 0.3, 0.2, 0.06, 0.04)[3:] == ("The other explanation has a weight of 0.04.",)
    told = ("The other explanations have a total weight of 0.04.",)
    assert differences(0.4, 0.3, 0.2, 0.06, 0.03, 0.01)[3:] == told


def test_other_explanations_can_be_described() -> None:
    found = with_explanations()
    model = TensOrMachine()
    model._keep(found, None)
    assert model.describe(explanation=0) == model.describe()
    told = model.describe(explanation=2)
    assert told[3].startswith("Component 1 - mode 0: 1, 4 (2 of 6); mode 1: 0, 2 (2 of 5). ")
    assert told[3].endswith(" 1 of 4 chains found it.")
    assert told[4:6] == [
        "Chain 3 (weight 0.25) did not find component 1 but found 1 other.",
        "Chains 0 and 1 (weight 0.60) did not find component 1 but found 1 other.",
    ]
    counted = [Measured((Contribution(0, n, 5, 5, 1, 5, 1, 0.1, 9.0),)) for n in (6, 7, 8)]
    first = dataclasses.replace(found, measures=tuple(counted)).put_first(2)
    assert [row.contributions[0].covered for row in first.measures] == [8, 7, 6]
    assert first.contributions == counted[2].contributions
    np.testing.assert_array_equal(first.predict_all(), found.predict_all())
    with pytest.raises(InputError, match="explanation is 3; give"):
        model.describe(explanation=3)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "component 3"),
        ([0, 1], "components 0 and 1"),
        ([0, 1, 2, 5, 7], "components 0 to 2, 5 and 7"),
        ([4, 6, 7, 8], "components 4 and 6 to 8"),
    ],
)
def test_numbers_of_components(numbers: list[int], text: str) -> None:
    assert number_components(numbers) == text


@pytest.mark.parametrize("n_chains", [1, 2])
def test_components_that_are_all_empty(n_chains: int) -> None:
    empty = make_posterior([[[np.zeros((4, 2), bool), np.zeros((3, 2), bool)]] * 30] * n_chains)
    first, *others = diagnose(empty).problems
    assert first == "No pattern was found beyond a constant rate of ones."
    assert [other[:14] for other in others] == ["A single chain"] * (n_chains == 1)


def test_chains_that_were_still_improving() -> None:
    assert diagnose(SITUATIONS[3]()).conclusion == (
        "Some chains were still improving when burn-in ended; use a longer burn-in."
    )


def test_chains_that_have_not_mixed() -> None:
    assert diagnose(posterior(apart=1.0)).conclusion.startswith(
        "All chains found the same components but have not mixed: the R-hat of the rate of ones "
    )
    for apart, remedy in (
        (0.5, "use at least "),
        (1.0, "they move too slowly for more draws to help, so trust "),
    ):
        found = diagnose(posterior(apart=apart))
        worst = max(found.quantities, key=lambda row: row.rhat)
        assert f"R-hat of the {worst.name} is {worst.rhat:.2f}; {remedy}" in found.conclusion


def test_the_table_says_what_is_too_small_and_what_does_not_count() -> None:
    rows = (
        Mixing("strength of component 1", "moving", 1.5, 9.0, 9.0),
        Mixing("log-likelihood", "moving", 1.01, 76.0, 90.0),
        Mixing("activity of person ann", "moving", 1.01, 10.0, 9.0, judged=False),
        Mixing("rate of ones outside", "stuck"),
    )
    found = diagnose(posterior())._replace(quantities=rows)
    assert [found.note(row) for row in rows] == [
        "large R-hat, small ESS",
        "small ESS",
        "not judged: at most the cells of one index depend on it",
        "constant within chains, different between them",
    ]
    assert all(found.note(row) in str(found) for row in rows)
    poor = found._replace(entries=EntryMixing(22, 12, 0, 10, 1.01, 0, 10.0))
    assert poor.about_entries().endswith("ESS 10 (of a single entry).")


def test_beside_noise_only_what_it_does_not_say_is_told() -> None:
    found = diagnose(posterior(apart=1.0))
    assert "have not mixed" in found.beside("they explain nothing")
    assert found.beside("") == found.conclusion
    nothing, rest = "No pattern was found beyond a constant rate of ones.", "The chains are tired."
    assert found._replace(problems=(nothing,)).beside("x") == ""
    assert found._replace(problems=(nothing, rest)).beside("x") == rest
    assert found._replace(problems=()).beside("x") == ""  # that chains agree is no news here


def test_a_large_rhat_asks_for_as_many_more_draws() -> None:
    none = EntryMixing(22, 12, 0, 10, 1.3, 1, 20.0)
    worst = Mixing("rate of ones inside", "moving", 1.5, 90.0, 90.0)  # 10 times 0.05 above 1
    assert next(_judge_mixing([worst], none, 200)).endswith("; use at least 2,000 draws per chain.")
    much = next(_judge_mixing([worst._replace(rhat=1.51)], none, 200))
    assert much.endswith(
        "; they move too slowly for more draws to help, so trust predictions more than single memberships."
    )
    few = Mixing("log-likelihood", "moving", 1.0, 9.0, 9.0)
    assert next(_judge_mixing([few], none, 200)) == (
        "The effective sample size of the log-likelihood is only 9; the chains move too slowly for more "
        "draws to help, so do not trust the second digit of a probability."
    )


def test_few_effective_draws() -> None:
    slow = diagnose(SITUATIONS[9]())
    assert max(row.rhat for row in slow.quantities) < 1.05
    least = min(row.ess for row in slow.quantities)
    assert least < 100
    wanted = 1500 * int(np.ceil(100 / least))
    slowest = min(slow.quantities, key=lambda row: row.ess)
    assert slow.conclusion == (
        f"The effective sample size of the {slowest.name} is only {least:.0f}; use at least "
        f"{wanted:,} draws per chain before you trust the second digit of a probability."
    )


def test_entries_that_chains_disagree_on() -> None:
    told = diagnose(with_disputed_entries())
    assert told.entries.stuck == 4
    assert told.conclusion == (
        "The chains fit equally well but disagree on 4 of 22 entries; use more draws, or trust predictions "
        "more than single memberships."
    )
    assert "18 are the same in all draws and 4 never change but differ between chains." in str(told)


def test_one_disputed_entry_in_many_is_reported_but_does_not_decide() -> None:
    other = [BLOCK[0].copy(), BLOCK[1]]
    other[0][3, 0] = True
    found = change(posterior(2), 1, factors=posterior(1, factors=other).chains[0].factors)
    told = diagnose(found)
    assert told.entries.stuck == 1
    assert told.conclusion == "Both chains agree."


def test_what_does_not_move_is_said_in_words() -> None:
    told = diagnose(frozen())
    assert told.conclusion == "All 3 chains agree."
    assert str(told).count("the same in all draws") == 4
    assert "nan" not in str(told)
    told = diagnose(frozen(apart=0.01))
    assert (
        str(told).count("constant within chains, different between them") == 2
    )  # the likelihood goes with the rate
    assert told.conclusion == (
        "The rate of ones inside never changes within a chain but differs between chains; run more chains."
    )


@pytest.mark.parametrize(("n_draws", "text"), [(1, "1 draw"), (3, "3 draws")])
def test_too_few_draws(n_draws, text) -> None:
    told = diagnose(posterior(n_draws=n_draws))
    wanted = f"Each chain has only {text}, too few to compare chains; use at least 100."
    assert told.conclusion == wanted
    assert str(told).count("too few draws to tell") == 3


def test_chains_of_different_lengths_are_compared_over_the_shortest() -> None:
    found = posterior()
    short = {
        name: getattr(found.chains[1], name)[:50]
        for name in ("noise", "density", "confusion", "log_posterior")
    }
    factors = tuple(packed[:50] for packed in found.chains[1].factors)
    told = diagnose(change(found, 1, factors=factors, **short))
    assert told.conclusion == "All 4 chains agree."
    assert max(row.ess for row in told.quantities) < 4 * 50 * 2


def test_a_fit_sums_itself_up(capsys) -> None:
    sim = datasets.simulate((12, 11, 10), rank=2, density=0.3, noise=0.1, random_state=0)
    model = TensOrMachine(2, n_chains=3, n_draws=60, random_state=0, noise="asymmetric", progress=False).fit(
        sim.observed
    )
    model.summary()
    printed = capsys.readouterr().out
    assert printed == f"{model.diagnostics_}\n"
    assert printed.endswith("All 3 chains agree.\n")


def test_hard_data_are_not_called_settled() -> None:
    """Where noise drowns the components, agreement of the means alone would be taken for success."""
    sim = datasets.simulate((10, 10, 10), rank=5, density=0.3, noise=0.4, random_state=0)
    model = TensOrMachine(5, n_draws=100, random_state=0, noise="asymmetric", progress=False).fit(
        sim.observed
    )
    assert not model.diagnostics_.conclusion.endswith("agree.")


@pytest.mark.parametrize("n_draws", [20, 50, 200])
def test_independent_draws_are_hardly_ever_called_unmixed(n_draws) -> None:
    conclusions = [diagnose(posterior(2, n_draws, seed=seed)).conclusion for seed in range(60)]
    assert sum("not mixed" in conclusion for conclusion in conclusions) <= 2
    assert sum("not mixed" in diagnose(posterior(2, 60, apart=2.0, seed=s)).conclusion for s in range(5)) == 5


def test_chains_from_random_starts_are_not_said_to_agree() -> None:
    """Cut short at once, they differ in components and in fit."""
    X = datasets.simulate((12, 12, 12), rank=4, density=0.3, noise=0.1, random_state=0).observed
    model = TensOrMachine(
        4, init="random", burn_in=0, n_draws=6, random_state=0, noise="asymmetric", progress=False
    ).fit(X)
    assert "explanations of the data" in model.diagnostics_.conclusion
    assert sum(model.posterior_.weights) == pytest.approx(1)
