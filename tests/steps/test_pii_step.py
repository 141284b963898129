import doctest
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps import personal_data
from corpusmill.steps.redact import pii
from corpusmill.steps.redact.pii import RedactPii
from growth import assert_linear

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def a_key(monkeypatch):
    monkeypatch.setenv("PII_KEY", KEY)


def redacted(step: RedactPii, text: str | None) -> str | None:
    return step.transform(docs("before 8.8.8.8", text, "after a@example.org"))["text"].to_pylist()[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Write to jane.doe@mail.example.org, please.", "Write to <EMAIL>, please."),
        ("mailto:a+b@example.co.uk", "mailto:<EMAIL>"),
        ("no@domain and @handle are kept", "no@domain and @handle are kept"),
        ("from 8.8.8.8:53", "from <IP>:53"),
        ("2606:4700:4700::1111 too", "<IP> too"),
        ("IPv4 in IPv6: ::ffff:8.8.8.8", "IPv4 in IPv6: ::ffff:<IP>"),
        ("version 1.2.3.4.5 is kept", "version 1.2.3.4.5 is kept"),
        ("+49 30 901820 is not asked for", "+49 30 901820 is not asked for"),
        ("日本 a@example.org 日本", "日本 <EMAIL> 日本"),
        ("", ""),
        (None, None),
    ],
)
def test_mail_and_ip_addresses_are_replaced_and_nothing_else(before, after):
    assert redacted(RedactPii(), before) == after


@pytest.mark.parametrize(
    ("address", "public"),
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
def test_only_public_addresses_are_replaced(address, public):
    assert redacted(RedactPii(), f"at {address} now") == ("at <IP> now" if public else f"at {address} now")
    assert redacted(RedactPii(public_only=False), f"at {address} now") == "at <IP> now"


def test_what_was_replaced_is_counted_for_each_kind_asked_for():
    changed = RedactPii(kinds=("ip", "email")).transform(docs("a@b.org c@d.org 8.8.8.8 10.0.0.1", "", None))
    assert changed.schema.names[-3:] == ["emails", "ips", "found"]
    assert (changed["emails"].to_pylist(), changed["ips"].to_pylist()) == ([2, 0, 0], [1, 0, 0])
    assert changed["found"].to_pylist() == [3, 0, 0]


def test_spans_are_bytes_of_the_text_that_came_in():
    text = "日本 a@b.org, 8.8.8.8"
    (spans,) = RedactPii(spans=True).transform(docs(text))["spans"].to_pylist()
    assert [(s["kind"], text.encode()[s["start"] : s["end"]]) for s in spans] == [
        ("email", b"a@b.org"),
        ("ip", b"8.8.8.8"),
    ]
    assert RedactPii(spans=True).transform(docs(None, "", "none"))["spans"].to_pylist() == [[], [], []]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("phone", "call +49 30 901820 or (212) 555-0123", "call <PHONE> or <PHONE>"),
        ("ssn", "SSN 219-09-9999", "SSN <SSN>"),
        ("card", "pay with 4111 1111 1111 1111, not 4111 1111 1111 1112", "pay with <CARD>, not 4111 1111 1111 1112"),
        ("iban", "to GB82 WEST 1234 5698 7654 32", "to <IBAN>"),
        ("mac", "at 00:1A:2B:3C:4D:5E", "at <MAC>"),
        ("secret", f"key {'AKIA' + 'QYLPMN5HHHFPZAM2'}.", "key <SECRET>."),
        ("wallet", "to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "to <WALLET>"),
        ("credential", "password=wJalrXUtnFEMIK7MDENGb", "password=<CREDENTIAL>"),
        ("address", "lives at 12 Baker Street, London NW1 6XE.", "lives at <ADDRESS>."),
    ],
)
def test_other_kinds_are_replaced_when_asked_for(kind, before, after):
    assert redacted(RedactPii(kinds=(kind,)), before) == after
    assert redacted(RedactPii(), before) == before


def test_addresses_have_a_signal_with_their_plural():
    step = RedactPii(kinds=("address", "email"), actions=(("address", "drop"),))
    assert step.transform(docs("12 Main Street", "a@b.org"))["addresses"].to_pylist() == [1, 0]
    assert reasons(step, "12 Main Street, a@b.org", "a@b.org") == ["address", None]


def test_placeholders_are_a_choice():
    step = RedactPii(placeholders=(("email", "email@example.com"), ("ip", "")))
    assert redacted(step, "jane@host.example at 8.8.8.8.") == "email@example.com at ."


def test_each_kind_has_its_action():
    step = RedactPii(
        kinds=("email", "ip", "phone", "ssn"),
        action="tag",
        actions=(("ip", "placeholder"), ("phone", "leave"), ("ssn", "drop")),
    )
    text = "a@b.org 8.8.8.8 +49 30 901820"
    assert redacted(step, text) == "<EMAIL>a@b.org</EMAIL> <IP> +49 30 901820"
    assert redacted(step, "SSN 219-09-9999, a@b.org") == "SSN 219-09-9999, <EMAIL>a@b.org</EMAIL>"


def reasons(step: RedactPii, *texts: str | None) -> list[str | None]:
    out = step.transform(docs(*texts))
    signals = {name: out[name] for name in out.schema.names if name not in docs().schema.names}
    listed: list[str | None] = step.reasons(out, signals).to_pylist()
    return listed


def test_a_document_is_dropped_with_the_kinds_as_reasons():
    step = RedactPii(kinds=("email", "ssn", "card"), actions=(("ssn", "drop"), ("card", "drop")))
    both = "219-09-9999 4111 1111 1111 1111"
    assert reasons(step, "219-09-9999", "a@b.org", None, both) == ["ssn", None, None, "ssn,card"]
    assert reasons(RedactPii(action="drop"), "a@b.org", "10.0.0.1", "8.8.8.8") == ["email", None, "ip"]


def test_a_document_with_more_than_max_spans_of_all_kinds_is_dropped():
    step = RedactPii(max_spans=2)
    assert reasons(step, "a@b.org 8.8.8.8", "a@b.org 8.8.8.8 c@d.org", "") == [None, "max_spans", None]
    assert reasons(RedactPii(max_spans=0, action="drop"), "a@b.org", "none") == ["email,max_spans", None]
    assert reasons(RedactPii(), "a@b.org " * 50) == [None]


def test_a_value_has_one_pseudonym_in_every_document_and_batch():
    step = RedactPii(action="pseudonym", key="env:PII_KEY")
    one, two, other = step.transform(docs("jane@host.example", "x Jane@host.example y", "joe@host.example"))[
        "text"
    ].to_pylist()
    assert two == f"x {one} y" and other != one
    assert redacted(step, "jane@host.example") == one


def test_another_key_makes_other_pseudonyms_and_a_file_the_same_as_a_variable(monkeypatch, tmp_path):
    step = RedactPii(action="pseudonym", key="env:PII_KEY")
    first = redacted(step, "jane@host.example")
    (tmp_path / "key").write_text(f"{KEY}\n")
    assert redacted(RedactPii(action="pseudonym", key=str(tmp_path / "key")), "jane@host.example") == first
    monkeypatch.setenv("PII_KEY", KEY[::-1])
    assert redacted(step, "jane@host.example") != first
    assert first.endswith("@example.com") and "jane" not in first


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("env:NO_SUCH_KEY", "environment variable NO_SUCH_KEY is not set. Make a key: openssl rand"),
        ("env:SHORT_KEY", "env:SHORT_KEY has 5 bytes; .* takes 16 or more"),
        ("no/such/file", 'no asset "no/such/file"'),
    ],
)
def test_a_key_that_is_missing_or_short_is_reported(monkeypatch, key, words):
    monkeypatch.setenv("SHORT_KEY", "12345")
    with pytest.raises(AssetError, match=words) as raised:
        RedactPii(action="pseudonym", key=key).transform(docs("a@b.org"))
    assert "12345" not in str(raised.value)


def test_a_key_is_an_asset_of_the_step_and_nothing_else_is():
    assert RedactPii(action="pseudonym", key="env:PII_KEY").assets == ("env:PII_KEY",)
    assert RedactPii().assets == ()


ACTIONS = ("placeholder", "pseudonym", "tag", "leave")


@pytest.mark.parametrize("pair", list(combinations(ACTIONS, 2)), ids="-".join)
def test_what_becomes_of_one_kind_does_not_depend_on_the_other(pair):
    """Both are replaced at once, so places in the text must not shift."""
    first, second = pair
    key = "env:PII_KEY" if "pseudonym" in pair else None
    step = RedactPii(actions=(("email", first), ("ip", second)), key=key)

    def alone(value: str, action: Any) -> str | None:
        return redacted(RedactPii(action=action, key="env:PII_KEY" if action == "pseudonym" else None), value)

    parts = {"a@b.org": alone("a@b.org", first), "8.8.8.8": alone("8.8.8.8", second)}
    assert redacted(step, "é a@b.org, 8.8.8.8 – a@b.org") == "é {}, {} – {}".format(
        parts["a@b.org"], parts["8.8.8.8"], parts["a@b.org"]
    )


@given(
    st.lists(
        st.sampled_from(
            [
                "a@example.org",
                "8.8.8.8",
                " ",
                "x",
                ".",
                "<",
                "10.0.0.1",
                "日",
                "@",
                "::1",
                "12 Main St",
                "PO Box 7",
                ", ",
                "ftp://x:",
                "2004::",
                "from ",
                "(c) 1991, Ann Lane",
                "560000 ",
                "560010 560020",
            ]
        ),
        max_size=8,
    )
)
@example(["a@example.org", ".", "8.8.8.8"])
@example(["12 Main St", " ", "x", "PO Box 7"])
@example(["12 Main St", " ", "12 Main St", ", ", "PO Box 7"])
@settings(max_examples=100)
def test_a_second_pass_finds_nothing(parts):
    step = RedactPii(kinds=personal_data.NAMED)
    once = step.transform(docs("".join(parts))).select(docs().schema.names)
    again = step.transform(once)
    assert again["text"] == once["text"]


CHAINS = [  # of what is seen once the next one is out of the way
    *("GOCSPX-", "3Q~", "fe80::1%AKIA", "(212) 555-1234", "::18.8.8.8", "1 Main Street, Springfield, IL 62701,"),
    "é(212) 555-1234",
]


@pytest.mark.parametrize("part", CHAINS)
def test_a_chain_of_personal_data_takes_linear_time_and_a_second_pass_finds_nothing(part):
    step = RedactPii(kinds=personal_data.KNOWN)
    assert_linear(lambda text: redacted(step, text), lambda size: part * (size // len(part)), 1 << 12)
    once = redacted(step, f"the river {part * 300} and the sea")
    assert once == redacted(step, once)


@given(
    st.lists(
        st.sampled_from([*CHAINS, "8.8.8.8", "a@b.example", "::1", ".", " ", "é", "4111 1111 1111 1111"]), max_size=6
    )
)
@settings(max_examples=100)
def test_what_is_around_personal_data_is_no_part_of_it_but_in_a_long_chain(parts):
    texts = docs("".join(parts), "x".join(parts))["text"]
    with pytest.MonkeyPatch.context() as patch:
        spans = personal_data.find(texts, personal_data.KNOWN, False).spans.tolist()
        patch.setattr(personal_data, "CHAIN", 1000)
        assert spans == personal_data.find(texts, personal_data.KNOWN, False).spans.tolist()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kinds": ()}, "kinds is empty. It takes any of email, ip"),
        ({"kinds": ("e-mail",)}, 'there is no kind "e-mail"; did you mean "email"'),
        ({"actions": (("phone", "drop"),)}, 'actions has "phone", which is not in kinds. These are: email, ip'),
        ({"actions": (("email", "dropp"),)}, 'there is no action "dropp"; did you mean "drop"'),
        ({"placeholders": (("emails", "x"),)}, 'placeholders has "emails", .*; did you mean "email"'),
        ({"action": "pseudonym"}, "pseudonyms need a key: key: env:NAME"),
        ({"actions": (("ip", "pseudonym"),)}, "pseudonyms need a key"),
        ({"key": "env:PII_KEY"}, "there is a key, but no action is pseudonym"),
        ({"max_spans": -1}, "max_spans must be at least 0, got -1"),
    ],
)
def test_wrong_parameters_fail_when_the_step_is_made(parameters, words):
    with pytest.raises(RecipeError, match=f"redact/pii: {words}"):
        RedactPii(**parameters)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(pii).failed + doctest.testmod(personal_data).failed == 0
