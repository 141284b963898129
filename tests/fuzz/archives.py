"""Targets: every reader with every compression, and files that expand to much more than they are."""

from pathlib import Path
from random import Random
from typing import Any

from fuzz.case import Files, Wrong
from fuzz.mutate import BYTES, JSON, NUMBERS, mutated, replaced
from fuzz.seeds import PACKINGS, bomb, packed, record, seeds

ENDS = {"text": "txt", "warc": "warc", "wet": "warc.wet", "wat": "warc.wat"}
OWN_PACKING = ("arrow", "parquet")  # compressed inside, if at all
# What is changed on purpose: a pattern whose last group is replaced, and values.
KNOWN: dict[str, list[tuple[str, list[str]]]] = {
    "jsonl": [(r'("[^"\n]*"|\d+)', JSON + NUMBERS), (r"[:,]", [":", ",", ",,", ""])],
    "csv": [(r'[",\n]', ['"', '""', ",", "\r", "\r\n", "\n\n", "\0", "'"])],
    "text": [(r"\n+", ["\n", "\r", "\r\n\r\n", "\u2028", " = A = \n"])],
    "html": [(r"<[^>]*>", ["<", "<!--", "<html", "<script>", "&#x110000;"])],
}
HEADS = [
    (r"(?m)^Content-Length: (.*)\r", NUMBERS),
    (r"(?m)^([\w-]+): .*\r", ["Content-Length", "Transfer-Encoding", "Content-Encoding", "WARC-Type", " ", ""]),
    (r"(?m)^Content-Encoding: (.*)\r", ["gzip", "br", "deflate", "zstd", "gzip, gzip, gzip", "x", "identity"]),
    (
        r"(?m)^Content-Type: (.*)\r",
        ["text/html;charset=\xff", "text/html; charset=utf-16", "", "a" * 5000, "text/html;" * 99],
    ),
    (r"(WARC/1.0|HTTP/1.1)", ["WARC/1.1", "WARC/0.9", "HTTP/2", "http/1.0 ", ""]),
    (r"(\r\n\r\n)", ["\r\n", "\n\n", "\r\n \r\n", "\r\n\r\n\r\n"]),
    (r"(?m)^([0-9a-f]+)\r\n", ["0", "-1", "fffffffff", "1;x=y", "g", ""]),
    (r"(text/html [0-9]+)\n", ["text/html -1", "text/html 99999999999", "text/html", "\0"]),
]
KNOWN |= {"warc": HEADS, "wet": HEADS, "wat": [*HEADS, *KNOWN["jsonl"]]}
WORDS = {
    "warc": [record("response", b"x"), b"WARC/1.0\r\n\r\n", b"Content-Length: 5\r\n"],
    "jsonl": [b"\\ud800", b"{", b"[[["],
}


class Read:
    """Every record of a file is a document, a dead letter, or skipped, whatever the file is."""

    def __init__(self, format_: str) -> None:
        self.format = format_
        self.name = f"read-{format_}"
        self.packings = ("",) if format_ in OWN_PACKING else PACKINGS
        self.number = 0

    def prepare(self, base: Path) -> None:
        from corpusmill import read

        self.reader = read.find(self.format)()
        seeds(self.format)

    def name_of(self, how: str) -> str:
        return f"case.{ENDS.get(self.format, self.format)}{how and '.'}{how}"

    def plain(self) -> list[Files]:
        data = seeds(self.format)[0]
        return [{self.name_of(how): packed(data, how, parts)} for how in self.packings for parts in (1, 3)]

    def make(self, random: Random) -> Files:
        how = random.choice(self.packings)
        data = random.choice(seeds(self.format))
        inside = not how or random.random() < 0.5
        if inside and self.format in KNOWN and random.random() < 0.6:
            for _ in range(random.choice((1, 2, 4))):
                data = replaced(random, data, *random.choice(KNOWN[self.format]))
        elif inside:
            data = mutated(random, data, seeds(self.format), WORDS.get(self.format, BYTES))
        if how and self.format in ("warc", "wet", "wat") and random.random() < 0.6:
            parts = [b"WARC/" + part for part in data.split(b"WARC/")]
            data = b"".join(packed(part, how) for part in parts[1:] or [data])
        else:
            data = packed(data, how, random.choice((1, 1, 2, 5)))
        if how and (not inside or random.random() < 0.2):
            data = mutated(random, data, [packed(seed, how) for seed in seeds(self.format)[:2]])
        return {self.name_of(how): data}

    def check(self, folder: Path) -> str:
        from corpusmill.errors import InputError
        from corpusmill.read import ReadCounts
        from corpusmill.storage import stat

        (path,) = folder.iterdir()
        counts = ReadCounts()
        documents = letters = 0
        try:
            for piece in self.reader.split([stat(str(path))], 1 << 20):
                for batch in self.reader.read(piece, "made", counts):
                    batch.validate(full=True)
                    documents += len(batch)
                    letters += len(counts.drain())
        except InputError:
            return "refused"
        letters += len(counts.drain())
        found = documents + letters + sum(counts.skipped.values())
        if found != counts.records or documents != counts.documents or letters != counts.dead_letters:
            raise Wrong(f"{counts.records} records, and {documents} documents, {letters} letters, {counts.skipped}")
        return "right"


class Expands(Read):
    """Readers hold a bounded part of what a small file expands to."""

    def __init__(self) -> None:
        self.name = "bombs"

    def prepare(self, base: Path) -> None:
        from corpusmill import read

        self.readers = {format_: read.find(format_)() for format_ in ("jsonl", "csv", "text", "html", "warc", "wet")}

    def plain(self) -> list[Files]:
        return [{"case.jsonl.zst": bomb("zst", b"\n", 1 << 20)}]

    def make(self, random: Random) -> Files:
        format_, how = random.choice([*self.readers]), random.choice(PACKINGS[1:])
        byte = random.choice((b"\0", b"a", b"<", b'"'))
        # What each expands to in a few seconds.
        most = {"zst": 1400, "gz": 1000, "lz4": 700, "xz": 350, "bz2": 250}[how]
        data = bomb(how, byte, random.choice((most, most // 2)) << 20)
        head, tail = seeds(format_)[0], b""
        if format_ == "warc" and random.random() < 0.5:
            head = record("response", b"", Content_Length=random.choice(("999999999999", str(300 << 20))))[:-4]
        if random.random() < 0.5:
            tail = packed(seeds(format_)[0], how)
        if random.random() < 0.5:
            data = packed(head, how) + data
        return {f"case.{ENDS.get(format_, format_)}.{how}": data + tail}

    def check(self, folder: Path) -> str:
        (path,) = folder.iterdir()
        format_ = next(name for name in self.readers if f".{ENDS.get(name, name)}." in f"{path.name}.")
        self.reader: Any = self.readers["wet" if ".wet." in path.name else format_]
        return super().check(folder)


class Blocks:
    """The bytes of a file, decompressed: all of them, or an error that says that it is damaged."""

    name = "decompress"

    def prepare(self, base: Path) -> None:
        self.data = b"".join(seeds("text")) * 3

    def plain(self) -> list[Files]:
        return [{"case": packed(self.data, how, parts)} for how in PACKINGS for parts in (1, 4)]

    def make(self, random: Random) -> Files:
        how = random.choice(PACKINGS[1:])
        data = packed(self.data, how, random.choice((1, 3, 20)))
        others = [packed(self.data, other) for other in PACKINGS[1:]]
        words = [
            b"\x5d\x2a\x4d\x18\x08\0\0\0dictcont",
            b"\x50\x2a\x4d\x18\x04\0\0\0skip",
            b"\x1f\x8b\x08\x1f",
            b"\0" * 64,
        ]
        return {"case": mutated(random, data, others, words)}

    def check(self, folder: Path) -> str:
        from corpusmill.errors import RecordError
        from corpusmill.read._bytes import blocks

        try:
            for _ in blocks(str(folder / "case")):
                pass
        except RecordError:
            return "refused"
        return "right"


def targets() -> list[Any]:
    formats = ("jsonl", "csv", "text", "html", "warc", "wet", "wat", "arrow", "parquet")
    return [*map(Read, formats), Blocks(), Expands()]
