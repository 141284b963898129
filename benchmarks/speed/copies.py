"""Workloads of any size from the slice of one: python -m benchmarks.speed.copies --slice DIR --out DIR --scale 2

For machines on which the packages of benchmarks/workload.py are not to be had. Each file is the slice once more with
other words: an eighth of its words of four letters and more stand for others, in every copy other ones. So documents
of different copies share few 5-grams, what is a copy within the slice still is one, and languages and rules see what
they saw. Of scale 1 it has as many bytes as benchmarks/workload.py makes.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Iterable
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import orjson
import xxhash

OF_SCALE_1 = 472_000_000  # bytes
SHARE = 8  # one word in so many is another one
COMMON = 50  # the words that stand for others occur so often in the slice


def build(given: Iterable[Path], out: Path, scale: float, repeated: bool = False) -> None:
    """Writes docs-NNNN.jsonl and truth.json.

    repeated   every second file has the texts of the one before
    """
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(given)
    size = sum(file.stat().st_size for file in files)
    vocabulary = words_of(files)
    copies = max(1, round(scale * OF_SCALE_1 / size))
    with Pool(os.cpu_count()) as pool:
        made = pool.map(partial(copy, files, vocabulary, out, repeated), range(copies), chunksize=1)
    truth = {"files": dict(entry for entry, _ in made), "documents": sum(count for _, count in made)}
    (out / "truth.json").write_text(json.dumps(truth) + "\n", "utf-8")


def words_of(files: list[Path]) -> dict[str, bool]:
    """Word of four letters and more -> whether it is common, in alphabetical order."""
    counts: dict[str, int] = {}
    for file in files:
        for line in file.read_bytes().splitlines():
            for word in orjson.loads(line)["text"].split(" "):
                if len(word) > 3 and word.isalpha() and word.isascii():
                    counts[word] = counts.get(word, 0) + 1
    return {word: counts[word] >= COMMON for word in sorted(counts)}


def copy(
    files: list[Path], vocabulary: dict[str, bool], out: Path, repeated: bool, number: int
) -> tuple[tuple[str, dict[str, object]], int]:
    """One file of the workload: name, bytes and checksum, and how many documents it has. Copy 0 is as it was."""
    common = [word for word, is_common in vocabulary.items() if is_common]
    instead: dict[str, str] = {}
    words = number - number % 2 if repeated else number
    for word in vocabulary if words else ():
        drawn = xxhash.xxh3_64_intdigest(word.encode(), seed=words)
        if drawn % SHARE == 0:
            instead[word] = common[drawn // SHARE % len(common)]
    path = out / f"docs-{number:04}.jsonl"
    digest, size, documents = hashlib.sha256(), 0, 0
    with path.open("wb") as file:
        for line in (line for source in files for line in source.read_bytes().splitlines()):
            row = orjson.loads(line)
            row["text"] = " ".join([instead.get(word, word) for word in row["text"].split(" ")])
            row["url"] = f"{row['url']}?{number}"
            made = orjson.dumps(row) + b"\n"
            digest.update(made)
            size += file.write(made)
            documents += 1
    return (path.name, {"bytes": size, "sha256": digest.hexdigest()}), documents


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slice", type=Path, required=True, help="a folder with docs-*.jsonl")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="of the workload: 2 is 1 GB")
    parser.add_argument("--repeated", action="store_true", help="every second file has the texts of the one before")
    options = parser.parse_args()
    build(options.slice.glob("docs-*.jsonl"), options.out, options.scale, options.repeated)
