"""Ids with the ends of documents stand as one would write them down."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.tokens.counts import lay_out

BOS, EOS = 7, 9


@given(st.lists(st.lists(st.integers(0, 65_535), max_size=5), max_size=6), st.booleans(), st.sampled_from(["u2", "u4"]))
def test_documents_are_laid_out_with_their_ends(documents, begins, dtype):
    expected = [i for document in documents for i in [*([BOS] if begins else []), *document, EOS]]
    ids = np.array([i for document in documents for i in document], np.uint32)
    offsets = np.cumsum([0, *map(len, documents)])
    out = np.empty(len(expected), dtype)
    lay_out(ids, offsets, BOS if begins else -1, EOS, out)
    assert out.tolist() == expected
