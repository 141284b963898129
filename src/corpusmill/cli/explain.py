"""corpusmill explain RUN NAME"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.report.numbers import number

if TYPE_CHECKING:
    from corpusmill.report.explain import Judged, Story, Told

CHARS = 600  # of the text


def add_to(app: typer.Typer) -> None:
    app.command("explain", epilog="Example: corpusmill explain runs/demo https://example.org/page")(explain)


def explain(
    run: Folder,
    name: Annotated[
        str, typer.Argument(help="An id or the beginning of one, a url, or FILE:POSITION.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Tell the whole story of a document: what every step measured and decided, and where its tokens are."""
    from corpusmill.report.explain import explain as stories

    found = stories(run, name)
    if json:
        print_json({"run": str(run), "documents": [asdict(story) for story in found]})
        return
    if len(found) > 1:
        print(f"{len(found)} documents and records go by this name.\n")
    print("\n\n".join("\n".join(lines(story)) for story in found))


def lines(story: "Story") -> Iterator[str]:
    from corpusmill.report.visible import excerpt, one_line, visible

    yield f"id       {story.id}"
    yield f"from     {one_line(f'{story.source} {story.file}:{story.position}')}"
    for what in ("url", "date"):
        if value := getattr(story, what):
            yield f"{what:<9}{one_line(value)}"
    yield f"fate     {fate(story)}"
    if story.steps and not (story.lost and story.text is None and story.steps[0].verdict == "not reached"):
        yield "steps"
        width = max(len(step.step) for step in story.steps)
        for step in story.steps:
            yield from told(step, width)
    for place in story.shards:
        length = f"{number(place.stop - place.start)} tokens"
        yield (
            f"tokens   {number(place.start)} to {number(place.stop)} of {PurePath(place.file).name} "
            f"({length}, from row {number(place.row)}"
            + (f", from its token {number(place.offset)}" if place.offset else "")
            + ")"
        )
    if story.text is not None:
        yield "text"
        yield from (f"  | {line}" for line in visible(excerpt(story.text, CHARS)).split("\n"))


def fate(story: "Story") -> str:
    """One line: stays, dropped by whom and why, or lost."""
    from corpusmill.report.visible import one_line

    length = "" if story.bytes is None else f" ({number(story.bytes)} bytes"
    length += "" if story.tokens is None else f", {number(story.tokens)} tokens"
    length += ")" if length else ""
    if story.lost:
        expected = ", as expected" if story.lost.expected else ""
        return f"lost at {story.lost.step}{expected}: {story.lost.kind}: {one_line(story.lost.reason)}"
    if story.dropped_by:
        return f"dropped by {story.dropped_by}{length}"
    return f"stays{length}"


def told(step: "Told", width: int) -> Iterator[str]:
    """A step: what it decided; then each rule, and what else it measured."""
    from corpusmill.report.numbers import measured
    from corpusmill.report.visible import one_line

    why = f": {', '.join(step.reasons)}" if step.reasons else ""
    yield f"  {step.step:<{width}}  {step.verdict}{why}"
    for rule in step.rules:
        yield f"    {'pass' if rule.passes else 'FAIL'}  {compared(rule)}"
    if step.twin:
        url = f" {one_line(step.twin.url)}" if step.twin.url else ""
        alike = "" if step.twin.similarity is None else f", similarity {step.twin.similarity:.3f}"
        yield f"          its twin {step.twin.id}{url} stays{alike}"
    shown = {rule.signal for rule in step.rules} | {"duplicate_of", "similarity"}
    others = {name: value for name, value in (step.signals or {}).items() if name not in shown and value is not None}
    for name, value in others.items():
        yield f"          {name} {one_line(measured(value))}"


def compared(rule: "Judged") -> str:
    """`min_words: content_words 12, dropped below 50`"""
    from corpusmill.report.numbers import measured
    from corpusmill.report.rules import SAID

    value = "not measured" if rule.value is None else measured(rule.value)
    return f"{rule.rule}: {rule.signal} {value}, dropped {SAID[rule.drops]} {rule.threshold:,.6g}"
