"""What a data set is made of, as sections of its card: sources, domains, languages, licences, what was dropped."""

import re
from collections.abc import Iterable, Sequence

from corpusmill.errors import AssetError, RecipeError
from corpusmill.recipe.dump import changed
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.audit import Audit
from corpusmill.report.figures.domains import Domains
from corpusmill.report.figures.languages import LanguageFigure
from corpusmill.report.figures.licences import Licences
from corpusmill.report.figures.models import (
    MODELS_HEAD,
    SYNTHETIC_HEAD,
    ModelUse,
    Synthetic,
    models_table,
    synthetic_table,
)
from corpusmill.report.figures.rights import RightsFigure
from corpusmill.report.figures.split import SPLIT_HEAD, SplitSide, split_table
from corpusmill.report.numbers import number, share, size
from corpusmill.report.run_files import RunFiles
from corpusmill.report.waterfall import Waterfall

MAX_ROWS = 10  # rows of a table of languages, domains or licences
MAX_REASONS = 3  # of a step
NUMBER_CELL = re.compile(r"(&lt; |> )?[\d,.]+( %| [kMGT]?B)?|–")


def sources(flow: Waterfall, files: RunFiles) -> str:
    rows = []
    for name, source in flow.read.items():
        inputs = files.inputs.get(name, ())
        lost = sum(sum(source[kind].values()) for kind in ("expected", "dead"))
        rows.append((
            name, number(len(inputs)), size(sum(entry["bytes"] for entry in inputs)), number(source["documents"]),
            number(sum(source["skipped"].values())), number(lost),
        ))  # fmt: skip
    head = ("source", "files", "size of the files", "documents read", "records that are not documents", "not readable")
    return f"## Sources\n\n{table(head, rows)}"


def split_of(by: str | None, sides: list[SplitSide]) -> str:
    """What is kept back for validation."""
    if by is None:
        return ""
    chosen = {
        "document": "by a hash of their text: equal texts are on one side",
        "domain": "by the registered domain of their address, or by source where they have none",
        "cluster": "by the cluster of near-duplicates that they are of",
    }
    return f"## Validation split\n\nDocuments are divided {chosen[by]}.\n\n{table(SPLIT_HEAD, split_table(sides))}"


def models_of(uses: list[ModelUse], entries: list[Synthetic]) -> str:
    """What language models were asked, and what of the text they have written; "" if none was."""
    if not uses:
        return ""
    judged = f"Language models were asked by these steps:\n\n{table(MODELS_HEAD, models_table(uses))}"
    if not entries:
        return f"## Language models\n\n{judged}"
    return f"## Language models\n\n{judged}\n\n{synthetic_of(entries)}"


def synthetic_of(entries: list[Synthetic]) -> str:
    """What of the text language models have written, each document of one of the others."""
    amount = f"{number(sum(entry.documents for entry in entries))} documents, {share(sum(e.share for e in entries), 1)}"
    head = f"Synthetic: {amount} of the text. Each was written by a language model from one document of the sources; "
    head += "its metadata names the document, the model and the prompt."
    return f"{head}\n\n{table(SYNTHETIC_HEAD, synthetic_table(entries))}"


def domains_of(figure: Domains) -> str:
    """The domains with most text."""
    if not figure.kept:
        return "## Domains\n\nNot known: no document that was kept has a web address."
    rows = [
        (
            domain.name,
            number(domain.documents),
            number(domain.kept),
            share(domain.kept, domain.documents),
            share(domain.bytes, figure.bytes),
        )
        for domain in figure.domains[:MAX_ROWS]
        if domain.kept
    ]
    many = sum(domain.kept > 0 for domain in figure.domains)
    bare = f" {number(figure.without)} documents that were read have no web address." if figure.without else ""
    head = ("domain", "documents read", "kept", "kept of those read", "of the text that was kept")
    return (
        f"## Domains\n\n{number(many)} registered domains have documents in the data set, of "
        f"{number(len(figure.domains))} that were read; the largest:{bare}\n\n{table(head, rows)}"
    )


def licences_of(figures: Sequence[Licences], license: str | None) -> str:
    """What the data set is said to be under, and what columns of the run say of its documents."""
    statement = (
        f"The data set is published under `{license}`."
        if license
        else "No licence was given for the data set. Texts stay under the terms of their sources."
    )
    parts = [f"## Licences\n\n{statement}"]
    for figure in figures:
        total = sum(licence.documents for licence in figure.licences)
        rows = [
            (
                licence.name or "none found",
                number(licence.documents),
                share(licence.documents, total),
                size(licence.bytes),
            )
            for licence in figure.licences[:MAX_ROWS]
        ]
        if len(figure.licences) > MAX_ROWS:
            others = figure.licences[MAX_ROWS:]
            count = sum(licence.documents for licence in others)
            rows.append(
                (f"{len(others)} others", number(count), share(count, total), size(sum(o.bytes for o in others)))
            )
        head = (f"`{figure.column}`", "documents", "share", "text")
        parts.append(f"Of the documents that were kept, as the sources say it:\n\n{table(head, rows)}")
    if not figures:
        parts.append("Licences of single documents are not known: no column of the run records them.")
    return "\n\n".join(parts)


def rights_of(figures: Sequence[RightsFigure]) -> str:
    """What owners say of the use of their pages, and what was dropped for it; "" of a run that did not look."""
    parts = []
    for figure in figures:
        rows = [
            (
                f"`{reservation.name}`",
                number(reservation.documents),
                share(reservation.documents, figure.documents),
                number(reservation.tokens),
                number(reservation.dropped),
                number(reservation.dropped_tokens),
                number(reservation.alone_tokens),
            )
            for reservation in figure.reserved
        ]
        head = ("signal", "documents read", "share", "tokens", "dropped for it", "their tokens", "tokens for it alone")
        parts.append(
            f"The step `{figure.step}` read robots.txt, HTTP headers, meta elements, tdmrep.json, Content-Signal, "
            "Content-Usage, RSL and licence links. Documents with a signal are in the data set if no step dropped "
            f"them. This is what pages declare, and no legal advice.\n\n{table(head, rows)}"
            if rows
            else f"The step `{figure.step}` found no reservation in any document."
        )
    return "## Rights reserved\n\n" + "\n\n".join(parts) if parts else ""


def spoken(languages: Sequence[LanguageFigure], step: str | None) -> str:
    if step is None:
        return "## Languages\n\nNot known: no step of the recipe identifies them."
    total = sum(language.kept for language in languages)
    rows = [
        (language.label or "none found", number(language.kept), share(language.kept, total))
        for language in languages[:MAX_ROWS]
    ]
    if len(languages) > MAX_ROWS:
        others = sum(language.kept for language in languages[MAX_ROWS:])
        rows.append((f"{len(languages) - MAX_ROWS} others", number(others), share(others, total)))
    return (
        f"## Languages\n\nAs the step `{step}` identified them, of the documents that its pass kept; steps that follow "
        f"it may have dropped some.\n\n{table(('language', 'documents', 'share'), rows)}"
    )


def funnel(flow: Waterfall) -> str:
    if not flow.rows:
        return "## What was dropped\n\nNothing: the recipe has no steps."
    rows = []
    for row in flow.rows:
        reasons = [f"{name} {number(count)}" for name, count in list(row.reasons.items())[:MAX_REASONS]]
        if len(row.reasons) > MAX_REASONS:
            reasons.append("…")
        if row.failed:
            reasons.append(f"not processed {number(row.failed)}")
        rows.append((
            row.step, number(row.documents_in), number(row.documents_out), share(row.documents_out, row.documents_in),
            share(row.documents_out, flow.documents_in), ", ".join(reasons),
        ))  # fmt: skip
    head = ("step", "documents in", "kept", "of the step", "of the input", "dropped for, most frequent first")
    return (
        "## What was dropped\n\nSteps in order. A document is counted under the first rule that it fails.\n\n"
        f"{table(head, rows)}"
    )


def redacted(files: RunFiles) -> str:
    """What steps changed in the texts, and whether personal data was looked for."""
    try:
        steps = list(zip(labels(files.recipe.steps), files.recipe.steps))
    except (RecipeError, AssetError):
        return "## What was redacted\n\nNot known: steps of the recipe could not be loaded when this card was written."
    lines = []
    for label, step in steps:
        name = name_of(step)
        if name.startswith(("redact/", "annotate/pii")):
            parameters = ", ".join(f"{key}: {value}" for key, value in changed(step).items() if "key" not in key)
            action = "redacts" if name.startswith("redact/") else "only marks"
            lines.append(
                f"- `{label}` (`{name}`) {action} personal data, "
                f"{f'with {parameters}' if parameters else 'with its defaults'}."
            )
    if not any("redacts" in line for line in lines):
        lines.append("- No step redacts personal data: what the sources hold of it is still in the texts.")
    else:
        lines.append("- Redaction finds patterns; what it misses is still in the texts.")
    cleaned = [f"`{label}`" for label, step in steps if name_of(step).startswith(("clean/", "extract/", "map/"))]
    if cleaned:
        lines.append(f"- These steps change texts: {', '.join(cleaned)}. Their parameters are in the recipe.")
    return "## What was redacted\n\n" + "\n".join(lines)


def audited(audit: Audit) -> str:
    """What the audit of the run found."""
    rows = [(check.question, check.shown, check.bounds.in_words(check.unit), check.verdict) for check in audit.checks]
    flagged = [f"- {check.question} {check.seen}." for check in (*audit.red_flags, *audit.warnings)]
    findings = "\n".join(flagged) if flagged else "Nothing that was measured is outside its bounds."
    return (
        f"## Audit\n\n{number(len(audit.checks))} checks, on the records of the run and on a sample of "
        f"{number(audit.sample)} documents of the output.\n\n"
        f"{table(('check', 'measured', 'expected', 'verdict'), rows)}\n\n{findings}"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown: the first column and texts flush left, numbers flush right."""
    listed = [tuple(_cell(cell) for cell in row) for row in rows]
    numeric = [all(NUMBER_CELL.fullmatch(cell) for cell in column) for column in zip(*listed)] or [False] * len(head)
    rule = ["---:" if is_number else "---" for is_number in numeric]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *listed))


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")
