"""What pages and their servers say of their use."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.rights.rights import (
    MAX_FILE_CHARACTERS,
    Reservation,
    directives,
    matches,
    may_say,
    metas,
    reservation,
)

AGENTS = frozenset({"gptbot", "ccbot"})


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<meta name="robots" content="noai, noindex">', {"robots": ["noai, noindex"]}),
        ("<META NAME='Robots' CONTENT='NoAI'>", {"robots": ["NoAI"]}),
        ("<meta name=robots content=noai>", {"robots": ["noai"]}),
        ('<meta content="noai" name="robots"/>', {"robots": ["noai"]}),
        ('<meta name=" robots " content="a&amp;b">', {"robots": ["a&b"]}),
        ('<meta name="robots"><meta name="robots" content="x">', {"robots": ["", "x"]}),
        ('<meta charset="utf-8"><metadata name="robots" content="x">', {}),
        ('<meta name="robots" content="x"', {}),
        ("", {}),
    ],
)
def test_meta_elements_by_name(page, expected):
    assert metas(page) == expected


@pytest.mark.parametrize(
    ("elements", "header", "expected"),
    [
        ({"robots": ["noai, NoIndex"]}, "", ["noai", "noindex"]),
        ({"gptbot": ["noai"], "otherbot": ["noindex"]}, "", ["noai"]),
        ({"robots": ["none"]}, "", ["nofollow", "noindex"]),
        ({"robots": ["max-snippet:20, noai"]}, "", ["max-snippet", "noai"]),
        ({"robots": ["", ", ,", "n0t!", "é"]}, "", []),
        ({}, "noai", ["noai"]),
        ({}, "noindex, nofollow", ["nofollow", "noindex"]),
        ({}, "gptbot: noai", ["noai"]),
        ({}, "GPTBot: noai, nofollow", ["noai", "nofollow"]),
        ({}, "otherbot: noai, nofollow", []),
        ({}, "otherbot: noai, gptbot: nofollow", ["nofollow"]),
        ({}, "otherbot: noai\nnoindex", ["noindex"]),
        ({}, "max-snippet: 5, noai", ["max-snippet", "noai"]),
        ({}, "unavailable_after: 25 Jun 2030", ["unavailable_after"]),
        ({"robots": ["noai"]}, "noai", ["noai"]),
        ({}, "", []),
    ],
)
def test_directives_are_those_for_everybody_or_an_agent(elements, header, expected):
    assert directives(elements, header, AGENTS) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/", "/a", True),
        ("/a", "/abc", True),
        ("/a$", "/abc", False),
        ("/a$", "/a", True),
        ("*", "", True),
        ("/*/c", "/a/b/c", True),
        ("/*.html$", "/a.html?x", False),
        ("/a*b*c$", "/aXbYc", True),
        ("/a*b*c$", "/aXcYb", False),
        ("/ab*b$", "/ab", False),  # what the star passed is not read twice
        ("", "/a", True),
        ("$", "", True),
        ("$", "/a", False),
    ],
)
def test_patterns_of_paths(pattern, path, expected):
    assert matches(pattern, path) is expected


@settings(max_examples=80, deadline=None)
@given(st.text("ab*", max_size=6), st.booleans(), st.text("ab", max_size=8))
def test_patterns_match_as_regular_expressions_do(pattern, ends, path):
    import re

    expression = ".*".join(map(re.escape, pattern.split("*"))) + ("$" if ends else "")
    assert matches(pattern + "$" * ends, path) is (re.match(expression, path) is not None)


def file(*rules: object) -> str:
    return json.dumps(list(rules))


RULE = {"location": "/free/*", "tdm-reservation": 0}
REST = {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://a.org/policy"}


@pytest.mark.parametrize(
    ("elements", "header", "policy", "content", "url", "expected"),
    [
        ({"tdm-reservation": ["1"]}, "0", None, None, "http://a.org/", Reservation(1, None, "page")),
        ({"tdm-reservation": ["1"], "tdm-policy": ["p"]}, None, "q", None, "", Reservation(1, "p", "page")),
        ({"tdm-reservation": ["yes", "0"]}, None, None, None, "", Reservation(0, None, "page")),
        ({}, "1", "q", file(RULE), "http://a.org/free/x", Reservation(1, "q", "header")),
        ({}, "1, 1", None, None, "", Reservation(1, None, "header")),
        ({}, "maybe", None, file(RULE), "http://a.org/free/x", Reservation(0, None, "file")),
        ({}, None, None, file(RULE, REST), "http://a.org/x", Reservation(1, "https://a.org/policy", "file")),
        ({}, None, None, file(RULE), "http://a.org/x", None),
        ({}, None, None, json.dumps(REST), "http://a.org", Reservation(1, "https://a.org/policy", "file")),
        ({}, None, None, file({"location": "/a?b", "tdm-reservation": "1"}), "http://a.org/a?b=c", Reservation(1, None, "file")),
        ({}, None, None, file({"location": "/", "tdm-reservation": True}), "http://a.org/", None),
        ({}, None, None, file({"location": 7, "tdm-reservation": 1}, "x", None), "http://a.org/", None),
        ({}, None, None, file({"location": "/", "tdm-reservation": 1, "tdm-policy": 7}), "http://a.org/", Reservation(1, None, "file")),
        ({}, None, None, "{", "http://a.org/", None),
        ({}, None, None, file(REST), "http://[a.org/", None),
        ({}, None, None, " " * (MAX_FILE_CHARACTERS + 1), "http://a.org/", None),
        ({}, None, None, None, "http://a.org/", None),
    ],
)  # fmt: skip
def test_what_is_nearer_to_the_page_says_more_of_its_reservation(elements, header, policy, content, url, expected):
    assert reservation(elements, header, policy, content, url) == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["<meta ", "name=", "robots", "tdm-reservation", " content=", '"noai"', "1", ">", "'", " ", "<"]), max_size=10))  # fmt: skip
def test_a_page_that_says_something_may_say_something(parts):
    page = "".join(parts)
    elements = metas(page)
    said = directives(elements, "", AGENTS) or reservation(elements, None, None, None, "http://a.org/")
    assert may_say(page.encode()) or not said
