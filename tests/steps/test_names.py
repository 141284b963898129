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
from corpusmill.steps.redact import _plausible, names
from corpusmill.steps.redact._plausible import NameRules, plausible
from corpusmill.steps.redact.names import ENGLISH, Names, data_of, names_in, pieces


def read_capitals(text: str) -> SimpleNamespace:
    """Words with a capital are people, and what has two are places; with the blank before, as models may have it."""
    entities = [
        SimpleNamespace(label_="GPE" if re.search("[A-Z]{2}", m[0]) else "PER", start_char=m.start(), end_char=m.end())
        for m in re.finditer(r" ?[A-Z]\w+", text)
    ]
    entities.append(SimpleNamespace(label_="DATE", start_char=0, end_char=len(text)))
    return SimpleNamespace(ents=entities)


def located(text: str, read, min_words: int = 1, allow: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    raw = text.encode()
    return [(kind, raw[start:end].decode()) for kind, start, end in names_in(text, read, NameRules(min_words, allow))]


def test_a_name_is_located_by_its_bytes_without_surrounding_blanks():
    assert located("日本 Jané met RoMa Oslo", read_capitals) == [("person", "Jané"), ("person", "Oslo")]


def reading(*names: str, label: str = "PERSON"):
    """A reader that reports these names, wherever they are."""

    def read(text: str) -> SimpleNamespace:
        longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        spans = [m.span() for m in re.finditer(longest_first, text)]
        return SimpleNamespace(ents=[SimpleNamespace(label_=label, start_char=a, end_char=b) for a, b in spans])

    return read


@pytest.mark.parametrize(
    "text",
    [
        *("Anna Brown", "J. R. Brown", "Anna van der Berg", "Jean-Luc O'Brien", "Ian McCarthy", "Zoë Žižek"),
        *("Dr. Brown", "by Brown", "Mrs Brown"),
    ],
)
def test_this_is_a_name(text):
    name = text.split(" ", 1)[1] if text.split()[0] in ("Dr.", "by", "Mrs") else text
    assert located(f"Then {text} said so.", reading(name), 2) == [("person", name)]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Brown",
            "café naïve",
            "PRIMARY KEY",
            "Quick Start Guide",
            "tp_dealloc",
            "MyTrait Box",
            "json(json",
            "C++ Vec",
        ),
        *("Anna 2", "anna brown", "Windows Update", "Reply", "A. B.", "van Berg x", "<PERSON>", "12 Baker"),
    ],
)
def test_this_is_no_name(name):
    assert located(f"Then {name} said so.", reading(name), 2) == []


@pytest.mark.parametrize("text", ["obj.Anna Brown(x)", "/Anna Brown/", "[Anna Brown]", "Anna Brown=1", "x_Anna Brown"])
def test_code_beside_a_name_makes_it_none(text):
    assert located(text, reading("Anna Brown"), 2) == []


def test_a_part_of_a_longer_name_in_the_same_document_is_a_name():
    read = reading("Brown", "Anna Brown", "Green")
    assert [name for _, name in located("Brown met Anna Brown. Green left.", read, 2)] == ["Brown", "Anna Brown"]
    read = reading("Anna Brown", "Mr Brown's", "Green")
    assert located("Anna Brown. Mr Brown's hat. Green.", read, 2) == [("person", "Anna Brown"), ("person", "Brown")]


def test_what_is_allowed_stays():
    read = reading("Anna Brown", "Corpus Mill", "Baker Street")
    text = "Anna Brown likes Corpus Mill in Baker Street."
    assert located(text, read, 2, ("corpus mill", "/.* Street/")) == [("person", "Anna Brown")]


@given(st.text(st.sampled_from("Aa Bb.'\n_-1é日"), max_size=40), st.data())
@settings(max_examples=200)
def test_what_counts_lies_within_what_was_reported_on_one_line(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = [("person", a, b) for a, b in zip(cuts[::2], cuts[1::2]) if a < b]
    for kind, start, end in plausible(text, spans, NameRules(1, ())):
        assert any(kind == k and a <= start < end <= b for k, a, b in spans)
        assert "\n" not in text[start:end] and text[start:end] == text[start:end].strip() and "_" not in text[start:end]


@given(st.text(st.sampled_from("ab \né日"), max_size=60), st.integers(1, 12))
@settings(max_examples=100)
def test_pieces_are_the_whole_text_and_at_most_as_long_as_asked(text, size):
    parts = list(pieces(text, size))
    assert "".join(parts) == text
    assert all(0 < len(piece) <= size for piece in parts[:-1]) and len(parts[-1]) <= size


def test_names_in_a_long_text_are_found_at_their_positions():
    text = ("ü word " * 2500 + "\n") * 3 + "Jane"
    raw = text.encode()
    assert [raw[start:end] for _, start, end in names_in(text, read_capitals, NameRules(1, ()))] == [b"Jane"]


def test_without_the_extra_the_step_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"redact/names .* pip install 'corpusmill\[pii-names\]'"):
        Names().transform(docs("Jane"))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kinds": ("people",)}, 'there is no kind "people"'),
        ({"action": "pseudonym"}, "pseudonyms need a key"),
        ({"max_spans": -1}, "max_spans must be at least 0"),
        ({"min_words": 0}, "min_words must be at least 1"),
        ({"allow": ("/(/",)}, r"allow has /\(/, which is no expression"),
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
    assert doctest.testmod(names).failed == doctest.testmod(_plausible).failed == 0
