"""A server on this machine, and public data of the real form but small, to download from it."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import rdata


class Server:
    """What is served by path, what was asked for, and how much of it was sent.

    Of the paths in ``cut`` half is sent, though the whole is announced.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut: set[str] = set()
        self.sent = 0

    def put(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return f"{self.address}/{path}"


@contextmanager
def serving() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path[1:]
            server.asked.append(path)
            if path not in server.files:
                self.send_error(404)
                return
            content = server.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            end = len(content) // 2 if path in server.cut else len(content)
            try:
                for start in range(0, end, 2**16):
                    server.sent += self.wfile.write(content[start : min(start + 2**16, end)])
            except OSError:  # the client has what it wants
                pass

        def log_message(self, *args) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        http.shutdown()
        thread.join()


def archive(members: dict[str, bytes], kind: str = "") -> bytes:
    """Return a tar file of members by name, compressed as ``kind`` says."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=f"w:{kind}") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def folder_checksum(files: dict[str, bytes]) -> str:
    rows = [f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files)]
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def cohort(name: str, barcodes: list[str], genes: list[str], rpm: np.ndarray, factors: bool = True) -> bytes:
    """Return an .rda file as RTCGA.miRNASeq has it: three rows per sample, numbers as texts or factors."""
    kinds = ("read_count", "reads_per_million_miRNA_mapped", "cross-mapped")
    labels: list[str] = []
    for barcode in barcodes:
        for _ in kinds:
            again = sum(label[:28] == barcode for label in labels)
            labels.append(f"{barcode}.{again}" if again else barcode)

    def column(values: list[str]) -> object:
        if not factors:
            return pd.Series(values, labels, dtype=object)
        return pd.Categorical(values, categories=pd.Index(sorted(set(values)), dtype=object))

    columns = {
        "machine": column(["Illumina HiSeq 2000"] * len(labels)),
        "miRNA_ID": column([kind for _ in barcodes for kind in kinds]),
    }
    for j, gene in enumerate(genes):
        columns[gene] = column([text for x in rpm[:, j] for text in (f"{9 * x:.0f}", f"{x:.6f}", "N")])
    frame = pd.DataFrame(columns, index=pd.Index(labels, dtype=object))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.rda"
        rdata.write_rda(path, {f"{name}.miRNASeq": frame}, compression="gzip")
        return path.read_bytes()
