"""The host of a document before its text."""

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.errors import RecipeError
from corpusmill.models import tokenizer
from corpusmill.models.url_prefix import BEGIN, END, LONGEST_HOST, UrlPrefix, host, marks
from corpusmill.schema import document_id

GPT2 = tokenizer.load("gpt2")
IDS = pa.array([document_id("made", str(number)) for number in range(400)])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://En.Wikipedia.org/wiki/Mill", "en.wikipedia.org"), ("http://a.org:80/x", "a.org"), ("http://u:p@a.org", "a.org"),
        ("no url", ""), ("", ""), (None, ""), ("http://[::1]/", "::1"), ("http://[bad", ""), ("/path", ""),
        ("http://" + "a" * (LONGEST_HOST + 1) + "/", ""), ("http://" + "a" * LONGEST_HOST, "a" * LONGEST_HOST),
    ],
)  # fmt: skip
def test_the_host_of_a_url(url, expected):
    assert host(url) == expected


def text_of(ids):
    return GPT2.decode(ids)


def test_a_prefix_is_written_around_the_host():
    urls = pa.array(["http://Example.org/a"] * len(IDS))
    ids = UrlPrefix(share=1.0).ids(GPT2, IDS, urls)
    assert {text_of(own) for own in ids} == {f"{BEGIN} example.org{END}"}
    begin, end = marks(GPT2)
    assert all((own[: len(begin)] == begin).all() and (own[-len(end) :] == end).all() for own in ids)


def test_documents_without_a_host_have_none():
    urls = pa.array(["http://a.org", None, "x"], pa.string())
    ids = UrlPrefix(share=1.0).ids(GPT2, IDS[:3], urls)
    assert [len(own) > 0 for own in ids] == [True, False, False]
    assert ids[1].dtype == np.uint32


def test_a_share_of_documents_has_one_and_another_seed_another():
    urls = pa.array(["http://a.org"] * len(IDS))

    def chosen(**settings):
        return [len(own) > 0 for own in UrlPrefix(**settings).ids(GPT2, IDS, urls)]

    assert 0.4 < np.mean(chosen(share=0.5)) < 0.6
    assert chosen(share=0.5) == chosen(share=0.5) != chosen(share=0.5, seed=1)
    assert not any(chosen(share=0.0))
    few, many = chosen(share=0.3), chosen(share=0.7)
    assert all(b for a, b in zip(few, many) if a)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(share):
    with pytest.raises(RecipeError, match="prefix: share is from 0 to 1"):
        UrlPrefix(share=share).check()
    UrlPrefix().check()
