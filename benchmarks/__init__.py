"""What it costs and how well it does: benchmarks that print tables, and are not part of the package."""
