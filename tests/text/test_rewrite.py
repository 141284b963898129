"""Texts that need no change keep their bytes."""

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.text.rewrite import beyond_ascii, masked, with_text
from text_strategies import strings


def upper(texts):
    return pc.utf8_upper(texts)


@given(st.lists(st.one_of(st.none(), st.text("abé日", max_size=4)), max_size=6))
@settings(max_examples=40)
def test_only_texts_beyond_ascii_are_rewritten(texts):
    expected = [text if text is None or text.isascii() else text.upper() for text in texts]
    assert beyond_ascii(strings(*texts), upper).to_pylist() == expected


def test_without_a_true_in_the_mask_the_array_is_the_same():
    array = strings("a", None)
    assert masked(array, pa.array([False, None]), upper) is array
    assert masked(strings("a", "b", None), pa.array([True, False, None]), upper).to_pylist() == ["A", "b", None]


def test_a_batch_keeps_its_other_columns():
    batch = docs("one", "two")
    other = with_text(batch, strings("ONE", None))
    assert other["text"].to_pylist() == ["ONE", None]
    assert other.schema == batch.schema and other["id"] == batch["id"]
