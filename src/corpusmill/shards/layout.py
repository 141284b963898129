"""The contents of a folder of training shards: file names, the index, the spans of a shard. FORMAT.md is the contract.

Needs NumPy and the standard library only, so that a training loop can read shards without the rest of the package.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError, other_format
from corpusmill.shards.loss import LossRule

INDEX = "index.json"
FORMAT = "corpusmill-shards"
VERSION = 1

SPANS_MAGIC = b"CMSPANS1"
SPANS_HEADER = 32  # bytes: magic, spans, tokens, zero; 8 each, integers little-endian
OPTIONAL_KEYS = tuple("bos bos_id split_at name sample_tokens sample_sha256 loss".split())  # left out when null
FILE_NAME = "{:05d}"  # of files: the number of the shard
NO_PACKING = "none"  # as the packing: a stream that is not divided into rows

TRAIN, VALIDATION = "train", "validation"  # the sides of a split of a run's documents
SPLITS = (TRAIN, VALIDATION)

PADDING = -1  # as a document number: the span belongs to no document

# A name of files: at most one place for the number, written as Python formats it, and no folder.
FILE_NAME_PATTERN = re.compile(r"[^{}/\\\0]*(\{(:0?\d{0,2}d)?\}[^{}/\\\0]*)?")


def output_of(label: str, side: str) -> str:
    """The folder of output that has one side of what a writer of a recipe writes.

    >>> output_of("shards", "train"), output_of("shards", "validation")
    ('shards', 'shards-validation')
    """
    return label if side == TRAIN else f"{label}-{side}"


def tokens_name(number: int, name: str | None = None) -> str:
    return f"{(name or FILE_NAME).format(number)}.bin"


def spans_name(number: int, name: str | None = None) -> str:
    return f"{(name or FILE_NAME).format(number)}.idx"


def table_name(number: int, name: str | None = None) -> str:
    return f"documents/{(name or FILE_NAME).format(number)}.parquet"


class DocumentSpans(NamedTuple):
    """Which document each token belongs to, as runs of tokens sorted by where they start.

    start      (spans,) the first token of the run; it ends where the next begins, the last with the shard
    document   (spans,) number of the document, or PADDING
    offset     (spans,) where in the document the run begins
    """

    start: NDArray[np.int64]
    document: NDArray[np.int64]
    offset: NDArray[np.int64]

    def to_bytes(self, tokens: int) -> bytes:
        head = np.array([len(self.start), tokens, 0], "<i8").tobytes()
        return SPANS_MAGIC + head + b"".join(column.astype("<i8").tobytes() for column in self)

    @staticmethod
    def map(path: Path, tokens: int) -> "DocumentSpans":
        """The spans of a file, mapped and not read. Raises ShardError unless `to_bytes(tokens)` wrote it."""
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                head = file.read(SPANS_HEADER)
        except OSError as error:
            raise ShardError(f"{path}: {error.strerror}. Copy the shards again, or run again.") from error
        if len(head) < SPANS_HEADER or head[:8] != SPANS_MAGIC:
            raise ShardError(
                f"{path}: begins with {head[:8]!r}, not {SPANS_MAGIC!r}: the file is damaged. Copy it again."
            )
        count, covered, _ = np.frombuffer(head, "<i8", 3, 8).tolist()
        if size != SPANS_HEADER + 24 * count or count < 0:
            raise ShardError(
                f"{path}: has {size} bytes, its header says {SPANS_HEADER + 24 * count}: the file is truncated. Copy "
                "it again."
            )
        if covered != tokens:
            raise ShardError(f"{path}: covers {covered} tokens, its shard has {tokens}: they are from different runs.")
        if not count:
            return DocumentSpans(*(np.empty(0, np.int64) for _ in range(3)))
        columns = np.memmap(path, "<i8", "r", SPANS_HEADER, (3, count))
        return DocumentSpans(*(np.asarray(column) for column in columns))


@dataclass(frozen=True)
class ShardEntry:
    """One shard in the index."""

    number: int
    tokens: int  # in the file, padding included
    padding: int
    rows: int  # 0 where the stream is not divided into rows
    spans: int
    first_document: int  # number of the first document that starts here …
    documents: int  # … and how many do
    cut_documents: int  # of these, those that are in more than one row (without rows: file), or lost their end
    tokens_xxh3_128: str
    spans_xxh3_128: str
    table_xxh3_128: str | None = None  # of the table of documents; None without one


COUNTS = ("tokens", "padding", "rows", "spans", "first_document", "documents", "cut_documents")
CHECKSUMS = ("tokens_xxh3_128", "spans_xxh3_128", "table_xxh3_128")
ENTRY_RECORD = np.dtype([*((name, "<i8") for name in COUNTS), *((name, "V16") for name in CHECKSUMS)])
NO_CHECKSUM = bytes(16)


class ShardEntries(Sequence[ShardEntry]):
    """The shards of an index as records, which may be mapped: an Entry is made when it is asked for.

    edges     (shards + 1,) tokens before each shard, and in all
    records   (shards,) of RECORD; a checksum that is None is NO_SUM
    """

    def __init__(self, edges: NDArray[np.int64], records: NDArray[np.void]) -> None:
        self.edges = edges
        self.records = records

    @staticmethod
    def from_entries(shards: Sequence[ShardEntry]) -> "ShardEntries":
        """Raises ValueError or TypeError if a checksum is none of 32 hexadecimal digits."""
        rows = [
            (
                *(getattr(entry, name) for name in COUNTS),
                *(
                    bytes.fromhex(checksum) if (checksum := getattr(entry, name)) is not None else NO_CHECKSUM
                    for name in CHECKSUMS
                ),
            )
            for entry in shards
        ]
        return ShardEntries(_edges(shards), np.array(rows, ENTRY_RECORD))

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, at: int) -> ShardEntry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ShardEntry, ...]: ...
    def __getitem__(self, at: int | slice) -> ShardEntry | tuple[ShardEntry, ...]:
        numbers = range(len(self))[at]  # IndexError where there is none
        if isinstance(numbers, range):
            return tuple(self[number] for number in numbers)
        return _entry(numbers, self.records[numbers].item())

    def __iter__(self) -> Iterator[ShardEntry]:
        for first in range(0, len(self), 1024):
            for number, row in enumerate(self.records[first : first + 1024].tolist(), first):
                yield _entry(number, row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def _entry(number: int, row: tuple[Any, ...]) -> ShardEntry:
    sums = (None if checksum == NO_CHECKSUM else checksum.hex() for checksum in row[len(COUNTS) :])
    return ShardEntry(number, *row[: len(COUNTS)], *sums)


def _edges(shards: Sequence[ShardEntry]) -> NDArray[np.int64]:
    return np.cumsum([0, *(entry.tokens for entry in shards)], dtype=np.int64)


@dataclass(frozen=True)
class ShardIndex:
    """The content of index.json. Field names are its keys."""

    tokenizer: str
    tokenizer_sha256: str
    vocabulary: int  # every id is below
    eos: str
    eos_id: int
    pad_id: int
    dtype: str  # "uint16" or "uint32"
    packing: str  # "concat", "best_fit", "one_per_row", "buckets", or "none": a stream that is not divided into rows
    sequence_length: int | None  # None: not divided into rows
    remainder: str  # "keep", "pad" or "drop"
    documents: int  # input of the packer
    discarded_documents: int  # of these, the last ones, without a token in any shard
    discarded_tokens: int
    shards: Sequence[ShardEntry]  # Entries where they are mapped
    bos: str | None = None  # the token that every document begins with, if any
    bos_id: int | None = None
    split_at: str | None = None  # "paragraph" or "sentence"
    name: str | None = None  # of files, with the number of the shard in braces; None: NAME
    sample_tokens: int | None = None  # what the tokenizer gives for the texts of `shards.sample`
    sample_sha256: str | None = None
    loss: LossRule | None = None  # which tokens have none; None: all have one, but the ends of documents

    def tokens_name(self, number: int) -> str:
        return tokens_name(number, self.name)

    def spans_name(self, number: int) -> str:
        return spans_name(number, self.name)

    def table_name(self, number: int) -> str:
        return table_name(number, self.name)

    @property
    def keeps_documents(self) -> bool:
        """Whether rows were packed so that documents are not cut, which rows of another length would undo."""
        return self.packing not in ("concat", "none") or self.split_at is not None

    @property
    def tokens(self) -> int:
        """Tokens in all files, padding included."""
        if isinstance(self.shards, ShardEntries):
            return int(self.shards.edges[-1])
        return sum(shard.tokens for shard in self.shards)

    @property
    def edges(self) -> NDArray[np.int64]:
        """(shards + 1,) tokens before each shard, and in all."""
        return self.shards.edges if isinstance(self.shards, ShardEntries) else _edges(self.shards)

    def column(self, name: str) -> NDArray[np.int64]:
        """(shards,) one of the COUNTS of each shard."""
        if isinstance(self.shards, ShardEntries):
            return self.shards.records[name]
        return np.array([getattr(shard, name) for shard in self.shards], np.int64)

    @property
    def padding(self) -> int:
        return sum(shard.padding for shard in self.shards)

    def to_bytes(self) -> bytes:
        """The content of the file, deterministic. Totals are for human readers; programs compute them."""
        totals = {
            "tokens": self.tokens - self.padding,
            "padding": self.padding,
            "rows": sum(shard.rows for shard in self.shards),
            "cut_documents": sum(shard.cut_documents for shard in self.shards),
            "utilisation": round((self.tokens - self.padding) / self.tokens, 6) if self.tokens else 1.0,
        }
        record = {"format": FORMAT, "version": VERSION, **self.facts(), "totals": totals}
        record["shards"] = [asdict(shard) for shard in self.shards]  # the long part last
        return (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode()

    def facts(self) -> dict[str, Any]:
        """All but the shards, as JSON has it."""
        record = asdict(replace(self, shards=()))
        record["loss"] = self.loss.to_json() if self.loss else None
        del record["shards"]
        return {name: value for name, value in record.items() if name not in OPTIONAL_KEYS or value is not None}

    @staticmethod
    def from_facts(facts: dict[str, Any], shards: Sequence[ShardEntry]) -> "ShardIndex":
        """The index of `facts()`. Raises KeyError, TypeError or ValueError if one is missing or unknown."""
        record = dict.fromkeys(OPTIONAL_KEYS) | facts | {"shards": shards}
        values: dict[str, Any] = {field.name: record[field.name] for field in fields(ShardIndex)}
        return ShardIndex(**values | {"loss": None if values["loss"] is None else LossRule.from_json(values["loss"])})

    @staticmethod
    def read(path: Path) -> "ShardIndex":
        """Raises ShardError if the file is missing, is not an index, has another version, or contradicts itself.

        An index has no checksum of its own: a change that leaves it consistent, as that of a name does, is not noticed.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ShardError(
                f"{path}: {error.strerror}. A folder of shards has an {INDEX}, written last: did the run finish?"
            ) from error
        return ShardIndex.from_bytes(content, path)

    @staticmethod
    def from_bytes(content: bytes, path: Path) -> "ShardIndex":
        """The index of the content of a file; raises ShardError as `read` does, naming it."""
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ShardError(f"{path}: not JSON ({error}): the file is damaged. Copy it again.") from error
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ShardError(f'{path}: not an index of shards: "format" is not "{FORMAT}". Name a folder of shards.')
        if record.get("version") != VERSION:
            raise ShardError(other_format(str(path), record.get("version"), VERSION))
        try:
            index = ShardIndex.from_facts(record, tuple(ShardEntry(**entry) for entry in record["shards"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ShardError(
                f"{path}: an entry is missing or unknown ({error}): the file was changed. Copy it again."
            ) from error
        if index.name is not None and not (isinstance(index.name, str) and FILE_NAME_PATTERN.fullmatch(index.name)):
            raise ShardError(
                f'{path}: "{index.name}" cannot be the name of files: the file was changed. Copy it again.'
            )
        if index.dtype not in ("uint16", "uint32"):
            raise ShardError(f'{path}: dtype is "{index.dtype}", must be "uint16" or "uint32". Copy it again.')
        if wrong := next(_contradictions(index, record.get("totals")), None):
            raise ShardError(f"{path}: {wrong}: the file was changed or damaged. Copy it again.")
        return index


MAX_NUMBER = 1 << 62  # any number of an index is below: sums of them stay within 64 bits where they have to
PACKINGS = ("concat", "best_fit", "one_per_row", "buckets", NO_PACKING)


def _contradictions(index: ShardIndex, totals: Any) -> Iterator[str]:
    """What an index that was read cannot be."""
    parts: list[tuple[str, ShardIndex | ShardEntry]] = [("", index)]
    parts += [(f"shards[{i}].", entry) for i, entry in enumerate(index.shards)]
    kinds = {ShardIndex: _kinds(ShardIndex), ShardEntry: _kinds(ShardEntry)}
    for name, part in parts:
        for field, kind, may_lack in kinds[type(part)]:
            value: Any = getattr(part, field)
            if value is None and may_lack:
                continue
            if type(value) is not kind or (kind is int and not 0 <= value < MAX_NUMBER):
                expected = "a whole number that is not negative" if kind is int else "text"
                yield f"{name}{field} must be {expected}, is {str(value)[:60]}"
                return  # what follows calculates with them
    if [entry.number for entry in index.shards] != list(range(len(index.shards))):
        yield "the shards are not numbered 0, 1, …"
    if index.packing not in PACKINGS or (index.sequence_length is None) != (index.packing == NO_PACKING):
        yield f'packing is "{index.packing}", with rows of {index.sequence_length} tokens'
    for entry in index.shards:  # a document, or a run of them, has one token or more
        if max(entry.documents, entry.spans, entry.padding) > entry.tokens or entry.cut_documents > entry.documents:
            yield f"shard {entry.number} of {entry.tokens} tokens cannot hold {entry.documents} documents as it says"
    ids = [index.eos_id, index.pad_id, *([] if index.bos_id is None else [index.bos_id])]
    if max(ids) >= index.vocabulary or index.vocabulary > 1 << 8 * stored(index.dtype).itemsize:
        yield f"a vocabulary of {index.vocabulary} {index.dtype} cannot have the control tokens {ids}"
    if (row := index.sequence_length) is not None:
        for entry in index.shards:
            full_rows = entry is index.shards[-1] or entry.tokens % max(row, 1) == 0
            if row < 1 or not full_rows or entry.rows != -(-entry.tokens // row):
                yield f"shard {entry.number} has {entry.tokens} tokens in {entry.rows} rows of {row}"
                return
    if isinstance(totals, dict):
        sums = {"tokens": index.tokens - index.padding, "padding": index.padding}
        sums |= {name: sum(getattr(entry, name) for entry in index.shards) for name in ("rows", "cut_documents")}
        for name, value in sums.items():
            if totals.get(name, value) != value:
                yield f"the shards have {value} {name}, the totals say {totals[name]}"


def _kinds(cls: Any) -> list[tuple[str, type[Any], bool]]:
    """Name, type, and whether it may be null, of the numbers and texts of an entry."""
    annotations = [(field.name, get_args(field.type) or (field.type,)) for field in fields(cls)]
    return [
        (name, int if int in kinds else str, type(None) in kinds)
        for name, kinds in annotations
        if name not in ("shards", "loss")
    ]


def stored(dtype: str) -> np.dtype[Any]:
    """The type of ids in a file: little-endian on every machine."""
    return np.dtype(dtype).newbyteorder("<")
