"""The top of the page: what was run, the headline numbers, links to the sections."""

from collections.abc import Sequence

from corpusmill.report.figures.packing import packing
from corpusmill.report.html.markup import Html, tag
from corpusmill.report.numbers import number, plural, share, short, size
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall


def header(tables: RunTables, sections: Sequence[tuple[str, str]]) -> Html:
    """The header, with links to the sections: (anchor, title) each."""
    files = tables.files
    made_by = f"corpusmill {files.versions['corpusmill']} · recipe {files.fingerprint[:12]}"
    return tag(
        "header",
        tag("h1", files.name),
        tag("p", made_by, class_="soft"),
        tag("p", tag("b", f"A limited run: {files.limited}.")) if files.limited else None,
        tiles(files.waterfall()),
        tag("nav", *(tag("a", title, href=f"#{anchor}") for anchor, title in sections)),
    )


def tiles(flow: Waterfall) -> Html:
    """The headline numbers."""
    kept = share(flow.documents_out, flow.documents_in)
    values = [(number(flow.documents_out), f"of {plural(flow.documents_in, 'document')} kept ({kept})")]
    if flow.rows:
        last = flow.rows[-1]
        most = max(tokens for row in flow.rows for tokens in (row.tokens_in, row.tokens_out))
        read = sum(source["bytes"] for source in flow.read.values())
        values.append((size(last.bytes_out), f"of text, from {size(read)} of input"))
        if last.tokens_out:
            values += [
                (short(last.tokens_out), f"tokens kept, of {short(most)}" if flow.counts_all_tokens else "tokens kept"),
                (f"{last.tokens_out / last.documents_out:,.0f}", "tokens per document"),
                (f"{last.bytes_out / last.tokens_out:.2f}", "bytes per token"),
            ]
    if packed := packing(flow):
        padding = share(packed.padding, packed.capacity)
        values.append((share(packed.tokens, packed.capacity), f"of row capacity used ({padding} padding)"))
    return tag(
        "div",
        *(tag("div", tag("b", value), tag("span", what), class_="tile") for value, what in values),
        class_="tiles",
    )
