"""Credentials: random values with a name that says what they are."""

import re
from functools import lru_cache

from corpusmill.text.secrets.checks import UUID, is_placeholder, looks_random

NAMES = (
    "api[_-]?key access[_-]?key auth bearer client[_-]?secret credential encryption[_-]?key passphrase"
    " passw(?:or)?d pwd private[_-]?key secret signing[_-]?key token"
).split()
# Services whose keys have no form of their own, so that their name before a random value is all there is to see.
VENDORS = (
    "adafruit adobe airtable algolia alibaba artifactory asana beamer bitbucket bittrex cloudflare codecov cohere"
    " coinbase confluent contentful datadog discord droneci dropbox etsy fastly finicity finnhub flickr freshbooks"
    " gitter gocardless heroku hubspot intercom jfrog kraken kucoin launchdarkly linear linkedin lob looker mailchimp"
    " mailgun mattermost meraki messagebird netlify nytimes okta plaid privateai rapidapi sendbird snyk squarespace"
    " sumo travis trello twitch twitter yandex zendesk"
).split()

LONGEST_NAME = 40
_GIVEN = r"[\"'`]?[ \t]{0,2}(?::{0,3}=|=>|:)[ \t]{0,2}[\"'`]?"  # name = "value"
_ARGUMENT = r"[\"'`][ \t]{0,2},[ \t]{0,2}[\"'`]"  # set("name", "value")
_ELEMENT = r">\s{0,12}"  # <name>value</name>
_VALUE = (
    r"(?P<value>(?:[A-Za-z0-9_-]{1,40}[.~=])?(?P<run>[A-Za-z0-9_+/-]{16,})(?:[.~=][A-Za-z0-9_+/-]{1,80}){0,4}={0,2})"
)
EXPRESSION = re.compile(
    rf"(?=[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}(?![A-Za-z0-9_-]))"
    rf"(?P<name>(?i:[A-Za-z0-9_-]*?(?:{'|'.join((*NAMES, *VENDORS))})[A-Za-z0-9_-]*|value))"
    rf"(?:{_GIVEN}|{_ARGUMENT}|(?P<element>{_ELEMENT}))"
    rf"{_VALUE}(?![A-Za-z0-9_+/=-])(?(element)\s{{0,40}}</)".encode()
)
_FIRSTS = sorted({name[0] for name in (*NAMES, *VENDORS)})
_ANY_NAME = re.compile(  # by first letter, which is several times as fast
    "|".join(f"{c}(?:{'|'.join(n[1:] for n in (*NAMES, *VENDORS) if n[0] == c)})" for c in _FIRSTS).encode()
)
_NAME = re.compile("|".join(NAMES).encode(), re.IGNORECASE)
_VENDOR = re.compile("|".join(VENDORS).encode(), re.IGNORECASE)
_VENDOR_KEY = re.compile(f"(?:{'|'.join(VENDORS)}).*key".encode(), re.IGNORECASE)
# Tokens of one request, of a place in a list, and for everybody: no secrets.
_PASSING = re.compile(
    rb"authenticity|csrf|xsrf|nonce|verification_?token|public[_-]?token|(?:page|next|sync|continuation)_?token",
    re.IGNORECASE,
)
# <add key="name" value="…">, - name: name\n  value: "…"
_KEY = re.compile(rb"(?i:\b(?:key|name)[\"']?\s{0,2}[=:]\s{0,2}[\"']?)([A-Za-z0-9_.-]{1,60})[\"']?[\s,]{1,40}[\"']?$")
FARTHEST_KEY = 100  # bytes before "value"
_LEADING = re.compile(f"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}".encode())


def match_at(text: bytes | memoryview, start: int, end: int) -> re.Match[bytes] | None:
    """`EXPRESSION.match`, after a look at the name, because texts have few different names."""
    name = _LEADING.match(text, start, end)
    return EXPRESSION.match(text, start, end) if name and _may_name(name[0]) else None


@lru_cache(1 << 14)
def _may_name(name: bytes) -> bool:
    name = name.lower()
    return name == b"value" or _ANY_NAME.search(name) is not None


def key_before(text: bytes | memoryview, start: int) -> bytes | None:
    """The name that is given as key before a value: `key="name" value=`."""
    match = _KEY.search(bytes(text[max(0, start - FARTHEST_KEY) : start]))
    return match[1] if match else None


def is_credential(match: re.Match[bytes], text: bytes | memoryview, lo: int) -> bool:
    """Whether the value is random, and the name says that it is secret.

    text, lo   where the match is, and the first byte of its document
    """
    name = match["name"]
    if name.lower() == b"value":
        key = key_before(text[lo:], match.start() - lo)
        if key is None or not _NAME.search(key):
            return False
        name = key
    if _PASSING.search(name) or not (_NAME.search(name) or any(map(_is_word, _VENDOR.finditer(name)))):
        return False
    value, run = match["value"].decode("ascii"), match["run"].decode("ascii")
    start, end = match.span("value")
    before, after = bytes(text[start - 1 : start]), bytes(text[end : end + 1])
    if before in (b'"', b"'") and after not in (before, b"\\", b"\n") and end < match.endpos:
        return False  # only the beginning of what is between quotes
    if bytes(text[end : min(end + 2, match.endpos)]) == b"..":
        return False  # cut off
    if "." in value and match["element"] is None and before not in (b'"', b"'", b"`", b"="):
        return False  # an attribute of an object, in code
    if UUID.fullmatch(value):
        return bool(_NAME.search(name) or _VENDOR_KEY.search(name)) and not re.search(rb"ids?$", name, re.IGNORECASE)
    return looks_random(run) and not is_placeholder(value)


def _is_word(vendor: re.Match[bytes]) -> bool:
    """Whether a vendor's name is a word of the name that it is in, and not a part of others: etsy in "SetSysctl"."""
    before = vendor.string[vendor.start() - 1 : vendor.start()] if vendor.start() else b""
    if vendor[0][:1].islower() and vendor[0] != vendor[0].lower():
        return False
    return not before.isalpha() or (before.islower() and vendor[0][:1].isupper())
