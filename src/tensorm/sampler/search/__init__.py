"""Search for components: the start of a chain, and repairs in burn-in."""
