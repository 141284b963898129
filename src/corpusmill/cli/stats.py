"""corpusmill stats RUN"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from corpusmill.cli.common import FolderOrFiles, Json, print_json
from corpusmill.cli.raw import run_of
from corpusmill.cli.terminal import print_table
from corpusmill.report.numbers import number, plural, share, size

if TYPE_CHECKING:
    from corpusmill.report.figures.tokens import TokenStatistics
    from corpusmill.report.tables import RunTables

NO_TOKENS = (
    "There are no token statistics: they need tokenize/bpe and a writer of tokens, such as `write: shards`, in the "
    "recipe, and a run by this version or a later one."
)
MAX_FREQUENT_TOKENS = 20  # tokens in the terminal; the page and --json have more


def add_to(app: typer.Typer) -> None:
    app.command("stats", epilog="Example: corpusmill stats runs/demo")(stats)


def stats(run: FolderOrFiles, json: Json = False) -> None:
    """Print statistics of a run (lengths, funnel, tokens, packing, time, memory) or of files (lengths).

    In full: characters, words and tokens of the documents, the funnel, vocabulary use, fertility, packing, duplicates
    by step, time and memory by stage, frequent tokens. Files are read as a run without steps reads them.
    """
    with run_of(run) as folder:
        _stats(run, folder, json)


def _stats(run: str, folder: str, json: bool) -> None:
    """Of a folder; `run` is what was asked for."""
    from dataclasses import asdict

    from corpusmill.report.figures.duplicates import dedup_steps
    from corpusmill.report.figures.resources import resources
    from corpusmill.report.figures.split import split_sides
    from corpusmill.report.figures.texts import texts
    from corpusmill.report.figures.tokens import statistics
    from corpusmill.report.tables import RunTables

    tables = RunTables(folder)
    flow = tables.files.waterfall()
    tokens = statistics(tables)
    if json:
        packed = dict(flow.packed)
        if packed:
            packed["utilisation"] = round(packed["tokens"] / max(packed["tokens"] + packed["padding"], 1), 6)
            packed["mean_context"] = round(packed["context"] / max(packed["tokens"], 1), 3)
        print_json(
            {
                "folder": str(run),
                "texts": {side: figures.to_json() for side, figures in (texts(tables) or {}).items()},
                "funnel": flow.funnel(),
                "tokens": tokens.to_json() if tokens else None,
                "packed": packed,
                "split": [asdict(side) for side in split_sides(tables)],
                "duplicates": [asdict(step) for step in dedup_steps(tables)],
                "stages": [stage.to_json() for stage in resources(tables)],
            }
        )
        return
    print_documents(tables)
    if tokens:
        print_tokens(tables, tokens)
    elif run == folder:
        print(f"\n{NO_TOKENS}")


def print_documents(tables: "RunTables") -> None:
    """Lengths, the funnel, duplicates, time and memory."""
    from corpusmill.cli.tables import print_dedup, print_resources, print_split
    from corpusmill.report.figures.duplicates import dedup_steps
    from corpusmill.report.figures.resources import resources
    from corpusmill.report.figures.split import split_sides
    from corpusmill.report.figures.texts import lengths_table, texts

    if sides := texts(tables):
        head, rows = lengths_table(sides)
        _print_table(head, *rows)
        print()
    funnel = [
        [row["step"], number(row["documents_in"]), number(row["documents_out"])]
        + [share(row["documents_out"], base) for base in (row["documents_in"], tables.files.waterfall().documents_in)]
        for row in tables.files.waterfall().funnel()
    ]
    if funnel:
        _print_table(["step", "documents in", "out", "of the step", "of the input"], *funnel)
    print_dedup(dedup_steps(tables))
    print_split(split_sides(tables))
    print_resources(resources(tables))


def print_tokens(tables: "RunTables", tokens: "TokenStatistics") -> None:
    """How many tokens, which ones, how they are packed."""
    from corpusmill.cli.tables import print_pairs
    from corpusmill.report.figures.engine_check import engine_check, in_words
    from corpusmill.report.figures.packing import packing, packing_table
    from corpusmill.report.figures.tokens import group_table, token_text

    totals = tokens.all
    amount = f"{plural(totals.tokens, 'token')} in {plural(totals.documents, 'document')}, {size(totals.bytes)}"
    print(f"\n{amount}; plus {number(tokens.ends)} BOS and EOS tokens")
    used = share(tokens.distinct, tokens.vocabulary)
    print(f"{number(tokens.distinct)} of {number(tokens.vocabulary)} vocabulary tokens in use ({used})")
    for title, groups in (("source", tokens.sources), ("language", tokens.languages)):
        if groups:
            head, rows = group_table(title, (*groups, totals) if title == "source" else groups, totals)
            print()
            _print_table(head, *rows)
    print()
    head = ["percentile", *(f"{100 * q:g} %" for q in tokens.lengths), "maximum"]
    _print_table(
        head, ["tokens per document", *(number(value) for value in (*tokens.lengths.values(), tokens.longest))]
    )
    if rows := packing_table(packing(tables.files.waterfall())):
        print()
        print_pairs(rows)
    if words := in_words(engine_check(tables)):
        print(f"\n{words}")
    print()
    top = tokens.top[:MAX_FREQUENT_TOKENS]
    frequent = [[token_text(t), number(t.id), number(t.count), share(t.count, totals.tokens)] for t in top]
    _print_table(["token", "id", "count", "share"], *frequent)


def _print_table(head: Sequence[str], *rows: Sequence[str]) -> None:
    """Where a line is too narrow, the last columns are left out."""
    print_table(head, rows, leave_out=range(len(head) - 1, 1, -1))
