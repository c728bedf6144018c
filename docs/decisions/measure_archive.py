"""Prints the figures of note 10: size and speed of a fit's file, and what becomes of flipped bits.

Run with ``python docs/decisions/measure_archive.py``. Bits of the ward's file are flipped at random, one at a
time: as they are by a bad disk, and with the checksum of the file put right again, as someone would who
means harm.
"""

import tempfile
import time
import zipfile
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import numpy as np

import tensorm
from tensorm import FileError, TensOrMachine

FLIPS, REPEATS = 2000, 30


def best(call):
    """Return the milliseconds of the quickest of some calls."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def flip(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def seal(content):
    return content[:-64] + blake2b(content[:-64], digest_size=32).hexdigest().encode()


def outcome(path, content, expected):
    path.write_bytes(content)
    try:
        model = tensorm.load(path)
    except FileError:
        return "refused"
    return "the same fit" if model.predict_proba().tobytes() == expected else "ANOTHER FIT"


def main():
    model = TensOrMachine(8, random_state=0, progress=False).fit(tensorm.datasets.ward())
    expected = model.predict_proba().tobytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ward.tensorm"
        write = best(lambda: model.save(path))
        read = best(lambda: tensorm.load(path))
        good = path.read_bytes()
        with zipfile.ZipFile(path) as file:
            unpacked = sum(member.file_size for member in file.infolist())
        print(f"{len(good):,} bytes, {unpacked:,} unpacked; written in {write:.1f} ms, read in {read:.1f} ms")
        bits = np.random.default_rng(0).integers(8 * len(good) - 512, size=FLIPS).tolist()
        for name, change in (("as they are", flip), ("checksum put right", lambda *at: seal(flip(*at)))):
            print(name, dict(Counter(outcome(path, change(good, bit), expected) for bit in bits)))


if __name__ == "__main__":
    main()
