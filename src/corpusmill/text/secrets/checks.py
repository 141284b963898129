"""What tells a secret from what only has its form: chance, checksums, and the habits of those who write examples."""

import base64
import binascii
import hashlib
import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

from corpusmill import assets

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
# What stands where a password would: whole values, in lower case.
PLACES = frozenset(
    "abc changeme credentials default example guest key login mypassword mysecret none null pass passwd passw0rd"
    " password password1 pw pwd secret test testing token user username value yourpassword".split()
)
UUID = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


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


def has_digits(value: str) -> bool:
    """Whether a value has enough digits for one of a vendor's form, a twentieth, and 2.2 bits of entropy per character.

    Less than `looks_random` asks, for values whose name and length say what they are: of 14 random small letters and
    digits 99 % pass, of 32 of [A-Za-z0-9] 98 %.

    >>> has_digits("k03xiyakayljbbu6acdhe6a7"), has_digits("characteristics"), has_digits("4836160015044000")
    (True, False, True)
    """
    digits = sum(c.isdigit() for c in value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
    return 20 * digits >= len(value) and entropy >= 2.2


def is_placeholder(value: str) -> bool:
    """Whether somebody wrote the value to show a form: "xxxxx" or "****" in it, three fifths of one character, eight
    letters of the alphabet in order, "EXAMPLE" at its end, or it is one of those that were published as examples.

    >>> [is_placeholder(v) for v in ("ghp_xxxxxxxxxxxx", "AKIA1234567EXAMPLE", "glc_1111111111", "glpat-4Fv9xXq2k")]
    [True, True, True, False]
    """
    lower = value.lower()
    if "xxxxx" in lower or "*****" in lower or lower.rstrip("=").endswith(("example", "examplekey")):
        return True
    if 5 * max(Counter(lower).values()) >= 3 * len(lower):
        return True
    if any(lower[at : at + 8] in ALPHABET for at in range(len(lower) - 7)):
        return True
    return hashlib.sha256(value.encode()).hexdigest() in published()


def published() -> frozenset[str]:
    """SHA-256 of the keys that were published as examples."""
    hashes: frozenset[str] = assets.load("published-keys", _read)
    return hashes


def _read(path: Path) -> frozenset[str]:
    return frozenset(line for line in path.read_text("ascii").split("\n") if line and line[0] != "#")


def is_password(value: str) -> bool:
    """Whether a short value may be somebody's password: six characters or more, of at least two of small letters,
    capitals, digits and marks; neither a variable (`$PASS`, `${pass}`, `{{ pass }}`, `<password>`, `%PASS%`) nor what
    stands in its place in manuals.

    >>> [is_password(v) for v in ("h0pk1ns~21s", "Tr0ub4dor", "hunter", "${DB_PASS}", "<password>", "XXXX-XXXXX")]
    [True, True, False, False, False, False]
    """
    if len(value) < 6 or value[0] in "$<%" or value.startswith(("{{", "[[", "${")) or "${" in value or "$(" in value:
        return False
    words = re.sub("[^a-z0-9]", "", value.lower())
    if words in PLACES or re.fullmatch(
        "(?:my|your|the|some|db|user|admin)?_?(?:pass(?:word|wd)?|secret|token|key)", words
    ):
        return False
    if "password" in words and value.islower() and value.replace("-", "").replace("_", "").isalpha():
        return False
    sorts = sum(any(test(c) for c in value) for test in (str.islower, str.isupper, str.isdigit))
    return sorts + (not value.isalnum()) >= 2 and not is_placeholder(value)


def is_token(value: str) -> bool:
    """Whether a JSON Web Token has a header: base64url of an object with "alg" (RFC 7519). A header that was changed
    by hand will do where the payload begins like one, too."""
    head, _, payload = value.partition(".")
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return re.match(r"ey[A-Za-z0-9_/\\-]{17,}\.", payload) is not None and len(head) >= 19
    return isinstance(header, dict) and "alg" in header


def is_coded_token(value: str) -> bool:
    """Whether a JSON Web Token is in base64 once more, maybe cut off."""
    encoded = value.rstrip("=").replace("-", "+").replace("_", "/")
    return is_token(base64.b64decode(encoded[: len(encoded) // 4 * 4]).decode("latin1"))


def is_basic(value: str) -> bool:
    """Whether a value is the base64 of a user and a password (RFC 7617).

    >>> is_basic("amFuZTpoNHBrMW5z"), is_basic("dXNlcjpwYXNzd29yZA=="), is_basic("Authentication")
    (True, False, False)
    """
    try:
        user, colon, password = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    if not colon or not (user + password).isprintable():
        return False
    return bool(user or password) and not (password.lower() in PLACES and user.lower() in {*PLACES, "admin", "root"})


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
        digits = [BECH32.index(c) for c in address[3:]]
        return _polymod([3, 3, 0, 2, 3, *digits]) == (1 if digits[0] == 0 else 0x2BC830A3)
    number = 0
    for c in address:
        number = number * 58 + BASE58.index(c)
    if number >= 1 << 200:
        return False
    decoded = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(decoded[:-4]).digest()).digest()[:4] == decoded[-4:] and decoded[0] in (0, 5)


def _polymod(values: list[int]) -> int:
    """The checksum of BIP 173."""
    sum_ = 1
    for value in values:
        top = sum_ >> 25
        sum_ = (sum_ & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            sum_ ^= generator * (top >> bit & 1)
    return sum_
