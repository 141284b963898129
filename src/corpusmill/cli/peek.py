"""corpusmill peek RUN"""

from collections.abc import Mapping
from pathlib import PurePath
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import FolderOrFiles, Json, print_json, refuse_unused
from corpusmill.cli.raw import run_of
from corpusmill.cli.terminal import paint, print_lines
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:
    from corpusmill.report.tables import RunTables

MAX_TEXT_CHARS = 600  # of each text, if several documents are shown
MAX_REPEATED_CHARS = 200  # of a line or paragraph


def add_to(app: typer.Typer) -> None:
    app.command("peek", epilog="Example: corpusmill peek runs/demo --dropped gopher_quality -n 3")(peek)


def peek(
    run: FolderOrFiles,
    dropped: Annotated[
        str | None,
        typer.Option(
            metavar="STEP", help="Dropped documents: by a STEP, by a STEP.RULE, or `all`.", show_default=False
        ),
    ] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Records and documents that could not be processed.")] = False,
    document: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="ID", help="Everything about the document with this id or URL.", show_default=False
        ),
    ] = None,
    repeated: Annotated[
        bool,
        typer.Option(
            "--repeated", help="The most frequent lines or paragraphs, if a step such as dedup/line counts them."
        ),
    ] = False,
    count: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many to show.")] = 5,
    json: Json = False,
) -> None:
    """Show documents of a run (kept, dropped with their reasons, or failed) or of files, as they are read."""
    from corpusmill.report import samples
    from corpusmill.report.tables import RunTables

    if sum([dead, dropped is not None, document is not None, repeated]) > 1:
        raise InputError("--dropped, --dead, --id and --repeated exclude each other: give one of them")
    if document is not None:
        refuse_unused("count", "is for several documents, and --id shows one")
    whole = dead or repeated or dropped is not None or document is not None
    with run_of(run, None if whole else count) as folder:
        tables = RunTables(folder)
        if repeated:
            peek_repeated(run, tables, count, json)
            return
        if dead:
            documents = samples.dead_letters(tables, count)
        elif dropped is not None:
            documents = samples.dropped_documents(tables, None if dropped == "all" else dropped, count)
        elif document is not None:
            documents = samples.by_name(tables, document)
            if not documents:
                raise InputError(f'{run}: no document and no dead letter has the id or URL "{document}"')
        else:
            documents = samples.kept_documents(tables, count)
        if json:
            print_json({"run": str(run), "documents": documents})
            return
        blocks = [shown(entry, tables, full=document is not None) for entry in documents]
        print_lines("\n\n".join(blocks) if blocks else "none")
        if folder != run and not dead:
            warn_of_broken(run, tables)


def peek_repeated(run: str, tables: "RunTables", count: int, json: bool) -> None:
    """Raises InputError if no step of the run counts lines or paragraphs."""
    from corpusmill.report.figures.repeated import most_repeated
    from corpusmill.report.numbers import size
    from corpusmill.report.visible import excerpt, one_line

    by_step = most_repeated(tables, count)
    if not by_step:
        raise InputError(
            f"{run}: no step of this run counts lines or paragraphs. `dedup/line: {{mark: true}}` in its recipe does, "
            f"without changing any text."
        )
    if json:
        print_json({"run": str(run), "repeated": by_step})
        return
    for step, rows in by_step.items():
        print(f"{step}:" if rows else f"{step}: nothing occurs twice")
        for row in rows:
            counts = f"{number(row['occurrences'])} times in {plural(row['documents'], 'document')}"
            print(f"  {counts}, {size(row['bytes'])}, first in {row['id']}")
            print(f"    | {excerpt(one_line(row['text']), MAX_REPEATED_CHARS)}")


def duplicate_of(entry: Mapping[str, Any]) -> list[str]:
    """Which document is kept instead of one that a dedup dropped, and how similar they are: a line, or none."""
    original, similarity = (
        entry["signals"].get(f"{entry['dropped_by']}.{name}") for name in ("duplicate_of", "similarity")
    )
    if original is None:
        return []
    return [f"duplicate of {original}" + ("" if similarity is None else f", similarity {similarity:.3f}")]


def warn_of_broken(files: str, tables: "RunTables") -> None:
    """Say how many records of files without a recipe cannot be read, among those that were."""
    from corpusmill.cli.tables import print_warnings

    broken = sum(sum(source["dead"].values()) for source in tables.files.waterfall().read.values())
    if broken:
        those = plural(broken, "record")
        print_warnings([f"{those} cannot be read: `corpusmill peek {quote(files)} --dead` shows what is wrong"])


def shown(entry: Mapping[str, Any], tables: "RunTables", full: bool) -> str:
    """A document or a dead letter, as text; with `full`, all signals and the whole text."""
    from corpusmill.report.numbers import measured
    from corpusmill.report.rules import because
    from corpusmill.report.visible import excerpt, not_stored, one_line, visible

    position = f"{entry['source']} {PurePath(entry['file'] or '').name}:{entry['position']}"
    lines = [f"id       {paint(entry['id'], 'bold')}", f"from     {one_line(position)}"]
    if entry["url"]:
        lines.append(f"url      {one_line(entry['url'])}")
    if "kind" in entry:
        expected = ", as expected" if entry["expected"] else ""
        cause = f"{entry['step']}: {entry['kind']}{expected}: {one_line(entry['reason'] or '')}"
        return "\n".join([*lines, f"{paint('dead', 'red')}     {cause}"])
    about = "about " if entry["dropped_by"] else ""
    tokens = "" if entry["tokens"] is None else f", {about}{plural(entry['tokens'], 'token')}"
    lines.append(f"length   {plural(entry['bytes'], 'byte')}{tokens}")
    if entry["dropped_by"]:
        lines.append(paint(f"dropped  by {entry['dropped_by']}", "yellow"))
        lines += [f"         {because(reason, entry['signals'], tables.bounds)}" for reason in entry["reasons"]]
        lines += [f"         {line}" for line in duplicate_of(entry)]
    if full:
        lines += ["signals"]
        lines += [f"         {k} {one_line(measured(v))}" for k, v in entry["signals"].items() if v is not None]
    if entry["text"] is None:
        return "\n".join([*lines, f"text     {not_stored(entry)}"])
    text = entry["text"] if full else excerpt(entry["text"], MAX_TEXT_CHARS)
    shown_text = [f"  | {line}" for line in visible(text).split("\n")] if text else ["  (empty)"]
    return "\n".join([*lines, "text", *shown_text])
