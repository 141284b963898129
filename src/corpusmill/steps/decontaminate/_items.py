"""Items of benchmarks, read from JSON Lines files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.errors import AssetError, did_you_mean

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.bz2", ".ndjson")
ITEM = pa.schema(
    [
        ("benchmark", pa.string()),  # the name of the file, without its suffix
        ("id", pa.string()),  # the number of the line where the file gives none
        ("question", pa.large_string()),
        ("answer", pa.large_string()),  # null if there is none
    ]
)


@dataclass(frozen=True)
class Fields:
    """The names of the fields of a line; None where the files have no such field.

    choices   the texts to choose from, if `answer` is the letter or the number (from 0) of one of them
    """

    question: str
    answer: str | None
    choices: str | None
    id: str | None

    @property
    def named(self) -> dict[str, str]:
        """parameter -> field, for the fields that every line must have."""
        return {name: field for name, field in vars(self).items() if field is not None}


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder in the order of their names. Raises AssetError for a folder without any."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
    if not files:
        raise AssetError(f"{path}: a folder without benchmarks; they are files named {', '.join(SUFFIXES)}")
    return files


def name_of(path: Path) -> str:
    """`arc_easy` of arc_easy.jsonl.gz"""
    return next((path.name.removesuffix(suffix) for suffix in SUFFIXES if path.name.endswith(suffix)), path.stem)


def read_items(paths: Sequence[Path], fields: Fields) -> pa.Table:
    """The items of the files, ITEM, in order.

    Raises AssetError for a line that is not a JSON object or lacks a field, for a value that is not text where text is
    needed, and for a file without items.
    """
    tables = []
    for path in paths:
        rows = [_item(path, number, line, fields) for number, line in _lines(path)]
        if not rows:
            raise AssetError(f"{path}: it has no items, so nothing could be found")
        tables.append(pa.Table.from_pylist(rows, schema=ITEM))
    return pa.concat_tables(tables).combine_chunks()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each line that is not blank; compressed files are decompressed."""
    try:
        with pa.input_stream(str(path), compression="detect") as file:
            data = file.read()
    except OSError as error:
        raise AssetError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line


def _item(path: Path, number: int, line: bytes, fields: Fields) -> dict[str, Any]:
    where = f"{path}:{number}"
    try:
        record = orjson.loads(line)
    except ValueError as error:
        raise AssetError(f"{where}: not JSON ({error}); a benchmark has one JSON object per line") from None
    if not isinstance(record, dict):
        raise AssetError(f"{where}: not a JSON object, but {type(record).__name__}; a benchmark has one per line")
    for parameter, field in fields.named.items():
        if field not in record:
            near = did_you_mean(field, record) or "."
            other = "" if parameter == "question" else f", or {parameter}: null if there is none"
            raise AssetError(
                f'{where}: no field "{field}"{near} It has: {", ".join(record)}. '
                f"Name the field with {parameter}: …{other}"
            )
    question = record[fields.question]
    if not isinstance(question, str):
        raise AssetError(f'{where}: "{fields.question}" is not text, but {_shown(question)}')
    return {
        "benchmark": name_of(path),
        "id": str(number if fields.id is None else record[fields.id]),
        "question": question,
        "answer": _answer(where, record, fields),
    }


def _answer(where: str, record: Mapping[str, Any], fields: Fields) -> str | None:
    """The answer as text: a number or letter is replaced by its choice; of several answers, the first."""
    answer = None if fields.answer is None else record[fields.answer]
    if isinstance(answer, list):
        answer = answer[0] if answer else None
    choices = None if fields.choices is None else record[fields.choices]
    if isinstance(choices, dict):  # as ARC has them: {"text": […], "label": […]}
        labels, choices = choices.get("label"), choices.get("text")
    else:
        labels = None
    if answer is None or choices is None or answer in choices:
        return None if answer is None else _text(where, fields, answer)
    at = labels.index(answer) if isinstance(labels, list) and answer in labels else _number(answer)
    if not isinstance(choices, list) or at is None or not 0 <= at < len(choices):
        raise AssetError(
            f'{where}: "{fields.answer}" is {_shown(answer)}, which is not a letter, number or text of '
            f'"{fields.choices}": {_shown(choices)}'
        )
    return _text(where, fields, choices[at])


def _number(answer: Any) -> int | None:
    """The choice that a letter or number means, counted from 0."""
    if isinstance(answer, str) and len(answer) == 1 and "A" <= answer <= "Z":
        return ord(answer) - ord("A")
    if isinstance(answer, str) and answer.isdecimal():
        return int(answer)
    return answer if isinstance(answer, int) else None


def _text(where: str, fields: Fields, value: Any) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise AssetError(f'{where}: "{fields.answer}" is not text, but {_shown(value)}')


def _shown(value: Any) -> str:
    return f"{value!r}"[:60]
