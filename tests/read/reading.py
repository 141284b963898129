"""Small archives and helpers that several tests of readers use."""

import gzip
import re
from pathlib import Path

import zstandard

from corpusmill.read import FilePiece, ReadCounts
from corpusmill.storage import FileInfo, stat

DEAD_COLUMNS = ("position", "kind", "expected")


def save(folder: Path, name: str, data: bytes) -> FileInfo:
    path = folder / name
    path.write_bytes(data)
    return stat(str(path))


def read_all(reader, *files: FileInfo, target: int = 1 << 40):
    """(documents, dead letters, counts) of files, split for pieces of `target` bytes."""
    counts = ReadCounts()
    rows = []
    for piece in reader.split(list(files), target):
        for batch in reader.read(piece, "made", counts):
            batch.validate(full=True)
            rows += batch.to_pylist()
    dead = counts.drain().to_pylist()
    assert counts.records == len(rows) + len(dead) + sum(counts.skipped.values())
    assert counts.documents == len(rows) and counts.dead_letters == len(dead)
    assert counts.faults == sum(not letter["expected"] for letter in dead)
    return rows, dead, counts


def read_piece(reader, piece: FilePiece):
    counts = ReadCounts()
    rows = [row for batch in reader.read(piece, "made", counts) for row in batch.to_pylist()]
    return rows, counts


def briefly(dead):
    return [tuple(letter[name] for name in DEAD_COLUMNS) for letter in dead]


def warc(kind: str, body: bytes, url: str | None = "http://made.org/", **fields: str) -> bytes:
    """One WARC record. `length="…"` lies about its length."""
    head = {
        "WARC-Type": kind,
        "WARC-Date": "2024-05-01T00:00:00Z",
        "WARC-Record-ID": "<urn:uuid:0>",
        "Content-Type": "application/http; msgtype=response" if kind == "response" else "text/plain",
        **{name.replace("_", "-"): value for name, value in fields.items() if name != "length"},
        "Content-Length": fields.get("length", str(len(body))),
    }
    if url:
        head["WARC-Target-URI"] = url
    return b"WARC/1.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()).encode() + b"\r\n" + body + b"\r\n\r\n"


def http(body: bytes, status: int = 200, content_type: str | None = "text/html", **fields: str) -> bytes:
    head = {name.replace("_", "-"): value for name, value in fields.items()}
    if content_type:
        head["Content-Type"] = content_type
    return (
        f"HTTP/1.1 {status} X\r\n".encode()
        + "".join(f"{k}: {v}\r\n" for k, v in head.items()).encode()
        + b"\r\n"
        + body
    )


def page(text: str) -> bytes:
    return warc(
        "response", http(f"<html>{text}</html>".encode()), f"http://made.org/{re.sub(r'[^a-z0-9]', '-', text[:20])}"
    )


def arc(url: str, body: bytes, kind: str = "text/html") -> bytes:
    return f"{url} 127.0.0.1 20080509190241 {kind} {len(body)}\n".encode() + body + b"\n"


def packed(records: list[bytes], how: str) -> bytes:
    """Records, each compressed alone: "gz", "zst" or "" for not at all."""
    if how == "gz":
        return b"".join(gzip.compress(record, 1, mtime=0) for record in records)
    if how == "zst":
        return b"".join(zstandard.compress(record, 1) for record in records)
    return b"".join(records)
