"""The command line: one module for each command, which reads arguments, calls the package and prints."""

from tensorm.cli import data, demo, fit, predict, report, select
from tensorm.cli.groups import main

__all__ = ["data", "demo", "fit", "main", "predict", "report", "select"]
