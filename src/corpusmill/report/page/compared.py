"""The output beside the input: lengths, damage, languages, personal data, toxicity, scores, duplicates left."""

from collections.abc import Iterable, Mapping

from corpusmill.report.figures import texts
from corpusmill.report.figures.left import NGRAM, SIMILAR, Left, left
from corpusmill.report.figures.sampled import TOXIC, Sampled, Share, draw, sampled
from corpusmill.report.figures.scores import Score, scores
from corpusmill.report.figures.texts import SIDES, SideTexts
from corpusmill.report.html.charts import PairRow, overlaid, pairs
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.html.svg import legend, two_bars
from corpusmill.report.numbers import measured, number, plural, share
from corpusmill.report.samples import GROUPS
from corpusmill.report.tables import RunTables

NO_TEXTS = (
    "Language, personal data and toxicity of the input are not compared: the texts of dropped documents are not stored "
    "(run.dropped_text: none)."
)
COLOURS = {"input": "input", "output": "output"}
FLAGS = {  # of `text.integrity`
    "markup": "HTML tags",
    "code": "code-like text",
    "space": "runs of white space",
    "encoding": "broken encoding",
}


def section(tables: RunTables) -> list[Inside]:
    sides, below = texts.texts(tables), tables.files.texts_below
    figure = sampled(tables)
    parts: list[Inside] = [legend(COLOURS)]
    if sides:
        parts += [*lengths(sides), *integrity(sides)]
    parts += samples(figure) if figure else [tag("p", NO_TEXTS, class_="note")] if below == "" else []
    parts += [part for score in scores(tables) for part in scored(score)]
    if remaining := left(tables, figure.sample if figure else draw(tables)):
        parts += copies(remaining)
    return parts if len(parts) > 1 else []


def lengths(sides: Mapping[str, SideTexts]) -> list[Inside]:
    """Characters, words and tokens per document: a histogram each, and a table of all."""
    units = list(sides["output"].lengths)
    figures = [lengths_in(sides, unit) for unit in units]
    note = "Of a page, the input is its text as the extraction step left it. Medians are interpolated in "
    note += "narrow bins. Tokens are counted without BOS and EOS, in the text as it was last."
    if "tokens" in units and "tokens" not in sides["input"].lengths:
        note += " Those of dropped documents were not counted (run.measure_dropped)."
    return [
        tag("h3", "Length"),
        tag("div", *figures, class_="two"),
        table(*texts.lengths_table(sides)),
        tag("p", note, class_="note"),
    ]


def lengths_in(sides: Mapping[str, SideTexts], unit: str) -> HtmlText | None:
    data = texts.histogram(sides, unit)
    if data is None:
        return None
    means = [
        (side, sides[side].lengths[unit].mean)
        for side in SIDES
        if unit in sides[side].lengths and sides[side].documents
    ]
    marks = [
        (mean, f"mean of the {side} {number(mean)}", "bound" if side == "output" else "mean") for side, mean in means
    ]
    chart = overlaid(
        data, label=f"documents by {unit}, input and output", unit=unit, axis=f"{unit} per document", marks=marks
    )
    caption = tag("figcaption", f"x: {unit} per document (log), y: documents", class_="axes")
    return tag("figure", tag("h4", f"{unit} per document".capitalize()), chart, caption)


def integrity(sides: Mapping[str, SideTexts]) -> list[Inside]:
    of = {side: sides[side].documents for side in SIDES}
    rows = {
        words: tuple(Share(sides[side].flags[flag], of[side], sampled=False) for side in SIDES)
        for flag, words in FLAGS.items()
    }
    caption = (
        f"Share of all documents: {number(of['input'])} of input, {number(of['output'])} of output. HTML: a tag or "
        "comment. Code-like: a twentieth of the characters or more are {}[]();=<>_&|. White space: 3 spaces or 4 line "
        "feeds in a row. Encoding: U+FFFD, or UTF-8 that was decoded as Latin-1 (Ã©)."
    )
    return [tag("h3", "Integrity"), bars(rows.items(), "damaged texts, input and output", caption)]


def samples(figure: Sampled) -> list[Inside]:
    """What was measured on samples."""
    counts = {side: len(part) for side, part in figure.sample.texts.items()}
    whole = figure.sample.documents
    drawn = " and ".join(
        f"{number(counts[side])} of {plural(whole[side], 'document')} of the {side}"
        if counts[side] < whole[side]
        else f"all {plural(counts[side], 'document')} of the {side}"
        for side in SIDES
    )
    is_sample = any(counts[side] < whole[side] for side in SIDES)
    note = f"Language, personal data and toxicity are measured on {drawn}"
    if is_sample:
        note += (
            f", drawn at random, of a large run from {GROUPS} places of its files that are spread evenly; lines are "
        )
        note += "intervals of 95 %"
    note += ". "
    note += "Texts of the input are those that the run left: of a kept document the output, of a dropped one what came "
    note += "to the step that dropped it."
    n = f"n = {number(counts['input'])} → {number(counts['output'])}."
    caption = f"Share of documents by language, as lid.176 identifies it; {n}"
    parts: list[Inside] = [tag("p", note, class_="note"), tag("h3", "Language")]
    parts += [
        bars(figure.languages.items(), "documents by language, input and output", caption),
        tag("h3", "Personal data"),
    ]
    if figure.personal:
        seen = [kind for kind, (before, _) in figure.personal.items() if not before.sampled]
        words = f"Share of documents that hold each kind; {n}"
        if seen:
            words += f" Of {', '.join(seen)}, the input is every document, as the recipe's own step found them."
        parts.append(bars(figure.personal.items(), "personal data, input and output", words))
    else:
        parts.append(tag("p", f"None was found; {n}"))
    if figure.found:
        pieces = ", ".join(f"{kind} {number(count)}" for kind, count in figure.found.items())
        parts.append(tag("p", f"Found by the recipe's steps in all documents: {pieces}."))
    words = f"Share of documents with a score of {TOXIC:g} or more by the model toxicity-en, and with a word of the "
    words += f"list toxic-words-en; both are for English and know words, not what is meant; {n}"
    return [*parts, tag("h3", "Toxicity"), bars(figure.toxicity.items(), "toxicity, input and output", words)]


def scored(score: Score) -> list[Inside]:
    """A histogram of a score, with means, medians and the bounds of the recipe."""
    marks = [
        (score.mean["input"], f"mean of the input {measured(score.mean['input'])}", "mean"),
        (score.median["input"], f"median of the input {measured(score.median['input'])}", "mean"),
    ]
    marks += [(bound, f"{step} {measured(bound)}", "bound") for step, bound in score.bounds]
    chart = overlaid(
        score.histogram,
        label=f"documents by {score.name} of {score.step}, input and output",
        unit=score.name,
        axis=score.name.replace("_", " "),
        marks=marks,
        height=170 + 14 * len(marks),
    )
    axis = " (log)" if score.histogram.log else ""
    part = " in {} of {} units, spread evenly".format(*map(number, score.looked_at)) if score.looked_at else ""
    words = f"x: {score.name}{axis}, y: documents that {score.step} measured{part}"
    caption = tag("figcaption", words)
    sides = ("input", "output")
    rows = [
        [side, number(score.documents[side]), measured(score.mean[side]), measured(score.median[side])]
        for side in sides
    ]
    head = ["", "documents", "mean", "median"]
    title = tag("h3", f"{score.name.capitalize()} ({score.step})")
    return [title, tag("figure", chart, caption), table(head, rows)]


def copies(figure: Left) -> list[Inside]:
    """What is left of duplicates."""
    part = "" if figure.compared == figure.documents else f" of a sample of {number(figure.compared)}"
    exact = (
        f"{plural(figure.exact, 'document')}{part} {'is' if figure.exact == 1 else 'are'} equal to another one before "
    )
    exact += f"({share(figure.exact, figure.compared)} of {number(figure.compared)}; by a hash of the text)."
    words = [tag("p", exact)]
    if figure.near:
        near = figure.near
        text = (
            f"{number(near.count)} of {plural(near.of, 'document')} ({share(near.count, near.of)}) are near-duplicates "
        )
        text += f"of another one (Jaccard similarity of {NGRAM}-grams of words {SIMILAR:g} or more)"
        if near.sampled:
            text += (
                f" within this sample; most pairs of all {number(figure.documents)} documents are not in it together, "
            )
            text += "so there are more in the output"
        words.append(tag("p", f"{text}."))
    return [tag("h3", "Duplicates left in the output"), *words]


def bars(rows: Iterable[tuple[str, tuple[Share, ...]]], label: str, caption: str) -> HtmlText:
    """A pair of bars a row: the share of documents in the input and in the output."""
    given = list(rows)
    most = max([pair.interval[1] for _, sides in given for pair in sides] + [0.01])
    parts: list[HtmlText] = []
    drawn: list[PairRow] = []
    for name, sides in given:
        shown, told = [], []
        for css, one in zip(SIDES, sides):
            low, high = one.interval
            counts = f"{number(one.count)} of {plural(one.of, 'document')}"
            tooltip = f"{css}: {counts}"
            shown.append((100 * one.value / most, (100 * low / most, 100 * high / most), css, tooltip))
            told.append((css, one.value, one.interval, f"{share(one.count, one.of)} ({counts})"))
        values = " → ".join(share(one.count, one.of) for one in sides)
        parts += [tag("div", name), two_bars(shown, f"{name}: {values}"), tag("div", values, class_="value")]
        drawn.append(PairRow(name, told, values))
    still = tag("div", *parts, class_="ranks")
    chart = pairs(still, drawn, label=label, axis="share of documents")
    return tag("figure", chart, tag("figcaption", caption, class_="axes"))
