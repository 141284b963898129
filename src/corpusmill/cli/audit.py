"""corpusmill audit RUN"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusmill.cli.common import EXIT_FAILED, Folder, Json, must_be_writable, print_json, refuse_unused
from corpusmill.cli.terminal import folded, lines_of, paint
from corpusmill.report.numbers import plural

if TYPE_CHECKING:
    from corpusmill.report.audit import Audit

VERDICT_ORDER = ("red flag", "warning", "ok", "not measured")
ADVICE_INDENT = " " * 14
VERDICT_STYLES = {"red flag": "bold red", "warning": "yellow", "ok": "green", "not measured": "dim"}


def add_to(app: typer.Typer) -> None:
    app.command("audit", epilog="Example: corpusmill audit runs/demo --bound chars_per_token=3..5")(audit)


def audit(
    run: Folder,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW..HIGH", help="Change the bounds of a check: either end may be left out. May be repeated."
        ),
    ] = None,
    sample: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Number of output documents to read.")] = 1000,
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the results and sample documents to this file, as a prompt for a reviewer; - is stdout.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, metavar="N", help="In the prompt: documents of each kind.")] = 3,
    chars: Annotated[int, typer.Option(min=1, metavar="N", help="In the prompt: characters of each document.")] = 800,
    raw: Annotated[bool, typer.Option("--raw", help="In the prompt: do not redact personal data.")] = False,
    json: Json = False,
) -> None:
    """Check a run for red flags, and say what to change.

    Prints measured values with their bounds. Exits with 1 if there is a red flag.
    """
    from corpusmill.report.audit import audit as check

    if prompt is None:
        refuse_unused("samples chars raw", "is for --prompt, which is not given")
    elif prompt != "-":
        must_be_writable(Path(prompt))
    result = check(run, bounds=bound or (), sample=sample)
    if prompt is not None:
        from corpusmill.report.audit.prompt import review_prompt

        text = review_prompt(run, result, samples=samples, chars=chars, raw=raw)
        if prompt == "-":
            print(text, end="")
            return
        Path(prompt).write_text(text, "utf-8", newline="\n")
    if json:
        print_json(result.to_json())
    else:
        print("\n".join(lines(result)))
    if result.red_flags:
        raise typer.Exit(EXIT_FAILED)


def lines(result: "Audit") -> Iterator[str]:
    """The checks, red flags first, and a summary."""
    ordered = sorted(result.checks, key=lambda check: VERDICT_ORDER.index(check.verdict))
    verdicts = [check.verdict.upper() if check.verdict == "red flag" else check.verdict for check in ordered]
    width = max(map(len, verdicts))
    cells = [(check.name, check.shown, check.bounds.in_words(check.unit)) for check in ordered]
    for check, verdict, line in zip(ordered, verdicts, lines_of(cells, left_columns=(0, 2))):
        yield f"{paint(verdict.ljust(width), VERDICT_STYLES[check.verdict])}  {line}"
        yield from folded(check.seen, ADVICE_INDENT)
        if check.advice:
            advice = f"{ADVICE_INDENT}→ {check.advice}"
            # A command is not broken, so that it can be copied.
            is_command = "corpusmill " in advice
            yield from [advice] if is_command else folded(advice.strip(), ADVICE_INDENT, f"{ADVICE_INDENT}  ")
        if check.examples:
            yield from folded(f"e.g. {', '.join(check.examples)}", ADVICE_INDENT, f"{ADVICE_INDENT}     ")
    counts = {verdict: sum(check.verdict == verdict for check in ordered) for verdict in VERDICT_ORDER}
    flags, warnings, fine, unknown = counts.values()
    yield ""
    yield f"{plural(flags, 'red flag')}, {plural(warnings, 'warning')}, {fine} ok, {unknown} not measured"
