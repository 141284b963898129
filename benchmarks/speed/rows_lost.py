"""Tokens that rows of each kind throw away or fill with padding, on the same text, at 2,048 and 8,192 tokens.

    python -m benchmarks.speed.rows_lost --data DIR

The text is all of DIR/text that is JSON Lines: newsgroup posts, chapters of books, speeches, in a fixed random order.
nanochat's way is written from the description in its nanochat/dataloader.py: rows of T + 1 tokens, of 1,000 documents
that wait the longest that fits, and where none fits the shortest, of which the rest is thrown away. Its first version,
of which it published its 34.6 %, cropped the one that had waited longest. No way to crop can lose less than what
documents have beyond a row, once all that wait are taken: that is printed beside them.
"""

import argparse
import gzip
import json
from bisect import bisect_right, insort
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpusmill.models.tokenizer import load
from corpusmill.text.array_types import Int64s
from corpusmill.tokens.packing import best_fit_rows, buckets, concat

ROWS = (2_048, 8_192)
EPOCHS, FEW_EPOCHS = 200, 30  # of nanochat's way, and of its first version
WAITING, TOGETHER = 1_000, 128  # documents, of nanochat's buffer and of what it takes at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    lengths = lengths_of(parser.parse_args().data)
    total, longer = int(lengths.sum()), [float((lengths > row).mean()) for row in ROWS]
    print(f"{len(lengths):,} documents, {total:,} tokens, median {int(np.median(lengths)):,}; ", end="")
    print(", ".join(f"{share:.1%} longer than {row:,}" for row, share in zip(ROWS, longer)))
    print("\n| rows | tokens in a row | thrown away | padding | documents in more than one piece, or cropped |")
    print("|---|---:|---:|---:|---:|")
    for row in ROWS:
        for name, make in (("concat", concat), ("best fit", best_fit_rows), ("buckets", buckets)):
            layout = make(lengths, row)
            held = int(layout.length.sum())
            used = layout.size
            cut = in_pieces(layout.start, layout.length, layout.document, row)
            line(name, row, total - held, used - held, cut / len(lengths), total, used)
        thrown, cropped, seen, documents = cropping(lengths, row + 1)
        line("nanochat's cropping", row, thrown, 0, cropped / documents, seen, seen)
        thrown, cropped, seen, documents = oldest_cropped(lengths, row + 1)
        line("its first version", row, thrown, 0, cropped / documents, seen, seen)
        beyond = np.maximum(lengths - row - 1, 0)
        line("the least of any cropping", row, int(beyond.sum()), 0, float((beyond > 0).mean()), total, total)


def line(name: str, row: int, thrown: int, padding: int, cut: float, total: int, used: int) -> None:
    print(f"| {name} | {row:,} | {thrown / total:.1%} | {padding / used:.1%} | {cut:.1%} |", flush=True)


def in_pieces(start: Int64s, length: Int64s, document: Int64s, row: int) -> int:
    """Documents that are in more than one row, or in several pieces of one."""
    crosses = start // row != (start + length - 1) // row
    several = np.bincount(document) > 1
    several[document[crosses]] = True
    return int(several.sum())


def cropping(lengths: Int64s, row: int) -> tuple[int, int, int, int]:
    """Tokens thrown away, documents cropped, tokens and documents taken, in the later half of EPOCHS passes: at first
    long documents gather among those that wait, which a small text would not show."""
    every = np.concatenate([np.random.default_rng(epoch).permutation(lengths) for epoch in range(EPOCHS)]).tolist()
    waiting: list[int] = []
    counts = np.zeros(4, np.int64)
    halfway: Int64s = counts
    taken = 0
    while True:
        room = row
        while room:
            while len(waiting) < WAITING:
                if taken >= len(every):
                    thrown, cropped, seen, documents = (counts - halfway).tolist()
                    return thrown, cropped, seen, documents
                for size in every[taken : taken + TOGETHER]:
                    insort(waiting, size)
                taken += TOGETHER
                if taken <= len(every) // 2:
                    halfway = counts.copy()
            fits = bisect_right(waiting, room)
            size = waiting.pop(fits - 1 if fits else 0)
            counts += (max(0, size - room), size > room, size, 1)
            room -= min(size, room)


def oldest_cropped(lengths: Int64s, row: int) -> tuple[int, int, int, int]:
    """The same counts, where the document that has waited longest is cropped: none waits for ever, few passes do."""
    order = [np.random.default_rng(epoch).permutation(lengths) for epoch in range(FEW_EPOCHS)]
    every = np.concatenate(order).tolist()
    waiting: list[tuple[int, int]] = []  # (tokens, number), sorted
    oldest: dict[int, int] = {}  # number -> tokens, in the order of arrival
    counts = np.zeros(4, np.int64)
    halfway: Int64s = counts
    taken = 0
    while True:
        room = row
        while room:
            while len(waiting) < WAITING:
                if taken >= len(every):
                    thrown, cropped, seen, documents = (counts - halfway).tolist()
                    return thrown, cropped, seen, documents
                for number, size in enumerate(every[taken : taken + TOGETHER], taken):
                    insort(waiting, (size, number))
                    oldest[number] = size
                taken += TOGETHER
                if taken <= len(every) // 2:
                    halfway = counts.copy()
            if fits := bisect_right(waiting, (room, len(every))):
                size, number = waiting.pop(fits - 1)
                del oldest[number]
            else:
                number = next(iter(oldest))
                size = oldest.pop(number)
                waiting.remove((size, number))
            counts += (max(0, size - room), size > room, size, 1)
            room -= min(size, room)


def lengths_of(data: Path) -> Int64s:
    """Tokens of each document with EOS, by GPT-2's tokenizer."""
    texts: list[str] = []
    for path in sorted((data / "text").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [text for text in (json.loads(each).get("text") for each in lines) if text]
    _, lengths = load("gpt2").encode_documents(pa.array(texts, pa.large_string()))
    found: Int64s = np.random.default_rng(1).permutation(np.asarray(lengths, np.int64))
    return found


if __name__ == "__main__":
    main()
