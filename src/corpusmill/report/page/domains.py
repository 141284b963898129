"""The domains with most documents: what was read of each, and what was kept."""

from corpusmill.report.figures.domains import Domain, domains
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import RunTables

MOST = 20  # domains that are listed


def section(tables: RunTables) -> list[Inside]:
    figure = domains(tables)
    if not figure.domains:
        return []
    words = f"{plural(len(figure.domains), 'domain')}; {number(figure.documents)} documents have a web address"
    words += f" and {number(figure.without)} have none." if figure.without else "."
    none = sum(not one.kept for one in figure.domains)
    words += f" Of {number(none)} of them nothing was kept." if none else ""
    most = sorted(figure.domains, key=lambda one: (-one.documents, one.name))[:MOST]
    head = ["domain", "documents", "kept", "share kept", "text kept", "share of text kept"]
    about = f"The {MOST} with most documents." if len(figure.domains) > MOST else None
    return [tag("p", words), table(head, [row(one, figure.bytes) for one in most]), tag("p", about, class_="note")]


def row(one: Domain, whole: int) -> list[Inside]:
    return [
        one.name,
        number(one.documents),
        number(one.kept),
        share(one.kept, one.documents),
        size(one.bytes),
        share(one.bytes, whole),
    ]
