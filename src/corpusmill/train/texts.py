"""The documents of files of any readable format, for training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import read
from corpusmill.errors import InputError
from corpusmill.read import ReadCounts
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.storage import FileInfo, expand, has_ending

Documents = Literal["file", "line", "paragraph", "article"]
PIECE_BYTES = 64 << 20
# Readers of markup that is not HTML, which a step of a recipe takes off; and of JSON lines with files beside them.
NO_TEXT = ("commoncrawl", "dolma", "latex", "mediawiki", "redpajama")


@dataclass(frozen=True)
class TrainingFiles:
    """The documents of some files.

    texts    (documents,) large_string without nulls, in the order of files by name and of documents in them
    files    how many were read
    faults   records that should have been documents and could not be read
    """

    texts: pa.LargeStringArray
    files: int
    faults: int

    @property
    def bytes(self) -> int:
        return int(pc.sum(pc.binary_length(self.texts)).as_py() or 0)


def read_texts(paths: Sequence[str], documents: Documents = "file") -> TrainingFiles:
    """All documents of some paths; for HTML and WARC files, the text of the pages.

    paths       files, folders or patterns, as in a recipe; the suffix of a file selects the reader
    documents   the unit in text files: a `line`, or as for read/text

    Raises InputError if a path matches nothing, or no reader has the suffix of a file.
    """
    of_text = {"separator": "\n"} if documents == "line" else {"document": documents}
    names = [name for name in read.names() if name not in NO_TEXT]
    readers = [read.find(name)(**(of_text if name == "text" else {})) for name in names]
    suffixes = tuple(suffix for reader in readers for suffix in reader.suffixes)
    counts, parts = ReadCounts(), []
    files = expand(list(paths), suffixes)
    for file in files:
        reader = reader_of(file, readers)
        for piece in reader.split([file], PIECE_BYTES):
            for batch in reader.read(piece, "train", counts):
                counts.drain()
                pages = batch["raw"].null_count < len(batch)
                texts = (Resiliparse().transform(batch) if pages else batch)["text"]
                parts.append(texts.drop_null())
        counts.drain()
    texts = pa.chunked_array(parts, pa.large_string()).combine_chunks()
    return TrainingFiles(texts, len(files), counts.faults)


def reader_of(file: FileInfo, readers: Sequence[Any]) -> Any:
    """The reader with the longest matching suffix: `.warc.wet.gz` before `.gz`."""
    ends = [
        (len(suffix), number)
        for number, reader in enumerate(readers)
        for suffix in reader.suffixes
        if has_ending(file.path, (suffix,))
    ]
    if not ends:
        suffixes = sorted({suffix.split(".")[1] for reader in readers for suffix in reader.suffixes})
        raise InputError(f"{file.path}: no reader for this file name. Known suffixes: {', '.join(suffixes)}")
    return readers[max(ends)[1]]
