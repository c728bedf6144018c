"""What loaders return for small files in the format of the public ones, cell by cell."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tensorm import FileError, InputError, datasets
from tensorm.datasets.public import FIRST_WEEK, WEEK
from tensorm.datasets.registry import FILES


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes files into the folder TENSORM_DATA and lets them pass unchecked."""

    def write(name, path, content):
        monkeypatch.setitem(FILES, name, FILES[name]._replace(sha256=""))
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_bytes(content)

    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    return write


def ones(X) -> set[tuple[str, ...]]:
    """Return the labels of the cells that are 1; all others are 0 or missing."""
    assert X.dtype == np.float32
    assert set(np.unique(X.values[~np.isnan(X.values)])) == {0, 1}
    labels = [X[dim].values.tolist() for dim in X.dims]
    return {
        tuple(names[i] for names, i in zip(labels, cell, strict=True)) for cell in np.argwhere(X.values == 1)
    }


CONTACTS = [  # seconds after 13 o'clock at which 20 seconds of contact end
    (3600, 1157, 95, "MED", "PAT"),
    (3620, 1260, 95, "NUR", "PAT"),
    (36020, 1157, 1300, "MED", "ADM"),
    (43200, 1300, 1260, "ADM", "NUR"),  # an hour past midnight
]


@pytest.fixture
def ward(write):
    name = "hospital/hospital_lyon_contacts.dat.gz"
    lines = "".join("\t".join(map(str, contact)) + "\n" for contact in CONTACTS)
    write(name, name, gzip.compress(lines.encode()))


def both_ways(*contacts):
    return {(hour, *pair) for hour, i, j in contacts for pair in ((i, j), (j, i))}


def test_contacts_of_hours_and_of_the_night(ward):
    X = datasets.hospital(np.array([13, 14, 23]))
    assert X.hour.values.tolist() == ["13-14", "14-15", "23-00", "night"]
    assert X.person.values.tolist() == X.met.values.tolist() == ["95", "1157", "1260", "1300"]
    assert X.role.values.tolist() == ["patient", "doctor", "nurse", "administrator"]
    assert ones(X) == both_ways(
        ("13-14", "1157", "95"),
        ("14-15", "1260", "95"),
        ("23-00", "1157", "1300"),
        ("night", "1300", "1260"),
    )
    np.testing.assert_array_equal(np.isnan(X), np.broadcast_to(np.eye(4, dtype=bool), X.shape))


def test_there_is_a_night_only_if_an_hour_is_left_for_it(ward):
    X = datasets.hospital(range(24))
    assert X.hour.values.tolist() == [*(f"{hour:02d}-{hour + 1:02d}" for hour in range(23)), "23-00"]
    assert ("00-01", "1260", "1300") in ones(X)
    assert len(ones(X)) == 8
    assert datasets.hospital([]).hour.values.tolist() == ["night"]


@pytest.mark.parametrize(
    ("hours", "message"),
    [
        (8, "hours is 8; give increasing hours of the day between 0 and 23, as in range(8, 20)."),
        (None, "hours is None; give increasing hours of the day between 0 and 23, as in range(8, 20)."),
        ([8, 9.0], "hours[1] is 9.0; give an integer of at least 0."),
        ([False, True], "hours[0] is False; give an integer of at least 0."),
        ("89", "hours[0] is '8'; give an integer of at least 0."),
        ([-1], "hours[0] is -1; give an integer of at least 0."),
        ([9, 8], "hours is [9, 8]; give increasing hours of the day between 0 and 23."),
        ([8, 8], "hours is [8, 8]; give increasing hours of the day between 0 and 23."),
        ([8, 24], "hours is [8, 24]; give increasing hours of the day between 0 and 23."),
    ],
)
def test_hours_that_are_none(hours, message):
    with pytest.raises(InputError) as caught:
        datasets.hospital(hours)
    assert str(caught.value) == message


def test_seats_of_students(write):
    scans = {
        "u01": [("1", FIRST_WEEK), ("14", FIRST_WEEK + WEEK - 1), ("15", FIRST_WEEK + WEEK)],
        "u02": [("84", FIRST_WEEK), ("85", FIRST_WEEK), ("0", FIRST_WEEK + WEEK)],
        "u04": [("30", FIRST_WEEK - 1)],  # before the course
        "u30": [("front row", FIRST_WEEK + 2 * WEEK), ("-3", FIRST_WEEK + 2 * WEEK)],
    }
    for name, rows in scans.items():
        content = json.dumps([{"qr_code": code, "resp_time": time} for code, time in rows])
        write("students/QR_Code", f"students/QR_Code/QR_{name}.json", content.encode())
    X = datasets.students()
    ranges = ["seats 1-14", "seats 15-28", "seats 29-42", "seats 43-56", "seats 57-70", "seats 71-84"]
    assert X.region.values.tolist() == [*ranges, "?"]
    assert X.week.values.tolist() == ["week 1", "week 2", "week 3"]
    assert X.student.values.tolist() == ["u01", "u02", "u30"]
    assert ones(X) == {
        ("week 1", "seats 1-14", "u01"),
        ("week 2", "seats 15-28", "u01"),
        ("week 1", "seats 71-84", "u02"),
        ("week 1", "?", "u02"),
        ("week 2", "?", "u02"),
        ("week 3", "?", "u30"),
    }
    X = datasets.students({84: "back", 1: "front", 15: "front"})
    assert X.region.values.tolist() == ["back", "front", "?"]
    assert ("week 1", "back", "u02") in ones(X)
    assert {cell for cell in ones(X) if cell[2] == "u01"} == {
        ("week 1", "front", "u01"),
        ("week 1", "?", "u01"),  # seat 14
        ("week 2", "front", "u01"),
    }


@pytest.mark.parametrize("regions", [{}, [1, 2], {"1": "front"}, {1: 2}, "front", 3])
def test_regions_that_are_no_map_of_seats_are_refused(regions):
    with pytest.raises(InputError, match=r"^regions is .*; give the name of a region for each seat number"):
        datasets.students(regions)


def test_relations_of_nations(write):
    triples = {
        "train": ("usa", "treaties", "cuba"),
        "valid": ("china", "treaties", "usa"),
        "test": ("cuba", "aid", "uk"),
    }
    for part, triple in triples.items():
        write(f"nations/{part}.txt", f"nations/{part}.txt", ("\t".join(triple) + "\n\n").encode())
    for part, triple in triples.items():
        X = datasets.nations(part)
        assert X.dims == ("head", "relation", "tail")
        assert X["head"].values.tolist() == X["tail"].values.tolist() == ["china", "cuba", "uk", "usa"]
        assert X.relation.values.tolist() == ["aid", "treaties"]
        assert ones(X) == {triple}
        assert X.attrs["source"].endswith(f"/nations/{part}.txt")
    with pytest.raises(InputError, match="part is 'dev'; choose 'train', 'valid' or 'test'"):
        datasets.nations("dev")


@pytest.fixture
def write_matrix(tmp_path, monkeypatch):
    """Return a function that writes a matrix without a checksum into the folder TENSORM_DATA."""

    def write(kind, **arrays):
        path = tmp_path / f"cancer/{MATRICES[kind]}"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **arrays)
        return path

    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    return write


MATRICES = {"mirna": "mirna.npz", "mrna": "mrna_pancan.npz"}
GENES = ["hsa-let-7a-1", "hsa-mir-10a", "hsa-mir-21"]
BARCODES = ["TCGA-OR-A5J1-01A-11R-A29W-13", "TCGA-V3-A9ZX-01A-11R-A29W-13"]
MATRIX = {
    "expr": np.arange(6, dtype=np.float32).reshape(2, 3),
    "genes": GENES,
    "barcode": BARCODES,
    "cancer": ["ACC", "UVM"],
}


def test_patients_are_labelled_alike_and_samples_are_known_of_mirna(write_matrix):
    write_matrix("mirna", **MATRIX)
    write_matrix("mrna", **{**MATRIX, "barcode": [name[:12] for name in BARCODES]})
    made = {kind: datasets.cancer(kind) for kind in ("mirna", "mrna")}
    for X in made.values():
        assert X.dims == ("patient", "gene")
        assert X.patient.values.tolist() == ["TCGA-OR-A5J1", "TCGA-V3-A9ZX"]
        assert X.gene.values.tolist() == GENES
        assert X.cancer.values.tolist() == ["ACC", "UVM"]
        assert X.sel(patient="TCGA-V3-A9ZX").values.tolist() == [3, 4, 5]
    assert made["mirna"]["sample"].dims == ("patient",)
    assert made["mirna"]["sample"].values.tolist() == BARCODES
    assert "sample" not in made["mrna"].coords
    assert made["mirna"].attrs["licence"] == "TCGA, open access; package GPL-2"
    assert made["mrna"].attrs["licence"] == "TCGA, open access"


def test_a_matrix_that_cannot_be_read_can_be_made_again(write_matrix):
    message = r"mirna.npz does not contain expr, genes, barcode and cancer of matching sizes; delete it"
    others = [{name: values[:1]} for name, values in MATRIX.items()] + [{"expr": np.zeros(2)}, {"genes": "a"}]
    for other in others:
        write_matrix("mirna", **{**MATRIX, **other})
        with pytest.raises(FileError, match=message):
            datasets.cancer()
    path = write_matrix("mirna", expr=MATRIX["expr"])
    with pytest.raises(FileError, match=message):
        datasets.cancer()
    path.write_bytes(b"PK")
    with pytest.raises(FileError, match=message):
        datasets.cancer()
    with open(path, "wb") as file:
        np.save(file, MATRIX["expr"])
    with pytest.raises(FileError, match=message):
        datasets.cancer()
