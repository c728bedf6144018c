"""Fits, runs and their checkpoints on disk, as docs/files.md lays them out."""

from tensorm.storage.fit import FORMAT_VERSION, Fit, read_fit, write_fit
from tensorm.storage.run import FIT, RUN, Run, check_folder, find_file, open_run, start_run

__all__ = [
    "FIT",
    "FORMAT_VERSION",
    "RUN",
    "Fit",
    "Run",
    "check_folder",
    "find_file",
    "open_run",
    "read_fit",
    "start_run",
    "write_fit",
]
