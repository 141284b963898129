import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.broken_text import BrokenText

GERMAN = "Die Flüsse fließen über die Felder, sagte er – „schön“, aber kühl. " * 4


def judged(*texts):
    step = BrokenText()
    return step.reasons(docs(*texts), step.signals(docs(*texts))).to_pylist()


@pytest.mark.parametrize("charset", ["cp1252", "latin-1"])
def test_utf8_that_was_decoded_as_another_charset_is_found(charset):
    assert "max_mojibake" in (judged(GERMAN.encode().decode(charset, "replace"))[0] or "")


def test_sound_text_of_many_scripts_is_kept():
    sound = [GERMAN, "CAFÉ… «À» l’été, ÎLE — ÄÖÜ!", "Ελληνικά, русский, עברית, हिन्दी, 日本語", "ASCII", "", None]
    assert judged(*sound) == [None] * len(sound)


def test_what_could_not_be_decoded_is_found():
    assert judged("A word and \ufffd another one. " * 20, "\x93quoted\x94 text " * 20) == [
        "max_replacement",
        "max_controls",
    ]


CHARACTERS = "aé Ã©â€™\ufffd\x85\x93ð"


@given(st.lists(st.text(st.sampled_from(CHARACTERS), max_size=30), min_size=1, max_size=3))
def test_shares_are_those_of_the_definition(batch):
    found = pa.RecordBatch.from_pydict(BrokenText().signals(docs(*batch))).to_pylist()
    for text, row in zip(batch, found):
        size = max(1, len(text))
        assert row["replacement_ratio"] == text.count("\ufffd") / size
        assert row["control_ratio"] == text.count("\x93") / size
        assert row["mojibake_ratio"] == mojibake(text) / size


def mojibake(text: str) -> int:
    """Characters that are bytes of UTF-8 each, from left to right."""
    continued = set(map(chr, range(0x80, 0xC0))) | {bytes([b]).decode("cp1252", "ignore") for b in range(0x80, 0xC0)}
    at = found = 0
    while at < len(text):
        lead = ord(text[at])
        more = (
            1
            if 0xC2 <= lead <= 0xC5 or 0xCE <= lead <= 0xD9
            else 2
            if 0xE0 <= lead <= 0xEF
            else 3
            if 0xF0 <= lead <= 0xF4
            else 0
        )
        tail = text[at + 1 : at + 1 + more]
        whole = more > 0 and len(tail) == more and set(tail) <= continued
        found += 1 + more if whole else 0
        at += 1 + more if whole else 1
    return found


def test_a_bound_is_a_share():
    with pytest.raises(RecipeError, match="max_mojibake is a share from 0 to 1, got 2"):
        BrokenText(max_mojibake=2)
