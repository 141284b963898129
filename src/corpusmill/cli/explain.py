"""corpusmill explain RUN NAME"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import Folder, Json, print_json
from corpusmill.cli.terminal import paint, print_lines
from corpusmill.report.numbers import number, plural

if TYPE_CHECKING:
    from corpusmill.report.explain import DocumentHistory, RuleResult, StepOutcome, TokenPlacement

MAX_TEXT_CHARS = 600  # of the text


def add_to(app: typer.Typer) -> None:
    app.command("explain", epilog="Example: corpusmill explain runs/demo https://rights.uk.example/6")(explain)


def explain(
    run: Folder,
    name: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="An id or a prefix of one, a URL, FILE:POSITION, or FILE if it is one document.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> None:
    """Explain what happened to one document, step by step.

    Shows what every step measured and decided, and where its tokens are.
    """
    from corpusmill.report.explain import explain as histories_of

    histories = histories_of(run, name)
    if json:
        print_json({"run": str(run), "documents": [asdict(history) for history in histories]})
        return
    if len(histories) > 1:
        print(f"{len(histories)} documents and records have this name.\n")
    print_lines("\n\n".join("\n".join(lines(history)) for history in histories))


def lines(history: "DocumentHistory") -> Iterator[str]:
    from corpusmill.report.visible import excerpt, not_stored, one_line, visible

    yield f"id       {history.id}"
    yield f"from     {one_line(f'{history.source} {history.file}:{history.position}')}"
    for field in ("url", "date"):
        if value := getattr(history, field):
            yield f"{field:<9}{one_line(value)}"
    yield f"outcome  {paint(outcome(history), style(history))}"
    if history.steps and not (history.lost and history.text is None and history.steps[0].verdict == "not reached"):
        yield "steps"
        width = max(len(step.step) for step in history.steps)
        for step in history.steps:
            yield from step_lines(step, width, history.source)
    yield from map(placement, history.shards)
    if history.text is not None:
        yield "text"
        yield from (f"  | {line}" for line in visible(excerpt(history.text, MAX_TEXT_CHARS)).split("\n"))
    elif history.dropped_by:
        yield f"text     {not_stored({'file': history.file, 'position': history.position})}"


def style(history: "DocumentHistory") -> str:
    return "red" if history.lost else "yellow" if history.dropped_by else "green"


def outcome(history: "DocumentHistory") -> str:
    """One line: kept, dropped by which step, or lost."""
    from corpusmill.report.visible import one_line

    length = "" if history.bytes is None else f" ({plural(history.bytes, 'byte')}"
    about = "about " if history.dropped_by else ""
    length += "" if history.tokens is None else f", {about}{plural(history.tokens, 'token')}"
    length += ")" if length else ""
    if history.lost:
        expected = ", as expected" if history.lost.expected else ""
        return f"lost at {history.lost.step}{expected}: {history.lost.kind}: {one_line(history.lost.reason)}"
    if history.dropped_by:
        return f"dropped by {history.dropped_by}{length}"
    return f"kept{length}"


def step_lines(step: "StepOutcome", width: int, source: str) -> Iterator[str]:
    """A step: what it decided; then each rule, and what else it measured."""
    from corpusmill.report.numbers import measured
    from corpusmill.report.visible import one_line

    why = f": {', '.join(step.reasons)}" if step.reasons else ""
    why = f": source {one_line(source)}" if step.verdict == "not applied" else why
    yield f"  {paint(f'{step.step:<{width}}', 'bold')}  {step.verdict}{why}"
    for rule in step.rules:
        yield f"    {paint('pass', 'green') if rule.passes else paint('FAIL', 'bold red')}  {compared(rule)}"
    if original := step.duplicate_of:
        url = f" {one_line(original.url)}" if original.url else ""
        similarity = "" if original.similarity is None else f", similarity {original.similarity:.3f}"
        yield f"          duplicate of {original.id}{url}{similarity}"
    shown = {rule.signal for rule in step.rules} | {"duplicate_of", "similarity"}
    others = {name: value for name, value in (step.signals or {}).items() if name not in shown and value is not None}
    for name, value in others.items():
        yield f"          {name} {one_line(measured(value))}"


def compared(rule: "RuleResult") -> str:
    """`min_words: content_words 12, dropped below 50`"""
    from corpusmill.report.numbers import measured
    from corpusmill.steps.verdict import COMPARED

    value = "not measured" if rule.value is None else measured(rule.value)
    return f"{rule.rule}: {rule.signal} {value}, dropped {COMPARED[rule.drops]} {rule.threshold:,.6g}"


def placement(span: "TokenPlacement") -> str:
    """`tokens   0 to 512 of 00000.bin (512 tokens, from row 0)`"""
    length = f"{plural(span.stop - span.start, 'token')}"
    offset = f", from its token {number(span.offset)}" if span.offset else ""
    name = PurePath(span.file).name
    tokens = f"{number(span.start)} to {number(span.stop)} of {name}"
    row = "" if span.row is None else f", from row {number(span.row)}"
    return f"tokens   {tokens} ({length}{row}{offset})"
