"""Credentials by the name before a value, and secrets by what is around them."""

import base64

import numpy as np
import pytest

from corpusmill.text.secrets import FAMILIES, merged, secret_spans
from corpusmill.text.secrets.formats import FORMATS, expression, is_secret
from corpusmill.text.secrets.named import VENDORS, match_at, name_before
from text_strategies import strings

VALUE = "k8Jd72hQpL0xZm4Rv9Tb"
KEY = base64.b64encode(b"h4pk1nsMill77river").decode()


def found(*texts, families=FAMILIES):
    raw = [text.encode() for text in texts]
    return [raw[d][a:b].decode() for d, _, a, b in secret_spans(strings(*texts), families).tolist()]


@pytest.mark.parametrize(
    "text",
    [
        "api_key = {}", "apiKey: {}", 'API-KEY = "{}"', "password='{}'", "client_secret := {}", "TOKEN={}", "token => {}",
        'set("auth_token", "{}")', "<password>{}</password>", '<add key="secret" value="{}"/>', "var token string = \"{}\"",
        '{{"access_key": "{}"}}', "private_key: |\n  {}", "bearer={}", 'export SIGNING_KEY="{}"',
    ],
)  # fmt: skip
def test_values_that_a_name_gives_away(text):
    assert found(text.format(VALUE)) == [VALUE]


@pytest.mark.parametrize(
    "text",
    [
        "csrf_token = {}", "nonce_token={}", "next_page_token: {}", "public_token = {}", "filename = {}", "etag: {}",
        "tokens {}", 'token = "{} and more"', "token = {}..", "secret = config.{}",
    ],
)  # fmt: skip
def test_names_that_are_no_secret(text):
    assert found(text.format(VALUE)) == []


@pytest.mark.parametrize(
    "value", ["xxxxxxxxxxxxxxxxxxxx", "my_secret_value_here", "12345678901234567890", "abcdefghijklmnop1234"]
)
def test_values_that_are_none(value):
    assert found(f"api_key = {value}", families=("credential",)) == []


def test_a_uuid_is_a_key_unless_it_is_an_id():
    uuid = "2f1c8a4e-91b3-4d7a-8c55-0e6f1a2b3c4d"
    assert found(f"api_key = {uuid}") == [uuid]
    assert found(f"user_token_id = {uuid}") == [] == found(f"request_id = {uuid}")


@pytest.mark.parametrize(
    ("vendor", "value"),
    [
        ("linkedin", "oo904lc7rs6gb5"),
        ("trello", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
        ("mailchimp", "0a1b2c3d4e5f60718293a4b5c6d7e8f9-us12"),
        ("okta", "00" + VALUE * 2),
    ],
)
def test_keys_in_the_form_of_their_vendor(vendor, value):
    assert found(f"{vendor}_api = '{value}'") == [value]
    assert found(f"other_api = '{value[:14]}'") == []


def test_every_vendor_is_in_small_letters():
    assert all(name == name.lower() for name in VENDORS) and len(VENDORS) > 60


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("http://jane:h4pk1ns~x@host.example/", "jane:h4pk1ns~x"),
        ("curl -u jane:h4pk1ns~x http://a.org", "jane:h4pk1ns~x"),
        ('curl --user "jane:h4pk1ns~x" http://a.org', "jane:h4pk1ns~x"),
        (
            f"Authorization: Basic {base64.b64encode(b'jane:h4pk1ns').decode()}",
            base64.b64encode(b"jane:h4pk1ns").decode(),
        ),
        (f"Authorization: Bearer {VALUE}xYz7", f"{VALUE}xYz7"),
        (f"X-Api-Key: {VALUE}", VALUE),
        ("password = 'h4pk1ns~x'", "h4pk1ns~x"),
        (f"kind: Secret\ndata:\n  password: {KEY}\n", KEY),
    ],
)
def test_secrets_by_what_is_around_them(text, value):
    assert found(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "http://jane:password@host.example/", "http://jane:${PASS}@host.example/", "http://host.example:8080/x@y",
        "tool -u jane:h4pk1ns~x", "curl -u $USER:$PASS", "Authorization: Basic QXV0aGVudGljYXRpb24",
        "Authorization: Bearer token", "password = 'changeme'", "password = '%PASS%'", f"kind: ConfigMap\ndata:\n  x: {KEY}\n",
    ],
)  # fmt: skip
def test_what_manuals_write_there(text):
    assert found(text) == []


def test_documents_slices_and_nulls():
    array = strings("x", f"token = {VALUE}", None, f"{VALUE} token")[1:]
    assert secret_spans(array).tolist() == [[0, 2, 8, 8 + len(VALUE)]]
    assert secret_spans(strings()).tolist() == []


def test_names_before_a_value():
    assert name_before(b'key="secret" value', b"value", 13) == b"secret"
    assert name_before(b"var token string", b"string", 10) == b"token"
    assert name_before(b"google api key", b"key", 11) == b"google api"
    assert name_before(b"value", b"value", 0) is None


def test_a_match_needs_a_name_that_may_be_one():
    text = f"secret = {VALUE}".encode()
    assert match_at(text, 0, len(text))["value"] == VALUE.encode()
    other = text.replace(b"secret", b"letter")
    assert match_at(other, 0, len(other)) is None


def test_of_overlapping_spans_the_stronger_stay():
    weak, strong = strings_spans([(0, 0, 4), (0, 6, 9), (1, 0, 2)]), strings_spans([(0, 3, 5), (2, 0, 1)])
    assert merged(weak, strong)[:, [0, 2, 3]].tolist() == [[0, 3, 5], [0, 6, 9], [1, 0, 2], [2, 0, 1]]
    assert merged(weak, strong[:0]) is weak and merged(weak[:0], strong) is strong


def strings_spans(rows):
    return np.array([(document, 0, start, end) for document, start, end in rows], np.int64).reshape(-1, 4)


def test_formats_are_one_expression_each_with_its_own_groups():
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)
    assert "(?P<github_token>" in expression("g") and "(?P<slack_token>" not in expression("g")
    assert not is_secret("npm_token", "npm_x", "xxxxxxxxxxxxxxxxx") and is_secret("npm_token", "", VALUE)
