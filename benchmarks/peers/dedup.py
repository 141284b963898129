"""Near copies removed beside gaoya, rensa, datasketch and datatrove: whole processes, on the same cores.

Timed is from the start of the process until it has written which documents are kept. All read the same JSON
lines with the same settings: 5-grams of words, similarity of at least 0.8, 112 hashes; the peers in 14 bands of 8,
which is datatrove's default, ours in its own, 16 of 7. The peers are run as their documentation does it, gaoya and
rensa also in the fastest way that they offer, on both cores (see dedup_libraries.py, dedup_datatrove.py); ours is the
command `corpusmill run` with one step, which checks every candidate, and writes all documents besides.

A planted pair is found if not both documents are kept; a removal is right if its similarity is 0.8. Folding words and
splitting them at white space differ in which pairs reach 0.8 (of 1,550 by white space, 36 do not when folded, and 282
others do): found is counted both ways.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import GIB, MB, Figure, Watch, Workload, row, table, watching
from corpusmill.store.arrays import map_arrays
from corpusmill.store.run_folder import RunFolder
from corpusmill.text.buckets import in_ways, jaccard
from corpusmill.text.fold import fold
from corpusmill.text.shingles import shingle_hashes

Pairs = NDArray[np.int64]  # (pairs, 2) numbers over all files: a dropped document, the one that it duplicates
LIBRARIES, DATATROVE = "dedup_libraries.py", "dedup_datatrove.py"
THRESHOLD = 0.8
FOLDED, SPLIT = "folded", "white space"


@dataclass(frozen=True)
class Peer:
    """
    script, how   what is run, and its first argument
    sliced        it is slow, and is given the slice: a tenth
    words         which words it compares: folded as ours (datatrove), about so (gaoya), or as white space separates
                  them
    bar           times that ours is to be faster
    """

    name: str
    script: str
    how: str
    sliced: bool
    words: str
    bar: float | None = None


PEERS = (
    Peer("gaoya, as documented", LIBRARIES, "gaoya-documented", False, FOLDED, 4.0),
    Peer("gaoya, in bulk on two threads", LIBRARIES, "gaoya", False, FOLDED, 4.0),
    Peer("rensa, as documented", LIBRARIES, "rensa-documented", False, SPLIT, 3.0),
    Peer("rensa, in bulk in two processes", LIBRARIES, "rensa", False, SPLIT, 3.0),
    Peer("datasketch", LIBRARIES, "datasketch", True, SPLIT),
    Peer("datatrove, words at white space", DATATROVE, "split", True, FOLDED),
    Peer("datatrove, its own words, by spaCy", DATATROVE, "spacy", True, FOLDED, 100.0),
)


@dataclass(frozen=True)
class Outcome:
    """
    known     seconds from start until the kept documents are written; the median, if it was run more than once
    wall      seconds until the process ended
    memory    peak bytes over all its processes, shared pages counted once
    steady    whether the same documents went in every run
    """

    version: str
    known: float
    wall: float
    cpu: float
    memory: int
    duplicates: Pairs
    steady: bool = True


@dataclass(frozen=True)
class Truth:
    """What is known of the planted copies: pairs of documents, and their similarity by words at white space; 2.0 for
    exact ones."""

    texts: list[str]
    pairs: Pairs
    similarity: NDArray[np.float64]

    @cached_property
    def by_words(self) -> dict[str, "Truth"]:
        """The same with similarities by each kind of words."""
        exact = self.similarity == 2.0
        alike = {words: np.where(exact, 2.0, self.similarities(self.pairs, words)) for words in (FOLDED, SPLIT)}
        return {words: Truth(self.texts, self.pairs, similarity) for words, similarity in alike.items()}

    @staticmethod
    def of(workload: Workload) -> "Truth":
        texts: list[str] = []
        at: dict[int, int] = {}
        for file in workload.files:
            for line in file.read_bytes().splitlines():
                record = orjson.loads(line)
                at[int(record["url"].rpartition("/d")[2])] = len(texts)
                texts.append(record["text"])
        said = json.loads((workload.folder / "truth.json").read_bytes())
        planted = [(*pair, 2.0) for pair in said["exact"]] + [tuple(pair[:3]) for pair in said["near"]]
        pairs = np.array([(at[one], at[other]) for one, other, _ in planted])
        return Truth(texts, pairs, np.array([similarity for *_, similarity in planted]))

    def recall(self, gone: Pairs, low: float, high: float) -> float:
        """The share of planted pairs of a similarity of which not both documents are kept."""
        dropped = np.zeros(len(self.texts), bool)
        dropped[gone[:, 0]] = True
        wanted = self.pairs[(self.similarity >= low) & (self.similarity < high)]
        return float(dropped[wanted].any(axis=1).mean())

    def precision(self, gone: Pairs, words: str) -> float:
        """The share of the documents that go whose exact similarity with what they go for is at least THRESHOLD."""
        return float((self.similarities(gone, words) >= THRESHOLD).mean())

    def similarities(self, pairs: Pairs, words: str) -> NDArray[np.float64]:
        """(pairs,) the exact similarity of documents by a kind of words."""
        which, at = np.unique(pairs, return_inverse=True)
        texts = [self.texts[i] for i in which]
        if words == SPLIT:
            folded = pa.array([" ".join(text.lower().split()) for text in texts], pa.large_string())
        else:
            folded = fold(pa.array(texts, pa.large_string()))
        sets = in_ways([shingle_hashes(folded, 5)])
        at = at.reshape(-1, 2)
        return jaccard(np.ascontiguousarray(at[:, 0]), np.ascontiguousarray(at[:, 1]), *sets)[0]


def run(workload: Workload, runs: int, scratch: Path, peer: Path | None = None) -> list[Figure]:
    scratch.mkdir(parents=True, exist_ok=True)
    part = workload.slice
    print(f"## near copies, beside peers: median of {runs}, once where it is the slice\n")
    print(f"- whole: {workload}\n- slice: {part}")
    print(
        "- the rate of one that is given the slice is taken to be that of the whole, which flatters none but the start"
    )
    if peer is None:
        print("- **peers are left out**: `--peer PYTHON` names an environment that has them, as `make bench` does")
    print()
    table(
        "", "data", "s until decided", "s in all", "MB/s", "CPU s", "peak GiB", "ours is faster",
        "exact found", "0.9 and more", "0.8 to 0.9", f"0.8 and more, {FOLDED}", f"0.8 and more, {SPLIT}",
        "dropped", f"right, {FOLDED}", f"right, {SPLIT}",
    )  # fmt: skip
    whole, sliced = Truth.of(workload), Truth.of(part)
    # Ours runs once more before each peer, so that a time in which the machine is slow is shared.
    asked = []
    alone = [ourselves(workload, scratch) for _ in range(runs)]
    for other in PEERS if peer else ():
        assert peer
        alone.append(ourselves(workload, scratch))
        data = part if other.sliced else workload
        asked.append((other, repeat([ask(peer, other, data, scratch) for _ in range(1 if other.sliced else runs)])))
    ours, ours_sliced = repeat(alone), ourselves(part, scratch)
    name = "corpusmill"
    show(name, "whole", workload, whole, ours, 1.0)
    show(name, "slice", part, sliced, ours_sliced, None)
    speed = workload.bytes / MB / ours.known
    figures = [
        Figure("near copies: until decided", speed, "MB/s"),
        Figure("near copies: until the documents are written", workload.bytes / MB / ours.wall, "MB/s"),
    ]
    for other, theirs in asked:
        data, truth = (part, sliced) if other.sliced else (workload, whole)
        faster = speed / (data.bytes / MB / theirs.known)
        name = f"{other.name.partition(',')[0]} {theirs.version}{''.join(other.name.partition(',')[1:])}"
        show(name, "slice" if other.sliced else "whole", data, truth, theirs, faster)
        mine = ours_sliced if other.sliced else ours
        figures += [
            Figure(f"near copies: faster than {other.name}", faster, "times", other.bar),
            Figure(
                f"near copies of 0.8 and more, by words at white space, found, less those of {other.name}",
                truth.recall(mine.duplicates, 0.8, 3) - truth.recall(theirs.duplicates, 0.8, 3),
                "",
                0.0,
                digits=4,
            ),
            Figure(
                f"near copies of 0.8 and more, by one's own words, found, less those of {other.name}",
                truth.by_words[FOLDED].recall(mine.duplicates, 0.8, 3)
                - truth.by_words[other.words].recall(theirs.duplicates, 0.8, 3),
                "",
                0.0,
                digits=4,
            ),
            Figure(
                f"near copies: rightly removed, by one's own words, less those of {other.name}",
                truth.precision(mine.duplicates, FOLDED) - truth.precision(theirs.duplicates, other.words),
                "",
                0.0,
                digits=4,
            ),
        ]
    print()
    for other, theirs in asked:
        if not theirs.steady:
            print(f"- {other.name}: not the same documents in every run\n")
    return figures


def repeat(outcomes: Sequence[Outcome]) -> Outcome:
    first = outcomes[0]
    steady = all(np.array_equal(first.duplicates, other.duplicates) for other in outcomes)
    middle = {name: median(getattr(one, name) for one in outcomes) for name in ("known", "wall", "cpu")}
    return Outcome(
        first.version, **middle, memory=max(one.memory for one in outcomes), duplicates=first.duplicates, steady=steady
    )


def show(name: str, data: str, workload: Workload, truth: Truth, one: Outcome, faster: float | None) -> None:
    row(
        name, data, f"{one.known:.1f}", f"{one.wall:.1f}", f"{workload.bytes / MB / one.known:.2f}", f"{one.cpu:.1f}",
        f"{one.memory / GIB:.2f}", f"{faster:.1f} times" if faster else "",
        *(f"{truth.recall(one.duplicates, *edges):.4f}" for edges in ((2, 3), (0.9, 1.1), (0.8, 0.9))),
        *(f"{truth.by_words[words].recall(one.duplicates, 0.8, 3):.4f}" for words in (FOLDED, SPLIT)),
        f"{len(one.duplicates):,}",
        *(f"{truth.precision(one.duplicates, words):.4f}" for words in (FOLDED, SPLIT)),
    )  # fmt: skip


def timed(command: list[str], log: Path) -> tuple[float, float, Watch]:
    """When it started, its seconds, and what it used. Raises SystemExit if it fails."""
    begun, start = time.time(), time.perf_counter()
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
        with watching(process.pid, own=True) as watch:
            status = process.wait()
        wall = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}:\n{log.read_text('utf-8')[-3000:]}")
    return begun, wall, watch


def ask(peer: Path, other: Peer, workload: Workload, scratch: Path) -> Outcome:
    kept, answer = scratch / "kept", scratch / "answer.json"
    shutil.rmtree(kept, ignore_errors=True)
    kept.unlink(missing_ok=True)
    script = Path(__file__).with_name(other.script)
    files = [str(file) for file in workload.files]
    command = [str(peer), str(script), other.how, str(kept), str(answer), *files]
    begun, wall, watch = timed(command, scratch / "log")
    said: dict[str, Any] = json.loads(answer.read_bytes())
    duplicates = np.array(said["duplicates"], np.int64).reshape(-1, 2)
    return Outcome(said["version"], said["ended"] - begun, wall, watch.cpu, watch.pss, duplicates)


def ourselves(workload: Workload, scratch: Path, workers: int | None = None) -> Outcome:
    folder, recipe = scratch / "run", scratch / "recipe.yaml"
    shutil.rmtree(folder, ignore_errors=True)
    pattern = json.dumps(str(workload.folder / "docs-*.jsonl"))
    recipe.write_text(
        f"name: dedup\nread:\n  - jsonl: {{paths: {pattern}, source: web}}\nsteps:\n  - dedup/minhash\n", "utf-8"
    )
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    begun, wall, watch = timed([*command, "--workers", str(workers or os.cpu_count() or 1)], scratch / "log")
    commits = list(folder.glob("stages/minhash-verdicts-*/commits/*.json"))
    known = max(commit.stat().st_mtime for commit in commits) - begun
    duplicates = our_duplicates(folder)
    shutil.rmtree(folder)
    return Outcome("", known, wall, watch.cpu, watch.pss, duplicates)


def our_duplicates(folder: Path, stage: str = "minhash-verdicts") -> Pairs:
    """By their number among the documents that came to the step: all of the input here, in its order, so the numbers
    are those of the peers."""
    results = RunFolder(str(folder)).results()
    docs, verdicts = results["pass-1"]["docs"], results[stage]
    tables = [pq.read_table(folder / path, columns=["id"]) for path in docs.paths.to_pylist()]
    number = {name: i for i, name in enumerate(pa.concat_tables(tables)["id"].to_pylist())}
    columns = ["document", "reason", "duplicate_of"]
    paths, slices = (verdicts[name].paths.to_pylist() for name in ("verdicts", "slices"))
    found = pa.concat_tables([pq.read_table(folder / path, columns=columns) for path in paths])
    rows = np.concatenate([np.diff(map_arrays(folder / path)["offsets"]) for path in slices])
    documents = found["document"].to_numpy() + np.repeat(docs.starts[:-1], rows)
    dropped = [
        (document, number[row["duplicate_of"]])
        for document, row in zip(documents.tolist(), found.to_pylist())
        if row["reason"] is not None
    ]
    return np.array(dropped, np.int64).reshape(-1, 2)
