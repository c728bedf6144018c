"""The group of commands, and how errors are shown.

Results go to standard output as plain text (with colour on a terminal); progress, notes and errors go to
standard error. Errors that a user can fix end in one sentence and exit code 2, never in a traceback.
"""

from __future__ import annotations

import ast
import csv
import errno
import io
import logging
import re
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

from tensorm.data.version import __version__
from tensorm.errors import ClusterError, FileError, InputError, PackageError, printable

F = TypeVar("F", bound=Callable[..., Any])
MODULES = "data", "fit", "results", "select"
QUIET, CURRENT, TOLD = "tensorm.quiet", "tensorm.current", "tensorm.told"
VALUE = r"""\.\.\.|'[^']*'|"[^"]*"|\[(?:'[^']*'|"[^"]*"|[^\]'"])*\]|\w+"""
EXIT_AFTER_STOP = 130  # exit code after Ctrl-C, as shells have it


class Refusal(click.ClickException):
    """An error that the user can fix; shown as one sentence."""

    exit_code = 2


class Command(click.Command):
    """A command whose options errors and notes name."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctx.meta[CURRENT] = ctx  # shared with the context of the group
        return super().invoke(ctx)


class Commands(click.Group):
    """Commands that show expected errors and notes as sentences."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, which register themselves when their modules are imported.

        This is put off until a command is needed: what commands import takes two seconds, --version none.
        """
        for module in MODULES:
            import_module(f"tensorm.cli.{module}")
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        self.list_commands(ctx)
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command, and keep its words as they were typed."""
        ctx.obj = ("tensorm", *args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from tensorm.storage.files import TERMINATED, leaving_on_sigterm  # as late as commands are

        try:
            with leaving_on_sigterm(for_good=True), _showing_notes(ctx):
                return super().invoke(ctx)
        except SystemExit as ended:  # with another code: rich found the reader of the output gone
            if ended.code == TERMINATED:
                _tell_stopped(ctx, "SIGTERM")
            raise
        except (InputError, FileError, ClusterError, PackageError) as error:
            raise Refusal(name_options(str(error), ctx)) from error
        except KeyboardInterrupt as error:
            _tell_stopped(ctx, "Ctrl-C")
            raise click.exceptions.Exit(EXIT_AFTER_STOP) from error
        except MemoryError as error:
            raise Refusal("Not enough memory; use smaller data or fewer components.") from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of the output is gone: click ends quietly
                raise
            told, file = str(error), error.filename or "a file"
            if error.strerror:
                told = f"Cannot use {file}: {error.strerror.lower()}; give another path."
            raise Refusal(printable(told)) from error


def _tell_stopped(ctx: click.Context, by: str) -> None:
    """Say what stopped a command, unless it has said how to continue."""
    if not ctx.meta.get(TOLD):
        click.echo(f"Stopped by {by}.", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, message="tensorm %(version)s")
def main() -> None:
    """Find patterns in multi-way yes/no data.

    From a table to a report in two commands:

    \b
      tensorm fit contacts.csv --modes hour,person,met --out runs/ward
      tensorm report runs/ward

    For shell completion, add  eval "$(_TENSORM_COMPLETE=bash_source tensorm)"  to ~/.bashrc; for other
    shells use zsh_source or fish_source.
    """


def name_options(text: str, ctx: click.Context) -> str:
    """Return a message of the package with the running command's options in place of parameters.

    These are called alike: the option ``--draws`` has the name ``n_draws``. A message names a parameter as
    its first word, as in a call (``value='x'``), or anywhere if the name has an underscore.
    """
    current = ctx.meta.get(CURRENT, ctx)
    options = {
        str(param.name): param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
        for param in current.command.params
    }
    options["X"] = str(current.params.get("file", "X"))
    names = "|".join(options)

    def write(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        given = _as_typed(found[2])
        return f"{options[found[1]]} {_quote(given)}" if given else options[found[1]]

    text = text.replace("tensorm.resume", "tensorm resume").replace("use tensorm.read.", "use tensorm fit.")
    call = r"tensorm\.read\(X, (.*?)\)"
    text = re.sub(call, lambda found: re.sub(r", (?=\w+=)", " ", found[1]), text)
    quoted = r"""'[^']*'|"[^"]*\""""  # the user's own words
    text = re.sub(rf"\b({names})=({VALUE})|{quoted}", write, text)
    text = re.sub(
        rf"^({names})(?= )|\b(?=\w+_)({names})\b|{quoted}",
        lambda found: options.get(found[0], found[0]),
        text,
    )
    return printable(text)


def _as_typed(value: str) -> str:
    """Return a value in a Python call as it is typed on the command line."""
    try:
        given = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return re.sub(r"['\"\[\]]|(?<=,) ", "", value)
    if given is True or given is ...:
        return ""
    if not isinstance(given, list):
        return str(given)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow("..." if name is ... else name for name in given)
    return text.getvalue()


def _quote(text: str) -> str:
    """Return a text in quotes if a shell needs them, double ones around an apostrophe."""
    return f'"{text}"' if "'" in text and not re.search(r'["$`\\!]', text) else shlex.quote(text)


def printable_lines(text: str) -> str:
    """Return a text with control characters escaped, except its line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def say(text: str, bold: str | None = None) -> None:
    """Print a text: wrapped and with colour on a terminal, unchanged elsewhere."""
    console = Console(highlight=False)
    styled = Text(printable_lines(text))
    if bold is not None:
        styled.highlight_regex(bold, "bold")
    console.print(styled, soft_wrap=not console.is_terminal)


def quietly(what: str) -> Callable[[F], F]:
    """Add the option --quiet, which also suppresses notes."""

    def hush(ctx: click.Context, _: click.Parameter, quiet: bool) -> bool:
        ctx.meta[QUIET] = quiet  # shared with the context of the group
        return quiet

    return click.option("--quiet", is_flag=True, callback=hush, help=what)


class _Echo(logging.Handler):
    """Shows log records as plain lines, unless --quiet is set."""

    def __init__(self, ctx: click.Context) -> None:
        super().__init__()
        self.ctx = ctx

    def emit(self, record: logging.LogRecord) -> None:
        if not self.ctx.meta.get(QUIET):
            click.echo(name_options(record.getMessage(), self.ctx), err=True)


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect the warnings in the block, which are shown all the same."""
    notes: list[str] = []
    show = warnings.showwarning

    def keep(message: Warning | str, *details: Any) -> None:
        notes.append(str(message))
        show(message, *details)

    warnings.showwarning = keep  # type: ignore[assignment]
    try:
        yield notes
    finally:
        warnings.showwarning = show


@contextmanager
def _showing_notes(ctx: click.Context) -> Iterator[None]:
    """Show the package's notes and all warnings as plain lines while the block runs."""
    logger, handler = logging.getLogger("tensorm"), _Echo(ctx)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: logger.warning("Note: %s", message)
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
