"""clean/replace: what is matched is replaced, in turn, and what is not keeps its bytes."""

import pytest

from conftest import docs
from corpusmill.errors import DocumentError, RecipeError
from corpusmill.steps import own_patterns
from corpusmill.steps.clean.replace import Replace


@pytest.mark.parametrize(
    ("patterns", "before", "after"),
    [
        ({"[●■]": ""}, "● one ■ two", " one  two"),
        ({r"\d+(?:,\d+)*": "<NUMBER>"}, "1,234 and 5", "<NUMBER> and <NUMBER>"),
        ({r"(\w+)@\w+": r"\1 at work"}, "ann@host", "ann at work"),
        ({"a": "b", "b": "c"}, "ab", "cc"),
        ({r"(?m)^Advertisement\n": ""}, "one\nAdvertisement\ntwo", "one\ntwo"),
        ({"x": "\\\\"}, "x", "\\"),
        ({"z": ""}, "nothing to replace", "nothing to replace"),
        ({"z": ""}, None, None),
        ({"^all$": ""}, "all", ""),
    ],
)
def test_each_match_is_replaced(patterns, before, after):
    changed = Replace(patterns=tuple(patterns.items())).transform(docs(before, "other"))
    assert changed["text"].to_pylist() == [after, "other"]
    assert changed["replaced"].to_pylist() == [None if before is None else before != after, False]


def test_lower_case_comes_first():
    changed = Replace(patterns=(("straße", "street"),), lower=True).transform(docs("STRAßE Nord", "ÉTÉ"))
    assert changed["text"].to_pylist() == ["street nord", "été"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({}, "patterns is empty"),
        ({"(": ""}, "no regular expression of RE2"),
        ({"a*": ""}, "matches the empty text"),
        ({"(a)": r"\2"}, "cannot take the place"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(patterns, message):
    with pytest.raises(RecipeError, match=f"clean/replace: .*{message}"):
        Replace(patterns=tuple(patterns.items()))


def test_a_document_whose_matches_take_the_square_of_its_length_is_an_error(monkeypatch):
    monkeypatch.setattr(own_patterns, "SECONDS", 0.05)
    with pytest.raises(DocumentError, match=r"takes more than .* seconds"):
        Replace(patterns=(("a.*b|a", ""),)).transform(docs("b", "a" * 400_000))
