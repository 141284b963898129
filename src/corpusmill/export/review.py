"""Documents of a run for people to judge, as Argilla and Label Studio import them.

    argilla        .argilla/settings.json, .argilla/dataset.json, records.json: `rg.Dataset.from_disk(folder)`
    label_studio   tasks.json, to import; labels.xml, the labelling interface of the project

A fixed random sample: kept documents, and of each reason documents that were dropped for it, in an order that does not
tell them apart. Each comes with what the run decided, as a suggestion, and why.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusmill.errors import InputError
from corpusmill.report import samples
from corpusmill.report.rules import because
from corpusmill.report.tables import RunTables

SAMPLE_SIZE = 20  # documents, kept and for each reason
AGENT = "corpusmill"
QUESTION, FIELD, WHY, COMMENT = "verdict", "text", "because", "comment"
# What Argilla filters by, and how it is typed.
METADATA = dict.fromkeys(("reason", "source", "url", "date"), "terms") | dict.fromkeys(("bytes", "tokens"), "integer")
VERDICTS = {"keep": "Keep", "drop": "Drop"}
REVIEW_QUESTION = "Should this text be in the training data?"


def reviewed(tables: RunTables, sample: int) -> list[dict[str, Any]]:
    """Up to `sample` kept documents, and up to `sample` for each reason, in the order of their ids, which are hashes:
    `id`, `text`, and what is known of them, without what is not. A document whose text is not stored is left out.

    Raises InputError if there are none.
    """
    drawn: dict[str, dict[str, Any]] = {}
    for entry in samples.kept_documents(tables, sample):
        drawn[entry["id"]] = _described(entry, tables, None)
    for reason, entries in samples.examples(tables, sample).items():
        for entry in entries:
            drawn.setdefault(entry["id"], _described(entry, tables, reason))
    texts = [drawn[id] for id in sorted(drawn) if drawn[id]["text"] is not None]
    if not texts:
        raise InputError(f"{tables.folder}: the run has no documents to review.")
    return texts


def _described(entry: Mapping[str, Any], tables: RunTables, reason: str | None) -> dict[str, Any]:
    about = {
        "verdict": "keep" if reason is None else "drop",
        "reason": reason,
        "because": because(reason, entry["signals"], tables.bounds) if reason else None,
        **{name: entry[name] for name in ("source", "url", "date", "bytes", "tokens")},
    }
    facts = {name: value for name, value in about.items() if value is not None}
    return {"id": entry["id"], "text": entry["text"], **facts}


def argilla(documents: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """file -> its JSON. The reason is metadata to filter by, and, with the values that were measured, a field."""
    records = [
        {
            "id": document["id"],
            "fields": {FIELD: document["text"], WHY: document.get("because", "")},
            "metadata": {key: document[key] for key in METADATA if key in document},
            "suggestions": {QUESTION: {"value": document["verdict"], "score": None, "agent": AGENT}},
            "responses": {},
            "vectors": {},
        }
        for document in documents
    ]
    plain = {"type": "text", "use_markdown": False}
    options = [{"value": value, "text": text} for value, text in VERDICTS.items()]
    questions = [
        _setting(QUESTION, "Keep it?", True, {"type": "label_selection", "options": options})
        | {"description": REVIEW_QUESTION},
        _setting(COMMENT, "Comment", False, plain),
    ]
    settings = {
        "guidelines": f"{REVIEW_QUESTION} The suggestion is what the run `{name}` decided.",
        "fields": [_setting(FIELD, "Text", True, plain), _setting(WHY, "Why it was dropped", False, plain)],
        "questions": questions,
        "metadata": [{"name": key, "title": key, "settings": {"type": kind}} for key, kind in METADATA.items()],
        "vectors": [],
        "allow_extra_metadata": True,
    }
    dataset = {"name": name, "allow_extra_metadata": True}
    return {"records.json": records, ".argilla/settings.json": settings, ".argilla/dataset.json": dataset}


def _setting(name: str, title: str, required: bool, settings: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "title": title, "required": required, "settings": settings, "type": settings["type"]}


def label_studio(documents: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """file -> its JSON, or its text. What is known of a document is in its task's `data`, beside the text."""
    tasks = [
        {
            "data": {key: value for key, value in document.items() if key != "verdict"},
            "predictions": [
                {
                    "model_version": f"{AGENT} {name}",
                    "result": [
                        {
                            "from_name": QUESTION,
                            "to_name": FIELD,
                            "type": "choices",
                            "value": {"choices": [document["verdict"]]},
                        }
                    ],
                }
            ],
        }
        for document in documents
    ]
    choices = "\n".join(f'    <Choice value="{value}" hotkey="{value[0]}"/>' for value in VERDICTS)
    interface = (
        f'<View>\n  <Header value="{REVIEW_QUESTION}"/>\n  <Text name="{FIELD}" value="${FIELD}"/>\n'
        f'  <Choices name="{QUESTION}" toName="{FIELD}" choice="single-radio" required="true">\n{choices}\n'
        f'  </Choices>\n  <TextArea name="{COMMENT}" toName="{FIELD}" placeholder="Comment" rows="2"/>\n</View>\n'
    )
    return {"tasks.json": tasks, "labels.xml": interface}


REVIEW_WRITERS: dict[str, Callable[[Sequence[Mapping[str, Any]], str], dict[str, Any]]] = {
    "argilla": argilla,
    "label_studio": label_studio,
}


def write_review(run: Path, format: str, folder: Path, sample: int) -> int:
    """Write a sample of a finished run for review into a folder; returns how many documents."""
    tables = RunTables(run)
    tables.files.must_be_finished()
    documents = reviewed(tables, sample)
    for name, content in REVIEW_WRITERS[format](documents, tables.files.name).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1)
        path.write_text(text, "utf-8", errors="backslashreplace", newline="\n")
    return len(documents)
