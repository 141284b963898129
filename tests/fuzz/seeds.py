"""What cases are changed from: small files of every format, made by code."""

import bz2
import gzip
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

WORDS = "river stone winter garden letter the window market silver and morning captain forest bridge candle of".split()
PACKINGS = ("", "gz", "zst", "bz2", "xz", "lz4")


def prose(random: Random, words: int = 20) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize() + "."


@cache
def seeds(format_: str) -> tuple[bytes, ...]:
    """Files of a format, not compressed."""
    random = Random(format_)
    made: dict[str, Callable[[Random], list[bytes]]] = {
        "jsonl": _jsonl,
        "csv": _csv,
        "text": _text,
        "html": _html,
        "warc": _warc,
        "wet": _wet,
        "wat": _wat,
        "arrow": _arrow,
        "parquet": _parquet,
    }
    return tuple(made[format_](random))


def packed(data: bytes, how: str, parts: int = 1) -> bytes:
    """The data, compressed in so many members."""
    if not how:
        return data
    if how == "lz4":
        return _lz4(data)
    each = -(-len(data) // parts) or 1
    pack = {"gz": _gzip, "zst": zstandard.compress, "bz2": bz2.compress, "xz": lzma.compress}[how]
    return b"".join(pack(data[at : at + each]) for at in range(0, max(len(data), 1), each))


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _lz4(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as out:
        out.write(data)
    return bytes(sink.getvalue())


def _jsonl(random: Random) -> list[bytes]:
    plain = [{"text": prose(random), "id": str(i), "url": f"http://made.org/{i}"} for i in range(12)]
    odd: list[Any] = [
        {"text": "", "a": None},
        {"content": prose(random), "meta": {"deep": [1, [2, {"x": 1e300}]], "n": -1}},
        {"text": "\ud800 \x00 \u2028", "date": "2024-02-30"},
        {"text": 7},
        [1, 2],
        "text",
        {"text": prose(random), "big": 10**30, "texts": ["a"] * 20},
    ]
    lines = [json.dumps(record).encode() for record in plain + odd]
    return [b"\n".join(lines) + b"\n", b"\r\n".join(lines[:5]), b"\xef\xbb\xbf" + lines[0] + b"\n\n\n{bad"]


def _csv(random: Random) -> list[bytes]:
    rows = [["text", "id", "url"], *([prose(random), str(i), f"http://made.org/{i}"] for i in range(10))]
    plain = "\n".join(",".join(row) for row in rows)
    quoted = "\n".join(",".join(f'"{cell} ""quoted"", \n line"' for cell in row) for row in rows[1:5])
    return [plain.encode() + b"\n", b"text,id,url\r\n" + quoted.encode(), b"id\ttext\n1\tone\n2\ttwo\n"]


def _text(random: Random) -> list[bytes]:
    paragraphs = [prose(random, 30) for _ in range(8)]
    wiki = " = Title = \n\n Some text\n\n = = Section = = \n more\n\n = Other = \n\n end\n"
    book = f"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nProduced by A. B.\n\n{paragraphs[0]}\n\n*** END OF THE "
    texts = ["\n\n".join(paragraphs), wiki, f"{book}PROJECT GUTENBERG EBOOK X ***\nlicence", "a<|endoftext|>b"]
    return [*(text.encode() for text in texts), paragraphs[0].encode("utf-16"), paragraphs[1].encode("latin-1")]


def _html(random: Random) -> list[bytes]:
    page = f"<!doctype html><html><head><title>T</title></head><body><p>{prose(random)}</p></body></html>"
    return [page.encode(), page.encode("utf-16"), b"<p>" * 300, b"   "]


def record(kind: str, body: bytes, **fields: str) -> bytes:
    head = {"WARC-Type": kind, "WARC-Date": "2024-05-01T00:00:00Z", "WARC-Record-ID": "<urn:uuid:0>"}
    head |= {"WARC-Target-URI": "http://made.org/", "Content-Length": str(len(body))}
    head |= {name.replace("_", "-"): value for name, value in fields.items()}
    return b"WARC/1.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()).encode() + b"\r\n" + body + b"\r\n\r\n"


def _page(body: bytes, status: int = 200, **fields: str) -> bytes:
    head = {"Content-Type": "text/html; charset=utf-8"} | {k.replace("_", "-"): v for k, v in fields.items()}
    lines = "".join(f"{k}: {v}\r\n" for k, v in head.items())
    return f"HTTP/1.1 {status} OK\r\n{lines}\r\n".encode() + body


def _warc(random: Random) -> list[bytes]:
    page = f"<html><body><p>{prose(random)}</p></body></html>".encode()
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(page[a : a + 20]), page[a : a + 20]) for a in range(0, len(page), 20))
    kind = {"Content_Type": "application/http; msgtype=response"}
    bodies = [
        _page(page),
        _page(_gzip(page), Content_Encoding="gzip"),
        _page(zlib.compress(page), Content_Encoding="deflate"),
        _page(zstandard.compress(page), Content_Encoding="zstd"),
        _page(chunked + b"0\r\n\r\n", Transfer_Encoding="chunked"),
        _page(_gzip(chunked + b"0\r\n\r\n"), Transfer_Encoding="chunked", Content_Encoding="gzip, gzip"),
        _page(page, 404),
        _page(b"x", Content_Type="image/png"),
        b"no head at all",
    ]
    responses = [record("response", body, **kind) for body in bodies]
    others = [
        record("warcinfo", b"software: made\r\n", Content_Type="application/warc-fields"),
        record("request", b"GET / HTTP/1.1\r\n\r\n", Content_Type="application/http; msgtype=request"),
        record("resource", page, Content_Type="text/html"),
        record("metadata", b"a: b\r\n", WARC_Truncated="length"),
        record("revisit", b""),
    ]
    arc = b"filedesc://x 0.0.0.0 20080509190241 text/plain 20\n1 0 Made\nURL IP Date\n\n"
    body = _page(page)
    arc += b"http://made.org/ 127.0.0.1 20080509190241 text/html %d\n%s\n" % (len(body), body)
    return [others[0] + b"".join(responses[:4]), b"".join(others + responses[4:]), b"".join(responses * 2), arc]


def _wet(random: Random) -> list[bytes]:
    texts = [record("conversion", prose(random, 40).encode(), Content_Type="text/plain") for _ in range(6)]
    info = record("warcinfo", b"software: made\r\n", Content_Type="application/warc-fields")
    return [info + b"".join(texts), b"".join(texts), record("conversion", b""), record("conversion", b"\xff\xfe" * 9)]


def _wat(random: Random) -> list[bytes]:
    links = [
        {"path": "A@/href", "url": "/a", "text": prose(random, 5)},
        {"path": "IMG@/src", "url": "b.png", "alt": "&lt;"},
    ]
    head = {"Title": prose(random, 4), "Metas": [{"name": "description", "content": prose(random)}], "Base": "/"}
    known = {"HTML-Metadata": {"Head": head, "Links": links * 3}}
    records = []
    for kind, status, page in (
        ("response", "200", known),
        ("request", "", {}),
        ("response", "404", {}),
        ("response", "200", {}),
    ):
        answer = {
            "Response-Message": {"Status": status},
            "Headers": {"Content-Type": ["text/html"], "X-Robots-Tag": "a"},
        }
        header = {"WARC-Type": kind, "WARC-Target-URI": "http://made.org/", "WARC-Date": "2024-05-01T00:00:00Z"}
        about = {"WARC-Header-Metadata": header, "Payload-Metadata": {"HTTP-Response-Metadata": answer | page}}
        place = {"Filename": "a.warc.gz", "Offset": "3", "Gzip-Metadata": {"Deflate-Length": "9"}}
        body = json.dumps({"Container": place, "Envelope": about}).encode()
        records.append(record("metadata", body, Content_Type="application/json"))
    return [b"".join(records), records[0] * 4, record("metadata", b"{}", Content_Type="application/json")]


def _tables(random: Random) -> list[pa.Table]:
    texts = [prose(random) for _ in range(9)]
    plain = pa.table({"text": texts, "id": [str(i) for i in range(9)], "n": list(range(9))})
    odd = pa.table(
        {
            "text": pa.array([*texts[:7], None, ""], pa.large_string()),
            "ns": pa.array([1, 1_000, -1, *range(6)], pa.timestamp("ns")),
            "far": pa.array([1 << 55] * 9, pa.timestamp("us", "UTC")),
            "list": pa.array([[1, None], [], None, *([[2]] * 6)], pa.list_(pa.int32())),
            "struct": pa.array([{"a": 1.5, "b": b"\xff"}] * 9),
            "map": pa.array([[("k", 1)]] * 9, pa.map_(pa.string(), pa.int8())),
            "decimal": pa.array([1] * 9, pa.decimal128(30, 2)),
            "dictionary": pa.array(["a", "b", None] * 3).dictionary_encode(),
            "time": pa.array([1] * 9, pa.time64("ns")),
            "bool": pa.array([True, None, False] * 3),
        }
    )
    content = pa.table({"content": pa.array(texts).dictionary_encode(), "url": ["http://made.org"] * 9})
    twice = pa.Table.from_arrays([pa.array(texts), pa.array(texts)], names=["text", "text"])
    views = pa.table({"text": pa.array(texts, pa.string_view()), "b": pa.array([b"\0"] * 9, pa.binary_view())})
    return [plain, odd, content, twice, views]


def _arrow(random: Random) -> list[bytes]:
    made = []
    for table in _tables(random):
        for opened, codec in ((pa.ipc.new_file, None), (pa.ipc.new_stream, None), (pa.ipc.new_file, "zstd")):
            sink = pa.BufferOutputStream()
            with opened(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                writer.write_table(table, 4)
            made.append(bytes(sink.getvalue()))
    return made


def _parquet(random: Random) -> list[bytes]:
    made = []
    for table in _tables(random):
        for codec, version in (("snappy", "2.6"), ("zstd", "2.4"), ("none", "1.0"), ("lz4", "2.6")):
            sink = pa.BufferOutputStream()
            try:
                pq.write_table(table, sink, row_group_size=4, compression=codec, version=version)
            except (pa.ArrowException, ValueError):  # version 1.0 has no nanoseconds, and no type is in all versions
                continue
            made.append(bytes(sink.getvalue()))
    return made


# ------------------------------------------------------------------ bombs


def zstd_bomb(byte: bytes, size: int) -> bytes:
    """A frame of so many times one byte: a block of 128 KiB takes 4 bytes."""
    each = 1 << 17
    blocks = max(1, size // each)
    heads = [struct.pack("<I", each << 3 | 1 << 1 | (i == blocks - 1))[:3] + byte for i in range(blocks)]
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(heads)  # no size, a window of 2 MiB


def gzip_bomb(byte: bytes, size: int) -> bytes:
    """One member of so many times one byte; its checksum is that of nothing, so its end is damaged."""
    each = 1 << 20
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = pack.compress(byte * each) + pack.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + part * max(1, size // each) + b"\x03\0" + struct.pack("<II", 0, size)


@cache
def bomb(how: str, byte: bytes, size: int) -> bytes:
    if how == "zst":
        return zstd_bomb(byte, size)
    if how == "gz":
        return gzip_bomb(byte, size)
    block = byte * (1 << 24)
    if how == "bz2":
        pack: Any = bz2.BZ2Compressor()
    elif how == "xz":
        pack = lzma.LZMACompressor(preset=0)
    else:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as out:
            for _ in range(max(1, size >> 24)):
                out.write(block)
        return bytes(sink.getvalue())
    return b"".join(pack.compress(block) for _ in range(max(1, size >> 24))) + pack.flush()
