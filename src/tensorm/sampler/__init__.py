"""Posterior sampling: states, sweeps, chains. Knows tensors only by the verbs of tensors/protocol.py."""
