"""What is milled: the same pages, with one stage more from arm to arm."""

import json
import shutil
from pathlib import Path
from typing import Any

import corpusmill
from benchmarks.ablation import corpus
from corpusmill import Run
from corpusmill.shards import open_shards
from corpusmill.train.tokenizer import TokenizerSettings, train

EXTRACT = "extract/blocks"

# The rules and bounds of the recipe web-en.
RULES: list[Any] = [
    {"filter/language": {"languages": ["en"], "min_score": 0.65}},
    "filter/gopher_quality",
    "filter/gopher_repetition",
    {"filter/c4": {"terminal_punctuation": False}},
    "filter/fineweb",
]
DEDUP: list[Any] = ["dedup/exact", "dedup/minhash"]
QUALITY: list[Any] = ["annotate/quality", {"filter/keep_where": {"condition": "quality.score >= 0.25"}}]
ARMS: dict[str, list[Any]] = {
    "raw": [],
    "rules": RULES,
    "rules and dedup": [*RULES, *DEDUP],
    "rules, dedup and quality": [*RULES, *QUALITY, *DEDUP],
}
VOCABULARY = 8192
LENGTH = 512  # tokens in a row


def prepare(data: Path, out: Path) -> None:
    """Write OUT/NUMBER/shards for each arm, OUT/held-out/SET/shards, and OUT/arms.json, which says what they are."""
    shutil.rmtree(out, ignore_errors=True)
    scratch = out / "scratch"
    others = [EXTRACT, {"filter/function": f"{corpus.__name__}:of_other_domains"}]
    pages = carry_out({"read": corpus.read(data), "steps": others, "write": "jsonl"}, scratch / "pages")
    tokenizer = out / "tokenizer.json"
    train((batch["text"] for batch in pages.batches()), TokenizerSettings(vocab_size=VOCABULARY), tokenizer)
    milled = [{"jsonl": {"paths": str(pages.output / "jsonl" / "*.jsonl*"), "source": "pages"}}]
    described: dict[str, Any] = {"arms": {}, "held_out": {}}
    for number, (name, steps) in enumerate(ARMS.items()):
        described["arms"][name] = _mill(milled, steps, tokenizer, scratch / str(number), out / str(number))
    for name, texts in corpus.held_out(data, (document.text for document in pages.documents())).items():
        source = scratch / f"{name}.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        folder = out / f"held-out-{name}"
        totals = _mill([{"jsonl": str(source)}], [], tokenizer, scratch / f"{name}-run", folder)
        described["held_out"][name] = {**totals, "bytes": sum(len(text.encode()) for text in texts)}
    (out / "arms.json").write_text(json.dumps(described, indent=1) + "\n")
    shutil.rmtree(scratch)


def _mill(read: list[Any], steps: list[Any], tokenizer: Path, run: Path, folder: Path) -> dict[str, Any]:
    tokens = [{"tokenize/bpe": {"tokenizer": str(tokenizer)}}, {"pack/concat": {"length": LENGTH}}]
    done = carry_out({"read": read, "steps": [*steps, *tokens], "write": "shards"}, run)
    assert done.shards is not None
    shutil.move(done.shards, folder)
    index = open_shards(folder).index
    return {"folder": folder.name, "documents": index.documents, "tokens": index.tokens}


def carry_out(recipe: dict[str, Any], folder: Path) -> Run:
    folder.mkdir(parents=True)
    path = folder.with_suffix(".yaml")
    path.write_text(json.dumps({"name": "ablation", **recipe}), "utf-8")  # JSON is YAML
    return corpusmill.run(path, folder=folder, progress=False)
