"""The domains with most documents: what was read of each, and what was kept."""

from corpusmill.report.figures.domains import Domain, domains
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import RunTables

MAX_DOMAINS_SHOWN = 20  # domains that are listed


def section(tables: RunTables) -> list[Inside]:
    figure = domains(tables)
    if not figure.domains:
        return []
    words = f"{plural(len(figure.domains), 'domain')}; {number(figure.documents)} documents have a URL"
    words += f" and {number(figure.without)} have none." if figure.without else "."
    none = sum(not domain.kept for domain in figure.domains)
    words += f" No document of {plural(none, 'domain')} was kept." if none else ""
    shown = sorted(figure.domains, key=lambda domain: (-domain.documents, domain.name))[:MAX_DOMAINS_SHOWN]
    head = ["domain", "documents", "kept", "share kept", "text kept", "share of text kept"]
    total = len(figure.domains)
    about = f"The {MAX_DOMAINS_SHOWN} domains with the most documents." if total > MAX_DOMAINS_SHOWN else None
    rows = [row(domain, figure.bytes) for domain in shown]
    return [tag("p", words), table(head, rows), tag("p", about, class_="note")]


def row(domain: Domain, total_bytes: int) -> list[Inside]:
    return [
        domain.name,
        number(domain.documents),
        number(domain.kept),
        share(domain.kept, domain.documents),
        size(domain.bytes),
        share(domain.bytes, total_bytes),
    ]
