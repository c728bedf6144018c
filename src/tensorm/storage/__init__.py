"""Fits, runs and their checkpoints on disk (docs/files.md); tensors/ stores cells in memory.

archive.py is where to begin: the container of all files; fit.py, run.py and chain.py say what is in each.
"""
