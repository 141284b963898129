"""A few of the kept documents."""

from corpusmill.report import samples
from corpusmill.report.html import cards
from corpusmill.report.html.markup import Inside, tag
from corpusmill.report.tables import RunTables

DOCUMENTS_SHOWN = 4


def section(tables: RunTables) -> list[Inside]:
    documents = samples.kept_documents(tables, DOCUMENTS_SHOWN)
    if not documents:
        return []
    note = tag("p", "A fixed random sample.", class_="note")
    return [note, *(cards.document(entry, {}) for entry in documents)]
