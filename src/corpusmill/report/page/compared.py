"""The output beside the input: lengths, damage, languages, personal data, toxicity, scores, duplicates left."""

from collections.abc import Iterable, Mapping

from corpusmill.report.figures import texts
from corpusmill.report.figures.remaining_duplicates import (
    NEAR_NGRAM_WORDS,
    NEAR_SIMILARITY,
    RemainingDuplicates,
    remaining_duplicates,
)
from corpusmill.report.figures.sampled import TOXIC_SCORE, Sampled, Share, draw, sampled
from corpusmill.report.figures.scores import Score, scores
from corpusmill.report.figures.texts import TEXT_SIDES, SideTexts
from corpusmill.report.html.charts import PairRow, overlaid, pairs
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.html.svg import legend, two_bars
from corpusmill.report.numbers import measured, number, plural, share
from corpusmill.report.samples import SAMPLED_ROW_GROUPS
from corpusmill.report.tables import RunTables

NO_TEXTS_NOTE = (
    "Language, personal data and toxicity of the input are not compared: the texts of dropped documents are not stored "
    "(run.dropped_text: none)."
)
LEGEND = {"input": "input", "output": "output"}
FLAG_NAMES = {  # of `text.integrity`
    "markup": "HTML tags",
    "code": "code-like text",
    "space": "runs of white space",
    "encoding": "broken encoding",
}


def section(tables: RunTables) -> list[Inside]:
    sides, below = texts.texts(tables), tables.files.texts_below
    figure = sampled(tables)
    parts: list[Inside] = [legend(LEGEND)]
    if sides:
        parts += [*lengths(sides), *integrity(sides)]
    parts += samples(figure) if figure else [tag("p", NO_TEXTS_NOTE, class_="note")] if below == "" else []
    parts += [part for score in scores(tables) for part in scored(score)]
    if remaining := remaining_duplicates(tables, figure.sample if figure else draw(tables)):
        parts += copies(remaining)
    return parts if len(parts) > 1 else []


def lengths(sides: Mapping[str, SideTexts]) -> list[Inside]:
    """Characters, words and tokens per document: a histogram each, and a table of all."""
    units = list(sides["output"].lengths)
    figures = [lengths_in(sides, unit) for unit in units]
    note = "For web pages, the input is the extracted text. Medians are interpolated within narrow bins. Token counts "
    note += "exclude BOS and EOS and are those of the last version of each text."
    if "tokens" in units and "tokens" not in sides["input"].lengths:
        note += " Tokens of dropped documents were not counted (run.measure_dropped)."
    all_lengths = table(*texts.lengths_table(sides))
    return [tag("h3", "Length"), tag("div", *figures, class_="two"), all_lengths, tag("p", note, class_="note")]


def lengths_in(sides: Mapping[str, SideTexts], unit: str) -> HtmlText | None:
    data = texts.histogram(sides, unit)
    if data is None:
        return None
    shown = [side for side in TEXT_SIDES if unit in sides[side].lengths and sides[side].documents]
    means = {side: sides[side].lengths[unit].mean for side in shown}
    css = {"input": "mean", "output": "bound"}
    marks = [(mean, f"{side} mean {number(mean)}", css[side]) for side, mean in means.items()]
    chart = overlaid(
        data, label=f"documents by {unit}, input and output", unit=unit, axis=f"{unit} per document", marks=marks
    )
    caption = tag("figcaption", f"x: {unit} per document (log), y: documents", class_="axes")
    return tag("figure", tag("h4", f"{unit} per document".capitalize()), chart, caption)


def integrity(sides: Mapping[str, SideTexts]) -> list[Inside]:
    totals = {side: sides[side].documents for side in TEXT_SIDES}
    rows = {
        words: tuple(Share(sides[side].flags[flag], totals[side], sampled=False) for side in TEXT_SIDES)
        for flag, words in FLAG_NAMES.items()
    }
    caption = (
        f"Share of all documents ({number(totals['input'])} input, {number(totals['output'])} output). HTML: "
        "contains a tag or comment. Code-like: at least 5 % of characters are {}[]();=<>_&|. White space: at "
        "least 3 spaces or 4 line feeds in a row. Encoding: contains U+FFFD, or UTF-8 decoded as Latin-1 (Ã©)."
    )
    return [tag("h3", "Integrity"), bars(rows.items(), "damaged texts, input and output", caption)]


def samples(figure: Sampled) -> list[Inside]:
    """What was measured on samples."""
    counts = {side: len(part) for side, part in figure.sample.texts.items()}
    totals = figure.sample.documents
    drawn = " and ".join(
        f"{number(counts[side])} of {plural(totals[side], f'{side} document')}"
        if counts[side] < totals[side]
        else f"all {plural(counts[side], f'{side} document')}"
        for side in TEXT_SIDES
    )
    note = f"Language, personal data and toxicity are measured on {drawn}"
    if any(counts[side] < totals[side] for side in TEXT_SIDES):
        note += f", drawn at random (in a large run from {SAMPLED_ROW_GROUPS} row groups, spread evenly over its "
        note += "files); lines are 95 % confidence intervals"
    note += ". Input texts are as the run left them: the output text of a kept document, and for a dropped one the "
    note += "text that reached the step that dropped it."
    n = f"n = {number(counts['input'])} → {number(counts['output'])}."
    caption = f"Share of documents by language (lid.176); {n}"
    parts: list[Inside] = [tag("p", note, class_="note"), tag("h3", "Language")]
    parts += [
        bars(figure.languages.items(), "documents by language, input and output", caption),
        tag("h3", "Personal data"),
    ]
    if figure.personal:
        exact_kinds = [kind for kind, (before, _) in figure.personal.items() if not before.sampled]
        words = f"Share of documents that contain each kind; {n}"
        if exact_kinds:
            words += f" For {', '.join(exact_kinds)}, the input is all documents, as counted by the recipe's own step."
        parts.append(bars(figure.personal.items(), "personal data, input and output", words))
    else:
        parts.append(tag("p", f"None found; {n}"))
    if figure.found:
        pieces = ", ".join(f"{kind} {number(count)}" for kind, count in figure.found.items())
        parts.append(tag("p", f"Found by the recipe's steps in all documents: {pieces}."))
    words = f"Share of documents that toxicity-en scores {TOXIC_SCORE:g} or higher, and that contain a word of the "
    words += f"list toxic-words-en. Both are for English and judge words, not meaning; {n}"
    return [*parts, tag("h3", "Toxicity"), bars(figure.toxicity.items(), "toxicity, input and output", words)]


def scored(score: Score) -> list[Inside]:
    """A histogram of a score, with means, medians and the bounds of the recipe."""
    marks = [
        (score.mean["input"], f"input mean {measured(score.mean['input'])}", "mean"),
        (score.median["input"], f"input median {measured(score.median['input'])}", "mean"),
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
    words = f"x: {score.name}{axis}, y: documents measured by {score.step}{part}"
    caption = tag("figcaption", words)
    sides = ("input", "output")
    rows = [
        [side, number(score.documents[side]), measured(score.mean[side]), measured(score.median[side])]
        for side in sides
    ]
    head = ["", "documents", "mean", "median"]
    title = tag("h3", f"{score.name.capitalize()} ({score.step})")
    return [title, tag("figure", chart, caption), table(head, rows)]


def copies(figure: RemainingDuplicates) -> list[Inside]:
    """What is left of duplicates."""
    sampled_of = "" if figure.compared == figure.documents else " in a sample"
    exact = f"{plural(figure.exact, 'document')} ({share(figure.exact, figure.compared)} of {number(figure.compared)}"
    exact += f"{sampled_of}) {'has' if figure.exact == 1 else 'have'} the same text as an earlier one, by its hash."
    words = [tag("p", exact)]
    if near := figure.near:
        text = f"{number(near.count)} of {plural(near.of, 'document')} ({share(near.count, near.of)}) are "
        text += f"near-duplicates of an earlier one (Jaccard similarity of word {NEAR_NGRAM_WORDS}-grams at least "
        text += f"{NEAR_SIMILARITY:g})"
        if near.sampled:
            text += f". Only documents of this sample were compared; all {number(figure.documents)} documents have more"
        words.append(tag("p", f"{text}."))
    return [tag("h3", "Duplicates left in the output"), *words]


def bars(rows: Iterable[tuple[str, tuple[Share, ...]]], label: str, caption: str) -> HtmlText:
    """A pair of bars a row: the share of documents in the input and in the output."""
    entries = list(rows)
    maximum = max([pair.interval[1] for _, sides in entries for pair in sides] + [0.01])
    parts: list[HtmlText] = []
    drawn: list[PairRow] = []
    for name, sides in entries:
        shown, chart_parts = [], []
        for css, side_share in zip(TEXT_SIDES, sides):
            low, high = side_share.interval
            counts = f"{number(side_share.count)} of {plural(side_share.of, 'document')}"
            tooltip = f"{css}: {counts}"
            shown.append((100 * side_share.value / maximum, (100 * low / maximum, 100 * high / maximum), css, tooltip))
            chart_parts.append(
                (css, side_share.value, side_share.interval, f"{share(side_share.count, side_share.of)} ({counts})")
            )
        values = " → ".join(share(side_share.count, side_share.of) for side_share in sides)
        parts += [tag("div", name), two_bars(shown, f"{name}: {values}"), tag("div", values, class_="value")]
        drawn.append(PairRow(name, chart_parts, values))
    still = tag("div", *parts, class_="ranks")
    chart = pairs(still, drawn, label=label, axis="share of documents")
    return tag("figure", chart, tag("figcaption", caption, class_="axes"))
