"""E-mail addresses beyond the plain form: international and quoted ones, and those written so that machines miss them.

    international   letters of all scripts in both parts: nièrdash@host.example, 用户@例子.公司. Where East Asian text
                    and another script meet there is a boundary, because such text has no spaces
    quoted          "jane doe"@host.example (RFC 5322)
    HTML entities   "@" and other characters as &#64;, &#x40;, &commat;, &period; …
    spelled         jane [at] host [dot] example, with any brackets; jane at host dot example, if the last word is a
                    top-level domain

What follows user and password of a URL is none: https://user:password@host.example. A Message-ID is none: what follows
"Message-ID:", "References:", "In-Reply-To:" or "article", and what is between "<" and ">" with a local part that a
program made (letters and digits change three times, or six digits and something else).
"""

import re
from functools import lru_cache
from html import unescape
from itertools import pairwise
from pathlib import Path

from corpusmill.text.pii.byte_classes import USER_ENDS

MAIL_WINDOW = 120  # characters on each side of a stop

_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
# The same without its punctuation: "用户@例子.公司。" ends before the full stop.
_EAST_LETTERS = (
    "\u0e00-\u0e2e\u0e30-\u0e4e\u0e50-\u0e59\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17dc-\u17ff"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u303c\u3041-\u9fff\uac00-\ud7ff\uf900-\ufaff"
    "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc"
)
_OTHER = rf"(?:(?![{_EAST}])\w)"
# Possessive, because what follows an atom is none of its characters: nothing is tried twice.
_ATOM = rf"(?:(?![{_EAST}])[\w!#$%&'*+/=?^`{{|}}~-])++"
_LOCAL = rf"(?:{_ATOM}(?:\.{_ATOM})*+|[{_EAST_LETTERS}]++|\"[^\"\\\n@]{{1,64}}\")"
_LABEL = rf"(?:{_OTHER}(?:(?:{_OTHER}|-)*{_OTHER})?|[{_EAST_LETTERS}]+)"
_TOP = rf"(?:xn--[A-Za-z0-9-]{{2,59}}|(?:(?![{_EAST}\d_])\w){{2,24}}|[{_EAST_LETTERS}]{{2,12}})"
_ADDRESS = re.compile(rf"{_LOCAL}@(?:{_LABEL}\.)+{_TOP}(?!{_OTHER}|@)")

_CODED = r"(?:&#(?:\d{2,3}|[xX][0-9A-Fa-f]{2});|[A-Za-z0-9._%+-])"
_COMMERCIAL_AT = r"&(?:#0{0,4}64|#[xX]0{0,2}40|commat);"
_DOT = r"(?:\.|&(?:#0{0,4}46|#[xX]0{0,2}2[eE]|period);)"
_ENTITIES = re.compile(rf"{_CODED}{{1,64}}(?:{_COMMERCIAL_AT}|@)(?:{_CODED}{{1,63}}{_DOT})?{_CODED}{{2,80}}")
_PLAIN = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}")

_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9_+-]{0,40}[A-Za-z0-9])?"
_OPEN, _CLOSE = r"\s{0,3}[\[({<]\s{0,2}", r"\s{0,2}[\])}>]\s{0,3}"
_SPELLED_DOT = rf"(?:{_OPEN}(?i:dot|punkt|point|punto|\.){_CLOSE}|\s{{1,3}}(?:dot|DOT)\s{{1,3}})"
_SPELLED = re.compile(
    rf"(?<![\w.+-]){_WORD}(?:(?:\.|{_SPELLED_DOT}){_WORD}){{0,4}}"
    rf"(?:(?P<sure>{_OPEN}(?i:at|@|arroba){_CLOSE})|\s{{1,3}}(?:at|AT)\s{{1,3}})"
    rf"{_WORD}(?:(?:\.|(?P<dot>{_SPELLED_DOT})){_WORD}){{0,4}}(?:\.|(?P<last>{_SPELLED_DOT}))(?P<top>[A-Za-z]{{2,12}})(?![\w@-])"
)
_HEADER = re.compile(
    r"(?:message-?id|references|in-reply-to|supersedes|article-i\.?d\.?)[ \t]*:?[^\n]{0,300}$|\barticle:?\s+<?$",
    re.IGNORECASE,
)

# The same of a line in small letters, in ASCII, that is no longer than that.
_HEADER_IN_LINE = re.compile(r"message-?id|references|in-reply-to|supersedes|article-i\.?d|\barticle:?\s+<?$")


def addresses_at(text: str, at: int) -> list[tuple[int, int]]:
    """The spans of addresses with the "@" at `at`, international or quoted."""
    first = max(0, at - MAIL_WINDOW)
    window = text[first : at + MAIL_WINDOW]
    return [
        (first + match.start(), first + match.end())
        for match in _ADDRESS.finditer(window)
        if match.start() <= at - first < match.end()
    ]


def disguised_near(text: str, at: int) -> list[tuple[int, int]]:
    """The spans of addresses with HTML entities, or spelled, that have the character at `at`."""
    first = max(0, at - MAIL_WINDOW)
    window = text[first : at + MAIL_WINDOW]
    spans = []
    if text[at] == "&":
        for match in _ENTITIES.finditer(window):
            if match.start() <= at - first < match.end() and _PLAIN.fullmatch(unescape(match[0])):
                spans.append((first + match.start(), first + match.end()))
        return spans
    for match in _SPELLED.finditer(window):
        if not match.start() <= at - first < match.end():
            continue
        # Without brackets around the "at", a sentence may have the same words.
        if match["sure"] or (match["last"] and is_top(match["top"].lower())):
            spans.append((first + match.start(), first + match.end()))
    return spans


_PASSWORD = re.compile(rf"[A-Za-z0-9]://[^\x00-\x20{re.escape(USER_ENDS)}:]*:[^\x00-\x20{re.escape(USER_ENDS)}]*$")


def is_password(text: str, at: int) -> bool:
    """Whether the "@" at `at` is behind user and password of a URL: scheme://user:password@host."""
    before = text[max(0, at - MAIL_WINDOW) : at]
    return _PASSWORD.search(before, max(0, before.rfind("://") - 1)) is not None


def is_message_id(text: str, start: int, end: int) -> bool:
    """Whether text[start:end], which has the form of an address, names a message."""
    line = text.rfind("\n", max(0, start - 300), start) + 1
    before = text[max(line, start - 300) : start]
    # Beyond ASCII there are other characters that the expression takes for these letters.
    if _HEADER_IN_LINE.search(before.lower()) if before.isascii() else _HEADER.search(before):
        return True
    if text[max(0, start - 1) : start] != "<" or text[end : end + 1] != ">":
        return False
    local = text[start:end].rpartition("@")[0]
    sorts = [c.isdigit() for c in local if c.isalnum()]
    changes = sum(a != b for a, b in pairwise(sorts))
    return changes >= 3 or (sum(sorts) >= 6 and not local.isdigit())


@lru_cache(1)
def _tops() -> frozenset[str]:
    from publicsuffixlist import PSLFILE

    rules = Path(PSLFILE).read_text("utf-8").splitlines()
    return frozenset(rule for rule in rules if rule and "." not in rule and "/" not in rule)


def is_top(label: str) -> bool:
    """Whether a label in lower case is a top-level domain.

    >>> is_top("org"), is_top("dress")
    (True, False)
    """
    return label in _tops()
