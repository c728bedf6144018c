"""The command line: commands that read arguments, call the package and print."""

from tensorm.cli.groups import main

__all__ = ["main"]
