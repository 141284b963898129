"""What each dedup step found, and what two of them both found.

A dropped document never reaches later steps. So the overlap of two steps is known only if the first one marks
(`mark: true`) or cuts: recipes/compare-dedup.yaml marks with all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables, identifier, literal

FLAGGED = {  # signal -> the condition by which its step found something in a document, as SQL
    "duplicate_of": "{} IS NOT NULL",
    "repeats": "{} > 0",
    "passages": "{} > 0",
}


@dataclass(frozen=True)
class DedupStep:
    """What a step found.

    documents_in   input documents of sources that it is for
    documents      of these, those that are duplicates, or hold repeats
    dropped        those that it dropped
    bytes          of `documents`; of the repeats alone, if the step records them; None if it records no bytes
    both           other step -> documents in which it also found something
    """

    step: str
    documents_in: int
    documents: int
    dropped: int
    bytes: int | None
    both: dict[str, int]


def dedup_table(steps: Sequence[DedupStep]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    head = ["step", "documents in", "with duplicates", "share", "dropped", "bytes"]
    head += [f"also found by {one.step}" for one in steps]
    rows = [
        [
            one.step,
            number(one.documents_in),
            number(one.documents),
            share(one.documents, one.documents_in),
            number(one.dropped),
            "–" if one.bytes is None else size(one.bytes),
            *("" if other.step == one.step else number(one.both[other.step]) for other in steps),
        ]
        for one in steps
    ]
    return head, rows


def dedup_steps(tables: RunTables) -> list[DedupStep]:
    """Every dedup step of a run, in order."""
    flags = _flags(tables)
    return [_figure(tables, step, flags) for step in flags]


def _flags(tables: RunTables) -> dict[str, tuple[int, str]]:
    """step -> its pass, and the condition by which it flagged a document, as SQL."""
    flags: dict[str, tuple[int, str]] = {}
    for at, (_, labels) in enumerate(tables.passes):
        columns = tables.columns(at)
        for label in labels:
            for signal, condition in FLAGGED.items():
                if f"{label}.{signal}" in columns:
                    flags[label] = at, condition.format(f"p{at}.{identifier(f'{label}.{signal}')}")
                    break
    return flags


def _figure(tables: RunTables, step: str, flags: dict[str, tuple[int, str]]) -> DedupStep:
    number, flagged = flags[step]
    labels, columns = tables.passes[number][1], tables.columns(number)
    dropped_by = f"p{number}.dropped_by"
    before = ", ".join(literal(label) for label in labels[: labels.index(step)])
    reached = f"({dropped_by} IS NULL OR {dropped_by} NOT IN ({before}))" if before else "true"
    if step in tables.files.only:
        reached += f" AND p{number}.{tables.is_for(step)}"
    repeats = f"{step}.repeated_bytes"
    counts_bytes = f"{step}.passages" not in columns
    size = f"p{number}.{identifier(repeats if repeats in columns else 'bytes')}"
    others = {other: flag for other, flag in flags.items() if other != step}
    selected = [
        f"count(*) FILTER ({reached})",
        f"count(*) FILTER ({flagged})",
        f"count(*) FILTER ({dropped_by} = {literal(step)})",
        f"sum({size}) FILTER ({flagged})" if counts_bytes else "NULL",
        *(f"count(*) FILTER ({flagged} AND {other})" for _, other in others.values()),
    ]
    joined = f"({tables.table('signals', number)}) AS p{number}"
    for other in sorted({other for other, _ in others.values()} - {number}):
        joined += f" LEFT JOIN ({tables.table('signals', other)}) AS p{other} ON p{number}.id = p{other}.id"
    row = tables.tuples(f"SELECT {', '.join(selected)} FROM {joined}")[0]
    return DedupStep(
        step, row[0], row[1], row[2], int(row[3] or 0) if counts_bytes else None, dict(zip(others, row[4:]))
    )
