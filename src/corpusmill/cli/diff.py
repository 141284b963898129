"""corpusmill diff BEFORE AFTER"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Json, print_json
from corpusmill.cli.terminal import lines_of, paint, print_lines
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:
    from corpusmill.report.diff import Diff, Example

MAX_TRANSITIONS = 20  # transitions


def add_to(app: typer.Typer) -> None:
    app.command("diff", epilog="Example: corpusmill diff runs/demo runs/demo-what-if -n 1")(diff)


def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="The folder of a run.", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The folder of the other run.", show_default=False)],
    count: Annotated[int, typer.Option("-n", min=0, metavar="N", help="Example documents per transition.")] = 2,
    json: Json = False,
) -> None:
    """Compare two runs: documents whose outcome changed, and why.

    Also shows how recipes, inputs and versions differ.
    """
    from corpusmill.report.diff import diff as compare

    comparison = compare(before, after, count)
    if json:
        print_json(asdict(comparison))
        return
    print_lines("\n".join(lines(comparison)))


def lines(comparison: "Diff") -> Iterator[str]:
    yield f"{comparison.before} → {comparison.after}"
    for difference in comparison.differences:
        yield f"  {difference.what}: {value_text(difference.before)} → {value_text(difference.after)}"
    if not comparison.differences:
        yield "  the same recipe, inputs and versions"
    yield ""
    (kept_before, kept_after), (tokens_before, tokens_after) = comparison.documents, comparison.tokens
    yield f"documents kept  {number(kept_before)} → {number(kept_after)} ({kept_after - kept_before:+,d})"
    yield (
        f"tokens kept     {number(tokens_before)} → {number(tokens_after)} ({tokens_after - tokens_before:+,d}: "
        f"{comparison.gained:+,d} gained, {-comparison.lost:+,d} lost, {comparison.changed:+,d} in changed texts)"
    )
    transitions = list(comparison.transitions.items())
    moved = sum(documents for _, documents in transitions)
    yield f"{plural(comparison.same, 'document')} had the same outcome, {number(moved)} differ"
    if transitions:
        yield ""
    cells = [(f"{before} → {after}", number(documents)) for (before, after), documents in transitions[:MAX_TRANSITIONS]]
    for line, ((before, after), _) in zip(lines_of(cells), transitions):
        yield f"{line}{'  for another reason' if before == after else ''}"
        for example in comparison.examples:
            if (example.before.where, example.after.where) == (before, after):
                yield paint(f"    {shown(example)}", "dim")
    if transitions[MAX_TRANSITIONS:]:
        yield f"{len(transitions) - MAX_TRANSITIONS} more: --json has them all"


def shown(example: "Example") -> str:
    from corpusmill.report.visible import one_line

    why = " → ".join(outcome.reason or outcome.where for outcome in (example.before, example.after))
    return f"{example.id}  {why}  {one_line(example.url or f'{example.file}:{example.position}')}"


def value_text(value: object) -> str:
    return "–" if value is None else str(value)
