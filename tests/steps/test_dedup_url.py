"""Documents of one address are one document, and it is said what one address is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.report.tables import RunTables
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.dedup.url import TRACKING, DedupUrl, normal, parameters
from dedup_runs import NAMES, dedup


def key(url, step=None):
    """The key of a document with this URL; None if it has none."""
    keys = (step or DedupUrl()).keys(docs("", url=[url]), {})
    return (int(keys.bands[0, 0]), int(keys.payload["low"][0])) if len(keys.bands) else None


@pytest.mark.parametrize(
    "same",
    [
        ["http://a.org/b", "https://a.org/b", "HTTP://a.org/b", "//a.org/b", "a.org/b", " http://a.org/b\n"],
        ["http://a.org:80/", "https://a.org:443", "a.org", "http://a.org?", "http://a.org/#top", "http://a.org:/"],
        ["http://EXAMPLE.org./A", "http://example.ORG/A/"],
        ["http://bücher.example/", "http://BÜCHER.example", "http://xn--bcher-kva.example"],
        ["http://a.org/%7ejoe/%e4", "http://a.org/~joe/%E4"],
        ["http://a.org/ä", "http://a.org/%C3%A4", "http://a.org/%c3%a4"],
        ["http://a.org/?b=1&utm_source=x&a", "http://a.org?b=1&a&fbclid=9"],
        ["http://[2001:DB8::1]:80/", "http://[2001:db8::1]"],
    ],
)
def test_these_are_one_address(same):
    assert len({key(url) for url in same}) == 1


@pytest.mark.parametrize(
    "different",
    [
        ["http://a.org/b", "http://a.org/B", "http://www.a.org/b", "http://a.org/b/c", "http://me@a.org/b"],
        ["http://a.org/", "http://a.org:8080/", "ftp://a.org/", "http://a.org/?b", "http://a.org/?b="],
        ["http://a.org/?a=1&b=2", "http://a.org/?b=2&a=1", "http://a.org/?a=1"],
        ["http://a.org/?utm", "http://a.org/?utm_", "http://a.org/?not_utm_x=1"],
        ["http://a.org/%2F", "http://a.org/"],
        ["http://", "http", "urn:isbn:1", "urn:isbn:2", "not a url"],
    ],
)
def test_these_are_not(different):
    assert len({key(url) for url in different}) == len(different)


def test_the_query_is_kept_sorted_or_dropped():
    one, other, third = "http://a.org/?a=1&b=2&gclid=3", "http://a.org/?b=2&a=1", "http://a.org/"
    assert key(one, DedupUrl(query="sort")) == key(other, DedupUrl(query="sort")) != key(third, DedupUrl(query="sort"))
    assert key(one, DedupUrl(query="drop")) == key(other, DedupUrl(query="drop")) == key(third)
    assert key(one, DedupUrl(tracking=())) != key("http://a.org/?a=1&b=2")
    assert key("http://a.org/?session=4&x", DedupUrl(tracking=("s*",))) == key("http://a.org/?x")


@given(st.text(st.sampled_from("ahtp:/?#&=.@[]%7eE4ä Ü"), max_size=20), st.sampled_from(["keep", "sort", "drop"]))
def test_the_normal_form_of_a_normal_form_is_itself(url, query):
    made = normal(url, query, parameters(TRACKING))
    if made == made.strip() and not made.startswith("/"):
        assert normal(made, query, parameters(TRACKING)) == made


PAGES = {
    "a": {"text": "the front page", "url": "http://example.org/", "date": "2023-01-01"},
    "b": {"text": "something else", "url": "http://example.org/else"},
    "c": {"text": "the front page in its second version", "url": "https://example.org", "date": "2024-01-01"},
    "d": {"text": "no address"},
    "e": {"text": "no address, either"},
    "f": {"text": "the front page in its third version", "url": "http://EXAMPLE.org/#top", "date": "2022-01-01"},
    "g": {"text": "an empty address", "url": " "},
}
PAGES = {name: {"url": None, **columns} for name, columns in PAGES.items()}


def rows(found):
    """name -> what the last pass says of each document."""
    tables = RunTables(found.folder)
    listed = tables.rows(f"SELECT * FROM ({tables.table('signals', len(tables.passes) - 1)})")
    return {NAMES[row["id"]]: row for row in listed}


def gone(found):
    """name -> why, and for what."""
    return {
        name: (row["reasons"], NAMES[row["url.duplicate_of"]])
        for name, row in rows(found).items()
        if row["reasons"] is not None
    }


@pytest.mark.parametrize(("keep", "stays"), [("first", "a"), ("newest", "c"), ("oldest", "f"), ("longest", "c")])
def test_one_document_of_an_address_stays(keep, stays, tmp_path):
    found = dedup(tmp_path, PAGES, DedupUrl(keep=keep), cuts=[1, 3, 5], unit=100)
    assert gone(found) == {name: ("url.url_copy", stays) for name in "acf" if name != stays}
    sizes = {name: row["url.cluster_size"] for name, row in rows(found).items()}
    assert sizes == {name: 3 if name in "acf" else 1 for name in PAGES}


def test_mark_drops_nothing(tmp_path):
    found = dedup(tmp_path, PAGES, DedupUrl(mark=True))
    assert gone(found) == {}
    assert {name for name, row in rows(found).items() if row["url.duplicate_of"] is not None} == {"c", "f"}


def test_what_an_earlier_run_kept_under_an_address_goes_before(tmp_path):
    old = dedup(tmp_path / "old", {name: PAGES[name] for name in "ab"}, DedupUrl(keep="newest"), cuts=[1], unit=100)
    new = {name: PAGES[name] for name in "cdfg"}
    found = dedup(tmp_path / "new", new, DedupUrl(keep="newest", against=str(old.folder)))
    assert gone(found) == dict.fromkeys("cf", ("url.against", "a"))


def test_steps_that_follow_do_not_see_what_went(tmp_path):
    pages = {name: PAGES[name] | {"text": "all the same text"} for name in "acd"}
    found = dedup(tmp_path, pages, DedupUrl(keep="newest"), Minhash())
    by = {name: row["dropped_by"] for name, row in rows(found).items()}
    assert by == {"a": "url", "c": None, "d": "minhash"}  # d for c: a is not there any more


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": "strip"}, 'query is "keep", "sort" or "drop", got "strip"'),
        ({"tracking": ("a=b",)}, 'tracking has "a=b", which is no name of a parameter'),
        ({"tracking": ("*",)}, 'tracking has "\\*"'),
        ({"keep": "frist"}, "did you mean"),
    ],
)
def test_bad_parameters_are_refused(given, words):
    with pytest.raises(RecipeError, match=words):
        DedupUrl(**given)
