"""How well and how fast filter/code separates code from prose.

    python -m benchmarks.quality.code --data DIR

DIR holds `code/code_files.jsonl.gz`, whose files name their language, and texts of many kinds, see `TEXTS`. Recall is
that of files in a programming language or in HTML or CSS; precision counts what is dropped of them and of the texts;
mixtures of code and prose are counted apart. Times are CPU seconds of one thread, best of three.
"""

import argparse
import gzip
import json
import platform
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpusmill.schema import DOCUMENT
from corpusmill.steps.filter.code import Code

CODE = ("Python", "JavaScript", "Java", "Go", "HTML", "CSS")
TEXTS = (
    "text/20newsgroups_train",
    "text/standardebooks_chapters",
    "text/us_inaugural",
    "text/redpajama_samples/arxiv_llmfoundry",
    "text/redpajama_samples/c4_refined",
    "text/redpajama_samples/pile_uspto",
    "text/ccnet_head/cc_en_head-0091",
    "text/ccnet_head/cc_en_head-0174",
    "neardup/license_texts",
)
MIXED = ("text/redpajama_samples/stackexchange",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    kinds, texts = zip(*documents(options.data), strict=True)
    column = pa.array(texts, pa.large_string())
    made = {field.name: pa.nulls(len(texts), field.type) for field in DOCUMENT} | {"text": column}
    batch = pa.RecordBatch.from_pydict(made, schema=DOCUMENT)
    step = Code()
    seconds = []
    for _ in range(4):  # the first may compile
        start = time.thread_time()
        signals = step.signals(batch)
        seconds.append(time.thread_time() - start)
    drops = step.reasons(batch, signals).is_valid().to_numpy(zero_copy_only=False)
    kind = np.array(kinds)
    code, text = np.isin(kind, CODE), np.isin(kind, TEXTS)
    hits = int((drops & code).sum())
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{column.nbytes / 1e6:.1f} MB, {column.nbytes / 1e6 / min(seconds[1:]):.0f} MB/s")
    print(f"recall {hits / code.sum():.3f}, precision {hits / (drops & (code | text)).sum():.3f}")
    print(f"\n{'kind':44} {'documents':>9} {'code':>6}")
    for name in sorted(set(kinds), key=lambda name: (name not in CODE, name)):
        print(f"{name:44} {(kind == name).sum():9,} {drops[kind == name].mean():6.1%}")


def documents(data: Path) -> Iterator[tuple[str, str]]:
    """(kind, text): the language of a file, or where a text is from."""
    for record in records(data / "code" / "code_files.jsonl.gz"):
        yield record["language"], record["text"]
    for name in (*TEXTS, *MIXED):
        for record in records(data / f"{name}.jsonl.gz"):
            yield name, record["text"]


def records(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
