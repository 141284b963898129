"""Every format of keys: the scan proposes whatever its expression matches, wherever it is in a text."""

import re
import string

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpusmill.text.secrets import secret_spans
from corpusmill.text.secrets.find import EXPRESSIONS, SECRET, WALLET, span_of
from corpusmill.text.secrets.formats import FORMATS, Format
from growth import seconds
from text_strategies import strings

FORMATS_BY_NAME = {form.name: form for form in FORMATS}
before = st.sampled_from(["", "x ", "key: ", "\n", '"', "é", "a" * 60 + " ", "=", "(", "https://a.org/?t="])
after = st.sampled_from(["", " x", "\n", '"', "é", ")", ";"])


def examples(form: Format):
    """Texts that the format's expression matches; its groups and lookarounds are tested by the expression itself."""
    pattern = re.sub(r"\(\?P<\w+>", "(?:", form.expression)
    pattern = re.sub(r"\(\?![^()]*\)", "", pattern)
    return st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True, alphabet=string.printable[:95] + "\t")


def expected_spans(text: str, family: int) -> list[tuple[int, int]]:
    """All places tried from left to right, as if there were no scan."""
    data, at, spans = text.encode(), 0, []
    while at < len(data):
        match = EXPRESSIONS[family].match(data, at)
        inside = (
            at > 0 and re.match(rb"\w", data[at - 1 : at], re.ASCII) and re.match(rb"\w", data[at : at + 1], re.ASCII)
        )
        if match and not inside and (span := span_of(match, family)):
            spans.append(span)
            at = max(match.end(), at + 1)
        else:
            at += 1
    return spans


@pytest.mark.parametrize("name", FORMATS_BY_NAME)
def test_what_the_expression_matches_is_found(name):
    @given(examples(FORMATS_BY_NAME[name]), before, after)
    @settings(max_examples=6, suppress_health_check=list(HealthCheck))
    def check(secret, left, right):
        text = f"{left}{secret}{right}"
        spans = [(a, b) for _, family, a, b in secret_spans(strings(text), ("secret",)).tolist() if family == SECRET]
        varied = [
            (a, b)
            for a, b in expected_spans(text, SECRET)
            if len(set(text.encode()[a:b])) >= 12 and b"=" not in text.encode()[a:b].rstrip(b"=")
        ]
        for a, b in varied:
            assert any(c <= a and b <= d for c, d in spans) or any(c < b and a < d for c, d in spans), (text, a, b)

    check()


base58 = st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", min_size=25, max_size=34)
hexadecimal = st.text("0123456789abcdefABCDEF", min_size=40, max_size=40).map("0x{}".format)


@given(st.one_of(base58.map("1{}".format), base58.map("3{}".format), hexadecimal), before, after)
@settings(max_examples=60)
def test_wallets_are_found_as_by_trying_every_place(address, left, right):
    text = f"{left}{address}{right}"
    spans = [(a, b) for _, _, a, b in secret_spans(strings(text), ("wallet",)).tolist()]
    assert spans == expected_spans(text, WALLET)


KEY = "-----BEGIN {0}PRIVATE KEY{1}-----\n{2}\n-----END {0}PRIVATE KEY{1}-----"


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "])
@pytest.mark.parametrize("size", [64, 200, 4000])
def test_private_keys_are_found_whole(kind, size):
    block = " BLOCK" if kind == "PGP " else ""
    key = KEY.format(kind, block, "MIIEpAIBAAKCAQEA7bq"[:16] + "Ab1" * (size // 3))
    text = f"a key:\n{key}\nand more"
    ((_, _, a, b),) = secret_spans(strings(text), ("secret",)).tolist()
    assert text[a:b] == key


def test_a_short_or_public_key_is_none():
    assert secret_spans(strings(KEY.format("", "", "short")), ("secret",)).tolist() == []
    public = KEY.format("", "", "Ab1" * 40).replace("PRIVATE", "PUBLIC")
    assert secret_spans(strings(public), ("secret",)).tolist() == []


def test_a_key_that_is_cut_off_goes_as_far_as_its_lines():
    text = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq0\n" * 6 + "- no more"
    ((_, _, a, b),) = secret_spans(strings(text), ("secret",)).tolist()
    assert text[a:b].startswith("-----BEGIN") and text[b:].lstrip() == "- no more"


@given(st.text("abAB01=:._-/ \n'\"@", max_size=120))
@settings(max_examples=60)
def test_spans_are_in_order_within_the_text(text):
    spans = secret_spans(strings("x", text)).tolist()
    assert all(0 <= a < b <= len(text.encode()) for d, _, a, b in spans if d == 1)
    assert spans == sorted(spans, key=lambda span: (span[0], span[2]))


PARTS = {
    *(form.prefixes[0] + mark for form in FORMATS if form.prefixes for mark in "-./+=~" if mark in form.rest),
    *(form.prefixes[0] for form in FORMATS if form.prefixes),
    *("3Q~", "1:A", "a.atlasv1.", "123456789012345|", "password=", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n"),
    *("0x", "1", "bc1", "://a:b@", "curl -u ", "Authorization: ", "kind: Secret\n", "kind: Secret\ndata:\n a: ", '="'),
}


def test_beginnings_of_secrets_without_an_end_take_linear_time():
    """Each format's own beginning again and again, with what else may be in it between."""

    def slow(part: str) -> bool:
        ratios = []
        for _ in range(3):  # a busy machine may be slow once
            large = seconds(secret_spans, large_strings(part * (12_000 // len(part))))
            if large < 0.05:
                return False
            ratios.append(large / seconds(secret_spans, large_strings(part * (3_000 // len(part)))))
        return min(ratios) > 8

    secret_spans(large_strings("".join(sorted(PARTS))))  # compiles the expressions
    assert not [part for part in sorted(PARTS) if slow(part)]


def large_strings(text: str) -> pa.LargeStringArray:
    return pa.array([text], pa.large_string())


# The letters of a JSON Web Token and of what is none, in one run and in several.
jwt_parts = st.lists(
    st.sampled_from(["ey-", "ey", "eyJ", "a8Fk2Lq9Zx4Wc7", ".", "-", " ", "eyJrIjoi", "=", "JhbGciOiJIUzI1NiJ9"]),
    max_size=12,
)


@given(
    jwt_parts, st.sampled_from(["", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.a8Fk2Lq9Zx4Wc7Vb1Nm6Tr3Yp5Hd0"]), jwt_parts
)
@settings(max_examples=100)
def test_a_token_is_found_whatever_is_before_it_in_its_run(left, token, right):
    text = "".join([*left, token, *right])
    assert {(a, b) for _, _, a, b in secret_spans(strings(text), ("secret",)).tolist()} == set(
        expected_spans(text, SECRET)
    )


def test_a_secret_is_one_behind_other_beginnings():
    key = "sk-proj-" + "a8Fk2Lq9Zx4Wc7Vb1Nm6Tr3Yp5Hd0"
    text = f"{'sk-' * 40}. {key} {'sk-' * 40}"
    assert secret_spans(pa.array([text], pa.large_string()), ("secret",)).tolist() == [[0, SECRET, 122, 122 + len(key)]]
