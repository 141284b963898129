"""How a classifier is judged: areas under the curve against their definition, what is held out, what a card rounds."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import InputError, RecipeError
from corpusmill.train.quality import (
    QualitySettings,
    auc,
    auc_error,
    balanced,
    hold_out,
    rounded,
    together,
    unbeaten,
)
from corpusmill.train.tokenizer import Rate, TokenizerSettings


def texts(*values):
    return pa.array(values, pa.large_string())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_the_area_is_the_chance_that_a_good_one_scores_higher(pairs):
    good = [score for score, is_good in pairs if is_good]
    bad = [score for score, is_good in pairs if not is_good]
    if not good or not bad:
        return
    wins = sum((g > b) + (g == b) / 2 for g in good for b in bad)
    area = auc(np.array([score for score, _ in pairs]), np.array([is_good for _, is_good in pairs]))
    assert math.isclose(area, wins / (len(good) * len(bad)))


def test_more_documents_make_a_smaller_error():
    assert auc_error(0.8, 100, 100) > auc_error(0.8, 1000, 1000) > 0
    assert auc_error(1.0, 10, 10) == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_both_kinds_weigh_the_same(kinds):
    good = np.array(kinds)
    if good.all() or not good.any():
        return
    weights = balanced(good)
    assert math.isclose(weights[good].sum(), weights[~good].sum(), rel_tol=1e-5)
    assert math.isclose(weights.mean(), 1, rel_tol=1e-5)


def test_a_text_counts_once_and_one_that_is_in_both_kinds_not_at_all():
    sets = together(texts("a", "b", "b", "x"), texts("c", "d", "x", "x"))
    assert sorted(zip(sets.texts.to_pylist(), sets.good.tolist())) == [
        ("a", True),
        ("b", True),
        ("c", False),
        ("d", False),
    ]
    assert (sets.repeated, sets.disputed) == (3, 1)


def test_the_order_of_the_input_does_not_matter():
    one = together(texts("a", "b", "e"), texts("c", "d"))
    other = together(texts("e", "b", "a"), texts("d", "c"))
    assert one.texts.equals(other.texts) and one.good.tolist() == other.good.tolist()


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        (("a",), ("c", "d"), "1 good documents give 1 usable texts; need at least 2"),
        (("a", "a", "a"), ("c", "d"), "3 good documents give 1 usable texts (0 are in both kinds, 2 are duplicates)"),
        (("a", "b"), (), "0 bad documents give 0 usable texts"),
    ],
)
def test_too_few_texts_say_what_became_of_them(good, bad, message):
    with pytest.raises(InputError) as error:
        together(texts(*good), texts(*bad))
    assert str(error.value).startswith(message) and "--documents line" in str(error.value)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(2, 30), st.floats(0.01, 0.99), st.integers(0, 3))
def test_of_each_kind_one_is_held_out_at_least_and_one_trained_on(good, bad, share, seed):
    sets = together(texts(*(f"good {i}" for i in range(good))), texts(*(f"bad {i}" for i in range(bad))))
    choice = QualitySettings(held_out=share, seed=seed)
    held_out = hold_out(sets, choice)
    for kind, count in ((sets.good, good), (~sets.good, bad)):
        assert 1 <= held_out[kind].sum() <= count - 1
        assert abs(held_out[kind].sum() - share * count) <= 1
    assert held_out.tolist() == hold_out(sets, choice).tolist()


def test_baselines_that_a_model_does_not_beat():
    card = {"auc": 0.9, "error": 0.02, "length_auc": 0.6, "words_auc": 0.1, "shape_auc": 0.89}
    assert unbeaten(card) == [
        "the number of words alone (0.100)",
        "statistics of characters, words and lines alone (0.890)",
    ]
    assert unbeaten({**card, "words_auc": 0.5, "shape_auc": 0.5}) == []


def test_numbers_of_a_card_are_rounded():
    assert rounded({"a": [0.123456, (1, 2.00001)], "b": "x", "c": None}) == {
        "a": [0.1235, [1, 2.0]],
        "b": "x",
        "c": None,
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bits": 3}, "bits must be from"),
        ({"epochs": 0}, "need epochs >= 1, rate > 0 and decay >= 0, got 0"),
        ({"rate": math.nan}, "need epochs >= 1, rate > 0 and decay >= 0"),
        ({"decay": -1.0}, "need epochs >= 1, rate > 0 and decay >= 0"),
        ({"held_out": 1.0}, "held_out must be between 0 and 1, got 1.0"),
    ],
)
def test_settings_of_a_classifier_that_cannot_be(values, message):
    with pytest.raises(RecipeError, match=message):
        QualitySettings(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vocab_size": 256}, r"vocab_size must be 257 or more \(256 bytes and 1 special tokens\)"),
        ({"vocab_size": 300, "special": ()}, "need one special token or more"),
        ({"vocab_size": 300, "special": ("<s>", "<s>")}, "distinct and not empty"),
        ({"vocab_size": 300, "special": ("",)}, "distinct and not empty"),
        ({"vocab_size": 300, "pattern": "gpt5"}, "pattern must be one of gpt2, cl100k, o200k, got 'gpt5'"),
        ({"vocab_size": 300, "min_count": 0}, "need min_count >= 1"),
        ({"vocab_size": 300, "held_out": 0.0}, "need min_count >= 1 and held_out between 0 and 1, got 2 and 0.0"),
    ],
)
def test_settings_of_a_tokenizer_that_cannot_be(values, message):
    with pytest.raises(InputError, match=message):
        TokenizerSettings(**values)


def test_rates_of_nothing_divide_by_nothing():
    assert (Rate(0, 0, 0).tokens_per_character, Rate(0, 0, 0).bytes_per_token) == (0, 0)
    assert (Rate(2, 8, 12).tokens_per_character, Rate(2, 8, 12).bytes_per_token) == (0.25, 6)
