"""A packed model: the n-grams that were packed come back, their probabilities within a step."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill import assets
from corpusmill.models.model_file import write_model
from corpusmill.models.ngram import FORMAT, NgramModel
from corpusmill.models.ngram_keys import extend
from corpusmill.models.ngram_packed import SPECIAL_WORDS, STEPS, pack, unpack
from corpusmill.steps.annotate.perplexity import PROSE_EN, Perplexity
from corpusmill.text.hashing import xxh64

WORDS = ["ant", "bee", "über"]
COUNT = len(WORDS) + len(SPECIAL_WORDS)


def slow_key(row) -> int:
    """From the last word to the first."""
    data = [np.frombuffer(word.encode(), np.uint8) for word in WORDS]
    hashes = [*SPECIAL_WORDS, *(xxh64(word, 0, len(word), np.uint64(0)) for word in data)]
    key = np.uint64(0)
    for number in reversed(row):
        key = np.uint64(extend(key, np.uint64(hashes[number])))
    return int(key)


@given(
    st.sets(st.tuples(*[st.integers(0, COUNT - 1)] * 3), max_size=30),
    st.lists(st.floats(-10.5, 0), min_size=1, max_size=9),
)
def test_unpacked_n_grams_are_those_that_were_packed(threes, logs):
    twos = {row[:2] for row in threes}
    grams = [
        np.arange(COUNT).reshape(-1, 1),
        *(np.array(sorted(rows), np.int64).reshape(-1, n) for n, rows in ((2, twos), (3, threes))),
    ]
    log = [np.resize(np.array(logs, np.float32), len(rows)) for rows in grams]
    keys, unpacked, backs = unpack(pack(WORDS, grams, log, log), 3, wide=False)
    for n in range(3):
        assert keys[n].tolist() == [slow_key(row) for row in grams[n].tolist()]
        assert np.allclose(unpacked[n], log[n], atol=0.5 / STEPS + 1e-6) and np.array_equal(unpacked[n], backs[n])


def test_a_packed_file_is_a_model(tmp_path):
    grams = [np.arange(COUNT).reshape(-1, 1), np.array([[1, 3], [3, 4], [4, 2]])]
    logs = [np.full(COUNT, -2.0), np.full(3, -0.5)]
    backs = [np.zeros(COUNT), np.zeros(3)]
    card = {"order": 2, "packed": True, "wide": False}
    write_model(tmp_path / "small.lm", FORMAT, card, pack(WORDS, grams, logs, backs))
    total, _, words = NgramModel.load(tmp_path / "small.lm").score(pa.array(["ant bee", "bee ant"], pa.large_string()))
    assert np.allclose(total, [-1.5, -6.0]) and words.tolist() == [2, 2]


def test_without_a_model_the_one_that_ships_orders_texts():
    prose = "The old house stood at the end of the road, and nobody had lived in it for many years."
    shuffled = "Road had the nobody of years old the house and for at it end many stood the lived in."
    foreign = "Das alte Haus stand am Ende der Straße, und niemand hatte seit vielen Jahren darin gewohnt."
    step = Perplexity()
    values = step.signals(docs(prose, shuffled, foreign))["value"].to_pylist()
    assert values[0] < values[1] / 2 < values[2] / 10
    assert step.assets == (PROSE_EN,) and assets.locate(PROSE_EN).stat().st_size < 2 << 20
