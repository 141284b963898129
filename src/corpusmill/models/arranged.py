"""Token ids of documents that depend on more than their text: filled in, and with a prefix by metadata."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.models.fill_in import Fim, fill_in
from corpusmill.models.token_breaks import token_breaks
from corpusmill.models.tokenizer import Tokenizer, clean
from corpusmill.models.url_prefix import UrlPrefix
from corpusmill.text.array_types import Int64s
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.counts import lay_out


class Arranged(NamedTuple):
    """What `arrange` makes.

    ids       (tokens,) of all documents, each with BOS, if there is one, and EOS
    lengths   (documents,) tokens of each
    breaks    (breaks,) ids before each place at which a document may be cut, rising, without the ends of documents
    """

    ids: NDArray[Any]
    lengths: Int64s
    breaks: Int64s


def arrange(
    tokenizer: Tokenizer,
    docs: pa.RecordBatch,
    fim: Fim | None,
    prefix: UrlPrefix | None,
    row_tokens: int | None,
    split_at: SplitAt | None,
) -> Arranged:
    """Token ids of documents.

    docs         with `id`, `text` and `url`
    row_tokens   tokens of a row: no part that is filled in is longer; None without rows
    split_at     where documents that are not filled in may be cut
    """
    texts = clean(docs["text"])
    documents = len(texts)
    heads = prefix.ids(tokenizer, docs["id"], docs["url"]) if prefix else [np.empty(0, np.uint32)] * documents
    head_sizes = np.array([len(head) for head in heads], np.int64)
    bos = int(tokenizer.bos_id is not None)
    hashes = fim.hashes(docs["id"]) if fim else np.zeros(documents, np.uint64)
    filled = fim.chosen(hashes) if fim else np.zeros(documents, bool)
    filled &= np.diff(_offsets(texts)) > 0

    plain = texts.filter(pa.array(~filled))
    plain_ids, plain_lengths = tokenizer.encode_documents(plain)
    plain_starts = np.cumsum(plain_lengths) - plain_lengths
    contents: list[list[NDArray[Any]]] = [[] for _ in range(documents)]
    rows = np.flatnonzero(~filled)
    for row, start, length in zip(rows.tolist(), plain_starts.tolist(), plain_lengths.tolist()):
        contents[row] = [plain_ids[start + bos : start + length - 1]]
    if fim and filled.any():
        filled_rows = np.flatnonzero(filled)
        rooms = None if row_tokens is None else row_tokens - 1 - bos - head_sizes[filled_rows]
        filled_ids = fill_in(tokenizer, fim, texts.filter(pa.array(filled)).to_pylist(), hashes[filled_rows], rooms)
        for row, parts in zip(filled_rows.tolist(), filled_ids):
            contents[row] = list(parts)

    sizes = np.array([sum(map(len, parts)) for parts in contents], np.int64) + head_sizes
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    none = np.empty(0, np.uint32)
    flat = np.concatenate([none, *(ids for head, parts in zip(heads, contents) for ids in (head, *parts))])
    lengths = sizes + 1 + bos
    out = np.empty(int(lengths.sum()), tokenizer.dtype)
    lay_out(
        flat.astype(np.uint32), offsets, -1 if tokenizer.bos_id is None else tokenizer.bos_id, tokenizer.eos_id, out
    )

    begins = np.cumsum(lengths) - lengths + bos + head_sizes  # of what is after the prefix
    places = [
        begins[row] + np.cumsum([len(part) for part in contents[row][:-1]], dtype=np.int64)
        for row in np.flatnonzero(filled).tolist()
    ]
    if split_at:
        at = token_breaks(tokenizer, plain, plain_ids, plain_lengths, split_at)
        document = np.searchsorted(plain_starts, at, "right") - 1
        places.append(begins[rows[document]] + at - plain_starts[document] - bos)
    return Arranged(out, lengths, np.sort(np.concatenate([np.empty(0, np.int64), *places])))


def _offsets(texts: pa.LargeStringArray) -> Int64s:
    _, offsets, _ = texts.buffers()
    if offsets is None:
        return np.zeros(len(texts) + 1, np.int64)
    return np.frombuffer(offsets, np.int64, len(texts) + 1, texts.offset * 8)
