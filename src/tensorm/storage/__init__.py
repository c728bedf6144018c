"""Fits, runs and their checkpoints on disk, as docs/files.md lays them out."""
