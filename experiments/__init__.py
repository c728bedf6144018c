"""The paper's experiments, one script each: ``python -m experiments.figure2a --quick`` or ``--full``.

Each prints a table and writes it as CSV, with a figure and a section for
docs/reproduction.md, to experiments/out; ``make reproduce`` runs all of them and builds that page. Finished
trials are kept there as well and not repeated; ``--fresh`` deletes them.
"""
