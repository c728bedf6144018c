"""Gene sets in a GMT file: a line for each component, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from posteriors import PEOPLE, bits, make_posterior, ward_posterior
from tensorm import FileError, InputError
from tensorm.report.export import write_gmt


def test_a_line_for_each_set(tmp_path: Path) -> None:
    path = tmp_path / "sets.gmt"
    write_gmt(ward_posterior(), path, "met")
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert lines == [
        ["component_0", "met with probability above 0.5", *PEOPLE[:5]],
        ["component_1", "met with probability above 0.5", "nurse 02", "nurse 03"],
    ]
    write_gmt(ward_posterior(), path, 2, threshold=0.2)
    assert path.read_text().splitlines()[1].endswith("above 0.2\tnurse 02\tnurse 03\tnurse 04")


def test_numbers_as_members_and_empty_sets(tmp_path: Path) -> None:
    posterior = make_posterior([[[bits(3, [], [0, 2]), bits(2, [1], [0])]]])
    write_gmt(posterior, tmp_path / "sets.gmt", 0)
    assert (tmp_path / "sets.gmt").read_text() == "component_1\tmode 0 with probability above 0.5\t0\t2\n"


@pytest.mark.parametrize("label", ["a\tb", "a\nb", "a\rb", "", "  "])
def test_labels_that_a_gmt_file_cannot_hold(label: str, tmp_path: Path) -> None:
    labels = (np.array(["a", "b", label]), None)
    posterior = make_posterior([[[bits(3, [0]), bits(2, [1])]]], ("gene", "day"), labels)
    with pytest.raises(
        InputError, match=r"'gene' has the label .*; a GMT file needs labels that are not blank, without tabs"
    ):
        write_gmt(posterior, tmp_path / "sets.gmt", "gene")
    assert not list(tmp_path.iterdir())


def test_a_gmt_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written: no such file or directory"):
        write_gmt(ward_posterior(), tmp_path / "missing" / "sets.gmt", "met")
    with pytest.raises(InputError, match="the modes are 'hour', 'person', 'met'"):
        write_gmt(ward_posterior(), tmp_path / "sets.gmt", "nobody")
