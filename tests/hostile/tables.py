"""Random text tables, compared field by field with Python's csv and with pandas: no cell lost or invented.

    PYTHONPATH=src:tests python -m hostile tables 5000        # some minutes; a second number is the seed

A table is written as spreadsheets and careless programs write them: any separator, line end, quoting and
encoding, lines before the table, empty lines, fields left out or left over at the end of a line.
"""

from __future__ import annotations

import csv
import io
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tensorm

SPELLINGS = (
    *(
        "250.0",
        "250.00",
        "250",
        "1E1",
        "1e1",
        "10",
        "+491",
        "491",
        "007",
        "7",
        "-0",
        "0",
        "1_000",
        "0.1",
        ".5",
        "5.",
    ),
    *("nan", "NaN", "NA", "N/A", "inf", "-inf", "null", "None", "True", "FALSE", "1,5", "1e400", "0x10"),
    *(
        "#python",
        "#1",
        "sep=;",
        "=1+1",
        "1" * 20,
        "9" * 20,
        "2010-12-06",
        "\u00e9",
        "\u65e5\u672c",
        "a\u00a0b",
    ),
)
ALPHABET = "ab01.+-#\t ,;|\"'\n\r=\u00e9\u2028\x1c\x0b\U0001f600"
SEPARATORS, ENDS = (",", ";", "\t", "|"), ("\n", "\r\n", "\r")
PREAMBLES = ("", "", "", "# a comment\n", "\n", "#one\n\n# two, three\n")


class Table(NamedTuple):
    """The bytes of a file, how they were made, and the names of its columns."""

    data: bytes
    text: str
    mark: str
    names: list[str]


def make(seed: int) -> Table:
    """Write a random table."""
    rng = random.Random(seed)
    n, mark, end = rng.randint(2, 5), rng.choice(SEPARATORS), rng.choice(ENDS)
    names = [f"column {k}" for k in range(n)]
    kinds = [rng.choice((_word, _word, _spelling, _spelling, _integer, _noise)) for _ in names]
    rows = [[kind(rng) for kind in kinds] for _ in range(rng.choice((1, 2, 3, 10, 10, 150)))]
    if rng.random() < 0.02:
        rng.choice(rows)[0] = "x" * rng.choice((9_000, 60_000))
    body = io.StringIO(newline="")
    style = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(body, delimiter=mark, lineterminator=end, quoting=style)
    left_over = [""] * (rng.random() < 0.1)  # a separator at the end of each line
    writer.writerow(names + left_over)
    for row in rows:
        cut = row[: rng.randint(1, n)] if rng.random() < 0.01 else row + left_over
        writer.writerow([*row, "a", "b"] if rng.random() < 0.001 else cut)
        if rng.random() < 0.01:
            body.write(end)
    text = body.getvalue()
    head = f"sep={mark}{end}" if rng.random() < 0.1 else rng.choice(PREAMBLES).replace("\n", end)
    tail = rng.choice(("", "", end, end * 2))
    coding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"))
    return Table((head + text + tail).encode(coding), text, mark, names)


def _word(rng: random.Random) -> str:
    return f"person {rng.randint(0, 20)}"


def _integer(rng: random.Random) -> str:
    return str(rng.randint(-5, 200)) if rng.random() < 0.98 else rng.choice(SPELLINGS)


def _spelling(rng: random.Random) -> str:
    return rng.choice(SPELLINGS)


def _noise(rng: random.Random) -> str:
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 5)))


def expect_csv(table: Table) -> list[list[str]] | None:
    """Return the fields by Python's csv, without the blanks around them; None if rows differ in length."""
    header, *rows = csv.reader(
        io.StringIO(table.text, newline=""), delimiter=table.mark, skipinitialspace=True
    )
    rows = [row + [""] * (len(header) - len(row)) for row in rows if any(row)]
    if not rows or max(map(len, rows)) > len(header):
        return None
    return [[field.strip() for field in row[: len(table.names)]] for row in rows]


def expect_pandas(table: Table) -> list[list[str]] | None:
    """Return the fields by pandas, everything as text; None where its reader is known to go astray."""
    if "\r" in table.text.replace("\r\n", ""):  # bare carriage returns: some of them never end
        return None
    frame = pd.read_csv(
        io.BytesIO(table.text.encode()), sep=table.mark, dtype=str, keep_default_na=False, na_values=[],
        skip_blank_lines=False, skipinitialspace=True, index_col=False,
    ).fillna("")  # fmt: skip
    rows = [row[: len(table.names)] for row in frame.to_numpy().tolist() if any(row)]
    return [[field.strip() for field in row] for row in rows]


def read(path: Path, names: list[str]) -> list[list[str]]:
    """Return the fields by tensorm, row by row."""
    from tensorm.data.options import Options
    from tensorm.data.read import _open_text

    table = _open_text(path, Options(modes=names, header=True).check())
    columns = []
    for name in names:
        column = table.column(name)
        known = [*map(str, column.values), ""]
        columns.append([known[code] for code in column.codes])
    return [list(row) for row in zip(*columns, strict=True)]


def check(table: Table, folder: Path) -> str:
    """Return how a table ended: "equal", "refused" (and rightly), or what is wrong."""
    path = folder / f"table{'.tsv' if table.mark == chr(9) else '.csv'}"
    path.write_bytes(table.data)
    expected = expect_csv(table)
    try:
        found = read(path, table.names)
    except tensorm.InputError as error:
        if expected is None:
            return "refused"
        return f"lost: {error}"
    if expected is None:
        return "accepted: rows of different lengths"
    if found != expected:
        return f"csv has {_first(expected, found)}"
    other = expect_pandas(table)
    if other is not None and found != other:
        return f"pandas has {_first(other, found)}"
    return _check_cells(path, table.names, expected)


def _check_cells(path: Path, names: list[str], expected: list[list[str]]) -> str:
    """Compare the cells of the tensor with the rows, by their labels."""
    if any("" in row for row in expected) or max(len(field) for row in expected for field in row) > 10_000:
        return "equal"
    with warnings.catch_warnings(action="ignore"):
        tensor = tensorm.read(path, modes=names)
    found = np.unravel_index(tensor.listed_keys("zero")[0], tensor.shape)
    labels: list[Any] = [[str(label) for label in known] for known in tensor.labels if known is not None]
    cells = {tuple(labels[k][n] for k, n in enumerate(cell)) for cell in zip(*found, strict=True)}
    return "equal" if cells == {*map(tuple, expected)} else f"cells {cells ^ {*map(tuple, expected)}}"[:300]


def _first(wanted: list[list[str]], found: list[list[str]]) -> str:
    if len(wanted) != len(found):
        return f"{len(wanted)} rows, tensorm {len(found)}"
    row, other = next((a, b) for a, b in zip(wanted, found, strict=True) if a != b)
    return f"{row!r:.200}, tensorm {other!r:.200}"


def main(count: int = 5000, seed: int = 0) -> tuple[int, int]:
    """Compare many tables and print how many ended how; return the number of tables, and of wrong ones."""
    bad = 0
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(seed, seed + count):
            ended = check(make(n), Path(folder))
            counts[ended.split()[0]] += 1
            if ended not in ("equal", "refused"):
                bad += 1
                print(n, ended, flush=True)
    print(f"{count:,} tables:", dict(counts))
    return count, bad
