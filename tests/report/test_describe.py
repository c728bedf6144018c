"""What was found, in words: exact texts for posteriors made by hand, and a planted block found by a fit."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import xarray

from posteriors import HOURS, PEOPLE, ROLES, bits, make_posterior, set_noise, ward_posterior
from tensorm import DenseTensor, TensOrMachine, datasets
from tensorm.data.inputs import Names
from tensorm.posterior.contributions import Contribution, Measured
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import list_modes
from tensorm.report.card import render_card
from tensorm.report.describe import (
    Description,
    describe,
    describe_components,
    describe_noise,
    percent,
    share_explained,
)
from tensorm.report.export import list_members, list_strengths
from tensorm.report.naming import plural
from tensorm.report.page.write import render_report
from tensorm.sampler.strengths import ActiveStrengths

BY_ROLE = {"person": ROLES, "met": ROLES}


def members(labels, chosen, size=None) -> str:
    """The words for some members of a mode."""
    size = len(labels) if size is None else size
    labels = None if labels is None else np.asarray(labels)
    posterior = make_posterior([[[bits(size, chosen), bits(1, [0])]]], labels=(labels, None))
    return describe_components(posterior)[0].members[0].text


def test_components_by_group() -> None:
    first, second, noise = describe(ward_posterior(), BY_ROLE)
    assert first == (
        "Component 0 - hour: 08-11 (3 of 6); person and met: all 4 doctors, 1 of 4 nurses. "
        "It covers 75 cells (20%). All 8 members have p > 0.9."
    )
    assert second == (  # 2 x 2 x 2 cells of members, though in some draws there are 2 x 2 x 3
        "Component 1 - hour: night, 12-13 (2 of 6); person and met: 2 of 4 nurses. "
        "It covers 8 cells (2.1%). All 4 members have p > 0.9. "
        "Possible further members: nurse 04 (0.12)."
    )
    assert noise == (
        "Inside the components 59% of the cells are 1, outside 1.2%. The components contain 79% of the "
        "ones and 7.0% of all observed cells."
    )


def test_number_and_share_of_cells_agree() -> None:
    found = Description(0, (), cells=6.84, share=6.84 / 9, chains=1, n_chains=1)
    assert found.how_much() == "It covers 7 cells (78%)."  # the mean is 76% of 9
    assert found._replace(said="x").how_much() == "It predicts 7 comparisons (78%)."
    assert (
        found._replace(said="x", ones=0.8).how_much()
        == "It predicts 7 comparisons (78%), 80% of them correctly."
    )
    strong = found._replace(ones=0.5, strength=0.2)
    assert strong.how_much() == (
        "It covers 7 observed cells (78%), of which 50% are 1. "
        "By itself it makes a cell 1 with probability 20%."
    )


def test_a_component_without_which_the_data_are_as_probable_is_told() -> None:
    found = Description(0, (), 7, 0.1, 1, 1, strength=0.011, ones=0.2, lost=3.0)
    assert found.how_much().endswith(" The data are about as probable without it.")
    assert (
        found._replace(strength=None).how_much().endswith("are 1. The data are about as probable without it.")
    )
    for lost in (20.0, None):
        assert found._replace(lost=lost).how_much().endswith("makes a cell 1 with probability 1.1%.")


def test_shares_near_one_have_a_decimal() -> None:
    assert [percent(share) for share in (0.05, 0.42, 0.9849, 0.985, 0.99, 0.9951, 0.9996, 1)] == [
        "5.0%", "42%", "98%", "98.5%", "99.0%", "99.5%", ">99.9%", "100%"
    ]  # fmt: skip


def test_cells_are_those_of_the_contributions() -> None:
    X = datasets.ward()[:, :20, :20]
    model = TensOrMachine(
        2, n_chains=2, n_draws=5, burn_in=5, effort=0, random_state=0, noise="asymmetric", progress=False
    ).fit(X)
    for told, row in zip(describe_components(model.posterior_), model.contributions_, strict=True):
        assert (told.cells, told.ones) == (row.covered, row.explained / row.covered)
        assert told.share == row.covered / int(np.isfinite(X).sum())


def test_components_by_name() -> None:
    first, second, _ = describe(ward_posterior())
    assert "person and met: doctor 01 to 04, nurse 01 (5 of 8)" in first
    assert "person and met: nurse 02, nurse 03 (2 of 8)" in second


def test_sentences_are_a_list_that_prints_as_a_text() -> None:
    texts = describe(ward_posterior())
    assert isinstance(texts, list)
    assert str(texts) == repr(texts) == "\n".join(texts)
    assert str(texts).count("\n") == 2


def test_modes_that_differ_are_told_apart() -> None:
    draw = [bits(6, [1]), bits(8, [0, 1]), bits(8, [0])]
    posterior = make_posterior([[draw]], ("hour", "person", "met"), (HOURS, PEOPLE, PEOPLE))
    assert "person: 2 of 4 doctors; met: 1 of 4 doctors." in describe(posterior, BY_ROLE)[0]


def test_same_members_of_unlabelled_modes_are_not_taken_for_the_same() -> None:
    posterior = make_posterior([[[bits(3, [0]), bits(3, [0])]]])
    assert describe(posterior)[0].startswith("Component 0 - mode 0: 0 (1 of 3); mode 1: 0 (1 of 3).")


@pytest.mark.parametrize(
    ("labels", "chosen", "text"),
    [
        (["08-09", "09-10", "10-11", "12-13"], [0, 1, 3], "08-10, 12-13 (3 of 4)"),
        ([1109, 1114, 1115, 1116, 1130], [0, 1, 2, 3], "1109, 1114 to 1116 (4 of 5)"),
        (["08-09", "09-10", "10-11", "12-13"], [2, 3], "10-11, 12-13 (2 of 4)"),
        (["Ann", "Bob", "Cy", "Di"], [0, 1, 2], "Ann, Bob, Cy (3 of 4)"),
        (["g1", "g2", "g4", "g5", "g6"], [0, 1, 2, 3], "g1, g2, g4, g5 (4 of 5)"),
        (["g1", "g2", "g4", "g5", "g6"], [1, 2, 3, 4], "g2, g4 to g6 (4 of 5)"),
        ([0.1, 0.2, 0.3, 0.4], [0, 1, 2], "0.1 to 0.3 (3 of 4)"),
        (
            np.arange("2024-01-01", "2024-01-05", dtype="M8[D]"),
            [1, 2, 3],
            "2024-01-02 to 2024-01-04 (3 of 4)",
        ),
        (["a", "b", "c"], [0, 1, 2], "all 3"),
        (["2024-12", "2025-01", "2025-02", "2025-03"], [1, 2, 3], "2025-01 to 2025-03 (3 of 4)"),
        (["enter", "leave"], [0, 1], "both"),
    ],
)
def test_names_of_members(labels, chosen, text) -> None:
    assert members(labels, chosen) == text


def test_numbers_of_members() -> None:
    assert members(None, [0, 2, 3, 4, 6, 7], size=9) == "0, 2 to 4, 6, 7 (6 of 9)"
    assert members(None, range(0, 40, 2), size=50) == "0, 2, 4, 6, 8, 10, 12, 14, ... (20 of 50)"


def test_of_many_names_those_that_contribute_most_are_told() -> None:
    """Everyone from c on shows all cells; of these, e to h have some in the second component, too."""
    names = np.array(list("abcdefghijklmnop"))
    members = [bits(16, range(14), range(4, 8)), bits(5, [0, 1, 2], [2, 3])]
    X = np.zeros((16, 5))
    X[:14, :3] = X[4:8, 3] = 1
    X[:2, 0] = 0
    posterior = make_posterior([[members]], labels=(names, None))
    first = describe_components(posterior)[0].members[0].text
    assert first == "a, b, c, d, e, f, g, h, ... (14 of 16)"  # nothing was counted
    counted = posterior.measure(DenseTensor(X))
    first, second = (component.members[0].text for component in describe_components(counted))
    assert first == "c, d, i, j, k, l, m, n, ... (14 of 16)"
    assert second == "e, f, g, h (4 of 16)"
    assert list_members(counted).label.tolist()[:14] == list("cdijklmnefghab")


def test_a_doubtful_member_does_not_come_first() -> None:
    draws = [[bits(12, range(first, 11), []), bits(2, [0], [])] for first in (0, 0, 0, 1)]
    counted = make_posterior([draws]).measure(DenseTensor(np.ones((12, 2))))
    assert list_modes(counted)[0].members(0).tolist() == [*range(1, 11), 0]


def test_all_counts_are_those_of_the_members() -> None:
    """The most probable draw has a row less, and the draws on average another number, too."""
    whole, part = [bits(6, range(4)), bits(5, range(3))], [bits(6, range(3)), bits(5, range(3))]
    posterior = make_posterior([[whole, whole, part]])
    posterior.chains[0].log_posterior[2] = 1
    X = np.zeros((6, 5))
    X[:4, :3] = X[5, 4] = 1
    counted = posterior.measure(DenseTensor(X))
    (told,) = describe_components(counted)
    assert (told.cells, told.ones) == (len(list_members(counted).query("mode == 'mode 0'")) * 3, 1)
    assert (counted.contributions[0].covered, counted.contributions[0].added) == (12, 12)
    for trace in counted.chains:
        trace.confusion[:] = [9, 0, 4, 17]  # that of another draw; the data have 13 ones in 30 cells
    assert share_explained(counted) == (12 / 13, 12 / 30)


def test_many_groups_are_cut_to_the_largest() -> None:
    groups = [f"T{i}" for i in range(12) for _ in range(i + 2)]
    chosen = [n for n, name in enumerate(groups) if name != "T11" or n % 2]
    posterior = make_posterior([[[bits(len(groups), chosen), bits(2, [0])]]])
    text = describe_components(posterior, {0: groups})[0].members[0].text
    assert text.startswith("all 12 T10, all 11 T9, all 10 T8")
    assert text.endswith(", ...")


def test_plurals() -> None:
    groups = ["box", "box", "city", "city", "BRCA", "BRCA", "staff members", "staff members", "one"]
    posterior = make_posterior([[[bits(9, [0, 2, 4, 6, 8]), bits(1, [0])]]])
    text = describe_components(posterior, {0: groups})[0].members[0].text
    assert text == "1 of 2 boxes, 1 of 2 cities, 1 of 2 BRCA, 1 of 2 staff members, all 1 one"


def test_beside_places_no_group_has_a_plural() -> None:
    groups = ["north", "north", "coast", "coast", "unknown"]
    posterior = make_posterior([[[bits(5, [0, 2, 4]), bits(1, [0])]]])
    text = describe_components(posterior, {0: groups})[0].members[0].text
    assert text == "1 of 2 north, 1 of 2 coast, all 1 unknown"


def test_verbs_have_no_plural() -> None:
    assert [plural(name, 2) for name in ("met", "visited", "person", "day", "north")] == [
        "met",
        "visited",
        "people",
        "days",
        "north",
    ]


def test_doubt_in_several_modes_names_each() -> None:
    halves = [[bits(3, [0, 1]), bits(3, [0, 1])]] * 3 + [[bits(3, [0]), bits(3, [0])]]
    text = describe(make_posterior([halves], modes=("hour", "met")))[0]
    assert text.endswith(" Uncertain members in hour: 1 (0.75), in met: 1 (0.75).")


@pytest.mark.parametrize(
    ("said", "told"),
    [(None, "None of its cells is observed."), ("x above y", "It predicts 0 comparisons (0%).")],
)
def test_nothing_is_said_of_the_ones_among_no_cells(said: str | None, told: str) -> None:
    posterior = ward_posterior()
    none = Contribution(0, 0, 0, 0, 0, 0, 0, 0.0, 0.0)
    measures = (Measured((none, none._replace(component=1))),)
    first, _ = describe_components(replace(posterior, measures=measures))
    assert first._replace(said=said).how_much() == told


def test_doubt_is_counted_and_named() -> None:
    sure, unsure = bits(8, range(6)), bits(8, [0])
    posterior = make_posterior([[[bits(2, [0]), sure]] * 3 + [[bits(2, [0]), unsure]]])
    assert describe(posterior)[0].endswith(
        "2 of 7 members have p > 0.9. "
        "Uncertain members in mode 1: 1 (0.75), 2 (0.75), 3 (0.75), 4 (0.75) and 1 more."
    )


def test_few_components_are_those_that_chains_agree_on() -> None:
    """Components 1 and 3 are the same in all chains, 0 and 2 in no two of them; the first is the longest."""
    draws = [[bits(8, [first], [0], [first + 1], [1])] * 2 for first in (2, 4, 6)]
    posterior = replace(make_posterior([draws[:1] * 3, draws[1:2], draws[2:]]), explanations=(0, 1, 2))
    assert len(describe(posterior, most=4)) == 7
    texts = describe(posterior, most=3)
    assert [text[:11] for text in texts[:2]] == ["Component 1", "Component 3"]
    assert texts[2] == "2 more, found by half of the chains or fewer."
    texts = describe(posterior, most=1)
    assert texts[0].startswith("Component 1")
    assert texts[1] == "3 more, 2 of which were found by half of the chains or fewer."


def test_chains_that_found_something_else_are_counted() -> None:
    draw = [bits(4, [0, 1], [2]), bits(4, [0, 1], [2])]
    lost = [bits(4, [0, 1], []), bits(4, [0, 1], [])]
    texts = describe(replace(make_posterior([[draw], [draw], [lost]]), explanations=(0, 0, 1)))
    assert not texts[0].endswith("chains found it.")
    assert texts[1].endswith("2 of 3 chains found it.")
    texts = describe(replace(make_posterior([[draw], [lost], [lost]]), explanations=(1, 0, 0)))
    assert texts[1:3] == [
        "Component 1 is empty.",
        "Chain 0 (weight 0.33) found the same components and 1 other.",
    ]
    texts = describe(make_posterior([[lost], [lost]]))
    assert texts[1] == "Component 1 is empty."


@pytest.mark.parametrize(("kept", "number"), [([0, 1], 1), ([], 0)])
def test_what_is_too_uncertain_to_describe_is_not_said_to_be_found(kept: list[int], number: int) -> None:
    """One chain is sure of the members of a component; in the mean of all chains it has none."""
    draw = [bits(4, kept, [2]), bits(4, kept, [2])]
    lost = [bits(4, kept, []), bits(4, kept, [])]
    posterior = make_posterior([[draw] * n + [lost] * (10 - n) for n in (6, 4, 4, 4)])
    assert [one.chains for one in describe_components(posterior)] == [4 * number, 0]
    told, summary = describe(posterior), str(diagnose(posterior))
    assert summary.count("found component") == number
    found = "All 4 chains found component 0; component 1 is empty.\n" in summary
    assert found == ("Component 1 is empty." in told) == bool(kept)
    assert ("look like noise" in told[-1]) == ("No pattern was found" in summary) == (not kept)


def test_what_other_explanations_see_differently_is_told() -> None:
    draw = [bits(6, [0, 1], [2]), bits(4, [0, 1], [2])]
    other = [bits(6, [0, 1], [4, 5]), bits(4, [0, 1], [3])]
    posterior = make_posterior([[draw], [draw], [other]])
    told = replace(posterior, weights=(0.3, 0.3, 0.4), explanations=(0, 0, 1))
    texts = describe(told)
    assert texts[1].startswith("Component 1 - mode 0: 2 (1 of 6)")  # no mixture of two
    assert texts[1].endswith("2 of 3 chains found it.")
    assert texts[2] == "Chain 2 (weight 0.40) did not find component 1 but found 1 other."


def test_of_noise_everything_else_comes_later() -> None:
    nothing, something = [bits(4, []), bits(4, [])], [bits(4, [1]), bits(4, [2])]
    posterior = make_posterior([[nothing], [nothing], [something]])
    told = replace(posterior, weights=(0.3, 0.3, 0.4), explanations=(0, 0, 1))
    first, second, third = describe(told)
    assert first.startswith("The data look like noise: no component has members in every mode")
    assert second == "Chain 2 (weight 0.40) found 1 component."
    assert "but no component was found by all chains" in third
    apart = make_posterior([[[bits(4, [n]), bits(4, [n])]] for n in range(2)])
    first, *_, last = describe(replace(apart, weights=(0.5, 0.5), explanations=(0, 1)), most=0)
    assert first == "The data look like noise: no two chains found the same component."
    assert last.startswith("Inside the component")


def test_nothing_is_said_about_the_inside_of_empty_components() -> None:
    nothing = [bits(4, [], []), bits(4, [], [])]
    assert describe(make_posterior([[nothing]] * 2, noise=(0.49, 0.03), accuracy=0.03)) == [
        "The data look like noise: no component has members in every mode; 3.0% of the observed cells are 1.",
    ]
    found = [bits(4, [0], [1]), bits(4, [0], [1])]
    assert describe(make_posterior([[nothing], [nothing], [found]])) == [
        "The data look like noise: no component has members in every mode; 5.3% of the observed cells are 1.",
    ]


def test_components_that_explain_nothing_look_like_noise() -> None:
    one = [bits(3, [0]), bits(4, [0])]
    posterior = make_posterior([[one] * 2] * 2, noise=(0.3, 0.29))
    for trace in posterior.chains:
        trace.confusion[:] = [30, 70, 261, 639]
        set_noise(trace, (0.3, 0.29))
    first, state, component, _ = describe(posterior)
    assert first == "The data look like noise: the components explain next to nothing."
    assert state == "Each chain has only 2 draws, too few to compare chains; use at least 100."
    assert component.startswith("Component 0 - ")
    apart = [[[bits(3, [n]), bits(4, [n])]] * 3 for n in range(2)]
    told = describe(replace(make_posterior(apart), weights=(0.5, 0.5), explanations=(0, 1)))
    assert told[0] == "The data look like noise: no two chains found the same component."


def test_without_a_sure_member_data_look_like_noise() -> None:
    draws = [[bits(3, [n % 3, n % 2]), bits(4, [0] if n else [1])] for n in range(6)]
    assert describe(make_posterior([draws] * 2))[0] == "The data look like noise: no membership has p > 0.9."
    draws[0][1] = bits(4, [0, 1])
    assert describe(make_posterior([draws] * 2))[0].startswith("Component 0 - ")


def test_noise_does_not_hide_that_chains_have_not_mixed() -> None:
    one = [bits(3, [0]), bits(4, [0])]
    posterior = make_posterior([[one] * 20] * 2)
    for trace, shift in zip(posterior.chains, (0.0, 0.02), strict=True):
        trace.confusion[:] = [30, 70, 261, 639]
        set_noise(trace, np.column_stack([0.31 + shift + 0.001 * np.arange(20), np.full(20, 0.29)]))
    first, second, component, _ = describe(posterior)
    assert first == "The data look like noise: the components explain next to nothing."
    assert second.startswith("The chains agree on all memberships, but the R-hat of the ")
    assert component.startswith("Component 0 - ")
    assert second in unescape(render_card(posterior))
    assert second in unescape(render_report(posterior))
    reason = "The data look like noise: the components explain next to nothing. 1 component explains"
    assert reason in unescape(render_report(posterior))
    assert reason in unescape(render_card(posterior))


def test_noise_in_words() -> None:
    posterior = make_posterior([[[bits(1, [0]), bits(1, [0])]]], noise=(1.0, 0.0002), accuracy=0.9996)
    posterior.chains[0].confusion[:] = [30, 10, 20, 940]  # 96% would be right without any component, too
    assert describe_noise(posterior) == (
        "Inside the components 100% of the cells are 1, outside <0.1%. The components contain 60% of the "
        "ones and 4.0% of all observed cells."
    )


def strong_posterior(strengths, activities):
    """Two chains of ten draws of two components, the second one empty, with given rows of parameters."""
    one = [bits(3, [0], []), bits(2, [0], [])]
    posterior = make_posterior([[one] * 10] * 2)
    rows = [
        np.column_stack([np.tile([*strengths, 0.5, 0.3, 0.1, 1, 1], (10, 1)), activity])
        for activity in activities
    ]
    chains = [
        replace(trace, parameters=ActiveStrengths, noise=noise)
        for trace, noise in zip(posterior.chains, rows, strict=True)
    ]
    return Posterior(tuple(chains), posterior.shape, Names(posterior.modes, posterior.labels))


def test_only_components_with_members_are_said_to_make_ones() -> None:
    posterior = strong_posterior((0.61, 0.9), [np.ones((10, 5))] * 2)
    assert describe_noise(posterior).startswith("Components make 61% of their cells 1; outside them, ")
    assert list_strengths(posterior)["empty"].tolist() == [False, True]


def test_only_who_is_most_active_in_most_draws_is_named() -> None:
    """Draws lie on a grid, so that two indices may be equally active."""
    sure, other = [[1, 3, 1, 2, 1]] * 10, [[1, 2, 1, 1, 2]] * 10
    told = [describe_noise(strong_posterior((0.6, 0.4), each)) for each in ([sure, other], [sure, sure])]
    assert " Most active outside the components: 1 (mode 0)." in told[0]
    assert " Most active outside the components: 1 (mode 0) and 0 (mode 1)." in told[1]
    assert "Most active" not in describe_noise(strong_posterior((0.6, 0.4), [np.ones((10, 5))] * 2))


def test_labels_with_commas_are_quoted() -> None:
    draw = [bits(3, [0, 1]), bits(4, [0, 1, 3])]
    labels = np.array(["Bo, Jr.", "Ann", "Cy"]), np.array(["saw", "axe", "nail", "bolt; screw"])
    told = describe(make_posterior([[draw]], ("who", "what"), labels))[0]
    assert 'who: "Bo, Jr.", Ann (2 of 3); what: saw, axe, "bolt; screw" (3 of 4)' in told


def test_rates_have_intervals() -> None:
    one = [bits(1, [0]), bits(1, [0])]
    rates = np.column_stack([np.linspace(0.5, 0.7, 101), np.full(101, 0.01)])
    posterior = make_posterior([[one] * 101])
    set_noise(posterior.chains[0], rates)
    assert describe_noise(posterior).startswith(
        "Inside the components 51% to 69% of the cells are 1, outside 1.0% (90% intervals). "
    )


def test_a_planted_block_is_found_and_described() -> None:
    product = np.zeros((6, 8, 8), dtype=np.int8)
    product[1:4, :5, :5] = 1
    X = xarray.DataArray(
        product, dims=("hour", "person", "met"), coords={"hour": HOURS, "person": PEOPLE, "met": PEOPLE}
    )
    start = [bits(6, [1, 2, 3]), bits(8, range(5)), bits(8, range(5))]
    model = TensOrMachine(
        1, n_chains=2, n_draws=50, init=start, random_state=0, noise="asymmetric", progress=False
    ).fit(X)
    text = model.describe(BY_ROLE)[0]
    assert text.startswith(
        "Component 0 - hour: 08-11 (3 of 6); person and met: all 4 doctors, 1 of 4 nurses. "
        "It covers 75 observed cells (20%), of which 100% are 1. "
    )
