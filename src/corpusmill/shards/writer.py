"""Writes training shards: the tokens and spans of one shard, its table of documents, and the index of all."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.entries import index_files
from corpusmill.shards.layout import NO_PACKING, ShardEntry, ShardIndex, spans_name, stored, table_name, tokens_name
from corpusmill.shards.loss import LossRule
from corpusmill.shards.pack import Packed, Units, pack
from corpusmill.shards.plan import ShardCuts, StreamPlan
from corpusmill.shards.sample import SampleIds, texts
from corpusmill.storage import checksum
from corpusmill.store.tables import TableWriter
from corpusmill.text.array_types import Int64s

DOCUMENT_TABLE = pa.schema(
    [
        ("document", pa.int64()),  # its number in the stream, as in the spans
        ("id", pa.string()),
        ("source", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("url", pa.string()),
        ("tokens", pa.int64()),  # EOS included
    ]
)


def write_shard(packed: Packed, tokens: BinaryIO, spans: BinaryIO) -> ShardEntry:
    """Write one shard to two open files and return its entry in the index. Holds 2 M tokens in memory."""
    digest = xxhash.xxh3_128()
    for part in packed.stretches():
        block = part.astype(stored(packed.dtype.name), copy=False).data
        digest.update(block)
        tokens.write(block)
    runs = packed.spans.to_bytes(packed.size)
    spans.write(runs)
    return ShardEntry(
        number=packed.plan.number,
        tokens=packed.size,
        padding=packed.report.padding,
        rows=packed.report.rows,
        spans=len(packed.spans.start),
        first_document=packed.plan.first_document,
        documents=packed.plan.documents,
        cut_documents=packed.report.cut_documents,
        tokens_xxh3_128=digest.hexdigest(),
        spans_xxh3_128=xxhash.xxh3_128_hexdigest(runs),
    )


def write_documents(batches: Iterable[pa.RecordBatch], first: int, lengths: Int64s, path: Path) -> str:
    """Write the table of the documents that start in a shard, and return its checksum.

    batches   exactly these documents, in order, with at least the columns id, source, file, position and url
    first     the number of the first
    lengths   (documents,) tokens of each, EOS included: `Packed.lengths`

    Raises ShardError unless there are as many documents as lengths.
    """
    count = 0
    with TableWriter(path, DOCUMENT_TABLE) as table:
        for batch in batches:
            tokens = lengths[count : count + len(batch)]
            if len(tokens) == len(batch):
                origin = [batch[name] for name in ("id", "source", "file", "position", "url")]
                numbers = pa.array(range(first + count, first + count + len(batch)), pa.int64())
                columns = [
                    c.cast(f.type) for c, f in zip([numbers, *origin, pa.array(tokens, pa.int64())], DOCUMENT_TABLE)
                ]
                table.write(pa.RecordBatch.from_arrays(columns, schema=DOCUMENT_TABLE))
            count += len(batch)
    if count != len(lengths):
        raise ShardError(f"{path}: {len(lengths)} documents were packed, and the table was given {count}. Run again.")
    return checksum(path)


class Encodes(Protocol):
    """What shards need of a tokenizer, `models.tokenizer.Tokenizer`."""

    @property
    def spec(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def eos(self) -> str: ...
    @property
    def eos_id(self) -> int: ...
    @property
    def bos(self) -> str | None: ...
    @property
    def bos_id(self) -> int | None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    def encode(self, texts: pa.Array, /) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...


class TokenizerFacts(NamedTuple):
    """What an index says of a tokenizer."""

    spec: str
    fingerprint: str
    vocab_size: int
    eos: str
    eos_id: int
    dtype: str
    bos: str | None
    bos_id: int | None
    sample_tokens: int
    sample_sha256: str

    @staticmethod
    def from_tokenizer(tokenizer: Encodes) -> "TokenizerFacts":
        facts = tokenizer.spec, tokenizer.fingerprint, tokenizer.vocab_size, tokenizer.eos, tokenizer.eos_id
        return TokenizerFacts(*facts, tokenizer.dtype.name, tokenizer.bos, tokenizer.bos_id, *sample_ids(tokenizer))


_sampled: dict[tuple[object, ...], SampleIds] = {}


def sample_ids(tokenizer: Encodes) -> SampleIds:
    """What the tokenizer gives for the texts of `shards.sample`, computed once per process."""
    key = tokenizer.arguments, tokenizer.fingerprint
    if key not in _sampled:
        ids, offsets = tokenizer.encode(pa.array(texts(), pa.large_string()))
        _sampled[key] = SampleIds.from_ids(text_ids.tolist() for text_ids in np.split(ids, offsets[1:-1]))
    return _sampled[key]


def make_index(
    cuts: ShardCuts,
    documents: int,
    tokens: int,
    tokenizer: TokenizerFacts,
    pad_id: int,
    entries: Iterable[ShardEntry],
    name: str | None = None,
    has_rows: bool = True,
    loss: LossRule | None = None,
) -> ShardIndex:
    """The index of shards that were written, in any order.

    documents, tokens   of the stream that `cuts` cuts into shards
    name                of files, see `ShardIndex`
    loss                which tokens have none
    has_rows            False: the stream is not divided into rows; those of `cuts` are the shards

    Raises ShardError unless exactly the planned shards were written.
    """
    shards = tuple(sorted(entries, key=lambda entry: entry.number))
    planned = cuts.stored_tokens(tokens)
    written_tokens = sum(shard.tokens - shard.padding for shard in shards)
    if [shard.number for shard in shards] != list(range(len(shards))) or written_tokens != planned:
        raise ShardError(
            f"shards of {planned} tokens were planned, and {[s.number for s in shards]} with {written_tokens} were "
            "written. Run again."
        )
    return ShardIndex(
        tokenizer=tokenizer.spec,
        tokenizer_sha256=tokenizer.fingerprint,
        vocabulary=tokenizer.vocab_size,
        eos=tokenizer.eos,
        eos_id=tokenizer.eos_id,
        pad_id=pad_id,
        dtype=tokenizer.dtype,
        packing=cuts.method if has_rows else NO_PACKING,
        sequence_length=cuts.row if has_rows else None,
        remainder=cuts.remainder,
        documents=documents,
        discarded_documents=documents - sum(shard.documents for shard in shards),
        discarded_tokens=tokens - planned,
        shards=shards,
        bos=tokenizer.bos,
        bos_id=tokenizer.bos_id,
        sample_tokens=tokenizer.sample_tokens,
        sample_sha256=tokenizer.sample_sha256,
        split_at=cuts.split_at,
        name=name,
        loss=loss,
    )


def write_folder(
    folder: Path, plan: StreamPlan, units: Units, tokenizer: Encodes, pad_id: int | None = None
) -> ShardIndex:
    """Write all shards of a plan, without tables of documents; the index is written last.

    pad_id   the padding token; EOS by default
    """
    pad = tokenizer.eos_id if pad_id is None else pad_id
    folder.mkdir(parents=True, exist_ok=True)

    def write_shards() -> Iterator[ShardEntry]:
        for shard in plan.shards:
            tokens, spans = folder / tokens_name(shard.number), folder / spans_name(shard.number)
            with tokens.open("wb") as token_file, spans.open("wb") as span_file:
                yield write_shard(pack(shard, units, pad), token_file, span_file)

    facts = TokenizerFacts.from_tokenizer(tokenizer)
    index = make_index(plan.cuts, plan.documents, plan.tokens, facts, pad, write_shards())
    for name, content in index_files(index).items():
        (folder / name).write_bytes(content)
    return index


__all__ = ["DOCUMENT_TABLE", "make_index", "table_name", "write_documents", "write_folder", "write_shard"]
