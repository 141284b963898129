"""Finished runs of released versions, kept as they were: what is in one, how it is made, and what must be seen of it.

    data/kept/VERSION.tar.xz
        kept.yaml asked.yaml documents/ later/ benchmark.jsonl   recipes and their input
        run/     of kept.yaml, with an addition and a document that is forgotten
        index/   of its near-duplicates
        asked/   of asked.yaml: a run that has asked a language model
    data/kept/VERSION.json    what `observed` saw of them when they were made

`scripts/keep_run.py` makes both. What is here must go on to work on what all earlier versions have left.
"""

import hashlib
import json
import os
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.inference.answer_log import AnswerLog
from corpusmill.loader import TokenLoader
from corpusmill.loader.stages import StageLoader
from corpusmill.ops import collection, forget, tracing
from corpusmill.ops.find import TextIndex
from corpusmill.ops.unused import remove_unused
from corpusmill.ops.verify import verify
from corpusmill.report.explain import explain
from corpusmill.report.index import export
from corpusmill.report.run_files import RunFiles
from corpusmill.store.run_folder import RunFolder
from made_run import prose

KEPT = Path(__file__).parent / "data" / "kept"
RECIPE = """\
name: kept
seed: 3
read:
  - jsonl: {paths: documents, source: web}
  - jsonl: {paths: notes.jsonl, source: notes}
steps:
  - clean/normalize
  - filter/gopher_quality: {min_words: 20, min_stop_words: 1}
  - redact/pii
  - decontaminate/ngrams: {benchmarks: benchmark.jsonl}
  - dedup/exact
  - dedup/minhash
  - tokenize/bpe
  - pack/concat: {length: 64}
write: [jsonl, parquet, shards]
stages:
  - {name: first, tokens: 640, batch: 2}
  - {name: second, tokens: 640, batch: 2, mix: {notes: 1}}
canary: {made: 1, copies: 2, source: notes}
run: {folder: run, error_budget: 5}
"""
ASKED = """\
name: asked
read: {jsonl: notes.jsonl}
steps:
  - annotate/model:
      server: {url: "${SERVER}", model: made, patience: 1}
      prompt: "How much does this teach? {text}"
      fields: {score: {type: integer, min: 0, max: 5}}
write: []
run: {folder: asked}
"""
QUESTION = "How many horses can drink from the well before it is empty at noon on a hot day?"
PASSAGE = "yellow anchor"
LOADER: dict[str, Any] = {"seq_len": 64, "batch_size": 2, "seed": 7}


def write_input(folder: Path) -> None:
    """Recipes and documents: good ones, short ones, copies, near copies, a question of a benchmark, a bad line."""
    random = Random(11)
    good = [prose(random) for _ in range(18)]
    months = {
        "documents/a.jsonl": [*good[:8], prose(random, 5), good[2], good[0] + " Again.", f"{QUESTION} {good[3]}"],
        "documents/b.jsonl": [*good[8:12], f"Write to anna@made.org. {good[12]}", good[4]],
        "later/c.jsonl": [*good[13:16], good[5], prose(random, 4)],
        "notes.jsonl": good[16:18],
    }
    for name, texts in months.items():
        lines = [json.dumps({"text": text, "url": f"http://made.org/{name}/{i}"}) for i, text in enumerate(texts)]
        _write(folder / name, "\n".join([*lines, *["{bad json"] * (name == "documents/a.jsonl")]) + "\n")
    _write(folder / "benchmark.jsonl", json.dumps({"id": "farm-1", "question": QUESTION, "answer": "48"}) + "\n")
    _write(folder / "kept.yaml", RECIPE)
    _write(folder / "asked.yaml", ASKED)


def make(folder: Path, date: int) -> None:
    """Write all that is kept into an empty folder; `${SERVER}` is a model's server.

    date   of the input
    """
    write_input(folder)
    for path in folder.rglob("*"):
        os.utime(path, (date, date))
    with chdir(folder):
        later = folder / "documents" / "b.jsonl"
        aside = later.rename(folder / "b.jsonl")
        corpusmill.run("kept.yaml", executor=Serial(), progress=False)
        aside.rename(later)
        add("run", "documents/b.jsonl")
        remove_unused(RunFolder("run"))
        export("run", "index", "minhash")
        forget.forget("run", forget.find("run", urls=["http://made.org/documents/a.jsonl/7"]))
        corpusmill.run("asked.yaml", executor=Serial(), progress=False)


def add(run: str, path: str) -> corpusmill.Run:
    """As `corpusmill add RUN PATH`."""
    place = RunFolder(run)
    # Not by `of_run`, which refuses other code under an equal version number: this one is kept before its release.
    recipe = collection.as_collected(RunFiles(run).recipe, place)
    change = collection.added(recipe, place, [path], "web")
    collection.keep(place, change)
    return corpusmill.run(change.recipe, folder=run, executor=Serial(), progress=False)


def observed(folder: Path) -> dict[str, Any]:
    """What a later version must see, too."""
    with chdir(folder):
        done = corpusmill.open("run")
        about: dict[str, Any] = {
            "waterfall": [[row.step, row.documents_in, row.documents_out, row.reasons] for row in done.waterfall.rows],
            "kept": sorted(document.id for document in done.documents()),
            "dropped": sorted([document.id, document.dropped_by, *document.reasons] for document in done.dropped()),
            "sql": done.sql(
                'select dropped_by, count(*) as n, sum("gopher_quality.content_words")::bigint as words from documents group by 1 order by 1'
            ).to_pylist(),
            "explain": [
                history(f"http://made.org/documents/{name}") for name in ("a.jsonl/1", "a.jsonl/8", "a.jsonl/10")
            ],
            "verify": [
                [entry.folder.name, entry.format, entry.compared, *entry.problems] for entry in verify(RunFolder("run"))
            ],
            "training": digest(StageLoader("run", seed=5), 4),
        }
        loader = TokenLoader("run/output/shards", **LOADER)
        about["loader"], about["state"] = digest(loader, 3), loader.state_dict()
        about["resumed"] = digest(resumed(about["state"]), 1)
        about["trace"] = [[p.row, p.start, p.length, p.about["id"]] for p in tracing.of_step(loader, 2)]
        found = TextIndex("run").find(PASSAGE)
        about["find"] = [found.count, found.documents, [[o.id, o.offset] for o in found.occurrences]]
        about["forget"] = [forget.check(path) for path in sorted(Path("run/forget").iterdir())]
        answers = AnswerLog(Path("asked/answers"))
        about["answers"] = [len(answers), answers.spent("made")]
        about["scores"] = corpusmill.open("asked").sql('select id, "model.score" from documents order by 1').to_pylist()
    return json.loads(json.dumps(about))


def resumed(state: dict[str, Any]) -> TokenLoader:
    """The loader of the kept shards at a state."""
    loader = TokenLoader("run/output/shards", **LOADER)
    loader.load_state_dict(state)
    return loader


def digest(loader: Any, steps: int) -> list[str]:
    """SHA-256 of all arrays of each of the next batches."""
    digests = []
    for batch, _ in zip(loader, range(steps)):
        sha256 = hashlib.sha256()
        for name in sorted(batch):
            array = np.ascontiguousarray(batch[name])
            sha256.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
        digests.append(sha256.hexdigest())
    return digests


def history(name: str) -> dict[str, Any]:
    """What `explain` says of a document, as far as it is promised."""
    (told,) = explain("run", name)
    steps = [
        [s.step, s.verdict, *s.reasons, s.duplicate_of and [s.duplicate_of.id, s.duplicate_of.similarity]]
        for s in told.steps
    ]
    places = [[p.shard, p.start, p.stop] for p in told.shards]
    return {"id": told.id, "dropped_by": told.dropped_by, "steps": steps, "shards": places, "text": told.text}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")
