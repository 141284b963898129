"""Writes WARC records and gzip members, the same bytes each time."""

import base64
import hashlib
import struct
import uuid
import zlib

CRLF = b"\r\n"


def member(data: bytes) -> bytes:
    """One gzip member with no name and no time in its header."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def record_id(name: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"


def digest(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def record(kind: str, name: str, date: str, block: bytes, length: int | None = None, **headers: str) -> bytes:
    """A WARC/1.0 record, not yet compressed.

    name      what the record's id is derived from
    length    the Content-Length to claim, if not the true one
    headers   further WARC headers, with _ for -; an empty value leaves the header out
    """
    lines = {
        "WARC-Type": kind,
        "WARC-Record-ID": record_id(name),
        "WARC-Date": date,
        **{key.replace("_", "-"): value for key, value in headers.items() if value},
        "Content-Length": str(len(block) if length is None else length),
    }
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return b"WARC/1.0" + CRLF + head.encode("utf-8") + CRLF + block + CRLF + CRLF


def chunked(body: bytes, size: int) -> bytes:
    """The body in chunked transfer coding of HTTP/1.1."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def http(status: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
    """An HTTP/1.1 response."""
    head = "".join(f"{key}: {value}\r\n" for key, value in headers)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def picture(width: int, height: int, shade: int) -> bytes:
    """A small grey PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + bytes((shade + x * y) % 256 for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
