"""Secrets that are told by what is around them and not by their form: passwords in URLs, options of curl, headers of
requests, manifests of Kubernetes, and assignments.

The scan calls `confirmed` at each trigger; the rest is read from there.
"""

import base64
import binascii
import re
from collections.abc import Callable

from corpusmill.text.secrets.checks import UUID, is_basic, is_password, is_placeholder, looks_random

Text = bytes | memoryview
Spans = list[tuple[int, int]]

LONGEST_USER = 200  # bytes of "scheme://user:password"
COMMAND = 400  # bytes of a command line before an option
MANIFEST = 8000  # bytes on each side of "kind: Secret"

_USER = re.compile(
    rb"(?:^|[^A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/@:\"'`<>()\[\]]{0,80}:([^\s/@\"'`<>]{3,100}))$"
)
_SHELL_WORD = re.compile(rb"(?:-u|--user)(?:[ \t]{1,4}|=)?((?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"']{1,200})+)")
_HEADER = re.compile(
    rb"(?i:authorization|x-[a-z-]{0,30}(?:key|token)|api-?(?:key|token)|private-token)[\"']?[ \t]{0,2}$"
)
_OPENER = re.compile(
    rb":[ \t]{0,2}[\"']?(?:(?i:(basic)|[a-z][a-z-]{2,15})[ \t]{1,3})?"
    rb"([A-Za-z0-9_.~+/=@-]{8,2000})(?![^\s\"'`,;\\)}\]])"
)
_SECRET = re.compile(rb"kind[\"']?:[ \t]{0,2}[\"']?[sS]ecret[\"']?[ \t]*\r?(?:\n|$)")
_MARK = re.compile(rb"\n---|kind:")
_DATA = re.compile(rb"^([ \t]*)(?:data|stringData):[ \t]*\r?\n((?:(?:\1[ \t]+[^\n]*|[ \t]*)(?:\n|$))+)", re.MULTILINE)
_ENTRY = re.compile(
    rb"^[ \t]+[\w.\"'-]+:[ \t]*(?:[|>]-?[ \t]*\r?\n[ \t]+)?[\"']?([A-Za-z0-9+/]{10,}={0,2})[\"']?[ \t]*\r?$",
    re.MULTILINE,
)
_ASSIGNED = re.compile(
    rb"[wW](?i:or)?[dD](?:[\"']?[ \t]{0,30}(?::=|=>|=|:)[ \t]{0,3}([\"'])([^\"'\s\\]{6,64})\1"
    rb"|[\"'][ \t]{1,4}(?i:value)[ \t]{0,2}=[ \t]{0,2}\"([^\"\s]{6,64})\")"
)
_PAIR = re.compile(rb"(?i:contribsys__com[a-z_]{0,10})[\"']?[\s:=>\"']{1,16}([a-f0-9]{8}:[a-f0-9]{8})(?![A-Za-z0-9_])")
_GEMS = re.compile(rb"[a-f0-9]{8}:[a-f0-9]{8}@(?:gems|enterprise)\.contribsys\.com")


def in_url(text: Text, lo: int, at: int, hi: int) -> Spans:
    """User and password before the "@" at `at`: scheme://user:password@host."""
    match = _USER.search(bytes(text[max(lo, at - LONGEST_USER) : at]))
    if not match or at + 1 >= hi or not is_password(_text(match[2])):
        return []
    return [(at - len(match[1]), at)]


def in_option(text: Text, lo: int, at: int, hi: int) -> Spans:
    """User and password of curl after "-u" or "--user"; `at` is the "u"."""
    start = at - 2 if at - 2 >= lo and bytes(text[at - 2 : at - 1]) == b"-" else at - 1
    before = bytes(text[max(lo, start - COMMAND) : start])
    if not before.endswith((b" ", b"\t", b"\n")) or b"curl" not in before.rpartition(b"\n\n")[2]:
        return []
    match = _SHELL_WORD.match(bytes(text[start : min(hi, start + 420)]))
    if not match:
        return []
    word = re.sub("[\"']", "", _text(match[1]))
    user, colon, password = word.partition(":")
    strong = is_password(password.strip("{}")) if password else is_password(user)
    if not colon or not strong or user.startswith(("$", "<", "{{")):
        return []
    first, last = match.span(1)
    quoted = match[1][:1] in b"\"'" and match[1][-1:] == match[1][:1]
    return [(start + first + quoted, start + last - quoted)]


def in_header(text: Text, lo: int, at: int, hi: int) -> Spans:
    """The value of a header that opens something; `at` is the ":"."""
    if not _HEADER.search(bytes(text[max(lo, at - 50) : at])):
        return []
    match = _OPENER.match(bytes(text[at : min(hi, at + 2100)]))
    if not match:
        return []
    value = _text(match[2]).rstrip(".")
    if match[1]:
        is_secret = is_basic(value) or (len(value) >= 24 and looks_random(value))
    elif UUID.fullmatch(value):
        is_secret = True
    else:
        is_secret = (looks_random(value) or "~" in value) and len(value) >= 10 and not is_placeholder(value)
    first = at + match.start(2)
    return [(first, first + len(value))] if is_secret else []


def in_manifest(text: Text, lo: int, at: int, hi: int) -> Spans:
    """The values of a Secret of Kubernetes; `at` is the ":" of "kind: Secret". Where these follow each other within a
    document of YAML, the first has all their values, so that each is read once."""
    if not _SECRET.match(bytes(text[at - 4 : min(hi, at + 40)])):
        return []
    first = max(lo, at - MANIFEST)
    before = bytes(text[first:at])
    begin = kind = max(before.rfind(b"\n---"), 0)
    while (kind := before.find(b"kind:", kind)) >= 0:
        kind += 5
        if _SECRET.match(bytes(text[first + kind - 5 : min(hi, first + kind + 39)])):
            return []
    last, end, seen = at, min(hi, at + MANIFEST), at
    while mark := _MARK.search(text, seen, end):
        seen = mark.end()
        if mark[0] != b"kind:":
            end = mark.start()
        elif _SECRET.match(bytes(text[seen - 5 : min(hi, seen + 39)])):
            last = seen - 1
            end = min(hi, last + MANIFEST)
    window = bytes(text[first:end])
    spans: Spans = []
    for data in _DATA.finditer(window, begin):
        for entry in _ENTRY.finditer(data[0]):
            value = _text(entry[1])
            if _is_base64(value) and not is_placeholder(value):
                start = first + data.start() + entry.start(1)
                spans.append((start, start + len(value)))
    return spans


def in_assignment(text: Text, lo: int, at: int, hi: int) -> Spans:
    """The quoted value after a name that ends in password, passwd or pwd; `at` is its "w"."""
    match = _ASSIGNED.match(bytes(text[at : min(hi, at + 120)]))
    if not match or not bytes(text[max(lo, at - 4) : at]).lower().endswith((b"pass", b"p")):
        return []
    group = 2 if match[2] else 3
    value = _text(match[group])
    is_secret = is_password(value) if group == 2 else _is_clear(value)
    return [(at + match.start(group), at + match.end(group))] if is_secret else []


def in_pair(text: Text, lo: int, at: int, hi: int) -> Spans:
    """User and password of Sidekiq's server of gems, of eight hexadecimal digits each; `at` is the ":" between."""
    if _GEMS.match(bytes(text[at - 8 : min(hi, at + 50)])):
        return [(at - 8, at + 9)]
    match = _PAIR.search(bytes(text[max(lo, at - 100) : min(hi, at + 10)]))
    end = min(at + 9, hi)
    return [(at - 8, end)] if match and max(lo, at - 100) + match.start(1) == at - 8 else []


def _is_clear(value: str) -> bool:
    """Whether a value named a password is one: anything but a variable or a placeholder."""
    return not re.fullmatch(r"%.*%|\$.*|\{.*\}|#.*#", value) and not is_placeholder(value)


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False
    return True


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


Confirm = Callable[[Text, int, int, int], Spans]
# By trigger: what may be there.
URL, OPTION, HEADER, MANIFEST_KIND, ASSIGNMENT, PAIR = range(6)
CONFIRM: tuple[Confirm, ...] = (in_url, in_option, in_header, in_manifest, in_assignment, in_pair)
