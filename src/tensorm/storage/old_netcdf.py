"""Reads the fits and runs of tensorm 0.1: netCDF files that end with an index and a checksum.

The index says where in the file each array lies, so the HDF5 library is not needed and never sees the file.
All arrays together are no larger than the file. They become a tree, which is packed as an archive in memory
and then read with all the checks of one. Nothing here writes a file.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.arrays import Array
from tensorm.model import Confusion
from tensorm.sampler.factor_draws import FactorDraws
from tensorm.sampler.two_rates import Rates
from tensorm.storage.archive import MAX_JSON_BYTES, refusal, refusing
from tensorm.storage.chain import NUMBER_DTYPES, pack_draws
from tensorm.storage.fit import FORMAT_VERSION
from tensorm.tensors.sparse import OTHERS

OLD_SEAL, OLD_DIGEST = b"tensorm\n", 32  # the end of a file: index, its length in 8 bytes, checksum, seal
OLD_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8", "|S1")
TEXT_LABELS = ("text", "text objects", "bytes", "json")  # kinds of labels


def read_tree(path: Path, content: memoryview) -> dict[str, Any]:
    """Return what a file of the first edition holds, as the tree of an archive."""
    index = _find_index(path, content)
    with refusing(path, "its index is damaged"):
        tree, _ = _read_group(json.loads(bytes(index)), content, len(content))
    with refusing(path, "its labels, settings or draws are damaged"):
        _translate(tree)
    return tree


def _find_index(path: Path, content: memoryview) -> memoryview:
    ending = 8 + OLD_DIGEST + len(OLD_SEAL)
    if len(content) < ending or content[-len(OLD_SEAL) :] != OLD_SEAL:
        raise refusal(path, "tensorm did not write it, or it is incomplete or was changed since")
    last = len(content) - ending
    length = int.from_bytes(content[last : last + 8], "little")
    if length > min(MAX_JSON_BYTES, last):
        raise refusal(path, "its index has an impossible length")
    if blake2b(content[: last + 8], digest_size=OLD_DIGEST).digest() != content[last + 8 : -len(OLD_SEAL)]:
        raise refusal(path, "its checksum is wrong, so it is damaged or was changed")
    return content[last - length : last]


def _read_group(group: Any, content: memoryview, left: int) -> tuple[dict[str, Any], int]:
    """Return the tree of a group, which takes no more bytes than are left, and how many are left then."""
    tree = dict(group["attributes"])
    for name, entry in group["variables"].items():
        dtype, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
        if dtype not in OLD_DTYPES or not all(type(n) is int and 0 <= n < 2**62 for n in (*shape, offset)):
            raise ValueError("no array")
        array = np.frombuffer(content, dtype, math.prod(shape), offset).reshape(shape)
        tree[name], left = array, left - array.nbytes
        if left < 0:
            raise ValueError("larger than the file")
    for name, inner in group["groups"].items():
        tree[name], left = _read_group(inner, content, left)
    return tree, left


def _translate(tree: dict[str, Any]) -> None:
    """Put all that archives have in another form, or in addition, into that form."""
    tree["modes"], settings, cells = json.loads(_text(tree["modes"])), tree["settings"], tree.get("cells")
    tree |= {"format_version": FORMAT_VERSION, "undirected": None, "noise_choice": None}
    for k, mode in enumerate(tree["modes"]):
        if mode["labels"] is not None:
            mode["labels"], tree[f"mode_{k}"] = _read_labels(mode["labels"], tree[f"mode_{k}"])

    def read_setting(form: dict[str, Any]) -> dict[str, Any]:
        if form.keys() != {"array", "axes", "dtype"}:
            return form
        name = f"array_{form['array']}"
        settings[name] = _as_numbers(settings[name], form["dtype"])
        return {"array": form["array"]}

    settings["parameters"] = json.loads(_text(settings.pop("settings")), object_hook=read_setting)
    if cells is None:
        tree["shape"] = [tree["chain_0"][f"factor_{k}"].shape[1] for k in range(len(tree["modes"]))]
        tree["weights"], tree["explanations"] = _weigh_chains(tree)
        for chain in (part for name, part in tree.items() if name.startswith("chain_")):
            rates, confusion = Rates(*chain["noise"].T), Confusion(*chain["confusion"].T)
            chain["log_likelihood"] = rates.log_likelihood(confusion)
            for k in range(len(tree["modes"])):
                chain |= pack_draws(k, FactorDraws.from_all(chain.pop(f"factor_{k}")))
        return
    tree["shape"] = [cells[f"size_{k}"] for k in range(len(tree["modes"]))]
    for name in {"one_cells", "other_cells"} & cells.keys():
        cells[name] = cells[name][:-1]  # the last marked the end
    if "other_cells" in cells:
        cells[OTHERS[cells["unlisted"]]] = cells.pop("other_cells")


def _weigh_chains(tree: dict[str, Any]) -> tuple[Array, Array]:
    """Return the weight and the explanation of each chain; those with a worse explanation did not count."""
    kept = tree.pop("kept")
    lengths = [len(tree[f"chain_{number}"]["noise"]) for number in range(len(kept))]
    if not set(kept.tolist()) <= {0, 1} or not np.dot(kept, lengths):
        raise ValueError("no chain counts")
    return kept * lengths / np.dot(kept, lengths), 1 - kept.astype(np.int64)


def _text(characters: Array) -> str:
    if characters.nbytes > MAX_JSON_BYTES:
        raise ValueError("too long")
    return characters.tobytes().decode()


def _read_labels(kind: str, stored: Array) -> tuple[str, Array]:
    """Return the kind of some labels as archives name it, and what they hold of it."""
    if kind not in TEXT_LABELS:
        times = np.dtype(kind).kind in "Mm"
        return "array", stored.view(kind) if times else _as_numbers(stored, kind)
    rows = stored.view(f"S{stored.shape[1]}").reshape(len(stored))
    if kind == "bytes":
        return "array", rows
    texts = [row.decode() for row in rows.tolist()]
    if kind == "text":
        return "array", np.array(texts)
    text = json.dumps(texts) if kind == "text objects" else f"[{','.join(texts)}]"
    return "json", np.frombuffer(text.encode(), np.uint8)


def _as_numbers(stored: Array, kind: str) -> Array:
    if kind not in NUMBER_DTYPES or stored.dtype.kind == "S":
        raise ValueError("no numbers")
    return stored.astype(kind)
