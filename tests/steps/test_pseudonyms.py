"""A pseudonym says nothing of the value, and everything that is the same value has the same."""

import doctest
import re
from ipaddress import ip_address, ip_network

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.steps.personal_data import KIND_OF, NAMED
from corpusmill.steps.redact import _pseudonyms
from corpusmill.steps.redact._pseudonyms import pseudonym
from corpusmill.text.pii import KINDS, pii_spans

KEY = b"k" * 64
VALUES = {
    "email": "jane@host.example",
    "ip": "8.8.8.8",
    "phone": "+49 30 901820",
    "ssn": "219-09-9999",
    "card": "4111 1111 1111 1111",
    "iban": "GB82 WEST 1234 5698 7654 32",
    "mac": "00:1A:2B:3C:4D:5E",
    "secret": "AKIAIOSFODNN7EXAMPLE",
    "wallet": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "credential": "wJalrXUtnFEMIK7MDENGb",
    "address": "12 Baker Street, London NW1 6XE",
    "person": "Jane Doe",
    "place": "Berlin",
}
FORMS = {
    "email": r"user-[a-p]{15}@example\.com",
    "ip": r"198\.1[89]\.\d+\.\d+",
    "phone": r"\+1-\d{3}-555-01\d\d",
    "ssn": r"000-\d\d-\d{4}",
    "card": r"9999 \d{4} \d{4} \d{4}",
    "iban": r"ZZ00 \d{4} \d{4} \d{4} \d{4} \d\d",
    "mac": "02(:[0-9a-f]{2}){5}",
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_pseudonym_has_the_form_of_its_kind_and_depends_on_key_and_value(kind):
    value = VALUES[kind]
    made = pseudonym(kind, value, KEY)
    assert re.fullmatch(FORMS.get(kind, f"{kind}-[a-p]{{15}}"), made), made
    assert made == pseudonym(kind, value, KEY)
    assert made != pseudonym(kind, value, b"K" * 64)
    other = "8.8.4.4" if kind == "ip" else value[:-1] + chr(ord(value[-1]) ^ 1)
    assert made != pseudonym(kind, other, KEY)


def test_every_kind_that_a_recipe_can_name_is_tried_here():
    assert {*NAMED, "person", "place"} == set(VALUES)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("email", "Jane@Host.example", "jane@host.example"),
        ("ip", "2001:0DB9::0001", "2001:db9::1"),
        ("phone", "+1 212 555 0143", "(212) 555-0143"),
        ("phone", "1-212-555-0143", "212.555.0143 ext. 7"),
        ("phone", "+44 (0)20 7946 0958", "+442079460958"),
        ("card", "4111-1111-1111-1111", "4111 1111 1111 1111"),
        ("iban", "gb82 west 1234 5698 7654 32", "GB82WEST12345698765432"),
        ("mac", "00-1a-2b-3c-4d-5e", "00:1A:2B:3C:4D:5E"),
        ("person", "jane  doe", "Jane\nDoe"),
        ("address", "12 Baker Street,\nLondon NW1 6XE", "12 BAKER STREET, London NW1 6XE"),
    ],
)
def test_however_a_value_is_written_it_is_the_same(kind, one, other):
    plain = [re.sub("[^0-9a-z]", "", pseudonym(kind, value, KEY).lower()).removeprefix("1") for value in (one, other)]
    assert plain[0] == plain[1]


def test_secrets_that_differ_in_case_are_two():
    assert pseudonym("secret", "abc", KEY) != pseudonym("secret", "ABC", KEY)


@given(st.ip_addresses())
@settings(max_examples=60)
def test_an_address_gets_one_of_a_reserved_range(address):
    substitute = ip_address(pseudonym("ip", str(address), KEY))
    assert substitute in ip_network("198.18.0.0/15" if address.version == 4 else "2001:db8::/32")


@pytest.mark.parametrize("kind", ["ssn", "card", "iban", "secret", "wallet", "credential", "address"])
@given(st.binary(min_size=16, max_size=64))
@settings(max_examples=30)
def test_the_pseudonym_of_a_number_or_secret_is_not_found_again(kind, key):
    text = f"password = {pseudonym(kind, VALUES[kind], key)}, or so"
    spans = pii_spans(pa.array([text], pa.large_string()))
    assert kind not in {KIND_OF[KINDS[number]] for number in spans[:, 1]}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(_pseudonyms).failed == 0
