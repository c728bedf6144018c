"""Every command as its help shows it, from files to pages; and how each refuses."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import click
import distributed
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from interrupting import let_chain_fail
from page_data import page_data
from tensorm import FileError, InputError, RelationalTensor, TensOrMachine, datasets, load
from tensorm.cli import main
from tensorm.cli.folders import load_metadata
from tensorm.storage.run import open_run

main.list_commands(click.Context(main))  # imports the commands, which fills main.commands


def run(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the examples name, and a fit in runs/ward."""
    path = tmp_path_factory.mktemp("files")
    X = datasets.ward().isel(person=slice(0, 18), met=slice(0, 18))
    hour, person, met = np.nonzero(X.values == 1)
    contacts = pd.DataFrame({"hour": X.hour.values[hour], "person": X.person.values[person]})
    contacts["met"] = X.met.values[met]
    contacts.to_csv(path / "contacts.csv", index=False)
    pd.DataFrame({"hour": hour, "person": person, "met": met}).to_parquet(path / "contacts.parquet")
    clock = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(hour == 0, 3, hour + 7), "h")
    badges = pd.DataFrame({"t": clock, "i": person, "j": met})[person < met]
    badges.to_csv(path / "badges.tsv", sep="\t", index=False)
    pd.DataFrame({"person": X.person.values, "role": X.role.values}).to_csv(path / "roles.csv", index=False)
    contacts.iloc[:3].to_csv(path / "pairs.csv", index=False)
    genes = datasets.simulate((12, 15), rank=2, noise=0.05, random_state=0).observed
    names = [f"p{i}" for i in range(12)]
    pd.DataFrame(genes, index=names, columns=[f"g{j}" for j in range(15)]).to_csv(path / "genes.csv")
    levels = np.random.default_rng(0).normal(size=(12, 6)) + 3 * genes[:, :6]
    pd.DataFrame(levels, index=names, columns=list("uvwxyz")).to_csv(path / "expression.csv")
    pd.DataFrame({"label": names, "type": ["a", "b"] * 6}).to_csv(path / "patients.csv", index=False)
    return path


def examples() -> list[str]:
    """All lines of help that begin with the program's name, fits first."""
    commands = [*main.commands.values(), *main.commands["datasets"].commands.values()]
    lines = [line.strip() for command in commands for line in (command.help or "").splitlines()]
    found = [line for line in lines if line.startswith("tensorm ")]
    return sorted(found, key=lambda line: not line.startswith("tensorm fit"))


@contextmanager
def threads(scheduler: None, workers: int) -> Iterator[distributed.Client]:
    """A cluster whose workers are threads: processes take seconds to start, and have tests of their own."""
    how = {"processes": False, "dashboard_address": ":0", "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=workers, **how) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ([], {"noise": "auto", "init": "data", "n_chains": 4, "burn_in": "auto"}),
        (["--as-published"], {"noise": "symmetric", "init": "coins", "n_chains": 1, "factor_prior": 0.5}),
        (
            ["--as-published", "--chains", 2, "--init", "data", "--noise-update", "sample"],
            {"n_chains": 2, "init": "data", "noise_update": "sample", "flips": "gibbs"},
        ),
        (["--factor-prior", "0.3", "--effort", 0], {"factor_prior": 0.3, "effort": 0.0}),
        (
            [
                *("--noise", "strengths", "--background", "constant", "--noise-prior", "2,3.5"),
                *("--strength-prior", "spread=0.01,0.5", "--strength-prior", "typical=2,2"),
            ],
            {"noise_prior": (2.0, 3.5), "strength_prior": {"spread": (0.01, 0.5), "typical": (2.0, 2.0)}},
        ),
    ],
)
def test_options_reach_the_estimator(options, changed, folder, tmp_path) -> None:
    about = ["--wide", "--components", 2, "--draws", 5, "--effort", 0.1, "--quiet"]
    outcome = run("fit", folder / "genes.csv", *about, *options, "--out", tmp_path / "run")
    assert outcome.exit_code == 0, outcome.output
    settings = load(tmp_path / "run" / "fit.tensorm").get_params()
    assert settings["n_draws"] == 5
    assert {name: settings[name] for name in changed} == changed


def test_what_was_found_is_said_again(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    about = ["--modes", "hour,person,met", "--components", 2, "--draws", 10, "--chains", 2, "--effort", 0]
    first = run("fit", "contacts.csv", *about, "--out", "runs/again")
    assert run("show", "runs/again").stdout == first.stdout
    shown = json.loads(run("show", "runs/again", "--json").stdout)
    assert shown["n_components"] == 2
    assert shown["noise_choice"] in run("show", "runs/again").stdout
    table = pd.read_csv(io.StringIO(run("members", "runs/again").stdout))
    expected = load("runs/again").members()
    assert table.label.tolist() == expected.label.astype(str).tolist()
    np.testing.assert_allclose(table.probability, expected.probability, atol=6e-5)
    assert run("members", "runs/again", "--threshold", 1, "--out", "nobody.csv").exit_code == 0
    assert len(pd.read_csv("nobody.csv")) == 0
    assert "No such file: nowhere." in run("show", "nowhere").stderr
    load("runs/again").save("saved.tensorm")
    shown = run("show", "saved.tensorm")
    assert shown.stdout == first.stdout.replace("runs/again", "saved.tensorm")
    assert run("members", "saved.tensorm").stdout == run("members", "runs/again").stdout
    words = ("--metadata", "person=roles.csv", "--out", "saved.html")
    assert "Wrote saved.html" in run("report", "saved.tensorm", *words).stdout
    for words in (("--cells", "pairs.csv"), ("--of", "person", "doctor 01")):
        assert run("predict", "saved.tensorm", *words).stdout.startswith("hour,person,met,probability")
    assert "was already finished" in run("resume", "runs/again").stderr
    wrong = run("predict", "runs/again", "--of", "zed", "ann").stderr
    assert wrong.startswith("Error: Unknown mode 'zed'; the modes are 'hour', 'person', 'met'.")


@pytest.mark.filterwarnings("always:1 of 3 chains failed:RuntimeWarning")
def test_a_chain_that_failed_is_told_and_can_be_tried_again(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    about = ["--modes", "hour,person,met", "--components", 2, "--draws", 10, "--chains", 3]
    about += ["--effort", 0]
    with monkeypatch.context() as patch:
        let_chain_fail(patch)
        first = run("fit", "contacts.csv", *about, "--noise", "asymmetric", "--out", "runs/lost")
    assert first.exit_code == 0
    assert "1 of 3 chains failed (MemoryError: no room)" in first.stderr
    for text in (first.stdout, run("show", "runs/lost").stdout):
        assert "1 of 3 chains failed and is not counted" in text
        assert "To try it again:  tensorm resume runs/lost\n" in text
        assert "Stopped before the end" not in text
    shown = json.loads(run("show", "runs/lost", "--json").stdout)
    assert shown["conclusion"].startswith("1 of 3 chains failed and is not counted")
    assert run("report", "runs/lost").exit_code == 0
    assert "1 of 3 chains failed" in (folder / "runs/lost/report.html").read_text(encoding="utf-8")
    again = run("resume", "runs/lost")
    assert "failed" not in again.output
    assert "failed" not in run("show", "runs/lost").stdout


def test_columns_that_are_not_used_are_told(folder, tmp_path) -> None:
    quick = ["--components", 1, "--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric"]
    for modes, told in (("hour,person", 1), ("hour,person,met", 0)):
        outcome = run("fit", folder / "contacts.csv", "--modes", modes, *quick, "--out", tmp_path / modes)
        assert outcome.stderr.splitlines().count("Columns that are not used: met.") == told
    again = run("fit", folder / "contacts.csv", "--modes", modes, *quick, "--out", tmp_path / modes).stderr
    assert again.endswith(" contains a finished fit; give another --out, or replace it with --force.\n")


def test_a_run_is_replaced_by_force(folder, tmp_path) -> None:
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--out", tmp_path / "run"]
    assert run("fit", folder / "contacts.csv", *quick, "--components", 2, "--force").exit_code == 0
    run("report", tmp_path / "run")
    (tmp_path / "run" / "notes.json").write_text("mine")
    again = run("fit", folder / "genes.csv", *quick, "--components", 1, "--force")
    assert again.exit_code == 0, again.stderr
    assert load(tmp_path / "run").posterior_.shape == (12, 15)
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {".lock", "chain-0.tensorm", "command.json", "fit.tensorm", "notes.json", "run.tensorm"}


def test_noise_is_told_once_and_so_is_what_else_is_wrong(tmp_path) -> None:
    rows = np.random.default_rng(0).random((12, 15)) < 0.3
    (tmp_path / "noise.csv").write_text("\n".join(",".join(map(str, row)) for row in rows.astype(int)))
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 5, "--noise", "asymmetric", "--components", 1]
    told = run("fit", tmp_path / "noise.csv", "--wide", "--no-header", *quick, "--out", tmp_path / "run")
    assert told.exit_code == 0, told.stderr
    assert told.stdout.count("look like noise") == 1
    assert told.stdout.count("A single chain cannot be checked against others") == 1
    assert "No pattern was found" not in told.stdout


def test_the_page_of_a_saved_file_stands_beside_it_and_says_what_it_lacks(
    folder, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    assert run("fit", folder / "genes.csv", *quick, "--out", "runs/a").exit_code == 0
    for name, page in (("runs/ord", "runs/ord.html"), ("runs/v1.2.tensorm", "runs/v1.2.html")):
        load("runs/a").save(name)
        told = run("report", name).stdout
        assert f"Wrote {page} (" in told
        assert "has no data, so the page shows predictions only; to see both:  model.report(path, X)" in told
        assert (tmp_path / page).exists()
    assert "has no data" not in run("report", "runs/a").stdout


@pytest.mark.filterwarnings("always")
def test_what_was_noted_is_on_the_page(tmp_path) -> None:
    rows = "who,what ann,x ann,y Ann,x Ann,y bob,z bob,x cat,z cat,y dan,y ,x"
    (tmp_path / "a.csv").write_text(rows.replace(" ", "\n"))
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    told = run("fit", tmp_path / "a.csv", *quick, "--skip-bad-rows", "--out", tmp_path / "run")
    assert told.exit_code == 0, told.stderr
    assert run("report", tmp_path / "run").exit_code == 0
    left_out, alike = page_data(tmp_path / "run" / "report.html")["notes"]
    assert left_out.endswith("a.csv: left out 1 bad row: line 11 ('who' is empty).")
    assert alike.endswith("'ann'; if they mean the same, set --merge-labels.")
    assert f"Note: {left_out}\n" in told.stderr
    assert f"Note: {alike}\n" in told.stderr


def test_without_a_folder_the_run_has_the_name_of_the_file(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    told = run("fit", folder / "genes.csv", *quick)
    assert "tensorm report runs/genes" in told.stdout
    assert load(tmp_path / "runs" / "genes").posterior_.shape == (12, 15)


def test_members_are_a_table_on_a_terminal(folder, tmp_path, monkeypatch) -> None:
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    run("fit", folder / "genes.csv", *quick, "--out", tmp_path / "run")
    as_csv = run("members", tmp_path / "run").stdout
    assert as_csv.startswith("component,mode,label,probability\n0,")
    monkeypatch.setattr("tensorm.cli.results.sys", SimpleNamespace(stdout=Terminal()))
    shown = run("members", tmp_path / "run").stdout
    assert shown.split()[:4] == ["component", "mode", "label", "probability"]
    assert len(shown.splitlines()) == len(as_csv.splitlines())
    assert "," not in shown
    assert run("members", tmp_path / "run", "--csv").stdout == as_csv


class Terminal:
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


def test_a_report_is_opened(folder, tmp_path, monkeypatch) -> None:
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    run("fit", folder / "genes.csv", *quick, "--out", tmp_path / "run")
    assert "Open it" in run("report", tmp_path / "run").stdout
    assert not opened
    assert "Open it" not in run("report", tmp_path / "run", "--open").stdout
    assert opened == [(tmp_path / "run" / "report.html").as_uri()]


def test_a_survey_becomes_a_fit_with_metadata(tmp_path) -> None:
    answers = np.array(["yes", "no", "Don't know"], object)[np.arange(240).reshape(60, 4) % 7 % 3]
    survey = pd.DataFrame(answers, columns=["Q1 tea, coffee", "Q2 beer", "Q3 wine", "Q4 milk"])
    survey.insert(0, "who", [f"person {n}" for n in range(60)])
    survey.insert(1, "region", ["north", "south"] * 30)
    survey.to_csv(tmp_path / "survey.csv", index=False)
    told = run("fit", tmp_path / "survey.csv", "--out", tmp_path / "run")
    assert told.exit_code == 2
    wanted = shlex.split(told.stderr.strip().removesuffix(".").partition("as in ")[2])  # what it advises
    assert wanted == ["--columns", "Q*", "--missing", "Don't know"]
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    told = run("fit", tmp_path / "survey.csv", *wanted, *quick, "--out", tmp_path / "run")
    assert told.exit_code == 0, told.stderr
    assert (
        'Cells: 60 who (person 0, person 1, person 2, ...) × 4 columns ("Q1 tea, coffee", Q2' in told.stderr
    )
    assert load_metadata(tmp_path / "run")["who"]["region"][:2] == ["north", "south"]


@pytest.mark.filterwarnings("default:.*left out 2 bad rows")
def test_bad_rows_are_left_out_on_request(folder, tmp_path) -> None:
    lines = (folder / "contacts.csv").read_text().splitlines()
    lines[5], lines[9] = "noon,,ann", "noon,ann,bob,cat"
    (tmp_path / "contacts.csv").write_text("\n".join(lines))
    quick = ["--draws", 2, "--chains", 1, "--burn-in", 0, "--noise", "asymmetric", "--components", 1]
    told = run("fit", tmp_path / "contacts.csv", *quick, "--out", tmp_path / "run").stderr
    assert told.endswith(
        "2 bad rows: line 6 ('person' is empty), line 10 (4 fields); correct them, or set --skip-bad-rows to "
        "leave them out.\n"
    )
    told = run("fit", tmp_path / "contacts.csv", *quick, "--skip-bad-rows", "--out", tmp_path / "run").stderr
    assert "contacts.csv: left out 2 bad rows: line 6 ('person' is empty), line 10 (4 fields).\n" in told


def test_data_are_no_fit(folder) -> None:
    told = run("show", folder / "contacts.csv").stderr
    assert told.endswith("cannot be read: it is not a tensorm file; to read data, use tensorm fit.\n")
    with pytest.raises(FileError, match=r"not a tensorm file; to read data, use tensorm\.read\.$"):
        load(folder / "contacts.csv")


def test_a_prior_that_is_no_number_is_named(folder, tmp_path) -> None:
    outcome = run("fit", folder / "contacts.csv", "--factor-prior", "high", "--out", tmp_path / "run")
    assert "'high' is neither learned, short, nor a number between 0 and 1." in outcome.stderr


def test_the_examples_of_the_help_run(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    lines = examples()
    assert {shlex.split(line)[1] for line in lines} == set(main.commands) - {"demo"}
    for line in lines:
        if "--workers" in line:
            continue  # below
        extra = ["--draws", "10", "--chains", "2", "--effort", "0"] if line.startswith("tensorm fit") else []
        extra += ["--components", "2"] * (line.startswith("tensorm fit") and line != lines[0])
        extra += ["--candidates", "1,2"] * ("--candidates" in line)  # the last one counts: fewer to try
        if "ward.tensorm" in line:
            load("runs/ward").save("ward.tensorm")
        result = run(*shlex.split(line)[1:], *extra)
        assert result.exit_code == 0, (line, result.output)
    assert (folder / "runs/ward/report.html").stat().st_size > 10_000
    probabilities = pd.read_csv(folder / "probabilities.csv")
    assert list(probabilities) == ["hour", "person", "met", "probability"]
    assert probabilities.probability.between(0, 1).all()
    assert (folder / "ward.nc").exists()
    assert set(np.load(folder / "planted.npz")) >= {"observed", "noise_free", "factor_0"}


def test_netcdf_needs_an_extra(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    (folder / "some.nc").write_bytes(b"")
    for line in ("datasets get ward --out none.nc", "fit some.nc --out runs/none"):
        result = run(*line.split())
        assert result.exit_code != 0
        assert 'netCDF files need h5netcdf; install it with: pip install "tensorm[netcdf]"' in result.output
    assert not (folder / "none.nc").exists()


def test_a_fit_on_a_cluster(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tensorm.cli.fit.connect", threads)
    (line,) = (line for line in examples() if "--workers" in line)
    small = ["--components", "1", "--chains", "1", "--draws", "2", "--effort", "0"]
    result = run(*shlex.split(line)[1:], *small)
    assert result.exit_code == 0, result.output
    assert load(folder / "runs/spread").posterior_.shape == (13, 18, 18)


def test_options_of_read_have_the_same_names_here(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    small = ["--components", 1, "--chains", 1, "--draws", 2, "--quiet"]
    wide = ["--wide", "--threshold", 1.5, "--modes", "patient,gene", "--missing", "-1"]
    result = run("fit", "expression.csv", *wide, *small, "--out", "runs/threshold")
    assert result.exit_code == 0, result.output
    assert load(folder / "runs/threshold").posterior_.shape == (12, 6)
    days = ["--order", "day=Mon,Tue,Wed", "--no-header", "--modes", "day,who"]
    (folder / "days.csv").write_text("Tue,ann\nMon,bob\n")
    result = run("fit", "days.csv", *days, *small, "--out", "runs/days")
    assert result.exit_code == 0, result.output
    assert load(folder / "runs/days").labels_[0].tolist() == ["Mon", "Tue", "Wed"]


def test_a_table_becomes_a_page_that_names_its_people(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    options = ["--modes", "hour,person,met", "--metadata", "person=roles.csv", "--draws", 10, "--chains", 2]
    options += ["--effort", 0]
    fitted = run("fit", "contacts.csv", *options, "--out", "runs/named")
    assert fitted.exit_code == 0, fitted.output
    assert "doctors" in fitted.stdout
    assert "tensorm report runs/named" in fitted.stdout
    model = load(folder / "runs/named")
    assert model.modes_ == ("hour", "person", "met")
    assert "doctor 01" in model.labels_[1]
    page = run("report", "runs/named", "--title", "Named <people>")
    assert page.exit_code == 0
    html = (folder / "runs/named/report.html").read_text(encoding="utf-8")
    assert "Named &lt;people&gt;" in html
    assert "most probable number" in html
    again = run("fit", "contacts.csv", *options, "--out", "runs/named")
    assert again.exit_code == 2


def test_badges_are_cut_into_hours_and_have_no_direction(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    options = ["--time-column", "t", "--modes", "i,j", "--pair", "i,j", "--undirected", "--shared"]
    found = run(
        *("fit", "badges.tsv", *options, "--components", 3, "--draws", 10, "--effort", 0),
        *("--out", "runs/shared", "--json"),
    )
    assert found.exit_code == 0, found.output
    summary = json.loads(found.stdout)
    assert summary["modes"] == {"t": 24, "i": 18, "j": 18}
    assert summary["n_components"] == len(summary["components"]) == 3
    assert all(component["i"] == component["j"] for component in summary["components"])
    person = next(name for component in summary["components"] for name in component["i"])
    mine = pd.read_csv(io.StringIO(run("predict", "runs/shared", "--of", "i", person).stdout))
    assert set(mine.i) == {int(person)}
    assert int(person) not in set(mine.j)
    hour = next(name for component in summary["components"] for name in component["t"])
    pairs = pd.read_csv(io.StringIO(run("predict", "runs/shared", "--of", "t", hour).stdout))
    assert (pairs.i < pairs.j).all()
    stranger = run("predict", "runs/shared", "--of", "i", "zed")
    assert stranger.stderr == "Error: Unknown i 'zed'; labels look like '0'.\n"
    assert run("report", "runs/shared").exit_code == 0
    html = (folder / "runs/shared/report.html").read_text(encoding="utf-8")
    assert "<title>badges</title>" in html
    assert "tensorm fit badges.tsv --time-column t --modes i,j --pair i,j --undirected --shared" in html


def test_the_package_speaks_of_options(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    options = ["--modes", "hour,person,met", "--components", 24, "--draws", 20, "--chains", 2]
    options += ["--effort", 0]
    found = run("fit", "contacts.csv", *options, "--out", "runs/plain")
    assert "'person' and 'met' share 18 labels. If they stand for the same things" in found.stderr
    assert len([line for line in found.stdout.splitlines() if line.startswith("Component ")]) <= 20
    assert "n_draws" not in found.output
    assert 'tensorm.load("runs/plain")' in found.stdout


def test_what_is_known_is_there_before_the_first_sweep_and_gone_without_one(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    seen = []

    def stop(model, X, run_dir) -> None:
        seen.extend(sorted(path.name for path in run_dir.iterdir()))
        raise InputError("There is no sweep.")

    monkeypatch.setattr(TensOrMachine, "fit", stop)
    result = run("fit", "contacts.csv", "--metadata", "person=roles.csv", "--out", "runs/never/begun")
    assert seen == [".lock", "command.json", "metadata.json"]
    assert result.exit_code == 2
    assert not (folder / "runs/never").exists()


def test_select_says_one_number_to_programs(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    options = ["genes.csv", "--wide", "--method", "occam", "--seed", "1"]
    quiet = run("select", *options, "--quiet")
    assert quiet.stdout.strip() == str(json.loads(run("select", *options, "--json").stdout)["best"]) == "2"
    assert run("select", *options, "--plot", "curve.png").exit_code == 0
    told = run("select", *options, "--noise", "strengths", "--background", "constant").stdout
    assert "with two rates of ones instead of strengths" in told
    assert (folder / "curve.png").stat().st_size > 1000


def test_quiet_prints_nothing(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    small = ["--components", 2, "--draws", 5, "--effort", 0, "--quiet"]
    for number, words in enumerate((["genes.csv", "--wide"], ["contacts.csv", "--modes", "hour,person,met"])):
        result = run("fit", *words, *small, "--out", f"runs/quiet-{number}")
        assert (result.exit_code, result.output) == (0, "")


def test_effort_reaches_the_fit(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    small = ["genes.csv", "--wide", "--components", 2, "--draws", 5, "--chains", 1, "--noise", "asymmetric"]
    small += ["--quiet"]
    for effort in (0, 0.1):
        assert run("fit", *small, "--effort", effort, "--out", f"runs/effort-{effort}").exit_code == 0
        assert load(f"runs/effort-{effort}").effort == effort
    for effort in ("-1", "1e7", "nan", "inf", "much"):
        result = run("fit", "no-such-file.csv", "--effort", effort, "--out", "runs/effort")
        assert result.exit_code == 2
        told = f"'--effort': {effort!r} is not a number from 0 to 1,000,000.\n"
        assert result.stderr.endswith(f"Invalid value for {told}")


def test_datasets_are_listed(monkeypatch) -> None:
    monkeypatch.delenv("TENSORM_DATA", raising=False)
    lines = run("datasets", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["ward", "hospital", "students", "nations", "cancer"]
    assert lines[1].endswith("(licence: CC BY-NC-SA 3.0)")
    assert (
        "students and cancer are read from the folder named by the environment variable TENSORM_DATA."
        in lines
    )
    monkeypatch.setenv("TENSORM_DATA", "mine")
    assert run("datasets", "list").stdout.endswith("Public data are read from mine.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit none.csv --out x", "No such file: none.csv"),
        ("fit contacts.csv --modes hour,who --out x", "has no column 'who'; choose from 'hour'"),
        ("fit contacts.csv --modes hour,hour --out x", "must be a comma-separated list without repeats"),
        ("fit contacts.csv --modes hour,person,met --components none --out x", "neither auto nor a number"),
        ("fit contacts.csv --undirected --out x", "--undirected needs --pair I,J"),
        ("fit contacts.csv --shared --out x", "--shared needs an undirected pair"),
        ("fit contacts.csv --noise-prior 1 --out x", "'1' is not two numbers; write 2,5."),
        ("fit contacts.csv --strength-prior 1,2 --out x", "of the form name=a,b; write spread=0.01,1"),
        ("fit contacts.csv --order hour --out x", "is not of the form mode=labels; write day=Mon,Tue,Wed"),
        ("fit contacts.csv --order hour=09-10 --out x", "--order leaves out '.*', a label of 'hour'"),
        ("fit contacts.csv --indices --out x", "contains '.*' instead of an index"),
        ("fit expression.csv --wide --out x", "column 'u' contains .* or set --threshold NUMBER"),
        ("fit levels.npy --out x", "levels.npy contains 5 at .*, unless you use --threshold NUMBER"),
        (
            "fit contacts.csv --pair a,b --undirected --out x",
            "Unknown mode 'a' in pair; the modes are 'hour', 'person', 'met'",
        ),
        (
            "fit contacts.csv --metadata person --out x",
            "'person' is not of the form mode=file; write person=roles.csv",
        ),
        (
            "fit contacts.csv --metadata nurse=roles.csv --out x",
            "Unknown mode 'nurse' in metadata; the modes are",
        ),
        (
            "fit contacts.csv --metadata met=patients.csv --out x",
            "has the unknown label 'p0' in line 2 of patients.csv",
        ),
        (
            "fit badges.tsv --time-column t --bins fortnight --modes i,j --out x",
            "give clock, weekday, month, each, a number, or a",
        ),
        ("fit badges.tsv --time-column t --bins 1ms --modes i,j --out x", "give at most"),
        ("fit badges.tsv --time-column when --modes i,j --out x", "has no column 'when'; choose from 't'"),
        (
            "fit badges.tsv --time-column i --modes i,j --out x",
            "the hour of the day; give --origin '2010-12-06 13:00', when the count starts, or --bins 1h",
        ),
        (
            "fit contacts.csv --workers 2 --scheduler tcp://x --out x",
            "Give either --scheduler ADDRESS of a running cluster or --workers NUMBER",
        ),
        ("fit empty.csv --out x", "contains no data"),
        ("fit junk.csv --out x", "line 1 is damaged or not UTF-8 text"),
        ("fit latin.csv --out x", "line 2 is damaged or not UTF-8 text; save it as UTF-8"),
        ("fit book.xlsx --out x", "Excel files need openpyxl|book.xlsx cannot be read"),
        ("fit formats.csv --time-column t --out x", "line 3 of formats.csv has the time '01/02/2024"),
        ("fit maybe.csv --value x --out x", "column 'x' contains 'maybe' in line 4 of maybe.csv; give 0, 1"),
        ("fit badges.tsv --time-column t --bins 9999999999 --modes i,j --out x", "give at most 100,000"),
        (
            "fit contacts.csv --metadata person=twice.csv --out x",
            "has the unknown label 'a' in line 2 of twice.csv",
        ),
        ("fit empty.parquet --out x", "empty.parquet contains no data"),
        ("fit zero.csv --out x", "line 3 of zero.csv contains a NUL character"),
        ("fit zero.parquet --out x", r"column 'i' contains the label 'a\\x00', which has a NUL"),
        ("fit quote.csv --out x", "a quote is opened in line 2 and never closed"),
        (
            "fit colon.csv --modes i,j --out x",
            "colon.csv has one column, 'i:j'; give two or more, separated by commas",
        ),
        (
            "fit many.csv --out x",
            "many.csv has the columns .*; name the modes, as in --modes c0,c1,..., or set --wide if",
        ),
        ("fit wide.csv --wide --out x", "column 'b' contains 2 in line 3 of wide.csv; use 0, 1"),
        ("fit maybe.csv --relational --out x", "column 'j' contains 'b' in line 2 of maybe.csv; give"),
        (
            "fit twice.csv --out x",
            "give --value x if it says which cells are 1, or --modes i,j,x if it is a mode",
        ),
        ("fit twice.csv --bins 1h --out x", "--bins needs --time COLUMN"),
        ("fit twice.csv --modes i,j --unlisted missing --out x", "--unlisted missing needs --value"),
        (
            "fit twice.csv --modes i,j --metadata i=a.csv --metadata i=roles.csv --out x",
            "No such file: a.csv",
        ),
        (
            "fit genes.csv --wide --components 9999999999 --out x/y",
            "--components is 9999999999; give an integer of at most 16,777,216",
        ),
        ("simulate --shape 9999999,9999999 --out x.npy", "these cells take 558,794.3 GB"),
        ("fit junk.npz --out x", "junk.npz cannot be read as arrays of numbers"),
        ("fit junk.nc --out x", "cannot be read as netCDF"),
        ("fit contacts.doc --out x", "Unsupported file type: contacts.doc"),
        ("fit late.csv --time-column t --bins 1h --out x", "line 3 of late.csv has the time 'noon-ish'"),
        (
            "fit twice.csv --value x --out x",
            "line 2 of twice.csv and line 3 of twice.csv give the same cell different values",
        ),
        ("fit genes.csv --wide --out genes.csv", "genes.csv"),
        ("report x", "No such file: x"),
        ("predict x --of person one", "No such file: x"),
        ("report .", "contains no finished fit; give the folder of a fit"),
        ("predict x", "Give either --cells FILE or --of MODE LABEL"),
        ("resume x", "No such folder: x"),
        ("resume .", "contains no run; give the FOLDER of an earlier fit"),
        ("select genes.csv --wide --candidates a-b", "is not a list of numbers"),
        ("select genes.csv --wide --candidates 3,2", "Error: --candidates has 2 after 3; give increasing"),
        ("select genes.csv --wide --run-dir genes.csv/x", "genes.csv/x cannot be created.*another --run-dir"),
        (
            "fit contacts.csv --modes hour,person,met --noise comparisons --components 2 --out x",
            "Error: --noise comparisons needs cells that compare attributes; read them with --relational, or",
        ),
        ("fit genes.csv --wide --time x --out x", "wide table, so --time cannot be used; leave it out"),
        ("fit genes.csv --floor 1 --out x", r"Error: --floor needs --relational\.$"),
        ("simulate --density 2 --out x.npy", "Error: --density is 2.0; give a"),
        ("simulate --missing 2 --out x.npy", "Error: --missing is 2.0; give a prob"),
        (
            "select contacts.csv --modes hour,person,met --candidates 3-1",
            "'3-1' is not a list of numbers; write 1-10 or 2,4,8.",
        ),
        (
            "simulate --shape a --out x.npz",
            "--shape is 'a'; write the sizes of at least 2 modes, such as 20,20,20.",
        ),
        (
            "simulate --shape 3 --out x.npz",
            "--shape is '3'; write the sizes of at least 2 modes, such as 20,20,20.",
        ),
        ("simulate --out x.txt", "ends in .npz or .npy"),
        ("datasets get moon", "'moon' is not one of"),
        ("datasets get ward --out ward.txt", "ends in .nc"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(folder, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(folder)
    (folder / "empty.csv").write_text("")
    np.save(folder / "levels.npy", np.array([[0, 5], [1, 1]]))
    for junk in ("junk.csv", "junk.npz", "junk.nc"):
        (folder / junk).write_bytes(bytes(range(128, 256)) * 20)
    (folder / "contacts.doc").write_text("a,b")
    (folder / "late.csv").write_text("t,i,j\n2024-01-01 10:00,a,b\nnoon-ish,a,c\n")
    (folder / "latin.csv").write_text("i,j\njörg,b\n", encoding="latin-1")
    (folder / "book.xlsx").write_bytes(b"PK")
    (folder / "formats.csv").write_text("t,i,j\n2024-01-01,a,b\n01/02/2024,a,c\n")
    (folder / "maybe.csv").write_text('i,j,x\n"a\n",b,1\nc,d,maybe\n')
    (folder / "twice.csv").write_text("i,j,x\na,b,1\na,b,0\n")
    (folder / "zero.csv").write_text("i,j\na,b\na\0,c\n")
    (folder / "quote.csv").write_text('i,j\na,"b\nc,d\n')
    (folder / "colon.csv").write_text("i:j\na:b\n")
    (folder / "many.csv").write_text(f"{','.join(f'c{n}' for n in range(40))}\n{','.join('x' * 40)}\n")
    (folder / "wide.csv").write_text("id,a,b\np,0,1\nq,1,2\n")
    pd.DataFrame({"i": ["a\0", "a"], "j": ["b", "c"]}).to_parquet(folder / "zero.parquet")
    pd.DataFrame({"i": [], "j": []}).to_parquet(folder / "empty.parquet")
    before = sorted(folder.rglob("*"))
    result = run(*shlex.split(arguments))
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    last = result.stderr.strip().splitlines()[-1]
    assert re.search(message, result.stderr), result.stderr
    assert last.startswith("Error: ")
    assert not re.search(r"\b(n_\w+|run_dir|random_state|burn_in)\b", last), "not a parameter, but its option"
    assert sorted(folder.rglob("*")) == before, "nothing is written"


def test_every_command_has_help() -> None:
    for name, command in main.commands.items():
        assert isinstance(command, click.Command)
        assert run(name, "--help").exit_code == 0
    told = " ".join(run("fit", "--help").output.split())
    for text in ("--missing VALUES", "The first line has names, or not;", "such as day=Mon,Tue,Wed."):
        assert text in told


@pytest.mark.parametrize("normalise", ["zscore", "rank", "none"])
def test_numbers_at_the_floor_are_not_compared(tmp_path, normalise: str) -> None:
    values = np.random.default_rng(0).permutation(96).reshape(12, 8)[:, :4] + 1.0
    values[:, :2] = 0
    table, out = tmp_path / "counts.csv", tmp_path / "run"
    pd.DataFrame(values, columns=list("abcd")).to_csv(table, index_label="patient")
    settings = f"--normalise {normalise} --floor 0 --components 1 --chains 1 --draws 2 --burn-in 2".split()
    result = run("fit", table, "--relational", *settings, "--out", out)
    assert result.exit_code == 0, result.output
    cells = open_run(out, TensOrMachine._get_param_names(), None).tensor
    scale = None if normalise == "none" else normalise
    assert cells.n_observed == RelationalTensor(values[:, 2:], normalise=scale).n_observed
