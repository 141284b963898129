"""corpusmill diff RUN RUN"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.report.numbers import number

if TYPE_CHECKING:
    from corpusmill.report.diff import Diff, Example

TOP = 20  # ways


def add_to(app: typer.Typer) -> None:
    app.command("diff", epilog="Example: corpusmill diff runs/demo runs/demo-what-if -n 1")(diff)


def diff(
    before: Folder,
    after: Folder,
    count: Annotated[int, typer.Option("-n", min=0, help="Documents to show for each way from step to step.")] = 2,
    json: Json = False,
) -> None:
    """Say which documents moved between two runs, from which step to which, and what the runs were told differently."""
    from corpusmill.report.diff import diff as compare

    found = compare(before, after, count)
    if json:
        print_json(asdict(found))
        return
    print("\n".join(lines(found)))


def lines(found: "Diff") -> Iterator[str]:
    yield f"{found.before} → {found.after}"
    for said in found.told:
        yield f"  {said.what}: {spoken(said.before)} → {spoken(said.after)}"
    if not found.told:
        yield "  the same recipe, inputs and versions"
    yield ""
    (kept_before, kept_after), (tokens_before, tokens_after) = found.documents, found.tokens
    yield f"documents kept  {number(kept_before)} → {number(kept_after)} ({kept_after - kept_before:+,d})"
    yield (
        f"tokens kept     {number(tokens_before)} → {number(tokens_after)} ({tokens_after - tokens_before:+,d}: "
        f"{found.gained:+,d} gained, {-found.lost:+,d} lost, {found.retold:+,d} in changed texts)"
    )
    ways = list(found.ways.items())
    moved = sum(documents for _, documents in ways)
    yield f"{number(found.same)} documents and lost records went the same way, {number(moved)} another"
    if ways:
        yield ""
    left = max((len(before) for (before, _), _ in ways), default=0)
    right = max((len(after) for (_, after), _ in ways), default=0)
    for (before, after), documents in ways[:TOP]:
        why = "  for another reason" if before == after else ""
        yield f"{before:<{left}} → {after:<{right}}  {number(documents):>9}{why}"
        for example in found.examples:
            if (example.before.where, example.after.where) == (before, after):
                yield f"    {shown(example)}"
    if ways[TOP:]:
        yield f"{len(ways) - TOP} more: --json has them all"


def shown(example: "Example") -> str:
    from corpusmill.report.visible import one_line

    why = " → ".join(fate.reason or fate.where for fate in (example.before, example.after))
    return f"{example.id}  {why}  {one_line(example.url or f'{example.file}:{example.position}')}"


def spoken(value: object) -> str:
    return "–" if value is None else str(value)
