"""The documents that rules are measured on: of all kinds, and prose, in batches as the reader makes them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common import MB, Workload, thread_seconds
from corpusmill.models.language import Identifier
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.wet import WetReader
from corpusmill.schema import DOCUMENT
from corpusmill.storage import expand

PROSE = 4000  # documents
SURE = 0.65  # the score from which FineWeb takes a page for English
CRAWLED, EVERY = 10_000, 5  # of so many documents, one in so many

# What the documents are taken from, in order: crawled pages, books, speeches, mail, papers, questions.
SOURCES: tuple[tuple[Any, str], ...] = (
    (WetReader(), "warc/crawl/*.wet.gz"),
    (JsonlReader(), "text/redpajama_samples/*.jsonl.gz"),
    (JsonlReader(), "text/ccnet_head/cc_en_head-*.jsonl.gz"),
    (JsonlReader(), "text/standardebooks_chapters.jsonl.gz"),
    (JsonlReader(), "text/us_inaugural.jsonl.gz"),
    (JsonlReader(), "text/20newsgroups_train.jsonl.gz"),
)


@dataclass(frozen=True)
class Sample:
    name: str
    about: str
    batches: list[pa.RecordBatch]

    @cached_property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch["text"].to_pylist()]

    @cached_property
    def size(self) -> float:
        """MB of UTF-8 text."""
        return float(sum(pc.sum(pc.binary_length(batch["text"])).as_py() for batch in self.batches)) / MB

    def speed(self, work: Callable[[pa.RecordBatch], object], runs: int) -> float:
        """MB a CPU second of one thread that does this to every batch."""
        return self.size / thread_seconds(lambda: [work(batch) for batch in self.batches], runs)

    def __str__(self) -> str:
        documents = sum(len(batch) for batch in self.batches)
        return f"{self.name}: {documents:,} documents, {self.size:.1f} MB: {self.about}"


def all_kinds(workload: Workload) -> Sample:
    return Sample("all kinds", "the first file of the workload", read(workload.files[0]))


def prose(workload: Workload) -> Sample:
    """What a crawl holds when these rules come to it: text that is English, as far as one can tell."""
    kinds = json.loads((workload.folder / "truth.json").read_bytes())["kind_of_each"]
    identify, left, batches = Identifier(), PROSE, []
    for file in workload.files:
        for batch in read(file):
            numbers = [int(url.rpartition("/d")[2]) for url in batch["url"].to_pylist()]
            language = identify.columns(batch["text"])
            english = pc.and_(pc.equal(language["label"], "en"), pc.greater_equal(language["score"], SURE))
            text = pa.array([kinds[number] == "t" for number in numbers])
            batches.append(batch.filter(pc.and_(text, pc.fill_null(english, False))).slice(0, left))
            left -= len(batches[-1])
            if left == 0:
                break
        if left == 0:
            break
    about = f"the first of the workload's kind `text` that lid.176 calls English with a score of {SURE} or more"
    return Sample("prose", about, together(batches))


def crawled(data: Path) -> Sample:
    """Real pages, then books, speeches, papers, mail: what parity is proved on."""
    picked = pa.Table.from_batches([batch.cast(DOCUMENT) for batch in real_documents(data, CRAWLED)])
    picked = picked.take(pa.array(np.arange(0, len(picked), EVERY)))
    about = f"every {EVERY}th of the first {CRAWLED:,} that `make parity` takes, most of them crawled pages as WET"
    return Sample("crawled", about, together(picked.to_batches()))


def real_documents(data: Path, most: int) -> Iterator[pa.RecordBatch]:
    """The first documents with text, in batches."""
    left = most
    for reader, pattern in SOURCES:
        for piece in reader.split(expand([str(data / pattern)], reader.suffixes), 1 << 40):
            for batch in reader.read(piece, pattern, ReadCounts()):
                yield batch.slice(0, left)
                left -= min(len(batch), left)
                if left == 0:
                    return


def read(file: Path) -> list[pa.RecordBatch]:
    return list(JsonlReader().read(whole_file(expand(str(file))[0]), "web", ReadCounts()))


def together(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same documents in few batches."""
    merged: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=2048)
    return merged
