"""The demo crawl is small, holds nothing private, and is what its TRUTH.json says it is."""

import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from ipaddress import ip_address, ip_network
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from corpusmill.assets import demo_path

DEMO = Path(__file__).parent.parent / "demo"
CRAWL = demo_path("demo://")
WARC, WET, JSONL = "pages.warc.gz", "pages.warc.wet.gz", "extra.jsonl.gz"
TRUTH: dict[str, Any] = json.loads((DEMO / "TRUTH.json").read_text("utf-8"))
BROKEN = {entry["ref"]: entry["kind"] for entry in TRUTH["broken"] if "ref" in entry}
RESERVED = re.compile(r"(^|\.)(example(\.com|\.org|\.net)?|test|invalid|localhost)$")
FOR_DOCUMENTS = [ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")]


def members(name: str) -> Iterator[tuple[int, bytes | None]]:
    """(offset, content) of each gzip member; None where it is damaged. The next one is found by its first bytes."""
    data = (CRAWL / name).read_bytes()
    at = 0
    while at < len(data):
        unpacker = zlib.decompressobj(31)
        try:
            content = unpacker.decompress(data[at:])
        except zlib.error:
            content = b""
        if unpacker.eof:
            yield at, content
            at = len(data) - len(unpacker.unused_data)
        else:
            yield at, None
            at = data.find(data[:10], at + 10)


class InText(HTMLParser):
    """Collects what stands in the element with id="text"."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.depth or ("id", "text") in attrs:
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth = max(0, self.depth - 1)
        self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.parts.append(data)


@cache
def texts() -> dict[str, str]:
    """ref -> text of every document whose record is whole."""
    charsets = {entry["ref"]: entry["encoding"] for entry in TRUTH["charsets"]}
    text_of: dict[str, str] = {}

    def add(ref: str, text: str) -> None:
        assert ref not in text_of
        text_of[ref] = text

    for name in (WARC, WET):
        for _, content in members(name):
            if content is None:
                continue
            try:
                record = next(iter(ArchiveIterator(io.BytesIO(content))))
            except ArchiveLoadFailed:
                continue
            ref = f"{name} {record.rec_headers.get_header('WARC-Target-URI')}"
            if ref in BROKEN:
                continue
            if record.rec_type == "conversion":
                add(ref, record.content_stream().read().decode("utf-8"))
            elif record.rec_type == "response":
                body = record.content_stream().read()
                if "html" in record.http_headers.get_header("Content-Type"):
                    page = InText()
                    page.feed(body.decode(charsets.get(ref, "utf-8")))
                    if page.parts and "".join(page.parts).strip():
                        add(ref, "".join(page.parts))
    bad = {entry["line"] for entry in TRUTH["broken"] if entry["file"] == JSONL}
    for number, line in enumerate(gzip.decompress((CRAWL / JSONL).read_bytes()).splitlines(), 1):
        if number not in bad:
            row = json.loads(line)
            add(f"{JSONL} {row['url']}", row["text"])
    return text_of


def grams(text: str) -> frozenset[tuple[str, ...]]:
    words = text.lower().split()
    return frozenset(tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4)))


def test_the_crawl_is_smaller_than_three_megabytes() -> None:
    assert sum(path.stat().st_size for path in CRAWL.iterdir()) < 3_000_000


@pytest.mark.parametrize("name", [WARC, WET, JSONL])
def test_the_files_are_those_the_truth_was_written_for(name: str) -> None:
    data = (CRAWL / name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == TRUTH["files"][name]["sha256"]
    assert len(data) == TRUTH["files"][name]["bytes"]


def test_every_document_counted_is_there_or_broken() -> None:
    there = Counter(ref.split(" ")[0] for ref in [*texts(), *BROKEN])
    assert there == {name: facts["documents"] for name, facts in TRUTH["files"].items()}
    assert sum(there.values()) == sum(TRUTH["kinds"].values()) == sum(TRUTH["origins"].values())


def test_exact_groups_are_all_the_documents_with_the_same_words() -> None:
    same: dict[str, set[str]] = {}
    for ref, text in texts().items():
        same.setdefault(" ".join(text.lower().split()), set()).add(ref)
    assert {frozenset(g) for g in TRUTH["exact"]} == {frozenset(refs) for refs in same.values() if len(refs) > 1}


def test_near_pairs_are_all_pairs_with_a_jaccard_of_a_half_and_have_the_stated_one() -> None:
    later = {ref for group in TRUTH["exact"] for ref in group[1:]}
    sets = {ref: grams(text) for ref, text in texts().items() if ref not in later}
    holders: dict[tuple[str, ...], list[str]] = {}
    for ref, grams_of_ref in sets.items():
        for gram in grams_of_ref:
            holders.setdefault(gram, []).append(ref)
    shared = Counter(pair for refs in holders.values() for pair in combinations(refs, 2))  # in the order of texts()
    near = {}
    for (a, b), both in shared.items():
        if (jaccard := both / (len(sets[a]) + len(sets[b]) - both)) >= 0.5:
            near[frozenset((a, b))] = round(jaccard, 6)
    assert near == {frozenset((entry["a"], entry["b"])): entry["jaccard"] for entry in TRUTH["near"]}


def test_planted_pairs_cover_the_range_around_every_usual_threshold() -> None:
    planted = [entry["jaccard"] for entry in TRUTH["near"] if entry["edit"]]
    assert all(sum(low <= j < low + 0.1 for j in planted) >= 10 for low in (0.6, 0.7, 0.8, 0.9))


def test_broken_records_are_where_the_truth_says() -> None:
    damaged = {(name, at) for name in (WARC, WET) for at, content in members(name) if content is None}
    assert damaged == {(e["file"], e["offset"]) for e in TRUTH["broken"] if e["kind"] == "truncated member"}
    starts = {(name, at) for name in (WARC, WET) for at, _ in members(name)}
    assert starts >= {(e["file"], e["offset"]) for e in TRUTH["broken"] if "offset" in e}
    lines = gzip.decompress((CRAWL / JSONL).read_bytes()).splitlines()
    for entry in TRUTH["broken"]:
        if "line" in entry:
            with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
                assert json.loads(lines[entry["line"] - 1])["text"].strip() or json.loads("empty")


def test_pages_read_cleanly_in_the_encoding_that_the_truth_names() -> None:
    encodings = {entry["encoding"] for entry in TRUTH["charsets"]}
    assert encodings >= {"windows-1251", "shift_jis", "iso-8859-1", "euc-jp", "gbk", "utf-16", "utf-8-sig"}
    assert not [ref for ref, text in texts().items() if "\ufffd" in text]


def everything() -> Iterator[str]:
    """The whole content of every record and line, damaged ones left out."""
    for name in (WARC, WET):
        for _, content in members(name):
            if content is not None and b"Content-Type: image" not in content:
                yield content.decode("latin-1")
    lines = gzip.decompress((CRAWL / JSONL).read_bytes()).decode("utf-8", "replace")
    yield lines.replace("\\n", "\n")
    yield from texts().values()  # once more, without chunks, compression and charsets
    yield from (path.read_text("utf-8") for path in (DEMO / "prose").iterdir())


def test_every_mail_address_is_on_a_reserved_domain() -> None:
    mail = re.compile(r"[\w.+-]@([\w-]+(?:\.[\w-]+)+)", re.ASCII)
    hosts = {host.lower() for text in everything() for host in mail.findall(text)}
    assert hosts
    assert not [host for host in hosts if not RESERVED.search(host)]


def test_every_ip_address_is_from_a_range_for_documentation() -> None:
    numbers = set()
    for text in everything():
        numbers |= set(re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", text))
        numbers |= set(re.findall(r"(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}:?[0-9a-f]{1,4}(?![\w:])", text))
    addresses = []
    for written in numbers:
        try:
            addresses.append(ip_address(written))
        except ValueError:
            continue  # a time of day, a version
    assert {address.version for address in addresses} == {4, 6}
    assert not [a for a in addresses if not any(a in network for network in FOR_DOCUMENTS)]


def test_every_address_of_a_document_is_reserved() -> None:
    hosts = {ref.split(" ")[1].split("/")[2] for ref in texts()}
    assert not [host for host in hosts if not RESERVED.search(host)]


def test_personal_data_and_the_literal_marker_stand_in_the_documents_named() -> None:
    for entry in TRUTH["personal_data"]:
        assert entry["value"] in texts()[entry["ref"]]
    assert sorted(TRUTH["literal_endoftext"]) == sorted(ref for ref, text in texts().items() if "<|endoftext|>" in text)
    assert len({entry["kind"] for entry in TRUTH["personal_data"]}) >= 7


def test_later_captures_have_the_same_address_and_other_words() -> None:
    assert len(TRUTH["later_captures"]) == 10
    for first, second in TRUTH["later_captures"]:
        assert first.split(" ")[1] == second.split(" ")[1]
        if first in texts():
            assert texts()[first] != texts()[second]


def test_the_readme_counts_what_is_there() -> None:
    readme = (DEMO / "README.md").read_text("utf-8")
    for name, facts in TRUTH["files"].items():
        assert re.search(rf"`{re.escape(name)}` .*\| {facts['documents']} \| {facts['bytes']:,} \|", readme), name
