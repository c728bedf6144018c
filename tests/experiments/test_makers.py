"""Gene expression in tumours, built from its public forms."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

from experiments import mirna
from experiments.mirna import COHORTS, make_mirna
from experiments.mrna import make_mrna
from serving import archive, cohort
from tensorm import FileError, datasets

GENES = ["hsa-let-7a-1", "hsa-mir-10a", "hsa-mir-21"]
RNG = np.random.default_rng(0)


def barcode(patient: str, kind: str = "01A", plate: str = "A29W") -> str:
    return f"TCGA-{patient}-{kind}-11R-{plate}-13"


def package(folder, **cohorts: bytes):
    """Write an archive as Bioconductor's, with files to be skipped, and return its path."""
    members = {f"RTCGA.miRNASeq/data/{name}.miRNASeq.rda": content for name, content in cohorts.items()}
    others = {"RTCGA.miRNASeq/DESCRIPTION": b"Package: ...", "RTCGA.miRNASeq/data/STES.miRNASeq.rda": b"STES"}
    path = folder / "RTCGA.miRNASeq_1.30.0.tar.gz"
    path.write_bytes(archive({**others, **members}, "gz"))
    return path


def digest(labels) -> str:
    return hashlib.sha256("\n".join(labels).encode()).hexdigest()


def load(path):
    with np.load(path) as file:
        return [file[name] for name in ("expr", "genes", "barcode", "cancer")]


@pytest.mark.parametrize("factors", [True, False])
def test_the_first_tumour_of_each_patient_counts(tmp_path, factors, monkeypatch, capsys):
    acc = [
        barcode("OR-A5J2"),  # of the older machine
        barcode("OR-A5J1"),
        barcode("OR-A5J1", "01B"),  # a second piece of the same tumour
        barcode("OR-A5J1", "11A"),  # of healthy tissue
        barcode("OR-A5J2"),  # again, of the newer machine
        barcode("OR-A5J3", "06A"),
        barcode("OR-A5J4", "11A"),
    ]
    uvm = [barcode("V3-A9ZX", "01A"), barcode("V3-A9ZX", "06A")]
    rpm = RNG.gamma(1, 100, (9, 3)).round(6)
    rpm[0, 0] = 0
    path = package(
        tmp_path,
        UVM=cohort("UVM", uvm, GENES[::-1], rpm[7:, ::-1], factors),  # neither cohorts nor genes are in order
        ACC=cohort("ACC", acc, GENES, rpm[:7], factors),
    )
    make_mirna([path], tmp_path / "made.npz", ("ACC", "UVM"))
    expr, genes, barcodes, cancers = load(tmp_path / "made.npz")
    assert barcodes.tolist() == [acc[0], acc[1], acc[5], uvm[0]]
    assert cancers.tolist() == ["ACC", "ACC", "ACC", "UVM"]
    assert genes.tolist() == GENES
    assert expr.dtype == np.float32
    np.testing.assert_allclose(expr, np.log2(1 + rpm[[0, 1, 5, 7]]), rtol=1e-6)
    assert "4 patients x 3 microRNAs differ from those of our studies" in capsys.readouterr().err
    monkeypatch.setattr(mirna, "LABELS", digest([*genes, *barcodes, *cancers]))
    make_mirna([path], tmp_path / "made.npz", ("ACC", "UVM"))
    assert not capsys.readouterr().err


def test_a_package_of_another_form_says_what_is_wrong(tmp_path):
    good = cohort("ACC", [barcode("OR-A5J1")], GENES, np.ones((1, 3)))
    healthy = cohort("ACC", [barcode("OR-A5J1", "11A")], GENES, np.ones((1, 3)))
    negative, unknown, endless = (
        cohort("ACC", [barcode("OR-A5J1")], GENES, np.array([[1, value, 1]]))
        for value in (-1, np.nan, np.inf)
    )
    for content, message in [
        ({"ACC": good}, r"RTCGA.miRNASeq_1.30.0.tar.gz contains no data/UVM.miRNASeq.rda"),
        (
            {"ACC": good, "UVM": good},
            r"^UVM.miRNASeq.rda cannot be read",
        ),  # its data frame has another name
        ({"ACC": good[:300]}, r"^ACC.miRNASeq.rda cannot be read"),
        ({"ACC": b"no R"}, r"^ACC.miRNASeq.rda cannot be read"),
        ({"ACC": healthy}, r"^ACC.miRNASeq.rda lacks reads per million"),
        ({"ACC": negative}, r"^ACC.miRNASeq.rda lacks reads per million"),
        ({"ACC": unknown}, r"^ACC.miRNASeq.rda lacks reads per million"),
        ({"ACC": endless}, r"^ACC.miRNASeq.rda lacks reads per million"),
    ]:
        with pytest.raises(FileError, match=message):
            make_mirna([package(tmp_path, **content)], tmp_path / "made.npz", ("ACC", "UVM"))
    assert not (tmp_path / "made.npz").exists()


@pytest.mark.skipif("TENSORM_DATA" not in os.environ, reason="TENSORM_DATA is not set")
def test_the_matrix_of_the_studies_comes_back_from_data_frames_like_the_real_ones(tmp_path, monkeypatch):
    X = datasets.cancer("mirna")
    assert digest([*X.gene.values, *X["sample"].values, *X.cancer.values]) == mirna.LABELS
    X = X[:, ::40]
    assert tuple(dict.fromkeys(X.cancer.values.tolist())) == COHORTS
    X = X[np.isin(X.cancer, ["CHOL", "SKCM"])][:120]
    files = {}
    for name in ("CHOL", "SKCM"):
        part = X[X.cancer == name]
        rows = list(zip(part["sample"].values.tolist(), 2.0**part.values - 1, strict=True))
        more = [(f"{label[:13]}11A{label[16:]}", 3 * x) for label, x in rows[::3]]
        more += [(f"{label[:13]}06C{label[16:]}", 2 * x) for label, x in rows[::5]]
        rows = sorted(rows + more, key=lambda row: row[0]) + [(label, 5 * x) for label, x in rows[::7]]
        labels, values = zip(*rows, strict=True)
        files[name] = cohort(name, list(labels), X.gene.values.tolist(), np.array(values))
    make_mirna([package(tmp_path, **files)], tmp_path / "mirna.npz", ("CHOL", "SKCM"))
    (tmp_path / "cancer").mkdir()
    (tmp_path / "mirna.npz").rename(tmp_path / "cancer/mirna.npz")
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    made = datasets.cancer("mirna")
    for name in ("patient", "gene", "cancer", "sample"):
        assert made[name].values.tolist() == X[name].values.tolist()
    np.testing.assert_allclose(made.values, X.values, rtol=1e-5, atol=1e-6)
    assert made.attrs == X.attrs


HEADER = "patient_barcode\taliquot_barcode\tcancer type\tplatform\tDo_not_use\n"


def tables(folder, columns: dict[str, list[str]], notes: dict[str, str], unusable: tuple[str, ...] = ()):
    """Write the two tables of the Pan-Cancer Atlas: columns by sample, and the cancer of each patient."""
    names = ["A1BG|1", "?|100130426", "TP53|7157"]
    rows = [["gene_id", *columns], *(list(row) for row in zip(names, *columns.values(), strict=True))]
    (folder / "table.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    lines = [
        f"{sample[:12]}\t{sample}\t{notes.get(sample[:12], '')}\tIlluminaHiSeq\t{sample in unusable}\n"
        for sample in columns
    ]
    (folder / "notes.tsv").write_text(HEADER + "".join(lines))
    return [folder / "table.tsv", folder / "notes.tsv"]


def test_primary_tumours_of_the_seven_cancers_are_taken(tmp_path):
    columns = {
        barcode("V3-0001"): ["7", "", "1"],
        barcode("OR-0002", "01B"): ["100", "1", "2"],  # the same patient again, later by name
        barcode("OR-0002"): ["3", "-0.5", "0.0"],
        barcode("OR-0001"): ["15", "2.5", "1e3"],
        barcode("OR-0003"): ["1", "1", "NA"],  # of another cancer: what is missing there does no harm
        barcode("OR-0004", "06A"): ["1", "1", "1"],
        barcode("OR-0005"): ["1", "1", "1"],
    }
    cancers = {"TCGA-V3-0001": "UVM", "TCGA-OR-0003": "LAML"} | {
        f"TCGA-OR-000{i}": "ACC" for i in (1, 2, 4, 5)
    }
    files = tables(tmp_path, columns, cancers, (barcode("OR-0005"),))
    make_mrna(files, tmp_path / "made.npz")
    expr, genes, patients, kinds = load(tmp_path / "made.npz")
    assert patients.tolist() == ["TCGA-OR-0001", "TCGA-OR-0002", "TCGA-V3-0001"]
    assert kinds.tolist() == ["ACC", "ACC", "UVM"]
    assert genes.tolist() == ["A1BG_1", "TP53_7157"]
    assert expr.dtype == np.float32
    np.testing.assert_allclose(expr, np.log2([[16, 1001], [4, 1], [8, 2]]), rtol=1e-6)
    columns[barcode("V3-0001")][1] = "1"
    make_mrna(tables(tmp_path, columns, cancers), tmp_path / "all.npz")
    expr, genes, patients, _ = load(tmp_path / "all.npz")
    assert genes.tolist() == ["A1BG_1", "?_100130426", "TP53_7157"]
    assert expr[:, 1].tolist() == [np.float32(np.log2(3.5)), 0, 1, 1]
    assert patients.tolist()[2] == "TCGA-OR-0005"


def test_tables_may_have_quotes_and_ends_of_lines_of_windows(tmp_path):
    columns = {
        barcode("OR-0001"): ["15", "2.5", "1e3"],
        barcode("OR-0002"): ["1", "1", "1"],
        barcode("OR-0003"): ["3", "NA", "0.0"],
    }
    files = tables(tmp_path, columns, {name[:12]: "ACC" for name in columns}, unusable=(barcode("OR-0002"),))
    for file in files:
        lines = [line.split("\t") for line in file.read_text().splitlines()]
        text = "".join("\t".join(f'"{cell}"' for cell in line) + "\r\n" for line in lines)
        file.write_bytes(text.encode())
    make_mrna(files, tmp_path / "made.npz")
    expr, genes, patients, kinds = load(tmp_path / "made.npz")
    assert patients.tolist() == ["TCGA-OR-0001", "TCGA-OR-0003"]
    assert kinds.tolist() == ["ACC", "ACC"]
    assert genes.tolist() == ["A1BG_1", "TP53_7157"]
    np.testing.assert_allclose(expr, np.log2([[16, 1001], [4, 1]]), rtol=1e-6)


def test_tables_of_another_form_say_what_is_wrong(tmp_path):
    columns = {barcode(f"OR-000{i}"): ["1", "2", "3"] for i in range(3)}
    cancers = {name[:12]: "ACC" for name in columns}
    table, notes = tables(tmp_path, columns, cancers)
    whole, said = table.read_text(), notes.read_text()
    for text, about, message in [
        (whole, said.replace("cancer type", "tumour"), "notes.tsv has no column cancer_type"),
        (whole[:-4], said, "line 4 of table.tsv has 3 columns, not 4"),
        ("", said, "table.tsv has no columns for the patients in notes.tsv"),
        (whole, HEADER, "table.tsv has no columns for the patients in notes.tsv"),
        (
            whole.replace("\t2", "\tNA").replace("\t1", "\t").replace("\t3", "\tNaN"),
            said,
            "table.tsv has no gene",
        ),
    ]:
        table.write_text(text)
        notes.write_text(about)
        with pytest.raises(FileError, match=message):
            make_mrna([table, notes], tmp_path / "made.npz")
    assert not (tmp_path / "made.npz").exists()
