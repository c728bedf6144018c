"""Where components are looked for: the start of a chain, and moves out of dead ends in burn-in."""
