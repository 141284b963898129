"""Which of the proposed numbers are telephone numbers."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.pii import Forms, pii_spans
from corpusmill.text.pii.national import LABELS, MAX_DIGITS, MIN_DIGITS
from corpusmill.text.pii.numbering import IBAN_CHARACTERS, IBAN_SIZES, PLAN_DIGITS, PLANS
from corpusmill.text.pii.phones import ANYWHERE, COUNTRIES, phone_at
from text_strategies import strings


def found(text, *regions, forms=True):
    raw = text.encode()
    spans = pii_spans(strings(text), ["phone"], Forms(national=forms, regions=[regions])).tolist()
    return [raw[a:b].decode() for _, _, a, b in spans]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Tel.: 030 901820", "030 901820"),
        ("Telefon (030) 90 18 20", "(030) 90 18 20"),
        ("call us at 0161 496 0000 today", "0161 496 0000"),
        ("Fax 040/428 63 0", "040/428 63 0"),
        ("tél. 01 42 68 53 00", "01 42 68 53 00"),
        ("电话：010-6275 1234", "010-6275 1234"),
        ("my number is 0161 496 0000", "0161 496 0000"),
        ("0161 496 0000 office", "0161 496 0000"),
        ("Telefon: 31 45 92", "31 45 92"),
        ("Tlf. 31-45-92, mobil", "31-45-92"),
        ("tel no. 31.45.92", "31.45.92"),
    ],
)
def test_numbers_with_a_label(text, number):
    assert found(text) == [number]
    assert found(text, forms=False) == []


@pytest.mark.parametrize(
    "text",
    [
        "the years 1990 1991 1992", "on 2024-01-15 at 12", "order 0301234567", "price 0.123456789", "ISBN 0 306 40615 2 x",
        "Tel. 000 000 000", "Tel. 123", "call 12 12 12 12", "version 1.234.567.890", "path/0301234567", "$030 901820",
        "changed the text\n\n2017-11-28 09:14  jane", "reach on 28.11.2017 09:14", "text 2017/11/28 9, 10", "call on 20171128 0914",
        "message 201711280914", "Tel. 2017-11-28 09", "call us 08.30-17.15", "Fax 28.11.17", "cell 31 45 92", "call 31 45 92",
        "text on 2017 11 28 09:14", "contact at 252.204-7012 (c)", "text is 52.212-4 (a)", "Telefon: 31 45-92",
    ],
)  # fmt: skip
def test_other_numbers(text):
    assert found(text) == []


def test_without_a_label_a_region_is_needed():
    assert found("at 030 901820 in") == []
    assert found("at 030 901820 in", "DE") == ["030 901820"]
    assert found("at (212) 736-5000 in", "US") == ["(212) 736-5000"]
    assert found("at 030 901820 in", "US") == []


def test_an_extension_belongs_to_the_number():
    assert found("phone 0161 496 0000 ext. 12") == ["0161 496 0000 ext. 12"]
    assert found("phone 0161 496 0000 x1234567") == ["0161 496 0000"]


def test_the_longest_run_of_groups_that_is_a_number_counts():
    text = "Tel 030 901820 1995"
    start = text.index("0")
    end = phone_at(text, start, len(text), ())
    assert text[start:end].startswith("030 901820")


@given(st.text("0123456789 -()./", max_size=20))
@settings(max_examples=60)
def test_what_is_found_has_as_many_digits_as_numbers_have(text):
    for number in found(f"Tel. {text}"):
        is_short = re.fullmatch(r"\d\d([ .-])\d\d\1\d\d", number)
        assert is_short or MIN_DIGITS <= sum(c.isdigit() for c in number) <= MAX_DIGITS + 5
        assert number.count("(") == number.count(")")


def test_tables_of_numbers():
    assert IBAN_SIZES["DE"] == 22 == IBAN_CHARACTERS[3, 4] and IBAN_CHARACTERS[0, 1] == 0
    assert PLAN_DIGITS[491].tolist() == [8, 15] and PLAN_DIGITS[100].tolist() == [11, 11]
    assert PLAN_DIGITS[999].tolist() == [0, 0] and "49:8-15" in PLANS
    assert len(set(COUNTRIES)) == len(COUNTRIES) > 200 and set(ANYWHERE) <= set(COUNTRIES)
    assert len(set(LABELS)) == len(LABELS)


PLAIN = [
    ("+49 30 901820", "+49 30 901820"), ("+1 (212) 736-5000", "+1 (212) 736-5000"), ("212-736-5000", "212-736-5000"),
    ("(212) 736-5000 x12", "(212) 736-5000 x12"), ("001 212 736 5000", "001 212 736 5000"), ("+44 (0)161 496 0000", "+44 (0)161 496 0000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "number"), PLAIN)
def test_plain_forms_need_no_label(text, number):
    assert found(f"at {text}, or", forms=False) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "+49 12",
        "+999 123456789",
        "112-736-5000",
        "212-736-50000",
        "x212-736-5000",
        "1.212-736-5000.1",
        "211-736-500",
        "911 736-5000",
        "+0 123456789",
    ],
)
def test_what_is_no_plain_form(text):
    assert found(text, forms=False) == []
