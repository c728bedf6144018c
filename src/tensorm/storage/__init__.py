"""Fits, runs and their checkpoints on disk (docs/files.md); tensors/ stores cells in memory."""
