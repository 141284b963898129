"""Secrets are proposed by a kernel and confirmed by expressions; searching the whole text with these finds the same."""

import base64
import doctest
import hashlib
import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_strategies import strings

from corpusmill.text import secrets as module
from corpusmill.text.secrets import EXPRESSIONS, FAMILIES, FORMATS, SECRET, WALLET, is_wallet, secret_spans, span_of

ALNUM = string.ascii_letters + string.digits


def drawn(alphabet: str, size: int, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=size))


def made_jwt() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890"}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*coded, drawn(ALNUM, 43)])


def made_key(label: str = "RSA PRIVATE KEY", lines: int = 4) -> str:
    body = "\n".join(drawn(ALNUM + "+/", 64, seed) for seed in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


UPPER = string.ascii_uppercase + "234567"
SECRETS = {  # format -> text before, the secret
    "aws_access_key": ("", "AKIA" + drawn(UPPER, 16)),
    "aws_secret_key": ('aws_secret_access_key = "', drawn(ALNUM + "/+", 40)),
    "google_api_key": ("key=", "AIza" + drawn(ALNUM, 35)),
    "google_client_secret": ("", "GOCSPX-" + drawn(ALNUM, 28)),
    "google_token": ("", "ya29." + drawn(ALNUM, 60)),
    "azure_storage_key": ("AccountName=a;AccountKey=", drawn(ALNUM + "+/", 86) + "=="),
    "azure_shared_key": ("SharedAccessKey=", drawn(ALNUM + "+/", 43) + "="),
    "github_token": ("token ", "ghp_" + drawn(ALNUM, 36)),
    "github_fine_token": ("", f"github_pat_{drawn(ALNUM, 22)}_{drawn(ALNUM, 59)}"),
    "gitlab_token": ("", "glpat-" + drawn(ALNUM, 20)),
    "slack_token": ("", f"xoxb-{drawn('123', 12)}-{drawn(ALNUM, 24)}"),
    "slack_webhook": ("https://hooks.slack.com/services/TABCDEFGH/B12345678/", drawn(ALNUM, 24)),
    "stripe_key": ("", "sk_live_" + drawn(ALNUM, 24)),
    "stripe_webhook": ("", "whsec_" + drawn(ALNUM, 32)),
    "ai_key": ("OPENAI=", "sk-proj-" + drawn(ALNUM, 48)),
    "huggingface_token": ("", "hf_" + drawn(ALNUM, 34)),
    "npm_token": ("//registry/:_authToken=", "npm_" + drawn(ALNUM, 36)),
    "pypi_token": ("", "pypi-AgE" + drawn(ALNUM, 80)),
    "sendgrid_key": ("", f"SG.{drawn(ALNUM, 22)}.{drawn(ALNUM, 43)}"),
    "digitalocean_token": ("", "dop_v1_" + drawn("0123456789abcdef", 64)),
    "shopify_token": ("", "shpat_" + drawn("0123456789abcdef", 32)),
    "twilio_key": ("", "SK" + drawn("0123456789abcdef", 32)),
    "jwt": ("Bearer ", made_jwt()),
    "private_key": ("", made_key()),
}
BITCOIN = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"  # of the first block
SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"  # of BIP 173
TAPROOT = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"  # of BIP 350
ETHEREUM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"  # of EIP-55


def secrets_of(text, *families):
    raw = text.encode()
    return [
        (FAMILIES[family], raw[a:b].decode())
        for _, family, a, b in secret_spans(strings(text), families or FAMILIES).tolist()
    ]


def slow(text, family):
    """Every match in the whole text, from left to right; where one does not hold up, the search goes on after it."""
    raw, at = text.encode(), 0
    while at <= len(raw):
        match = EXPRESSIONS[family].match(raw, at)
        before = raw[at - 1 : at].decode("latin1") if at else ""
        touched = before.isascii() and (before.isalnum() or before == "_") if before else False
        if family == FAMILIES.index("credential"):
            touched |= before == "-"
        if touched and not raw.startswith(b"-----BEGIN", at):
            match = None
        span = span_of(match, family) if match else None
        if span:
            yield raw[span[0] : span[1]].decode()
        at = match.end() if span else at + 1


@pytest.mark.parametrize("name", SECRETS)
def test_each_format_is_found_and_nothing_around_it(name):
    before, secret = SECRETS[name]
    assert secrets_of(f"{before}{secret}", "secret") == [("secret", secret)]
    assert secrets_of(f"say {before}{secret}, please", "secret") == [("secret", secret)]
    assert secrets_of(f"日本\n{before}{secret}\n", "secret") == [("secret", secret)]


def test_every_format_has_a_sample():
    assert set(SECRETS) == {form.name for form in FORMATS} | {"private_key"}


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + drawn(UPPER, 15),
        "xAKIA" + drawn(UPPER, 16),
        "AKIA" + drawn(UPPER, 16) + "x",
        "sk-fading-circle-animation-wrapper",
        "sk-learn-contrib-model-selection-tools",
        "eyJhbGciOiJIUzI1NiJ",
        "eyJhbG" + drawn(ALNUM, 30) + ".payload",  # no JSON
        "aws_secret_access_key = " + drawn(ALNUM, 41),
        "https://hooks.slack.com/services/T000/B000/x",
        "-----BEGIN PUBLIC KEY-----\n" + drawn(ALNUM, 64) + "\n-----END PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "--------------------------------",
        hashlib.sha256(b"").hexdigest(),
    ],
)
def test_lookalikes_are_not_secrets(text):
    assert secrets_of(text, "secret") == []


def test_a_private_key_ends_where_it_says_or_with_its_lines():
    whole = made_key("OPENSSH PRIVATE KEY", 3)
    assert secrets_of(f"a\n{whole}\nb -----", "secret") == [("secret", whole)]
    escaped = made_key("PRIVATE KEY").replace("\n", "\\n")
    assert secrets_of(f'"key": "{escaped}\\n"', "secret") == [("secret", escaped)]
    cut = whole[: whole.index("\n-----END")]
    assert secrets_of(f"{cut}\nThe rest is prose, and stays.", "secret") == [("secret", cut + "\n")]


@pytest.mark.parametrize("address", [BITCOIN, SEGWIT, TAPROOT, ETHEREUM, "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"])
def test_a_wallet_has_its_checksum(address):
    assert secrets_of(f"to {address}.", "wallet") == [("wallet", address)]
    assert secrets_of(f"to {address}a.", "wallet") == []
    if not address.startswith("0x"):
        assert not is_wallet(address[:-1] + ("q" if address[-1] != "q" else "p"))


@pytest.mark.parametrize("text", ["0x" + "0" * 40, "0x" + "a" * 39, "1" * 30, "bc1" + "q" * 39])
def test_no_wallet_is_made_of_zeros(text):
    assert secrets_of(text, "wallet") == []


RANDOM = drawn(ALNUM, 20, 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"password={RANDOM}", RANDOM),
        (f'"api_key": "{RANDOM}",', RANDOM),
        (f"DB_PASSWD := '{RANDOM}=='", RANDOM + "=="),
        (f"secret => {RANDOM}", RANDOM),
        (f"the key is {RANDOM}", None),
        (f"colour: {RANDOM}", None),
        ("password: correct-horse-battery-staple", None),
        ("token = Double2ReferenceFunctionFactory", None),
        ("token = my_database_password_2024", None),
        (f"password: {RANDOM[:15]}", None),
        ("x" * 40 + f"token={RANDOM}", None),
    ],
)
def test_a_credential_is_a_random_value_with_a_name_that_says_so(text, value):
    assert secrets_of(text, "credential") == ([("credential", value)] if value else [])


PARTS = [
    *(text for sample in SECRETS.values() for text in (sample[1], "".join(sample))),
    *(
        "AccountKey=",
        "SG.",
        "eyJ",
        "sk-",
        "AKIA",
        "-----BEGIN ",
        "-----",
        "-",
        "--",
        "PRIVATE KEY",
        "password",
        "api_key",
        "auth-",
    ),
    *(" ", ": ", "=", ' = "', "'", ":=", "\n", ".", "/", "_", "+", "x", "é", "日", "1", RANDOM, RANDOM[:9]),
    *(BITCOIN, SEGWIT, ETHEREUM, "0x", "bc1", "3", "word", "a-long-word-with-hyphens"),
]


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=FAMILIES)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=9), shift=st.integers(0, 64))
@settings(max_examples=250)
def test_nothing_is_missed_that_the_expressions_match(family, parts, shift):
    text = " " * shift + "".join(parts)
    assert [secret for _, secret in secrets_of(text, FAMILIES[family])] == list(slow(text, family)), text


def test_a_secret_is_not_a_credential_too_nor_a_wallet():
    key = SECRETS["github_token"][1]
    assert secrets_of(f"token = {key} password = {RANDOM}") == [("secret", key), ("credential", RANDOM)]
    assert secrets_of(f"secret = {BITCOIN}") == [("wallet", BITCOIN)]


def test_documents_are_numbered_and_places_counted_from_their_beginning():
    key = SECRETS["aws_access_key"][1]
    texts = strings("nothing", None, f"a {key}", f"{key}{'-' * 40}{key}")
    assert secret_spans(texts).tolist() == [[2, SECRET, 2, 22], [3, SECRET, 0, 20], [3, SECRET, 60, 80]]
    assert secret_spans(texts[2:], ("wallet",)).tolist() == []
    assert secret_spans(strings(f"{BITCOIN} " * 3000)).tolist()[-1] == [0, WALLET, 2999 * 35, 2999 * 35 + 34]


def test_a_secret_at_the_end_of_a_document_does_not_run_into_the_next():
    key = SECRETS["aws_access_key"][1]
    assert secret_spans(strings(key[:12], key[12:])).tolist() == []
    assert len(secret_spans(strings("AccountKey=", SECRETS["azure_storage_key"][1]))) == 0


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(module).failed == 0
