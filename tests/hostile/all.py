"""Every harness at full size, in pieces, two at a time: ``python -m hostile all SEED`` in tests/, some hours.

Prints a line for each piece, with all that it said if something was not accepted, and in the end one for each
harness. A piece that does not come to its end counts as one case that was not accepted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SEEDS = 10**6  # of a harness; each has its own
PIECES = {  # how many, and how many cases in each
    "inputs": (20, 500),
    "runs": (10, 500),
    "tables": (5, 1000),
    "kills": (4, 25),
    "races": (4, 50),
    "api": (8, 0),
}


def list_pieces(seed: int) -> list[list[str]]:
    """Return the words of each piece."""
    found = []
    for number, (name, (pieces, size)) in enumerate(PIECES.items()):
        first = SEEDS * (len(PIECES) * seed + number)
        for piece in range(pieces):
            numbers = [size, first + piece * size]
            if name == "inputs":
                numbers = [size, first, piece * size]
            elif name == "api":
                numbers = [piece, pieces]
            found.append([name, *map(str, numbers)])
    return found


def run(words: list[str]) -> tuple[str, int, int]:
    """Run a piece; return its harness, the number of cases, and of those that were not accepted."""
    done = subprocess.run(
        [sys.executable, "-m", "hostile", *words],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    ended = re.search(r": (\d+) cases, (\d+) not accepted$", done.stdout.strip())
    cases, bad = map(int, ended.groups()) if ended else (0, 1)
    said = done.stdout + done.stderr[-3000:] if bad else ""
    print(f"{' '.join(words)}: {cases:,} cases, {bad:,} not accepted\n{said}", end="", flush=True)
    return words[0], cases, bad


def main(seed: int = 0) -> tuple[int, int]:
    """Run everything, and print how many cases of each harness there were."""
    cases, bad = Counter[str](), Counter[str]()
    with ThreadPoolExecutor(2) as pool:
        for name, tried, failed in pool.map(run, list_pieces(seed)):
            cases[name] += tried
            bad[name] += failed
    for name in PIECES:
        print(f"{name:8} {cases[name]:7,} cases, {bad[name]:,} not accepted")
    return cases.total(), bad.total()
