"""Each kind of personal data is what its regular expression or checksum says, and nothing else is."""

import re
from ipaddress import IPv6Address
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_strategies import strings

from corpusmill.text.pii import IBAN_SIZES, KINDS, is_public, pii_spans

LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
AMERICAN = r"(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
BEFORE = r"(?<![\w+])(?<![0-9][.-])"
AFTER = r"(?!\w)(?![.-][0-9])"
SLOW = {
    "email": rf"\b{LOCAL}(?:\.{LOCAL})*@(?:{LABEL}\.)+{LABEL}",
    "ipv4": rf"(?<![\w+])(?<![0-9]\.){OCTET}(?:\.{OCTET}){{3}}(?!\w)(?!\.[0-9])",
    "phone": rf"{BEFORE}(?:(?>\+[1-9](?:[ .()-]{{0,2}}[0-9]){{7,14}}+)|(?:1[ .-]?)?{AMERICAN}){AFTER}",
    "ssn": rf"{BEFORE}(?!000|666|9)[0-9]{{3}}-(?!00)[0-9]{{2}}-(?!0000)[0-9]{{4}}{AFTER}",
}
PARTS = {
    "email": ["a", "b1", ".", "..", "@", "-", "_", "é", " ", "+", "c.d", "x@y.z", "日", "\n", "Q-9", "a@b"],
    "ipv4": [
        "1",
        "25",
        "255",
        "256",
        "0",
        "01",
        ".",
        "..",
        "1.2.3",
        "10.0.0.1",
        "a",
        "é",
        "-",
        " ",
        ":",
        "/",
        "+",
        "_",
    ],
    "phone": [
        "555",
        "234-5678",
        "(212)",
        "1",
        "+",
        "+1",
        "20",
        "7946",
        " ",
        ".",
        "-",
        "(",
        ")",
        "a",
        "é",
        "\n",
        "0199",
    ],
    "ssn": ["123", "-", "45", "6789", "000", "666", "900", "00", "0000", " ", "a", ".", "+", "123-45-6789", "é"],
}


def found(text, *kinds):
    raw = text.encode()
    return [(KINDS[kind], raw[a:b].decode()) for _, kind, a, b in pii_spans(strings(text), kinds or KINDS).tolist()]


@pytest.mark.parametrize("kind", SLOW)
@given(data=st.data())
@settings(max_examples=250)
def test_a_kind_is_its_regular_expression(kind, data):
    text = "".join(data.draw(st.lists(st.sampled_from(PARTS[kind]), max_size=25)))
    assert found(text, kind) == [(kind, match.group()) for match in re.finditer(SLOW[kind], text)], text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("write to Jo.Doe+x@mail.example.co.uk.", [("email", "Jo.Doe+x@mail.example.co.uk")]),
        ("not a@b, nor @b.c, nor a@-b.c", []),
        ("555-234-5678@x.org", [("email", "555-234-5678@x.org")]),
        ("1.2.3.4@x.org and 8.8.8.8", [("email", "1.2.3.4@x.org"), ("ipv4", "8.8.8.8")]),
        ("at 8.8.8.8:53, 192.168.0.1.", [("ipv4", "8.8.8.8"), ("ipv4", "192.168.0.1")]),
        ("1.2.3.4.5 1.3.6.1.4.1.311 v1.2.3.4 1.2.3.4rc1 256.1.1.1 01.2.3.4 1.2.3", []),
        ("12:30:45 10:00 00:1a:2b:3c:4d:5e a::b std::string x[1::2] ::1 dead:beef", []),
        ("2001:db8::1, [fe80::1%eth0]", [("ipv6", "2001:db8::1"), ("ipv6", "fe80::1")]),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334.", [("ipv6", "2001:0db8:85a3:0000:0000:8a2e:0370:7334")]),
        ("2001:db8::192.0.2.33: yes", [("ipv6", "2001:db8::192.0.2.33")]),
        ("1:2:3:4:5:6:7:8:9 2001:db8::1::2 2001:db8::12345 g2001:db8::1", []),
        ("call (555) 234-5678 or 1-212-555-0199", [("phone", "(555) 234-5678"), ("phone", "1-212-555-0199")]),
        ("(212-555-0199), +44 (0)20 7946 0958", [("phone", "212-555-0199"), ("phone", "+44 (0)20 7946 0958")]),
        ("2024-11-21 123-456 1234567890", []),
        ("SSN 123-45-6789", [("ssn", "123-45-6789")]),
        ("4111 1111 1111 1111", [("card", "4111 1111 1111 1111")]),
        ("3782-822463-10005 6011111111111117", [("card", "3782-822463-10005"), ("card", "6011111111111117")]),
        ("4111 1111 1111 1111 2025", [("card", "4111 1111 1111 1111")]),
        ("4111 1111 1111 1112, 4111-1111 1111-1111, 1234567812345670, 41111111111111110", []),
        ("GB82 WEST 1234 5698 7654 32.", [("iban", "GB82 WEST 1234 5698 7654 32")]),
        ("DE89370400440532013000", [("iban", "DE89370400440532013000")]),
        ("GB82 WEST 1234 5698 7654 33 XDE89370400440532013000 DE8937040044053201300", []),
    ],
)
def test_examples(text, spans):
    assert found(text) == spans


def luhn(digits):
    total = sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return total % 10 == 0


@given(st.text("0123456789", min_size=15, max_size=15))
@settings(max_examples=60)
def test_one_of_ten_last_digits_makes_a_card(digits):
    numbers = [f"4{digits[1:]}{last}" for last in range(10)]
    assert [bool(found(number, "card")) for number in numbers] == [luhn(number) for number in numbers]


@given(st.sampled_from(sorted(IBAN_SIZES)), st.integers(0, 10**28), st.booleans())
@settings(max_examples=80)
def test_an_account_number_has_its_country_s_length_and_check_digits(country, account, spaced):
    rest = str(account).zfill(30)[: IBAN_SIZES[country] - 4]
    as_number = int("".join(str(int(c, 36)) for c in f"{rest}{country}00"))
    whole = f"{country}{98 - as_number % 97:02}{rest}"
    text = " ".join(whole[i : i + 4] for i in range(0, len(whole), 4)) if spaced else whole
    assert found(f"to {text}, please", "iban") == [("iban", text)]
    assert not found(f"to {text}1, please", "iban")
    assert not found(text[:2] + f"{(int(text[2:4]) + 1) % 97:02}" + text[4:], "iban")


@given(st.integers(2**125, 2**126 - 1), st.booleans())
@settings(max_examples=60)
def test_every_global_ipv6_address_is_found(number, exploded):
    address = IPv6Address(number)
    text = address.exploded if exploded else str(address)
    assert found(f"from {text}, hello", "ipv6") == [("ipv6", text)]


def test_kinds_can_be_chosen_and_documents_are_numbered():
    texts = strings("a@b.org", None, "8.8.8.8 a@b.org")
    assert pii_spans(texts[1:], ["email"]).tolist() == [[1, 0, 8, 15]]
    assert pii_spans(texts, []).tolist() == []
    with pytest.raises(ValueError, match='"mail"; there are email, ipv4'):
        pii_spans(texts, ["mail"])


def test_many_spans_get_the_room_they_need():
    assert len(pii_spans(strings("a@b.cd " * 5000, "1.1.1.1 " * 3000))) == 8000


@settings(max_examples=60)
@given(st.lists(st.sampled_from([p for parts in PARTS.values() for p in parts]), max_size=40).map("".join))
@example("1.2.3.4@b.c")
def test_spans_come_in_order_without_overlap(text):
    spans = pii_spans(strings(text, text))
    for (d, _, _, end), (following, _, start, _) in pairwise(spans):
        assert d < following or end <= start


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *((a, True) for a in ("8.8.8.8", "172.32.0.1", "2a00:1450::1", "::ffff:8.8.8.8")),
        *((a, False) for a in ("10.1.2.3", "172.16.0.1", "192.168.1.1", "127.0.0.1", "224.0.0.1", "203.0.113.9")),
        *((a, False) for a in ("fe80::1", "2001:db8::1", "::1", "fd00::1", "::ffff:10.0.0.1", "abcd::1")),
    ],
)
def test_an_address_that_is_nobody_s_is_not_public(address, public):
    assert is_public(address) == public
