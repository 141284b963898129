"""The top of the page: what was run, when, where and how, the headline numbers, links to the sections."""

import shlex

from corpusmill.report.figures import drops_all
from corpusmill.report.figures.amounts import Amount, amounts
from corpusmill.report.figures.calls import calls, command_in_words
from corpusmill.report.figures.packing import packing
from corpusmill.report.html.markup import HtmlText, Inside, join, tag
from corpusmill.report.html.paths import without_folders
from corpusmill.report.numbers import duration, number, plural, share, short, size
from corpusmill.report.tables import RunTables


def header(tables: RunTables) -> HtmlText:
    files = tables.files
    amount = amounts(tables).whole
    count = plural(amount.files, "input file")
    made_by = f"corpusmill {files.versions['corpusmill']} · recipe {files.fingerprint[:12]} · "
    made_by += f"{count}, {size(amount.input_bytes)} as stored"
    return tag(
        "header",
        tag("h1", files.name),
        tag("p", made_by, class_="soft"),
        tag("p", tag("b", f"A limited run: {files.limited}.")) if files.limited else None,
        *(tag("p", tag("b", *_with_code(f"{loss}.")), class_="warning") for loss in drops_all.warnings(tables, "RUN")),
        run(tables),
        tiles(tables, amount),
    )


def _with_code(text: str) -> list[Inside]:
    """A text in which what is between backticks is code."""
    return [tag("code", part) if number % 2 else part for number, part in enumerate(text.split("`"))]


def run(tables: RunTables) -> HtmlText | None:
    """When, for how long, where, and by which command. None of a run by a version that did not record it."""
    run_calls = calls(tables)
    if not run_calls:
        return None
    call = run_calls.last
    took = duration(run_calls.seconds)
    if len(run_calls.calls) > 1:
        took += f" in {len(run_calls.calls)} calls"
    workers = plural(call["workers"], "worker")
    host = call["machine"].get("host")
    words: list[Inside] = [run_calls.period, took, workers + (f" on {host}" if host else "")]
    command = shlex.join(command_in_words(call["command"]))
    return tag("p", join(words, " · "), tag("code", without_folders(command)), id="run", class_="soft")


def tiles(tables: RunTables, amount: Amount) -> HtmlText:
    """The headline numbers."""
    flow = tables.files.waterfall()
    kept_share = share(flow.documents_out, flow.documents_in)
    values = [(number(flow.documents_out), f"of {plural(flow.documents_in, 'document')} kept ({kept_share})")]
    if amount.kept_bytes is not None and amount.text_bytes is not None:
        values.append((size(amount.kept_bytes), f"of text kept, of {size(amount.text_bytes)}"))
    if flow.rows:
        last = flow.rows[-1]
        max_tokens = max(tokens for row in flow.rows for tokens in (row.tokens_in, row.tokens_out))
        if last.tokens_out:
            values += [
                (
                    short(last.tokens_out),
                    f"tokens kept, of {short(max_tokens)}" if flow.counts_all_tokens else "tokens kept",
                ),
                (f"{last.tokens_out / last.documents_out:,.0f}", "tokens per document"),
                (f"{last.bytes_out / last.tokens_out:.2f}", "bytes of text per token"),
            ]
    if packed := packing(flow):
        padding = share(packed.padding, packed.capacity)
        values.append((share(packed.tokens, packed.capacity), f"of row capacity used ({padding} padding)"))
    return tag(
        "div",
        *(tag("div", tag("b", value), tag("span", caption), class_="tile") for value, caption in values),
        class_="tiles",
    )
