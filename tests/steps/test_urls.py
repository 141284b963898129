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
        ("https://a.org first\nhttps://b.org\tsecond\nhttps://c.org\n", "first\nsecond\n\n", 3),
        ("a https://x.org b https://y.org c", "a b c", 2),
        ("at the end https://a.org", "at the end", 1),
        (None, None, None),
    ],
)
def test_addresses_are_removed_and_the_sentence_is_kept(before, after, count):
    changed = Urls().transform(docs(before))
    assert changed["text"].to_pylist() == [after]
    assert changed["urls"].to_pylist() == [count]


def test_the_replacement_is_taken_as_it_is_written():
    assert Urls(replacement=r"<\1>").transform(docs("a https://b.c d"))["text"].to_pylist() == [r"a <\1> d"]
