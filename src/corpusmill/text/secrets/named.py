"""Credentials: random values with a name that says what they are."""

import re
from functools import lru_cache

from corpusmill.text.secrets.checks import UUID, has_digits, is_placeholder, looks_random

SECRET_NAMES = (
    "api[_-]?key access[_-]?key auth bearer client[_-]?secret credential encryption[_-]?key passphrase"
    " passw(?:or)?d pwd private[_-]?key secret signing[_-]?key token"
).split()
# Services whose keys have no prefix of their own, so that their name before a value is all there is to see, and what
# their keys look like: so many letters and digits ("a"), hexadecimal ("h") or decimal digits ("d"), or letters, digits
# and any of "=_-" ("w"), and other parts literally; "u" is a UUID that may also be called an id. A value of such a
# form need not look random. After a name without forms, or when it is longer or shorter, it must.
_VENDOR_FORMS = """
    adafruit: w32; adobe: h32; airtable: a17; algolia: a32; alibaba: a30; artifactory: a64 a73; asana: d16 a32;
    atlassian: a24; beamer: b_+w44; bintray: a64 a73; bitbucket: a32 w64; bittrex: a32; cloudflare: h37 w40;
    codecov: a32; cohere: a40; coinbase: w64; confluence: a24; confluent: a16 a64; contentful: w43; datadog: a40;
    discord: d18 d32 w32 h64; droneci: a32; dropbox: a15 a11+AAAAAAAAAA+w43 sl.+w135; etsy: a24; facebook: h32;
    fastly: w32; finicity: a20 h32; finnhub: a20; flickr: a32; freshbooks: a64; gitter: w40; gocardless: live_+w40;
    heroku:; hubspot:; intercom: w60; jfrog: a64 a73; jira: a24; kraken:; kucoin: h24; launchdarkly: w40;
    linear: h32; linked[_-]?in: a14 a16; lob: live_+h35 test_+h35 live_pub_+h31 test_pub_+h31; looker: a20 a24;
    mailchimp: h32+-us+d2; mailgun: a32+-+a8+-+a8; mattermost: a26; meraki: h40; message[_-]?bird: a25 u;
    netlify: w40,46; new[_-]?relic: a64; new[_-]?york[_-]?times: w32; nytimes: w32; okta: 00+w40; plaid: a24 a30;
    private[_-]?ai: a32; rapidapi: w50; sendbird: h40 u; sentry: h64; snyk:; sonar: w40; sourcegraph: h40;
    squarespace:; sumo: su+a12 a64; travis: a22; trello: a32; twitch: a30; twitter: a25 a45 a50 d15,25+-+a20,40;
    xray: a64 a73; yandex:; zendesk: a40
"""
VENDORS = {
    vendor.strip(): forms.strip() for vendor, _, forms in (entry.partition(":") for entry in _VENDOR_FORMS.split(";"))
}
LONGEST_NAME, SHORTEST = 40, 14
# Words in the place of a name, which is before them: `var name string =`.
VALUE, OTHERS = "value", ("key", "str", "string")
_QUOTE = r"\\?[\"'`]"  # in JSON within a string "\" is before each
# name = "value"; the value may be on a line of its own in YAML
_GIVEN = (
    rf"(?:{_QUOTE})?[ \t]{{0,2}}(?::{{0,3}}=|[+?.]=|=>|:(?:[ \t]{{0,2}}[|>][ \t]{{0,2}}\n)?)[ \t]{{0,12}}(?:{_QUOTE})?"
)
_ARGUMENT = r"[\"'`][ \t]{0,2},[ \t]{0,2}[\"'`]"  # set("name", "value")
_ELEMENT = r">\s{0,12}"  # <name>value</name>
_VALUE = (
    r"(?P<value>(?:[A-Za-z0-9_-]{1,40}[.~=])?(?P<run>[A-Za-z0-9_+/-]{16,})(?:[.~=][A-Za-z0-9_+/-]{1,80}){0,4}={0,2}"
    rf"|[A-Za-z0-9_+/-]{{{SHORTEST},15}}(?!\.\w))"
)
_VENDORS = {vendor.replace("[_-]?", ""): forms.split() for vendor, forms in VENDORS.items()}
_ALPHABETS = {"a": "[A-Za-z0-9]", "d": "[0-9]", "h": "[A-Fa-f0-9]", "w": "[A-Za-z0-9=_-]"}
EXPRESSION = re.compile(
    rf"(?=[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}(?![A-Za-z0-9_-]))"
    rf"(?P<name>(?i:[A-Za-z0-9_-]*?(?:{'|'.join((*SECRET_NAMES, *VENDORS))})[A-Za-z0-9_-]*"
    rf"|{'|'.join((VALUE, *OTHERS))}))"
    rf"(?:{_GIVEN}|{_ARGUMENT}|(?P<cell>,)|(?P<element>{_ELEMENT}))"
    rf"{_VALUE}(?![A-Za-z0-9_+/=-])(?(element)\s{{0,40}}</)".encode()
)
_FIRSTS = sorted({name[0] for name in (*SECRET_NAMES, *VENDORS)})
_ANY_NAME = re.compile(  # by first letter, which is several times as fast
    "|".join(f"{c}(?:{'|'.join(n[1:] for n in (*SECRET_NAMES, *VENDORS) if n[0] == c)})" for c in _FIRSTS).encode()
)
_NAME = re.compile("|".join(SECRET_NAMES).encode(), re.IGNORECASE)
_VENDOR = re.compile("|".join(VENDORS).encode(), re.IGNORECASE)
_VENDOR_KEY = re.compile(f"(?:{'|'.join(VENDORS)}).*key".encode(), re.IGNORECASE)
_ID = re.compile(rb"ids?$", re.IGNORECASE)
_CLIENT_ID = re.compile(rb"(?:client|access|app)[_-]?id$", re.IGNORECASE)
# Tokens of one request, of a place in a list, and for everybody: no secrets.
_PASSING = re.compile(
    rb"authenticity|csrf|xsrf|nonce|verification_?token|public[_-]?token|(?:page|next|sync|continuation)_?token",
    re.IGNORECASE,
)
# <add key="name" value="…">, - name: name\n  value: "…"
_KEY = re.compile(rb"(?i:\b(?:key|name)[\"']?\s{0,2}[=:]\s{0,2}[\"']?)([A-Za-z0-9_.-]{1,60})[\"']?[\s,]{1,40}[\"']?$")
_TYPED = re.compile(rb"([A-Za-z0-9_-]{1,60})(?:[ \t]{0,2}:)?[ \t]{1,4}$")  # var name string =, name: str =
_WORDS = re.compile(rb"([A-Za-z0-9_-]{1,40}(?:[ .]{1,2}[A-Za-z0-9_-]{1,10}){0,2})[ .]{1,2}$")  # vendor api key:
FARTHEST_KEY = 100  # bytes before "value"
_LEADING = re.compile(f"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}".encode())


def match_at(text: bytes | memoryview, start: int, end: int) -> re.Match[bytes] | None:
    """`EXPRESSION.match`, after a look at the name, because texts have few different names."""
    name = _LEADING.match(text, start, end)
    return EXPRESSION.match(text, start, end) if name and _may_name(name[0]) else None


@lru_cache(1 << 14)
def _may_name(name: bytes) -> bool:
    name = name.lower()
    return name.decode() in (VALUE, *OTHERS) or _ANY_NAME.search(name) is not None


def name_before(text: bytes | memoryview, word: bytes, start: int) -> bytes | None:
    """The name that VALUE or one of OTHERS at `start` belongs to: `key="name" value=`, `var name string =`."""
    kind = {b"value": _KEY, b"key": _WORDS}.get(word, _TYPED)
    match = kind.search(bytes(text[max(0, start - FARTHEST_KEY) : start]))
    return match[1] if match else None


def is_credential(match: re.Match[bytes], text: bytes | memoryview, lo: int) -> bool:
    """Whether the value is random, or a key of the vendor, and the name says that it is secret.

    text, lo   where the match is, and the first byte of its document
    """
    name, lower_name = match["name"], match["name"].lower()
    if lower_name.decode() in (VALUE, *OTHERS):
        outer_name = name_before(text[lo:], lower_name, match.start() - lo)
        if outer_name is None:
            return False
        name = outer_name
    vendors = [_plain(vendor) for vendor in _VENDOR.finditer(name) if _is_word(vendor)]
    has_name = _NAME.search(name) is not None and lower_name != b"key"
    if lower_name == b"value":
        vendors = []
    if _PASSING.search(name) or not (has_name or vendors):
        return False
    value, run = match["value"].decode("ascii"), (match["run"] or b"").decode("ascii")
    start, end = match.span("value")
    before, after = bytes(text[start - 1 : start]), bytes(text[end : end + 1])
    if before in (b'"', b"'") and after not in (before, b"\\", b"\n") and end < match.endpos:
        return False  # only the beginning of what is between quotes
    if bytes(text[end : min(end + 2, match.endpos)]) == b"..":
        return False  # cut off
    if "." in value and match["element"] is None and before not in (b'"', b"'", b"`", b"="):
        return False  # an attribute of an object, in code
    if UUID.fullmatch(value):
        if _ID.search(name):
            return any("u" in _VENDORS[vendor] for vendor in vendors) and _CLIENT_ID.search(name) is not None
        return has_name or lower_name == b"key" or _VENDOR_KEY.search(name) is not None
    if any(_is_key_of(vendor, value) for vendor in vendors) and (
        has_name or not value.isdigit() or _CLIENT_ID.search(name)
    ):
        return not is_placeholder(value)
    if lower_name == b"key" or match["cell"] is not None:
        return False
    return looks_random(run) and not is_placeholder(value)


def _is_word(vendor: re.Match[bytes]) -> bool:
    """Whether a vendor's name is a word of the name that it is in, and not a part of others: etsy in "SetSysctl"."""
    before = vendor.string[vendor.start() - 1 : vendor.start()] if vendor.start() else b""
    if vendor[0][:1].islower() and vendor[0] != vendor[0].lower():
        return False
    return not before.isalpha() or (before.islower() and vendor[0][:1].isupper())


def _plain(vendor: re.Match[bytes]) -> str:
    return re.sub("[_-]", "", vendor[0].decode("ascii").lower())


def _is_key_of(vendor: str, value: str) -> bool:
    """Whether a value has one of the forms of the vendor's keys, and is no word.

    >>> _is_key_of("linkedin", "oo904lc7rs6gb5"), _is_key_of("linkedin", "characteristic")
    (True, False)
    """
    return any(_form(form).fullmatch(value) for form in _VENDORS[vendor] if form != "u") and has_digits(value)


@lru_cache
def _form(form: str) -> re.Pattern[str]:
    parts = []
    for part in form.split("+"):
        match = re.fullmatch(r"([adhw])(\d+(?:,\d+)?)", part)
        parts.append(f"{_ALPHABETS[match[1]]}{{{match[2]}}}" if match else re.escape(part))
    return re.compile("".join(parts))
