"""Perplexity by document, line, window and language."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps.annotate.perplexity import Perplexity, load, sentences

MODEL = str(Path(__file__).parents[1] / "data" / "river.ngram")
LINES = [
    "The river that runs to the sea has to be crossed with care.",
    "It is cold.",
    "the the the the sea sea",
    "",
    "Nobody knows these words at all",
    "1, 2, 3",
]


def slow_windows(text: str, window: int) -> float:
    lines, _ = sentences(docs(text)["text"])
    log, _, words = load(MODEL).score(lines)
    worst = 0.0
    for begin in range(len(log)):
        total, count = 0.0, 0
        for line in range(begin, len(log)):
            total, count = total + log[line], count + words[line] + 1
            if count >= window:
                worst = max(worst, 10 ** (-total / count))
                break
    return worst


@given(st.lists(st.lists(st.sampled_from(LINES), max_size=6).map("\n".join), max_size=4), st.integers(1, 25))
def test_the_worst_window_is_that_of_all_windows(texts, window):
    worst = Perplexity(model=MODEL, window=window).signals(docs(*texts))["worst_window"].to_pylist()
    for text, value in zip(texts, worst, strict=True):
        expected = slow_windows(text, window)
        assert (value is None) == (expected == 0)
        assert value is None or value == pytest.approx(expected, rel=1e-5)


def test_words_in_no_order_and_garbled_ones_are_told_from_sound_text_whatever_it_is_about():
    rng = np.random.default_rng(0)
    sound = ["The captain went down to the sea with his men, and none of them came back before the winter was over."]
    sound += ["If the request fails, the server waits for a second and then it tries to open the connection again."]
    shuffled = [" ".join(rng.permutation(text.split())) for text in sound]
    garbled = ["".join(c for c in text if rng.random() > 0.2 or c == " ") for text in sound]
    signals = Perplexity().signals(docs(*sound, *shuffled, *garbled, "", None))
    gain, disorder = (signals[name].to_pylist() for name in ("gain", "disorder"))
    assert min(gain[:2]) > max(gain[2:4])
    assert max(disorder[:2]) < min(disorder[2:6])
    assert gain[6:] == disorder[6:] == [None, None]
    # By their definitions.
    log, alone, words = load("prose-en").score(sentences(docs(sound[0])["text"])[0])
    assert gain[0] == pytest.approx((log - alone)[0] / (words[0] + 1))
    perplexity, of_words = 10 ** (-log[0] / (words[0] + 1)), 10 ** (-alone[0] / (words[0] + 1))
    assert disorder[0] == pytest.approx(perplexity / of_words**0.5)


GERMAN = "Der Fluss, der zum Meer fließt, muss mit Vorsicht überquert werden, denn er ist kalt und tief."
ENGLISH = LINES[0]


def test_each_language_has_its_model_and_cutoffs():
    both = docs(GERMAN, ENGLISH, "", None)
    alone = Perplexity(model=MODEL, cutoffs=(2.0, 3.0)).signals(both)
    english = Perplexity(models=(("en", MODEL),), low=(("en", 1e6),), high=(("en", 1e7),)).signals(both)
    assert english["value"].to_pylist() == [None, alone["value"][1].as_py(), None, None]
    assert english["bucket"].to_pylist() == [None, "head", None, None]
    rest = Perplexity(model=MODEL, models=(("en", MODEL),), cutoffs=(1e-3, 1e-2), high=(("en", 1e9),)).signals(both)
    assert rest["value"].to_pylist() == alone["value"].to_pylist()
    assert rest["bucket"].to_pylist() == ["tail", "middle", None, None]
    np.testing.assert_array_equal(rest["words"].to_numpy(), alone["words"].to_numpy())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"models": (("english", MODEL),)}, "does not know"),
        ({"model": MODEL, "low": (("en", 3.0),)}, "no model in models"),
        ({"models": (("en", MODEL),), "low": (("en", 3.0),)}, "one of its two cutoffs"),
        ({"model": MODEL, "cutoffs": (3.0, 2.0)}, "0 < low <= high"),
        ({"model": MODEL, "window": 0}, "window >= 1"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        Perplexity(**parameters)


def test_a_missing_model_is_reported():
    with pytest.raises(AssetError, match="no asset"):
        Perplexity(models=(("en", "nowhere.lm"),))
