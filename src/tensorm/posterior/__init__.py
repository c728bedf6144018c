"""What the draws say: means, predictions, diagnostics, scores and exports.

draws.py is where to begin: ``Posterior``, which everything else here asks.
"""
