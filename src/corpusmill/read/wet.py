"""Text that was extracted from a crawl: the WET files of Common Crawl."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.read import FilePiece
from corpusmill.read._archive import LOOK_BACK, Damage, records
from corpusmill.read._bytes import endings
from corpusmill.read._documents import DocumentBatches, FileReader
from corpusmill.read.warc import date, is_seekable, metadata, skipped
from corpusmill.storage import FileInfo


@dataclass(frozen=True, kw_only=True)
class WetReader(FileReader):
    """The `conversion` records of WET files.

    `text` is the record's body; bytes that are not UTF-8 become U+FFFD. `metadata` keeps the record's id and the
    languages that the crawl identified. A record without text is an expected dead letter, `empty_text`; so is one of
    more than `max_mb`, `too_large`. Faults are `truncated`, `damaged` and
    `window_too_large`. Other records are counted as `warc_<type>`.
    """

    max_mb: float = 32.0  # of one record
    step = "read/wet"
    suffixes = endings("wet")
    look_back = LOOK_BACK

    def can_cut(self, file: FileInfo) -> bool:
        return is_seekable(file)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        for record in records(piece, int(self.max_mb * 1e6)):
            if isinstance(record, Damage):
                docs.dead(record.offset, record.kind, record.reason, url=record.url)
                yield from docs.full()
                continue
            if record.kind != "conversion":
                docs.counts.skip(skipped(record))
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


Wet = WetReader  # its name before 1.0
