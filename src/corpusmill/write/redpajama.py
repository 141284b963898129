"""Documents with quality signals beside them, as RedPajama-v2 is published."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.errors import RecipeError
from corpusmill.write import MB_PER_FILE, WriteFacts
from corpusmill.write._beside import documents, spans_of
from corpusmill.write._files import DocumentFiles
from corpusmill.write._lines import writing_lines

PREFIX = "corpusmill"
TABLE_ROWS = 1024  # of a table that are held
DOCUMENTS = "documents/{}.json.gz"
SIGNALS = "quality_signals/{}.signals.json.gz"
DUPLICATES = "duplicates/{}.duplicates.parquet"
MINHASH = "minhash/{}.minhash.parquet"
SIGNAL_METADATA = ("cc_segment", "language", "snapshot_id")  # of the metadata of signals, as the document has them


@dataclass(frozen=True, kw_only=True)
class RedpajamaWriter(DocumentFiles):
    """The layout of RedPajama-v2: `documents/00000.json.gz`, and `quality_signals/00000.signals.json.gz` with a line
    for each document.

    A document has `raw_content`, `url`, `date_download`, `digest`, `length` (characters), `nlines`, `source_domain`,
    `title`, all other fields of the input, and `id`. A line of signals has the id `00000.json.gz/17`, the file and the
    number of its document. `signals: ["language.*"]` writes what the steps measured as quality signals
    `corpusmill_language_score`: one span of the whole text, [0, characters, value]; a text is part of the name, with
    score 1.0; what was not measured is []. `keep: true` writes what the reader `redpajama` has joined again: signals,
    whose spans are of the text as it was read, duplicates and signatures.

    Source: Weber et al. 2024, "RedPajama", arXiv:2411.12372; togethercomputer/RedPajama-Data, app/src/core/schema/rp.py
    """

    signals: tuple[str, ...] = ()  # patterns of the signals to write as quality signals
    keep: bool = False  # write signals, duplicates and signatures of the input again
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …

    def check(self) -> None:
        if not isinstance(self.keep, bool):
            raise RecipeError(f"keep is true or false, got {self.keep!r}")

    @property
    def suffix(self) -> str:
        return ".json.gz"

    @property
    def places(self) -> tuple[str, ...]:
        return (DOCUMENTS, SIGNALS, *((DUPLICATES, MINHASH) if self.keep else ()))

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file, without what is beside them."""
        return self.write_files(batches, {DOCUMENTS: path}, "")

    def write_files(self, batches: Iterable[pa.RecordBatch], files: Mapping[str, Path], name: str) -> WriteFacts:
        """Write the documents of one file, and their signals."""
        shard = f"{name}{self.suffix}"
        rows = 0
        with ExitStack() as stack:
            lines = {
                target: stack.enter_context(writing_lines(path, "gz", 6))
                for target, path in files.items()
                if target in (DOCUMENTS, SIGNALS)
            }
            tables = {
                target: stack.enter_context(_table(target, path))
                for target, path in files.items()
                if target not in lines
            }
            for row, about, measured in documents(batches, self.signals):
                joined = {part: about.pop(part, None) for part in ("quality_signals", "is_duplicate", "minhash")}
                document = as_document(row, about)
                at: dict[str, Any] = {"shard_id": shard, "id": f"{shard}/{rows}"}
                lines[DOCUMENTS](document)
                if SIGNALS in lines:
                    input_signals = (
                        joined["quality_signals"] if self.keep and isinstance(joined["quality_signals"], dict) else {}
                    )
                    own_signals = spans_of(measured, PREFIX, "_", row["text"])
                    lines[SIGNALS](signals_line(at, document, {**input_signals, **own_signals}))
                if tables and joined["is_duplicate"]:
                    tables[DUPLICATES]({"shard_id": shard, "doc_id": at["id"], "digest": document["digest"]})
                if tables:
                    tables[MINHASH]({**at, "id_int": id_int(at["id"]), **_bands(joined["minhash"])})
                rows += 1
        return WriteFacts(rows, sum(path.stat().st_size for path in files.values()))


def as_document(row: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """A document as RedPajama-v2 has it. `length` and `nlines` are those of the text as it is now."""
    text, url = row["text"], row["url"]
    digest = f"sha1:{base64.b32encode(hashlib.sha1(text.encode(), usedforsecurity=False).digest()).decode()}"
    return {
        "title": "",
        "digest": digest,
        "source_domain": domain_of(url),
        **about,
        "id": about["id"] if isinstance(about.get("id"), str) else row["id"],
        "url": url,
        "date_download": row["date"],
        "length": len(text),
        "nlines": text.count("\n") + 1,
        "raw_content": text,
    }


def domain_of(url: str | None) -> str:
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:  # brackets that are no address
        return ""


def signals_line(at: dict[str, Any], document: dict[str, Any], signals: dict[str, Any]) -> dict[str, Any]:
    about = {name: document[name] for name in SIGNAL_METADATA if name in document}
    return {
        "id": at["id"],
        "id_int": id_int(at["id"]),
        "metadata": {
            "cc_net_source": at["shard_id"],
            "url": document["url"],
            "source_domain": document["source_domain"],
            **about,
        },
        "quality_signals": signals,
    }


def id_int(name: str) -> int:
    """The number that RedPajama makes of an id: 8 bytes of its SHA-1.

    >>> id_int("2018-43/0000/en_head.json.gz/0")
    7972430436813205988
    """
    return int.from_bytes(hashlib.sha1(name.encode(), usedforsecurity=False).digest()[:8], "little")


def _bands(signatures: Any) -> dict[str, Any]:
    """Signatures, as the reader has them, as bytes again."""
    bands = signatures if isinstance(signatures, dict) else {}
    return {
        name: None if hashes is None else [bytes.fromhex(band) for band in hashes] for name, hashes in bands.items()
    }


@contextmanager
def _table(target: str, path: Path) -> Iterator[Any]:
    """What adds a row to the table at a place. All rows have the columns of the first."""
    rows: list[dict[str, Any]] = []
    writer: pq.ParquetWriter | None = None

    def flush() -> None:
        nonlocal writer
        if writer is None:
            writer = pq.ParquetWriter(path, _schema(target, rows), compression="zstd")
        writer.write_table(pa.Table.from_pylist(rows, writer.schema))
        rows.clear()

    def add(row: dict[str, Any]) -> None:
        rows.append(row)
        if len(rows) >= TABLE_ROWS:
            flush()

    yield add
    flush()
    assert writer is not None
    writer.close()


def _schema(target: str, rows: list[dict[str, Any]]) -> pa.Schema:
    if target == DUPLICATES:
        return pa.schema([(name, pa.string()) for name in ("shard_id", "doc_id", "digest")])
    types = {"shard_id": pa.string(), "id": pa.string(), "id_int": pa.uint64()}
    names = dict.fromkeys([*types, *(name for row in rows for name in row)])
    return pa.schema([(name, types.get(name, pa.list_(pa.binary()))) for name in names])


Redpajama = RedpajamaWriter  # its name before 1.0
