"""The tokens: how many, which ones, how many per document."""

from corpusmill.report.figures.tokens import group_table, statistics, token_text
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number, share
from corpusmill.report.tables import RunTables

MAX_GROUPS_SHOWN = 20  # languages
CONTROL_NAMES = {"documents": "documents", "bos": "BOS tokens", "eos": "EOS tokens"}  # as many, or something is wrong


def section(tables: RunTables) -> list[Inside]:
    figure = statistics(tables)
    if figure is None or not figure.all.tokens:
        return []
    totals = figure.all
    facts = [
        (number(totals.tokens), "tokens, without EOS"),
        (f"{number(figure.distinct)} of {number(figure.vocabulary)}", "vocabulary tokens in use"),
        (f"{totals.characters_per_token:.2f}", "characters per token"),
        (f"{totals.bytes_per_token:.2f}", "bytes per token"),
        (f"{totals.tokens_per_byte:.3f}", "tokens per byte"),
        (f"{totals.tokens_per_document:,.1f}", "tokens per document"),
        (f"{totals.fertility:.2f}", "tokens per word"),
    ]
    if controls := tables.files.facts("tokens").get("controls"):
        facts += [(number(controls[name]), in_words) for name, in_words in CONTROL_NAMES.items() if name in controls]
    parts: list[Inside] = [
        tag("div", *(tag("span", tag("b", value), caption) for value, caption in facts), class_="facts")
    ]
    for title, groups in (("source", figure.sources), ("language", figure.languages)):
        if groups:
            head, rows = group_table(title, groups[:MAX_GROUPS_SHOWN], totals)
            parts.append(table(head, rows))
    if figure.languages and figure.looked_at:
        sampled_units, units = map(number, figure.looked_at)
        words = f"Languages are those of {sampled_units} of {units} units, spread evenly over the input."
        parts.append(tag("p", words, class_="note"))
    parts.append(tag("h3", "Tokens per document"))
    lengths = [number(value) for value in (*figure.lengths.values(), figure.longest)]
    shares = [f"{100 * quantile:g} %" for quantile in figure.lengths]
    parts.append(table(["percentile", *shares, "maximum"], [["tokens", *lengths]]))
    rows = [[token_text(t), number(t.id), number(t.count), share(t.count, totals.tokens)] for t in figure.top]
    frequent = table(["token", "id", "count", "share"], rows)
    parts.append(tag("details", tag("summary", f"the {len(rows)} most frequent tokens"), frequent))
    parts.append(
        tag(
            "p",
            "Counted over the kept documents, each once, without EOS. Words are separated by white space; in scripts "
            "without spaces, each character is a word.",
            class_="note",
        )
    )
    return parts
