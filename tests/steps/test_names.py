"""The model finds names where the extra is installed; what is done with them is tried with a reader of a known list."""

import doctest
import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import AssetError, MissingExtraError, RecipeError
from corpusmill.steps.redact import names
from corpusmill.steps.redact.names import ENGLISH, Names, data_of, names_in, pieces


def read_capitals(text: str) -> SimpleNamespace:
    """Words with a capital are people, and what has two are places; with the blank before, as models may have it."""
    entities = [
        SimpleNamespace(label_="GPE" if re.search("[A-Z]{2}", m[0]) else "PER", start_char=m.start(), end_char=m.end())
        for m in re.finditer(r" ?[A-Z]\w+", text)
    ]
    entities.append(SimpleNamespace(label_="DATE", start_char=0, end_char=len(text)))
    return SimpleNamespace(ents=entities)


def test_a_name_is_located_by_its_bytes_without_surrounding_blanks():
    text = "日本 Jané met ROME"
    located = [(kind, text.encode()[start:end].decode()) for kind, start, end in names_in(text, read_capitals)]
    assert located == [("person", "Jané"), ("place", "ROME")]


@given(st.text(st.sampled_from("ab \né日"), max_size=60), st.integers(1, 12))
@settings(max_examples=100)
def test_pieces_are_the_whole_text_and_at_most_as_long_as_asked(text, size):
    parts = list(pieces(text, size))
    assert "".join(parts) == text
    assert all(0 < len(piece) <= size for piece in parts[:-1]) and len(parts[-1]) <= size


def test_names_in_a_long_text_are_found_at_their_positions():
    text = ("ü word " * 2500 + "\n") * 3 + "Jane"
    raw = text.encode()
    assert [raw[start:end] for _, start, end in names_in(text, read_capitals)] == [b"Jane"]


def test_without_the_extra_the_step_says_what_to_install(monkeypatch):
    names._load.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"redact/names .* pip install 'corpusmill\[pii-names\]'"):
        Names().transform(docs("Jane"))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kinds": ("people",)}, 'there is no kind "people"'),
        ({"action": "pseudonym"}, "pseudonyms need a key"),
        ({"max_spans": -1}, "max_spans must be at least 0"),
    ],
)
def test_wrong_parameters_fail_when_the_step_is_made(parameters, words):
    with pytest.raises(RecipeError, match=f"redact/names: {words}"):
        Names(**parameters)


def test_the_model_that_ships_with_the_extra_finds_names():
    pytest.importorskip("spacy")
    if data_of(ENGLISH) is None:
        pytest.skip("no model of English is installed")
    texts = ("Barack Obama met Angela Merkel in Berlin.", None, "nothing")
    assert Names(kinds=("person", "place")).transform(docs(*texts))["text"].to_pylist() == [
        "<PERSON> met <PERSON> in <PLACE>.",
        None,
        "nothing",
    ]
    dropping = Names(action="drop")
    out = dropping.transform(docs(*texts))
    assert out["text"].to_pylist() == list(texts)
    assert dropping.reasons(out, {n: out[n] for n in ("persons", "found")}).to_pylist() == ["person", None, None]
    assert any(ENGLISH in asset for asset in Names().assets)


def test_a_model_that_does_not_exist_is_reported():
    pytest.importorskip("spacy")
    with pytest.raises(AssetError, match='"xx_no_such_model" is neither an installed spaCy model nor a folder'):
        Names(model="xx_no_such_model").transform(docs("Jane"))


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(names).failed == 0
