"""Finds all secrets: asks the scan for places, and the expressions and checks what is there."""

import re
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.secrets import scan
from corpusmill.text.secrets.checks import BASE58, BECH32, is_wallet
from corpusmill.text.secrets.contexts import ASSIGNMENT, CONFIRM
from corpusmill.text.secrets.formats import WORD_BYTE, expression, is_secret
from corpusmill.text.secrets.named import EXPRESSION, is_credential, match_at

Place = tuple[int, int]  # document, byte from its beginning

FAMILIES = ("secret", "wallet", "credential")
SECRET, WALLET, CREDENTIAL = range(len(FAMILIES))

MAX_TRIES = 8  # beginnings of one end: a text of "sk-" has one in three letters, and each check takes as long as it is

# By family: the pattern for candidates. In a bytes pattern, `\w` and `\s` are ASCII only.
EXPRESSIONS = (
    re.compile(expression().encode()),
    re.compile(
        f"(?:[13][{BASE58}]{{25,34}}|bc1(?:[{BECH32}]{{59}}|[{BECH32}]{{39}})|0x[0-9A-Fa-f]{{40}})(?!{WORD_BYTE})".encode()
    ),
    EXPRESSION,
)


def secret_spans(texts: pa.LargeStringArray, families: tuple[str, ...] = FAMILIES) -> Int64s:
    """The spans of secrets of these families.

    returns   (spans, 4) int64: document, family (an index of FAMILIES), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap
    """
    return secrets_in(view(texts), families)


def secrets_in(text: TextBuffer, families: tuple[str, ...]) -> Int64s:
    """`secret_spans` for documents that are viewed already, because a view can be a copy."""
    mask = sum(1 << FAMILIES.index(family) for family in set(families))
    by_sort: dict[int, set[Place]] = {}
    for document, offset, sort in scan.places(text, mask).tolist():
        by_sort.setdefault(sort, set()).add((document, offset))
    spans = np.empty((0, 4), np.int64)
    data = text.data.data
    for family in (SECRET, WALLET, CREDENTIAL):
        if places := by_sort.get(family):
            spans = merged(_confirmed(data, text.offsets, sorted(places), family), spans)
        for trigger in range(len(CONFIRM)):
            if family == _family(trigger) and (places := by_sort.get(scan.TRIGGERS + trigger)):
                spans = merged(_in_context(data, text.offsets, sorted(places), trigger), spans)
    return spans


def _family(trigger: int) -> int:
    return CREDENTIAL if trigger == ASSIGNMENT else SECRET


def merged(weaker: Int64s, stronger: Int64s) -> Int64s:
    """Both, in order, without the weaker ones that overlap a stronger one. Each input is in order and without
    overlap."""
    if not len(weaker) or not len(stronger):
        return stronger if len(stronger) else weaker
    starts, ends = (stronger[:, 0] << 31 | stronger[:, column] for column in (2, 3))  # a document has < 2**31 bytes
    first = np.searchsorted(ends, weaker[:, 0] << 31 | weaker[:, 2], side="right")
    following = np.append(starts, np.iinfo(np.int64).max)[first]
    both = np.concatenate([weaker[(weaker[:, 0] << 31 | weaker[:, 3]) <= following], stronger])
    return both[np.argsort(both[:, 0] << 31 | both[:, 2], kind="stable")]  # two runs in order: one walk


def _confirmed(data: memoryview, offsets: Int64s, places: list[Place], family: int) -> Int64s:
    """The matches of the family's expression at these places, which are in order."""
    spans, before, claimed = [], -1, 0
    last, tries = 0, 0
    match_here: Any = {SECRET: _Secrets(), CREDENTIAL: match_at}.get(family, EXPRESSIONS[family].match)
    for document, offset in places:
        if document != before:
            before, claimed = document, 0
        base = int(offsets[document])
        if offset < claimed or not (match := match_here(data, base + offset, int(offsets[document + 1]))):
            continue
        tries = tries + 1 if match.end() == last else 1
        last = match.end()
        if span := span_of(match, family, base):
            spans.append((document, family, span[0] - base, span[1] - base))
        if span or tries == MAX_TRIES:
            claimed = last - base
    return np.array(spans, np.int64).reshape(-1, 4)


class _Secrets:
    """The same as the expression of all formats, of which few begin with the same character; from left to right.

    A JSON Web Token is a run with "." behind it, which may have a beginning of one in three bytes. If the first of them
    is none, the others are none.
    """

    undotted = 0  # before this, no place is a JSON Web Token

    def __call__(self, text: memoryview, start: int, end: int) -> re.Match[bytes] | None:
        match = _expression_for(text[start], start < self.undotted).match(text, start, end)
        if not match and start >= self.undotted and (run := _JWT_RUN.match(text, start, end)):
            self.undotted = run.end()
        return match


_JWT_RUN = re.compile(rb"ey[A-Za-z0-9_-]*")


@cache
def _expression_for(first: int, undotted: bool) -> re.Pattern[bytes]:
    return re.compile(expression(chr(first), without="jwt" if undotted else "").encode())


def _in_context(data: memoryview, offsets: Int64s, places: list[Place], trigger: int) -> Int64s:
    """What the trigger's function finds from these places."""
    spans: set[tuple[int, int, int, int]] = set()
    for document, offset in places:
        lo, hi = int(offsets[document]), int(offsets[document + 1])
        for start, end in CONFIRM[trigger](data, lo, lo + offset, hi):
            spans.add((document, _family(trigger), start - lo, end - lo))
    chosen: list[tuple[int, int, int, int]] = []
    for span in sorted(spans):
        if not chosen or chosen[-1][0] != span[0] or chosen[-1][3] <= span[2]:
            chosen.append(span)
    return np.array(chosen, np.int64).reshape(-1, 4)


def span_of(match: re.Match[bytes], family: int, lo: int = 0) -> tuple[int, int] | None:
    """The span of the secret in a match of the family's expression; None if it fails a check.

    lo   the first byte of the document
    """
    if family == WALLET:
        return match.span() if is_wallet(match[0].decode("ascii")) else None
    if family == CREDENTIAL:
        return match.span("value") if is_credential(match, match.string, lo) else None
    name = match.lastgroup or ""
    group = f"{name}_value" if f"{name}_value" in match.re.groupindex else name
    if match[group] is None:  # another way to write it, without a name before the value
        group = name
    match_text, value = (match[part].decode("ascii", "replace") for part in (0, group))
    return match.span(group) if is_secret(name, match_text, value) else None
