"""Documents as token ids for OLMo-core."""

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from corpusmill.write import DocumentTokens, WriteFacts
from corpusmill.write._rows import check_shard_size, write_ids


@dataclass(frozen=True, kw_only=True)
class OlmoWriter:
    """Documents as OLMo-core and the Dolma toolkit have them: a .npy and a .csv.gz for each shard.

    The .npy file has the ids alone, without NumPy's header: uint16 if every id of the vocabulary fits, else uint32,
    with EOS after every document. A line of the .csv.gz file has the first token of a document in the file, the end,
    then id and source, which are empty, and its number in the file, from 0. OLMo-core packs the documents itself:
    `pack/…` has no effect.

    Source: OLMo-core, src/olmo_core/data/utils.py (`iter_document_indices`); Dolma, python/dolma/tokenizer.
    """

    suffixes: ClassVar = (".npy", ".csv.gz")

    tokens_per_shard: int = 100_000_000  # a shard ends with the document that reaches it

    def __post_init__(self) -> None:
        check_shard_size(self.tokens_per_shard)

    def write_tokens(self, parts: Iterable[DocumentTokens], files: Mapping[str, Path]) -> WriteFacts:
        """Write one shard. Memory: 4 M tokens, and one block of documents."""
        count = end = 0
        # No name and no time in the header, so that the bytes depend on the documents alone.
        with (
            files[".npy"].open("wb") as tokens,
            files[".csv.gz"].open("wb") as packed,
            gzip.GzipFile("", "wb", 6, packed, mtime=0) as lines,
            io.TextIOWrapper(lines, "ascii", newline="") as text,
        ):
            table = csv.writer(text, lineterminator="\n")
            for ids, sizes in parts:
                dtype = np.dtype("<u2" if ids.dtype.itemsize == 2 else "<u4")
                write_ids(ids, dtype, tokens.write)
                for size in np.asarray(sizes).tolist():
                    table.writerow([end, end + size, "", "", count])
                    count, end = count + 1, end + size
        return WriteFacts(count, sum(path.stat().st_size for path in files.values()))


Olmo = OlmoWriter  # its name before 1.0
