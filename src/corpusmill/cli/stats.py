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
    """Print token statistics of a run: vocabulary use, fertility, bytes per token, lengths, packing, frequent
    tokens."""
    from corpusmill.report.figures.engine_check import engine_check, in_words
    from corpusmill.report.figures.packing import packing, packing_table
    from corpusmill.report.figures.tokens import group_table, statistics, written
    from corpusmill.report.tables import RunTables

    tables = RunTables(run)
    flow = tables.files.waterfall()
    tokens = statistics(tables)
    if tokens is None:
        raise InputError(
            f"{run}: this run has no token statistics. They need tokenize/bpe and a writer of tokens, such as "
            "`write: shards`, in the recipe, and a run by this version or a later one."
        )
    if json:
        packed = dict(flow.packed)
        if packed:
            packed["utilisation"] = round(packed["tokens"] / max(packed["tokens"] + packed["padding"], 1), 6)
            packed["mean_context"] = round(packed["context"] / max(packed["tokens"], 1), 3)
        print_json({"folder": str(run), "tokens": tokens.to_json(), "packed": packed})
        return
    every = tokens.all
    print(f"{number(every.tokens)} tokens in {number(every.documents)} documents, {size(every.bytes)}", end="; ")
    print(f"plus {number(tokens.ends)} BOS and EOS tokens")
    used = share(tokens.distinct, tokens.vocabulary)
    print(f"{number(tokens.distinct)} of {number(tokens.vocabulary)} vocabulary tokens in use ({used})")
    for title, groups in (("source", tokens.sources), ("language", tokens.languages)):
        if groups:
            head, rows = group_table(title, (*groups, every) if title == "source" else groups, every)
            print()
            _print_table(head, *rows)
    print()
    head = ["percentile", *(f"{100 * q:g} %" for q in tokens.lengths), "maximum"]
    _print_table(
        head, ["tokens per document", *(number(value) for value in (*tokens.lengths.values(), tokens.longest))]
    )
    if rows := packing_table(packing(flow)):
        print()
        _print_table(*rows)
    if words := in_words(engine_check(tables)):
        print(f"\n{words}")
    print()
    frequent = [
        [written(t), number(t.id), number(t.count), share(t.count, every.tokens)] for t in tokens.top[:FREQUENT]
    ]
    _print_table(["token", "id", "count", "share"], *frequent)


def _print_table(*rows: Sequence[str]) -> None:
    print("\n".join(aligned(rows)))
