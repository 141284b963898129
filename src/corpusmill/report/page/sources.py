"""Each source: what was read of it, from which files, and what was kept."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from corpusmill.report.figures.sources import sources
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall

CANARIES, CANARY = 50, 200  # that are listed, and characters of each
FILES = 100  # per source that are listed


def section(tables: RunTables) -> list[Inside]:
    figure = sources(tables)
    tokens = figure.unit == "tokens"
    rows = [
        [
            one.source,
            number(one.files),
            size(one.bytes),
            number(one.records),
            number(one.documents),
            bytes_of(one.text_bytes),
            number(one.kept),
            share(one.kept, one.documents),
            bytes_of(one.kept_bytes),
            *([number(one.amount)] if tokens else []),
            share(one.amount, figure.total),
        ]
        for one in figure.sources
    ]
    head = ["source", "files", "files, as stored", "records", "documents", "text", "kept", "share", "text kept"]
    head += [*(["tokens kept"] if tokens else []), f"share of {'tokens' if tokens else 'text'}"]
    flow = tables.files.waterfall()
    return [
        table(head, rows),
        *planted(tables.files.folder.canaries()),
        *(inputs(name, files) for name, files in tables.files.inputs.items()),
        by_step(flow) if len(flow.read) > 1 and flow.rows else None,
    ]


def planted(record: Mapping[str, Any] | None) -> list[Inside]:
    """The strings that the run has planted, as its manifest has them; the first of many."""
    if record is None:
        return []
    told = record["canaries"]
    rows = [
        [one["name"], number(len(one["documents"])), one["source"] or "all", one["text"][:CANARY]]
        for one in told[:CANARIES]
    ]
    documents = sum(len(one["documents"]) for one in told)
    more = (
        f" The first {number(CANARIES)} of {number(len(told))}; canaries.json lists all."
        if len(told) > CANARIES
        else ""
    )
    said = f"Planted, as the source canary: {number(documents)} documents, which no step has judged.{more}"
    return [tag("p", said), table(["canary", "documents", "behind documents of", "text"], rows)]


def bytes_of(value: int | None) -> str:
    return "–" if value is None else size(value)


def inputs(source: str, files: Sequence[Mapping[str, Any]]) -> HtmlText:
    """The files of a source by name and size, largest part of their path left out; the first of a long list."""
    names = [file["path"].replace("\\", "/") for file in files]
    folder = posixpath.dirname(posixpath.commonprefix(names)) if len(names) > 1 else posixpath.dirname(names[0])
    rows = [[name[len(folder) :].lstrip("/"), size(file["bytes"])] for name, file in zip(names[:FILES], files)]
    count = "1 file" if len(files) == 1 else f"{number(len(files))} files"
    more = f"The first {number(FILES)} of {count}; run.json lists all." if len(files) > FILES else None
    return tag(
        "details",
        tag("summary", f"{source}: {count}, {size(sum(file['bytes'] for file in files))} as stored"),
        table(["file", "as stored"], rows),
        tag("p", more, class_="note") if more else None,
    )


def by_step(flow: Waterfall) -> HtmlText:
    """The share of documents that each step kept, per source."""
    rows = []
    for row in flow.rows:
        sources = [row.sources.get(name, {}) for name in flow.read]
        rows.append([row.step, *map(kept, sources)])
    return tag(
        "details", tag("summary", "share of documents kept by each step, per source"), table(["step", *flow.read], rows)
    )


def kept(flow: Mapping[str, int]) -> str:
    """The share of a source's documents that a step kept."""
    if "passed_through" in flow:
        return "not applied"
    return share(flow.get("documents_out", 0), flow.get("documents_in", 0))
