"""Files by someone who knows the format (docs/files.md) and means no good, or had bad luck."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import tensorm
from tensorm import TensOrMachine

MARK = b"tensorm "


class Parts:
    """An archive taken apart: what its JSON says, and the bytes of all other members."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            self.members = {name: file.read(name) for name in file.namelist()}
        self.about: Any = json.loads(self.members.pop("about.json"))

    def join(self, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
        """Put the parts together again, with the checksum of what is there now."""
        about = self.about if isinstance(self.about, bytes) else json.dumps(self.about).encode()
        return make_zip({"about.json": about, **self.members}.items(), compression)

    def tree(self, path: str = "") -> Any:
        """What the JSON says of a tree."""
        node = self.about
        for name in filter(None, path.split("/")):
            node = node[name]
        return node

    def read(self, path: str) -> np.ndarray:
        return np.load(io.BytesIO(self.members[f"{path}.npy"])).copy()

    def write(self, path: str, array: np.ndarray) -> None:
        image = io.BytesIO()
        np.save(image, array)
        self.members[f"{path}.npy"] = image.getvalue()

    def change(self, path: str, at: Any, value: Any) -> None:
        """Change some numbers of an array."""
        array = self.read(path)
        array[at] = value
        self.write(path, array)

    def say(self, path: str, **changes: Any) -> None:
        """Make the header of an array say something else; its numbers stay."""
        array = self.read(path)
        known = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
        self.members[f"{path}.npy"] = header(repr(known | changes)) + array.tobytes()


def header(text: str, version: tuple[int, int] = (1, 0)) -> bytes:
    """The start of a .npy file whose header says this."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(line).to_bytes(2, "little") + line


def make_zip(members: Any, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of pairs of names and bytes, which may be anything, with the comment that ours have."""
    image = io.BytesIO()
    with zipfile.ZipFile(image, "w", compression) as file:
        file.comment = MARK + bytes(64)
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content, compression)
    return seal(image.getvalue())


def seal(content: bytes) -> bytes:
    """The bytes of an archive with their own checksum in its place."""
    return content[:-64] + blake2b(content[:-64], digest_size=32).hexdigest().encode()


def deep(depth: int, form: str = "[%s]") -> Any:
    """Lists, or other forms, inside one another."""
    text = "1"
    for _ in range(depth):
        text = form % text
    return json.loads(text)


ODD = [None, True, 0, 1, -1, 0.5, float("nan"), 2**31, 2**63, 10**400, "", "x", "<f8", [], [1, 2], {}, [[]]]
ODD += [float("inf"), -1e308, "\udc80", "\x1b[31m\n$x^$", "<b>", deep(400), 10**4000]


def say_something_odd(form: Any, rng: random.Random) -> str:
    """Replace one entry of what JSON holds."""
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
            places.append((node, key))
            if isinstance(value, (dict, list)):
                visit(value)

    visit(form)
    node, key = rng.choice(places)
    value = rng.choice(ODD)
    if isinstance(node, dict) and rng.random() < 0.15:
        del node[key]
        return f"no {key} "
    if isinstance(node[key], int) and rng.random() < 0.5:
        value = node[key] + rng.choice([-1, 1, 2, 64, 1000, 10**7])
    node[key] = value
    return f"{key}={value!r:.40} "


def strange_labels(size: int) -> dict[str, tuple[str, np.ndarray]]:
    """Labels of a mode that no fit has, each with the kind that the file says they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of times without a unit
        times = ("M8", "m8", "M8[25s]", "m8[7D]")
        arrays = {kind: np.arange(5, 5 + size, dtype="i8").view(kind) for kind in times}
    arrays["long text"] = np.array([str(n) + "x" * 10_000 for n in range(size)])
    arrays["long bytes"] = arrays["long text"].astype("S")
    items = {
        "deep": deep(9, '{"tuple": [%s]}'),
        "very deep": deep(300, '{"tuple": [%s]}'),
        "65 bits": 2**64,
        "negative": -(2**63) - 1,
        "digits": 10**4000,
        "digits inside": {"tuple": [10**4000]},
        "long": "x" * 10_001,
        "long tuple": {"tuple": ["x" * 5_000] * 2},
    }
    forms = {name: json.dumps([*range(1, size), item]).encode() for name, item in items.items()}
    return {
        **{name: ("array", array) for name, array in arrays.items()},
        **{name: ("json", np.frombuffer(form, np.uint8)) for name, form in forms.items()},
    }


def relabel(parts: Parts, k: int, kind: str, array: np.ndarray) -> None:
    """Give a mode other labels."""
    parts.about["modes"][k]["labels"] = kind
    parts.write(f"mode_{k}", array)


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
        noise="asymmetric",
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
    path = folder / "saved.tensorm"
    small_fit().save(path)
    content = path.read_bytes()
    path.unlink()
    return content


def load_bytes(folder: Path, content: bytes) -> TensOrMachine:
    path = folder / "forged.tensorm"
    path.write_bytes(content)
    return tensorm.load(path)
