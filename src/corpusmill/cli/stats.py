"""corpusmill stats RUN"""

from collections.abc import Sequence

import typer

from corpusmill.cli.common import Folder, Json, aligned, print_json
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, share, size

FREQUENT = 20  # tokens in the terminal; the page and --json have more


def add_to(app: typer.Typer) -> None:
    app.command("stats", epilog="Example: corpusmill stats runs/demo")(stats)


def stats(run: Folder, json: Json = False) -> None:
    """Say what the tokens of a run are: vocabulary in use, tokens a word and a byte, lengths, rows, frequent tokens."""
    from corpusmill.report.figures.engine_check import engine_check, in_words
    from corpusmill.report.figures.packing import packing, packing_table
    from corpusmill.report.figures.tokens import group_table, statistics, written
    from corpusmill.report.tables import RunTables

    tables = RunTables(run)
    flow = tables.files.waterfall()
    found = statistics(tables)
    if found is None:
        raise InputError(
            f"{run}: this run has counted no tokens. It takes tokenize/bpe in the recipe and a writer of tokens, such as "
            "`write: shards`, and this version or a later one."
        )
    if json:
        packed = dict(flow.packed)
        if packed:
            packed["utilisation"] = round(packed["tokens"] / max(packed["tokens"] + packed["padding"], 1), 6)
            packed["mean_context"] = round(packed["context"] / max(packed["tokens"], 1), 3)
        print_json({"folder": str(run), "tokens": found.to_json(), "packed": packed})
        return
    every = found.all
    print(f"{number(every.tokens)} tokens in {number(every.documents)} documents, {size(every.bytes)}", end="; ")
    print(f"{number(found.ends)} more begin and end documents")
    used = share(found.distinct, found.vocabulary)
    print(f"{number(found.distinct)} of {number(found.vocabulary)} tokens of the vocabulary occur ({used})")
    for title, groups in (("source", found.sources), ("language", found.languages)):
        if groups:
            head, rows = group_table(title, (*groups, every) if title == "source" else groups, every)
            print()
            _print_table(head, *rows)
    print()
    head = ["tokens a document", *(f"{100 * q:g} %" for q in found.lengths), "longest"]
    _print_table(head, ["at most", *(number(value) for value in (*found.lengths.values(), found.longest))])
    if rows := packing_table(packing(flow)):
        print()
        _print_table(*rows)
    if words := in_words(engine_check(tables)):
        print(f"\n{words}")
    print()
    frequent = [[written(t), number(t.id), number(t.count), share(t.count, every.tokens)] for t in found.top[:FREQUENT]]
    _print_table(["token", "id", "times", "of all"], *frequent)


def _print_table(*rows: Sequence[str]) -> None:
    print("\n".join(aligned(rows)))
