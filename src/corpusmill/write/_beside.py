"""Signals as the layouts of other programs have them: spans, [start, end, score], beside the documents."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import types

from corpusmill.errors import RecipeError
from corpusmill.write import matching

ODD_CHARACTERS = re.compile(r"[^\w.-]+")
Spans = list[list[Any]]


def documents(
    batches: Iterable[pa.RecordBatch], signals: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(document, its metadata, its signals that these patterns fit) of every document.

    Raises RecipeError for a signal that is neither a number, a text, true or false, nor spans.
    """
    for batch in batches:
        chosen = matching(signals, [name for name in batch.schema.names if "." in name])
        for name in chosen:
            _check(name, batch.schema.field(name).type)
        columns = ["id", "text", "source", "url", "date", "metadata"]
        for row, values in zip(batch.select(columns).to_pylist(), _rows(batch, chosen)):
            about = orjson.loads(row["metadata"]) if row["metadata"] else {}
            yield row, about, values


def _rows(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    if not names:
        yield from ({} for _ in range(len(batch)))
        return
    yield from batch.select(list(names)).to_pylist()


def _check(name: str, kind: pa.DataType) -> None:
    fits = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string)
    if not any(fit(kind) for fit in (*fits, types.is_null)) and not _is_spans(kind):
        raise RecipeError(f"signals: {name} holds {kind}, and a span has a number; leave it out")


def _is_spans(kind: pa.DataType) -> bool:
    """Whether values are lists of kind, start and end, in bytes, as `annotate/pii` has them."""
    if not (types.is_list(kind) and types.is_struct(kind.value_type)):
        return False
    return {field.name for field in kind.value_type} == {"kind", "start", "end"}


def spans_of(signals: dict[str, Any], prefix: str, join: str, text: str) -> dict[str, Spans]:
    """Signals as spans of a whole text, by names that begin with `prefix`; spans in bytes as spans in characters.

    True is 1, false 0. A text is part of the name, with the score 1, and so is the kind of spans that a step has found.
    What was not measured has no span. Raises RecipeError for spans of another text.

    >>> spans_of({"language.score": 0.9, "language.label": "en", "url.domain": None}, "cm", "__", "Seven.\\n")
    {'cm__language__score': [[0, 7, 0.9]], 'cm__language__label__en': [[0, 7, 1.0]], 'cm__url__domain': []}
    """
    spans: dict[str, Spans] = {}
    length = len(text)
    for name, value in signals.items():
        full = join.join((prefix, *name.split(".", 1)))
        if isinstance(value, str):
            spans[f"{full}{join}{ODD_CHARACTERS.sub('_', value)}"] = [[0, length, 1.0]]
        elif isinstance(value, list):
            for span in value:
                start, end = _in_characters(text, span["start"], span["end"], name)
                spans.setdefault(f"{full}{join}{span['kind']}", []).append([start, end, 1.0])
        elif value is None or (isinstance(value, float) and not math.isfinite(value)):
            spans[full] = []
        else:
            spans[full] = [[0, length, float(value) if isinstance(value, bool) else value]]
    return spans


def _in_characters(text: str, start: int, end: int, name: str) -> tuple[int, int]:
    data = text.encode()
    try:
        if not start <= end <= len(data):
            raise ValueError
        before = len(data[:start].decode())
        return before, before + len(data[start:end].decode())
    except ValueError as error:
        raise RecipeError(
            f"signals: {name} are spans of another text: a step changed it after they were found. Leave them out, or "
            "find them after that step"
        ) from error
