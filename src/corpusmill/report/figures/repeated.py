"""Which lines and paragraphs occur most often."""

from dataclasses import dataclass
from typing import Any

from corpusmill.report.tables import RunTables
from corpusmill.store.tables import read_table


@dataclass(frozen=True)
class Repeated:
    """What a step that counts lines or paragraphs found.

    compared   lines or paragraphs that were long enough to be compared
    repeats    of these, those that another one equals; `bytes` of them
    most       those that occur most often, see `most_repeated`
    """

    step: str
    compared: int
    repeats: int
    bytes: int
    most: tuple[dict[str, Any], ...]


def repeated(tables: RunTables, n: int) -> list[Repeated]:
    """Every step of a run that found repeated lines or paragraphs, in order.

    n   lines or paragraphs per step
    """
    figures = []
    for step, rows in most_repeated(tables, n).items():
        if rows:
            compared = tables.files.facts(f"{step}-group")["compared"]
            facts = tables.files.facts(f"{step}-verdicts")
            figures.append(Repeated(step, compared, facts["repeats"], facts["repeated_bytes"], tuple(rows)))
    return figures


def most_repeated(tables: RunTables, n: int) -> dict[str, list[dict[str, Any]]]:
    """For each step that counts lines or paragraphs, those that occur most often: each a dict of `text`,
    `occurrences`, `documents`, `bytes` of all of them, and the `id` of the document that has it first.

    Of equals those with more bytes come first. A step keeps 100 at most.
    """
    by_step: dict[str, list[dict[str, Any]]] = {}
    for step in tables.labels:
        paths = tables.files.outputs(f"{step}-verdicts", "repeated")
        if paths:
            rows = [row for path in paths for row in read_table(path).to_pylist()]
            order = sorted(rows, key=lambda row: (-row["occurrences"], -row["bytes"], row["text"], row["id"]))
            by_step[step] = order[:n]
    return by_step
