"""Which records and documents were lost, and why."""

from dataclasses import dataclass

from corpusmill.report.numbers import plural, share
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class LostRecords:
    """Records that could not be read, or documents that a step could not process, of one kind.

    expected   not an error: an image, a page that was not found
    """

    step: str
    kind: str
    expected: bool
    records: int


def lost(tables: RunTables) -> list[LostRecords]:
    """Every kind of loss: errors first, then the most frequent."""
    if not any(sum(tables.files.rows("dead", number)) for number in range(len(tables.passes))):
        return []
    query = f"SELECT step, kind, expected, count(*) AS records FROM ({tables.tables('dead')})"
    rows = tables.tuples(f"{query} GROUP BY ALL ORDER BY expected, records DESC, step, kind")
    return [LostRecords(*row) for row in rows]


def skipped(tables: RunTables) -> dict[str, int]:
    """kind -> records that are not documents, in all sources: requests, images and the like."""
    kinds: dict[str, int] = {}
    for source in tables.files.waterfall().read.values():
        for kind, count in source["skipped"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    return dict(sorted(kinds.items()))


def reading_warnings(tables: RunTables) -> list[str]:
    """A sentence for each source that has documents whose date cannot be read, or bytes that are not in its charset."""
    sentences = []
    for name, source in tables.files.waterfall().read.items():
        if count := source.get("unread_dates", 0):
            sentences.append(f"{name}: the date of {plural(count, 'document')} cannot be read and is null")
        if count := source.get("broken_texts", 0):
            documents = f"{plural(count, 'document')} ({share(count, source['documents'])})"
            sentences.append(f"{name}: {documents} had bytes that are not in its charset; they became U+FFFD")
    return sentences
