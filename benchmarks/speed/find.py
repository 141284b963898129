"""Find passages in 1 GB of text: how fast the index is made, how large it is, how long a question takes, and whether
the counts are grep's."""

import json
import os
import subprocess
import time
from pathlib import Path
from statistics import median

from benchmarks.common import MB, Figure, Workload, row, table
from corpusmill import run as carry_out
from corpusmill.ops import find as found_in
from corpusmill.recipe.model import Recipe

BYTES = 1_000 * MB  # of text
PER_CORE, QUESTION = 10.0, 100.0  # MB/s, milliseconds: what is wanted
# Beginnings, middles and ends of words, frequent and rare, of several words and of one, markup, no words at all.
PASSAGES = (
    "the",
    " of the ",
    "function",
    "unction",
    "tion of",
    "return value",
    "documentation for",
    "e t",
    "</",
    "--",
    "of the original document, and",
    "zzz not there at all",
    "ö",
)


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """The workload's texts, and once more with the words of each in reverse, until there is a gigabyte of them."""
    scratch.mkdir(parents=True, exist_ok=True)
    plain, source = scratch / "texts.txt", scratch / "texts.jsonl"
    _texts(workload, plain, source)
    recipe = (
        f"name: find\nread:\n  - jsonl: {source}\nwrite: [jsonl: {{compression: none}}]\nrun: {{error_budget: 0}}\n"
    )
    done = carry_out(Recipe.parse(recipe), folder=scratch / "run", progress="off")
    started = time.perf_counter()
    index = found_in.TextIndex(done.folder)
    seconds = time.perf_counter() - started
    print(f"## find, in {index.documents:,} documents, {index.text_bytes / MB:,.0f} MB of text; median of {runs}\n")
    table("passage", "occurrences", "grep -oF", "ms")
    slowest, wrong = 0.0, 0
    for passage in PASSAGES:
        times = []
        for _ in range(runs):
            at = time.perf_counter()
            count = index.count(passage)
            times.append(1000 * (time.perf_counter() - at))
        said = _grep(passage, plain)
        overlapping = _overlapping(passage, plain)
        wrong += count != overlapping
        slowest = max(slowest, median(times))
        row(repr(passage), f"{count:,}", f"{said:,}", f"{median(times):.1f}")
    rate = index.text_bytes / MB / index.cpu_seconds
    each = index.index_bytes / index.text_bytes
    took = f"{seconds:.0f} s, {index.cpu_seconds:.0f} s of CPU"
    print(f"\nThe index was made in {took}; it has {each:.2f} bytes for each of text.\n")
    return [
        Figure("index, text per second of CPU", rate, "MB/s", PER_CORE, "at least"),
        Figure("question, the slowest", slowest, "ms", QUESTION, "below"),
        Figure("passages whose count differs from looking at every byte", wrong, "", 1, "below"),
    ]


def _texts(workload: Workload, plain: Path, source: Path) -> None:
    """One text a line in `plain`, without line breaks, so that grep sees what the index does."""
    size = 0
    with plain.open("w", encoding="utf-8") as bare, source.open("w", encoding="utf-8") as lines:
        for backwards in (False, True):
            for file in workload.files:
                for line in file.open(encoding="utf-8"):
                    text = " ".join(json.loads(line)["text"].split())
                    text = " ".join(reversed(text.split(" "))) if backwards else text
                    bare.write(text + "\n")
                    lines.write(json.dumps({"text": text}) + "\n")
                    size += len(text.encode())
                    if size >= BYTES:
                        return


def _grep(passage: str, plain: Path) -> int:
    """How often grep finds it; an occurrence that overlaps the one before is none to it."""
    command = ["grep", "-aoF", "--", passage, str(plain)]
    count = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}) as grep:
        assert grep.stdout
        while chunk := grep.stdout.read(1 << 20):
            count += chunk.count(b"\n")
    return count


def _overlapping(passage: str, plain: Path) -> int:
    """How often it is there, at every byte."""
    wanted = passage.encode()
    count = 0
    with plain.open("rb") as lines:
        for line in lines:
            at = line.find(wanted)
            while at >= 0:
                count += 1
                at = line.find(wanted, at + 1)
    return count
