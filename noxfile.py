"""The checks of the Makefile on every Python we support, each in an environment of its own."""

import nox

nox.options.sessions = ["tests", "checks"]


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    session.install("-e", ".[dev,plot]")
    session.run("pytest", *(session.posargs or ["-n", "2"]), env={"MPLBACKEND": "Agg"})


@nox.session
def checks(session: nox.Session) -> None:
    session.install("-e", ".[dev,plot]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
