"""Naive Bayes over n-grams of bytes: the spaces and marks of a text, an automaton, scores and shares, against slow twins."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.models.wide import best_of, plain, prepare, sums
from corpusmill.models.wide_score import MAX_COUNTED, NO_NAME, UNIT, Wide, best_two, has_marks, name_texts, score
from corpusmill.text.buffers import view
from corpusmill.text.compile import kernel
from text_strategies import strings

UNSEEN = "\u00ad\u2060\ufeff"
ATOMS = [
    "a",
    "AB",
    "é",
    "e\u0301",
    "É",
    "ß",
    " ",
    "\t",
    "\n",
    "\u00a0",
    "\u2003",
    "\u200b",
    "\u3000",
    *UNSEEN,
    "日",
    "😀",
    "Σ",
    "Ж",
    "ж",
    "σ",
    "\u1100\u1161",
    "1",
]
texts = st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)


def slow_prepare(spans):
    joined = " ".join(span for span in spans if span)
    spaced = "".join(
        " " if c.isspace() or c == "\u200b" or "\u2000" <= c <= "\u200b" else c for c in joined if c not in UNSEEN
    )
    return spaced.lower() if spaced.isupper() else spaced


@given(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=3))
@settings(max_examples=150)
def test_spans_are_joined_in_normal_form(batch):
    batch = [[span for span in row if span.strip(UNSEEN) == span] for row in batch]
    spans = [span for row in batch for span in row]
    buffer = view(strings(*spans))
    bounds = np.cumsum([0, *map(len, batch)])
    data, offsets = prepare(buffer.data, buffer.offsets[:-1], buffer.offsets[1:], bounds)
    found = [bytes(data[a:b]).decode() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist())]
    expected = [unicodedata.normalize("NFC", slow_prepare(row)) for row in batch]
    assert [unicodedata.normalize("NFC", text) for text in found] == expected
    assert len(data) >= offsets[-1] + 64


@given(st.lists(st.sampled_from([*map(chr, range(128)), "é", "\u00a0"]), min_size=60, max_size=200).map("".join))
@settings(max_examples=150)
def test_long_runs_of_ascii_are_as_short_ones(text):
    buffer = view(strings(text))
    data, offsets = prepare(buffer.data, buffer.offsets[:-1], buffer.offsets[1:], np.array([0, 1]))
    assert bytes(data[: offsets[1]]).decode() == slow_prepare([text])


@pytest.mark.parametrize(
    ("text", "expected"), [("ABC", "abc"), ("AbC", "AbC"), ("e\u0301", "é"), ("ΣΑΣ", "σας"), ("1 2", "1 2")]
)
def test_plain_text_is_composed_and_not_all_capitals(text, expected):
    assert plain(text.encode()).decode() == expected


def automaton(ngrams):
    """`moves` and `states` that name the longest of some n-grams that ends at each byte; a state is a suffix."""
    suffixes = {b""} | {gram[:i] for gram in ngrams for i in range(1, len(gram) + 1)}
    order = sorted(suffixes, key=lambda suffix: (len(suffix), suffix))
    number = {suffix: i for i, suffix in enumerate(order)}
    moves = np.zeros(len(order) * 256, np.uint32)
    states = np.zeros((len(order), 2), np.int32)
    for suffix, state in number.items():
        ends = [gram for gram in ngrams if suffix.endswith(gram)]
        states[state] = state * 256, 1 + ngrams.index(max(ends, key=len)) if ends else 0
        for byte in range(256):
            longer = suffix + bytes([byte])
            while longer not in number:
                longer = longer[1:]
            moves[state * 256 + byte] = number[longer]
    return moves, states


NGRAMS = [b"a", b"ab", b"ba", b"bb", b"aba", b"c"]
TABLE = np.array([[0, 0, 0], [3, -1, 0], [5, 2, -4], [0, 7, 1], [-3, 2, 2], [9, 1, 0], [1, 1, -5]], np.int8)
MOVES, STATES = automaton(NGRAMS)
MODEL = Wide(
    moves=MOVES, states=STATES, table=TABLE, ceiling=TABLE[:, :2].max(axis=1), prior=np.array([-1, -2, -0.5], np.float32),
    expected=np.array([0.5, 0.25, 0.125], np.float32), name=np.array([0, 1, NO_NAME], np.int32),
    logs=np.rint(np.log1p(np.arange(1024)) * UNIT).astype(np.int32), step=0.25, depth=3,
)  # fmt: skip


def slow_counts(data):
    counts: dict[Any, int] = {}
    for end in range(1, len(data) + 1):
        ends = [gram for gram in NGRAMS if data[:end].endswith(gram)]
        if ends:
            gram = 1 + NGRAMS.index(max(ends, key=len))
            counts[gram] = counts.get(gram, 0) + 1
    return counts


def scored(*texts):
    buffer = view(strings(*texts))
    scores = np.empty((len(texts), 3), np.float32)
    weights, best = np.empty(len(texts), np.int64), np.empty(len(texts), np.float32)
    score(buffer.data, buffer.offsets, MODEL, scores, weights, best)
    return buffer.offsets, scores, weights, best


@kernel
def find_marks(data, begin, end):
    return has_marks(data, begin, end)


words = st.one_of(st.text("abcx", max_size=30), st.text("ab", min_size=60, max_size=200))


@given(st.lists(words, min_size=1, max_size=4))
@settings(max_examples=100)
def test_scores_are_the_weighted_sum_over_the_ngrams(batch):
    _, scores, weights, best = scored(*batch)
    for d, text in enumerate(batch):
        counts = slow_counts(text.encode())
        logs = {gram: int(MODEL.logs[count]) for gram, count in counts.items()}
        assert weights[d] == sum(logs.values())
        totals = sum((logs[gram] * TABLE[gram].astype(np.int64) for gram in logs), np.zeros(3, np.int64))
        assert scores[d].tolist() == pytest.approx((totals * 0.25 / UNIT).tolist(), rel=1e-6)
        assert best[d] == pytest.approx(
            sum(logs[gram] * int(MODEL.ceiling[gram]) for gram in logs) * 0.25 / UNIT, rel=1e-6
        )


@given(st.lists(words, min_size=1, max_size=4))
@settings(max_examples=60)
def test_shares_are_a_softmax_over_the_names(batch):
    offsets, scores, weights, best = scored(*batch)
    shares, likeliest = np.empty((len(batch), 2), np.float32), np.empty(len(batch), np.int64)
    misfit, expected, lead = np.empty((3, len(batch)), np.float32)
    name_texts(offsets, scores, weights, best, MODEL, 2.0, shares, likeliest, misfit, expected, lead)
    assert likeliest.tolist() == shares.argmax(axis=1).tolist()
    for d, text in enumerate(batch):
        if weights[d] == 0:
            assert not shares[d].any() and misfit[d] == expected[d] == lead[d] == 0
            continue
        full = scores[d, :2].astype(np.float64) + MODEL.prior[:2]
        powers = np.exp((full - full.max()) * 2 / np.sqrt(len(text) + 1))
        assert shares[d].tolist() == pytest.approx((powers / powers.sum()).tolist(), rel=1e-5)
        top = int(full.argmax())
        assert expected[d] == MODEL.expected[top]
        assert misfit[d] == pytest.approx((best[d] - scores[d, top]) * UNIT / weights[d], rel=1e-5, abs=1e-6)
        assert lead[d] == pytest.approx(full[top] - (scores[d, 2] + MODEL.prior[2]), rel=1e-5, abs=1e-5)


def test_the_shares_of_the_classes_of_a_name_are_one():
    offsets, scores, weights, best = scored("abab", "c")
    merged = MODEL._replace(name=np.array([0, 0, NO_NAME], np.int32))
    shares, likeliest, rest = np.empty((2, 2), np.float32), np.empty(2, np.int64), np.empty((3, 2), np.float32)
    name_texts(offsets, scores, weights, best, merged, 2.0, shares, likeliest, *rest)
    assert shares.tolist() == [[pytest.approx(1), 0], [pytest.approx(1), 0]] and likeliest.tolist() == [0, 0]


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, MAX_COUNTED - 1, MAX_COUNTED, 3000])
def test_ngrams_that_a_text_has_so_often(times):
    text = "ab" * times + "x" + "c"
    _, scores, weights, _ = scored(text)
    counts = slow_counts(text.encode())
    logs = {gram: int(MODEL.logs[min(count, MAX_COUNTED - 1)]) for gram, count in counts.items()}
    assert weights[0] == sum(logs.values())
    totals = sum((logs[gram] * TABLE[gram].astype(np.int64) for gram in logs), np.zeros(3, np.int64))
    assert scores[0].tolist() == pytest.approx((totals * 0.25 / UNIT).tolist(), rel=1e-6)


def test_more_ngrams_than_are_summed_in_16_bits_at_a_time():
    # Each is there once, and each as likely in the first class as a byte can say.
    ngrams = 1000
    states = np.column_stack([np.zeros(ngrams + 1), np.arange(ngrams + 1)]).astype(np.int32)
    states[:, 0] = np.arange(ngrams + 1) * 256
    moves = np.repeat(np.minimum(np.arange(ngrams + 1) + 1, ngrams), 256).astype(np.uint32)
    table = np.tile(np.array([127, -128, 1], np.int8), (ngrams + 1, 1))
    table[0] = 0
    # One byte leads from each state to the next, so the text must be read from its beginning to its end.
    model = MODEL._replace(moves=moves, states=states, table=table, ceiling=table[:, 0].copy(), depth=ngrams)
    buffer = view(strings("a" * ngrams))
    scores, weights, best = np.empty((1, 3), np.float32), np.empty(1, np.int64), np.empty(1, np.float32)
    score(buffer.data, buffer.offsets, model, scores, weights, best)
    log = int(model.logs[1])
    assert scores[0].tolist() == [ngrams * log * value * 0.25 / UNIT for value in (127, -128, 1)]
    assert weights[0] == ngrams * log


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4), min_size=1, max_size=4))
def test_the_two_best_are_the_largest_and_of_equals_the_first(rows):
    best, values = np.empty((len(rows), 2), np.int32), np.empty((len(rows), 2), np.float32)
    best_two(np.array(rows, np.float32), best, values)
    for d, row in enumerate(rows):
        order = sorted((i for i in range(4) if row[i] > 0), key=lambda i: (-row[i], i))[:2]
        assert best[d].tolist() == [*order, -1, -1][:2]
        assert values[d].tolist() == [*(row[i] for i in order), 0, 0][:2]


@given(
    st.integers(0, 70), st.sampled_from(["a", "\u0300", "\u036f", "\u0370", "\u1100", "\u11ff", "\u1200", "é"]), texts
)
def test_marks_are_found_wherever_they_are(before, character, after):
    buffer = view(strings("\u0301", "a" * before + character + after, "\u0301"))
    text = buffer.data, buffer.offsets[1], buffer.offsets[2]
    wanted = any("\u0300" <= c <= "\u036f" or "\u1100" <= c <= "\u11ff" for c in character + after)
    assert bool(find_marks(*text)) == wanted


def test_a_text_without_known_ngrams_has_no_weight():
    _, scores, weights, best = scored("", "xyz", "é")
    assert not scores.any() and not weights.any() and not best.any()


def test_documents_do_not_depend_on_their_neighbours():
    _, scores, *_ = scored("abab", "c" * 300, "abab")
    assert (scores[0] == scores[2]).all()


def test_best_of_no_texts_and_sums_of_ranges():
    assert best_of(np.empty((0, 3), np.float32)).tolist() == []
    assert best_of(np.array([[0.1, 0.7, 0.2]], np.float32)).tolist() == [1]
    assert sums(np.array([[1], [2], [4]]), np.array([0, 2])).tolist() == [[3], [4]]
    assert sums(np.array([[1], [2]]), np.empty(0, np.int64)).tolist() == []
