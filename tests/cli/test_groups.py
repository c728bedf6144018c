"""The command line: what it prints and writes, and how it refuses."""

from __future__ import annotations

import errno
import inspect
import logging
import os
import subprocess
import sys
import warnings

import click
import pytest
from click.testing import CliRunner

import tensorm
from tensorm import ClusterError, InputError, TensOrMachine, datasets, select_components
from tensorm.cli import groups, main
from tensorm.data.options import Options
from tensorm.errors import PackageError
from tensorm.tensors.distributed import connect


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def command():
    """Add a command for the time of a test; returns a function that makes it."""
    added = []

    def add(function):
        main.add_command(click.command("trial")(function))
        added.append("trial")

    yield add
    for name in added:
        main.commands.pop(name)


def raising(error):
    def function() -> None:
        raise error

    return function


def commands(group: click.Group = main) -> list[click.Command]:
    """All commands, those of groups too."""
    found = [group.commands[name] for name in group.list_commands(click.Context(group))]
    return [
        inner
        for command in found
        for inner in (commands(command) if isinstance(command, click.Group) else [command])
    ]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_messages_name_the_options_of_the_command(command) -> None:
    ctx = click.Context(command)
    for param in command.params:
        name = param.name
        shown = param.opts[0] if isinstance(param, click.Option) else param.metavar or name.upper()
        found = groups.name_options(f"{name} is 0; give {name}=True, {name}='a b' or {name}=['i', 'j'].", ctx)
        assert found == f"{shown} is 0; give {shown}, {shown} 'a b' or {shown} i,j."
        told = groups.name_options(f"There is no {name}.", ctx)
        assert told == f"There is no {shown if '_' in name else name}.", "other words may be plain English"
    strangers = {"n_chains", "n_draws", "run_dir"} - {param.name for param in command.params}
    for name in strangers:
        assert groups.name_options(f"{name} is 0.", ctx) == f"{name} is 0."


def test_options_are_named_as_the_parameters_that_they_set() -> None:
    known = {*Options._fields, *TensOrMachine().get_params(), "run_dir"}
    for function in (select_components, datasets.simulate, TensOrMachine.report, connect):
        known |= {*inspect.signature(function).parameters}
    names = {param.name for command in commands() for param in command.params}
    plain = {
        "file",
        "fit",
        "out",
        "as_json",
        "quiet",
        "as_published",
        "plot",
        "cells",
        "of",
        "top",
        "name",
        "force",
        "as_csv",
    }
    assert names - known == plain, "an error about one of these would not name its option"


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"tensorm {tensorm.__version__}\n"


def test_help_lists_the_commands() -> None:
    result = run("-h")
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "--components" in run("demo", "--help").output


def test_demo_says_and_draws_what_it_found(tmp_path) -> None:
    out = tmp_path / "new" / "folder"
    result = run("demo", "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "Who met whom on a simulated hospital ward: 13 hours x 75 people x 75 people"
    )
    assert "Component 0 - hour: " in result.stdout
    assert " doctors" in result.stdout
    assert "Inside the components 6" in result.stdout
    assert "All 7 groups planted in the data were found: doctors' room (" in result.stdout
    assert f"Figure of the factors: {out / 'factors.png'}" in result.stdout
    assert (out / "factors.png").read_bytes().startswith(b"\x89PNG")
    assert f"Report, to open in a browser: {out / 'report.html'}" in result.stdout
    assert "doctor" in (out / "report.html").read_text()


def test_demo_is_plain_text_when_piped_and_depends_on_its_seed_alone(tmp_path) -> None:
    arguments = ("demo", "--out", tmp_path, "--seed", 3)
    first, second = (
        [line for line in run(*arguments).stdout.splitlines() if " s:" not in line] for _ in "ab"
    )
    assert first == second
    assert not any("\x1b" in line for line in first)
    assert any(len(line) > 120 for line in first)  # lines are not broken for a terminal that is not there


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo", "--components", "0"), "--components"),
        (("demo", "--components", "many"), "'many' is not a valid integer"),
        (("demo", "--seed", "-1"), "--seed"),
        (("demo", "--wrong"), "No such option"),
        (("dmo",), "No such command 'dmo'"),
    ],
)
def test_wrong_arguments(arguments, sentence) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_demo_without_matplotlib_lacks_only_the_figure(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 0
    assert "Component 0 - hour: " in result.stdout
    assert result.stdout.count("Two rates are enough: ") == 1
    why = 'Plots need matplotlib; install it with: pip install "tensorm[plot]".'
    assert f"No figure of the factors: {why}\n" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"contacts.csv", "roles.csv", "report.html"}


def test_a_folder_that_cannot_be_made(tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 2
    folder = tmp_path / "file" / "folder"
    assert result.stderr == f"Error: Cannot use {folder}: not a directory; give another path.\n"
    assert result.stdout == ""  # found out before any work was done


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("X is empty; give cells."), "Error: X is empty; give cells.\n"),
        (ClusterError("No scheduler answers."), "Error: No scheduler answers.\n"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/out"),
            "Error: Cannot use /out: permission denied; give another path.\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "Error: Cannot use a file: no space left on device; give another path.\n",
        ),
        (OSError("The disk is gone."), "Error: The disk is gone.\n"),
        (PackageError("Plots need matplotlib."), "Error: Plots need matplotlib.\n"),
    ],
)
def test_what_a_user_can_put_right_is_one_sentence(command, error, sentence) -> None:
    command(raising(error))
    result = run("trial")
    assert (result.exit_code, result.stderr) == (2, sentence)


def test_our_own_mistakes_are_not_hidden(command) -> None:
    command(raising(RuntimeError("a bug")))
    result = run("trial")
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), SystemExit(1)])
def test_a_reader_who_leaves_is_no_error(command, error) -> None:
    command(raising(error))  # rich makes the second of the first
    result = run("trial")
    assert result.exit_code == 1
    assert result.stderr == ""


def test_notes_and_warnings_are_plain_lines(command) -> None:
    def function() -> None:
        logging.getLogger("tensorm").info("Compiling.")
        warnings.simplefilter("always")
        warnings.warn("This fit is based on 3 draws.", RuntimeWarning, stacklevel=1)

    command(function)
    result = run("trial")
    assert result.exit_code == 0
    assert result.stderr == "Compiling.\nNote: This fit is based on 3 draws.\n"
    assert not any(isinstance(handler, groups._Echo) for handler in logging.getLogger("tensorm").handlers)


def test_labels_are_never_taken_for_markup(capsys) -> None:
    groups.say("Component 0 - gene: [bold]BRCA[/bold] [x]", bold=r"^Component \d+")
    assert capsys.readouterr().out == "Component 0 - gene: [bold]BRCA[/bold] [x]\n"


def test_the_installed_command_runs() -> None:
    program = os.path.join(os.path.dirname(sys.executable), "tensorm")
    result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout == f"tensorm {tensorm.__version__}\n"


def test_labels_and_modes_of_users_are_not_taken_for_options():
    context = main.get_command(click.Context(main), "fit").make_context(
        "fit", ["x.csv"], resilient_parsing=True
    )
    for text in (
        "'floor' and 'header' share 3 labels.",
        "The order leaves out 'modes=k'",
        "has no column 'n_draws'",
    ):
        assert groups.name_options(text, context) == text
