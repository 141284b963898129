import pytest

from conftest import docs
from corpusmill.steps.clean.urls import Urls


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("see https://example.org/a?b=1#c now", "see now", 1),
        ("(see HTTP://example.org/a).", "(see ).", 1),
        ("www.example.org, ftp://example.org/x/", ",", 2),
        ("<a href='https://example.org'>", "<a href=''>", 1),
        ("example.org and newwww.x are kept", "example.org and newwww.x are kept", 0),
        ("https:// alone is kept", "https:// alone is kept", 0),
        ("日本https://例え.jp/パス。", "日本", 1),
        ("see https://a.org http://b.org and www.c.org too", "see and too", 3),
        ("see https://a.org\n  https://b.org is indented", "see\n   is indented", 2),
        ("https://a.org first\nhttps://b.org\tsecond\nhttps://c.org\n", "first\nsecond\n", 3),
        ("a https://x.org b https://y.org c", "a b c", 2),
        ("at the end https://a.org", "at the end", 1),
        (None, None, None),
    ],
)
def test_addresses_are_removed_and_the_sentence_is_kept(before, after, count):
    changed = Urls().transform(docs(before))
    assert changed["text"].to_pylist() == [after]
    assert changed["urls"].to_pylist() == [count]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("One line\nhttps://a.org/x  www.b.org\nanother", "One line\nanother"),
        ("One line\r\n\thttps://a.org/x\r\nanother", "One line\r\nanother"),
        ("One line\nhttps://a.org/x", "One line"),
        ("https://a.org/x", ""),
        ("https://a.org/x\n\nOne line", "\nOne line"),
    ],
)
def test_an_address_that_has_a_line_for_itself_takes_the_line(before, after):
    assert Urls().transform(docs(before))["text"].to_pylist() == [after]


@pytest.mark.parametrize("text", ["a https://x.org b", "a\nhttps://x.org\nb", "https://x.org  b"])
def test_without_tidying_all_white_space_is_kept(text):
    assert Urls(tidy=False).transform(docs(text))["text"].to_pylist() == [text.replace("https://x.org", "")]


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("see example.org now", "see now", 1),
        ("see Blog.Example.co.uk:8081/a?b=1.", "see .", 1),
        ("at 192.0.2.1:80/a and https://a.org too", "at and too", 2),
        ("jane@example.org, node.js, e.g. v1.2, a.b.notatld", None, 0),
        ("example.com example.org", "", 2),
        ("(example.com,example.org)", "(,)", 2),
        ("example.xn--p1ai is one", "is one", 1),
    ],
)
def test_hosts_without_a_scheme_are_removed_if_that_is_asked_for(before, after, count):
    changed = Urls(bare=True).transform(docs(before))
    assert (changed["text"][0].as_py(), changed["urls"][0].as_py()) == (before if after is None else after, count)
    assert Urls(bare=True, replacement="<URL>").transform(docs(before))["text"][0].as_py().count("<URL>") == count


def test_the_replacement_is_taken_as_it_is_written():
    assert Urls(replacement=r"<\1>").transform(docs("a https://b.c d"))["text"].to_pylist() == [r"a <\1> d"]
