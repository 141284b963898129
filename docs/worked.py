"""The worked results in the reference: every step of docs/step_examples.yaml, run on the documents given there."""

import contextlib
import json
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

import corpusmill
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe, labels
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps import CorpusStep
from corpusmill.tokens import packing
from corpusmill.tokens.packing import RowLayout

SHOWN = 42  # characters of a text in a table
Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a document: its text after the step, the reasons that drop it, and the signals that are shown."""

    before: str
    after: str | None
    reasons: str | None
    signals: dict[str, Any]


@cache
def examples() -> dict[str, Row]:
    """Step name -> its example, as written."""
    read: dict[str, Row] = yaml.safe_load((Path(__file__).parent / "step_examples.yaml").read_text("utf-8"))
    return read


def steps_yaml(name: str) -> str:
    """The part of a recipe that the example is about."""
    example = examples().get(name, {})
    parameters = example.get("parameters")
    line = name
    if parameters:
        given = yaml.safe_dump(parameters, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
        line = f"{name}: {given.strip()}"
    return "\n".join(["steps:", *(f"  - {step}" for step in [*example.get("before", ()), line])])


def recipe_of(name: str) -> Recipe:
    return Recipe.parse(f"name: example\nread: {{jsonl: docs.jsonl}}\n{steps_yaml(name)}\n")


def table(name: str) -> str:
    """The documents of the example and what the step does with them, as a table in Markdown; "" without any."""
    example = examples().get(name)
    if not example or not {"documents", "lengths"} & example.keys():
        return ""
    if "lengths" in example:
        return packed(recipe_of(name).steps[-1], example["lengths"])
    if name.startswith("tokenize/"):
        return tokenized(recipe_of(name).steps[-1], example["documents"])
    wanted = example.get("signals", [])
    with folder_with(example.get("file", {})):
        recipe = recipe_of(name)
        rows = [full_row(document, number) for number, document in enumerate(example["documents"])]
        run = of_corpus if any(isinstance(step, CorpusStep) for step in recipe.steps) else of_batch
        outcomes = run(recipe, rows, wanted)
    head = ["document", *(f"`{signal}`" for signal in wanted), "result"]
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    for outcome in outcomes:
        cells = [code(outcome.before), *(value(outcome.signals[signal]) for signal in wanted), result(outcome)]
        lines.append(" | ".join(cells))
    return "\n".join(lines)


def tokenized(step: Any, texts: list[str]) -> str:
    ids, lengths = step.encode(pa.array(texts, pa.large_string()))
    rows = ["document | tokens | ids", "---|---|---"]
    for text, some in zip(texts, np.split(ids, np.cumsum(lengths)[:-1])):
        rows.append(f"{code(text)} | {len(some)} | `{' '.join(map(str, some))}`")
    return "\n".join(rows)


def packed(step: Any, lengths: list[int]) -> str:
    """Rows of a letter for each token of a document, and dots for padding."""
    layout = pack(step, np.array(lengths, np.int64))
    cells = np.full(layout.size, "·")
    for start, document, length in zip(layout.start, layout.document, layout.length):
        cells[start : start + length] = chr(ord("a") + document)
    rows = ["row | tokens", "---|---"]
    for number, row in enumerate(cells.reshape(-1, step.length)):
        rows.append(f"{number} | `{''.join(row)}`")
    return "\n".join(rows)


def pack(step: Any, lengths: Any) -> RowLayout:
    if step.method == "concat":
        return packing.concat(lengths, step.length, step.remainder)
    if step.method == "buckets":
        return packing.buckets(lengths, step.length, step.shortest)
    rows = packing.best_fit_rows if step.method == "best_fit" else packing.one_per_row
    return rows(lengths, step.length)


@contextlib.contextmanager
def folder_with(files: dict[str, str]) -> Any:
    """A temporary folder with these files, from which modules can be imported; the process works there meanwhile."""
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        for file, content in files.items():
            Path(file).write_text(content, "utf-8")
        sys.path.insert(0, place)
        try:
            yield
        finally:
            sys.path.remove(place)
            for file in files:
                sys.modules.pop(file.removesuffix(".py"), None)


def full_row(document: str | Row, number: int) -> Row:
    given = {"text": document} if isinstance(document, str) else document
    raw = given.get("raw")
    made: Row = dict.fromkeys(DOCUMENT.names)
    made |= {"id": document_id("docs", f"docs.jsonl:{number}"), "source": "docs", "file": "docs.jsonl"}
    return made | {"position": number} | given | ({"raw": raw.encode()} if raw else {})


def of_batch(recipe: Recipe, rows: list[Row], wanted: list[str]) -> list[Outcome]:
    """What steps do that see a batch."""
    batch = Batch(pa.RecordBatch.from_pylist(rows, schema=DOCUMENT))
    for index, (label, step) in enumerate(zip(labels(recipe.steps), recipe.steps)):
        batch.apply(index, label, step)
    label = labels(recipe.steps)[-1]
    reasons: list[str | None] = [None] * len(rows)
    for _, judged in batch.reasons:
        reasons = [old or new for old, new in zip(reasons, judged.to_pylist())]
    texts = batch.docs["text"].to_pylist()
    columns = {signal: batch.signals[f"{label}.{signal}"].to_pylist() for signal in wanted}
    return [
        Outcome(
            shown_input(row),
            None if batch.dropped[number] != KEPT else texts[number] or "",
            reasons[number],
            {signal: column[number] for signal, column in columns.items()},
        )
        for number, row in enumerate(rows)
    ]


def of_corpus(recipe: Recipe, rows: list[Row], wanted: list[str]) -> list[Outcome]:
    """What steps do that see the whole corpus, in a run of their own."""
    with Path("docs.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({k: row[k] for k in ("text", "url") if row[k]}) + "\n" for row in rows)
    corpusmill.run(recipe, executor=Serial(), progress=False)
    tables = RunTables(Path("runs/example"))
    label = labels(recipe.steps)[-1]
    names = ", ".join(f'"{label}.{signal}"' for signal in wanted)
    query = f"select position, dropped_by, reasons{', ' + names if names else ''} from documents order by position"
    kept = dict(sql(tables, "select position, text from texts").rows)
    return [
        Outcome(
            shown_input(row),
            None if dropped else kept[position],
            reasons if dropped else None,
            dict(zip(wanted, signals)),
        )
        for row, (position, dropped, reasons, *signals) in zip(rows, sql(tables, query).rows)
    ]


def shown_input(row: Row) -> str:
    """What a reader recognises the document by: its address where one is given, else its text."""
    return str(row["url"] or row["text"] or row["raw"].decode())


def result(outcome: Outcome) -> str:
    if outcome.after is None:
        reasons = ", ".join(f"`{reason.rpartition('.')[2]}`" for reason in (outcome.reasons or "").split(",") if reason)
        return f"dropped: {reasons}"
    if outcome.after in ("", outcome.before) or outcome.before.startswith("https://"):
        return "kept"
    return code(outcome.after)


def code(text: str) -> str:
    """A text in a cell: on one line, shortened in the middle, because near-duplicates often differ at the end."""
    line = text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", " ↵ ").replace("\u200b", "\\u200b")
    line = line if len(line) <= SHOWN else f"{line[: SHOWN * 2 // 3].rstrip()} … {line[-SHOWN // 3 :].lstrip()}"
    return f"`{line}`".replace("|", "\\|")


def value(shown: Any) -> str:
    if shown is None:
        return "null"
    if isinstance(shown, float):
        return f"{shown:,.0f}" if abs(shown) >= 1000 else f"{shown:.3g}"
    return str(shown)
