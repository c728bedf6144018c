"""The command line: commands that read arguments, call the package and print.

groups.py is where to begin; each other file has the commands that its first line names, but options.py and
folders.py have what commands share.
"""

from tensorm.cli.groups import main

__all__ = ["main"]
