"""filter/patterns, against Python's re."""

import re

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.steps import own_patterns
from corpusmill.steps.filter.patterns import Patterns

PATTERNS = (("word", "lorem|ipsum"), ("digits", "[0-9]+"), ("start", "(?m)^#+"), ("first", "^."), ("accent", "é|日本"))
texts = st.lists(st.sampled_from(["lorem", "ipsum", " ", "\n", "\n\n", "#", "##", "12", "é", "日本", "x"]), max_size=25)


def slow(text, pattern):
    found = [match[0] for match in re.finditer(pattern, text)]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    hits = sum(re.search(pattern, line) is not None for line in lines)
    share = sum(map(len, found)) / len(text) if text else 0.0
    return len(found), share, hits / len(lines) if lines else 0.0


@settings(max_examples=200)
@given(st.lists(texts.map("".join), min_size=1, max_size=4))
@example(["loremlorem #1\n##2", "", "\n"])
def test_matches_are_those_of_re(batch):
    step = Patterns(patterns=PATTERNS, max_count=1, max_share=0.1, max_line_share=0.5)
    signals = step.signals(docs(*batch))
    for name, pattern in PATTERNS:
        columns = [signals[f"{name}_{measure}"].to_pylist() for measure in ("count", "share", "line_share")]
        assert list(zip(*columns)) == [slow(text, pattern) for text in batch], name
    reasons = step.reasons(docs(*batch), signals).to_pylist()
    for text, reason in zip(batch, reasons):
        failed = [
            f"{name}_{measure}"
            for name, pattern in PATTERNS
            for measure, value, bound in zip(("count", "share", "line_share"), slow(text, pattern), (1, 0.1, 0.5))
            if value > bound
        ]
        assert reason == (",".join(failed) or None)


def test_the_reason_names_the_pattern():
    batch = Batch(docs("Lorem Ipsum dolor", None, "the river"))
    batch.apply(0, "patterns", Patterns(patterns=(("filler", "(?i)lorem ipsum"), ("sea", "sea")), max_count=0))
    assert batch.all_reasons().to_pylist() == ["patterns.filler_count", None, None]
    assert batch.signals["patterns.filler_count"].to_pylist() == [1, 0, 0]
    assert batch.signals["patterns.filler_share"].type == pa.float64()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"patterns": ()}, "patterns is empty"),
        ({"patterns": (("a", "b"),)}, "set max_count, max_share or max_line_share"),
        ({"patterns": (("a b", "c"),), "max_count": 0}, '"a b" cannot name a pattern'),
        ({"patterns": (("a", "(b"),), "max_count": 0}, r"patterns.a is not a regular expression of RE2: missing \)"),
        ({"patterns": (("a", "(?=b)"),), "max_count": 0}, "look-around and back-references do not exist"),
        ({"patterns": (("a", "b*"),), "max_count": 0}, "patterns.a matches the empty text"),
        ({"patterns": (("a", "b"), ("a", "c")), "max_count": 0}, "two patterns have the same name"),
        ({"patterns": (("a", "b"),), "max_share": 2}, "max_share is a share from 0 to 1, got 2"),
        ({"patterns": (("a", "b"),), "max_count": -1}, "max_count must be at least 0"),
    ],
)
def test_patterns_that_cannot_be_meant_are_refused(parameters, message):
    with pytest.raises(RecipeError, match=message):
        Patterns(**parameters)


def test_a_document_whose_matches_take_the_square_of_its_length_is_an_error(monkeypatch):
    monkeypatch.setattr(own_patterns, "SECONDS", 0.05)
    step = Patterns(patterns=(("a", "a.*b|a"),), max_count=1)
    other = docs("ab " * 20_000, "b" * 100_000)  # as long, and each match looks at one word
    assert step.signals(docs("a" * 1000))["a_count"].to_pylist() == [1000]
    assert Patterns(patterns=(("a", "ab|a"),), max_count=1).signals(other)["a_count"].to_pylist() == [20_000, 0]
    with pytest.raises(DocumentError, match=r"the pattern a\.\*b\|a takes more than .* seconds"):
        step.signals(docs("b", "a" * 400_000))
