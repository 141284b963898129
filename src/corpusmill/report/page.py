"""The page of a run: one file that needs nothing else and loads nothing, the same bytes for the same run."""

import base64
import hashlib
import inspect
import re
from pathlib import Path, PurePath
from typing import Any

from corpusmill.recipe.names import labels
from corpusmill.report import cards, histograms, samples
from corpusmill.report.copies import compare
from corpusmill.report.figures.languages import languages
from corpusmill.report.figures.lost import lost, skipped
from corpusmill.report.figures.repeated import most_repeated
from corpusmill.report.leaks import leaks_section
from corpusmill.report.markup import Html, Inside, table, tag
from corpusmill.report.mix import mix_section
from corpusmill.report.numbers import number, share, short, size
from corpusmill.report.rule_counts import rule_counts
from corpusmill.report.svg import bar, histogram, legend
from corpusmill.report.tables import RunTables
from corpusmill.report.tokens import checked_words, packing_table, statistics, tokens_section
from corpusmill.report.visible import excerpt, one_line
from corpusmill.report.waterfall import Row, Waterfall
from corpusmill.steps.describe import summary

EXAMPLES = 3  # documents a reason
KEPT = 4  # documents that stay
PAIRS = 4  # a corpus step
DEAD = 3  # a kind
LANGUAGES = 15
REPEATED, FIRST = 100, 20  # lines or paragraphs a step; those that are not folded away
FREQUENT = 3  # reasons a step in the table
MEASURES = (("documents", number), ("bytes", size), ("tokens", number))


def write_page(folder: Path) -> Path:
    """Write report.html into the folder of a finished run; returns its path.

    Nothing of it depends on when, where or how fast the run was carried out. What documents hold is escaped, and the
    page forbids every browser to run a script or to load anything for it.

    Raises ResumeError if there is no run, or it is not finished.
    """
    tables = RunTables(folder)
    return tables.files.write_page(page(tables))


def page(tables: RunTables) -> str:
    """The whole page."""
    flow = tables.files.waterfall()
    sections = [
        ("flow", "What happened to the documents", waterfall_section(flow)),
        ("sources", "Sources", sources_section(tables, flow)),
        ("reasons", "Why documents go", reasons_section(tables, flow)),
        ("kept", "Documents that stay", kept_section(tables)),
        ("lengths", "Lengths", lengths_section(tables)),
        ("languages", "Languages", languages_section(tables)),
        ("copies", "Copies", [*compared_section(tables), *copies_section(tables)]),
        ("repeated", "Repeated lines and paragraphs", repeated_section(tables)),
        ("leaks", "Questions of benchmarks", leaks_section(tables)),
        ("mix", "What each source gives", mix_section(tables)),
        ("lost", "Records that were no documents", lost_section(tables)),
        ("tokens", "Tokens", tokens_section(statistics(tables))),
        ("rows", "Training rows", rows_section(tables, flow)),
        ("recipe", "Recipe", recipe_section(tables)),
    ]
    there = [(name, title, body) for name, title, body in sections if body]
    style = (Path(__file__).parent / "style.css").read_text("utf-8")
    name = tables.files.name
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=f"default-src 'none'; style-src '{_hash(style)}'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{name}: report"),
        tag("style", Html(style)),
    )
    top = tag(
        "header",
        tag("h1", name),
        tag(
            "p",
            f"corpusmill {tables.files.versions['corpusmill']} · recipe {tables.files.fingerprint[:12]}",
            class_="soft",
        ),
        tiles(flow),
        tag("nav", *(tag("a", title, href=f"#{name}") for name, title, _ in there)),
    )
    body = [tag("section", tag("h2", title), *body, id=name) for name, title, body in there]
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', top, *body)), lang='en')}\n"


def tiles(flow: Waterfall) -> Html:
    """The numbers to remember."""
    kept = share(flow.documents_out, flow.documents_in)
    said = [(number(flow.documents_out), f"of {number(flow.documents_in)} documents stay ({kept})")]
    if flow.rows:
        first, last = flow.rows[0], flow.rows[-1]
        said += [(size(last.bytes_out), f"of text, from {size(_read_bytes(flow))} of input")]
        if last.tokens_out:
            said += [
                (short(last.tokens_out), f"tokens of {short(first.tokens_in)}"),
                (f"{last.tokens_out / last.documents_out:,.0f}", "tokens a document"),
                (f"{last.bytes_out / last.tokens_out:.2f}", "bytes a token"),
            ]
    if flow.packed:
        held = flow.packed["tokens"] + flow.packed["padding"]
        said += [(share(flow.packed["tokens"], held), "of the training rows is text")]
    return tag(
        "div", *(tag("div", tag("b", value), tag("span", what), class_="tile") for value, what in said), class_="tiles"
    )


def waterfall_section(flow: Waterfall) -> list[Inside]:
    """The documents, bytes and tokens that each step leaves: as bars, and as a table."""
    if not flow.rows:
        return [tag("p", "The recipe has no steps.")]
    measures = MEASURES if flow.rows[0].tokens_in else MEASURES[:2]
    switch: list[Html] = []
    for i, (name, _) in enumerate(measures):
        switch.append(tag("input", type="radio", name="measure", id=f"by-{name}", class_="measure", checked=i == 0))
        switch.append(tag("label", name, for_=f"by-{name}"))
    charts = [flow_chart(flow, name, said) for name, said in measures]
    colours = legend({"kept": "goes on", "dropped": "dropped by the step"})
    failed = any(row.failed for row in flow.rows)
    head = ["step", "documents in", "out", "kept", "bytes out", "tokens out"]
    rows = [
        [
            row.step,
            number(row.documents_in),
            number(row.documents_out),
            share(row.documents_out, row.documents_in),
            size(row.bytes_out),
            number(row.tokens_out) if row.tokens_in else "–",
            *([number(row.failed)] if failed else []),
            ", ".join(f"{reason} {number(count)}" for reason, count in list(row.reasons.items())[:FREQUENT]),
        ]
        for row in flow.rows
    ]
    head += ["failed"] * failed + ["most frequent reasons"]
    return [
        tag("figure", *switch, *charts, colours),
        table(head, rows, words=(0, len(head) - 1)),
        tag(
            "p",
            "Tokens are counted as each document leaves the pass, so within a pass they change only with the number of "
            "documents. Bytes are those of the page until its text is extracted.",
            class_="note",
        ),
    ]


def flow_chart(flow: Waterfall, measure: str, said: Any) -> Html:
    """A bar a step: what goes on, and what the step takes away, of what came into the first step."""
    whole = max(getattr(row, f"{measure}_{side}") for row in flow.rows for side in ("in", "out"))
    parts: list[Html] = []
    for row in flow.rows:
        out, came = getattr(row, f"{measure}_out"), getattr(row, f"{measure}_in")
        gone = max(came - out, 0) if row.documents_out < row.documents_in else 0
        shares = [(100 * out / max(whole, 1), "kept", f"{row.step}: {said(out)} {measure} go on")]
        shares += [(100 * gone / max(whole, 1), "dropped", f"{row.step}: {said(gone)} {measure} less")]
        parts += [
            tag("div", row.step),
            bar(shares, f"{row.step}: {said(out)} of {said(whole)} {measure}"),
            tag("div", f"{said(out)} · {share(out, whole)}", class_="value"),
        ]
    return tag("div", *parts, class_=f"flow {measure}")


def sources_section(tables: RunTables, flow: Waterfall) -> list[Inside]:
    """Each source: what was read of it, and what it gives to the result."""
    last = flow.rows[-1] if flow.rows else None
    tokens = last.tokens_out if last else 0
    rows = []
    for name, source in flow.read.items():
        mine = last.sources.get(name, {}) if last else {}
        out, weight = mine.get("documents_out", 0), mine.get("tokens_out" if tokens else "bytes_out", 0)
        whole = tokens or (last.bytes_out if last else 0)
        files = len(tables.files.inputs[name])
        given = number(weight) if tokens else size(weight)
        counted = [number(source["records"]), number(source["documents"]), number(out)]
        kept = share(out, source["documents"])
        rows.append([name, number(files), size(source["bytes"]), *counted, kept, given, share(weight, whole)])
    unit = "tokens" if tokens else "bytes"
    head = ["source", "files", "size", "records", "documents", "stay", "kept", f"{unit} out", f"of all {unit}"]
    said: list[Inside] = [table(head, rows)]
    if len(flow.read) > 1 and flow.rows:
        cells = [[row.step, *(_kept_of(row, name) for name in flow.read)] for row in flow.rows]
        said.append(
            tag("details", tag("summary", "documents kept by each step, by source"), table(["step", *flow.read], cells))
        )
    return said


def _kept_of(row: Row, source: str) -> str:
    mine = row.sources.get(source, {})
    return share(mine.get("documents_out", 0), mine.get("documents_in", 0))


def reasons_section(tables: RunTables, flow: Waterfall) -> list[Inside]:
    """For each step that drops something: its reasons, what was measured, and a few of the documents."""
    counts, examples = rule_counts(tables), samples.examples(tables, EXAMPLES)
    charts = histograms.signals(tables, [reason for reason in tables.bounds if reason in counts])
    steps = _summaries(tables)
    said: list[Inside] = []
    for row in flow.rows:
        gone = sum(row.reasons.values())
        if not gone:
            continue
        said.append(tag("h3", row.step))
        lost = f"{number(gone)} of {number(row.documents_in)} documents go ({share(gone, row.documents_in)}). "
        said.append(tag("p", lost, tag("span", steps.get(row.step, ""), class_="soft")))
        for reason in (f"{row.step}.{rule}" for rule in row.reasons):
            found, bound = counts[reason], tables.bounds.get(reason)
            facts = [
                (number(found.first), f"fail it first ({share(found.first, row.documents_in)})"),
                (number(found.all), "fail it"),
                (number(found.alone), "fail nothing else"),
            ]
            about: list[Inside] = [
                tag("h4", reason.partition(".")[2]),
                tag("div", f"dropped where {bound}" if bound else None, class_="soft"),
                tag("div", *(tag("span", tag("b", value), what) for value, what in facts), class_="facts"),
            ]
            if reason in charts and bound:
                signal = bound.signal.partition(".")[2]
                chart = histogram(
                    charts[reason],
                    label=f"{signal} of the documents that come to {row.step}, bound at {bound.threshold:g}",
                    unit=signal,
                    bound=bound.threshold,
                    height=120,
                    root=True,
                )
                about = [tag("div", tag("div", *about), tag("div", chart), class_="rule")]
            shown = examples.get(reason, [])
            if shown:
                title = "1 document" if len(shown) == 1 else f"{len(shown)} documents"
                about.append(tag("details", tag("summary", title), *(cards.document(e, tables.bounds) for e in shown)))
            said.append(tag("div", *about, class_="reason"))
        late = {
            reason.partition(".")[2]: c
            for reason, c in counts.items()
            if reason.startswith(f"{row.step}.") and not c.first
        }
        if late:
            more = ", ".join(
                f"{rule} {number(late[rule].all)}" for rule in sorted(late, key=lambda r: (-late[r].all, r))
            )
            said.append(tag("p", f"Failed too, but never first: {more}.", class_="note"))
    if said:
        words = "Several rules can fail at once; a document counts as dropped by the first step, for its first rule."
        said.insert(0, tag("p", words, class_="note"))
        said.insert(1, legend(RULE) if charts else None)
    return said


RULE = {"pass": "documents that pass the rule, by its signal", "fail": "that fail it (heights are square roots)"}


def _summaries(tables: RunTables) -> dict[str, str]:
    """label -> what the step does, in a sentence; without those of the recipe's steps that cannot be made here."""
    if not tables.bounds:
        return {}
    steps = zip(labels(tables.files.recipe.steps), tables.files.recipe.steps)
    return {label: summary(inspect.cleandoc(type(step).__doc__ or "")) for label, step in steps}


def kept_section(tables: RunTables) -> list[Inside]:
    shown = samples.kept(tables, KEPT)
    return (
        [tag("p", "Drawn by the hash of their ids.", class_="note"), *(cards.document(e, {}) for e in shown)]
        if shown
        else []
    )


def lengths_section(tables: RunTables) -> list[Inside]:
    """Tokens and bytes a document, before and after."""
    figures = []
    for unit in ("tokens", "bytes"):
        found = histograms.lengths(tables, unit)
        if found:
            chart = histogram(found, label=f"documents by {unit}, kept and dropped", unit=unit)
            caption = tag("figcaption", f"{unit} a document, logarithmic; upright: documents")
            figures.append(tag("figure", tag("h4", f"{unit} a document".capitalize()), chart, caption))
    if not figures:
        return []
    colours = legend({"kept": "stay", "dropped": "go"})
    return [
        tag("p", "The whole bar is before, the part that stays is after."),
        colours,
        tag("div", *figures, class_="two"),
    ]


def languages_section(tables: RunTables) -> list[Inside]:
    """Documents by language, as far as a step has found it."""
    said: list[Inside] = []
    for found in languages(tables):
        rest = found.languages[LANGUAGES:]
        rows = [(one.label or "none", one.kept, one.dropped) for one in found.languages[:LANGUAGES]]
        if rest:
            rows.append((f"{len(rest)} others", sum(one.kept for one in rest), sum(one.dropped for one in rest)))
        most = max((kept + gone for _, kept, gone in rows), default=1)
        parts: list[Html] = []
        for name, kept, gone in rows:
            shares = [
                (100 * kept / most, "kept", f"{number(kept)} stay"),
                (100 * gone / most, "dropped", f"{number(gone)} go"),
            ]
            parts.append(tag("div", name))
            parts.append(bar(shares, f"{name}: {number(kept)} stay, {number(gone)} go"))
            parts.append(tag("div", f"{number(kept)} of {number(kept + gone)}", class_="value"))
        caption = f"Documents by the language that the step {found.step} found; what stays is still there after {found.last_step}."
        said.append(tag("figure", tag("div", *parts, class_="ranks"), tag("figcaption", caption)))
    return said


def compared_section(tables: RunTables) -> list[Inside]:
    """What each way to find copies caught, and what it shares with the others, where there are two or more."""
    found = compare(tables)
    if len(found) < 2:
        return []
    head = ["step", "came to it", "has copies", "share", "went", "bytes", *(f"and {one.step}" for one in found)]
    rows = [
        [
            one.step,
            number(one.came),
            number(one.documents),
            share(one.documents, one.came),
            number(one.dropped),
            "–" if one.bytes is None else size(one.bytes),
            *("" if other.step == one.step else number(one.both[other.step]) for other in found),
        ]
        for one in found
    ]
    note = "A document that goes does not come to the next step: how far two agree shows where the first only marks."
    return [table(head, rows, words=(0,)), tag("p", note, class_="note")]


def copies_section(tables: RunTables) -> list[Inside]:
    """What the corpus steps found: how alike the copies are, and the least alike of them beside their twins."""
    said: list[Inside] = []
    for step in tables.labels:
        pairs = samples.pairs(tables, step, PAIRS)
        if not pairs:
            continue
        said.append(tag("h3", step))
        facts = tables.files.facts(f"{step}-verdicts")
        if "candidates" in facts:
            words = f"{number(facts['candidates'])} pairs met and were compared, {number(facts['verified'])} of them are copies."
            said.append(tag("p", words))
        alike = histograms.similarities(tables, step)
        exact = all(pair["document"]["text"] == pair["duplicate_of"]["text"] for pair in pairs)
        if alike and not exact:
            chart = histogram(alike, label=f"documents that {step} drops by similarity", unit="similarity", height=120)
            said.append(
                tag("figure", chart, tag("figcaption", "similarity with the twin that stays; upright: documents"))
            )
        shown = pairs[:1] if exact else pairs
        said.append(tag("p", "The least alike:" if not exact else "One of them:", class_="note"))
        said += [cards.pair(pair) for pair in shown]
    return said


def repeated_section(tables: RunTables) -> list[Inside]:
    """The lines and paragraphs that occur most often, where a step has counted them."""
    said: list[Inside] = []
    for step, found in most_repeated(tables, REPEATED).items():
        if not found:
            continue
        facts = tables.files.facts(f"{step}-verdicts")
        rows = [
            [
                excerpt(one_line(row["text"]), 200),
                number(row["occurrences"]),
                number(row["documents"]),
                size(row["bytes"]),
                row["id"],
            ]
            for row in found
        ]
        head = ["", "times", "documents", "bytes", "first in"]
        more = tag("details", tag("summary", f"{len(rows) - FIRST} more"), table(head, rows[FIRST:], words=(0, 4)))
        said.append(tag("h3", step))
        compared = tables.files.facts(f"{step}-group")["compared"]
        words = f"{number(facts['repeats'])} of {number(compared)} that were compared repeat, {size(facts['repeated_bytes'])}."
        said.append(tag("p", words))
        said += [table(head, rows[:FIRST], words=(0, 4)), more if len(rows) > FIRST else None]
    return said


def lost_section(tables: RunTables) -> list[Inside]:
    """Records that were read and are no documents, by kind, and documents that a step failed on."""
    kinds = lost(tables)
    rows = [
        [entry.kind, entry.step, "expected" if entry.expected else "a fault", number(entry.records)] for entry in kinds
    ]
    rows += [[kind, "reading", "could not be a document", number(count)] for kind, count in skipped(tables).items()]
    if not rows:
        return []
    said: list[Inside] = [table(["kind", "step", "", "records"], rows, words=range(3))]
    shown = []
    for kind in dict.fromkeys(entry.kind for entry in kinds):
        for letter in samples.dead(tables, DEAD, kind):
            place = f"{letter['source']} {PurePath(letter['file'] or '').name}:{letter['position']}"
            shown.append(
                [
                    kind,
                    excerpt(one_line(letter["reason"] or ""), 200),
                    place,
                    excerpt(one_line(letter["url"] or ""), 100),
                ]
            )
    if shown:
        said.append(
            tag(
                "details",
                tag("summary", "some of them"),
                table(["kind", "what is wrong", "where", "url"], shown, words=range(4)),
            )
        )
    return said


def rows_section(tables: RunTables, flow: Waterfall) -> list[Inside]:
    """How the tokens stand in training rows, and whether the engine agrees with the reference."""
    said: list[Inside] = []
    if rows := packing_table(flow):
        said.append(table(["", ""], rows))
    if words := checked_words(tables):
        said.append(tag("p", words))
    return said


ABSOLUTE = re.compile(r"(?<![\w.:/~-])(?:~?/[^\s,'\"\[\]{}]+)+/")


def recipe_section(tables: RunTables) -> list[Inside]:
    """The recipe as it was run; of absolute paths only the last part, for the page is made to be shown to others."""
    text = ABSOLUTE.sub("…/", tables.files.recipe_text)
    versions = ", ".join(f"{name} {version}" for name, version in tables.files.versions.items())
    return [tag("pre", text), tag("p", versions, class_="note")]


def _read_bytes(flow: Waterfall) -> int:
    return sum(source["bytes"] for source in flow.read.values())


def _hash(text: str) -> str:
    """A text as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
