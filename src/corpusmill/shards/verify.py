"""Checks all that FORMAT.md promises of a folder of training shards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.files import ShardFiles
from corpusmill.shards.forgotten import NO_DOCUMENTS
from corpusmill.shards.layout import PADDING, DocumentSpans, ShardEntry

CHUNK = 1 << 22  # tokens


@dataclass
class Controls:
    """The tokens that begin and end documents, in all shards: as many as documents, if nothing is wrong; a document
    whose end was discarded has no EOS. `bos` is None if documents begin with no such token."""

    documents: int = 0
    eos: int = 0
    bos: int | None = None

    def __str__(self) -> str:
        bos = "" if self.bos is None else f", {self.bos:,} BOS"
        return f"{self.documents:,} document{'s' * (self.documents != 1)}{bos}, {self.eos:,} EOS"


def problems(
    files: ShardFiles, controls: Controls | None = None, erased: NDArray[np.int64] = NO_DOCUMENTS
) -> Iterator[str]:
    """Every problem as a sentence that begins with the file and gives the actual and the promised value.

    controls   is given what was counted
    erased     documents whose tokens are all padding

    Reads each file twice. A shard with a wrong checksum is not checked further: its other problems would only repeat
    that one.
    """
    index = files.index
    document, offset = 0, 0  # of the next token that is expected
    for entry in index.shards:
        damage = list(_damage(files, entry))
        yield from damage
        if damage:
            document, offset = entry.first_document + entry.documents, -1
            continue
        runs = files.spans(entry)
        yield from _ids(files, entry, runs, controls or Controls(), erased)
        order, document, offset = _order(files, entry, runs, document, offset, erased)
        yield from order
        if entry.table_xxh3_128 is not None:
            yield from _table(files, entry, runs)
    if document + (offset > 0) != index.documents - index.discarded_documents and offset >= 0:
        yield (
            f"{files.folder}: holds {document + (offset > 0)} documents, the index says "
            f"{index.documents} less {index.discarded_documents} discarded"
        )
    if offset > 0 and not index.discarded_tokens:
        yield f"{files.folder}: ends within document {document}, and the index says that nothing was discarded"


def _damage(files: ShardFiles, entry: ShardEntry) -> Iterator[str]:
    index = files.index
    looks: list[Callable[[ShardEntry], object]] = [files.check_tokens, files.spans]
    if entry.table_xxh3_128 is not None:
        looks.append(files.table)
    for look in looks:
        try:
            look(entry)
        except ShardError as error:
            yield str(error)
            if look == files.spans:
                return
    runs = files.spans(entry)
    if len(runs.start) != entry.spans:
        yield f"{files.folder / index.spans_name(entry.number)}: {len(runs.start)} spans, the index says {entry.spans}"


def _ids(
    files: ShardFiles, entry: ShardEntry, runs: DocumentSpans, controls: Controls, erased: NDArray[np.int64]
) -> Iterator[str]:
    """Ids are in the vocabulary; EOS is at the end of each document and nowhere else; BOS, if there is one, at the
    beginning of each and nowhere else; padding and erased documents are the padding token."""
    path = files.folder / files.index.tokens_name(entry.number)
    index = files.index
    tokens = files.tokens(entry)
    ends = np.append(runs.start[1:], entry.tokens)
    padding, is_erased = runs.document == PADDING, np.isin(runs.document, erased)
    eos = bos = 0
    for low in range(0, entry.tokens, CHUNK):
        chunk = tokens[low : low + CHUNK]
        if (largest := int(chunk.max())) >= index.vocabulary:
            at = low + int(np.argmax(chunk >= index.vocabulary))
            yield f"{path}: token {at} is {largest}, and the vocabulary has {index.vocabulary}"
            return
        eos += int((chunk == index.eos_id).sum())
        bos += 0 if index.bos_id is None else int((chunk == index.bos_id).sum())
    for a, b in zip(runs.start[padding].tolist(), ends[padding].tolist()):
        if (tokens[a:b] != index.pad_id).any():
            yield f"{path}: the spans mark tokens {a} to {b} as padding, and they are not all {index.pad_id}"
            return
    for a, b in zip(runs.start[is_erased].tolist(), ends[is_erased].tolist()):
        if (tokens[a:b] != index.pad_id).any():
            yield f"{path}: tokens {a} to {b} are of an erased document, and they are not all {index.pad_id}"
            return
    padding |= is_erased
    if index.pad_id == index.eos_id:
        eos -= int((ends - runs.start)[padding].sum())
    controls.documents += int((~padding & (runs.offset == 0)).sum())
    controls.eos += eos
    if index.bos_id is not None:
        controls.bos = (controls.bos or 0) + bos
    closed = int((tokens[ends[~padding] - 1] == index.eos_id).sum())
    if eos != closed:
        yield f"{path}: {eos - closed} end-of-document tokens are inside documents"
    if index.bos_id is not None:
        begins = runs.start[~padding & (runs.offset == 0)]
        opened = int((tokens[begins] == index.bos_id).sum())
        if opened != len(begins) or bos != opened:
            yield (
                f"{path}: {len(begins)} documents start here, {opened} of them with the BOS token, which occurs {bos} "
                "times"
            )


def _order(
    files: ShardFiles, entry: ShardEntry, runs: DocumentSpans, document: int, offset: int, erased: NDArray[np.int64]
) -> tuple[list[str], int, int]:
    """Every document occurs once, from its first token to its EOS; one may continue in the next shard.

    Takes and returns the (document, offset) of the next token that is expected; an offset below 0 means unknown.
    """
    path = files.folder / files.index.spans_name(entry.number)
    ends = np.append(runs.start[1:], entry.tokens)
    if len(runs.start) and (runs.start[0] != 0 or (ends <= runs.start).any()):
        return [f"{path}: the spans do not cover the shard from its first token to its last"], document, -1
    real = runs.document != PADDING
    order = np.lexsort((runs.offset[real], runs.document[real]))
    who, since = runs.document[real][order], runs.offset[real][order]
    length = (ends - runs.start)[real][order]
    last = files.tokens(entry)[ends[real][order] - 1] == files.index.eos_id
    if not len(who):
        return [], document, offset
    is_erased = np.isin(who, erased)  # have no end that could be told from their other tokens
    last = np.where(is_erased, np.append(who[1:] != who[:-1], True), last)
    if offset >= 0 and (int(who[0]), int(since[0])) != (document, offset):
        problem = f"begins with token {since[0]} of document {who[0]}, expected token {offset} of document {document}"
        return [f"{path}: {problem}"], entry.first_document + entry.documents, -1
    # A piece is followed by the rest of its document or, if it ends with EOS, by the next document.
    goes_on = (who[1:] == who[:-1]) & (since[1:] == since[:-1] + length[:-1]) & ~last[:-1]
    next_one = (who[1:] == who[:-1] + 1) & (since[1:] == 0) & last[:-1]
    wrong = np.flatnonzero(~(goes_on | next_one))
    if len(wrong):
        i = int(wrong[0])
        tail = "" if last[i] else " without its end-of-document token"
        problem = (
            f"document {who[i]} up to token {since[i] + length[i]}{tail} is followed by token {since[i + 1]} of "
            f"document "
            f"{who[i + 1]}"
        )
        return [f"{path}: {problem}"], entry.first_document + entry.documents, -1
    starting = int((since == 0).sum())
    problems = []
    if starting != entry.documents or (starting and int(who[since == 0][0]) != entry.first_document):
        problems.append(f"{path}: {starting} documents start here, the index says {entry.documents}")
    if is_erased[-1]:
        return problems, entry.first_document + entry.documents, -1
    if last[-1]:
        return problems, int(who[-1]) + 1, 0
    return problems, int(who[-1]), int(since[-1] + length[-1])


def _table(files: ShardFiles, entry: ShardEntry, runs: DocumentSpans) -> Iterator[str]:
    """The table lists the documents that start here, with their number of tokens in the shards."""
    import pyarrow.parquet as pq

    path = files.folder / files.index.table_name(entry.number)
    with pq.ParquetFile(path) as file:  # `read_table` imports pyarrow.dataset
        table = file.read(columns=["document", "tokens"], use_threads=False)
    numbers, tokens = table["document"].to_numpy(), table["tokens"].to_numpy()
    if not np.array_equal(numbers, np.arange(entry.first_document, entry.first_document + entry.documents)):
        yield f"{path}: does not list the {entry.documents} documents from {entry.first_document}, each once, in order"
        return
    starts_here = (runs.document >= entry.first_document) & (runs.document < entry.first_document + entry.documents)
    lengths = (np.append(runs.start[1:], entry.tokens) - runs.start)[starts_here]
    counted = np.zeros(entry.documents, np.int64)
    np.add.at(counted, runs.document[starts_here] - entry.first_document, lengths)
    # The last document may continue in the next shard, or have lost its end.
    if not np.array_equal(counted[:-1], tokens[:-1]) or (len(counted) and counted[-1] > tokens[-1]):
        row = int(np.argmax(counted != tokens))
        yield f"{path}: document {numbers[row]} has {tokens[row]} tokens, its shard holds {counted[row]}"
