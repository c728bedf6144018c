"""TensOrMachine: settings, fitting, loading, and what a fitted model can do.

machine.py is where to begin: the settings, and the steps of a fit.
"""
