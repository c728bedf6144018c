"""Hostile inputs: forgeries of every format, and honest files with damage; run many by hand.

PYTHONPATH=../src:. python -m hostile inputs 10000 0

prints how many ended how, and the first cases that were not accepted. Every mutant is decided by the seed and
its number, and its file is kept if it was not accepted.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile import child, chunks, demands, samples, stores  # noqa: F401 (they add to samples.FORGERIES)
from tensorm import InputError
from tensorm.data.files import FORMATS
from tensorm.data.read import read_columns
from tensorm.data.text import ending_of

OPTIONS = {
    "plain": {},
    "wide": {"wide": True},
    "value": {"value": "x"},
    "indices": {"indices": True},
    "relational": {"relational": True},
    "time": {"time": "x", "bins": "1h"},
    "cut": {"threshold": 0.5},
    "undirected": {"modes": ["hour", "a", "b"], "pair": ["a", "b"], "undirected": True},
}
NUMBERS = (0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1)


def read(path: str) -> None:
    """Read a file with the options that its name says, and everything that a user would see of it."""
    import tensorm

    warnings.filterwarnings("ignore", "Some cells are listed more than once")
    options = next((how for word, how in OPTIONS.items() if f"-{word}-" in Path(path).name), {})
    if "-metadata-" in Path(path).name:
        read_columns(path, ["who"])
        return
    try:
        tensor = tensorm.read(path, **options)
    except InputError as error:
        if isinstance(error.__cause__, MemoryError):  # a small file has asked for much before it was refused
            raise error.__cause__ from None
        raise
    repr(tensor)
    for labels in tensor.labels:
        for name in () if labels is None else labels:
            str(name).encode()
    if tensor.n_observed < 10**5:
        next(iter(tensor.blocks()))


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to three kinds of damage."""
    image = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        deed = rng.choice(("flip", "flip", "byte", "cut", "splice", "insert", "delete", "number", "repeat"))
        n = len(image)
        at, size = rng.randrange(n + 1), rng.choice((1, 1, 2, 4, 8, 64, 512))
        other = rng.randrange(n + 1)
        if deed == "flip" and n:
            for _ in range(rng.choice((1, 1, 2, 8, 64))):
                image[rng.randrange(n)] ^= 1 << rng.randrange(8)
        elif deed == "byte" and n:
            image[rng.randrange(n)] = rng.choice((0, 255, 10, 13, 34, 35, 44, 59, rng.randrange(256)))
        elif deed == "cut":
            del image[at:]
        elif deed == "splice":
            image[at : at + size] = image[other : other + size]
        elif deed == "insert":
            image[at:at] = rng.randbytes(size)
        elif deed == "delete":
            del image[at : at + size]
        elif deed == "number":  # sizes, offsets and counts are often little-endian numbers
            width = rng.choice((1, 2, 4, 8))
            image[at : at + width] = (rng.choice(NUMBERS) % 2 ** (8 * width)).to_bytes(width, "little")
        else:
            image[at:at] = image[other : other + size] * rng.choice((2, 10, 100))
    return bytes(image)


def mutate(sample: Path, copy: Path, rng: random.Random) -> None:
    """Write a damaged copy of a file, or of a folder with one damaged file."""
    target, source = copy, sample
    if sample.is_dir():
        shutil.copytree(sample, copy)
        files = sorted(file for file in sample.rglob("*") if file.is_file())
        source = rng.choice(files)
        target = copy / source.relative_to(sample)
        if rng.random() < 0.05:
            target.unlink()
            return
    target.write_bytes(damage(source.read_bytes(), rng))


def mutants(folder: Path, count: int, seed: int, first: int = 0) -> Iterator[Path]:
    """Write damaged files one by one, from the honest ones in turn."""
    honest = samples.write_samples(folder / "honest")
    for n in range(first, first + count):
        rng = random.Random(f"{seed} {n}")
        sample = honest[n % len(honest)]
        words = [*OPTIONS, "metadata"] if FORMATS[ending_of(sample)].table else ["plain", "cut", "relational"]
        path = folder / f"{n:05d}-{rng.choice(words)}-{sample.name}"
        mutate(sample, path, rng)
        yield path


def check(paths: list[Path], outside: Path) -> Iterator[tuple[Path, child.Outcome]]:
    """Read files in a child, delete those that were accepted, and say how each ended."""
    outcomes = child.run("hostile.inputs:read", [str(path) for path in paths], outside)
    for path, outcome in zip(paths, outcomes, strict=True):
        if outcome.accepted:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        yield path, outcome


def main(cases: int = 1000, seed: int = 0, first: int = 0) -> tuple[int, int]:
    """Try many mutants from a number on, with 0 also all forgeries; keep what is not accepted.

    Returns the number of files, and of those not accepted.
    """
    folder, tried, bad = Path(tempfile.mkdtemp(prefix="hostile-")), 0, 0
    outside = folder / "outside"
    samples.write_secrets(outside)
    forged = [] if first else samples.forge_all(folder / "forged", outside)
    damaged = list(mutants(folder / "mutants", cases, seed, first))
    for name, paths in (("forgeries", forged), ("mutants", damaged)):
        counts: Counter[str] = Counter()
        for path, outcome in check(paths, outside):
            counts[outcome.kind] += 1
            if not outcome.accepted:
                bad += 1
                print(f"{outcome.kind:10} {path}: {outcome.message}", flush=True)
        tried += counts.total()
        print(name, counts.total(), dict(counts), flush=True)
    if not bad:
        shutil.rmtree(folder)
    return tried, bad
