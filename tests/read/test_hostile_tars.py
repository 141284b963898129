"""Tar archives whose headers are megabytes, or lies: bounded memory, an end, and a dead letter that says so."""

import gzip
import io
import tarfile
import tracemalloc

import pytest
from reading import read_all, save

from corpusmill.read.code import CodeReader
from corpusmill.read.latex import LatexReader

MAIN = b"\\documentclass{article}\\begin{document}The river.\\end{document}"
PYTHON = b"def f(x):\n    return x\n"
READERS = {"latex": (LatexReader, "main.tex", MAIN), "code": (CodeReader, "a.py", PYTHON)}


def head(kind: bytes, size: int, name: str = "x", **fields: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, max(size, 0)
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    if size < 0:
        block[124:136] = b"\xff" + size.to_bytes(11, "big", signed=True)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()[: 512 + -(-len(data) // 512) * 512]


def pax(**fields: str) -> bytes:
    records = b""
    for name, value in fields.items():
        record = f" {name.replace('_', '.')}={value}\n".encode()
        size = len(record) + len(str(len(record) + 3))
        records += str(size).encode() + record
    return head(b"x", len(records)) + records.ljust(-(-len(records) // 512) * 512, b"\0")


HUGE = 150 << 20
HOSTILE = {
    "a long name": (head(b"L", HUGE), "says that it has 157286400 bytes, and has 1048576 at most"),
    "a long link": (head(b"K", HUGE), "says that it has 157286400 bytes"),
    "pax": (head(b"x", HUGE), "says that it has 157286400 bytes"),
    "pax of all files": (head(b"g", HUGE), "says that it has 157286400 bytes"),
    "a negative size": (head(b"0", -1024), "says that it has -1024 bytes"),
    "a negative size of a name": (head(b"L", -1024), "says that it has -1024 bytes"),
    "a negative size in pax": (pax(size="-5000") + head(b"0", 0), ""),
    "a thousand names of one file": ((head(b"L", 2) + b"a".ljust(512, b"\0")) * 2000, "RecursionError"),
}


@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.parametrize("kind", READERS)
def test_a_header_that_is_too_long_or_lies_is_not_read(kind, how, tmp_path):
    reader, name, data = READERS[kind]
    block, said = HOSTILE[how]
    block += bytes(HUGE if "157286400" in said else 0)
    file = save(tmp_path, "made.tar.gz", gzip.compress(member(name, data) + block + bytes(1024), 1))
    tracemalloc.start()
    try:
        _, dead, _ = read_all(reader(), file)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert [letter["kind"] for letter in dead] == ["damaged"] and said in dead[0]["reason"]


def sparse(blocks: int) -> bytes:
    """A file in GNU's old form that has so many blocks of places."""
    first = bytearray(head(b"S", 0, "sparse.py"))
    first[482], first[483:495] = 1, b"%011o\0" % (1 << 30)
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first)
    places = (b"00000000001\0" * 42).ljust(512, b"\0")
    return bytes(first) + (places[:504] + b"\1" + bytes(7)) * blocks + places[:504] + bytes(8)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "block",
    [
        sparse(40_000),
        pax(GNU_sparse_major="1", GNU_sparse_minor="0") + head(b"0", 1024, "s.py") + b"99999999\n".ljust(1024, b"7"),
    ],
    ids=["old", "pax"],
)
def test_the_places_of_a_sparse_file_are_not_kept(kind, block, tmp_path):
    reader, name, data = READERS[kind]
    file = save(tmp_path, "made.tar.gz", gzip.compress(block + member(name, data) + bytes(1024), 1))
    tracemalloc.start()
    try:
        rows, dead, _ = read_all(reader(), file)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
    assert len(rows) == 1 and all("sparse" in letter["reason"] for letter in dead)
