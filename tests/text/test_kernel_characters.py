"""No text that NFC would change is taken for normal, and little that is normal is suspected."""

import unicodedata

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blanks import WhiteSpace, lay_out
from corpusmill.text.characters import (
    HANGUL_ENDS,
    INVISIBLE,
    LINE_END,
    SPACE,
    UNSURE,
    characters,
    kinds_in,
    replace_kinds,
)
from corpusmill.text.entities import decode_entities
from text_strategies import raw_strings, strings

EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
CHANGED = [c for c in EVERY if unicodedata.normalize("NFC", c) != c]
COMPOSED = [c for c in EVERY if (pair := unicodedata.normalize("NFD", c)) != c and c not in CHANGED]
FIRSTS = sorted({unicodedata.normalize("NFC", unicodedata.normalize("NFD", c)[:-1]) for c in COMPOSED})
MARKS = [c for c in EVERY if unicodedata.combining(c)]
SECONDS = sorted({unicodedata.normalize("NFD", c)[-1] for c in COMPOSED})


def unsure(texts):
    return (kinds_in(strings(*texts), UNSURE) != 0).tolist()


def is_normal(text):
    return unicodedata.normalize("NFC", text) == text


def as_bytes(texts):
    return texts.view(pa.large_binary()).to_pylist()


def none_is_missed(texts):
    assert [
        text for text, suspect in zip(texts, unsure(texts), strict=True) if not suspect and not is_normal(text)
    ] == []


def test_a_single_character_is_suspected_only_if_it_changes():
    suspected = {c for c, suspect in zip(EVERY, unsure(EVERY), strict=True) if suspect}
    assert suspected == {*CHANGED, *map(chr, HANGUL_ENDS)}


def test_every_pair_that_composes_or_is_out_of_order_is_seen():
    after = sorted({*MARKS, *SECONDS})
    by_class = {unicodedata.combining(c): c for c in MARKS}
    before = [*"ax日", *by_class.values(), *CHANGED[:5], *FIRSTS[::7], *COMPOSED[:11000:40]]
    none_is_missed([a + b for a in before for b in after])
    none_is_missed([a + b for a in FIRSTS for b in SECONDS])
    none_is_missed([a + b + c for a in "aEoय" for b in by_class.values() for c in after])
    none_is_missed([unicodedata.normalize("NFD", c) for c in COMPOSED])


@given(st.lists(st.lists(st.sampled_from([*FIRSTS, *SECONDS, *MARKS[::9]]), max_size=6).map("".join), max_size=50))
@settings(max_examples=500)
def test_no_text_that_needs_the_normalizer_is_taken_for_normal(texts):
    none_is_missed([*texts, *(unicodedata.normalize("NFC", text) for text in texts)])


def test_text_in_nfc_of_scripts_with_marks_is_not_suspected():
    normal = ["ประเทศไทยที่", "தமிழ்நாடு வா", "हिन्दी में नमस्ते", "বাংলা ভাষা", "العَرَبِيَّة", "עִבְרִית", "Tiếng Việt", "x\u0301y"]
    assert all(map(is_normal, normal))
    assert unsure(normal) == [False] * len(normal)


def test_a_mark_does_not_see_the_document_before_it():
    assert unsure(["e", "\u0301", "e\u0301"]) == [False, False, True]


def test_tables_are_made_of_what_python_knows():
    assert len(COMPOSED) - 11172 == (characters().pairs != 0).sum()  # all syllables of Hangul are composed by rule


@given(
    st.lists(
        st.binary(max_size=150)
        | st.lists(st.sampled_from([b"\xe2", b"\x80", b"\r", b"\xf0", b"&#x", b" "])).map(b"".join)
    )
)
@settings(max_examples=300)
def test_bytes_that_are_not_utf8_do_no_harm(texts):
    array = raw_strings(*texts)
    kinds_in(array, UNSURE | INVISIBLE)
    for rewritten in (replace_kinds(array, LINE_END | INVISIBLE | SPACE), decode_entities(array)):
        tidy = lay_out(rewritten, WhiteSpace(True, False, 1))
        assert all(len(new) <= 2 * len(old) for new, old in zip(as_bytes(tidy), texts, strict=True))
