import pyarrow as pa
import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
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
    "repeat_ratio": 0.4,
    "repeated_3_gram_ratio": 0.01,
    "top_2_gram_ratio": 0.01,
    "top_3_gram_ratio": 0.01,
    "chars": 560,
    "bytes": 570,
    "symbol_ratio": 0.01,
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
        ("repeated_3_gram_ratio", 0.3, 0.301, "max_repeated_3_gram_ratio"),
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
        (". ".join(f"{SENTENCE} {word}" for word in ("alone", "by day", "at last")), ["max_repeated_3_gram_ratio"]),
        (" ".join(dict.fromkeys(a + b for a in "stringed" for b in "quartets")), []),
        ("A few words, no more.", ["min_words"]),
        ("", ["min_words", "min_distinct_word_ratio"]),
        ("NATO and EU " * 20, ["max_uppercase_word_ratio", "min_distinct_word_ratio", "max_repeated_3_gram_ratio"]),
        ("a " * 60, ["min_distinct_word_ratio", "max_repeated_3_gram_ratio"]),
        (
            " ".join("5 km in 26 min" for _ in range(12)),
            ["max_digit_ratio", "min_distinct_word_ratio", "max_repeated_3_gram_ratio"],
        ),
    ],
)
def test_texts_are_judged_by_their_words_and_characters(text, reasons):
    batch = Batch(docs(text))
    batch.apply(0, "basic", Basic())
    assert [column.to_pylist()[0] for _, column in batch.reasons] == ([",".join(reasons)] if reasons else [])


@pytest.mark.parametrize(
    ("bound", "signal", "still_passes", "just_past"),
    [
        ({"max_words": 100}, "words", 100, 101),
        ({"min_characters": 100}, "chars", 100, 99),
        ({"max_characters": 600}, "chars", 600, 601),
        ({"min_bytes": 100}, "bytes", 100, 99),
        ({"max_bytes": 600}, "bytes", 600, 601),
        ({"max_symbol_ratio": 0.1}, "symbol_ratio", 0.1, 0.101),
        ({"max_repeat_ratio": 0.5}, "repeat_ratio", 0.5, 0.501),
        ({"max_top_2_gram_ratio": 0.2}, "top_2_gram_ratio", 0.2, 0.201),
        ({"max_top_3_gram_ratio": 0.18}, "top_3_gram_ratio", 0.18, 0.181),
    ],
)
def test_rules_that_are_off_until_a_bound_is_given(bound, signal, still_passes, just_past):
    (rule,) = bound
    assert judge(Basic(**bound), **{signal: still_passes}) is None
    assert judge(Basic(**bound), **{signal: just_past}) == rule
    assert judge(Basic(), **{signal: just_past}) is None


def measured(step: Basic, text: str, name: str) -> float:
    batch = Batch(docs(text))
    batch.apply(0, "basic", step)
    return batch.signals[f"basic.{name}"].to_pylist()[0]


def test_symbols_are_those_of_the_recipe_per_character_or_per_word():
    text = "#a #b [c] …"
    assert measured(Basic(max_symbol_ratio=0.1), text, "symbol_ratio") == 4 / 11
    assert measured(Basic(max_symbol_ratio=0.1, symbols="#…"), text, "symbol_ratio") == 3 / 11
    assert measured(Basic(max_symbol_ratio=1.5, symbols="#…", symbols_per="words"), text, "symbol_ratio") == 3 / 4
    assert measured(Basic(), text, "symbol_ratio") is None
    assert measured(Basic(max_symbol_ratio=0.1), "", "symbol_ratio") == 0


def test_bullets_are_those_of_the_recipe():
    text = "- a\n* b\n  • c\nd"
    shares = {"•-": 0.5, "-•": 0.5, "•-*": 0.75, "*": 0.25}
    for bullets, share in shares.items():
        assert measured(Basic(bullets=bullets), text, "bullet_line_ratio") == share


def test_bytes_are_of_utf_8():
    assert measured(Basic(), "né日", "bytes") == 6 and measured(Basic(), "né日", "chars") == 3


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
        ({"max_symbol_ratio": 1.5}, "max_symbol_ratio is a share from 0 to 1, got 1.5"),
        ({"min_words": 5, "max_words": 4}, "need min_words <= max_words, got min_words=5, max_words=4"),
        ({"bullets": "- *"}, "bullets is a text of characters that are not white space"),
        ({"symbols": ""}, "symbols is empty"),
        ({"symbols_per": "lines"}, 'symbols_per is "characters" or "words", got "lines"'),
        ({"max_digit_ratio": 15}, "max_digit_ratio is a share from 0 to 1, got 15"),
    ],
)
def test_a_bound_that_makes_no_sense_fails_when_the_step_is_made(wrong, message):
    with pytest.raises(RecipeError, match=message):
        Basic(**wrong)
