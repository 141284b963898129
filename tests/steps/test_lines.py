"""filter/lines, against the same in plain Python."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.lines import CLOSING, Lines
from corpusmill.text import unicode

ATOMS = ["the river", "SHOUT", "12 34", "!", ".", '."', "…", "...", "• item", "- item", "* item", "over over over over"]
lines = st.lists(st.sampled_from([*ATOMS, "use cookies", "$$$", "日本。", "  ", "\t"]), max_size=4).map(" ".join)
texts = st.lists(st.one_of(lines, st.just("")), max_size=8).map("\n".join)
bounds = st.fixed_dictionaries(
    {},
    optional={
        "min_words": st.integers(0, 4),
        "max_words": st.integers(2, 8),
        "min_characters": st.integers(0, 12),
        "max_characters": st.integers(5, 30),
        "max_uppercase_char_ratio": st.sampled_from([0.2, 0.5]),
        "max_special_char_ratio": st.sampled_from([0.1, 0.5]),
        "max_digit_ratio": st.sampled_from([0.0, 0.5]),
        "max_repeat_ratio": st.sampled_from([0.3, 0.7]),
        "max_repeated_3_gram_ratio": st.sampled_from([0.0, 0.2]),
        "bullets": st.sampled_from(["•-", "*"]),
        "terminal_punctuation": st.just(True),
        "patterns": st.just((("cookies", "cookies$"), ("r", "ri"))),
    },
).filter(bool)


def slow_rules(line, unit_bounds):
    """The names of the rules that a stripped line or paragraph fails, in order."""
    words = line.split()
    grams = list(zip(words, words[1:], words[2:]))

    def share(part, whole):
        return part / whole if whole else 0.0

    special = sum(not (c.isalnum() or c.isspace()) for c in line)
    checks = {
        "min_words": lambda bound: len(words) < bound,
        "max_words": lambda bound: len(words) > bound,
        "min_characters": lambda bound: len(line) < bound,
        "max_characters": lambda bound: len(line) > bound,
        "max_uppercase_char_ratio": lambda bound: share(sum(map(str.isupper, line)), len(line)) > bound,
        "max_special_char_ratio": lambda bound: share(special, len(line)) > bound,
        "max_digit_ratio": lambda bound: share(sum(map(str.isdecimal, line)), len(line)) > bound,
        "max_repeat_ratio": lambda bound: 1 - len(set(words)) / len(words) > bound,
        "max_repeated_3_gram_ratio": lambda bound: share(len(grams) - len(set(grams)), len(grams)) > bound,
        "bullets": lambda bound: line.startswith(tuple(bound)),
        "terminal_punctuation": lambda _: line.rstrip(CLOSING)[-1:] not in unicode.terminal() | {None},
    }
    failed = [name for name, fails in checks.items() if name in unit_bounds and fails(unit_bounds[name])]
    return failed + [name for name, pattern in unit_bounds.get("patterns", ()) if re.search(pattern, line)]


def slow_pieces(text, unit):
    if unit == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    paragraphs = re.split(r"\n(?:[^\S\n]*\n)+", f"\n\n{text}\n\n")
    return [paragraph.strip() for paragraph in paragraphs if paragraph.strip()]


@settings(max_examples=400)
@given(st.lists(texts, min_size=1, max_size=3), bounds, st.sampled_from(["lines", "paragraphs"]))
@example(["the river.\n\nSHOUT\n\nthe sea.", "", " \n "], {"max_uppercase_char_ratio": 0.5}, "lines")
def test_what_is_removed_is_what_the_rules_say(batch, given_bounds, unit):
    step = Lines(unit=unit, **given_bounds)
    done = step.transform(docs(*batch))
    for row, text in enumerate(batch):
        all_pieces = slow_pieces(text, unit)
        failed = [slow_rules(piece, given_bounds) for piece in all_pieces]
        kept = [piece for piece, rules in zip(all_pieces, failed) if not rules]
        after = done["text"][row].as_py()
        if all_pieces and not kept:
            assert after is None
        else:
            assert slow_pieces(after, "lines") == [line for piece in kept for line in slow_pieces(piece, "lines")]
            assert unit == "lines" or slow_pieces(after, unit) == kept
            assert len(kept) < len(all_pieces) or after == text
        firsts = [rules[0] for rules in failed if rules]
        counted = {name[8:]: done[name][row].as_py() for name in done.schema.names if name.startswith("removed_")}
        assert {name: count for name, count in counted.items() if count} == {
            name: firsts.count(name) for name in firsts
        }
        words = sum(len(piece.split()) for piece in all_pieces)
        lost = sum(len(piece.split()) for piece, rules in zip(all_pieces, failed) if rules)
        assert done["words_removed_ratio"][row].as_py() == (lost / words if words else 0.0)


def judged(step, *batch):
    made = Batch(docs(*batch))
    made.apply(0, "lines", step)
    return made


def test_a_document_without_a_line_left_is_dropped_as_empty_and_a_blank_one_is_not_touched():
    made = judged(Lines(min_words=2), "one\ntwo", " ", None, "one more\ntwo")
    assert made.all_reasons().to_pylist()[0] == "lines.empty"
    assert made.all_reasons().to_pylist()[3] is None
    assert made.docs["text"].to_pylist()[1:] == [" ", "", "one more"]
    assert made.signals["lines.removed_min_words"].to_pylist() == [2, 0, 0, 1]


def test_a_document_that_loses_too_much_keeps_its_lines():
    made = judged(Lines(min_words=2, max_words_removed=0.5), "a\nb\nc d", "a\nb c d")
    assert made.all_reasons().to_pylist() == [None, None]
    made = judged(Lines(min_words=2, max_words_removed=0.4), "a\nb\nc d", "a\nb c d")
    assert made.all_reasons().to_pylist() == ["lines.max_words_removed", None]
    assert made.docs["text"].to_pylist() == ["a\nb\nc d", "b c d"]


def test_a_repetitive_paragraph_goes_and_the_document_stays():
    text = "The river runs down to the sea.\n\nbuy now buy now\nbuy now buy now\n\nIt is crossed with care."
    (after,) = judged(Lines(unit="paragraphs", max_repeat_ratio=0.5), text).docs["text"].to_pylist()
    assert after == "The river runs down to the sea.\n\nIt is crossed with care."


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "no rule is on, so no line would be removed"),
        ({"max_words_removed": 0.5}, "no rule is on"),
        ({"bullets": ""}, "bullets is a text of characters"),
        ({"max_digit_ratio": 3}, "max_digit_ratio is a share from 0 to 1, got 3"),
        ({"patterns": (("min_words", "a"),)}, 'a pattern cannot be named "min_words"'),
        ({"unit": "words", "min_words": 1}, 'unit is "lines" or "paragraphs", got "words"'),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        Lines(**parameters)
