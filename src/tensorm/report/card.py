"""A fit in a notebook: what was found, a line for each component, and a picture, as one piece of HTML."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape

import numpy as np

from tensorm.data.arrays import Floats
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, list_modes
from tensorm.report.describe import Description, describe_components, percent
from tensorm.report.naming import quote_label
from tensorm.report.page.cells import pairs_of, slice_cells
from tensorm.report.page.finding import tell_finding
from tensorm.report.page.members import find_homes

MAX_CARD_COMPONENTS, MAX_CARD_MEMBERS = 12, 3  # components in the table, and members named in each mode
HEIGHT = 240  # of the picture, in pixels
MAX_CARD_TEXT = 45  # letters, beyond which members are cut short
LEFT = 'style="text-align:left"'
INK = np.array([38, 70, 140])  # of a certain one; a certain zero is white


def render_card(posterior: Posterior) -> str:
    """Return the card."""
    diagnostics, finding = diagnose(posterior), tell_finding(posterior)
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
        '<div style="max-width:48em">'
        f"<p><b>{escape(finding.found)}</b> {escape(diagnostics.beside(finding.noise))}</p>"
        f"{_table(posterior)}</div>{_picture(posterior)}</div>"
    )


def _table(posterior: Posterior) -> str:
    """Return a row for each component: its first members, its strength, and how many chains found it."""
    told = [component for component in describe_components(posterior) if not component.empty]
    every = list_modes(posterior)
    twins = {j for i, j in pairs_of(every) if np.array_equal(every[i].means, every[j].means)}
    modes = [mode for k, mode in enumerate(every) if k not in twins]
    strong = any(component.strength is not None for component in told)
    heads = ["component", *(mode.name for mode in modes), *["strength"] * strong, "chains"]
    rows = [_row(component, modes) for component in told[:MAX_CARD_COMPONENTS]]
    if len(told) > MAX_CARD_COMPONENTS:
        rows.append([f"and {len(told) - MAX_CARD_COMPONENTS} more"])
    lines = ["".join(f"<td {LEFT}>{escape(text)}</td>" for text in row) for row in rows]
    head = "".join(f"<th {LEFT}>{escape(name)}</th>" for name in heads)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if told else ""


def _row(told: Description, modes: Sequence[FittedMode]) -> list[str]:
    """Return the fields of a component's row."""
    texts = {name: part.text for part in told.members for name in part.modes}
    fields = [str(told.component), *(_shorten(texts[mode.name], mode, told.component) for mode in modes)]
    if told.strength is not None:
        fields.append(percent(told.strength))
    return [*fields, f"{told.chains} of {told.n_chains}"]


def _shorten(text: str, mode: FittedMode, component: int) -> str:
    """Return the members in words, such as "08-11 (3 of 13)"; of a long list "ann, bob, cleo and 9 more"."""
    members = mode.members(component)
    if len(text) <= MAX_CARD_TEXT or len(members) <= MAX_CARD_MEMBERS:
        return text
    first = ", ".join(quote_label(mode.label(n)) for n in members[:MAX_CARD_MEMBERS].tolist())
    return f"{first} and {len(members) - MAX_CARD_MEMBERS:,} more"


def _picture(posterior: Posterior) -> str:
    """Return the predicted cells as an image, in the order of the components."""
    homes = find_homes(posterior, None, next(pairs_of(list_modes(posterior)), None))
    found = slice_cells(posterior, None, homes)
    rows, columns = (np.array(found[name]) for name in ("row_indices", "column_indices"))
    cells = np.reshape(found["predicted"][0], (len(rows), len(columns)))
    order = [
        np.argsort(homes[found[k]][index], kind="stable")
        for k, index in (("rows", rows), ("columns", columns))
    ]
    most = max(int(cells.max()), 1)  # averages are small
    image = b64encode(_png(cells[np.ix_(*order)] / most)).decode()
    names = [posterior.modes[found[k]] for k in ("rows", "columns")]
    about = escape(
        f"P(x = 1): {' by '.join(names)}, {found['titles'][0] or 'all cells'}, at most {most / 100}",
        quote=True,
    )
    return (
        f'<div><img alt="{about}" title="{about}" src="data:image/png;base64,{image}" '
        f'style="height:{HEIGHT}px;max-width:100%;image-rendering:pixelated;border:1px solid #999">'
        f'<div style="font-size:smaller">{about}</div></div>'
    )


def _png(shares: Floats) -> bytes:
    """Return a picture of shares from 0 (white) to 1 as a PNG file."""
    pixels = np.rint(255 + shares[..., None] * (INK - 255)).astype(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)  # \0: no filter
    size = struct.pack(">IIBBBBB", shares.shape[1], shares.shape[0], 8, 2, 0, 0, 0)
    parts = [(b"IHDR", size), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
