"""Which documents stand in which file of text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

MB = 1_000_000  # bytes


class Part(NamedTuple):
    """What a file of text takes from one unit: the row groups [first, stop) of its documents, with their signals."""

    docs: str
    signals: str
    first: int
    stop: int


def text_files(writer: Any, units: Sequence[tuple[str, str]], root: Path) -> list[tuple[Part, ...]]:
    """The parts of every file: one a unit, or as the writer's `mb_per_file` and `single_file` say.

    units   their files of documents and of signals, relative to `root`

    A file ends with the row group that brings its text to `mb_per_file`; a row group has up to 32 MiB of text.
    """
    single, megabytes = getattr(writer, "single_file", False), getattr(writer, "mb_per_file", None)
    files: list[tuple[Part, ...]] = []
    waiting: list[Part] = []
    size = 0
    for docs, signals in units:
        groups = text_of_groups(root / docs)
        first = 0
        for group, text in enumerate(groups, 1):
            size += text
            if megabytes is not None and size >= megabytes * MB:
                files.append((*waiting, Part(docs, signals, first, group)))
                waiting, size, first = [], 0, group
        if first < len(groups) or not groups:
            waiting.append(Part(docs, signals, first, len(groups)))
        if megabytes is None and not single:
            files.append(tuple(waiting))
            waiting = []
    full = any(part.stop for part in waiting)  # units without documents make no file of their own
    return [*files, tuple(waiting)] if full or not files else files


def text_of_groups(path: Path) -> list[int]:
    """Bytes of text in each row group of a file of documents."""
    metadata = pq.read_metadata(path)
    column = next((i for i in range(metadata.num_columns) if metadata.schema.column(i).path == "text"), None)
    groups = range(metadata.num_row_groups)
    return [
        metadata.row_group(group).column(column).total_uncompressed_size if column is not None else 0
        for group in groups
    ]
