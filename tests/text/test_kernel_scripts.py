"""Letters are counted by script as a look at each character says."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.annotate.script import Script
from corpusmill.text.scripts import RANGES, SCRIPTS, script_counts
from text_strategies import strings


def slow_script(character):
    point = ord(character)
    for name, ranges in RANGES.items():
        for part in ranges.split():
            first, _, last = part.partition("-")
            if int(first, 16) <= point <= int(last or first, 16):
                return name
    return None


@settings(max_examples=150)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_counts_are_those_of_single_characters(texts):
    wanted = [[sum(slow_script(c) == name for c in text) for name in SCRIPTS] for text in texts]
    assert script_counts(strings(*texts)).tolist() == wanted


def test_ranges_agree_with_the_names_of_letters():
    """Every letter of the basic plane whose name begins with a script that is known is in its ranges, or in no other."""
    names = {name.upper(): name for name in SCRIPTS} | {"CJK": "han"}
    wrong = []
    for point in range(0x10000):
        if unicodedata.category(chr(point)) not in ("Lu", "Ll", "Lo"):
            continue
        first = unicodedata.name(chr(point), "").split(" ")[0]
        if first in names and slow_script(chr(point)) not in (names[first], None):
            wrong.append(f"{point:x}")
    assert wrong == []


def test_main_script_and_shares():
    signals = Script(scripts=("latin", "han")).signals(docs("abc 日本", "Привет, мир", "12 + 3", ""))
    assert signals["main"].to_pylist() == ["latin", "cyrillic", None, None]
    assert signals["share"].to_pylist() == [0.6, 1.0, 0.0, 0.0]
    assert signals["latin"].to_pylist() == [0.6, 0.0, 0.0, 0.0]
    assert signals["han"].to_pylist() == [0.4, 0.0, 0.0, 0.0]


def test_an_unknown_script_is_refused():
    with pytest.raises(RecipeError, match='"latn", which is not a known script; did you mean "latin"'):
        Script(scripts=("latn",))
