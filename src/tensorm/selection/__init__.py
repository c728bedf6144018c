"""How many components, and which noise model: ways to choose, each with a recommendation and its reason."""
