"""Posterior sampling: states, sweeps, chains. Knows tensors only by the verbs of tensors/protocol.py.

sample.py is where to begin: one chain, sweep by sweep; chains.py runs several side by side.
noise_model.py says what a noise model is, and how to add one.
models.py lists all noise models by the settings that choose them.
two_rates.py has those with one rate of ones inside the components, and one outside.
strength_models.py has those with a strength for each component; comparisons.py is for relational tensors.
"""
