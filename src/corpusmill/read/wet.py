"""Text that was extracted from a crawl: the WET files of Common Crawl."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.read import Piece, ReadCounts
from corpusmill.read._archive import LOOK_BACK, Damage, records
from corpusmill.read._documents import DocumentBatches
from corpusmill.read.warc import date, metadata, skipped, split_archives
from corpusmill.storage import FileInfo

STEP = "read/wet"


@dataclass(frozen=True, kw_only=True)
class Wet:
    """The `conversion` records of WET files.

    `text` is the record's body; bytes that are not UTF-8 become U+FFFD. `metadata` keeps the record's id and the
    languages that the crawl identified. A record without text is an expected dead letter, `empty_text`; so is one of
    more than `max_mb`, `too_large`. Faults are `truncated`, `damaged` and
    `window_too_large`. Other records are counted as `warc_<type>`.
    """

    max_mb: float = 32.0  # of one record
    suffixes = (".warc.wet", ".warc.wet.gz", ".warc.wet.zst", ".wet", ".wet.gz", ".wet.zst")
    look_back = LOOK_BACK

    def __post_init__(self) -> None:
        if self.max_mb <= 0:
            raise RecipeError(f"need max_mb > 0, got {self.max_mb}")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        return split_archives(files, target_bytes)

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = DocumentBatches(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
        for record in records(piece, int(self.max_mb * 1e6)):
            if isinstance(record, Damage):
                docs.dead(record.offset, record.kind, record.reason, url=record.url)
                yield from docs.full()
                continue
            if record.kind != "conversion":
                counts.skip(skipped(record))
                continue
            url = record.fields.get("warc-target-uri")
            if record.length > len(record.body):
                reason = f"the record has {record.length} bytes, more than max_mb={self.max_mb:g}"
                docs.dead(record.offset, "too_large", reason, url=url, expected=True)
            elif not (text := record.body.decode("utf-8", "replace")).strip():
                docs.dead(record.offset, "empty_text", "the record has no text", url=url, expected=True)
            else:
                docs.add(record.offset, text=text, url=url, date=date(record), metadata=metadata(record))
            yield from docs.full()
        yield from docs.rest()
