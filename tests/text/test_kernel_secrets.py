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

from corpusmill.text.secrets import FAMILIES, checks, named, secret_spans
from corpusmill.text.secrets.checks import is_wallet
from corpusmill.text.secrets.contexts import ASSIGNMENT, CONFIRM, PAIR
from corpusmill.text.secrets.find import EXPRESSIONS, SECRET, WALLET, span_of
from corpusmill.text.secrets.formats import FORMATS
from corpusmill.text.secrets.named import VENDORS
from text_strategies import strings

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
HEX = "0123456789abcdef"
ALPHABETS = {
    "a": ALNUM,
    "h": HEX,
    "C": HEX.upper(),
    "u": UPPER,
    "d": "0123456789",
    "l": string.ascii_lowercase + "234567",
}


def made(form: str) -> str:
    """Text from a form: "a36" are 36 random letters and digits, "h" hexadecimal ("C" in capitals), "u" capitals, "d" digits, "l" small
    letters and digits; what has another form stands for itself. So no key is in this file."""
    return "".join(
        drawn(ALPHABETS[part[0]], int(part[1:]), seed) if part[0] in ALPHABETS and part[1:].isdigit() else part
        for seed, part in enumerate(form.split())
    )


FORMS = {
    "aws_access_key": "AKIA u16",
    "aws_other_key": "A3T 9 u16",
    "aws_bedrock": "ABSK a131 =",
    "aws_bedrock_short": "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t a20",
    "google_client_secret": "GOCSPX- a28",
    "google_token": "ya29. a60",
    "azure_client_secret": "a3 8 Q~ a34",
    "alibaba_key": "LTAI a20",
    "digitalocean_token": "dop_v1_ h64",
    "cloudflare_origin": "v1.0- h24 - h146",
    "yandex_key": "AQVN a36",
    "yandex_secret": "YC a38",
    "yandex_token": "t1. a30 . a86",
    "heroku_key": "HRKU-AA a58",
    "flyio_token": "fo1_ a43",
    "flyio_macaroon": "fm2_ a120",
    "scalingo_token": "tk-us- a48",
    "openshift_token": "sha256~ a43",
    "github_token": "ghp_ a36",
    "github_fine_token": "github_pat_ a22 _ a59",
    "gitlab_token": "glpat- a20",
    "npm_token": "npm_ a36",
    "pypi_token": "pypi-AgE a80",
    "rubygems_key": "rubygems_ h48",
    "clojars_token": "CLOJARS_ a60",
    "artifactory_key": "AKCp a69",
    "artifactory_reference": "cmVmd a59",
    "sonar_token": "squ_ h40",
    "sourcegraph_token": "sgp_ h16 _ h40",
    "sentry_org_token": "sntrys_eyJ a60 _ a43",
    "sentry_user_token": "sntryu_ h64",
    "pulumi_token": "pul- h40",
    "infracost_key": "ico- a32",
    "prefect_key": "pnu_ a36",
    "postman_key": "PMAK- h24 - h34",
    "readme_key": "rdme_ l70",
    "octopus_key": "API- u26",
    "harness_key": "pat. a22 . a24 . a20",
    "terraform_token": "a14 .atlasv1. a64",
    "vault_token": "hvs. a95",
    "vault_batch_token": "hvb. a150",
    "vault_old_token": "s. a24",
    "databricks_token": "dapi h32",
    "doppler_token": "dp.pt. a43",
    "dynatrace_token": "dt0c01. u24 . u64",
    "grafana_key": "eyJrIjoi a70 =",
    "grafana_cloud": "glc_ a60",
    "grafana_service": "glsa_ a32 _ h8",
    "new_relic_key": "NRAK- u27",
    "new_relic_browser": "NRJS- h19",
    "new_relic_insert": "NRII- a32",
    "planetscale_token": "pscale_tkn_ a43",
    "clickhouse_key": "4b1d a38",
    "defined_key": "dnkey- u26 - u52",
    "authress_key": "sc_ l10 . l4 .acc_ l12 . a44",
    "settlemint_token": "sm_pat_ a16",
    "slack_token": "xoxb- d12 - a24",
    "slack_legacy_token": "xoxs- d5 - d5 - d5 - h10",
    "teams_webhook": "webhook.office.com/webhookb2/",
    "telegram_token": "d10 :A a34",
    "facebook_token": "EAAM a130",
    "facebook_app": "d16 | a27",
    "stripe_key": "sk_live_ a24",
    "stripe_webhook": "whsec_ a32",
    "square_key": "sq0csp- a43",
    "square_token": "EAAA a60",
    "shopify_token": "shpat_ h32",
    "shippo_token": "shippo_live_ h40",
    "duffel_token": "duffel_test_ a43",
    "easypost_key": "EZAK a54",
    "flutterwave_key": "FLWSECK_TEST- h32 -X",
    "flutterwave_encryption": "FLWSECK_TEST h12",
    "plaid_token": "access-sandbox- h8 - h4 - h4 - h4 - h12",
    "sendgrid_key": "SG. a22 . a43",
    "sendinblue_key": "xkeysib- h64 - a16",
    "mailgun_key": "key- h32",
    "mapbox_token": "pk. a80 . a22",
    "maxmind_key": "a6 _ a29 _mmk",
    "twilio_key": "SK h32",
    "typeform_token": "tfp_ a59",
    "frameio_token": "fio-u- a64",
    "linear_key": "lin_api_ a40",
    "notion_token": "ntn_ d11 a35",
    "airtable_token": "pat a14 . h64",
    "atlassian_token": "ATATT3 a186",
    "adobe_secret": "p8e- l32",
    "onepassword_key": "A3- u6 - u6 - u5 - u5 - u5 - u5",
    "onepassword_service": "ops_eyJ a250",
    "intra42_secret": "s-s4t2ud- h64",
    "twitter_bearer": "AAAAAAAAAAAAAAAAAAAAAA a90",
    "ai_key": "sk-proj- a48",
    "huggingface_token": "hf_ a34",
    "groq_key": "gsk_ a52",
    "xai_key": "xai- a80",
    "langsmith_key": "lsv2_pt_ h32 _ h10",
    "replicate_token": "r8_ a37",
    "perplexity_key": "pplx- a48",
}
UUID = made("h8 - h4 - h4 - h4 - h12")
SECRETS = {name: ("", made(form)) for name, form in FORMS.items()} | {  # format -> text before, the secret
    "aws_secret_key": ('aws_secret_access_key = "', drawn(ALNUM + "/+", 40)),
    "google_api_key": ("key=", "AIza" + drawn(ALNUM, 35)),
    "azure_storage_key": ("AccountName=a;AccountKey=", drawn(ALNUM + "+/", 86) + "=="),
    "azure_shared_key": ("SharedAccessKey=", drawn(ALNUM + "+/", 43) + "="),
    "gitlab_session": ("_gitlab_session=", made("l32")),
    "slack_webhook": ("https://hooks.slack.com/services/TABCDEFGH/B12345678/", drawn(ALNUM, 24)),
    "teams_webhook": ("webhook.office.com/webhookb2/", f"{UUID}@{UUID}/IncomingWebhook/{made('h32')}/{UUID}"),
    "age_key": ("", "AGE-SECRET-KEY-1" + drawn("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "jwt": ("Bearer ", made_jwt()),
    "jwt_coded": ("", base64.b64encode(made_jwt().encode()).decode()),
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
    """Every match in the whole text, from left to right; where one does not hold up, the search goes on after it. What
    is told by its context is looked for at every byte."""
    raw, at, spans = text.encode(), 0, []
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
            spans.append(span)
        at = match.end() if span else at + 1
    for trigger in range(PAIR + 1):
        if family == (FAMILIES.index("credential") if trigger == ASSIGNMENT else SECRET):
            found = [
                span
                for at in range(len(raw))
                if fires(raw, at, trigger)
                for span in CONFIRM[trigger](raw, 0, at, len(raw))
            ]
            done, more = 0, []
            for start, end in sorted(set(found)):
                if start >= done:
                    more.append((start, end))
                    done = end
            spans += [one for one in more if all(one[1] <= start or end <= one[0] for start, end in spans)]
    return [raw[start:end].decode() for start, end in sorted(spans)]


FIRES = ("@", "u", ":", ":", "Ww", ":")


def fires(raw, at, trigger):
    """Whether the byte is the trigger's."""
    return (
        chr(raw[at]) in FIRES[trigger]
        and (trigger != 1 or raw[at - 1 : at] == b"-")
        and (trigger != 3 or raw[at - 4 : at] == b"kind")
    )


@pytest.mark.parametrize("name", SECRETS)
def test_each_format_is_found_and_nothing_around_it(name):
    before, secret = SECRETS[name]
    assert secrets_of(f"{before}{secret}", "secret") == [("secret", secret)]
    assert secrets_of(f"say {before}{secret}, please", "secret") == [("secret", secret)]
    assert secrets_of(f"日本\n{before}{secret}\n", "secret") == [("secret", secret)]


def test_every_format_has_a_sample():
    assert set(SECRETS) == {form.name for form in FORMATS} | {"private_key"}


@pytest.mark.parametrize(
    "form",
    [
        "dor_v1_ C64",
        "clojars_ a60",
        "PMAK- C24 - C34",
        "NRJS- C19",
        "d16 % a27",
        "d15 %7C a30",
        "FLWSECK_TEST- h12",
        "key- C32",
        "SK C32",
        "xoxb- d11 - d12 - a10 - a10",
        "xoxp- d12 - d12 - d12 - a14 - a14",
        "xapp-1- a11 - d13 - h64",
    ],
)
def test_a_format_has_all_ways_to_write_it(form):
    secret = made(form)
    assert secrets_of(f"'{secret}'", "secret") == [("secret", secret)]


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
        # Placeholders.
        "AKIA" + "X" * 16,
        "AKIAIOSFODNN7" + "EXAMPLE",
        "ghp_" + "x" * 36,
        "glpat-XXXXXXXXXXX-XXXXXXXX",
        "sk_test_" + string.ascii_lowercase,
        "glc_" + "1" * 41,
        "sgp_5555555d" + "A" * 5 + "7" * 7 + "C" * 20,
        "video.ico-" + drawn("0123456789abcdef", 32) + ".png",
        # Variables and manuals.
        "https://user:password@host.example/",
        "https://$USER:$PASS@host.example/",
        "curl -u user:pass https://host.example",
        'curl -u "${name}:${secret}" https://host.example',
        "sort -u ab12:CD34ef",
        "Authorization: Bearer $TOKEN",
        "Authorization: Basic ...",
        "kind: SecretStore\ndata:\n  a: YWRtaW46cGFzc3dvcmQ=",
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
        (f"private-key: {RANDOM}", RANDOM),
        (f"publicToken = {RANDOM}", None),
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


STRONG = "P@ss" + "w0rd$1"
CODED = base64.b64encode(b"jane:h4pk1ns").decode()
MANIFEST = f"apiVersion: v1\nkind: Secret\ndata:\n  key: {CODED}\n  other: >\n    {CODED}{CODED}\ntype: Opaque\n"


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (f"see https://jane:{STRONG[5:]}x@host.example:80/a", [f"jane:{STRONG[5:]}x"]),
        (f"curl --cacert ca.crt -u elastic:{STRONG} https://host.example", [f"elastic:{STRONG}"]),
        (f"curl -s --user 'api:{STRONG}' \\\n https://host.example", [f"api:{STRONG}"]),
        (f"Authorization: Basic {CODED}", [CODED]),
        (f"-H 'Authorization: Bearer {drawn(HEX, 32)}'", [drawn(HEX, 32)]),
        (f'"Api-Token: {drawn(ALNUM, 12)}"', [drawn(ALNUM, 12)]),
        (f"X-Octopus-ApiKey: {UUID}", [UUID]),
        (MANIFEST, [CODED, CODED + CODED]),
        ("BUNDLE_GEMS__CONTRIBSYS__COM: cafebabe:deadbeef", ["cafebabe:deadbeef"]),
        ("cafebabe:deadbeef@gems.contribsys.com", ["cafebabe:deadbeef"]),
        ("see http://cafebabe:deadbeef@enterprise.contribsys.com/", ["cafebabe:deadbeef"]),
    ],
)
def test_a_secret_is_told_by_what_is_around_it(text, secrets):
    assert secrets_of(text, "secret") == [("secret", secret) for secret in secrets]


@given(
    st.lists(st.sampled_from(["kind: Secret", "kind: Pod", "---", "data:", f"  a: {CODED}", f" b: {CODED}", "x: y"]))
)
@settings(max_examples=200)
def test_each_document_of_yaml_that_is_a_secret_has_its_values_found(lines):
    """However often it says that it is one."""
    values, data = [], False
    for document in "\n".join(lines).split("\n---"):
        for line in document.split("\n"):
            if line[:1] != " ":
                data = line == "data:"
            elif data and "kind: Secret" in document.split("\n"):
                values.append(CODED)
        data = False
    assert [value for _, value in secrets_of("\n".join(lines), "secret")] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'System.setProperty("X_TOKEN", "{RANDOM}")', RANDOM),
        (f"<vendorToken>\n    {RANDOM}\n</vendorToken>", RANDOM),
        (f"fastlyKey := '{RANDOM}'", RANDOM),
        (f"- name: X_TOKEN\n  value: '{RANDOM}'", RANDOM),
        (f"api_key = '{RANDOM[:8]}.{RANDOM}'", f"{RANDOM[:8]}.{RANDOM}"),
        (f"snyk_token = '{UUID}'", UUID),
        (f"credentialsId: '{UUID}'", None),
        (f'name="authenticity_token" value="{RANDOM}"', None),
        ("password = 'thisIsDog11'", "thisIsDog11"),
        ('<add key="Password" value="ClearText" />', "ClearText"),
        ("password: 'changeme'", None),
        ('password = "${var.password}"', None),
        ("answer = 'thisIsDog11'", None),
    ],
)
def test_a_credential_has_a_name_wherever_it_stands(text, value):
    assert secrets_of(text, "credential") == ([("credential", value)] if value else [])


LOW = string.ascii_lowercase + string.digits


def key_of(form: str, seed: int = 0) -> str:
    """A key of a form of VENDORS, of small letters, with a few digits in front."""
    parts = []
    for part in form.split("+"):
        if part == "u":
            parts.append(UUID)
        elif part[0] in "adhw" and part[1:2].isdigit():
            size = int(part[1:].partition(",")[0])
            alphabet = {"a": LOW, "d": string.digits, "h": HEX, "w": LOW + "_-"}[part[0]]
            parts.append(drawn(string.digits, -(-size // 16), seed) + drawn(alphabet, size - -(-size // 16), seed + 1))
        else:
            parts.append(part)
    return "".join(parts)


@pytest.mark.parametrize(("vendor", "form"), [(v, form) for v, forms in VENDORS.items() for form in forms.split()])
def test_a_key_of_a_vendor_has_its_form_and_the_vendors_name(vendor, form):
    plain, key = vendor.replace("[_-]?", ""), key_of(form)
    spelled = vendor.replace("[_-]?", "_").upper()
    assert secrets_of(f'{plain}_client_id = "{key}"', "credential") == [("credential", key)]
    assert secrets_of(f"{spelled}_SECRET={key};", "credential") == [("credential", key)]
    assert secrets_of(f"colour = {key[:15]};", "credential") == []


@pytest.mark.parametrize(
    "text",
    [
        'var linkedinToken string = "{}"',
        'const linkedinToken: string = "{}"',
        "linkedin.client.key={}",
        "LinkedIn API key: {}",
        "linkedinToken,{},",
        '\\"linkedin_token\\": \\"{}\\"',
        "linkedin_token: >\n  {}",
        "LINKED_IN_TOKEN ?= {}",
        "LINKEDIN_TOKEN += {}",
        "LINKEDIN_TOKEN :::= {}",
    ],
)
def test_a_vendors_name_is_near_its_key_in_many_notations(text):
    key = key_of("a14")
    assert secrets_of(text.format(key), "credential") == [("credential", key)]


@pytest.mark.parametrize(
    "text",
    [
        f"linkedin = {key_of('a14')[:13]}",  # no key is so short
        "linkedin = 1characteristics3ab",  # none so long, unless it looks random
        f"colour = {key_of('a14')}",
        f"unlinkedin = {key_of('a14')}",
        "linkedin = characteristics",
        f"linkedin: {key_of('a14')}.com",
        f"discord_channel = {drawn(string.digits, 18)}",  # everybody sees it
        f"snyk_client_id = {UUID}",
        f"linkedin,{drawn(ALNUM, 19)},",  # random, in the next column
        f"key: {key_of('a16')}",
        "asana_client_id = " + "0" * 16,
        "trello_token = my_favourite_list_of_2_and_3_no",
    ],
)
def test_what_is_no_key_of_a_vendor(text):
    assert secrets_of(text, "credential") == []


def test_a_key_that_was_published_is_none(monkeypatch):
    key = SECRETS["google_api_key"][1]
    assert len(checks.published()) == 20
    monkeypatch.setattr(checks, "published", lambda: frozenset({hashlib.sha256(key.encode()).hexdigest()}))
    assert secrets_of(f"apiKey = {key}") == secrets_of(f"password = '{key}'") == []
    other = key[:-1] + ("a" if key[-1] != "a" else "b")
    assert secrets_of(f"apiKey = {other}") == [("secret", other)]


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
    *(
        f"https://a:{STRONG}@",
        "://",
        "@",
        "~",
        "Q~",
        "curl -u ",
        f"-u a:{STRONG}",
        "Authorization: Basic ",
        CODED,
        "\n",
    ),
    *(
        "kind: Secret\n",
        "data:\n  a: ",
        "pwd",
        "value",
        'key="password" ',
        f"'{STRONG}'",
        "contribsys__com=",
        "cafebabe:",
    ),
    *("linkedin", "LINKED_IN_", "fastly", "string", "key", "str", "linkedin token ", "?= ", "+= ", "\\", "|\n  ", ","),
    *(key_of("a14"), key_of("a15", 3), key_of("w32"), key_of("h40"), drawn(string.digits, 16), "%", "%7C", "Token"),
    *("<token>", "</token>", '", "', "deadbeef", UUID, "api-key:", "|", "_mmk", ".atlasv1.", "~", RANDOM[:4]),
    *(BITCOIN, SEGWIT, ETHEREUM, "0x", "bc1", "3", "word", "a-long-word-with-hyphens"),
]


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=FAMILIES)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=9), shift=st.integers(0, 64))
@settings(max_examples=250)
def test_nothing_is_missed_that_the_expressions_match(family, parts, shift):
    text = " " * shift + "".join(parts)
    assert [secret for _, secret in secrets_of(text, FAMILIES[family])] == slow(text, family), text


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
    assert doctest.testmod(checks).failed == doctest.testmod(named).failed == 0
