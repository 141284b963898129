"""E-mail addresses beyond the plain form, and names of messages."""

import pytest

from corpusmill.text.pii.mail import addresses_at, disguised_near, is_message_id, is_top


def at_sign(text):
    return [text[a:b] for a, b in addresses_at(text, text.index("@"))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("an nièrdash@host.example!", "nièrdash@host.example"),
        ("写信给 用户@例子.公司。", "用户@例子.公司"),
        ('"jane doe"@host.example', '"jane doe"@host.example'),
        ("x jürgen.müller@bücher.example", "jürgen.müller@bücher.example"),
        ("邮箱jane@host.example请", "jane@host.example"),
        ("a@b.xn--p1ai", "a@b.xn--p1ai"),
    ],
)
def test_international_and_quoted_addresses(text, value):
    assert at_sign(text) == [value]


@pytest.mark.parametrize(
    "text", ["@host.example", "jane@", "jane@host", "jane@host.1", "jane@-host.example-@x.org", 'say "x@y']
)
def test_what_is_no_address(text):
    assert at_sign(text) == []


@pytest.mark.parametrize(
    ("text", "sign", "value"),
    [
        ("jane&#64;host.example", "&", "jane&#64;host.example"),
        ("jane&#x40;host.example", "&", "jane&#x40;host.example"),
        ("jane&commat;host.example", "&", "jane&commat;host.example"),
        ("jane [at] host [dot] example", "]", "jane [at] host [dot] example"),
        ("jane (at) host.example", ")", "jane (at) host.example"),
        ("jane at host dot org", "dot", "jane at host dot org"),
        ("jane.doe [at] mail (dot) host.org", "]", "jane.doe [at] mail (dot) host.org"),
    ],
)
def test_disguised_addresses(text, sign, value):
    spans = disguised_near(text, text.index(sign))
    assert [text[a:b] for a, b in spans] == [value]


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("look at the dot dress", "dot"),
        ("a &amp; b", "&"),
        ("meet at noon. Go", "at"),
        ("&#64;", "&"),
        ("1&#64;2", "&"),
    ],
)
def test_sentences_are_no_addresses(text, sign):
    assert disguised_near(text, text.index(sign)) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Message-ID: <x@host.example>", True),
        ("message-id:x@host.example", True),
        ("References: <a@b.example> <x@host.example>", True),
        ("In-Reply-To: x@host.example", True),
        ("in article <x@host.example>", True),
        ("From: <x@host.example>", False),
        ("mail <a1b2c3d4@host.example>", True),
        ("mail <123456x@host.example>", True),
        ("mail <123456@host.example>", False),
        ("mail a1b2c3d4@host.example", False),
        ("Message-ID\nx@host.example", False),
    ],
)
def test_names_of_messages(line, expected):
    end = line.rindex("@") + len("@host.example")
    start = max(line.rfind(c, 0, line.rindex("@")) for c in "<: \n") + 1
    assert is_message_id(line, start, end) is expected


def test_top_level_domains():
    assert is_top("org") and is_top("de") and not is_top("dress") and not is_top("")
