"""The rules of Gopher, FineWeb and C4 beside datatrove's, on the same documents in the same run, one core each."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import samples
from benchmarks.common import Figure, Workload, row, table
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.filter.fineweb import Fineweb
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.gopher_repetition import GopherRepetition

BARS = {"prose": 170.0, "crawled": 200.0}  # times as fast, where words are split as datatrove comes
SAME = 99.9  # % of the documents, where both judge by the same words and by no sentences, which they count differently
BY_WORDS = {"gopher_quality": GopherQuality(), "gopher_repetition": GopherRepetition(), "fineweb": Fineweb()}
AS_THEY_COME = BY_WORDS | {"c4": C4()}
NO_SENTENCES = BY_WORDS | {"c4": C4(min_sentences=None)}

# datatrove's answers: how they came about, our steps to compare, times as fast by sample, % the same.
COMPARED: dict[str, tuple[str, dict[str, Any], dict[str, float], float | None]] = {
    "own": ("as it comes, words split by spaCy", AS_THEY_COME, BARS, None),
    "white space": ("words split at white space, as ours", AS_THEY_COME, {}, None),
    "no sentences": ("… and C4 without its least number of sentences, in both", NO_SENTENCES, {}, SAME),
}


def run(
    workload: Workload, runs: int, scratch: Path, peer: Path | None = None, data: Path | None = None
) -> list[Figure]:
    """Gopher quality, Gopher repetition, FineWeb, C4: thresholds as they come, from texts in memory to decisions.

    Ours keeps every value of every document, datatrove's stops at the first rule that drops one.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    measured = [samples.prose(workload), *([samples.crawled(data)] if data else [])]
    print(f"## rules beside datatrove's: CPU time of one thread, of ours the median of {runs}\n")
    for sample in measured:
        print(f"- {sample}")
    if peer is None:
        print("- **datatrove is left out**: `--peer PYTHON` names an environment that has it, as `make bench` does")
    print()
    table("", "MB/s per core", "ours is faster", "kept", "both decide the same")
    figures = []
    seconds: dict[str, list[float]] = {key: [0.0, 0.0] for key in COMPARED}  # of all samples: theirs, ours
    for sample in measured:
        ours = sample.speed(lambda docs: judged(docs, AS_THEY_COME), runs)
        row(f"{sample.name}: corpusmill", f"{ours:,.1f}", "", f"{sum(decisions(sample, AS_THEY_COME)):,}", "")
        figures.append(Figure(f"rules with decisions, {sample.name}", ours, "MB/s"))
        answers = ask_datatrove(peer, sample.texts, scratch) if peer else {}
        for key, (about, steps, times, share) in COMPARED.items() if peer else ():
            speed = sample.size / answers[key]["seconds"]
            seconds[key][0] += sample.size / speed
            seconds[key][1] += sample.size / ours
            kept = set(answers[key]["kept"])
            decided = decisions(sample, steps)
            same = 100 * sum(one == (number in kept) for number, one in enumerate(decided)) / len(decided)
            name = f"{sample.name}: datatrove {answers['version']}, {about}"
            row(name, f"{speed:,.2f}", f"{ours / speed:,.0f} times", f"{len(kept):,}", f"{same:.2f} %")
            figures.append(Figure(f"rules: faster than {name}", ours / speed, "times", times.get(sample.name)))
            figures.append(Figure(f"rules: the same as {name}", same, "%", share))
    for key, (about, *_) in COMPARED.items() if peer else ():
        theirs, own = seconds[key]
        row(f"all documents: datatrove, {about}", "", f"{theirs / own:,.0f} times", "", "")
        figures.append(Figure(f"rules: faster than datatrove, {about}, all documents", theirs / own, "times"))
    print()
    return figures


def decisions(sample: samples.Sample, steps: dict[str, Any]) -> list[bool]:
    """Which documents are kept."""
    return [kept for batch in sample.batches for kept in judged(batch, steps)]


def judged(docs: pa.RecordBatch, steps: dict[str, Any]) -> list[bool]:
    batch = Batch(docs)
    for index, (label, step) in enumerate(steps.items()):
        batch.apply(index, label, step)
    batch.finish()
    assert not batch.failed
    kept: list[bool] = (batch.dropped == KEPT).tolist()
    return kept


def ask_datatrove(peer: Path, texts: list[str], scratch: Path) -> dict[str, Any]:
    asked, answered = scratch / "texts.json.gz", scratch / "answers.json"
    asked.write_bytes(gzip.compress(json.dumps(texts).encode(), 1))
    script = Path(__file__).with_name("rules_datatrove.py")
    subprocess.run([peer, script, asked, answered], check=True)
    answers: dict[str, Any] = json.loads(answered.read_text("utf-8"))
    return answers
