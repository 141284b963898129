"""Questions of benchmarks in the documents, by benchmark and by question, and some of them to judge."""

from corpusmill.report.figures.leaks import MANY, LeakedQuestion, Leaks, leaks
from corpusmill.report.html.markup import HtmlText, Inside, join, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt, one_line

QUESTIONS = 20  # per step
URL = 160  # characters


def section(tables: RunTables) -> list[Inside]:
    return [part for step in leaks(tables) for part in of_step(step)]


def of_step(step: Leaks) -> list[Inside]:
    parts: list[Inside] = [tag("h3", step.step)]
    if not step.items:
        parts.append(tag("p", "No benchmark question was found."))
        return [*parts, *public(step)]
    rows = [[name, number(held), number(questions)] for name, (held, questions) in step.benchmarks.items()]
    rows.append(["all", number(step.documents), number(len(step.items))])
    parts.append(table(["benchmark", "documents", "questions found"], rows))
    parts += [*often(step), *public(step)]
    shown = [
        [leak.benchmark, leak.item, number(leak.documents), f"{leak.overlap:.2f}"] for leak in step.items[:QUESTIONS]
    ]
    words = "the questions found" if len(shown) == len(step.items) else f"the {QUESTIONS} most frequent questions"
    inside = table(["benchmark", "item", "documents", "highest overlap"], shown, words=(0, 1))
    parts.append(tag("details", tag("summary", words), inside))
    if step.judged:
        words = f"a random sample of {len(step.judged)} documents, to judge"
        parts.append(tag("details", tag("summary", words), *(card(one) for one in step.judged)))
    return parts


def often(step: Leaks) -> list[Inside]:
    if not step.many:
        return []
    note = f"Questions in more than {MANY} documents each are probably ordinary public text (a passage of a novel, a "
    note += (
        "common phrase). If the sample confirms it, name the benchmark, or benchmark/item, in corpus_material: such "
    )
    note += "text is counted apart and its documents are kept."
    rows = [[name, number(held), number(items)] for name, (held, items) in step.many.items()]
    head = ["benchmark", "documents with no other question of it", f"questions in more than {MANY} documents"]
    return [table(head, rows), tag("p", note, class_="note")]


def public(step: Leaks) -> list[Inside]:
    """What the recipe takes for ordinary public text."""
    if not step.material:
        return []
    rows = [[name, number(held), number(items)] for name, (held, items) in step.material.items()]
    note = "Corpus material: contexts of questions, and what corpus_material names. No reason to drop a document."
    return [table(["corpus material of", "documents", "items found"], rows), tag("p", note, class_="note")]


def card(one: LeakedQuestion) -> HtmlText:
    """The words found, marked, in their context; beside them the question as the benchmark has it."""
    place = [tag("b", tag("bdi", excerpt(one_line(one.url), URL)))] if one.url else []
    about = tag("div", join([*place, f"id {one.id}"], " · "), class_="address")
    context = [tag("span", f"… {one.before} "), tag("mark", one.passage), tag("span", f" {one.after} …")]
    name = f"{one.benchmark}: {one.item}, overlap {one.overlap:.2f}"
    left = tag("div", tag("h4", "document"), about, tag("div", *context, class_="text", dir="auto"))
    right = tag("div", tag("h4", "benchmark"), tag("div", name, class_="address"), tag("div", one.asked, class_="text"))
    return tag("div", tag("div", left, right, class_="two"), class_="reason")
