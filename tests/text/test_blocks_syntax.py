"""The tokens of HTML, against Python's own parser."""

import html

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.names import ATTRIBUTES, BYTE_CLASSES, TAG, Weights, find, fnv, table
from corpusmill.text.blocks.syntax import (
    COMMENT,
    DECLARATION,
    END,
    NUMBERS,
    START,
    TEXT,
    attributes,
    begins,
    comment_end,
    entity,
    name_end,
    raw_end,
)
from corpusmill.text.compile import kernel


def array(text):
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<a", START), ("<A>", START), ("</a", END), ("</", TEXT), ("</1", TEXT), ("<", TEXT), ("< a", TEXT), ("<1", TEXT),
        ("<!--", COMMENT), ("<!-", DECLARATION), ("<!d", DECLARATION), ("<?x", DECLARATION), ("<é", TEXT),
    ],
)  # fmt: skip
def test_what_a_less_than_sign_begins(text, kind):
    assert begins(array(text), 0) == kind


@pytest.mark.parametrize(
    ("text", "end"),
    [("-->x", 3), (">x", 1), ("a-->", 4), ("--", -1), ("", -1), ("a--b-->", 7), ("--->", 4), ("a->b-->c", 7)],
)
def test_where_a_comment_ends(text, end):
    assert comment_end(array("<!--" + text), 4) == (end + 4 if end >= 0 else -1)


def values_of(tag):
    data = array(tag)
    values = np.zeros(2 * NUMBERS + 1, np.int64)
    at, _ = name_end(data, 1)
    end = attributes(data, at, values)
    found = {
        name: tag.encode()[values[2 * i] : values[2 * i + 1]].decode()
        for i, name in enumerate(ATTRIBUTES)
        if values[2 * i + 1]
    }
    return found, bool(values[2 * NUMBERS]), tag.encode()[end:].decode()


@pytest.mark.parametrize(
    ("tag", "found", "closed", "after"),
    [
        ('<a class="x y" href=/b>t', {"class": "x y", "href": "/b"}, False, "t"),
        ("<a CLASS='x'>", {"class": "x"}, False, ""),
        ("<a class=x class=y>", {"class": "x"}, False, ""),
        ("<a href = 'b' >t", {"href": "b"}, False, "t"),
        ("<br/>t", {}, True, "t"),
        ("<a href=x/>t", {"href": "x/"}, False, "t"),
        ("<a href='x", {"href": "x"}, False, ""),
        ('<a href="a>b" id=c>t', {"href": "a>b", "id": "c"}, False, "t"),
        ("<a foo=1 =bar id=z>", {"id": "z"}, False, ""),
        ("<a disabled id=q", {"id": "q"}, False, ""),
    ],
)
def test_attributes_of_a_tag(tag, found, closed, after):
    assert values_of(tag) == (found, closed, after)


@given(st.text("ab=\"' /><é\n", max_size=20))
@settings(max_examples=200)
def test_no_tag_leads_out_of_the_page(text):
    data = array("<a" + text)
    values = np.zeros(2 * NUMBERS + 1, np.int64)
    end = attributes(data, 2, values)
    assert 2 <= end <= len(data)
    assert ((values[:-1] >= 0) & (values[:-1] <= len(data))).all() and (values[1:-1:2] >= values[:-1:2]).all()


@pytest.mark.parametrize(
    ("text", "end"),
    [("x</script>", 1), ("x</SCRIPT >", 1), ("x</scrip></script", 9), ("</style>", -1), ("", -1), ("a<b</script", 3)],
)
def test_where_the_text_of_a_script_ends(text, end):
    assert raw_end(array(text), 0, np.uint32(fnv(b"script"))) == end


@pytest.mark.parametrize(
    "text",
    [
        "&amp;",
        "&lt;",
        "&eacute;",
        "&#233;",
        "&#xe9;",
        "&#XE9;",
        "&copy",
        "&nbsp;",
        "&euro;",
        "&#8364;",
        "&#128;",
        "&hellip;",
        "&#xD800;",
        "&#xdfff",
        "&#0;",
        "&#x110000;",
        "&#99999999999999999999;",
        "&#000000000065;",
        "&CounterClockwiseContourIntegral;",
        "&InvisibleTimes;",
    ],
)
def test_entities_are_those_of_the_standard(text):
    data = array(text + " ")
    point, size = entity(data, 0, len(data))
    assert (chr(point), size) == (html.unescape(text), len(text))


@pytest.mark.parametrize("text", ["&", "& a", "&foo;", "&#;", "&#x;", "&é;", "&euro", "&Aacut;", "&NotEqualTilde;"])
def test_what_is_no_entity_has_no_character(text):
    data = array(text)
    assert entity(data, 0, len(data))[0] == 0


@pytest.mark.parametrize(
    ("text", "point", "size"),
    [
        ("&ampx;", "&", 4),
        ("&notit;", "¬", 4),
        ("&notin;", "∉", 7),
        ("&notin", "¬", 4),
        ("&ltgt;", "<", 3),
        ("&cent1", "¢", 5),
    ],
)
def test_an_old_name_is_one_without_its_end(text, point, size):
    """The longest that the letters begin with: 13.2.5.73 of the standard."""
    data = array(text)
    found, length = entity(data, 0, len(data))
    assert (chr(found), length) == (point, size)
    assert html.unescape(text) == point + text[size:]


@given(st.text("&#;x0123456789abcdefilmnopqtguv ", max_size=14).map(lambda text: f"&{text}"))
@settings(max_examples=300)
def test_any_entity_is_that_of_the_standard_library(text):
    data = array(text)
    found, size = entity(data, 0, len(data))
    if found and found not in (0x20, 0x81, 0x8D, 0x8F, 0x90, 0x9D):  # control characters, which Python leaves out
        assert html.unescape(text[:size]) in (chr(found), "")
    elif not found:
        assert html.unescape(text[: text.find("&", 1) if "&" in text[1:] else None])[0] == "&"


@given(st.integers(1, 0x10FFFF).filter(lambda point: not 0xD800 <= point < 0xE000))
@settings(max_examples=60)
def test_any_number_is_its_character(point):
    expected = html.unescape(f"&#{point};")
    for text in (f"&#{point};", f"&#x{point:x};"):
        data = array(text)
        found, size = entity(data, 0, len(data))
        if point >= 160:
            assert (found, size) == (point, len(text))
        elif expected:
            assert chr(found) == expected


@kernel
def look_up(keys, values, wanted, out):
    for i in range(len(wanted)):
        out[i] = find(keys, values, wanted[i])


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(1, 99), max_size=20))
@settings(max_examples=40)
def test_tables_of_names_have_what_was_put_in(numbers):
    weights = table(((fnv(name.encode()), number) for name, number in numbers.items()), 6)
    names = [*numbers, "missing", "zzzzz"]
    out = np.zeros(len(names), np.int32)
    look_up(weights.keys, weights.values, np.array([fnv(name.encode()) for name in names], np.uint32), out)
    assert out.tolist() == [numbers.get(name, 0) for name in names]
    assert isinstance(weights, Weights) and len(weights.keys) == 64


def test_numbers_of_elements_stay_in_order_as_models_have_them():
    assert (TAG[""], TAG["html"], TAG["body"], TAG["div"]) == (0, 1, 2, 3)
    assert BYTE_CLASSES[ord("A")] != BYTE_CLASSES[ord("a")] != BYTE_CLASSES[ord("1")]
