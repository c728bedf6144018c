"""The tables of ``benchmarks.read``: each can be read, and no column is coded twice."""

from __future__ import annotations

import tensorm
from benchmarks.read import write_tables
from tensorm.data import text


def test_the_benchmark_reads_each_of_its_tables(tmp_path):
    for name, options in write_tables(tmp_path, 100).items():
        assert tensorm.read(tmp_path / f"{name}.csv", **options).n_ones > 0, name


def test_a_column_of_a_file_is_coded_once(tmp_path, monkeypatch):
    (tmp_path / "met.csv").write_text("hour,person,met\n1,ann,bob\n2,ann,cleo\n1,bob,cleo\n")
    coded = []
    factorise = text.factorise
    monkeypatch.setattr(
        text, "factorise", lambda name, *args, **more: coded.append(name) or factorise(name, *args, **more)
    )
    tensorm.read(tmp_path / "met.csv")
    assert sorted(coded) == ["hour", "met", "person"]
