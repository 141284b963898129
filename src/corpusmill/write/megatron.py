"""Documents as token ids for Megatron-LM."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.write import DocumentTokens, WriteFacts
from corpusmill.write._rows import check_shard_size, write_ids

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = 34  # bytes: magic 9, version 8, code 1, sequences 8, documents 8
CODES: dict[int, np.dtype[Any]] = {
    4: np.dtype("<i4"),
    8: np.dtype("<u2"),
}  # those of the format's eight types that are used for ids here
MAX_SEQUENCE_TOKENS = 2**31 - 1  # tokens in a sequence: its length is an int32


@dataclass(frozen=True, kw_only=True)
class MegatronWriter:
    """Documents as an indexed dataset of Megatron-LM, one pair of .bin and .idx per shard; NeMo reads it too.

    Each document is one sequence: its tokens and its EOS. Megatron packs them itself, so `pack/…` is not needed and has
    no effect here. Ids are uint16 if every id of the vocabulary fits, else int32.

    Source: Megatron Core, megatron/core/datasets/indexed_dataset.py, version 1 of the index.
    """

    suffixes: ClassVar = (".bin", ".idx")

    tokens_per_shard: int = 100_000_000  # a shard ends with the document that reaches it

    def __post_init__(self) -> None:
        check_shard_size(self.tokens_per_shard)

    def write_tokens(self, parts: Iterable[DocumentTokens], files: Mapping[str, Path]) -> WriteFacts:
        """Write one shard. Memory: 4 M tokens, and 12 bytes per document for the index."""
        dtype = CODES[8]
        lengths = [np.empty(0, np.int64)]
        with files[".bin"].open("wb") as tokens:
            for ids, sizes in parts:
                dtype = CODES[8 if ids.dtype.itemsize == 2 else 4]
                lengths.append(np.asarray(sizes, np.int64))
                write_ids(ids, dtype, tokens.write)
        counts = np.concatenate(lengths)
        with files[".idx"].open("wb") as index:
            _write_index(counts, dtype, index.write)
        return WriteFacts(len(counts), sum(path.stat().st_size for path in files.values()))


def _write_index(lengths: NDArray[np.int64], dtype: np.dtype[Any], write: Any) -> None:
    if len(lengths) and int(lengths.max()) > MAX_SEQUENCE_TOKENS:
        raise ShardError(f"a document has {lengths.max()} tokens; this format allows at most {MAX_SEQUENCE_TOKENS}.")
    code = next(code for code, code_dtype in CODES.items() if code_dtype == dtype)
    count = len(lengths)
    write(MAGIC + struct.pack("<QBQQ", VERSION, code, count, count + 1))
    write(lengths.astype("<i4").tobytes())
    write(((np.cumsum(lengths) - lengths) * dtype.itemsize).astype("<i8").tobytes())
    write(np.arange(count + 1, dtype="<i8").tobytes())


class MegatronIndex(NamedTuple):
    """The content of an .idx file.

    dtype       of the ids in the .bin file
    lengths     (sequences,) tokens of each
    pointers    (sequences,) offset of each in the .bin file, in bytes
    documents   (documents + 1,) the first sequence of each document, and the end
    """

    dtype: np.dtype[Any]
    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    documents: NDArray[np.int64]


def read_index(path: Path) -> MegatronIndex:
    """Read an .idx file. Raises ShardError if it is not one, or incomplete."""
    data = path.read_bytes()
    if data[: len(MAGIC)] != MAGIC or len(data) < HEADER:
        raise ShardError(
            f"{path}: begins with {data[: len(MAGIC)]!r}, not {MAGIC!r}; it is not an index of Megatron-LM."
        )
    version, code, sequences, documents = struct.unpack_from("<QBQQ", data, len(MAGIC))
    if version != VERSION or code not in CODES:
        raise ShardError(f"{path}: version {version} and type {code}; known are version 1, types 4 and 8.")
    size = HEADER + 12 * sequences + 8 * documents
    if len(data) != size:
        raise ShardError(f"{path}: has {len(data)} bytes, its header says {size}; it was cut. Copy it again.")
    lengths = np.frombuffer(data, "<i4", sequences, HEADER)
    pointers = np.frombuffer(data, "<i8", sequences, HEADER + 4 * sequences)
    return MegatronIndex(CODES[code], lengths, pointers, np.frombuffer(data, "<i8", documents, size - 8 * documents))


Megatron = MegatronWriter  # its name before 1.0
