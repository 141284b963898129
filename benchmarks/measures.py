"""The measures of text alone, one core: MB/s of UTF-8 text, each by itself and all together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks._common import MB, Figure, Workload, row, table, thread_seconds
from corpusmill import measures
from corpusmill.models.language import Identifier
from corpusmill.models.tokenizer import load
from corpusmill.read import Tally, whole
from corpusmill.read.jsonl import Jsonl
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.redact.pii import Pii
from corpusmill.storage import expand
from corpusmill.text.c4 import clean_lines
from corpusmill.text.stats import document_stats


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Of the first file of the workload, in batches as the reader makes them."""
    batches = list(Jsonl().read(whole(expand(str(workload.files[0]))[0]), "web", Tally()))
    size = sum(int(np.diff(offsets(batch["text"]))[:].sum()) for batch in batches) / MB
    print(f"## measures: {size:.0f} MB of text of the first file, CPU time of one thread, median of {runs}\n")
    table("what", "MB/s a core")
    figures = []
    for name, work in WORK.items():
        seconds = thread_seconds(lambda work=work: [work(batch) for batch in batches], runs)  # type: ignore[misc]
        figures.append(Figure(f"measures: {name}", size / seconds, "MB/s"))
        row(name, f"{size / seconds:,.0f}")
    print()
    return figures


def offsets(texts: pa.LargeStringArray) -> np.ndarray:
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def rules(docs: pa.RecordBatch) -> None:
    """All that the rules of Gopher, FineWeb, C4 and `basic` judge by."""
    measures.stats(docs)
    measures.basic(docs)
    clean_lines(docs["text"])


def keys(docs: pa.RecordBatch) -> None:
    Exact().keys(docs)
    Minhash().keys(docs)


def basic_alone(docs: pa.RecordBatch) -> None:
    measures._last = None  # what `stats` would have left for it
    measures.basic(docs)


def stats_alone(docs: pa.RecordBatch) -> None:
    measures._last = None
    measures.stats(docs)


WORK: dict[str, Callable[[pa.RecordBatch], object]] = {
    "the pass over the text (`document_stats`)": lambda docs: document_stats(docs["text"]),
    "Gopher and FineWeb (`stats`)": stats_alone,
    "`basic`": basic_alone,
    "C4's lines and sentences": lambda docs: clean_lines(docs["text"]),
    "all of these together": rules,
    "clean/normalize": Normalize().transform,
    "language, 3 windows of 1,000 characters": lambda docs: Identifier().columns(docs["text"]),
    "redact/pii, e-mail and IP": Pii().transform,
    "keys of dedup/exact and dedup/minhash": keys,
    "tokens, GPT-2": lambda docs: load("gpt2").count(docs["text"]),
}
