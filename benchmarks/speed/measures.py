"""The measures of text alone, one core: MB/s of UTF-8 text, each by itself and all together."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmarks import samples
from benchmarks.common import Figure, Workload, row, table
from corpusmill.models.language import Identifier
from corpusmill.models.tokenizer import load
from corpusmill.steps import measures
from corpusmill.steps.clean.normalize import Normalize
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.measures import MEASURES
from corpusmill.steps.redact.pii import RedactPii
from corpusmill.text.c4 import clean_lines
from corpusmill.text.pii import pii_spans
from corpusmill.text.stats import document_stats

GOPHER_AND_FINEWEB, ALL = "Gopher, repetition and FineWeb (`stats`)", "all of these together, with C4 and `basic`"
PERSONAL = "scan for personal data and secrets, every kind (`pii_spans`)"
BARS = {GOPHER_AND_FINEWEB: 80.0, ALL: 60.0}  # MB/s
OF_ORDINARY_TEXT = {PERSONAL: 500.0}  # MB/s; most of the workload of all kinds is code and markup


def run(workload: Workload, runs: int, scratch: Path, data: Path | None = None) -> list[Figure]:
    mixed = samples.all_kinds(workload)
    measured = [mixed, samples.prose(workload), *([samples.crawled(data)] if data else [])]
    print(f"## measures: CPU time of one thread, median of {runs}\n")
    for sample in measured:
        print(f"- {sample}")
    print()
    table("MB/s per core", *(sample.name for sample in measured))
    figures = []
    bars = BARS | OF_ORDINARY_TEXT
    for name, work in WORK.items():
        speeds = [sample.speed(work, runs) for sample in measured]
        row(name, *(f"{speed:,.0f}" for speed in speeds))
        figures += [
            Figure(f"measures: {name}, {sample.name}", speed, "MB/s", (BARS if sample is mixed else bars).get(name))
            for sample, speed in zip(measured, speeds)
        ]
    print()
    return figures


def rules(docs: pa.RecordBatch) -> None:
    """All that the rules of Gopher, FineWeb, C4 and `basic` judge by."""
    statistics = document_stats(docs["text"])
    measures.stats(statistics)
    measures.basic(statistics)
    clean_lines(docs["text"])


def keys(docs: pa.RecordBatch) -> None:
    Exact().keys(docs, {})
    Minhash().keys(docs, {})


WORK: dict[str, Callable[[pa.RecordBatch], object]] = {
    "the pass over the text (`document_stats`)": lambda docs: document_stats(docs["text"]),
    GOPHER_AND_FINEWEB: MEASURES["stats"],
    "`basic`": MEASURES["basic"],
    "C4's lines and sentences": lambda docs: clean_lines(docs["text"]),
    ALL: rules,
    "clean/normalize": Normalize().transform,
    "language by lid.wide, 3 windows of 200 characters": lambda docs: Identifier().columns(docs["text"]),
    PERSONAL: lambda docs: pii_spans(docs["text"]),
    "redact/pii, e-mail and IP": RedactPii().transform,
    "keys of dedup/exact and dedup/minhash": keys,
    "tokens, GPT-2": lambda docs: load("gpt2").count(docs["text"]),
}
