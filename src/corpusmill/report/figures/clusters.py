"""How large the clusters of duplicates are that a step found, and what each removal lost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corpusmill.report.bins import Histogram, octaves
from corpusmill.report.tables import RunTables, identifier

LOST_SHARE_BINS = 50  # bins of the share that is lost, 0 to 1
ROUNDING_SLACK = 1e-9  # shares are quotients of counts: what is this near to an edge is at it


@dataclass(frozen=True)
class ClusterFigures:
    """Of a dedup step.

    clusters   kept documents for which at least one was dropped or marked
    documents  in these, the kept ones too
    largest    documents of the largest
    sizes      of the clusters, in documents
    lost       the duplicates by the share of their n-grams that the kept document lacks; None if the step does not
               record it
    """

    step: str
    clusters: int
    documents: int
    largest: int
    sizes: Histogram
    lost: Histogram | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def clusters(tables: RunTables) -> list[ClusterFigures]:
    """Every step of a run that found duplicates of documents, in order. Reads one or two columns of signals."""
    figures = []
    for number, (_, labels) in enumerate(tables.passes):
        columns = tables.columns(number)
        for step in labels:
            if f"{step}.duplicate_of" not in columns:
                continue
            name, table = identifier(f"{step}.duplicate_of"), tables.table("signals", number)
            rows = tables.tuples(
                f"SELECT size, count(*) FROM (SELECT count(*) + 1 AS size FROM ({table}) WHERE {name} NOTNULL "
                f"GROUP BY {name}) GROUP BY 1 ORDER BY 1"
            )
            if rows:
                lost = _lost(tables, number, step) if f"{step}.lost" in columns else None
                many, documents = sum(n for _, n in rows), sum(size * n for size, n in rows)
                figures.append(ClusterFigures(step, many, documents, rows[-1][0], _sizes(rows), lost))
    return figures


def _sizes(rows: Sequence[tuple[int, int]]) -> Histogram:
    edges = octaves(rows[-1][0])
    counts, at = [0] * (len(edges) - 1), 0
    for size, n in rows:
        while edges[at + 1] <= size:
            at += 1
        counts[at] += n
    return Histogram(edges, {"clusters": tuple(counts)}, True, rows[-1][0]).trimmed()


def _lost(tables: RunTables, number: int, step: str) -> Histogram | None:
    name = identifier(f"{step}.lost")
    rows = tables.tuples(
        f"SELECT least(floor({name} * {LOST_SHARE_BINS} + {ROUNDING_SLACK}), {LOST_SHARE_BINS - 1})::BIGINT, count(*) "
        f"FROM ({tables.table('signals', number)}) WHERE {name} NOTNULL AND NOT isnan({name}) GROUP BY 1"
    )
    counts = [0] * LOST_SHARE_BINS
    for bin_number, n in rows:
        counts[bin_number] = n
    if not rows:
        return None
    edges = tuple(i / LOST_SHARE_BINS for i in range(LOST_SHARE_BINS + 1))
    return Histogram(edges, {"dropped": tuple(counts)}, False, 0.0).trimmed()
