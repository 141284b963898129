"""Entities mean what Python's `html` says, and nothing else is one."""

import html
import re
from html.entities import html5

from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.entities import decode_entities
from text_strategies import strings

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def slow_decode(text):
    def character(match):
        return html.unescape(match[0]) if match[0][1] == "#" or match[0][1:] in html5 else match[0]

    return ENTITY.sub(character, text)


def decoded(*texts):
    return decode_entities(strings(*texts)).to_pylist()


def test_every_name_and_every_number():
    entities = [f"&{name}" for name in html5] + [f"&{name[:-1]}x;" for name in html5]
    entities += [f"&#{number};" for number in range(0x110100)] + [f"&#x{number:x};" for number in range(0x300)]
    entities += [f"&#X{number:06X};" for number in (0xA0, 0xD7FF, 0xDFFF, 0xFFFFFF)]
    assert decoded(*entities) == [slow_decode(entity) for entity in entities]


@given(st.lists(st.lists(st.text("&#xX;aAgGtLn0189é", max_size=12), max_size=9).map("&".join), max_size=4))
@settings(max_examples=300)
def test_what_is_not_quite_an_entity_is_kept(texts):
    assert decoded(*texts) == [slow_decode(text) for text in texts]


def test_text_that_grows_has_room():
    text = "&nGt;" * 5000
    assert decoded(text, "&nLt;", text) == [html.unescape(text), "\u226a\u20d2", html.unescape(text)]


def test_an_entity_does_not_go_on_in_the_next_document():
    assert decoded("a&am", "p;", None, "&", "lt;", "&#", "38;", "&#3", "8;") == [
        "a&am", "p;", None, "&", "lt;", "&#", "38;", "&#3", "8;",
    ]  # fmt: skip
