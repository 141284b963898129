"""Documents as the pools and baselines of DCLM are published."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.write import MB_PER_FILE, WriteFacts
from corpusmill.write._beside import documents
from corpusmill.write._files import DocumentFiles
from corpusmill.write._lines import writing_lines


@dataclass(frozen=True, kw_only=True)
class DclmWriter(DocumentFiles):
    """JSON lines as DCLM has them: `text`, `url`, and all fields of the input as they were, each at its own place.

    DCLM's own `metadata` (the head of the WARC record), `warcinfo`, `language_id_whole_page_fasttext`,
    `previous_word_count`, `bff_contained_ngram_count_before_dedupe` and its classifier's score keep their names; a date
    read from `metadata.WARC-Date` goes back there, else it is `date`. `id` is that of the input; without one, and
    without `metadata.WARC-Record-ID`, it is ours. `signals: ["quality.*"]` adds what the steps measured, each as a
    field, `quality.score`. `read: {jsonl: {paths: dclm, id: metadata.WARC-Record-ID}}` reads the layout.

    Source: Li et al. 2024, "DataComp-LM", arXiv:2406.11794
    """

    signals: tuple[str, ...] = ()  # patterns of the signals to write
    level: int = 3  # of compression by zstd, 1 to 9
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …

    @property
    def suffix(self) -> str:
        return ".jsonl.zst"

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file."""
        rows = 0
        with writing_lines(path, "zst", self.level) as add:
            for row, about, signals in documents(batches, self.signals):
                add({**as_record(row, about), **signals})
                rows += 1
        return WriteFacts(rows, path.stat().st_size)


def as_record(row: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    head = about.get("metadata")
    is_warc = isinstance(head, dict) and any(name.startswith("WARC-") for name in head)
    record = {**about, "text": row["text"], "url": row["url"]}
    if row["date"] is not None:
        if isinstance(head, dict) and is_warc and "WARC-Date" not in head:
            record["metadata"] = {**head, "WARC-Date": row["date"]}
        else:
            record["date"] = row["date"]
    if "id" not in about and not (isinstance(head, dict) and "WARC-Record-ID" in head):
        record["id"] = row["id"]
    return record


Dclm = DclmWriter  # its name before 1.0
