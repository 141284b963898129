"""Documents as JSON Lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.write import MB_PER_FILE, WriteFacts
from corpusmill.write._columns import Columns
from corpusmill.write._files import DocumentFiles
from corpusmill.write._lines import SUFFIXES, records, write_lines


@dataclass(frozen=True, kw_only=True)
class JsonlWriter(DocumentFiles):
    """JSON Lines: one object per document, UTF-8, keys in alphabetical order.

    Keys are id, text, source, url, date, metadata (an object), `token_count` if tokens were counted, and `copies` if a
    mix draws. Every line has all of them, null where unknown. `signals: ["language.*", gopher_quality.content_words]`
    adds what the steps measured as one object: {"language.label": "en", …}. `columns: [id, text, language.score]`
    writes these and no others, in this order; `file`, `position` and single signals can be named too. `columns: {id:
    doc_id, text: content}` renames them.

    Where documents keep columns of the input (`columns: keep` of the reader), these are written instead, in order,
    then id, source and what steps add; in `columns` they are `columns.NAME`. Bytes are base64, maps lists of pairs.

    `name: "train_{:05d}"` names the files train_00000.jsonl.zst …; with `single_file` it needs no number.
    """

    writes_own_columns: ClassVar[bool] = True

    compression: Literal["none", "gz", "zst"] = "zst"
    level: int = 3  # of compression, 1 to 9
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …
    columns: Columns = None  # a list, or column: its name in the file; null: those above
    signals: tuple[str, ...] = ()  # patterns of the signals in the object `signals`

    def check(self) -> None:
        super().check()
        if self.compression not in SUFFIXES:
            raise RecipeError(f'compression must be one of {", ".join(SUFFIXES)}, got "{self.compression}"')

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.compression]

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file."""
        documents = map(self.selection.select, batches)
        lines = records(documents, self.selection)
        rows = write_lines(lines, path, self.compression, self.level, sort=self.columns is None)
        return WriteFacts(rows, path.stat().st_size)


Jsonl = JsonlWriter  # its name before 1.0
