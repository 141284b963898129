"""What `corpusmill ablate` says of the corpus that the GPT is trained on, judged by the same held-out text."""

import shutil
from pathlib import Path

import pyarrow as pa

from benchmarks.ablation import corpus
from benchmarks.ablation.arms import DEDUP, EXTRACT, QUALITY, RULES, carry_out
from corpusmill.cli.ablate import in_words, show
from corpusmill.report.tables import RunTables
from corpusmill.train.ablate.ablation import ablate


def worth(data: Path, out: Path) -> None:
    """Mill the corpus as the last arm does, and print the worth of each stage on each set."""
    shutil.rmtree(out, ignore_errors=True)
    others = [EXTRACT, {"filter/function": f"{corpus.__name__}:of_other_domains"}]
    pages = carry_out({"read": corpus.read(data), "steps": others, "write": "jsonl"}, out / "pages")
    milled = {
        "read": {"jsonl": {"paths": str(pages.output / "jsonl" / "*.jsonl*"), "source": "pages"}},
        "steps": [*RULES, *QUALITY, *DEDUP],
        "run": {"dropped_text": "all"},
    }
    run = carry_out(milled, out / "milled")
    held_out = corpus.held_out(data, (document.text for document in pages.documents()))
    own = {name: pa.array(texts, pa.large_string()) for name, texts in held_out.items()}
    answer = ablate(RunTables(run.folder), own=own)
    show(answer)
    for effect in answer.effects:
        sets = "; ".join(f"{name} {change.bits:+.3f}, {in_words(change)}" for name, change in effect.targets.items())
        print(f"{effect.name}: {sets}")
