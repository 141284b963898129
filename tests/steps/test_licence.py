"""annotate/licence: what a page says of its licence, in the ways that pages do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import docs
from corpusmill.formats.code.licences import licences
from corpusmill.steps.annotate.licence import Licence

CC = "https://creativecommons.org"


def found(*pages):
    signals = Licence().signals(docs(*[None] * len(pages), raw=[page.encode() for page in pages]))
    return [{name: column[row].as_py() for name, column in signals.items()} for row in range(len(pages))]


@pytest.mark.parametrize(
    ("page", "name", "how"),
    [
        (f'<a rel="license noopener" href="{CC}/licenses/by/4.0/">CC</a>', "CC-BY-4.0", "rel"),
        (f"<LINK REL=license HREF={CC.replace('https:', '')}/publicdomain/zero/1.0/>", "CC0-1.0", "rel"),
        (f"<a href='{CC}/licenses/by-sa/3.0/de/deed.de'>x</a>", "CC-BY-SA-3.0-DE", "link"),
        (f'<a href="{CC}/licenses/by-nc-nd/2.5/legalcode">x</a>', "CC-BY-NC-ND-2.5", "link"),
        (f'<a href="{CC}/licenses/by/">x</a>', "CC-BY", "link"),
        (f'<meta name="DCTERMS.license" content="{CC}/publicdomain/mark/1.0/">', "CC-PDM-1.0", "meta"),
        (f'<script type="application/ld+json">{{"license": "{CC}/licenses/by/4.0/"}}</script>', "CC-BY-4.0", "json-ld"),
        ('<a rel="license" href="/terms&amp;c">Terms</a>', None, "rel"),
    ],
)
def test_a_page_names_its_licence(page, name, how):
    (signals,) = found(page)
    assert (signals["name"], signals["how"], signals["different"]) == (name, how, 1)


def test_what_the_page_says_of_itself_comes_before_a_link():
    picture = f'<a href="{CC}/licenses/by/2.0/">a picture</a>'
    (signals,) = found(f'{picture}<a rel="license" href="{CC}/licenses/by-nc/4.0/deed.fr">all of it</a>{picture}')
    assert (signals["name"], signals["type"], signals["version"]) == ("CC-BY-NC-4.0", "by-nc", "4.0")
    assert (signals["language"], signals["how"], signals["different"]) == ("fr", "rel", 2)


def test_json_ld_is_read_from_the_outside():
    inner = f'{{"@graph": [{{"image": {{"license": "{CC}/licenses/by/2.0/"}}}}]'
    page = f'<script type="application/ld+json">{inner}, "license": {{"@id": "{CC}/licenses/by/4.0/"}}}}</script>'
    assert [each.name for each in licences(page)] == ["CC-BY-4.0", "CC-BY-2.0"]


@pytest.mark.parametrize(
    "page",
    [
        "a licence is mentioned",
        f'<a href="{CC}/licenses/">all licences</a>',
        f'<a href="http://example.org/?to={CC}/licenses/by/4.0/">x</a>',
        '<a rel="license" href="">x</a>',
        '<script type="application/ld+json">{"license": </script>',
        '<script type="application/ld+json">{"license": "x"',
        "",
    ],
)
def test_a_page_that_names_none_has_no_signals(page):
    assert set(found(page)[0].values()) == {None}


def test_a_document_without_a_page_has_no_signals():
    signals = Licence().signals(docs("licensed under CC BY 4.0"))
    assert {name: column.to_pylist() for name, column in signals.items()} == {name: [None] for name in signals}


PIECES = st.sampled_from(
    [
        "<a ",
        "<meta ",
        "<script application/ld+json>",
        "</script>",
        "rel=license ",
        "href=",
        "'",
        '"',
        ">",
        CC + "/licenses/",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_page_is_refused(page):
    assert all(each.url for each in licences(page))
