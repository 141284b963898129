import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.text.repeats import RepeatIndex

records = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30), max_size=5)


def columns(piece):
    return np.array(piece, np.uint64).reshape(-1, 2).T.copy()


@given(records)
def test_what_came_before_is_known_however_the_stream_is_cut(stream):
    seen, before = RepeatIndex(), []
    for piece in stream:
        before += seen.add(*columns(piece)).tolist()
    everything = [record for piece in stream for record in piece]
    assert before == [record in everything[:i] for i, record in enumerate(everything)]
    distinct = list(dict.fromkeys(everything))
    assert seen.distinct == len(distinct)
    assert seen.repeated().tolist() == [i for i, record in enumerate(distinct) if everything.count(record) > 1]
    assert seen.related().tolist() == [
        i for i, (key, _) in enumerate(distinct) if len({whole for other, whole in distinct if other == key}) > 1
    ]


def test_many_records_of_one_key_are_distinguished():
    whole = np.arange(200_000, dtype=np.uint64)
    seen = RepeatIndex()
    assert not seen.add(np.full(200_000, 7, np.uint64), whole).any()
    assert seen.add(np.full(200_000, 7, np.uint64), whole).all()
    assert len(seen.related()) == 200_000
