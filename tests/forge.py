"""Files by someone who knows the format (docs/files.md) and means no good, or had bad luck."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tensorm
from tensorm import TensOrMachine

SEAL = b"tensorm\n"


class Parts(NamedTuple):
    """A file taken apart: its netCDF bytes, and the index after them."""

    body: bytearray
    index: Any

    def join(self) -> bytes:
        """Put the parts together again, with the checksum of what is there now."""
        index = self.index if isinstance(self.index, bytes) else json.dumps(self.index).encode()
        whole = bytes(self.body) + index + len(index).to_bytes(8, "little")
        return whole + blake2b(whole, digest_size=32).digest() + SEAL

    def group(self, path: str = "") -> Any:
        """The index of a group."""
        node = self.index
        for name in filter(None, path.split("/")):
            node = node["groups"][name]
        return node

    def place(self, path: str) -> dict[str, Any]:
        """The entry of a variable in the index."""
        group, _, name = path.rpartition("/")
        entry: dict[str, Any] = self.group(group)["variables"][name]
        return entry

    def read(self, path: str) -> np.ndarray:
        entry = self.place(path)
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(self.body, entry["dtype"], count, entry["offset"])
        return flat.reshape(entry["shape"]).copy()

    def write(self, path: str, array: np.ndarray) -> None:
        """Put an array in the place of a variable, behind all others if it has become larger."""
        entry = self.place(path)
        octets = np.ascontiguousarray(array).tobytes()
        entry |= {"offset": len(self.body), "dtype": array.dtype.str, "shape": list(array.shape)}
        self.body.extend(octets)

    def change(self, path: str, at: Any, value: Any) -> None:
        """Change some numbers of a variable."""
        array = self.read(path)
        array[at] = value
        self.write(path, array)

    def text(self, path: str) -> Any:
        return json.loads(self.read(path).tobytes())

    def write_text(self, path: str, content: Any) -> None:
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.write(path, np.frombuffer(text, "S1"))


def take_apart(content: bytes) -> Parts:
    assert content.endswith(SEAL)
    length = int.from_bytes(content[-48:-40], "little")
    return Parts(bytearray(content[: -48 - length]), json.loads(content[-48 - length : -48]))


def variables(node: Any, path: str = "") -> Iterator[str]:
    """The paths of all variables in an index."""
    yield from (f"{path}{name}" for name in node["variables"])
    for name, inner in node["groups"].items():
        yield from variables(inner, f"{path}{name}/")


@cache
def small_fit() -> TensOrMachine:
    """Two chains on a tensor of 4 x 5 x 3 with labels of all sorts and arrays among its settings."""
    import xarray

    rng = np.random.default_rng(3)
    factors = [rng.random((N, 9)) < 0.3 for N in (4, 5, 3)]
    X = xarray.DataArray(
        rng.random((4, 5, 3)) < 0.4,
        dims=("gene", "day", "mouse"),
        coords={
            "gene": ["BRCA2", "TP53", "Österreich", "a\tb"],
            "day": np.array(["2020-01-01", "2020-01-02", "NaT", "1969-12-31", "2021-05-05"], "M8[D]"),
        },
    )
    priors = [0.2, np.full((5, 9), 0.25), rng.uniform(0.1, 0.9, (3, 9))]
    model = TensOrMachine(
        n_components=9,
        n_chains=2,
        n_draws=6,
        burn_in=3,
        init=factors,
        factor_prior=priors,
        noise_prior=(2.0, 1.5),
        random_state=5,
        progress=False,
    )
    return model.fit(X)


def saved(folder: Path) -> bytes:
    path = folder / "saved.nc"
    small_fit().save(path)
    content = path.read_bytes()
    path.unlink()
    return content


def load_bytes(folder: Path, content: bytes) -> TensOrMachine:
    path = folder / "forged.nc"
    path.write_bytes(content)
    return tensorm.load(path)
