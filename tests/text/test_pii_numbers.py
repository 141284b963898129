"""Numbers and addresses of machines, against definitions written out."""

import ipaddress
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.pii import IBAN_SIZES, KINDS, pii_spans
from text_strategies import strings


def found(kind, text):
    raw = text.encode()
    return [raw[a:b].decode() for _, _, a, b in pii_spans(strings(text), [kind]).tolist()]


def luhn_digit(body):
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(body)))
    return str(-total % 10)


def grouped(number, size, joiner):
    return joiner.join(number[i : i + size] for i in range(0, len(number), size))


PREFIXES = {
    "4": 16,
    "51": 16,
    "55": 16,
    "2221": 16,
    "2720": 16,
    "34": 15,
    "37": 15,
    "36": 14,
    "3000": 14,
    "3528": 16,
    "6011": 16,
    "62": 17,
    "65": 16,
    "5018": 12,
    "6304": 19,
    "1": 15,
    "9792": 16,
}


@given(
    st.sampled_from(sorted(PREFIXES)), st.text("0123456789", min_size=19, max_size=19), st.sampled_from(["", " ", "-"])
)
@settings(max_examples=100)
def test_cards_of_a_network_that_pass_the_check(prefix, digits, joiner):
    body = (prefix + digits)[: PREFIXES[prefix] - 1]
    number = body + luhn_digit(body)
    written = grouped(number, 4, joiner) if joiner and len(number) % 4 != 1 and len(number) % 4 != 2 else number
    assert found("card", f"card {written}, ok") == [written]
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert found("card", f"card {wrong}, ok") == []


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "x4111111111111111",
        "4111111111111111x",
        "+4111111111111111",
        "1.4111111111111111",
        "4111-1111 1111-1111",
        "41 11 11 11 11 11 11 11",
        "0000000000000000",
        "4111111111111111.5",
    ],
)
def test_what_is_no_card(text):
    assert found("card", text) == []


def iban_of(country, account):
    number = "".join(str(int(c, 36)) for c in account + country + "00")
    return f"{country}{98 - int(number) % 97:02d}{account}"


@given(
    st.sampled_from(sorted(IBAN_SIZES)),
    st.text("0123456789", min_size=30, max_size=30),
    st.sampled_from(["", " ", "-"]),
)
@settings(max_examples=100)
def test_account_numbers_of_every_country(country, digits, joiner):
    value = iban_of(country, digits[: IBAN_SIZES[country] - 4])
    written = grouped(value, 4, joiner) if joiner else value
    assert found("iban", f"to {written}.") == [written]
    assert found("iban", f"to {written.lower()}.") == [written.lower()]
    check = (int(value[2:4]) + 1) % 97 + 2
    wrong = f"{country}{check % 100:02d}{value[4:]}"
    assert found("iban", wrong) == ([wrong] if wrong == value else [])


def test_account_numbers_with_letters_and_neighbours():
    assert found("iban", "GB82 WEST 1234 5698 7654 32") == ["GB82 WEST 1234 5698 7654 32"]
    assert found("iban", "xGB82WEST12345698765432") == found("iban", "GB82WEST12345698765432x") == []
    assert found("iban", "GB82 WEST 1234-5698 7654 32") == []


@given(st.integers(1, 999), st.integers(0, 99), st.integers(0, 9999), st.sampled_from("- ."))
@settings(max_examples=100)
def test_social_security_numbers(area, group, serial, joiner):
    text = f"{area:03d}{joiner}{group:02d}{joiner}{serial:04d}"
    valid = area != 666 and area < 900 and group and serial
    assert found("ssn", f"no {text}, x") == ([text] if valid else [])


@pytest.mark.parametrize(
    "text",
    ["123-45 6789", "123.45.6789.1", "123 45 6789 1", "1123-45-6789", "123-45-67890", "123456789", "+123-45-6789"],
)
def test_what_is_no_social_security_number(text):
    assert found("ssn", text) == []


@given(st.lists(st.integers(0, 300), min_size=3, max_size=5))
@settings(max_examples=100)
def test_ipv4_is_four_numbers_of_a_byte(numbers):
    text = ".".join(map(str, numbers))
    is_address = len(numbers) == 4 and max(numbers) < 256
    (*_,) = numbers
    assert found("ipv4", f"host: {text} x") == ([text] if is_address else [])


@pytest.mark.parametrize(
    "text",
    [
        "version 10.20.30.40",
        "v10.20.30.40",
        "3.3.3.1",
        "01.2.3.4",
        "1.2.3.4.5",
        "300.1.1.1",
        "a10.20.30.40",
        "release 10.200.30.40",
    ],
)
def test_versions_are_no_addresses(text):
    assert found("ipv4", text) == []


@pytest.mark.parametrize("text", ["8.8.8.8", "10.0.0.1", "host 1.2.3.4", "192.168.100.200", "addr=4.15.1.10"])
def test_short_addresses_that_are_some(text):
    assert len(found("ipv4", text)) == 1


groups = st.text("0123456789abcdefABCDEF", min_size=1, max_size=4)


@given(st.lists(groups, min_size=1, max_size=8), st.integers(0, 8), st.booleans())
@settings(max_examples=150)
def test_ipv6_is_what_the_library_takes_with_a_full_first_group(parts, at, double):
    parts = ["2001", *parts[:7]]
    text = ":".join(parts[: at + 1]) + ("::" if double else ":") + ":".join(parts[at + 1 :])
    text = text.rstrip(":") if not double else text
    try:
        valid = ipaddress.ip_address(text).version == 6
    except ValueError:
        valid = False
    hits = found("ipv6", f"at {text} x")
    assert (hits == [text]) if valid else text not in hits


pairs = st.lists(st.text("0123456789abcdefABCDEF", min_size=2, max_size=2), min_size=6, max_size=6)


@given(pairs, st.sampled_from(":-"))
@settings(max_examples=80)
def test_addresses_of_network_cards(numbers, joiner):
    text = joiner.join(numbers)
    letters = any(c.isalpha() for c in text)
    expected = len(set(map(str, numbers))) > 1 and (letters or joiner == ":")
    if len({number.lower() for number in numbers}) > 1:
        assert found("mac", f"at {text}.") == ([text] if expected else [])
    assert found("mac", f"at {text}{joiner}12") == [] == found("mac", f"x{text}")


@given(st.text("0123456789abcdef", min_size=12, max_size=12))
@settings(max_examples=60)
def test_addresses_of_network_cards_in_three_groups(digits):
    text = f"{digits[:4]}.{digits[4:8]}.{digits[8:]}"
    letters = sum(c.isalpha() for c in digits)
    assert found("mac", f"at {text}, x") == ([text] if 0 < letters < 12 else [])


LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
MAIL = re.compile(rf"\b{LOCAL}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")


@given(st.text("ab1.@-+_ x", max_size=24))
@settings(max_examples=200)
def test_plain_mail_addresses_are_those_of_the_expression(text):
    expected = []
    for match in MAIL.finditer(text):
        top = match[0].rpartition(".")[2]
        if len(top) > 1 and any(c.isalpha() for c in top):
            expected.append(match[0])
    assert found("email", text) == expected


def test_kinds_that_there_are_not():
    with pytest.raises(ValueError, match='"name" is not a kind of personal data; there are email, ipv4'):
        pii_spans(strings("x"), ["name"])
    assert len(set(KINDS)) == len(KINDS)


@given(st.lists(st.text("ab1.@-+: 0", max_size=20), max_size=4))
@settings(max_examples=60)
def test_documents_do_not_depend_on_their_neighbours(texts):
    together = pii_spans(strings("1", *texts, None)[1:]).tolist()
    alone = [[d, *span[1:]] for d, text in enumerate(texts) for span in pii_spans(strings(text)).tolist()]
    assert together == alone
