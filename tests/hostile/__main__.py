"""Many cases by hand, in tests/: ``python -m hostile all SEED``, or ``python -m hostile runs 5000``.

The first number is that of the cases, the second the first seed; ``inputs`` takes that of the first case too,
and ``api``, whose cases have no seed, a first case and a step. Each ends with one line that counts the cases.
"""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    name, numbers = sys.argv[1], map(int, sys.argv[2:])
    cases, bad = importlib.import_module(f"hostile.{name}").main(*numbers)
    print(f"{name}: {cases} cases, {bad} not accepted")
    sys.exit(bool(bad))
