"""lid.wide: its kernels against the definitions, and its file."""

import unicodedata
from collections import Counter
from math import log1p

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.close_pairs import compare, make_pair
from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_WIDE, WideModel, prepare
from corpusmill.models.wide_score import Wide, score
from corpusmill.text.buffers import PAD

letters = st.text(alphabet="aehinrst zäß水и", max_size=300)


def packed(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer(b"".join(texts) + bytes(PAD), np.uint8), offsets


def slow_scores(model: Wide, text: bytes) -> tuple[list[float], int, float]:
    """The definition: one state after the other, then one n-gram after the other."""
    state, found = 0, Counter[int]()
    for byte in text:
        state = int(model.moves[model.states[state, 0] + byte])
        found[int(model.states[state, 1])] += 1
    found.pop(0, None)
    times = {ngram: round(1024 * log1p(min(count, 1023))) for ngram, count in found.items()}
    sums = sum((n * model.table[ngram].astype(np.int64) for ngram, n in times.items()), np.zeros(1, np.int64))
    most = sum(n * int(model.ceiling[ngram]) for ngram, n in times.items())
    return (sums * model.step / 1024).tolist(), sum(times.values()), most * model.step / 1024


@settings(max_examples=60, deadline=None)
@given(st.lists(letters, min_size=1, max_size=3))
def test_scores_are_those_of_the_definition_however_many_places_are_read_at_once(texts):
    model = assets.load(LID_WIDE, WideModel.load)._model
    encoded = [text.encode() for text in texts]
    data, offsets = packed(encoded)
    scores = np.empty((len(texts), model.table.shape[1]), np.float32)
    weights, best = np.empty(len(texts), np.int64), np.empty(len(texts), np.float32)
    score(data, offsets, model, scores, weights, best)
    for i, text in enumerate(encoded):
        sums, weight, most = slow_scores(model, text)
        assert weights[i] == weight
        assert scores[i] == pytest.approx(sums if len(sums) > 1 else 0)
        assert best[i] == pytest.approx(most)


def slow_ngrams(text: str) -> set[bytes]:
    words = "".join(c if (c.isascii() and c.isalpha()) or c == "'" or ord(c) > 127 else " " for c in text).split(" ")
    found = set()
    for word in words:
        if word:
            padded = b" " + b"".join(c.lower().encode() if c.isascii() else c.encode() for c in word) + b" "
            found |= {padded[i : i + n] for n in range(1, 6) for i in range(len(padded) - n + 1)} | {padded}
    return found


def slow_hash(ngram: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in ngram:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(alphabet="abAB' -é", max_size=60),
    known=st.dictionaries(st.text(alphabet="ab' é", min_size=1, max_size=8), st.integers(-9, 9), max_size=12),
)
def test_a_close_pair_is_judged_by_the_distinct_ngrams_of_words(text, known):
    weights = {slow_hash(ngram.encode()): weight for ngram, weight in known.items()}
    pair = make_pair(np.array(list(weights), np.uint64), np.array(list(weights.values()), np.int8))
    total = sum(weights.get(slow_hash(ngram), 0) for ngram in slow_ngrams(text))
    data, offsets = packed([b"aaa", text.encode()])
    assert compare(data, offsets, np.array([1]), pair).tolist() == [total >= 0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="aBÉ é\u0301\u0327Жж水Σσ1", max_size=12), min_size=3, max_size=9).map(lambda x: x[:6]))
def test_windows_are_joined_composed_and_in_lower_case_if_all_are_capitals(pieces):
    windows, pieces = 3, pieces[: len(pieces) // 3 * 3]
    data, offsets = packed([piece.encode() for piece in pieces])
    out, bounds = prepare(data, offsets[:-1], offsets[1:], windows)
    for i in range(len(bounds) - 1):
        text = " ".join(piece for piece in pieces[i * windows : (i + 1) * windows] if piece)
        wanted = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
        assert unicodedata.normalize("NFC", out[bounds[i] : bounds[i + 1]].tobytes().decode()) == wanted


def test_a_file_that_is_no_model_is_reported(tmp_path):
    for content in (b"CMWIDE1 {}\n", b'CMWIDE1 {"format": 1, "classes": []}\nxz', b"CMWIDE1 "):
        path = tmp_path / "own.wide"
        path.write_bytes(content)
        with pytest.raises(AssetError, match="not a language model of corpusmill"):
            WideModel.load(path)


def test_languages_that_lid_176_lacks_or_misses():
    texts = {
        "so": "Dowladda ayaa maanta sheegtay in ay dib u furi doonto iskuulada dalka kadib markii la xiray muddo bil ah.",
        "rn": "Abantu bose bavuka bishira bakizana kandi bangana agateka n'ubuzima bwa kiremwa muntu, bakaba bategerezwa",
        "wo": "Doomi aadama yépp danuy juddu, yam ci tawfeex ci sag ak sañ-sañ. Nekk na it ku xam dëgg te ànd na ak xelam",
    }
    column = pa.array([text * 3 for text in texts.values()], pa.large_string())
    assert Identifier().columns(column)["label"].to_pylist() == list(texts)
