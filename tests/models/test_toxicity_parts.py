"""Spellings of words, and columns that are lists or have nulls."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import typeof

from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models import table_cache, toxicity
from corpusmill.models.model_file import write_model
from corpusmill.models.toxicity import (
    FORMAT,
    HITS,
    MIN_MISSPELLED,
    MISSPELLED,
    TOXICITY_EN,
    WORDS_EN,
    Rater,
    ToxicityModel,
    lists,
    spellings,
    spread,
    word_list,
    word_table,
)
from corpusmill.models.toxicity_score import KIND_FEATURES, WORD_KINDS, lookup
from corpusmill.text.compile import kernel
from corpusmill.text.folded_hash import word_hashes
from text_strategies import strings


@given(st.text("abcde", min_size=1, max_size=8))
@settings(max_examples=60)
def test_spellings_have_a_letter_left_out_or_two_swapped(word):
    found = list(spellings(word))
    for spelling in found:
        if len(spelling) == len(word):
            differing = [i for i in range(len(word)) if spelling[i] != word[i]]
            assert sorted(spelling) == sorted(word) and (not differing or differing[-1] - differing[0] == 1)
        else:
            at = next((i for i in range(len(spelling)) if spelling[i] != word[i]), len(spelling))
            assert spelling == word[:at] + word[at + 1 :] and spelling[0] in word[:2]
    if len(word) < MIN_MISSPELLED:
        assert not found


@kernel
def rows_of(hashes, slots, rows):
    for i in range(len(hashes)):
        rows[i] = lookup(hashes[i], slots)


def test_a_table_has_words_and_spellings_that_are_no_words():
    kind = min(MISSPELLED)
    table = word_table(["abcde", "plain", "acbde"], np.array([kind, 0, kind], np.uint8), ["abde"])
    words = ["abcde", "plain", "acbde", "abde", "abce", "bacde", "plian", "zzzz", "ABCDE"]
    rows = np.empty(len(words), np.int64)
    rows_of(word_hashes(strings(*words)), table.words, rows)
    first, plain, other, close, left_out, swapped, of_plain, missing, capital = rows.tolist()
    assert (first, plain, other, capital) == (0, 1, 2, 0)
    assert close == of_plain == missing == -1
    assert left_out > 2 < swapped and left_out - 0 == swapped - 0


def model_with(path, **changes):
    words = np.frombuffer(b"one\ntwo", np.uint8)
    arrays: dict[str, Any] = {
        "words": words, "kinds": np.zeros(2, np.uint8), "weights": np.zeros(2 + KIND_FEATURES, np.float32),
        "bias": np.zeros(1, np.float32), "close": np.frombuffer(b"three", np.uint8),
    }  # fmt: skip
    write_model(path, FORMAT, {}, {**arrays, **changes})
    return path


def test_a_model_without_weights_scores_a_half(tmp_path):
    scores = ToxicityModel.load(model_with(tmp_path / "m")).score(strings("one word. Two words.", "", None))
    assert scores.documents[0] == pytest.approx(0.5) and np.isnan(scores.documents[1:]).all()
    assert scores.worst.tolist() == [0, -1, -1] and scores.words.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": np.zeros(3, np.uint8)}, r"the shape of the array kinds is \[3\], must be \[2\]"),
        ({"weights": np.zeros(5, np.float32)}, "the shape of the array weights"),
        ({"bias": np.zeros(2, np.float32)}, r"the shape of the array bias is \[2\], must be \[1\]"),
        (
            {"kinds": np.full(2, WORD_KINDS, np.uint8)},
            f"the kind of a word is {WORD_KINDS}, must be less than {WORD_KINDS}",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, changes, message):
    with pytest.raises(AssetError, match=message):
        ToxicityModel.load(model_with(tmp_path / "m", **changes))


def test_values_are_spread_over_valid_rows():
    column = spread(np.array([1.5, 2.5]), np.array([False, True, True]))
    assert column.to_pylist() == [None, 1.5, 2.5]
    assert spread(np.empty(0, np.int64), np.zeros(2, bool)).to_pylist() == [None, None]


def test_lists_of_structs_by_document():
    column = lists(np.array([2, 0, 1]), [np.array([1, 2, 3]), np.array([4, 5, 6])], HITS)
    assert column.to_pylist() == [[{"start": 1, "end": 4}, {"start": 2, "end": 5}], [], [{"start": 3, "end": 6}]]
    assert lists(np.zeros(0, np.int64), [np.empty(0, np.int64)] * 2, HITS).to_pylist() == [] and column.type == HITS


def test_a_rater_says_where_and_how_bad():
    columns = Rater().columns(strings("A nice day. You are a stupid idiot.", "", None), spans=True)
    assert columns["score"].to_pylist()[1:] == [None, None] and 0 <= columns["score"].to_pylist()[0] <= 1
    assert columns["worst_start"].to_pylist()[0] == len("A nice day. ") and columns["worst_end"].to_pylist()[0] == 35
    assert columns["words"].type == HITS and len(columns["sentences"]) == 3
    assert "words" not in Rater().columns(strings("x"), spans=False)


@pytest.mark.parametrize("score", [-0.1, 1.5])
def test_a_score_is_from_0_to_1(score):
    with pytest.raises(RecipeError, match=f"sentence_score must be from 0 to 1, got {score}"):
        Rater(sentence_score=score)


def test_a_list_that_is_not_there():
    with pytest.raises(AssetError):
        Rater(lexicon="/no/such/list.txt")
    assert pa.types.is_list(HITS) and Rater().assets == ("toxicity-en", "toxic-words-en")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(table_cache, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def loaded():
    """Model and list as a new process has them, and as kernels see them."""
    model = ToxicityModel.load(assets.locate(TOXICITY_EN))
    tables = [*model.table, model.weights, *word_list(assets.locate(WORDS_EN))]
    return [(typeof(table), np.asarray(table).tolist()) for table in tables]


def test_the_tables_of_words_are_made_once_for_each_content(cache, monkeypatch, tmp_path):
    first = loaded()
    assert len(list(cache.iterdir())) == 2
    monkeypatch.setattr(toxicity, "make_words", None)
    monkeypatch.setattr(toxicity, "word_table", None)
    assert loaded() == first
    monkeypatch.undo()
    monkeypatch.setattr(table_cache, "cache_folder", lambda: cache)
    own = tmp_path / "words.txt"
    for word in ("oaf", "oafish"):
        own.write_text(word)
        assert bytes(word_list(own).letters) == word.encode()


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", None])
def test_damaged_tables_of_words_are_made_again(cache, damage):
    first = loaded()
    for path in cache.glob("*/*.npy"):
        path.unlink() if damage is None else path.write_bytes(damage)
    assert loaded() == first


def test_without_a_cache_the_tables_of_words_are_the_same(cache, monkeypatch):
    first = loaded()
    monkeypatch.setattr(table_cache, "cache_folder", lambda: None)
    assert loaded() == first


def test_no_documents_have_the_columns_of_some():
    some = Rater().columns(strings("A nice day."), spans=True)
    none = Rater().columns(strings(), spans=True)
    assert {name: column.type for name, column in none.items()} == {name: c.type for name, c in some.items()}
    assert list(none) == list(some)
