"""Hashes of texts and spans: XXH64, and what tables use, whatever array the text is in."""

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.folded_hash import word_hashes
from corpusmill.text.hashing import SECOND_SEED, hash64, hash128, hash_spans, quick_hashes
from corpusmill.text.shapes import span_texts
from text_strategies import raw_strings, strings

blobs = st.lists(st.one_of(st.binary(max_size=9), st.binary(min_size=10, max_size=90)), min_size=1, max_size=5)


@given(blobs, st.sampled_from([0, 1, SECOND_SEED]))
@settings(max_examples=60)
def test_documents_hash_as_the_library_does(texts, seed):
    array = raw_strings(b"before", *texts)[1:]
    assert hash64(array, seed).tolist() == [xxhash.xxh64_intdigest(text, seed) for text in texts]
    both = [[xxhash.xxh64_intdigest(text, s) for s in (0, SECOND_SEED)] for text in texts]
    assert hash128(array).tolist() == both


@given(blobs)
@settings(max_examples=60)
def test_quick_hashes_depend_on_the_bytes_alone(texts):
    hashes = quick_hashes(raw_strings(*texts)).tolist()
    assert quick_hashes(raw_strings(b"other", *reversed(texts))[1:]).tolist() == hashes[::-1]
    assert all((a == b) == (x == y) for a, x in zip(hashes, texts) for b, y in zip(hashes, texts))


def test_quick_hashes_of_every_size_differ():
    texts = [b"a" * size for size in range(70)] + [b"a" * size + b"b" for size in range(70)]
    assert len(set(quick_hashes(raw_strings(*texts)).tolist())) == 140


def test_nulls_hash_as_empty_texts():
    assert hash64(strings(None, "")).tolist() == [xxhash.xxh64_intdigest(b"")] * 2
    assert quick_hashes(strings(None, "")).tolist() == [quick_hashes(strings("")).tolist()[0]] * 2
    assert quick_hashes(strings()).tolist() == []


@given(st.lists(st.text("aAbBéÉ1-", min_size=1, max_size=20), min_size=1, max_size=6))
@settings(max_examples=60)
def test_hashes_of_words_ignore_case_in_ascii(words):
    upper = "".join
    swapped = [upper(c.swapcase() if c.isascii() else c for c in word) for word in words]
    assert word_hashes(strings(*words)).tolist() == word_hashes(strings(*swapped)).tolist()


spans_of = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 6)), max_size=8)
TEXTS = ("the mill", "été 日", "")


@given(spans_of)
@settings(max_examples=60)
def test_spans_are_hashed_and_copied_in_any_order(rows):
    raw = [text.encode() for text in TEXTS]
    spans = [(d, *sorted((min(a, len(raw[d])), min(b, len(raw[d]))))) for d, a, b in rows]
    table = np.array(spans, np.int64).reshape(-1, 3)
    expected = [raw[d][a:b] for d, a, b in spans]
    assert hash_spans(strings(*TEXTS), table).tolist() == [xxhash.xxh64_intdigest(part) for part in expected]
    copies = span_texts(strings("x", *TEXTS)[1:], *table.T)
    assert copies.cast(pa.large_binary()).to_pylist() == expected
    assert span_texts(strings(*TEXTS), *table.astype(np.int32).T).cast(pa.large_binary()).to_pylist() == expected


@pytest.mark.parametrize("span", [(0, -1, 2), (0, 3, 2), (0, 0, 99), (3, 0, 0), (-1, 0, 0)])
def test_spans_outside_of_their_document_are_refused(span):
    with pytest.raises(ValueError, match="a span must be within its document"):
        hash_spans(strings(*TEXTS), np.array([span]))
