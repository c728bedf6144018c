"""TensOrMachine: settings, fitting, loading, and what a fitted model can do."""
