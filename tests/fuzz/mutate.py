"""Bytes and texts, changed at random."""

import re
from collections.abc import Callable, Sequence
from random import Random

NUMBERS = [
    "0",
    "-1",
    "1",
    "7",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "99999999999",
    "1e999",
]
NUMBERS += ["-0", "1_0", "0x10", " 5", "5 ", "NaN", "1" * 400, ""]
BYTES = [
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xe2\x80\xa8",
    b'"',
]
BYTES += [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"BZh9", b"WARC/1.0\r\n", b"\x80" * 40, b" " * 300, b"\xf4\x90\x80\x80"]
JSON = ["{", "}", "[", "]", "null", "[" * 400, '{"a":' * 300, '"\\ud800"', '"\\u0000"', "1e400", "-", '"text"', "true"]


def mutated(random: Random, data: bytes, others: Sequence[bytes] = (), words: Sequence[bytes] = ()) -> bytes:
    """The data with one to six changes.

    others   data of the same kind, from which parts are taken
    words    what is inserted, besides BYTES
    """
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        data = random.choice(CHANGES)(random, data, others or (data,), words or BYTES)
    return data


def _flip(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _value(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A number of 1, 2, 4 or 8 bytes that is at an edge of its range."""
    size = random.choice((1, 2, 4, 8))
    if len(data) < size:
        return data
    at = random.randrange(len(data) - size + 1)
    number = random.choice(
        (0, 1, (1 << 8 * size) - 1, 1 << 8 * size - 1, random.getrandbits(8 * size), len(data) % 256)
    )
    return data[:at] + number.to_bytes(size, random.choice(("little", "big"))) + data[at + size :]


def _range(random: Random, data: bytes) -> tuple[int, int]:
    at = random.randrange(len(data) + 1)
    return at, min(len(data), at + random.choice((1, 2, 8, 60, 1000)))


def _remove(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    a, b = _range(random, data)
    return data[:a] + data[b:]


def _cut(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _repeat(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    a, b = _range(random, data)
    return data[:b] + data[a:b] * random.choice((1, 2, 50)) + data[b:]


def _blank(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    a, b = _range(random, data)
    return data[:a] + random.choice((b"\0", b"\xff", b" ")) * (b - a) + data[b:]


def _insert(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice((random.choice(words), random.choice(BYTES))) + data[at:]


def _splice(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    other = random.choice(others)
    a, b = _range(random, other)
    at, end = _range(random, data)
    return data[:at] + other[a:b] + data[random.choice((at, end)) :]


def _swap(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        a, b = random.randrange(len(lines)), random.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


CHANGES: list[Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]] = [
    *(_flip, _value, _remove, _cut, _repeat, _blank, _insert, _splice, _swap)
]


def replaced(random: Random, data: bytes, pattern: str, values: Sequence[str]) -> bytes:
    """The data with what one match of a pattern holds, or its last group, replaced by one of the values."""
    found = list(re.finditer(pattern.encode(), data))
    if not found:
        return data
    match = random.choice(found)
    group = len(match.groups())
    value = random.choice(values).encode("utf-8", "surrogatepass")
    return data[: match.start(group)] + value + data[match.end(group) :]
