"""Addresses: what is left of a URL, which listed domain or page it is in, and its registered domain."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from corpusmill.text.addresses import (
    Address,
    domain_hashes,
    find_domains,
    find_pages,
    page_hashes,
    parse,
    pieces,
    site_keys,
    sites,
    top_level_domains,
)
from text_strategies import strings

HOSTS = [
    "example.org",
    "a.example.org",
    "EXAMPLE.com",
    "www.b.co.uk",
    "b.co.uk",
    "10.0.0.1",
    "[::1]",
    "",
    "org",
    "x.org.",
]
PATHS = ["", "/", "/a", "/a/b", "/a/b/", "//a", "/A?q=1", "?q", "/a#top", "#x", "/é", "/a?b#c"]
urls = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "http://", "HTTPS://", "//", "ftp://", "mailto:", " http://", "h-t+p.1://"]),
    st.sampled_from(["", "me@", "me:pw@", "@"]),
    st.sampled_from(HOSTS),
    st.sampled_from(["", ":80", ":", ":8x"]),
    st.sampled_from(PATHS),
)


def parts(addresses, row):
    begin, host, path, query = addresses.spans[row, :4]
    data = bytes(addresses.data)
    return Address(*(data[a:b].decode() for a, b in ((begin, host), (host, path), (path, query))))


@given(st.lists(urls, min_size=1, max_size=6))
@settings(max_examples=60)
def test_the_kernel_parses_as_the_expression_does(texts):
    addresses = parse(strings(*texts))
    assert [parts(addresses, row) for row in range(len(texts))] == [Address.from_url(text) for text in texts]


@given(st.lists(st.text("ahtps:/.@?#[]0-\t é", max_size=14), min_size=1, max_size=6))
@settings(max_examples=60)
def test_hostile_urls_are_parsed_as_the_expression_does(texts):
    addresses = parse(strings(*texts))
    assert [parts(addresses, row) for row in range(len(texts))] == [Address.from_url(text) for text in texts]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://Example.ORG.", Address("example.org", "", "")),
        ("example.org/a/", Address("example.org", "/a", "")),
        ("http://me:pw@example.org:80/a?q#f", Address("example.org", "/a", "?q")),
        ("http://[2001:db8::1]:80/a", Address("[2001:db8::1]", "/a", "")),
        ("http://münchen.de/ä", Address("xn--mnchen-3ya.de", "/ä", "")),
        ("", Address("", "", "")),
        ("http://", Address("", "", "")),
        ("\t http://a.org \n", Address("a.org", "", "")),
        ("//a.org/x", Address("a.org", "/x", "")),
        ("a.org:x/y", Address("a.org", "x/y", "")),
    ],
)
def test_the_parts_of_a_url(url, expected):
    assert Address.from_url(url) == expected
    assert parts(parse(strings(url)), 0) == expected


def test_nulls_slices_and_small_strings():
    texts = pa.array(["x", "http://a.org/b", None, "http://ü.org/"])[1:]
    addresses = parse(texts)
    assert addresses.spans[1].tolist() == [-1] * 6
    assert parts(addresses, 0) == Address("a.org", "/b", "")
    assert parts(addresses, 2) == Address("xn--tda.org", "", "")
    assert len(parse(strings()).spans) == 0


def slow_domain(host, listed):
    """The longest listed name that a host is, or is below."""
    if host.startswith("[") or set(host) <= set("0123456789."):
        return host if host in listed else None
    labels = host.split(".")
    names = [".".join(labels[i:]) for i in range(len(labels))]
    return next((name for name in names if name in listed), None)


@given(st.lists(urls, min_size=1, max_size=5), st.lists(urls, max_size=5))
@settings(max_examples=60)
def test_domains_are_found_as_by_walking_up_the_labels(texts, listed):
    addresses = parse(strings(*texts))
    names = {Address.from_url(entry).host for entry in listed} - {""}
    spans = find_domains(addresses, np.ones(len(texts), bool), domain_hashes(listed or ["none.invalid"]))
    expected = [slow_domain(Address.from_url(text).host, names) for text in texts]
    expected = [name or None for name in expected]
    assert pieces(addresses, spans).to_pylist() == expected


def slow_page(address, listed):
    """The deepest listed one of an address, itself or a folder above it."""
    host = address.host.removeprefix("www.")
    path = address.path
    names = [host + path + address.query, host + path]
    names += [host + path[:at] for at in range(len(path) - 1, -1, -1) if path[at] == "/"]
    return next((name for name in names if name in listed), None)


@given(st.lists(urls, min_size=1, max_size=5), st.lists(urls, min_size=1, max_size=5))
@settings(max_examples=60)
def test_pages_are_found_as_by_walking_up_the_folders(texts, listed):
    addresses = parse(strings(*texts))
    entries = [Address.from_url(entry) for entry in listed]
    names = {entry.host.removeprefix("www.") + entry.path + entry.query for entry in entries if entry.host}
    spans = find_pages(addresses, np.ones(len(texts), bool), page_hashes(listed))
    own = [Address.from_url(text) for text in texts]
    expected = [slow_page(address, names) if address.host else None for address in own]
    assert pieces(addresses, spans).to_pylist() == expected


def test_only_selected_addresses_are_looked_up():
    addresses = parse(strings("http://a.org", "http://a.org"))
    selected = np.array([False, True])
    assert pieces(addresses, find_domains(addresses, selected, domain_hashes(["a.org"]))).to_pylist() == [None, "a.org"]
    assert pieces(addresses, find_pages(addresses, selected, page_hashes(["a.org"]))).to_pylist() == [None, "a.org"]


def test_a_name_is_no_part_of_a_label():
    addresses = parse(strings("http://notexample.org", "http://example.org.evil.com", "http://x.example.org"))
    spans = find_domains(addresses, np.ones(3, bool), domain_hashes(["example.org"]))
    assert pieces(addresses, spans).to_pylist() == [None, None, "example.org"]


def test_of_an_ip_address_no_part_is_listed():
    addresses = parse(strings("http://10.0.0.1/", "http://1.10.0.0.1/", "http://[::1]/"))
    spans = find_domains(addresses, np.ones(3, bool), domain_hashes(["0.0.1", "10.0.0.1", "[::1]"]))
    assert pieces(addresses, spans).to_pylist() == ["10.0.0.1", None, "[::1]"]


SITES = [
    "example.org", "a.b.example.org", "co.uk", "a.co.uk", "x.a.co.uk", "github.io", "me.github.io", "x.me.github.io",
    "ck", "www.ck", "x.ck", "y.x.ck", "kobe.jp", "c.kobe.jp", "d.c.kobe.jp", "city.kobe.jp", "localhost", "a.localhost",
    "xn--p1ai", "a.xn--p1ai", "s3.amazonaws.com", "b.s3.amazonaws.com",
]  # fmt: skip


@pytest.mark.parametrize("host", SITES)
def test_registered_domains_are_those_of_the_library(host):
    (site,) = sites(parse(strings(f"http://{host}/path"))).to_pylist()
    assert site == PublicSuffixList().privatesuffix(host)


@given(
    st.lists(
        st.sampled_from(["a", "b", "co", "uk", "com", "github", "io", "jp", "kobe", "city", "ck", "www"]), max_size=5
    )
)
@settings(max_examples=100)
def test_any_labels_have_the_site_of_the_library(labels):
    host = ".".join(labels)
    assert sites(parse(strings(f"http://{host}/"))).to_pylist() == [
        PublicSuffixList().privatesuffix(host) if host else None
    ]


@pytest.mark.parametrize("host", ["10.0.0.7", "[::1]", "", ".a.org", "a..org", "com"])
def test_there_is_no_site_of_numbers_empty_labels_and_suffixes(host):
    assert sites(parse(strings(f"http://{host}/"))).to_pylist() == [None]


def test_keys_of_sites_are_those_of_the_site_or_of_the_host():
    texts = ["http://a.example.org/1", "http://b.example.org/2", "http://10.0.0.7", "http://10.0.0.7/x", None, "/path"]
    first, second, number, same, null, path = site_keys(parse(strings(*texts))).tolist()
    assert first == second != number == same
    assert (null, path) == (0, 0)


def test_pieces_of_no_span_are_nulls():
    addresses = parse(strings("http://a.org", "http://b.org"))
    assert pieces(addresses, np.full((2, 2), -1)).to_pylist() == [None, None]
    assert pieces(addresses, np.empty((0, 2), np.int64)).to_pylist() == []
    some = pieces(addresses, np.array([[-1, -1], [5, 10]]))
    assert some.to_pylist() == [None, "b.org"] and some.null_count == 1


def test_top_level_domains_are_ascii_and_sorted():
    names = top_level_domains()
    assert {"org", "uk", "xn--p1ai"} <= set(names)
    assert all(name.isascii() and "." not in name for name in names) and list(names) == sorted(names)
