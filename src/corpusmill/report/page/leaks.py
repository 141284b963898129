"""Questions of benchmarks in the documents, by benchmark and by question, and some of them to judge."""

from corpusmill.report.figures.leaks import ORDINARY_ABOVE, LeakedQuestion, Leaks, leaks
from corpusmill.report.html.cards import MAX_URL_CHARS
from corpusmill.report.html.markup import HtmlText, Inside, join, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt, one_line

MAX_QUESTIONS_SHOWN = 20  # per step


def section(tables: RunTables) -> list[Inside]:
    return [part for step in leaks(tables) for part in of_step(step)]


def of_step(step: Leaks) -> list[Inside]:
    parts: list[Inside] = [tag("h3", step.step)]
    if not step.items:
        parts.append(tag("p", "No benchmark questions found."))
        return [*parts, *public(step)]
    rows = [[name, number(documents), number(questions)] for name, (documents, questions) in step.benchmarks.items()]
    rows.append(["all", number(step.documents), number(len(step.items))])
    parts.append(table(["benchmark", "documents", "questions found"], rows))
    parts += [*often(step), *public(step)]
    shown = [
        [leak.benchmark, leak.item, number(leak.documents), f"{leak.overlap:.2f}"]
        for leak in step.items[:MAX_QUESTIONS_SHOWN]
    ]
    is_all = len(shown) == len(step.items)
    words = "the questions found" if is_all else f"the {MAX_QUESTIONS_SHOWN} most frequent questions"
    inside = table(["benchmark", "item", "documents", "highest overlap"], shown, words=(0, 1))
    parts.append(tag("details", tag("summary", words), inside))
    if step.judged:
        words = f"a random sample of {len(step.judged)} documents for review"
        parts.append(tag("details", tag("summary", words), *(card(question) for question in step.judged)))
    return parts


def often(step: Leaks) -> list[Inside]:
    if not step.many:
        return []
    note = f"Questions in more than {ORDINARY_ABOVE} documents each are probably ordinary public text (a passage of a "
    note += "novel, a common phrase). If the sample confirms it, name the benchmark, or benchmark/item, in "
    note += "corpus_material: such text is then counted separately, and its documents are kept."
    rows = [[name, number(documents), number(items)] for name, (documents, items) in step.many.items()]
    head = ["benchmark", "documents with no other question", f"questions in more than {ORDINARY_ABOVE} documents"]
    return [table(head, rows), tag("p", note, class_="note")]


def public(step: Leaks) -> list[Inside]:
    """What the recipe takes for ordinary public text."""
    if not step.material:
        return []
    rows = [[name, number(documents), number(items)] for name, (documents, items) in step.material.items()]
    note = "Corpus material: contexts of questions, and what corpus_material names; not a reason to drop a document."
    return [table(["corpus material of", "documents", "items found"], rows), tag("p", note, class_="note")]


def card(question: LeakedQuestion) -> HtmlText:
    """The words found, marked, in their context; beside them the question as the benchmark has it."""
    url_parts = [tag("b", tag("bdi", excerpt(one_line(question.url), MAX_URL_CHARS)))] if question.url else []
    about = tag("div", join([*url_parts, f"id {question.id}"], " · "), class_="address")
    context = [tag("span", f"… {question.before} "), tag("mark", question.passage), tag("span", f" {question.after} …")]
    name = f"{question.benchmark}: {question.item}, overlap {question.overlap:.2f}"
    document_side = tag("div", tag("h4", "document"), about, tag("div", *context, class_="text", dir="auto"))
    asked = tag("div", question.asked, class_="text")
    benchmark_side = tag("div", tag("h4", "benchmark"), tag("div", name, class_="address"), asked)
    return tag("div", tag("div", document_side, benchmark_side, class_="two"), class_="reason")
