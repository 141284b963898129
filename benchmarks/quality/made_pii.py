"""Sentences with personal data whose check digits are worked out here, and with what only looks like personal data."""

import base64
import hashlib
import json
import string
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TypeVar

import numpy as np

from corpusmill.text.pii import IBAN_SIZES

T = TypeVar("T")
Random = np.random.Generator
Maker = Callable[[Random], str]

LOWER, UPPER, HEX = string.ascii_lowercase, string.ascii_uppercase, "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
WORDS = "river stone market garden window letter silver morning paper harbour meadow copper winter".split()


def sentences(each: int, without: int, seed: int = 3) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
    """Text, and kind, first character and end of what it holds: `each` with a value of every kind, then `without`."""
    random = np.random.default_rng(seed)
    for kind, makers in VALUES.items():
        for number in range(each):
            value = makers[number % len(makers)](random)
            said = f"{pick(random, LOOK_ALIKES)(random)}. " if random.random() < 0.5 else ""
            before, after = pick(random, NAMED if kind == "credential" else AROUND).split("{}")
            start = len(said) + len(before)
            yield f"{said}{before}{value}{after}", [(kind, start, start + len(value))]
    for _ in range(without):
        yield ", ".join(pick(random, LOOK_ALIKES)(random) for _ in range(2)) + ".", []


AROUND = [
    "{}",
    "Please write down {} before you go.",
    "It was {}, or so they said.",
    "(see {})",
    "价格 {} 日本",
    "Größe: {}; naïve",
    'value="{}"',
    "<td>{}</td>",
    "one\n{}\ntwo",
    "  - {}\t2024",
]
NAMED = ['password = "{}"', "export API_KEY={}\n", "client_secret: '{}',", '{"auth_token": "{}"'[1:]]


def pick(random: Random, of: Sequence[T]) -> T:
    return of[int(random.integers(len(of)))]


def chars(random: Random, alphabet: str, size: int) -> str:
    return "".join(alphabet[i] for i in random.integers(0, len(alphabet), size))


def digits(random: Random, size: int) -> str:
    return chars(random, string.digits, size)


def form(*forms: str) -> Maker:
    """One of the forms, with "#" for a digit, "?" for a hexadecimal one, "*" for any letter or digit."""
    alphabets = {"#": string.digits, "?": HEX, "*": ALNUM}

    def make(random: Random) -> str:
        return "".join(chars(random, alphabets[c], 1) if c in alphabets else c for c in pick(random, forms))

    return make


# Values.


def email(random: Random) -> str:
    one, two = pick(random, WORDS), pick(random, WORDS)
    local = pick(random, [one, f"{one}.{two}", f"{one[0]}{two}", f"{one}_{digits(random, 2)}", f"{one}+{two}"])
    host = pick(random, [two, f"mail.{one}", f"{one}-{two}", f"a.b.{two}"])
    address = f"{local}@{host}.{pick(random, ['com', 'org', 'co.uk', 'de', 'edu', 'io', 'museum'])}"
    return address.upper() if random.random() < 0.05 else address


def ipv4(random: Random) -> str:
    """Any address that is not private or reserved, drawn by chance."""
    while True:
        address = IPv4Address(int(random.integers(1 << 24, 224 << 24)))
        if address.is_global:
            return str(address)


def ipv6(random: Random) -> str:
    """An address of 2000::/4, the most of it zeros or not, written in one of three ways."""
    groups = [f"2{chars(random, HEX, 3)}", *(chars(random, HEX, 4) for _ in range(7))]
    zeros = int(random.integers(0, 6))
    groups[7 - zeros : 7] = ["0000"] * zeros
    address = IPv6Address(":".join(groups))
    return pick(random, [str(address), address.exploded, str(address).upper()])


def american(random: Random) -> str:
    area = pick(random, [area for area in range(200, 1000) if area % 100 != 11])
    forms = ["({}) {}-{}", "{}-{}-{}", "{}.{}.{}", "1-{}-{}-{}", "+1 {} {} {}", "({}){}-{}", "{} {} {}"]
    return pick(random, forms).format(area, int(random.integers(200, 1000)), digits(random, 4))


INTERNATIONAL = (
    *(
        "+44 20 7### ####",
        "+44 (0)20 7### ####",
        "+4930########",
        "+49 30 ######",
        "+33 1 4# ## ## ##",
        "+34 91# ### ###",
    ),
    *(
        "+39 06 6### ####",
        "+61 2 9### ####",
        "+81 3-3###-####",
        "+86 10 6### ####",
        "+91 98### #####",
        "+353 1 ### ####",
    ),
    *(
        "+55 11 9####-####",
        "+41 44 ### ## ##",
        "+46 8 ### ### ##",
        "+31 20 ### ####",
        "+7 495 ###-##-##",
        "+48 22 ### ## ##",
    ),
)


def ssn(random: Random) -> str:
    area = pick(random, [area for area in range(1, 900) if area != 666])
    return f"{area:03}-{random.integers(1, 100):02}-{random.integers(1, 10_000):04}"


def luhn(number: str) -> int:
    """0 if ISO/IEC 7812 holds."""
    return sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(reversed(number))) % 10


def card(*prefixes: str, sizes: tuple[int, ...], wrong: bool = False) -> Maker:
    """A number with a prefix, whole or in groups of these sizes; with `wrong`, its last digit is off."""

    def make(random: Random) -> str:
        prefix = pick(random, prefixes)
        body = prefix + digits(random, sum(sizes) - len(prefix) - 1)
        last = (-luhn(body + "0") + (int(random.integers(1, 10)) if wrong else 0)) % 10
        number, joiner = f"{body}{last}", pick(random, ["", " ", "-"])
        return joiner.join(number[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes)))

    return make


FOURS = (4, 4, 4, 4)
MASTERCARD = [*map(str, range(51, 56)), *map(str, range(2221, 2721))]


def iban(random: Random, wrong: int = 0) -> str:
    """An account number of any country, whole or in groups; with `wrong`, its check digits are off by that much."""
    country = pick(random, sorted(IBAN_SIZES))
    rest = chars(random, pick(random, [UPPER, string.digits]), 4) + digits(random, IBAN_SIZES[country] - 8)
    check = 98 - int("".join(str(int(c, 36)) for c in f"{rest}{country}00")) % 97
    check = (check - 2 + wrong) % 97 + 2  # of 02 to 98
    whole = f"{country}{check:02}{rest}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4)) if random.random() < 0.5 else whole


def mac(random: Random) -> str:
    pairs = [f"a{chars(random, HEX, 1)}", *(chars(random, HEX, 2) for _ in range(5))]
    address = pick(random, [":", "-"]).join(pairs)
    return address.upper() if random.random() < 0.5 else address


def jwt(random: Random) -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": digits(random, 10)}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*coded, chars(random, ALNUM, 43)])


def block(label: str) -> Maker:
    """A key in PEM."""
    lines = form("\n".join(["*" * 64] * 4))
    return lambda random: f"-----BEGIN {label}-----\n{lines(random)}\n-----END {label}-----"


def aws(random: Random) -> str:
    return "AKIA" + chars(random, UPPER + "234567", 16)


def bitcoin(random: Random, wrong: bool = False) -> str:
    """Base58Check of a hash; with `wrong`, its checksum is of another."""
    payload = bytes([pick(random, [0, 5])]) + random.bytes(20)
    checked = payload if not wrong else payload[:-1] + bytes([payload[-1] ^ 1])
    whole = payload + hashlib.sha256(hashlib.sha256(checked).digest()).digest()[:4]
    number, digits = int.from_bytes(whole, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        digits = BASE58[digit] + digits
    return "1" * (len(whole) - len(whole.lstrip(b"\0"))) + digits


VALUES: dict[str, list[Maker]] = {
    "email": [email],
    "ip": [ipv4, ipv4, ipv6],
    "phone": [american, form(*INTERNATIONAL)],
    "ssn": [ssn],
    "card": [
        card("4", sizes=FOURS),
        card(*MASTERCARD, sizes=FOURS),
        card("34", "37", sizes=(4, 6, 5)),
        card("36", "38", "300", "305", sizes=(4, 6, 4)),
        card("6011", "645", "65", "3530", "62", sizes=FOURS),
        card("5018", "6304", "6759", "57", sizes=(18,)),
    ],
    "iban": [iban],
    "mac": [mac],
    "secret": [
        aws,
        jwt,
        block("RSA PRIVATE KEY"),
        block("OPENSSH PRIVATE KEY"),
        form(
            f"AIza{'*' * 35}", f"ghp_{'*' * 36}", f"glpat-{'*' * 20}", f"xoxb-{'#' * 12}-{'*' * 24}", f"hf_{'*' * 34}"
        ),
        form(f"sk_live_{'*' * 24}", f"sk-proj-{'*' * 48}", f"npm_{'*' * 36}", f"SG.{'*' * 22}.{'*' * 43}"),
    ],
    "wallet": [bitcoin, form("0x" + "?" * 40)],
    "credential": [form("*" * 20, "*" * 32), form("?" * 32)],
}

# What only looks like it.


def version(random: Random) -> str:
    """Four numbers, mostly of one digit."""
    while True:
        numbers = [str(min(int(random.geometric(0.25)), 99)) for _ in range(4)]
        if len("".join(numbers)) <= 5 and numbers[0] != "10" and len(set(numbers)) > 1:
            return f"{pick(random, WORDS)} {'.'.join(numbers)}"


def long_version(random: Random) -> str:
    """As of browsers, drivers and compilers, after the word that says so."""
    numbers = ".".join(str(random.integers(1, 256)) for _ in range(4))
    word = pick(random, ["version", "Version:", "release", "build", "rev.", "firmware v", "kernel", "driver"])
    return f"{word} {numbers}"


def private_ip(random: Random) -> str:
    one, two = random.integers(0, 256, 2)
    return pick(
        random, [f"10.0.{one}.{two}", f"192.168.{one}.{two}", f"172.16.{one}.{two}", f"127.0.0.{one}", "0.0.0.0"]
    )


def ean(random: Random) -> str:
    """The number of an article, with its check digit (ISO/IEC 15420)."""
    body = digits(random, 12)
    return f"EAN {body}{-sum(int(d) * (1 + 2 * (i % 2)) for i, d in enumerate(body)) % 10}"


def imei(random: Random) -> str:
    """The number of a telephone: 15 digits that pass Luhn's check."""
    return "IMEI " + card("35", "86", "01", sizes=(15,))(random)


def no_ssn(random: Random) -> str:
    area, group, last = int(random.integers(1, 900)), int(random.integers(1, 100)), digits(random, 4)
    return pick(random, [f"000-{group:02}-{last}", f"666-{group:02}-{last}", f"9{area % 100:02}-{group:02}-{last}"])


def hashed(random: Random) -> str:
    raw = random.bytes(16)
    return pick(random, [hashlib.md5(raw).hexdigest(), hashlib.sha256(raw).hexdigest(), str(uuid.UUID(bytes=raw))])


def words_as_secret(random: Random) -> str:
    words = pick(random, ["-", "_"]).join(pick(random, WORDS) for _ in range(5))
    return pick(random, ["password: {}", "sk-{}", "token={}", "secret = '{}'"]).format(words)


LOOK_ALIKES: list[Maker] = [
    version,
    version,
    long_version,
    private_ip,
    ean,
    imei,
    no_ssn,
    hashed,
    words_as_secret,
    card("4", *MASTERCARD, sizes=FOURS, wrong=True),
    card("34", "37", sizes=(4, 6, 5), wrong=True),
    lambda random: iban(random, wrong=int(random.integers(1, 97))),
    lambda random: bitcoin(random, wrong=True),
    block("PUBLIC KEY"),
    form("12:##:##", "at 09:##", "01:02:##:##", "2024-11-21T08:##:##Z", "0#:##:##.###"),
    form("2024-11-2#", "21.11.19##", "11/2#/2024", "12-31-19##", "19##-20##", "the 2#.3.#"),
    form(
        "order 112-#######-#######",
        "PO 45000#####",
        "invoice 2024-000###",
        "case 12-cv-0####",
        "#A-######",
        "part 1####-###",
    ),
    form("ISBN 978-3-16-######-#", "0-306-4####-#", "ISSN 1234-###X", "doi:10.1000/1##.##", "arXiv:24##.0####"),
    form(
        "256.#.1.1", "1.3.6.1.4.1.3##", "1.2.3.4.#", "300.2##.1.1", "3.14159265358979", "48.####, 2.####", "$1,2##.00"
    ),
    form("@river", "user@localhost", "lodash@4.17.##", "logo@2x.png", "a @ b", "#@#", "icon@3x.webp", "x@y"),
    form("std::string", "x[1::2]", "a::b", "dead:beef", "::1", "1##: 2##: 3##", "fc00::1"),
    form(
        "17########",
        "17###########",
        "1Z999AA1#########",
        "+5",
        "21-1#",
        "(12#) apples",
        "1#############",
        "+999 123 456 7##",
    ),
    form(
        "AKIA-EXAMPLE", "data:image/png;base64,iVBORw0KGgo****", "sha512-" + "*" * 43, "YOUR_API_KEY_HERE", "0x7f3a??"
    ),
]


def labelled(
    made: Iterable[tuple[str, list[tuple[str, int, int]]]],
) -> tuple[list[str], set[tuple[str, int, int, int]]]:
    """The texts, and (kind, text, first character, end) of what they hold."""
    texts, spans = [], set()
    for number, (text, these) in enumerate(made):
        texts.append(text)
        spans |= {(kind, number, start, end) for kind, start, end in these}
    return texts, spans
