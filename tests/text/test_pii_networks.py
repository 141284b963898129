"""IP addresses with the length of a prefix, a zone, and IPv4 at the end of IPv6."""

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.pii import IPV4, IPV6, KINDS, Forms, pii_spans
from corpusmill.text.pii.networks import address_of
from text_strategies import strings

FORMS = Forms(networks=True, loopback=True)


def found(*texts, forms=FORMS):
    raw = [text.encode() for text in texts]
    spans = pii_spans(strings(*texts), ("ipv4", "ipv6"), forms).tolist()
    return [(KINDS[kind], raw[d][a:b].decode()) for d, kind, a, b in spans]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("host 10.20.30.0/24 up", "ipv4", "10.20.30.0/24"),
        ("host 10.20.30.0/33 up", "ipv4", "10.20.30.0"),
        ("http://10.20.30.40/24", "ipv4", "10.20.30.40"),
        ("host 10.20.30.40/24/x", "ipv4", "10.20.30.40"),
        ("net 2001:db8::/32.", "ipv6", "2001:db8::/32"),
        ("net 2001:db8::1/129", "ipv6", "2001:db8::1"),
        ("fe80::1%eth0 is", "ipv6", "fe80::1%eth0"),
        ("fe80::1%eth0/64 is", "ipv6", "fe80::1%eth0/64"),
        ("fe80::1%25 is", "ipv6", "fe80::1"),
        ("at 64:ff9b::192.0.2.33 now", "ipv6", "64:ff9b::192.0.2.33"),
        ("[2001:db8::1]/x", "ipv6", "2001:db8::1"),
    ],
)
def test_what_belongs_to_an_address(text, kind, value):
    assert found(text) == [(kind, value)]


@pytest.mark.parametrize("word", ["from ", "route ", "via ", "prefix: ", "[", '"', "gateway=", "", "see "])
@pytest.mark.parametrize("value", ["2004::", "2004::/16", "2004::7", "2004::1999", "fdab::", "200a::"])
def test_two_groups_are_an_address_where_they_can_be_no_year(word, value):
    maybe_year = value in ("2004::", "2004::1999")
    assert bool(found(f"the {word}{value}, then")) == (word not in ("", "see ") or not maybe_year)


@pytest.mark.parametrize(
    "text",
    [
        "3.1: May 7 2004::",
        "1.9 (7 May, 2004::2)",
        "in 1987:: and 1994::2",
        "2001-2004::",
        "beef::, face::add(1), feed:: [dead::beef]",
        "a year 2004::\nlater",
    ],
)
def test_years_and_names_before_colons_are_no_addresses(text):
    assert found(text) == []


def test_without_the_form_addresses_stay_short():
    assert found("host 10.20.30.0/24", forms=Forms()) == [("ipv4", "10.20.30.0")]


def test_documents_and_neighbours_are_kept_apart():
    assert found("10.20.30.0/8", "/24", "10.20.30.40") == [("ipv4", "10.20.30.0/8"), ("ipv4", "10.20.30.40")]
    assert found("10.20.30.40,10.20.30.41/16") == [("ipv4", "10.20.30.40"), ("ipv4", "10.20.30.41/16")]


@pytest.mark.parametrize(
    ("value", "expected"), [("10.0.0.0/8", "10.0.0.0"), ("fe80::1%eth0/64", "fe80::1"), ("::1", "::1")]
)
def test_the_address_alone(value, expected):
    assert address_of(value) == expected


@given(st.integers(11 << 24, 223 << 24), st.integers(0, 40))
@settings(max_examples=60)
def test_any_network_of_ipv4_is_one_as_the_library_reads_it(number, prefix):
    address = str(ipaddress.IPv4Address(number))
    ((kind, value),) = found(f"the host {address}/{prefix} is")
    assert kind == "ipv4" and value == (f"{address}/{prefix}" if prefix <= 32 else address)
    ipaddress.ip_interface(value)


def test_numbers_of_kinds_are_those_of_the_names():
    assert (KINDS[IPV4], KINDS[IPV6]) == ("ipv4", "ipv6")
