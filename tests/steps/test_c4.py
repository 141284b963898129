import dataclasses
from typing import Any

import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.c4 import C4

FIVE = "One line of prose.\nTwo lines of prose.\nThree lines of prose!\nFour lines of prose?\nFive lines of prose."


def run(step: C4, text: str) -> tuple[str, str | None, dict[str, object]]:
    """What is left of the text, why it is dropped, and its signals."""
    batch = Batch(docs(text))
    batch.apply(0, "c4", step)
    reasons = [column.to_pylist()[0] for _, column in batch.reasons]
    signals = {name.removeprefix("c4."): column.to_pylist()[0] for name, column in batch.signals.items()}
    return batch.docs["text"].to_pylist()[0], reasons[0] if reasons else None, signals


@pytest.mark.parametrize(
    ("line", "part", "counted_as"),
    [
        ("This line ends nowhere", {"terminal_punctuation": False}, "no_terminal_punctuation"),
        ("This line trails off...", {"terminal_punctuation": False}, "no_terminal_punctuation"),
        ("Two words.", {"min_words_per_line": 2}, "few_words"),
        ("Please enable JavaScript now.", {"javascript": False}, "javascript"),
        ("Read our Privacy Policy here.", {"policy": False}, "policy"),
        ("We set it; this site uses cookies.", {"policy": False}, "policy"),
        (f"A long {'w' * 1001} is here.", {"max_word_chars": 1001}, "long_word"),
    ],
)
def test_a_line_is_removed_for_this_reason_and_kept_when_the_rule_is_off(line, part, counted_as):
    text, reason, signals = run(C4(), f"{FIVE}\n{line}")
    assert (text, reason, signals[f"lines_{counted_as}"], signals["lines_kept"]) == (FIVE, None, 1, 5)
    assert run(C4(**part), f"{FIVE}\n{line}")[0] == f"{FIVE}\n{line}"


def test_a_line_at_the_bounds_is_kept():
    text = f"{FIVE}\nExactly three words.\nA {'w' * 999}."
    assert run(C4(), f"{text}")[0] == text.replace(f"\nA {'w' * 999}.", "")  # two words
    assert run(C4(), f"{FIVE}\nA long {'w' * 999}.")[0] == f"{FIVE}\nA long {'w' * 999}."


def test_citations_are_cut_out_and_their_lines_are_kept():
    text, _, _ = run(C4(), f"{FIVE}\nIt is said[3] that it is so[citation needed].")
    assert text == f"{FIVE}\nIt is said that it is so."
    assert run(C4(citations=False), f"{FIVE}\nIt is said[3] so.")[0] == f"{FIVE}\nIt is said[3] so."


@pytest.mark.parametrize(
    ("line", "reason"),
    [("Lorem Ipsum dolor sit amet.", "lorem_ipsum"), ("if (a) { return b; } is code.", "curly_bracket")],
)
def test_a_document_is_dropped_for_one_such_line_and_keeps_its_lines(line, reason):
    whole = f"menu\n{FIVE}\n{line}"
    text, dropped_for, signals = run(C4(), whole)
    assert (text, dropped_for, signals[reason], signals["sentences"]) == (whole, reason, True, None)
    switched_off: dict[str, Any] = {reason: False}
    assert run(C4(**switched_off), whole)[1] is None


def test_a_line_that_went_before_cannot_condemn_the_document():
    assert run(C4(), f"{FIVE}\nlorem ipsum {{")[1] is None


@pytest.mark.parametrize(("sentences", "reason"), [(5, None), (4, "min_sentences")])
def test_the_sentences_of_the_remaining_text_are_counted(sentences, reason):
    text = "\n".join(FIVE.split("\n")[:sentences]) + "\nMenu. Home. Contact. About"
    _, dropped_for, signals = run(C4(), text)
    assert (dropped_for, signals["sentences"]) == (reason, sentences)
    assert run(C4(min_sentences=None), text)[1] is None


def test_nothing_left_is_dropped_for_having_no_sentences():
    assert run(C4(), "menu\nhome\n")[:2] == ("", "min_sentences,empty")


def test_lines_can_be_judged_without_being_removed():
    text = f"menu\n{FIVE}"
    left, reason, signals = run(C4(remove_lines=False), text)
    assert (left, reason, signals["lines_kept"], signals["sentences"]) == (text, None, 5, 5)
    assert run(C4(remove_lines=False, min_sentences=6), text)[:2] == (text, "min_sentences")


def test_fineweb_keeps_lines_without_terminal_punctuation():
    text = f"A line without an end\n{FIVE}"
    assert run(C4(terminal_punctuation=False), text)[0] == text


PAPER = C4(min_words_per_line=5, min_sentences=3, apostrophe=False, whole_page=True)


@pytest.mark.parametrize(  # the sentences of section 2.2, and what they make of these pages
    ("text", "left", "reason"),
    [
        # "only retained lines that ended in a terminal punctuation mark (i.e. a period, exclamation mark, question
        # mark, or end quotation mark)"
        ("A line with five words.\n" * 2 + 'A line, "with five words"', None, None),
        ("A line with five words.\n" * 3 + "A line with no 'ending mark'", "A line with five words.\n" * 3, None),
        ("A line with five words.\n" * 3 + "A line with an ellipsis...", "A line with five words.\n" * 3, None),
        # "discarded any page with fewer than 3 sentences and only retained lines that contained at least 5 words"
        ("A line with five words.\n" * 2, None, "min_sentences"),
        ("A line with five words.\n" * 3 + "Only four words here.", "A line with five words.\n" * 3, None),
        # "removed any line with the word Javascript"
        ("A line with five words.\n" * 3 + "Turn on JavaScript to see.", "A line with five words.\n" * 3, None),
        # "removed any page where the phrase "lorem ipsum" appeared", "any pages that contained a curly bracket"
        ("A line with five words.\n" * 3 + "Lorem Ipsum", None, "lorem_ipsum"),
        ("A line with five words.\n" * 3 + "{", None, "curly_bracket"),
        ("A line with five words.\n" * 3 + "lorem ipsum {", None, "lorem_ipsum"),
        # "Wikipedia … citation markers (e.g. [1], [citation needed], etc.), we removed any such markers"
        ("A line with five words[1].\n" * 3, "A line with five words.\n" * 3, None),
        ("A line has five words[citation needed].\n" * 3, "A line has five words.\n" * 3, None),
        # "removed any lines containing the strings "terms of use", "privacy policy", "cookie policy", "uses cookies",
        # "use of cookies", or "use cookies""
        *(
            ("A line with five words.\n" * 3 + f"See our {phrase} right here.", "A line with five words.\n" * 3, None)
            for phrase in (
                "Terms of Use",
                "privacy policy",
                "cookie policy",
                "uses cookies",
                "Use of Cookies",
                "use cookies",
            )
        ),
    ],
)
def test_pages_are_judged_as_the_paper_says(text, left, reason):
    judged = run(PAPER, text)
    assert (judged[0].strip(), judged[1]) == ((text if left is None else left).strip(), reason)


def test_the_code_that_made_c4_checks_kept_lines_where_the_paper_says_pages():
    text = "A line with five words.\n" * 3 + "lorem ipsum {"
    assert run(dataclasses.replace(PAPER, whole_page=False), text)[1] is None
    assert run(dataclasses.replace(PAPER, lorem_ipsum=False), text)[1] == "curly_bracket"
    assert run(dataclasses.replace(PAPER, lorem_ipsum=False, curly_bracket=False), text)[1] is None
    signals = run(PAPER, text)[2]
    assert (signals["lorem_ipsum"], signals["curly_bracket"], signals["sentences"]) == (True, False, None)


def test_a_line_may_end_in_an_apostrophe_unless_it_may_not():
    text = f"{FIVE}\nShe said: 'so it is'"
    assert run(C4(), text)[0] == text
    assert run(C4(apostrophe=False), text)[0] == FIVE
    assert run(C4(apostrophe=False, terminal_punctuation=False), text)[0] == text


def test_a_bound_below_zero_fails_when_the_step_is_made():
    with pytest.raises(RecipeError, match="min_sentences must be at least 0, got -1; null switches it off"):
        C4(min_sentences=-1)
