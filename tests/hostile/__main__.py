"""Many cases by hand, in tests/: ``python -m hostile runs 5000``; or ``tables``, ``races`` and ``kills``.

A second number is the first seed.
"""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    importlib.import_module(f"hostile.{sys.argv[1]}").main(*map(int, sys.argv[2:]))
