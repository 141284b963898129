"""corpusmill audit RUN"""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import FAILED, Folder, Json, print_json
from corpusmill.report.numbers import measured, number

if TYPE_CHECKING:
    from corpusmill.report.audit import Audit, Check

ORDER = ("red flag", "warning", "ok", "not measured")
WIDE = 116


def add_to(app: typer.Typer) -> None:
    app.command("audit", epilog="Example: corpusmill audit runs/demo --bound chars_per_token=3..5")(audit)


def audit(
    run: Folder,
    bound: Annotated[
        list[str] | None,
        typer.Option(help="Another bound for a check: NAME=LOW..HIGH. Either end may be left out. May be repeated."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Documents of the output that are read.")] = 1000,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="Write all of it and sample documents as a prompt for a reviewer to this file; - is stdout.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Of the prompt: documents of each kind.")] = 3,
    chars: Annotated[int, typer.Option(min=1, help="Of the prompt: characters of each document.")] = 800,
    raw: Annotated[bool, typer.Option("--raw", help="Of the prompt: do not redact personal data.")] = False,
    json: Json = False,
) -> None:
    """Check a run for red flags: measured values, their bounds, what to change. Exits with 1 if there is one."""
    from corpusmill.report.audit import audit as check

    result = check(run, bounds=bound or (), sample=sample)
    if prompt is not None:
        from corpusmill.report.audit.prompt import review_prompt

        text = review_prompt(run, result, samples=samples, chars=chars, raw=raw)
        if prompt == "-":
            print(text, end="")
            return
        Path(prompt).write_text(text, "utf-8")
    if json:
        print_json(result.to_json())
    else:
        print("\n".join(lines(result)))
    if result.red_flags:
        raise typer.Exit(FAILED)


def lines(result: "Audit") -> Iterator[str]:
    """The checks, red flags first, and a summary."""
    ordered = sorted(result.checks, key=lambda check: ORDER.index(check.verdict))
    width = max(len(check.name) for check in ordered)
    values = {check.name: value(check) for check in ordered}
    amount = max(map(len, values.values()))
    for check in ordered:
        verdict = check.verdict.upper() if check.verdict == "red flag" else check.verdict
        bounds = check.bounds.in_words(check.unit)
        yield f"{verdict:<12}  {check.name:<{width}}  {values[check.name]:>{amount}}  {bounds}"
        yield from (f"{'':14}{part}" for part in wrap(check.seen, WIDE - 14, break_on_hyphens=False))
        if check.advice:
            yield f"{'':14}→ {check.advice}"  # not broken: it may be a command
        if check.examples:
            yield f"{'':14}e.g. {', '.join(check.examples)}"
    counts = {verdict: sum(check.verdict == verdict for check in ordered) for verdict in ORDER}
    flags, warnings, fine, unknown = counts.values()
    yield ""
    yield f"{flags} red flags, {warnings} warnings, {fine} ok, {unknown} not measured"


def value(check: "Check") -> str:
    if check.value is None:
        return "–"
    if check.unit == "share":
        return f"{100 * check.value:.1f} %"
    return number(check.value) if check.unit == "count" else measured(float(check.value))
