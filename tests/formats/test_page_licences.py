"""The licences that pages name, wherever they do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.code.licences import PageLicence, licences, may_name_any

BY_SA = "https://creativecommons.org/licenses/by-sa/4.0/"


def names(page: str) -> list[tuple[str | None, str]]:
    return [(licence.name, licence.how) for licence in licences(page)]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f'<a rel="license" href="{BY_SA}">x</a>', [("CC-BY-SA-4.0", "rel")]),
        (f"<a rel='nofollow LICENSE' href='{BY_SA}'>", [("CC-BY-SA-4.0", "rel")]),
        (f"<link rel=license href={BY_SA}>", [("CC-BY-SA-4.0", "rel")]),
        (f'<a href="{BY_SA}">x</a>', [("CC-BY-SA-4.0", "link")]),
        (f'<A HREF="{BY_SA}deed.de">x</A>', [("CC-BY-SA-4.0", "link")]),
        (f'<meta name="dc.rights" content="{BY_SA}">', [("CC-BY-SA-4.0", "meta")]),
        (f'<meta property="DC.License" content="{BY_SA}">', [("CC-BY-SA-4.0", "meta")]),
        (f'<script type="application/ld+json">{{"license": "{BY_SA}"}}</script>', [("CC-BY-SA-4.0", "json-ld")]),
        ('<a rel="license" href="/terms">x</a>', [(None, "rel")]),
        ('<a href="/terms">x</a>', []),
        ('<a rel="license" href="">x</a>', []),
        ('<meta name="author" content="https://creativecommons.org/licenses/by/4.0/">', []),
        ("no page at all", []),
        ("", []),
    ],
)
def test_a_licence_is_found_where_pages_name_one(page, expected):
    assert names(page) == expected


@pytest.mark.parametrize(
    ("url", "name", "kind", "version", "language"),
    [
        ("http://creativecommons.org/licenses/by/3.0/de/", "CC-BY-3.0-DE", "by", "3.0", None),
        ("//creativecommons.org/licenses/by-nc-nd/2.5", "CC-BY-NC-ND-2.5", "by-nc-nd", "2.5", None),
        ("https://www.creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0", "zero", "1.0", None),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0", "mark", "1.0", None),
        ("https://creativecommons.org/licenses/by/4.0/deed.pt_BR", "CC-BY-4.0", "by", "4.0", "pt_br"),
        ("https://creativecommons.org/licenses/by-sa/4.0/legalcode.fr", "CC-BY-SA-4.0", "by-sa", "4.0", "fr"),
        ("https://creativecommons.org/licenses/by/", "CC-BY", "by", None, None),
        ("HTTPS://CREATIVECOMMONS.ORG/LICENSES/BY/4.0/", "CC-BY-4.0", "by", "4.0", None),
    ],
)
def test_the_address_says_which_licence_it_is(url, name, kind, version, language):
    assert licences(f'<a href="{url}">') == [PageLicence(name, kind, version, language, url, "link")]


@pytest.mark.parametrize(
    "url",
    ["https://creativecommons.org/", "https://creativecommons.org/about/", "https://example.org/licenses/by/4.0/"],
)
def test_other_links_name_none(url):
    assert licences(f'<a href="{url}">') == []


def test_what_says_it_is_the_licence_comes_before_links():
    by = "https://creativecommons.org/licenses/by/4.0/"
    page = f'<a href="{by}">of a picture</a><a rel="license" href="{BY_SA}">of this page</a>'
    assert names(page)[0] == ("CC-BY-SA-4.0", "rel") and len(names(page)) == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f'"{BY_SA}"', [BY_SA]),
        (f'["{BY_SA}", "x"]', [BY_SA, "x"]),
        (f'{{"@id": "{BY_SA}", "url": "y"}}', [BY_SA]),
        (f'{{"@type": "CreativeWork", "name": "CC", "url": "{BY_SA}"}}', [BY_SA]),
        ("7", []),
        ("null", []),
        ('{"@id": 7}', []),
    ],
)
def test_json_ld_has_texts_lists_or_objects(value, expected):
    page = f'<script type="application/ld+json">{{"@graph": [{{"license": {value}}}]}}</script>'
    assert [licence.url for licence in licences(page)] == expected


@pytest.mark.parametrize("json", ["{", "[1, 2", "", '{"license": }', "[" * 2000])
def test_json_that_is_none_names_nothing(json):
    assert licences(f'<script type="application/ld+json">{json}</script>') == []
    assert licences(f'<script type="application/ld+json">{json}') == []


def test_characters_of_attributes_are_unescaped():
    assert licences('<a rel="license" href="/x?a=1&amp;b=2">')[0].url == "/x?a=1&b=2"


def test_a_tag_without_end_is_none_and_a_long_one_is_passed_over():
    assert licences('<a rel="license" href="') == []
    assert licences(f'<a rel="license" title="{"x" * 100_000}" href="{BY_SA}">') == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["<a ", "<meta ", "<link ", "rel=license ", 'href="', BY_SA, '"', "'", ">", "name=dc.rights ",
    "content=", '<script type="application/ld+json">', '{"license":', "}", "</script>", " ", "&#x2f;"]), max_size=12))  # fmt: skip
def test_no_page_breaks_it_and_what_names_one_may_name_one(parts):
    page = "".join(parts)
    named = licences(page)
    assert all(licence.url for licence in named)
    assert may_name_any(page.encode()) or not named
