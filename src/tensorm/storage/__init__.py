"""Fits, runs and their checkpoints on disk (docs/files.md); tensors/ has how cells are kept in memory."""
