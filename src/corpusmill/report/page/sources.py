"""Each source: what was read of it, from which files, and what was kept."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from corpusmill.report.figures.sources import sources
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall
from corpusmill.store.run_folder import CANARIES_RECORD

MAX_CANARIES_SHOWN, MAX_CANARY_CHARS = 50, 200  # that are listed, and characters of each
MAX_FILES_SHOWN = 100  # per source that are listed


def section(tables: RunTables) -> list[Inside]:
    figure = sources(tables)
    tokens = figure.unit == "tokens"
    rows = [
        [
            source.source,
            number(source.files),
            size(source.bytes),
            number(source.records),
            number(source.documents),
            bytes_of(source.text_bytes),
            number(source.kept),
            share(source.kept, source.documents),
            bytes_of(source.kept_bytes),
            *([number(source.amount)] if tokens else []),
            share(source.amount, figure.total),
        ]
        for source in figure.sources
    ]
    head = ["source", "files", "files, as stored", "records", "documents", "text", "kept", "share", "text kept"]
    head += [*(["tokens kept"] if tokens else []), f"share of {'tokens' if tokens else 'text'}"]
    flow = tables.files.waterfall()
    return [
        table(head, rows),
        *planted(tables.files.folder.read(CANARIES_RECORD)),
        *(inputs(name, files) for name, files in tables.files.inputs.items()),
        by_step(flow) if len(flow.read) > 1 and flow.rows else None,
    ]


def planted(record: Mapping[str, Any] | None) -> list[Inside]:
    """The strings that the run has planted, as its manifest has them; the first of many."""
    if record is None:
        return []
    canaries = record["canaries"]
    rows = [
        [canary["name"], number(len(canary["documents"])), canary["source"] or "all", canary["text"][:MAX_CANARY_CHARS]]
        for canary in canaries[:MAX_CANARIES_SHOWN]
    ]
    documents = sum(len(canary["documents"]) for canary in canaries)
    remainder = ""
    if len(canaries) > MAX_CANARIES_SHOWN:
        remainder = f" The first {number(MAX_CANARIES_SHOWN)} of {number(len(canaries))}; canaries.json lists all."
    caption = f"Planted as source canary: {plural(documents, 'document')} that no step has judged.{remainder}"
    return [tag("p", caption), table(["canary", "documents", "after documents of", "text"], rows)]


def bytes_of(value: int | None) -> str:
    return "–" if value is None else size(value)


def inputs(source: str, files: Sequence[Mapping[str, Any]]) -> HtmlText:
    """The files of a source by name and size, largest part of their path left out; the first of a long list."""
    names = [file["path"].replace("\\", "/") for file in files]
    folder = posixpath.dirname(posixpath.commonprefix(names)) if len(names) > 1 else posixpath.dirname(names[0])
    shown = zip(names[:MAX_FILES_SHOWN], files)
    rows = [[name[len(folder) :].lstrip("/"), size(file["bytes"])] for name, file in shown]
    count = plural(len(files), "file")
    limit = number(MAX_FILES_SHOWN)
    note = f"The first {limit} of {count}; run.json lists all." if len(files) > MAX_FILES_SHOWN else None
    return tag(
        "details",
        tag("summary", f"{source}: {count}, {size(sum(file['bytes'] for file in files))} as stored"),
        table(["file", "as stored"], rows),
        tag("p", note, class_="note") if note else None,
    )


def by_step(flow: Waterfall) -> HtmlText:
    """The share of documents that each step kept, per source."""
    rows = []
    for row in flow.rows:
        sources = [row.sources.get(name, {}) for name in flow.read]
        rows.append([row.step, *map(kept_share, sources)])
    return tag(
        "details", tag("summary", "share of documents kept by each step, per source"), table(["step", *flow.read], rows)
    )


def kept_share(flow: Mapping[str, int]) -> str:
    """The share of a source's documents that a step kept."""
    if "passed_through" in flow:
        return "not applied"
    return share(flow.get("documents_out", 0), flow.get("documents_in", 0))
