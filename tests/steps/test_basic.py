import pyarrow as pa
import pytest

from conftest import docs
from corpusmill.engine.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.basic import Basic

PROSE = {
    "words": 100,
    "tokens": 130,
    "uppercase_word_ratio": 0.02,
    "special_char_ratio": 0.03,
    "digit_ratio": 0.01,
    "bullet_line_ratio": 0.0,
    "distinct_word_ratio": 0.6,
    "repeat_ratio": 0.01,
    "punctuation_ratio": 0.03,
}
SENTENCE = "The river runs down to the sea and is crossed with care by those who know its ways"  # 18 words


def judge(step: Basic, **measured: float) -> str | None:
    signals = {name: pa.array([value]) for name, value in (PROSE | measured).items()}
    return step.reasons(docs("the text is not looked at"), signals).to_pylist()[0]


@pytest.mark.parametrize(
    ("signal", "still_passes", "just_past", "reason"),
    [
        ("words", 50, 49, "min_words"),
        ("uppercase_word_ratio", 0.3, 0.301, "max_uppercase_word_ratio"),
        ("special_char_ratio", 0.1, 0.101, "max_special_char_ratio"),
        ("digit_ratio", 0.15, 0.151, "max_digit_ratio"),
        ("bullet_line_ratio", 0.9, 0.901, "max_bullet_line_ratio"),
        ("distinct_word_ratio", 0.1, 0.099, "min_distinct_word_ratio"),
        ("repeat_ratio", 0.3, 0.301, "max_repeat_ratio"),
        ("punctuation_ratio", 0.3, 0.301, "max_punctuation_ratio"),
    ],
)
def test_a_bound_itself_passes_and_one_step_past_it_does_not(signal, still_passes, just_past, reason):
    assert judge(Basic(), **{signal: still_passes}) is None
    assert judge(Basic(), **{signal: just_past}) == reason
    assert judge(Basic(**{reason: None}), **{signal: just_past}) is None


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (". ".join(f"{SENTENCE} {word}" for word in ("alone", "by day", "at last")), ["max_repeat_ratio"]),
        (" ".join(dict.fromkeys(a + b for a in "stringed" for b in "quartets")), []),
        ("A few words, no more.", ["min_words"]),
        ("", ["min_words", "min_distinct_word_ratio"]),
        ("NATO and EU " * 20, ["max_uppercase_word_ratio", "min_distinct_word_ratio", "max_repeat_ratio"]),
        ("a " * 60, ["min_distinct_word_ratio", "max_repeat_ratio"]),
        (
            " ".join("5 km in 26 min" for _ in range(12)),
            ["max_digit_ratio", "min_distinct_word_ratio", "max_repeat_ratio"],
        ),
    ],
)
def test_texts_are_judged_by_their_words_and_characters(text, reasons):
    batch = Batch(docs(text))
    batch.apply(0, "basic", Basic())
    assert [column.to_pylist()[0] for _, column in batch.reasons] == ([",".join(reasons)] if reasons else [])


def test_tokens_are_counted_only_when_a_rule_asks_for_them():
    batch = docs("Hello world! This is GPT-2.", None)
    assert Basic().signals(batch)["tokens"].to_pylist() == [None, None]
    assert Basic().assets == () and Basic(min_tokens=5).assets == ("gpt2",)
    counted = Basic(min_tokens=11)
    assert counted.signals(batch)["tokens"].to_pylist() == [10, 0]
    assert judge(counted, tokens=10) == "min_tokens" and judge(counted, tokens=11) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_words": -1}, "min_words must be at least 0, got -1; null switches it off"),
        ({"max_digit_ratio": 15}, "max_digit_ratio is a share from 0 to 1, got 15"),
    ],
)
def test_a_bound_that_makes_no_sense_fails_when_the_step_is_made(wrong, message):
    with pytest.raises(RecipeError, match=message):
        Basic(**wrong)
