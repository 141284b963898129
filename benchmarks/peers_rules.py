"""The rules of Gopher, FineWeb and C4 beside datatrove's, on the same documents in the same run, one core each."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import samples
from benchmarks._common import Figure, Workload, row, table
from corpusmill import measures
from corpusmill.recipe.batch import KEPT, Batch
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.filter.fineweb import Fineweb
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.gopher_repetition import GopherRepetition

BAR = 200.0  # times as fast
STEPS = {
    "gopher_quality": GopherQuality(),
    "gopher_repetition": GopherRepetition(),
    "fineweb": Fineweb(),
    "c4": C4(),
}


def run(
    workload: Workload, runs: int, scratch: Path, peer: Path | None = None, data: Path | None = None
) -> list[Figure]:
    """Gopher quality, Gopher repetition, FineWeb, C4: thresholds as they come, from texts in memory to decisions.

    Ours keeps every value of every document, datatrove's stops at the first rule that drops one.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    found = [samples.prose(workload), *([samples.crawled(data)] if data else [])]
    print(f"## rules beside datatrove's: CPU time of one thread, of ours the median of {runs}\n")
    for sample in found:
        print(f"- {sample}")
    if peer is None:
        print("- **datatrove is left out**: `--peer PYTHON` names an environment that has it, as `make bench` does")
    print()
    table("", "MB/s a core", "ours is faster", "kept", "both decide the same")
    figures = []
    for sample in found:
        ours = sample.speed(judged, runs)
        keeps = [stays for batch in sample.batches for stays in judged(batch)]
        row(f"{sample.name}: corpusmill", f"{ours:,.1f}", "", f"{sum(keeps):,}", "")
        figures.append(Figure(f"rules with decisions, {sample.name}", ours, "MB/s"))
        if peer is None:
            continue
        answers = ask_datatrove(peer, sample.texts, scratch)
        for words, about, bar in (
            ("spacy", "its own words, by spaCy", BAR),
            ("white space", "words split at white space, as ours", None),
        ):
            speed = sample.size / answers[words]["seconds"]
            kept = set(answers[words]["kept"])
            same = sum(stays == (number in kept) for number, stays in enumerate(keeps)) / len(keeps)
            name = f"{sample.name}: datatrove {answers['version']}, {about}"
            row(name, f"{speed:,.2f}", f"{ours / speed:,.0f} times", f"{len(kept):,}", f"{same:.2%}")
            figures.append(Figure(f"rules: faster than {name}", ours / speed, "times", bar))
    print()
    return figures


def judged(docs: pa.RecordBatch) -> list[bool]:
    """Which documents stay."""
    measures._last = None  # what an earlier call has left of the same texts
    batch = Batch(docs)
    for index, (label, step) in enumerate(STEPS.items()):
        batch.apply(index, label, step)
    batch.finish()
    assert not batch.failed
    stays: list[bool] = (batch.dropped == KEPT).tolist()
    return stays


def ask_datatrove(peer: Path, texts: list[str], scratch: Path) -> dict[str, Any]:
    asked, answered = scratch / "texts.json.gz", scratch / "answers.json"
    asked.write_bytes(gzip.compress(json.dumps(texts).encode(), 1))
    script = Path(__file__).with_name("peers_rules_datatrove.py")
    subprocess.run([peer, script, asked, answered], check=True)
    found: dict[str, Any] = json.loads(answered.read_text("utf-8"))
    return found
