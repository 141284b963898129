"""The tokens after which a paragraph or a sentence ends, so that a row of training tokens can end there."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import AssetError
from corpusmill.models.tokenizer import Tokenizer, clean
from corpusmill.text.array_types import Int64s
from corpusmill.tokens.breaks import INSIDE, SplitAt, breaks, pieces_of, token_ends


def token_breaks(tokenizer: Tokenizer, texts: pa.Array, ids: NDArray[Any], lengths: Int64s, at: SplitAt) -> Int64s:
    """Where documents may be cut.

    ids, lengths   of these texts, from `tokenizer.encode_documents`
    returns        (breaks,) the number of ids before each, rising, without the ends of documents

    Raises AssetError if the reference gives other ids than the engine in use.
    """
    texts = clean(texts)
    starts = np.cumsum(lengths) - lengths + int(tokenizer.bos_id is not None)
    stops = np.cumsum(lengths) - 1
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])
    ends = _token_ends(tokenizer, texts, ids, starts, stops, offsets)
    document, before = breaks(pieces_of(texts, at), ends, offsets)
    positions: Int64s = starts[document] + before
    return positions


def _token_ends(
    tokenizer: Tokenizer, texts: pa.LargeStringArray, ids: NDArray[Any], starts: Int64s, stops: Int64s, offsets: Int64s
) -> Int64s:
    """(tokens of text,) bytes of the document up to the end of each token; INSIDE if that is within a character.

    For a byte-level BPE these are sums of token sizes. If they do not add up to the text, because the tokenizer
    normalizes it, and for all other tokenizers, they come from the reference, which is slow.
    """
    sizes = tokenizer.definition.sizes
    differs = offsets[1:] > offsets[:-1]
    if sizes is None:
        ends = np.zeros(offsets[-1], np.int64)
    else:
        ends, total = token_ends(ids, np.stack([starts, stops], 1), sizes)
        differs &= total != pc.binary_length(texts).to_numpy(zero_copy_only=False)
    for d in np.flatnonzero(differs).tolist():
        text = texts[d].as_py()
        expected, start, end = tokenizer.reference.spans(text)
        tokens = slice(offsets[d], offsets[d + 1])
        if not np.array_equal(expected, ids[starts[d] : stops[d]]):
            raise AssetError(
                f"{tokenizer.spec}: the engine {tokenizer.engine.name} gives other ids than the reference, which "
                f"locates "
                f"tokens in the text. Use the reference: tokenize/bpe: {{engine: {tokenizer.reference.name}}}."
            )
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(c.encode()) for c in text], dtype=np.int64)])
        ends[tokens] = before[end]
        # Several tokens of one character overlap, or have no width: only the last of them ends with it.
        inside = (start[1:] < end[:-1]) | ((start[1:] == end[:-1]) & (start[:-1] == end[:-1]))
        ends[tokens][:-1][inside] = INSIDE
    return ends
