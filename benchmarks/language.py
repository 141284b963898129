"""How fast and how well languages are named, beside the fastText library on the same model.

    python benchmarks/language.py --data FILE.jsonl.gz [--language lang] [--chars 1000]

FILE holds documents with a `text`, one JSON object a line, .jsonl or .jsonl.gz. With --language naming a key that
holds the true ISO 639 code, accuracy is printed too. Times are CPU seconds of one thread, best of three; both read the
same texts, and the library is given one with its line breaks replaced, as it demands.
"""

import argparse
import gzip
import json
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa

from corpusmill import assets
from corpusmill.models.fasttext import FastText
from corpusmill.models.language import LID_176, Identifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--language", help="the key of the true language")
    parser.add_argument("--chars", type=int, default=1000, help="characters of each text that are kept; 0 keeps all")
    parser.add_argument("--model", default=LID_176)
    options = parser.parse_args()
    records = read(options.data)
    texts = [record["text"][: options.chars or None] for record in records]
    column = pa.array(texts, pa.large_string())
    size = column.nbytes / 1e6

    model = assets.load(options.model, FastText.load)
    library = fasttext.load_model(str(assets.locate(options.model)))
    identifier = Identifier(model=options.model)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{options.data.name}: {len(texts)} texts, {size:.1f} MB, {options.model}\n")
    found, seconds = timed(lambda: model.predict(column, 2))
    show("FastText.predict", len(texts), size, seconds)
    named, seconds = timed(lambda: identifier.columns(column))
    show("with windows, as the steps do", len(texts), size, seconds)
    expected, seconds = timed(lambda: [library.predict(text.replace("\n", " "), k=2) for text in texts])
    show("fastText library", len(texts), size, seconds)

    pairs = [
        (model.labels[label], score, names[0].removeprefix("__label__"), value[0])
        for label, score, (names, value) in zip(found[0][:, 0], found[1][:, 0], expected, strict=True)
        if label >= 0
    ]
    apart = max((abs(ours - theirs) for _, ours, _, theirs in pairs), default=0.0)
    differ = sum(label != name for label, _, name, _ in pairs)
    print(f"\n{differ} of {len(pairs)} labels differ from the library's; scores by {apart:.1e} at most")
    if options.language:
        known = set(model.labels)
        judged = [
            (record[options.language], label)
            for record, label in zip(records, named["label"].to_pylist(), strict=True)
            if record[options.language] in known
        ]
        right = sum(truth == label for truth, label in judged)
        print(f"{right / max(len(judged), 1):.4f} of {len(judged)} texts in languages that the model knows are right")


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the CPU seconds of the best of three runs, after one that compiles."""
    result, best = work(), float("inf")
    for _ in range(3):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return result, best


def show(name: str, texts: int, size: float, seconds: float) -> None:
    print(f"{name:<32} {texts / seconds:>9,.0f} texts/s  {size / seconds:>6.1f} MB/s")


if __name__ == "__main__":
    main()
