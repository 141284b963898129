"""What tells a secret from what only has its form."""

import base64
import json
import random
import string

import pytest

from corpusmill.text.secrets import checks


def drawn(alphabet, size, times=300):
    draw = random.Random(3)
    return ["".join(draw.choice(alphabet) for _ in range(size)) for _ in range(times)]


def test_random_strings_look_so():
    alnum = string.ascii_letters + string.digits
    assert sum(map(checks.looks_random, drawn(alnum, 20))) > 0.93 * 300
    assert sum(map(checks.looks_random, drawn("0123456789abcdef", 32))) > 0.96 * 300
    assert sum(map(checks.has_digits, drawn(string.ascii_lowercase + string.digits, 14))) > 0.96 * 300


@pytest.mark.parametrize(
    "value",
    [
        "",
        "12345678901234567890",
        "onlyletters",
        "my_database_password",
        "CamelCaseIdentifier2",
        "2024-01-15-backup",
        "aaaa1111bbbb2222",
    ],
)
def test_what_people_write_does_not(value):
    assert not checks.looks_random(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ghp_xxxxxxxxxx", True), ("token*****", True), ("AKIAEXAMPLE", True), ("keyEXAMPLE==", True), ("aaaaaaaab", True),
        ("sk-abcdefgh12", True), ("ABCDEFGHIJ", True), ("k03xiyakayljbbu6acd", False), ("h0pk1ns~21s", False),
    ],
)  # fmt: skip
def test_placeholders(value, expected):
    assert checks.is_placeholder(value) is expected


def test_published_examples_are_placeholders():
    assert len(checks.published()) > 10
    assert all(len(line) == 64 for line in checks.published())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("h0pk1ns~21s", True), ("Tr0ub4dor", True), ("ab1", False), ("password1", False), ("${PASS}", False), ("$PASS1", False),
        ("{{ pass1 }}", False), ("<Pass1>", False), ("%PASS1%", False), ("my-password", False), ("letmein", False),
        ("abc$(x)Y1", False), ("[[Passw1]]", False), ("p@ssW1rd", True),
    ],
)  # fmt: skip
def test_passwords(value, expected):
    assert checks.is_password(value) is expected


def token(header):
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{head}.eyJzdWIiOiIxIn0.c2ln"


def test_tokens_have_a_header_with_an_algorithm():
    assert checks.is_token(token({"alg": "HS256"}))
    assert not checks.is_token(token({"typ": "JWT"}))
    assert not checks.is_token(token(["alg"]))
    assert not checks.is_token("eyJhbGciOi.x")
    assert checks.is_token("eyBroken_header_of_it.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig")


def test_tokens_in_base64_once_more():
    coded = base64.b64encode(token({"alg": "none"}).encode()).decode()
    assert checks.is_coded_token(coded) and checks.is_coded_token(coded[:-3])
    assert not checks.is_coded_token(base64.b64encode(b"no token at all, but long").decode())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"jane:h4pk1ns", True),
        (b":secret9", True),
        (b"user:password", False),
        (b"admin:changeme", False),
        (b"nocolon", False),
        (b"a:\x01", False),
        (b"admin:h4pk", True),
    ],
)
def test_basic_authorization(value, expected):
    assert checks.is_basic(base64.b64encode(value).decode()) is expected
    assert checks.is_basic(base64.b64encode(value).decode().rstrip("=")) is expected


def test_what_is_no_base64_is_no_authorization():
    assert not checks.is_basic("a b!") and not checks.is_basic("é") and not checks.is_basic("gICA")


WALLETS = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
]


@pytest.mark.parametrize("address", WALLETS)
def test_wallets_by_their_checksum(address):
    assert checks.is_wallet(address)
    alphabet = checks.BECH32 if address.startswith("bc1") else checks.BASE58
    first = 4 if address.startswith("bc1") else 1
    for at in range(first, len(address), 3):
        other = alphabet[(alphabet.index(address[at]) + 1) % len(alphabet)]
        assert not checks.is_wallet(address[:at] + other + address[at + 1 :])


def test_ethereum_addresses_need_different_digits():
    assert checks.is_wallet("0x" + "0123456789abcdef" * 2 + "01234567")
    assert not checks.is_wallet("0x" + "01234" * 8) and not checks.is_wallet("0x" + "0" * 40)
    assert not checks.is_wallet("1" * 26) and not checks.is_wallet("3" + "z" * 34)
