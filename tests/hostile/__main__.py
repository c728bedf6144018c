"""Many hostile cases by hand: ``python -m hostile runs 5000``, ``races 200`` or ``kills 100``, in tests/."""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    importlib.import_module(f"hostile.{sys.argv[1]}").main(*map(int, sys.argv[2:]))
