"""Pages with gold text, and which of their blocks the gold text holds: for scripts/train_blocks.py.

Pages of seven types come from the development part of WCXB (arXiv:2605.21097), a .tar.zst of NUMBER.html and
ground-truth/NUMBER.json. Others come from a folder of *.warc.gz files and gold_extraction.jsonl.gz, one entry per line,
as benchmarks/quality/extraction.py has them. Gold texts are strings, so labels of blocks come from the best alignment,
in order, of the words of page and gold.
"""

import gzip
import hashlib
import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import zstandard
from numpy.typing import NDArray
from publicsuffixlist import PublicSuffixList

from corpusmill import read, storage
from corpusmill.formats.charset import decode
from corpusmill.text.blocks.page import FIRST, LAST, BlockPage
from corpusmill.text.compile import kernel

TOKEN = re.compile(r"\w+")
GOLD = "gold_extraction.jsonl.gz"
FULL = ("full_text", "full_text_markup", "readability_expected")
PREFIXES = frozenset(["goose3"])  # golds of beginnings alone
LARGEST = 120_000_000  # cells of an alignment; beyond, three words in a row must be in both


@dataclass(frozen=True)
class GoldPage:
    """A page in UTF-8 with what people said of it.

    page_type   of a page of WCXB; "" for others
    """

    record: str
    domain: str
    page: bytes
    entries: list[dict[str, Any]]
    page_type: str = ""

    def part(self, parts: int) -> int:
        """0 up to `parts`, by the registered domain."""
        return hashlib.md5(self.domain.encode()).digest()[0] % parts

    def fold(self, folds: int) -> int:
        return hashlib.md5(self.domain.encode()).digest()[1] % folds

    @property
    def sources(self) -> set[str]:
        return {entry["source"] for entry in self.entries}

    @property
    def full(self) -> dict[str, Any] | None:
        """The first entry with the whole text, if any has one."""
        return next((e for e in self.entries if e["kind"] in FULL and e["text"] and TOKEN.search(e["text"])), None)

    @property
    def snippets(self) -> dict[str, Any] | None:
        return next((entry for entry in self.entries if entry["kind"] == "snippets"), None)


def gold_pages(folder: Path) -> list[GoldPage]:
    """The pages of all WARC files of a folder that have gold, in the order of the files."""
    gold = defaultdict(list)
    with gzip.open(folder / GOLD, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if entry["source"] not in PREFIXES:
                gold[entry["record_id"]].append(entry)
    suffixes = PublicSuffixList()
    return [
        GoldPage(record, _domain(url, suffixes), decode(raw, charset).encode("utf-8", "replace"), gold[record])
        for record, url, raw, charset in _records(folder)
        if record in gold
    ]


def typed_pages(archive: Path) -> list[GoldPage]:
    """The pages of WCXB that have gold, by number."""
    pages: dict[str, bytes] = {}
    gold: dict[str, dict[str, Any]] = {}
    with archive.open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                path, content = Path(member.name), tar.extractfile(member)
                if content is None:
                    continue
                if path.suffix == ".html":
                    pages[path.stem] = content.read()
                elif path.suffix == ".json" and path.parent.name == "ground-truth":
                    gold[path.stem] = json.loads(content.read())
    suffixes = PublicSuffixList()
    made = []
    for number, entry in sorted(gold.items()):
        if number in pages:
            text = entry["ground_truth"].get("main_content") or ""
            said = [{"source": "wcxb", "kind": "full_text", "text": text}]
            domain = _domain(entry.get("url") or "", suffixes) or number
            page = pages[number].decode("utf-8", "replace").encode()
            made.append(GoldPage(number, domain, page, said, entry["_internal"]["page_type"]["primary"]))
    return made


def _records(folder: Path) -> Iterator[tuple[str, str, bytes, str | None]]:
    reader = read.find("warc")()
    for file in storage.expand(str(folder / "*.warc.gz")):
        for batch in reader.read(read.whole_file(file), "gold", read.ReadCounts()):
            for row in batch.to_pylist():
                yield json.loads(row["metadata"])["warc_record_id"], row["url"], row["raw"], row["charset"]


def _domain(url: str, suffixes: PublicSuffixList) -> str:
    host = (urlsplit(url).hostname or "").lower()
    return suffixes.privatesuffix(host) or host


@dataclass(frozen=True)
class Labels:
    """How many words of each block a text holds.

    words     (blocks,) float32
    held      (blocks,) float32: of them, in the text
    size      words of the text
    """

    words: NDArray[np.float32]
    held: NDArray[np.float32]
    size: int


def labels(page: BlockPage, text: str) -> Labels:
    """Align a page with a gold text."""
    numbers: dict[str, int] = {}
    tokens: list[int] = []
    blocks: list[int] = []
    for block, words in enumerate(block_texts(page)):
        for token in TOKEN.findall(words.lower()):
            tokens.append(numbers.setdefault(token, len(numbers)))
            blocks.append(block)
    wanted = TOKEN.findall(text.lower())
    gold = [numbers[token] for token in wanted if token in numbers]
    held = np.zeros(len(tokens), np.int32)
    if len(tokens) * len(gold) <= LARGEST:
        if tokens and gold:
            _align(np.array(tokens, np.int32), np.array(gold, np.int32), held)
    else:
        known = set(zip(gold, gold[1:], gold[2:]))
        for place in range(len(tokens) - 2):
            if (tokens[place], tokens[place + 1], tokens[place + 2]) in known:
                held[place : place + 3] = 1
    count = len(page.blocks)
    by = np.array(blocks, np.int64)
    return Labels(
        np.bincount(by, minlength=count).astype(np.float32),
        np.bincount(by, held, minlength=count).astype(np.float32),
        len(wanted),
    )


def block_texts(page: BlockPage) -> list[str]:
    text = page.text.tobytes()
    return [text[a:b].decode("utf-8", "ignore") for a, b in page.blocks[:, [FIRST, LAST]].tolist()]


@kernel
def _align(page: NDArray[np.int32], gold: NDArray[np.int32], held: NDArray[np.int32]) -> None:
    """Mark the words of the page on the best path: a pair counts 2, and 1 more if it follows a pair."""
    rows, size = page.size, gold.size
    moves = np.zeros((rows + 1, size + 1), np.uint8)
    above, row = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int32)
    for i in range(1, rows + 1):
        for j in range(1, size + 1):
            best, move = above[j], 1
            if row[j - 1] > best:
                best, move = row[j - 1], 2
            if page[i - 1] == gold[j - 1]:
                value = above[j - 1] + 2 + (moves[i - 1, j - 1] == 3)
                if value >= best:
                    best, move = value, 3
            row[j] = best
            moves[i, j] = move
        above[:] = row
    i, j = rows, size
    while i > 0 and j > 0:
        move = moves[i, j]
        if move == 3:
            held[i - 1] = 1
        if move != 2:
            i -= 1
        if move != 1:
            j -= 1


def snippet_labels(
    page: BlockPage, wanted: list[str], unwanted: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(blocks,) each: whether a block is known, by a snippet of one kind only; and whether it is wanted."""
    known, good = np.zeros(len(page.blocks), np.bool_), np.zeros(len(page.blocks), np.bool_)
    for block, words in enumerate(block_texts(page)):
        flat = " ".join(words.split())
        yes = any(" ".join(part.split()) in flat for part in wanted)
        no = any(" ".join(part.split()) in flat for part in unwanted)
        known[block], good[block] = yes != no, yes
    return known, good
