"""Another value for each personal one: always the same for the same value, and not to be traced back without the key.

A pseudonym looks like the value it replaces, and is from a range that is reserved, so that it belongs to nobody:

    email       user-….@example.com (RFC 2606)
    ip          198.18.0.0/15 for IPv4 (RFC 2544), 2001:db8::/32 for IPv6 (RFC 3849)
    phone       555-0100 to 555-0199 of an American area code, reserved for fiction
    ssn         000-dd-dddd, which is never issued
    card        9999…, a prefix of no card network, with as many digits in the same groups
    iban        ZZ00…, a code of no country, with as many characters in the same groups
    mac         02:…, locally administered (IEEE 802)
    others      kind-… (secret-…, person-…)

It is BLAKE2b of the value under the key (RFC 7693), so whoever has the key can test a guess, and nobody else can. The
131,072 pseudonyms of IPv4 and the 79,200 of telephone numbers are fewer than there are values: two may share one.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address

from corpusmill.text.pii.networks import address_of

# Letters only: with digits, the pseudonym of a credential would be found as a credential again.
HEX_AS_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def pseudonym(kind: str, value: str, key: bytes) -> str:
    """The pseudonym of a value.

    kind    of personal data, as a recipe names it
    key     up to 64 bytes

    Values with the same meaning have the same pseudonym: case is ignored where it means nothing, and the grouping of
    numbers.

    >>> pseudonym("email", "Jane@host.example", b"k" * 64), pseudonym("ssn", "219-09-9999", b"k" * 64)
    ('user-ahmoehhkhdbeefj@example.com', '000-94-4729')
    """
    hashed = blake2b(f"{kind}:{canonical(kind, value)}".encode(), key=key, digest_size=32).digest()
    return FORMS[kind](value, hashed) if kind in FORMS else f"{kind}-{_letters(hashed)}"


# What pseudonyms look like: every one of a kind that would be found as personal data again.
SHAPES = {
    "email": r"\buser-[a-p]{15}@example\.com\b",
    "ip": r"\b198\.1[89]\.[0-9]{1,3}\.[0-9]{1,3}\b|\b2001:db8(?::[0-9a-f]{0,4}){1,6}",
    "phone": r"(?:\+1-)?\b[2-9][0-9]{2}-555-01[0-9]{2}\b",
    "ssn": r"\b000[- ]?[0-9]{2}[- ]?[0-9]{4}\b",
    "card": r"\b9999(?:[- ]?[0-9]){8,15}\b",
    "iban": r"\bZZ00(?: ?[0-9]){11,30}\b",
    "mac": r"\b02(?:[:.-]?[0-9a-f]{2}){5}\b",
}


def canonical(kind: str, value: str) -> str:
    """One spelling for all ways to write the value."""
    if kind == "ip":
        return str(ip_address(address_of(value)))
    if kind == "phone":
        # Without the extension, the prefix of international calls ("00", "+") and "(0)".
        digits = re.sub(r"\D", "", re.split("[a-z]", value.lower())[0].replace("(0)", "")).removeprefix("00")
        return digits if value.startswith("+") or len(digits) > 10 else f"1{digits}"
    if kind in ("ssn", "card", "iban", "mac"):
        return re.sub("[^0-9a-z]", "", value.lower())
    return " ".join(value.lower().split()) if kind in ("email", "address", "person", "place") else value


def _letters(hashed: bytes) -> str:
    return hashed.hex()[:15].translate(HEX_AS_LETTERS)


def _digits(hashed: bytes, count: int) -> str:
    return str(int.from_bytes(hashed, "big") % 10**count).zfill(count)


def _in_the_groups_of(value: str, characters: str) -> str:
    """The characters, grouped by the separators of the value."""
    following = iter(characters)
    return "".join(next(following) if c.isalnum() else c for c in value)


def _ip(value: str, hashed: bytes) -> str:
    number = int.from_bytes(hashed[:12], "big")
    _, slash, length = value.partition("/")  # the length of a network's prefix is kept
    if ip_address(address_of(value)).version == 4:
        return str(IPv4Address((198 << 24 | 18 << 16) + (number & 0x1FFFF))) + slash + length
    return str(IPv6Address(0x20010DB8 << 96 | number)) + slash + length


def _phone(value: str, hashed: bytes) -> str:
    area, line = divmod(int.from_bytes(hashed[:8], "big") % (792 * 100), 100)
    number = f"{AREAS[area]}-555-01{line:02}"
    return f"+1-{number}" if value.startswith("+") else number


AREAS = [area for area in range(200, 1000) if area % 100 != 11]

FORMS: dict[str, Callable[[str, bytes], str]] = {
    "email": lambda _, hashed: f"user-{_letters(hashed)}@example.com",
    "ip": _ip,
    "phone": _phone,
    "ssn": lambda value, hashed: _in_the_groups_of(value, "000" + _digits(hashed, 6)),
    "card": lambda value, hashed: _in_the_groups_of(value, "9999" + _digits(hashed, 15)),
    "iban": lambda value, hashed: _in_the_groups_of(value, "ZZ00" + _digits(hashed, 30)),
    "mac": lambda value, hashed: _in_the_groups_of(value, "02" + hashed[:5].hex()),
}
