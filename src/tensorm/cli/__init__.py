"""The command line: commands that read arguments, call the package and print."""

from tensorm.cli import data, fit, results, select
from tensorm.cli.groups import main

__all__ = ["data", "fit", "main", "results", "select"]
