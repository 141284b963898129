"""Targets: frames of every compression in a row, what a response says that it is, and dates."""

import re
import struct
from pathlib import Path
from random import Random
from typing import Any

from fuzz.archives import Read
from fuzz.case import Files, Wrong
from fuzz.mutate import NUMBERS, mutated, replaced
from fuzz.seeds import PACKINGS, packed, record, seeds

SKIPPABLE = [struct.pack("<II", 0x184D2A50 + kind, size) + bytes(size) for kind in (0, 13, 15) for size in (0, 5, 300)]
BETWEEN = [*SKIPPABLE, b"\0" * 7, b"\0" * 600, b"", b"\x02\x21\x4c\x18", b"\n", b"\x5d\x2a\x4d\x18\x04\0\0\0dict"]


class Frames(Read):
    """Lines in frames one after the other, with others between, skippable, empty and cut: each line is a document, a
    dead letter, or after what is said to be damaged."""

    def __init__(self) -> None:
        super().__init__("jsonl")
        self.name = "frames"

    def make(self, random: Random) -> Files:
        how = random.choice(PACKINGS[1:])
        data = random.choice(seeds("jsonl")) * random.choice((1, 3))
        parts = [random.choice(BETWEEN)]
        each = len(data) // random.choice((1, 2, 5)) + 1
        for at in range(0, len(data), each):
            part = packed(data[at : at + each], how if random.random() < 0.95 else random.choice(PACKINGS))
            parts += [part, random.choice(BETWEEN) if random.random() < 0.4 else b""]
        whole = b"".join(parts)
        if random.random() < 0.5:
            whole = mutated(random, whole, [packed(data, other) for other in PACKINGS[1:]], BETWEEN[:-1])
        return {self.name_of(random.choice((how, how, how, ""))): whole}


TYPES = [
    "text/html",
    "TEXT/HTML ;x",
    "text/html charset=utf-8",
    '"text/html"',
    "*/*",
    "image/png",
    "application/xhtml+xml",
]
TYPES += [
    "text/plain",
    "",
    ",",
    "text/",
    "application/octet-stream",
    "text/html;charset=\xff",
    "text/html, image/png",
    "x" * 9000,
]
BODIES = [
    b"<html><body><p>The river runs.</p>",
    b"\x89PNG\r\n\x1a\n" + bytes(60),
    b"%PDF-1.4\n%\xe2\xe3",
    b"PK\x03\x04" + bytes(40),
]
BODIES += [
    b"\x1f\x8b\x08" + bytes(20),
    b"\xff\xd8\xff\xe0",
    b"",
    b"\xff\xfe<\0h\0t\0m\0l\0>\0",
    b"<?xml version='1.0'?><html/>",
    b"GIF89a",
]


class Payloads(Read):
    """Responses whose header, identified type and bytes agree or not: each is a document, a dead letter, or skipped."""

    def __init__(self) -> None:
        super().__init__("warc")
        self.name = "payload-types"

    def plain(self) -> list[Files]:
        return [{self.name_of(""): self.response(b"<p>The river runs.</p>", "text/html", "text/html")}]

    def response(self, body: bytes, header: str, identified: str) -> bytes:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {header}\r\n\r\n".encode("utf-8", "surrogatepass")
        kind = {"Content_Type": "application/http; msgtype=response", "WARC_Identified_Payload_Type": identified}
        return record("response", head + body, **kind)

    def make(self, random: Random) -> Files:
        records = []
        for _ in range(random.choice((1, 3, 6))):
            body = random.choice(BODIES)
            body = mutated(random, body, BODIES) if random.random() < 0.5 else body
            records.append(self.response(body, random.choice(TYPES), random.choice(TYPES)))
        data = b"".join(records)
        if random.random() < 0.3:
            data = replaced(random, data, r"(?m)^[\w-]+: (.*)\r", [*NUMBERS, *TYPES])
        return {self.name_of(""): data}


DATES = [
    "2024-01-02T03:04:05Z",
    "2024-01-02 03:04:05.123+02:00",
    "20240102030405",
    "Tue, 02 Jan 2024 03:04:05 GMT",
    "1704164645",
]
DATES += [
    "1704164645123",
    "2024",
    "2024-W01",
    "Jan 2, 2024",
    "2024/01/02",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "-1",
    "",
    " ",
]
WORDS = [b"T", b"Z", b"+14:00", b"-00:00", b".", b"99", b"\xd9\xa1", b"Feb 30", b"24:00:00", b"e5", b"\0", b"9" * 400]

ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?")


class Dates:
    """A date is ISO 8601, twice the same, and read as itself; or it is None."""

    name = "dates"

    def prepare(self, base: Path) -> None: ...

    def plain(self) -> list[Files]:
        return [{"date.txt": text.encode()} for text in DATES]

    def make(self, random: Random) -> Files:
        data = random.choice(DATES).encode()
        for _ in range(random.choice((1, 1, 3))):
            data = mutated(random, data, [date.encode() for date in DATES], WORDS)
        return {"date.txt": data}

    def check(self, folder: Path) -> str:
        from corpusmill.read._dates import iso

        text = (folder / "date.txt").read_bytes().decode("utf-8", "replace")
        values: list[Any] = [text]
        if len(text) < 300 and re.fullmatch(r"-?[0-9]+", text):
            values += [int(text), float(text)]
        for value in values:
            date = iso(value)
            if date is not None and (not isinstance(date, str) or iso(date) != date):
                raise Wrong(f"{value!r} is {date!r}, and that is {iso(date)!r}")
            if date is not None and not ISO.fullmatch(date):
                raise Wrong(f"{value!r} is {date!r}")
        return "right"


def targets() -> list[Any]:
    return [Frames(), Payloads(), Dates()]
