"""How many documents of each domain were read, and how many were kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from corpusmill.report.tables import RunTables

HOST_PATTERN = r"^[A-Za-z]+://(?:[^/@]*@)?([A-Za-z0-9.-]+)"  # of an address, for DuckDB


@dataclass(frozen=True)
class Domain:
    """A registered domain, as in example.co.uk.

    documents   of it that reached the first step
    kept        of these, after the last step
    bytes       of text of the kept ones
    tokens      of the kept ones; 0 where the recipe counts none
    """

    name: str
    documents: int
    kept: int
    bytes: int
    tokens: int


@dataclass(frozen=True)
class Domains:
    """Those with most kept text first.

    documents   that reached the first step and have a web address
    without     that reached it and have none
    kept        of the documents with an address
    bytes       of text of these
    """

    documents: int
    without: int
    kept: int
    bytes: int
    domains: tuple[Domain, ...]


def domains(tables: RunTables) -> Domains:
    """All domains of a finished run. Reads the addresses of all documents: seconds per million."""
    if not tables.passes:
        return Domains(0, 0, 0, 0, ())
    first, last = tables.table("signals", 0), tables.table("signals", len(tables.passes) - 1)
    host = f"coalesce(lower(regexp_extract(url, '{HOST_PATTERN}', 1)), '')"
    rows = tables.tuples(
        f"SELECT host, sum(documents)::BIGINT, sum(kept)::BIGINT, sum(bytes)::BIGINT, sum(tokens)::BIGINT FROM ("
        f"SELECT {host} AS host, count(*) AS documents, 0 AS kept, 0 AS bytes, 0 AS tokens FROM ({first}) GROUP BY 1 "
        f"UNION ALL SELECT {host}, 0, count(*), sum(bytes), coalesce(sum(tokens), 0) FROM ({last}) "
        "WHERE dropped_by IS NULL GROUP BY 1) GROUP BY 1"
    )
    without = sum(documents for host, documents, *_ in rows if not host)
    sums = by_domain(row for row in rows if row[0])
    ordered = sorted(
        (Domain(name, *own) for name, own in sums.items()), key=lambda domain: (-domain.bytes, domain.name)
    )
    documents, kept_count, size = (sum(own[column] for own in sums.values()) for column in range(3))
    return Domains(documents, without, kept_count, size, tuple(ordered))


def by_domain(rows: Iterable[Sequence[Any]]) -> dict[str, list[int]]:
    """registered domain -> sums over its hosts. A row is a host and its numbers; a host without a registered domain, as
    an IP address, is its own."""
    sums = dict[str, list[int]]()
    for host, *numbers in rows:
        own = sums.setdefault(registered(host), [0] * len(numbers))
        for column, value in enumerate(numbers):
            own[column] += int(value)
    return sums


def registered(host: str) -> str:
    """The registered domain of a host, or the host: of an IP address too, whose numbers the rules would take apart."""
    if host.rpartition(".")[2].isdigit():
        return host
    return str(_suffixes().privatesuffix(host) or host)


@cache  # to read its ten thousand rules takes a quarter of a second
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
