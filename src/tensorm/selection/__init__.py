"""How many components, and which noise model: ways to choose, each with a recommendation and its reason.

choose.py is where to begin for the number of components, noise.py for the noise model.
"""
