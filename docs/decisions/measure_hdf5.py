"""Prints the figures of note 5: what becomes of a process that opens files with a changed structure.

Run with ``python docs/decisions/measure_hdf5.py`` on a system that can fork. One or two bytes of a result
file's HDF5 structure are changed at random and the checksums that HDF5 keeps of it are put right again, as
someone would who means harm. A process of its own then reads everything that h5py finds in the file, or
loads it with tensorm, whose index is left as it was and sealed anew.
"""

import os
import signal
import struct
import tempfile
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import h5py
import numpy as np

import tensorm
from tensorm import FileError, TensOrMachine

FILES, PATIENCE = 2000, 5  # seconds
MASK = 2**32 - 1


def turn(x, k):
    return (x << k | x >> 32 - k) & MASK


def lookup3(octets):
    """Bob Jenkins' checksum, as HDF5 uses it."""
    a = b = c = (0xDEADBEEF + len(octets)) & MASK
    while len(octets) > 12:
        x, y, z = struct.unpack_from("<III", octets)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        for k, l, m in ((4, 6, 8), (16, 19, 4)):
            a = ((a - c) & MASK) ^ turn(c, k)
            c = (c + b) & MASK
            b = ((b - a) & MASK) ^ turn(a, l)
            a = (a + c) & MASK
            c = ((c - b) & MASK) ^ turn(b, m)
            b = (b + a) & MASK
        octets = octets[12:]
    x, y, z = struct.unpack("<III", octets.ljust(12, b"\0"))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    c = ((c ^ b) - turn(b, 14)) & MASK
    a = ((a ^ c) - turn(c, 11)) & MASK
    b = ((b ^ a) - turn(a, 25)) & MASK
    c = ((c ^ b) - turn(b, 16)) & MASK
    a = ((a ^ c) - turn(c, 4)) & MASK
    b = ((b ^ a) - turn(a, 14)) & MASK
    return ((c ^ b) - turn(b, 24)) & MASK


def find_blocks(content):
    """Return the pieces of the structure that have a checksum, as (start, end)."""
    blocks = [(0, 44)]
    for mark in (b"OHDR", b"OCHK", b"FRHP", b"BTHD", b"BTLF"):
        start = content.find(mark)
        while start >= 0:
            ends = range(start + 8, min(start + 2000, len(content) - 4))
            found = (
                end
                for end in ends
                if content[end : end + 4] == lookup3(content[start:end]).to_bytes(4, "little")
            )
            blocks += [(start, end) for end in found][:1]
            start = content.find(mark, start + 4)
    return blocks


def spoil(content, blocks, rng):
    changed = bytearray(content)
    for _ in range(rng.integers(1, 3)):
        start, end = blocks[rng.integers(len(blocks))]
        at = rng.integers(start + 4, end)
        changed[at : min(end, at + 2)] = rng.bytes(min(end, at + 2) - at)
        struct.pack_into("<I", changed, end, lookup3(bytes(changed[start:end])))
    sealed = bytes(changed[:-40])
    return sealed + blake2b(sealed, digest_size=32).digest() + bytes(changed[-8:])


def read_everything(path):
    def look(_, item):
        dict(item.attrs)
        if isinstance(item, h5py.Dataset):
            item[...]

    with h5py.File(path, "r") as file:
        file.visititems(look)


def outcome(read, path):
    """Say how a process ends that reads a file."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(PATIENCE)
        try:
            read(path)
        except FileError:
            os._exit(1)
        except BaseException:
            os._exit(2)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status):
        return ("read", "refused in a sentence", "another error")[os.WEXITSTATUS(status)]
    return "no end" if os.WTERMSIG(status) == signal.SIGALRM else "crash"


def main():
    X = np.random.default_rng(0).random((4, 5, 3)) < 0.4
    model = TensOrMachine(2, n_chains=2, n_draws=5, burn_in=2, random_state=0, progress=False).fit(X)
    rng = np.random.default_rng(0)
    counts = {"h5py": Counter(), "tensorm.load": Counter()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        model.save(path)
        content = path.read_bytes()
        blocks = find_blocks(content)
        for _ in range(FILES):
            path.write_bytes(spoil(content, blocks, rng))
            counts["h5py"][outcome(read_everything, path)] += 1
            counts["tensorm.load"][outcome(tensorm.load, path)] += 1
    print(f"HDF5 {h5py.version.hdf5_version}, {len(blocks)} blocks, {FILES} files")
    for name, count in counts.items():
        print(name, dict(count.most_common()))


if __name__ == "__main__":
    main()
