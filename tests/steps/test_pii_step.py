import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.redact import pii as module
from corpusmill.steps.redact.pii import Pii


def redacted(step: Pii, text: str | None) -> str | None:
    return step.transform(docs("before 8.8.8.8", text, "after a@example.org"))["text"].to_pylist()[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Write to jane.doe@mail.example.org, please.", "Write to <EMAIL>, please."),
        ("mailto:a+b@example.co.uk", "mailto:<EMAIL>"),
        ("no@domain and @handle stay", "no@domain and @handle stay"),
        ("from 8.8.8.8:53", "from <IP>:53"),
        ("2606:4700:4700::1111 too", "<IP> too"),
        ("IPv4 in IPv6: ::ffff:8.8.8.8", "IPv4 in IPv6: ::ffff:<IP>"),
        ("version 1.2.3.4.5 stays", "version 1.2.3.4.5 stays"),
        ("+49 30 901820 is not asked for", "+49 30 901820 is not asked for"),
        ("日本 a@example.org 日本", "日本 <EMAIL> 日本"),
        ("", ""),
        (None, None),
    ],
)
def test_mail_and_ip_addresses_are_replaced_and_nothing_else(before, after):
    assert redacted(Pii(), before) == after


@pytest.mark.parametrize(
    ("address", "goes"),
    [
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("172.32.0.1", True),
        ("192.168.0.1", False),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("169.254.1.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("192.0.2.1", True),  # for documentation: replaced like public ones
        ("198.51.100.7", True),
        ("203.0.113.9", True),
        ("2001:db8::1", True),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("2a00:1450:4001::200e", True),
    ],
)
def test_only_addresses_that_can_be_somebodys_go(address, goes):
    assert redacted(Pii(), f"at {address} now") == ("at <IP> now" if goes else f"at {address} now")
    assert redacted(Pii(public_only=False), f"at {address} now") == "at <IP> now"


def test_what_was_replaced_is_counted_for_each_kind_asked_for():
    found = Pii(kinds=("ip", "email")).transform(docs("a@b.org c@d.org 8.8.8.8 10.0.0.1", "", None))
    assert found.schema.names[-2:] == ["emails", "ips"]
    assert (found["emails"].to_pylist(), found["ips"].to_pylist()) == ([2, 0, 0], [1, 0, 0])


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("phone", "call +49 30 901820 or (212) 555-0123", "call <PHONE> or <PHONE>"),
        ("ssn", "SSN 219-09-9999", "SSN <SSN>"),
        ("card", "pay with 4111 1111 1111 1111, not 4111 1111 1111 1112", "pay with <CARD>, not 4111 1111 1111 1112"),
        ("iban", "to GB82 WEST 1234 5698 7654 32", "to <IBAN>"),
    ],
)
def test_other_kinds_are_replaced_when_asked_for(kind, before, after):
    assert redacted(Pii(kinds=(kind,)), before) == after
    assert redacted(Pii(), before) == before


def test_placeholders_are_a_choice():
    step = Pii(email_placeholder="email@example.com", ip_placeholder="")
    assert redacted(step, "jane@host.example at 8.8.8.8.") == "email@example.com at ."


@given(
    st.lists(
        st.sampled_from(["a@example.org", "8.8.8.8", " ", "x", ".", "<", "10.0.0.1", "日", "@", "::1"]), max_size=8
    )
)
@settings(max_examples=100)
def test_a_second_pass_finds_nothing(parts):
    step = Pii(kinds=("email", "ip", "phone", "ssn", "card", "iban"))
    once = step.transform(docs("".join(parts))).select(docs().schema.names)
    again = step.transform(once)
    assert again["text"] == once["text"]


@pytest.mark.parametrize(
    ("kinds", "words"), [((), "kinds is empty"), (("e-mail",), 'no kind "e-mail"; did you mean "email"')]
)
def test_kinds_that_do_not_exist_fail_when_the_step_is_made(kinds, words):
    with pytest.raises(RecipeError, match=words):
        Pii(kinds=kinds)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(module).failed == 0
