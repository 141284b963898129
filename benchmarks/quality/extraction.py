"""How well and how fast the extractors find the text of pages, against gold text that people made.

    python -m benchmarks.quality.extraction --data FOLDER

FOLDER holds *.warc.gz files and gold_extraction.jsonl.gz, one gold entry a line: `record_id` (of the WARC record),
`source` (the benchmark it comes from), `kind`, and by kind

    full_text, full_text_markup, readability_expected   `text`: scored by token F1, the mean over pages
    snippets                                            `with` and `without`: the share of snippets treated right
    prefix                                              only the beginning of the text: the recall of its tokens

Tokens are runs of letters and digits in lower case, compared as bags, as the benchmarks do.
"""

import argparse
import json
import platform
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill import read, storage
from corpusmill.errors import MissingExtraError
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.extract.trafilatura import Trafilatura

TOKEN = re.compile(r"\w+")
GOLD = "gold_extraction.jsonl.gz"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--data", type=Path, required=True, help="folder with *.warc.gz and gold_extraction.jsonl.gz"
    )
    arguments.add_argument("--pages", type=int, default=0, help="score only the first so many pages")
    options = arguments.parse_args()
    if not (options.data / GOLD).is_file():
        print(f"{options.data / GOLD}: no such file. --data names a folder with *.warc.gz and {GOLD}.", file=sys.stderr)
        return 2
    gold = read_gold(options.data / GOLD)
    batches = list(pages_with_gold(options.data, gold, options.pages))
    if not batches:
        print(f"{options.data}: no WARC file here holds a page that {GOLD} names.", file=sys.stderr)
        return 2
    size = sum(batch["raw"].nbytes for batch in batches) / 1e6
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{sum(len(batch) for batch in batches)} pages, {size:.1f} MB of HTML, CPU time of one thread\n")
    extractors: dict[str, Any] = {
        f"resiliparse {installed('resiliparse')}": Resiliparse(),
        "resiliparse, all text": Resiliparse(main_content=False),
        f"trafilatura {installed('trafilatura')}": Trafilatura(),
        "trafilatura, fallback: false": Trafilatura(fallback=False),
    }
    for name, step in extractors.items():
        try:
            texts, seconds = extracted(step, batches)
        except MissingExtraError as error:
            print(f"{name}: {error}\n")
            continue
        empty = sum(not text for text in texts.values())
        print(f"{name}: {size / seconds:.1f} MB/s, {empty} pages without text")
        for group, (score, count, unit) in scores(gold, texts).items():
            print(f"    {group:<32} {score:.3f}  {unit}, {count} pages")
        print()
    return 0


def read_gold(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Gold entries by record id."""
    import gzip

    gold = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            gold[entry["record_id"]].append(entry)
    return dict(gold)


def pages_with_gold(folder: Path, gold: dict[str, Any], limit: int) -> Iterator[pa.RecordBatch]:
    """The pages that gold names, as the reader gives them."""
    reader = read.find("warc")()
    left = limit or sys.maxsize
    for file in storage.expand(str(folder / "*.warc.gz")):
        for batch in reader.read(read.whole(file), "benchmark", read.Tally()):
            ids = [json.loads(row)["warc_record_id"] for row in batch["metadata"].to_pylist()]
            known = batch.filter(pa.array([name in gold for name in ids], pa.bool_())).slice(0, left)
            left -= len(known)
            if len(known):
                yield known


def extracted(step: Any, batches: list[pa.RecordBatch]) -> tuple[dict[str, str], float]:
    """Text by record id, and the CPU seconds that it took after a first page for warming up."""
    step.transform(batches[0].slice(0, 1))
    start = time.thread_time()
    done = [step.transform(batch) for batch in batches]
    seconds = time.thread_time() - start
    texts = {}
    for batch in done:
        for metadata, text in zip(batch["metadata"].to_pylist(), batch["text"].to_pylist(), strict=True):
            texts[json.loads(metadata)["warc_record_id"]] = text or ""
    return texts, seconds


def scores(gold: dict[str, list[dict[str, Any]]], texts: dict[str, str]) -> dict[str, tuple[float, int, str]]:
    """group -> (mean score, pages, what the score is)."""
    results: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record, text in texts.items():
        for entry in gold[record]:
            score, unit = KINDS[entry["kind"]]
            if (value := score(entry, text)) is not None:
                results[f"{entry['source']} ({entry['kind']})", unit].append(value)
    return {group: (sum(values) / len(values), len(values), unit) for (group, unit), values in sorted(results.items())}


def f1(entry: dict[str, Any], text: str) -> float | None:
    want, have = bag(entry["text"]), bag(text)
    if not want:
        return None
    both = (want & have).total()
    return 2 * both / (want.total() + have.total())


def recall(entry: dict[str, Any], text: str) -> float | None:
    want = bag(entry["text"])
    return (want & bag(text)).total() / want.total() if want else None


def snippets(entry: dict[str, Any], text: str) -> float | None:
    flat = " ".join(text.split())
    right = [" ".join(part.split()) in flat for part in entry["with"]]
    right += [" ".join(part.split()) not in flat for part in entry["without"]]
    return sum(right) / len(right) if right else None


def bag(text: str) -> Counter[str]:
    return Counter(TOKEN.findall(text.lower()))


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


KINDS: dict[str, tuple[Callable[[dict[str, Any], str], float | None], str]] = {
    "full_text": (f1, "token F1"),
    "full_text_markup": (f1, "token F1"),
    "readability_expected": (f1, "token F1"),
    "snippets": (snippets, "snippets right"),
    "prefix": (recall, "token recall"),
}

if __name__ == "__main__":
    sys.exit(main())
