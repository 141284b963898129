"""The files of a crawl that say what may be done with its pages: robots.txt and tdmrep.json, into a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpusmill.errors import InputError
from corpusmill.formats.charset import decode
from corpusmill.read import find, whole_file
from corpusmill.read.warc import Damage, Record, date, http, records
from corpusmill.steps import captures
from corpusmill.steps.captures import LARGEST, CapturedAnswer, kind_of, origin_of, target_of
from corpusmill.storage import expand

MAX_DECODED_BYTES = 4 << 20  # bytes of a file once it is decoded


@dataclass
class CollectedAnswers:
    """files      that were read
    records    in them
    by_kind    answers of hosts that were found: robots, tdmrep
    kept       rows of the table
    damaged    records that could not be read
    """

    files: int = 0
    records: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    damaged: int = 0


def collect(paths: Sequence[str], out: Path, memory_mb: int = 1024) -> CollectedAnswers:
    """Write the table of what hosts said in a crawl, for annotate/rights.

    paths   WARC or ARC files, folders or patterns: of the crawl itself, or of its robots.txt alone

    Raises InputError if no file is found, if there is no such record in them, or if `out` cannot be written.
    """
    files = expand(list(paths), find("warc")().suffixes)
    collected = CollectedAnswers(files=len(files))

    def answers() -> Iterator[CapturedAnswer]:
        for file in files:
            for record in records(whole_file(file), MAX_DECODED_BYTES):
                collected.records += 1
                if isinstance(record, Damage):
                    collected.damaged += 1
                elif (answer := answer_of(record)) is not None:
                    collected.by_kind[answer.kind] += 1
                    yield answer

    collected.kept = captures.collect(answers(), out, memory_mb)
    if not collected.kept:
        raise InputError(
            f"no capture of robots.txt or tdmrep.json among the {collected.records:,} records of {len(files)} files. "
            "Common Crawl has them beside the pages, in robotstxt/ of each segment."
        )
    return collected


def answer_of(record: Record) -> CapturedAnswer | None:
    """What a record of a crawl says as one of these files; None for all others. A body that cannot be decoded is
    empty."""
    url = record.fields.get("warc-target-uri", "")
    kind = kind_of(url) if record.kind in ("response", "resource") else None
    origin = origin_of(url) if kind else None
    if kind is None or origin is None:
        return None
    response = http.parse(record.body) or http.Response(200, {}, record.body)
    target = target_of(url, response.fields.get("location", "")) if 300 <= response.status < 400 else None
    body = ""
    if response.status == 200:
        try:
            raw = http.content(response, MAX_DECODED_BYTES)[:LARGEST]
            body = decode(raw, http.charset(response.fields.get("content-type", "")) or "utf-8")
        except (http.BadEncoding, http.BodyTooLarge):
            body = ""
    return CapturedAnswer(origin, kind, date(record), response.status, target, body)
