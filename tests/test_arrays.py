"""Files of arrays: rows that are asked for before they are read."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.store.arrays import map_arrays, write_arrays

ROWS = 3_000


@given(st.data(), st.booleans())
def test_rows_that_were_asked_for_are_those_of_the_file(tmp_path_factory, data, scattered):
    path = tmp_path_factory.getbasetemp() / "asked.arrays"
    wide, flat = np.arange(ROWS * 7, dtype=np.uint16).reshape(ROWS, 7), np.arange(ROWS)
    if not path.exists():
        write_arrays(path, {"wide": wide, "flat": flat, "none": np.empty((0, 3))})
    arrays = map_arrays(path, scattered)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, ROWS - 1)))), np.int64)
    for name, whole in (("wide", wide), ("flat", flat)):
        arrays.will_need(name, rows)
        assert np.array_equal(arrays.take(name, rows), whole[rows])
        for start, stop in pairwise(rows.tolist()):
            arrays.will_read(name, start, stop)
            assert np.array_equal(arrays.part(name, start, stop), whole[start:stop])
            assert np.array_equal(arrays.copied(name, start, stop), whole[start:stop])
            for dtype in (whole.dtype, np.uint8):
                place = np.empty_like(whole[start:stop], dtype)
                arrays.into(place, name, start, stop)
                assert np.array_equal(place, whole[start:stop].astype(dtype))
            arrays.has_read(name, start, stop)
        assert np.array_equal(arrays.part(name, 0, ROWS), whole)
    arrays.will_read("flat", 0, ROWS)
    arrays.has_read("none", 0, 0)
    arrays.will_read("none", 0, 0)
    arrays.will_need("none", np.array([], np.int64))
