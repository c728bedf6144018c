"""Public data: where each set comes from, its checksum and licence, and how it is made of what is downloaded.

None of it is part of the package; ``locating`` gets it onto this machine. Checksums are of our own copies
unless a comment says who publishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tensorm.datasets.mirna import make_mirna
from tensorm.datasets.mrna import make_mrna
from tensorm.datasets.scans import SCANS, fetch_scans, make_scans

MIRROR = "TENSORM_DATA"


class Copy(NamedTuple):
    """What a loader reads.

    Attributes
    ----------
    path : str
        Where it lies in the folder TENSORM_DATA, or in the cache; a file, or a folder of files.
    checksum : str
        As in "sha256:..."; of a folder, over names and contents. Empty if made data may differ in a last bit.
    remarks : str
        What to know before the numbers are compared with others.
    source : str
        Where it is from, if not from the addresses of the downloads.
    files : str
        Of a folder: which of its files count, as a pattern; anything may lie beside them.
    """

    path: str
    checksum: str = ""
    remarks: str = ""
    source: str = ""
    files: str = "*"


class Download(NamedTuple):
    """A file on the network.

    Attributes
    ----------
    path : str
        Where it lies in the folder TENSORM_DATA, or in the cache.
    address : str
        Where it is downloaded from.
    checksum : str
        As in "sha256:..."; empty if none is known, and then what is made of it is checked.
    megabytes : int
        Its size, told beforehand; 0 if it is small.
    downloader : callable, optional
        For pooch, in place of its own.
    """

    path: str
    address: str
    checksum: str
    megabytes: int = 0
    downloader: Callable[[str, Any, Any], None] | None = None


class Source(NamedTuple):
    """A public set of data.

    Attributes
    ----------
    title, licence, citation : str
        Citation and licence are said once, when the data are first used.
    copies : tuple of Copy
        The first that is there is read; the last one is what the downloads give.
    downloads : tuple of Download
        All that is needed for the last copy.
    make : callable, optional
        Makes the copy, at the path given, of the downloaded files; None if the one download is the copy.
    needs : str
        Module that ``make`` imports, if it is not everybody's.
    """

    title: str
    licence: str
    citation: str
    copies: tuple[Copy, ...]
    downloads: tuple[Download, ...]
    make: Callable[[Sequence[Path], Path], None] | None = None
    needs: str = ""


def plain(
    title: str, licence: str, citation: str, path: str, address: str, checksum: str, remarks: str = ""
) -> Source:
    """Return a source whose one download is read as it is."""
    return Source(
        title,
        licence,
        citation,
        (Copy(path, checksum, remarks),),
        (Download(path, address, checksum),),
    )


GDC = "https://api.gdc.cancer.gov/data"
TCGA = "TCGA, open access"
MIRNA = (
    "Values are log2(1 + reads per million of mapped microRNA); 0 where no read was seen. One tumour per "
    "patient: primary ones, and metastases of melanoma."
)

SOURCES = {
    "hospital": plain(
        "Contacts on a hospital ward in Lyon, measured by badges",
        "CC BY-NC-SA 3.0",
        "Vanhems et al. (2013), PLoS ONE 8(9): e73970",
        "hospital/hospital_lyon_contacts.dat.gz",
        "https://www.sociopatterns.org/assets/data/hospital_lyon_contacts.dat.gz",
        "sha256:12124ddc438300bcaea0022d4937e0e566679e1fd8f11f16a62214fbebc2b012",
        "1 where the badges of two people met at least once in that hour of the day, on any of the days; 0 "
        "where they never did; missing on the diagonal. The paper does not say how it cut its 13 windows of "
        "time: hours and one night are our choice.",
    ),
    "students": Source(
        "Seats that students scanned in a course (StudentLife)",
        "none stated",
        "Wang et al. (2014), StudentLife, UbiComp '14",
        (
            Copy(
                "students/QR_Code",
                "sha256:555c733496e77233b63d02fa631a88cc8e66932ed7265f72aba27bf5930d9b39",
                "Regions are equal ranges of seat numbers that stand in for places in the room, whose map is "
                "not public as data; '?' is for scans that name no seat.",
                files=SCANS,
            ),
        ),
        # No checksum of the archive is published; the scans in it are checked instead.
        (
            Download(
                "students/dataset.tar.bz2",
                "https://studentlife.cs.dartmouth.edu/dataset/dataset.tar.bz2",
                "",
                5000,
                fetch_scans,
            ),
        ),
        make_scans,
    ),
    "mirna": Source(
        "MicroRNA in tumours of 28 cancers (TCGA)",
        f"{TCGA}; package GPL-2",
        "The Cancer Genome Atlas; Bioconductor package RTCGA.miRNASeq (Broad GDAC Firehose, 2015-11-01)",
        (
            Copy(
                "cancer/mirna_8943x1046.npz",
                "sha256:9d4eed2ff791bf98185fcd23e6f4d81f03301593d022c31e78dde9d23ad519e6",
                MIRNA,
            ),
            Copy("cancer/mirna.npz", remarks=MIRNA),
        ),
        # The checksum is the one that Spack keeps for its package r-rtcga-mirnaseq.
        (
            Download(
                "cancer/RTCGA.miRNASeq_1.30.0.tar.gz",
                "https://bioconductor.org/packages/3.18/data/experiment/src/contrib/RTCGA.miRNASeq_1.30.0.tar.gz",
                "sha256:64ec211586dd6077f2d6a5e24bd9781643adf22e2d667c17f6706d42d8396bc3",
            ),
        ),
        make_mirna,
        "rdata",
    ),
    "mrna": Source(
        "Messenger RNA in tumours of 7 cancers (TCGA)",
        TCGA,
        "The Cancer Genome Atlas; Hoadley et al. (2018), Cell 173: 291-304",
        (
            Copy(
                "cancer/mrna_7types.npz",
                "sha256:622b463a018436c45806fdf85cd1b155c004edf4e4804b0bf86f99c67c545ac2",
                "Values are log2 of RSEM's normalised counts; -3, the smallest, mostly stands for 0. These "
                "1,106 patients x 5,991 genes are the matrix of our studies, fewer than are downloaded.",
                "selected from TCGA's RNASeqV2 data as other packages hold them; has no address of its own",
            ),
            Copy(
                "cancer/mrna_pancan.npz",
                remarks="Values are log2(1 + RSEM's normalised counts, adjusted for batches); 0 where none "
                "is left. Primary tumours, one per patient; genes without missing values. More of both than "
                "the 1,106 x 5,991 of our studies: scores are not to be compared with theirs.",
            ),
        ),
        # The GDC publishes MD5 only, in its manifest of the Pan-Cancer Atlas.
        (
            Download(
                "cancer/EBPlusPlusAdjustPANCAN_IlluminaHiSeq_RNASeqV2.geneExp.tsv",
                f"{GDC}/3586c0da-64d0-4b74-a449-5ff4d9136611",
                "md5:02e72c33071307ff6570621480d3c90b",
                1883,
            ),
            Download(
                "cancer/merged_sample_quality_annotations.tsv",
                f"{GDC}/1a7d7be8-675d-4e60-a105-19d4121bdebf",
                "md5:05ddd2270fb1fb24fbdc2fe9bf7384e5",
            ),
        ),
        make_mrna,
    ),
    "kegg": plain(
        "Human pathways of KEGG, 2021",
        "KEGG's own terms",
        "Kanehisa and Goto (2000), KEGG, Nucleic Acids Research 28: 27-30; Enrichr, Ma'ayan Laboratory",
        "cancer/KEGG_2021_Human.gmt",
        "https://maayanlab.cloud/Enrichr/geneSetLibrary?mode=text&libraryName=KEGG_2021_Human",
        "sha256:328cd8c193ee672cd5da00173c465dd32dd998eeffe81f1eddb572df9e57626d",
    ),
    **{
        f"nations {part}": plain(
            "Relations between nations",
            "MIT (package pykeen)",
            "Rummel (1968), Dimensionality of Nations; Kemp et al. (2006), AAAI",
            f"nations/{part}.txt",
            f"https://raw.githubusercontent.com/pykeen/pykeen/v1.7.0/src/pykeen/datasets/nations/{part}.txt",
            f"sha256:{checksum}",
            "1 for the relations of one part; 0 for those of the other two parts, too.",
        )
        for part, checksum in {
            "train": "0830fa9da8e5bba2ccdaa45b7bdc9130451ba66b09ff2708f35fccaf82473e57",
            "valid": "2b337a62e51a2f45c283eac98a70d21b7e0e102136be1539b2a52c652a7b0530",
            "test": "3971085165b47b6aeaec68058c6d8d98b3005e929db81268410b95ae4db770ab",
        }.items()
    },
}
