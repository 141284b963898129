"""Where secrets are in text: tokens and private keys, wallets, and values assigned to a name such as "password".

All of them have a run of 16 or more characters of [A-Za-z0-9_+/-], of which ordinary text has about one per
kilobyte, or begin with five dashes. A scan of bit maps stops only there and proposes positions with a known prefix or a
name; only these are matched with the regular expressions below, from left to right, ASCII; no [A-Za-z0-9_] is adjacent
to a match. The families:

    secret       a format of FORMATS; if it has a name before the value, the value alone. A JSON Web Token needs a
                 header with its algorithm; a private key needs at least 64 characters.
    wallet       a Bitcoin address with a valid checksum (Base58Check; Bech32 and Bech32m, BIP 173 and 350), or an
                 Ethereum address: 0x and 40 hexadecimal digits, at least six of them different
    credential   16 or more characters that `looks_random`, after a name that contains one of NAMES and ":", "=", ":="
                 or "=>", with or without quotes: the value

Of overlapping matches a secret is kept before a wallet, and a wallet before a credential.
"""

import base64
import binascii
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text import simd
from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, load8, load32, lowest_bit, moved_up
from corpusmill.text.spans import below

FAMILIES = ("secret", "wallet", "credential")
SECRET, WALLET, CREDENTIAL = range(len(FAMILIES))


@dataclass(frozen=True)
class Format:
    """One of these prefixes, then the rest: a regular expression whose group "value", if it has one, is the secret."""

    name: str
    prefixes: tuple[str, ...]
    rest: str

    @property
    def expression(self) -> str:
        rest = self.rest.replace("(?P<value>", f"(?P<{self.name}_value>")
        return f"(?P<{self.name}>(?:{'|'.join(map(re.escape, self.prefixes))}){rest})"


_GIVEN = r"[\"'`]?[ \t]{0,2}(?::=|=>|=|:)[ \t]{0,2}[\"'`]?"  # at most 8 characters: LONGEST_LINK

# From each vendor's documentation. A format needs a run of at least 16 characters of [A-Za-z0-9_+/-] at its beginning,
# or after a first word and at most LONGEST_LINK characters of [ \t"'`:=>.]; otherwise it is not proposed.
FORMATS = (
    Format("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}"),
    Format(
        "aws_secret_key",
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey", "secret_access_key"),
        _GIVEN + r"(?P<value>[A-Za-z0-9/+]{40})(?![/+=])",
    ),
    Format("google_api_key", ("AIza",), r"[A-Za-z0-9_-]{35}(?!-)"),
    Format("google_client_secret", ("GOCSPX-",), r"[A-Za-z0-9_-]{28}(?!-)"),
    Format("google_token", ("ya29.",), r"[A-Za-z0-9_-]{20,}"),
    Format("azure_storage_key", ("AccountKey=",), r"(?P<value>[A-Za-z0-9+/]{86}==)"),
    Format("azure_shared_key", ("SharedAccessKey=",), r"(?P<value>[A-Za-z0-9+/]{43}=)"),
    Format("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,255}"),
    Format("github_fine_token", ("github_pat_",), r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    Format("gitlab_token", ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"), r"[A-Za-z0-9_-]{20,}"),
    Format(
        "slack_token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"[A-Za-z0-9-]{16,}"
    ),
    Format("slack_webhook", ("slack.com/services/",), r"T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/(?P<value>[A-Za-z0-9]{20,})"),
    Format("stripe_key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}"),
    Format("stripe_webhook", ("whsec_",), r"[A-Za-z0-9+/]{32,}={0,2}"),
    Format("ai_key", ("sk-",), r"(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}"),
    Format("huggingface_token", ("hf_",), r"[A-Za-z0-9]{34,40}"),
    Format("npm_token", ("npm_",), r"[A-Za-z0-9]{36}"),
    Format("pypi_token", ("pypi-AgE",), r"[A-Za-z0-9_-]{50,}"),
    Format("sendgrid_key", ("SG.",), r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?!-)"),
    Format("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{64}"),
    Format("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[A-Fa-f0-9]{32}"),
    Format("twilio_key", ("SK",), r"[a-f0-9]{32}"),
    Format("jwt", ("eyJ",), r"[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}"),
)
# Up to its end line or, if that is cut off, as far as its lines go; "\n" may be written as two characters.
_PRIVATE_KEY = (
    r"(?P<private_key>-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){64,16384}-----END [A-Z0-9 ]{1,60}-----"
    r"|(?=(?:[^-]|-(?!----)){64})(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+))"
)
NAMES = (
    "api_?key access_?key auth bearer client_?secret credential encryption_?key passphrase passw(?:or)?d pwd"
    " private_?key secret signing_?key token"
).split()

WORD = "[A-Za-z0-9_]"
_TOKENS = f"(?:{'|'.join(form.expression for form in FORMATS)})(?!{WORD})"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
LONGEST_NAME, LONGEST_LINK, LONGEST_WALLET = 40, 8, 62

# By family: the pattern for candidates. In a bytes pattern, `\w` and `\s` are ASCII only.
EXPRESSIONS = (
    re.compile(f"{_TOKENS}|{_PRIVATE_KEY}".encode()),
    re.compile(
        f"(?:[13][{_BASE58}]{{25,34}}|bc1(?:[{_BECH32}]{{59}}|[{_BECH32}]{{39}})|0x[0-9A-Fa-f]{{40}})(?!{WORD})".encode()
    ),
    re.compile(
        rf"(?=[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}(?![A-Za-z0-9_-]))"
        rf"(?i:[A-Za-z0-9_-]*?(?:{'|'.join(NAMES)})[A-Za-z0-9_-]*){_GIVEN}"
        r"(?P<value>[A-Za-z0-9_+/-]{16,}={0,2})(?![A-Za-z0-9_+/=-])".encode()
    ),
)


def secret_spans(texts: pa.LargeStringArray, families: tuple[str, ...] = FAMILIES) -> NDArray[np.int64]:
    """The spans of secrets of these families.

    returns   (spans, 4) int64: document, family (an index of FAMILIES), first byte and end, counted in bytes from the
              beginning of the document; in order, without overlap
    """
    return secrets_in(view(texts), families)


def secrets_in(text: Text, families: tuple[str, ...]) -> NDArray[np.int64]:
    """`secret_spans` for documents that are viewed already, because a view can be a copy."""
    wanted = sum(1 << FAMILIES.index(family) for family in set(families))
    places = np.empty((64 + (int(text.offsets[-1] - text.offsets[0]) >> 10), 3), np.int64)
    while (count := _propose_all(text, wanted, places)) < 0:
        places = np.empty((2 * len(places), 3), np.int64)
    if not count:
        return np.empty((0, 4), np.int64)
    spans = np.empty((0, 4), np.int64)
    whole = text.data.data
    for family in (SECRET, WALLET, CREDENTIAL):
        proposed = places[:count][places[:count, 2] == family]
        keys = np.unique(proposed[:, 0] << 31 | proposed[:, 1])  # a document has less than 2**31 bytes
        spans = merged(_confirmed(whole, text.offsets, keys, family), spans)
    return spans


def merged(weaker: NDArray[np.int64], stronger: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both, in order, without the weaker ones that overlap a stronger one. Each input is in order and without
    overlap."""
    if not len(weaker) or not len(stronger):
        return stronger if len(stronger) else weaker
    starts, ends = (stronger[:, 0] << 31 | stronger[:, column] for column in (2, 3))
    first = np.searchsorted(ends, weaker[:, 0] << 31 | weaker[:, 2], side="right")
    following = np.append(starts, np.iinfo(np.int64).max)[first]
    both = np.concatenate([weaker[(weaker[:, 0] << 31 | weaker[:, 3]) <= following], stronger])
    return both[np.lexsort((both[:, 2], both[:, 0]))]


def _confirmed(
    whole: memoryview, offsets: NDArray[np.int64], places: NDArray[np.int64], family: int
) -> NDArray[np.int64]:
    """The matches of the family's expression at these places (document << 31 | byte, in order)."""
    spans, before, done = [], -1, 0
    for document, place in zip((places >> 31).tolist(), (places & (1 << 31) - 1).tolist()):
        if document != before:
            before, done = document, 0
        base = int(offsets[document])
        if place < done or not (match := EXPRESSIONS[family].match(whole, base + place, int(offsets[document + 1]))):
            continue
        if span := span_of(match, family):
            spans.append((document, family, span[0] - base, span[1] - base))
            done = match.end() - base
    return np.array(spans, np.int64).reshape(-1, 4)


def span_of(match: re.Match[bytes], family: int) -> tuple[int, int] | None:
    """The span of the secret in a match of the family's expression; None if it fails a check."""
    if family == WALLET:
        return match.span() if is_wallet(match[0].decode("ascii")) else None
    if family == CREDENTIAL:
        return match.span("value") if looks_random(match["value"].decode("ascii")) else None
    name = match.lastgroup or ""
    if name in CHECKS and not CHECKS[name](match[0].decode("ascii")):
        return None
    return match.span(f"{name}_value" if f"{name}_value" in match.re.groupindex else name)


def looks_random(value: str) -> bool:
    """Whether letters and digits alternate as in a random string, unlike in words, paths, dates and CamelCase.

    Needs a digit and a letter, 3 bits of entropy per character, and for every five letters and digits one change
    between lower case, upper case and digits, other than from upper to lower case. Of 20 random characters of
    [A-Za-z0-9], 97 % pass, of 32 random hexadecimal digits 99 %.

    >>> looks_random("wJalrXUtnFEMIK7MDENGbPxRfiCYz"), looks_random("my_database_password_2024")
    (True, False)
    """
    sorts = ["1" if c.isdigit() else "A" if c.isupper() else "a" for c in value if c.isalnum()]
    if "1" not in sorts or set(sorts) == {"1"}:
        return False
    changes = sum(a != b and (a, b) != ("A", "a") for a, b in pairwise(sorts))
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
    return 5 * changes >= len(sorts) and entropy >= 3


def is_token(value: str) -> bool:
    """Whether the first part of a JSON Web Token is a header: base64url of an object with "alg" (RFC 7519)."""
    head = value.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(header, dict) and "alg" in header


CHECKS: dict[str, Callable[[str], bool]] = {
    "ai_key": lambda value: looks_random(re.sub("^sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?", "", value)),
    "jwt": is_token,
}


def is_wallet(address: str) -> bool:
    """Whether an address of the right form is valid, by its checksum.

    >>> is_wallet("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), is_wallet("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")
    (True, False)
    >>> is_wallet("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
    True
    """
    if address.startswith("0x"):
        return len(set(address[2:].lower())) >= 6
    if address.startswith("bc1"):
        digits = [_BECH32.index(c) for c in address[3:]]
        return _polymod([3, 3, 0, 2, 3, *digits]) == (1 if digits[0] == 0 else 0x2BC830A3)
    number = 0
    for c in address:
        number = number * 58 + _BASE58.index(c)
    if number >= 1 << 200:
        return False
    whole = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(whole[:-4]).digest()).digest()[:4] == whole[-4:] and whole[0] in (0, 5)


def _polymod(values: list[int]) -> int:
    """The checksum of BIP 173."""
    sum_ = 1
    for value in values:
        top = sum_ >> 25
        sum_ = (sum_ & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            sum_ ^= generator * (top >> bit & 1)
    return sum_


# For the kernel: the first four bytes of every prefix, sorted; those with first byte b are _FROM[b:b + 2].

_HEADS = sorted({prefix.encode()[:4] for form in FORMATS for prefix in form.prefixes})
_VALUES = np.array([int.from_bytes(head.ljust(4, b"\0"), "little") for head in _HEADS], np.uint32)
_MASKS = np.array([(1 << 8 * len(head)) - 1 for head in _HEADS], np.uint32)
_FROM = np.searchsorted([head[0] for head in _HEADS], np.arange(257)).astype(np.int64)

TOKEN, IN_WORD, LINK, OPERATOR, NAME, COIN, DIGIT, CAPITAL, SMALL = np.uint16(1) << np.arange(9, dtype=np.uint16)
SORTS, NO_SORT = DIGIT | CAPITAL | SMALL, np.uint16(0)
_BYTES = np.zeros(256, np.uint16)
for _byte in range(128):
    _c = chr(_byte)
    _BYTES[_byte] = (
        TOKEN * (_c.isalnum() or _c in "_+/-")
        | IN_WORD * (_c.isalnum() or _c == "_")
        | LINK * (_c in " \t\"'`:=>.")
        | OPERATOR * (_c in ":=")
        | NAME * (_c.isalnum() or _c in "_-")
        | COIN * (_c in "13b0")
        | DIGIT * _c.isdigit()
        | CAPITAL * _c.isupper()
        | SMALL * _c.islower()
    )
_tokens_and_dashes = simd.masks(
    simd.either(
        simd.ascii_letter, simd.ascii_digit, simd.equal("_"), simd.equal("+"), simd.equal("/"), simd.equal("-")
    ),
    simd.equal("-"),
)
DASH, B = b"-B"


@kernel
def _propose_all(text: Text, wanted: int, places: NDArray[np.int64]) -> Any:
    """Write the places of all documents; returns how many there are, -1 if there is not enough room."""
    n: Any = np.int64(0)
    for d in range(len(text.offsets) - 1):
        n = _propose(text.data, text.offsets[d], text.offsets[d + 1], d, wanted, places, n)
        if n < 0:
            return n
    return n


@kernel
def _propose(
    data: NDArray[np.uint8], lo: int, hi: int, document: int, wanted: int, places: NDArray[np.int64], n: int
) -> int:
    """Append (document, place, family) for each place where a match may begin; returns the new count, -1 for no
    room."""
    # Bit i of the map t4 is set if the 4 bytes up to byte i are token characters, and so on; b4 is the previous map.
    b1 = b2 = b4 = b8 = b16 = e1 = e2 = e5 = NO_BITS
    for block in range(lo, hi, 64):
        tokens, dashes = _tokens_and_dashes(data, block)
        valid = below(min(hi - block, 64))
        t1, d1 = tokens & valid, dashes & valid
        t2 = t1 & moved_up(t1, b1, 1)
        t4 = t2 & moved_up(t2, b2, 2)
        t8 = t4 & moved_up(t4, b4, 4)
        t16 = t8 & moved_up(t8, b8, 8)
        long = t16 & ~moved_up(t16, b16, 1)
        b1, b2, b4, b8, b16 = t1, t2, t4, t8, t16
        d2 = d5 = fifth = NO_BITS
        if d1 != NO_BITS:
            d2 = d1 & moved_up(d1, e1, 1)
            d5 = d2 & moved_up(d2, e2, 2) & moved_up(d1, e1, 4)
            fifth = d5 & ~moved_up(d5, e5, 1)
        e1, e2, e5 = d1, d2, d5
        while long != NO_BITS:
            n = _token_run(data, lo, block + lowest_bit(long) - 15, hi, document, wanted, places, n)
            if n < 0:
                return n
            long &= long - ONE
        while fifth != NO_BITS and wanted & (1 << SECRET):
            end = block + lowest_bit(fifth) + 1
            fifth &= fifth - ONE
            while end < hi and load8(data, end) == DASH:
                end += 1
            if end < hi and load8(data, end) == B:
                if n == len(places):
                    return -1
                places[n, 0], places[n, 1], places[n, 2] = document, end - 5 - lo, SECRET
                n += 1
    return n


@inlined
def _is(data: NDArray[np.uint8], at: int, kinds: np.uint16) -> bool:
    return bool((_BYTES[load8(data, at)] & kinds) != 0)


@kernel
def _token_run(
    data: NDArray[np.uint8], lo: int, start: int, hi: int, document: int, wanted: int, places: NDArray[np.int64], n: int
) -> int:
    """Append the places where a run of token characters from `start` on, or the name before it, may begin a secret."""
    end = start
    changes = letters = 0  # as counted by `looks_random`
    digits = False
    sort = NO_SORT
    while end < hi and _is(data, end, TOKEN):
        now = _BYTES[load8(data, end)] & SORTS
        if now:
            changed = sort != NO_SORT and now != sort  # noqa: PLR1714 - numba knows no `in` over two types of number
            changes += changed and not (sort == CAPITAL and now == SMALL)
            digits |= now == DIGIT
            letters += 1
            sort = now
        end += 1
    if letters == 0:
        return n  # a line of dashes
    name = link = start
    given = False
    while link > lo and start - link < LONGEST_LINK and _is(data, link - 1, LINK):
        link -= 1
        given |= _is(data, link, OPERATOR)
    if link < start:
        name = link
        while name > lo and link - name < LONGEST_NAME and _is(data, name - 1, NAME):
            name -= 1
        if (
            wanted & (1 << CREDENTIAL)
            and given
            and digits
            and 5 * changes >= letters
            and name < link
            and not (name > lo and _is(data, name - 1, NAME))
        ):
            if n == len(places):
                return -1
            places[n, 0], places[n, 1], places[n, 2] = document, name - lo, CREDENTIAL
            n += 1
    for at in range(name, end):
        if not _is(data, at, IN_WORD) or (at > lo and _is(data, at - 1, IN_WORD)):
            continue
        if n + 2 > len(places):
            return -1
        if wanted & (1 << SECRET) and _has_prefix(data, at):
            places[n, 0], places[n, 1], places[n, 2] = document, at - lo, SECRET
            n += 1
        if wanted & (1 << WALLET) and _is(data, at, COIN):
            stop = at
            while stop < end and stop - at <= LONGEST_WALLET and _is(data, stop, IN_WORD):
                stop += 1
            if 26 <= stop - at <= LONGEST_WALLET:
                places[n, 0], places[n, 1], places[n, 2] = document, at - lo, WALLET
                n += 1
    return n


@inlined
def _has_prefix(data: NDArray[np.uint8], at: int) -> bool:
    first = load8(data, at)
    for i in range(_FROM[first], _FROM[first + 1]):
        if load32(data, at) & _MASKS[i] == _VALUES[i]:
            return True
    return False


def warm_up() -> None:
    secret_spans(pa.array(["key = AKIAIOSFODNN7EXAMPLE"], pa.large_string()))
