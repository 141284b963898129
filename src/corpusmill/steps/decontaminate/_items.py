"""Items of benchmarks, read from JSON Lines and Parquet files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.errors import AssetError, did_you_mean, together
from corpusmill.steps.decontaminate._mapping import MISSING, at_path, elements, suggested

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.bz2", ".ndjson", ".parquet")
ITEM = pa.schema(
    [
        ("benchmark", pa.string()),  # see `name_of`
        ("id", pa.string()),  # the number of the line or row where the file gives none
        ("question", pa.large_string()),
        ("answers", pa.list_(pa.large_string())),  # any of them is right; empty if there is none
        ("is_context", pa.bool_()),  # the text that questions are about, as an item of its own
    ]
)
SHARD = re.compile(r"-\d+-of-\d+$")
SPLITS = ("train", "validation", "valid", "val", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Where a record of a file holds what; None where it has no such field. A dot leads into a nested field, through
    lists too: `answers.text`.

    answer    a text, a number, or a list of them, also of lists, any of which is right; several fields are one list
    choices   the texts to choose from, if `answer` is the letter or the number (from 0) of one of them
    context   the text that the question is about
    """

    question: str = "question"
    answer: tuple[str, ...] | str | None = "answer"
    choices: str | None = None
    id: str | None = "id"
    context: str | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.answer,) if isinstance(self.answer, str) else tuple(self.answer or ())

    @property
    def required_paths(self) -> list[tuple[str, str]]:
        """(parameter, path) of the fields that every record must have."""
        single = [(name, getattr(self, name)) for name in ("question", "choices", "id", "context")]
        pairs = [*single[:1], *(("answer", path) for path in self.answers), *single[1:]]
        return [(name, path) for name, path in pairs if path is not None]


@dataclass(frozen=True)
class FieldsOfFiles:
    """The fields of every file: of the first of `by_pattern` that fits the name of the benchmark, else `others`."""

    others: Fields
    by_pattern: tuple[tuple[str, Fields], ...] = ()

    def fields_of(self, benchmark: str) -> Fields:
        return next((fields for name, fields in self.by_pattern if fnmatchcase(benchmark, name)), self.others)


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder and the folders in it, in the order of their names. Raises AssetError for a
    folder without any."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
    if not files:
        raise AssetError(f"{path}: a folder without benchmarks; they are files named {', '.join(SUFFIXES)}")
    return files


def name_of(path: Path) -> str:
    """`arc_easy` of arc_easy.jsonl.gz; `squad/validation` of squad/validation-00000-of-00001.parquet.

    A file that is named for a split alone says nothing, so the folder that it is in does.
    """
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), path.suffix)
    name = SHARD.sub("", path.name.removesuffix(suffix))
    return f"{path.parent.name}/{name}" if name in SPLITS and path.parent.name else name


def read_items(paths: Sequence[Path], mapping: FieldsOfFiles) -> pa.Table:
    """The items of the files, ITEM, in order; each context once, after the items of its file.

    Raises AssetError, with a problem for every file that cannot be read: one with a record that is not a JSON object or
    lacks a field, with a value that is not text where text is needed, or without items.
    """
    tables, errors = [], []
    for path in paths:
        try:
            tables.append(_read(path, mapping.fields_of(name_of(path))))
        except AssetError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return pa.concat_tables(tables).combine_chunks()


def _read(path: Path, fields: Fields) -> pa.Table:
    rows: list[dict[str, Any]] = []
    contexts: dict[str, dict[str, Any]] = {}
    for where, number, record in _records(path, fields):
        row = _item(path, where, number, record, fields)
        rows.append(row)
        if fields.context is not None:
            text = _text(where, fields.context, _only_element(at_path(record, fields.context)))
            contexts.setdefault(text, row | {"question": text, "answers": [], "is_context": True})
    if not rows:
        raise AssetError(f"{path}: it has no items, so nothing could be found")
    return pa.Table.from_pylist([*rows, *contexts.values()], schema=ITEM)


def _records(path: Path, fields: Fields) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Where each record is, its number from 1, and what it holds."""
    if path.name.endswith(".parquet"):
        yield from _rows(path, fields)
        return
    for number, line in _lines(path):
        where = f"{path}:{number}"
        try:
            record = orjson.loads(line)
        except ValueError as error:
            raise AssetError(f"{where}: not JSON ({error}); a benchmark has one JSON object per line") from None
        if not isinstance(record, dict):
            raise AssetError(f"{where}: not a JSON object, but {type(record).__name__}; a benchmark has one per line")
        yield where, number, record


def _rows(path: Path, fields: Fields) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Of the columns that are needed alone: others hold whole web pages."""
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            needed = {
                name for _, at in fields.required_paths for name in columns if at == name or at.startswith(f"{name}.")
            }
            missing = any(
                not any(at == name or at.startswith(f"{name}.") for name in columns) for _, at in fields.required_paths
            )
            for batch in file.iter_batches(1024, columns=columns if missing else sorted(needed), use_threads=False):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", number, record
    except (pa.ArrowException, OSError) as error:
        raise AssetError(f"{path}: cannot be read as Parquet: {error}") from error


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


def _item(path: Path, where: str, number: int, record: dict[str, Any], fields: Fields) -> dict[str, Any]:
    for parameter, field in fields.required_paths:
        if at_path(record, field) is MISSING:
            hint = did_you_mean(field, record) or "."
            raise AssetError(f'{where}: no field "{field}"{hint} {_how_to_read(path, record, fields, parameter)}')
    question = _only_element(at_path(record, fields.question))
    if not isinstance(question, str):
        how = _how_to_read(path, record, fields, "question")
        raise AssetError(f'{where}: "{fields.question}" is not text, but {_shown(question)}. {how}')
    return {
        "benchmark": name_of(path),
        "id": str(number if fields.id is None else _only_element(at_path(record, fields.id))),
        "question": question,
        "answers": list(dict.fromkeys(_answers(path, where, record, fields))),
        "is_context": False,
    }


def _how_to_read(path: Path, record: Mapping[str, Any], fields: Fields, parameter: str) -> str:
    """What a record has, and the mapping with which its file can be read."""
    optional = "" if parameter == "question" else f" ({parameter}: null if there is none)"
    return (
        f"It has: {', '.join(record)}. Write fields: {{{name_of(path)}: {suggested(record, vars(fields))}}}{optional}"
    )


def _answers(path: Path, where: str, record: Mapping[str, Any], fields: Fields) -> Iterator[str]:
    """The answers as texts: a number or letter is replaced by its choice, what is empty is left out."""
    choices = None if fields.choices is None else at_path(record, fields.choices)
    for field in fields.answers:
        value = at_path(record, field)
        for answer in elements(value):
            if answer is None or answer == "":
                continue
            text = answer if choices is None else _chosen(where, field, fields.choices, answer, choices)
            if not isinstance(text, str | int | float):
                how = _how_to_read(path, record, fields, "answer")
                raise AssetError(f'{where}: "{field}" is not text, but {_shown(text)}. {how}')
            yield str(text)


def _chosen(where: str, field: str, choices_field: str | None, answer: Any, choices: Any) -> Any:
    labels = None
    if isinstance(choices, dict):  # as ARC has them: {"text": […], "label": […]}
        labels, choices = choices.get("label"), choices.get("text")
    if isinstance(choices, list) and answer in choices:
        return answer
    at = labels.index(answer) if isinstance(labels, list) and answer in labels else _number(answer)
    if not isinstance(choices, list) or at is None or not 0 <= at < len(choices):
        raise AssetError(
            f'{where}: "{field}" is {_shown(answer)}, which is not a letter, number or text of '
            f'"{choices_field}": {_shown(choices)}'
        )
    return choices[at]


def _number(answer: Any) -> int | None:
    """The choice that a letter or number means, counted from 0."""
    if isinstance(answer, str) and len(answer) == 1 and "A" <= answer <= "Z":
        return ord(answer) - ord("A")
    if isinstance(answer, str) and answer.isdecimal():
        return int(answer)
    return answer if isinstance(answer, int) else None


def _only_element(value: Any) -> Any:
    """The only element of a list, as a path through a list gives it; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _text(where: str, field: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise AssetError(f'{where}: "{field}" is not text, but {_shown(value)}')


def _shown(value: Any) -> str:
    return f"{value!r}"[:60]
