"""What the ways to find copies caught, and what two of them both caught.

A document that one step drops does not come to the next one. So how far two of them agree shows only where the first
one marks (`mark: true`) or cuts: recipes/compare-dedup.yaml marks with all of them.
"""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables, identifier, literal

CAUGHT = {  # signal -> whether it says that its step found something in a document
    "duplicate_of": "{} IS NOT NULL",
    "repeats": "{} > 0",
    "passages": "{} > 0",
}


@dataclass(frozen=True)
class Caught:
    """What a step found.

    came        documents that came to it
    documents   of these, those that it found a copy of, or repeats in; `share` of `came`
    dropped     those that it dropped
    bytes       of the documents with a copy; of the repeats alone, where the step says how many
    both        other step -> documents that it found something in, too
    """

    step: str
    came: int
    documents: int
    dropped: int
    bytes: int | None
    both: dict[str, int]


def compare(tables: RunTables) -> list[Caught]:
    """Every step of a run that finds copies, in order."""
    found: dict[str, tuple[int, str]] = {}  # step -> its pass, and whether it caught a document, in SQL
    for number, (_, labels) in enumerate(tables.passes):
        columns = tables.columns(number)
        for label in labels:
            for signal, condition in CAUGHT.items():
                if f"{label}.{signal}" in columns:
                    found[label] = number, condition.format(f"p{number}.{identifier(f'{label}.{signal}')}")
                    break
    if not found:
        return []
    said = []
    for step, (number, caught) in found.items():
        here = f"p{number}.dropped_by"
        labels = tables.passes[number][1]
        before = ", ".join(literal(label) for label in labels[: labels.index(step)])
        came = f"({here} IS NULL OR {here} NOT IN ({before}))" if before else "true"
        part = f"{step}.repeated_bytes"
        columns = tables.columns(number)
        size = f"p{number}.{identifier(part if part in columns else 'bytes')}"
        counted = "NULL" if f"{step}.passages" in columns else f"sum({size}) FILTER ({caught})"
        others = [other for other in found if other != step]
        both = [f"count(*) FILTER ({caught} AND {found[other][1]})" for other in others]
        joined = f"({tables.table('signals', number)}) AS p{number}"
        for other in sorted({found[other][0] for other in others} - {number}):
            joined += f" LEFT JOIN ({tables.table('signals', other)}) AS p{other} ON p{number}.id = p{other}.id"
        dropped = f"count(*) FILTER ({here} = {literal(step)})"
        query = f"SELECT count(*) FILTER ({came}), count(*) FILTER ({caught}), {dropped}, {counted}"
        row = tables.tuples(f"{', '.join([query, *both])} FROM {joined}")[0]
        size_found = None if row[3] is None and f"{step}.passages" in columns else int(row[3] or 0)
        said.append(Caught(step, row[0], row[1], row[2], size_found, dict(zip(others, row[4:]))))
    return said
