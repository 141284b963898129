"""corpusmill what-if RUN --set STEP.THRESHOLD=VALUE"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.cli.terminal import NBSP, paint, print_lines, print_table
from corpusmill.errors import InputError
from corpusmill.report.numbers import number, plural, size

if TYPE_CHECKING:
    from corpusmill.report.what_if import Border, Kept, WhatIf

MAX_GROUPS = 10  # languages and sources


def add_to(app: typer.Typer) -> None:
    app.command("what-if", epilog="Example: corpusmill what-if runs/demo --set gopher_quality.min_words=30")(what_if)


def what_if(
    run: Folder,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A new threshold: gopher_quality.min_words=30. May be repeated."
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Documents closest to the threshold to show, per reason.")
    ] = 3,
    json: Json = False,
) -> None:
    """Show what other thresholds would have kept, without a run.

    Computed from the saved signals; no text is read.
    """
    from corpusmill.report.what_if import what_if as ask

    if not settings:
        raise InputError("what-if needs a threshold to try: --set gopher_quality.min_words=30")
    answer = ask(run, settings, examples)
    if json:
        print_json({"run": str(run), **asdict(answer)})
        return
    for change in answer.changes:
        print(f"{change.step}.{change.parameter}: {change.before} → {change.after}")
    if not answer.changes:
        print("no changes: these are the thresholds of the run")
    print()
    print_steps(answer)
    print_lines("\n".join(lines(answer)))
    print(f"  {answer.command}")


def lines(answer: "WhatIf") -> Iterator[str]:
    """What follows the steps: what is kept in all, what moves, how to make it so."""
    before, after = answer.kept
    yield ""
    yield (
        f"kept by {answer.stage}: {both(before.documents, after.documents, 'document')}, "
        f"{size(before.bytes)} → {size(after.bytes)}, {both(before.tokens, after.tokens, 'token')}"
    )
    for title, groups in (("source", answer.sources), ("language", answer.languages)):
        yield from by(title, groups)
    for newly, moved in (("kept", answer.newly_kept), ("dropped", answer.newly_dropped)):
        for reason, amount in moved.items():
            yield ""
            moves = f"{plural(amount.documents, 'document')}, {plural(amount.tokens, 'token')}"
            yield f"{paint(f'newly {newly}:', 'green' if newly == 'kept' else 'yellow')} {moves}, by {reason}"
            borders = [border for border in answer.border if (border.newly, border.reason) == (newly, reason)]
            yield from (f"  {example(border)}" for border in borders)
    yield ""
    if answer.open_steps:
        yield (
            f"Documents and bytes are exact up to {answer.before[-1].step}. Results of later steps "
            f"({', '.join(answer.open_steps)}) cannot be predicted; to see them, run:"
        )
    else:
        yield "Documents and bytes are exact to the last step. To keep these documents, run:"


def print_steps(answer: "WhatIf") -> None:
    """A row per step; below it, the reasons whose counts differ."""
    cells, reasons = [], []
    for was, now in zip(answer.before, answer.after):
        documents, tokens = (was.documents_out, now.documents_out), (was.tokens_out, now.tokens_out)
        cells.append((was.step, arrow(*documents), change(*documents), arrow(*tokens), change(*tokens)))
        counts = [(name, was.reasons.get(name, 0), now.reasons.get(name, 0)) for name in {**was.reasons, **now.reasons}]
        moved = [f"{name} {both(a, b)}".replace(" ", NBSP) for name, a, b in counts if a != b]
        reasons.append(f"{NBSP}· ".join(moved))
    print_table(("step", "documents out", "", "tokens out", ""), cells, leave_out=(4, 3), notes=reasons)


def by(title: str, groups: "Mapping[str, Kept]") -> Iterator[str]:
    """The groups that change, those that change most first."""
    moved = {name: pair for name, pair in groups.items() if pair[0] != pair[1]}
    ordered = sorted(moved, key=lambda name: -abs(moved[name][1].documents - moved[name][0].documents))
    for name in ordered[:MAX_GROUPS]:
        before, after = moved[name]
        yield f"  {title} {name}: {both(before.documents, after.documents, 'document')}"
    if others := ordered[MAX_GROUPS:]:
        yield f"  {len(others)} more: --json has them all"


def example(border: "Border") -> str:
    from corpusmill.report.numbers import measured
    from corpusmill.report.visible import one_line

    values = ", ".join(f"{name} {one_line(measured(value))}" for name, value in border.values.items())
    return f"{border.id}  {values}  {one_line(border.url or f'{border.file}:{border.position}')}"


def arrow(before: int, after: int) -> str:
    return number(before) if before == after else f"{number(before)} → {number(after)}"


def change(before: int, after: int) -> str:
    return "" if before == after else f"{after - before:+,d}"


def both(before: int, after: int, noun: str = "") -> str:
    """
    >>> both(964, 881), both(964, 1, "document"), both(1, 1, "document")
    ('964 → 881 (-83)', '964 → 1 (-963) documents', '1 document')
    """
    counts = number(before) if before == after else f"{number(before)} → {number(after)} ({after - before:+,d})"
    return f"{counts} {noun}{'s' * (before != 1 or after != 1)}" if noun else counts
