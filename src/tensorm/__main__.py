"""``python -m tensorm``: the command line, where the command itself is not on the path."""

from tensorm.cli import main

main(prog_name="tensorm")
