"""Keys as files have them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.steps.keys import records, row_of, without_row


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**24 - 1)), max_size=20))
def test_a_record_is_the_top_of_a_key_and_a_row(pairs):
    keys, rows = np.array([key for key, _ in pairs], np.uint64), np.array([row for _, row in pairs], np.uint32)
    made = records(keys, rows)
    assert made.tolist() == [(key >> 24 << 24) + row for key, row in pairs]
    assert row_of(made).tolist() == rows.tolist() and row_of(made).dtype == np.uint32
    assert without_row(made).tolist() == [key >> 24 << 24 for key, _ in pairs]
