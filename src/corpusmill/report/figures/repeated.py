"""Which lines and paragraphs occur most often."""

from typing import Any

import pyarrow.parquet as pq

from corpusmill.report.tables import RunTables


def most_repeated(tables: RunTables, n: int) -> dict[str, list[dict[str, Any]]]:
    """For each step that counts lines or paragraphs, those that occur most often: each a dict of `text`,
    `occurrences`, `documents`, `bytes` of all of them, and the `id` of the document that has it first.

    Of equals those with more bytes come first. A step keeps 100 at most.
    """
    by_step: dict[str, list[dict[str, Any]]] = {}
    for step in tables.labels:
        paths = tables.files.outputs(f"{step}-verdicts", "repeated")
        if paths:
            rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
            order = sorted(rows, key=lambda row: (-row["occurrences"], -row["bytes"], row["text"], row["id"]))
            by_step[step] = order[:n]
    return by_step
