"""URLs without what makes no difference, lists of domains and pages to find them in, and their registered domains."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bools, Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import PAD, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import K0, K1, P1, mix, quick_hash
from corpusmill.text.lowlevel import Bits, U, is_digit, is_letter, load8

_PARTS = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]*:)?//)?"  # scheme
    r"(?:[^/?#@]*@)?"  # user
    r"(?P<host>\[[^\]]*\]|[^/?#:]*)"
    r"(?::\d*)?"  # port
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?",
    re.IGNORECASE,
)
TAB, BREAK, RETURN, SPACE, DOT, SLASH, ZERO, NINE = b"\t\n\r ./09"
COLON, QUESTION, AT, HASH, OPEN, CLOSE, PLUS, DASH = b":?@#[]+-"
FIRST_SEPARATOR, LAST_SEPARATOR = 0x1C, 0x1F  # str.isspace is true of these four, too
WWW = np.frombuffer(b"www.", np.uint8)
NOWHERE = -1


@dataclass(frozen=True)
class Address:
    """A URL without scheme, user, port and fragment; the host in lower case."""

    host: str
    path: str  # "/a/b", empty for the home page
    query: str  # "?q=1", empty if there is none

    @classmethod
    def from_url(cls, url: str) -> "Address":
        """The parts of a URL, or of a bare "host/path". Never fails: without a host, `host` is empty.

        >>> Address.from_url("HTTPS://me@Example.COM.:8080/A/b/?q=1#top")
        Address(host='example.com', path='/A/b', query='?q=1')
        """
        parts = _PARTS.match(url.strip())
        assert parts is not None  # every part of the expression may be empty
        host = parts["host"].lower().rstrip(".")
        if not host.isascii():
            with suppress(UnicodeError):  # a name that resolvers refuse is compared as it is written
                host = host.encode("idna").decode("ascii")
        return cls(host, parts["path"].rstrip("/"), parts["query"] or "")


class Addresses(NamedTuple):
    """The addresses of a batch as kernels take them.

    data    (bytes + at least PAD,) uint8: host, path and query of each address, without anything between them
    spans   (documents, 6) int64: where the address begins, its host ends, its path ends, its query ends; and where the
            text begins and ends whose words are those of the address. -1 without an address
    """

    data: Bytes
    spans: Int64s


class Hashes(NamedTuple):
    """A set of names by their 64-bit hashes: 9 bytes a name, where a set of strings takes 150 or more.

    The probability that a name which is not listed matches is 3e-13 at five million names.

    keys    (names + 1,) uint64, sorted, without repeats; the largest number ends it
    first   (a power of two,) int32: the first key with these top bits, or the next one
    shift   how many bits are below the top bits
    """

    keys: UInt64s
    first: Int32s
    shift: np.uint64

    @classmethod
    def from_keys(cls, keys: UInt64s) -> "Hashes":
        keys = np.unique(keys)
        bits = max(len(keys).bit_length() - 2, 1)
        shift = np.uint64(64 - bits)
        first = np.searchsorted(keys, np.arange(1 << bits, dtype=np.uint64) << shift).astype(np.int32)
        return cls(np.append(keys, np.uint64(2**64 - 1)), first, shift)


def parse(urls: pa.StringArray | pa.LargeStringArray) -> Addresses:
    """The address of each URL, as `Address.from_url`, which parses the few that are not ASCII; none for a null."""
    text = view(urls.cast(pa.large_string()))
    data = np.empty(int(text.offsets[-1] - text.offsets[0]) + PAD, np.uint8)
    spans = np.empty((len(urls), 6), np.int64)
    used = _parse(text.data, text.offsets, data, spans)
    others: list[bytes] = []
    for row in np.flatnonzero(spans[:, 0] == NOWHERE).tolist():
        address = Address.from_url(urls[row].as_py())
        parts = [address.host, address.path, address.query]
        encoded_parts = [part.encode() for part in (*parts, "", "".join(parts).lower())]
        spans[row] = np.cumsum([used, *map(len, encoded_parts)])
        used = int(spans[row, -1])
        others += encoded_parts
    if others:
        added = np.frombuffer(b"".join(others), np.uint8)
        data = np.concatenate([data[: used - len(added)], added, np.zeros(PAD, np.uint8)])
    if urls.null_count:
        spans[urls.is_null().to_numpy(zero_copy_only=False)] = NOWHERE
    return Addresses(data, spans)


def domain_hashes(entries: Iterable[str]) -> Hashes:
    """The hosts of these addresses, to be found by `find_domains`."""
    return _hashes(entries, pages=False)


def page_hashes(entries: Iterable[str]) -> Hashes:
    """These addresses, if they have a host, to be found by `find_pages`."""
    return _hashes(entries, pages=True)


def _hashes(entries: Iterable[str], pages: bool) -> Hashes:
    addresses = parse(pa.array(entries, pa.large_string()))
    keys = np.empty(len(addresses.spans), np.uint64)
    return Hashes.from_keys(keys[: _keys(addresses, pages, keys)])


def find_domains(addresses: Addresses, selected: Bools, listed: Hashes) -> Int64s:
    """(documents, 2) where in `data` the longest listed domain of each selected address begins and ends, -1 for none:
    its host or a parent domain; of an IP address the whole alone."""
    spans = np.empty((len(selected), 2), np.int64)
    _find_domains(addresses, selected, listed, spans)
    return spans


def find_pages(addresses: Addresses, selected: Bools, listed: Hashes) -> Int64s:
    """(documents, 2) where in `data` the deepest listed page of each selected address begins and ends, -1 for none: the
    address without a leading "www.", with its query or without, or a folder above it."""
    spans = np.empty((len(selected), 2), np.int64)
    _find_pages(addresses, selected, listed, spans)
    return spans


def sites(addresses: Addresses) -> pa.StringArray:
    """The registered domain of each host, one label below a public suffix; null for an IP address and a bare suffix.

    >>> urls = pa.array(["http://www.shop.example.co.uk/", "http://me.github.io", "http://10.0.0.7"])
    >>> sites(parse(urls)).to_pylist()
    ['example.co.uk', 'me.github.io', None]
    """
    spans = np.empty((len(addresses.spans), 2), np.int64)
    _find_sites(addresses, *_suffixes(), spans)
    return pieces(addresses, spans)


def site_keys(addresses: Addresses) -> UInt64s:
    """(documents,) a hash of the registered domain of each, or of the host that has none; 0 without a host."""
    spans = np.empty((len(addresses.spans), 2), np.int64)
    _find_sites(addresses, *_suffixes(), spans)
    spans = np.where(spans[:, :1] == NOWHERE, addresses.spans[:, :2], spans)
    keys = np.zeros(len(spans), np.uint64)
    _site_keys(addresses.data, spans, keys)
    return keys


@kernel
def _site_keys(data: Bytes, spans: Int64s, keys: UInt64s) -> None:
    for i in range(len(keys)):
        if spans[i, 1] > spans[i, 0]:
            keys[i] = quick_hash(data, spans[i, 0], spans[i, 1] - spans[i, 0])


def pieces(addresses: Addresses, spans: Int64s) -> pa.StringArray:
    """The strings data[begin:end] of each span, null where it begins at -1."""
    offsets = np.zeros(len(spans) + 1, np.int32)
    present = spans[:, 0] != NOWHERE
    if not present.any():
        return pa.nulls(len(spans), pa.string())
    np.cumsum(np.where(present, spans[:, 1] - spans[:, 0], 0), out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    _copy(addresses.data, spans, data)
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.StringArray.from_buffers(len(spans), pa.py_buffer(offsets), pa.py_buffer(data), valid)


EXACT, WILDCARD, EXCEPTION = 1, 2, 4


@cache
def top_level_domains() -> tuple[str, ...]:
    """The top-level domains that are installed with publicsuffixlist, in ASCII: "com", "xn--p1ai"."""
    from publicsuffixlist import PSLFILE

    rules = (line.split(" ")[0].strip().lower() for line in Path(PSLFILE).read_text("utf-8").splitlines())
    last = {rule.rpartition(".")[2] for rule in rules if rule and not rule.startswith("//")}
    return tuple(sorted(name if name.isascii() else name.encode("idna").decode("ascii") for name in last))


@cache
def _suffixes() -> tuple[Hashes, Bytes]:
    """The rules of publicsuffix.org that are installed with publicsuffixlist, by the name without "*." and "!"; and
    which of EXACT, WILDCARD and EXCEPTION there are for each key."""
    from publicsuffixlist import PSLFILE

    kinds: dict[str, int] = {}
    for line in Path(PSLFILE).read_text("utf-8").splitlines():
        rule = line.lower().split(" ")[0].rstrip()
        if rule and not rule.startswith("//"):
            kind = WILDCARD if rule.startswith("*.") else EXCEPTION if rule.startswith("!") else EXACT
            name = rule.removeprefix("*.").removeprefix("!")
            for spelled in (name,) if name.isascii() else (name, name.encode("idna").decode("ascii")):
                kinds[spelled] = kinds.get(spelled, 0) | kind
    keys = _hashes_of_names(list(kinds))
    listed = Hashes.from_keys(keys)
    by_key = np.zeros(len(listed.keys), np.uint8)
    by_key[np.searchsorted(listed.keys, keys)] = list(kinds.values())
    return listed, by_key


def _hashes_of_names(names: Sequence[str]) -> UInt64s:
    text = view(pa.array(names, pa.large_string()))
    spans = np.repeat(text.offsets[1:, None], 6, axis=1)
    spans[:, 0] = text.offsets[:-1]
    keys = np.empty(len(names), np.uint64)
    _keys(Addresses(np.array(text.data), spans), False, keys)
    return keys


@inlined
def _is_space(byte: Bits) -> Any:
    return TAB <= byte <= RETURN or byte == SPACE or FIRST_SEPARATOR <= byte <= LAST_SEPARATOR


@inlined
def _ends_host(byte: Bits) -> Any:
    return byte in (SLASH, QUESTION, HASH)


@inlined
def _after_scheme(data: Bytes, at: int, end: int) -> Any:
    """Where the scheme and its "//" end, or `at`."""
    i = at
    if i < end and is_letter(load8(data, i)):
        byte = load8(data, i)
        while i < end and (is_letter(byte) or is_digit(byte) or byte in (PLUS, DOT, DASH)):
            i += 1
            byte = load8(data, i)
        if i == end or byte != COLON:
            return at
        i += 1
    return i + 2 if i + 2 <= end and load8(data, i) == SLASH and load8(data, i + 1) == SLASH else at


@kernel
def _parse(data: Bytes, offsets: Int64s, out: Bytes, spans: Int64s) -> int:
    """Write the addresses of URLs to `out`, and to `spans` where they are; returns how many bytes were written.

    A URL with other characters than ASCII begins at -1, and is left to the caller.
    """
    used = np.int64(0)
    for d in range(len(spans)):
        at, end = offsets[d], offsets[d + 1]
        all_bits = np.uint8(0)
        for i in range(at, end):
            all_bits |= data[i]
        if all_bits >= 0x80:
            spans[d, :] = NOWHERE
            continue
        while at < end and _is_space(load8(data, at)):
            at += 1
        while at < end and _is_space(load8(data, end - 1)):
            end -= 1
        at = _after_scheme(data, at, end)
        i = at
        colon = np.int64(NOWHERE)
        while i < end and not _ends_host(load8(data, i)) and load8(data, i) != AT:
            colon = i if load8(data, i) == COLON and colon < 0 else colon
            i += 1
        user = i < end and load8(data, i) == AT
        host = at = i + 1 if user else at
        if at < end and load8(data, at) == OPEN:
            while at < end and load8(data, at) != CLOSE:
                at += 1
            at = at + 1 if at < end else host
        if at == host and not user:
            at = i if colon < 0 else colon
        elif at == host:
            while at < end and not _ends_host(load8(data, at)) and load8(data, at) != COLON:
                at += 1
        host_end = at
        while host_end > host and load8(data, host_end - 1) == DOT:
            host_end -= 1
        if at < end and load8(data, at) == COLON:
            at += 1
            while at < end and is_digit(load8(data, at)):
                at += 1

        path = at
        while at < end and load8(data, at) != QUESTION and load8(data, at) != HASH:
            at += 1
        path_end = at
        while path_end > path and load8(data, path_end - 1) == SLASH:
            path_end -= 1
        query = at
        if at < end and load8(data, at) == QUESTION:
            while at < end and load8(data, at) != HASH:
                at += 1

        spans[d, 0] = spans[d, 4] = used
        for i in range(host, host_end):
            byte = data[i]
            out[used] = byte | 0x20 if 65 <= byte <= 90 else byte
            used += 1
        spans[d, 1] = used
        for i in range(path, path_end):
            out[used] = data[i]
            used += 1
        spans[d, 2] = used
        for i in range(query, at):
            out[used] = data[i]
            used += 1
        spans[d, 3] = spans[d, 5] = used
    return int(used)


# Hashes are computed byte by byte, from the side on which all names of an address begin alike: so all of them cost one
# pass, however long an address is.
@inlined
def _step(h: Bits, byte: Bits) -> Bits:
    return (h ^ U(byte)) * P1


@inlined
def _key(h: Bits, size: int) -> Bits:
    return mix(h ^ K1, U(size) ^ K0)


@inlined
def _find_key(listed: Hashes, key: Bits) -> Any:
    """Where the key is in `listed`, or -1."""
    at = np.int64(listed.first[key >> listed.shift])
    while listed.keys[at] < key:
        at += 1
    return at if listed.keys[at] == key and at < len(listed.keys) - 1 else NOWHERE


@inlined
def _is_ip(data: Bytes, begin: int, end: int) -> Any:
    r"""Whether a host is an IP address, as the expressions \[.*\] and [0-9.]+ say it."""
    if load8(data, begin) == OPEN and load8(data, end - 1) == CLOSE:
        for i in range(begin, end):
            if load8(data, i) == BREAK:
                return False
        return True
    for i in range(begin, end):
        if not is_digit(load8(data, i)) and load8(data, i) != DOT:
            return False
    return True


@kernel
def _find_domains(addresses: Addresses, selected: Bools, listed: Hashes, domains: Int64s) -> None:
    data, spans = addresses
    for d in range(len(spans)):
        domains[d, :] = NOWHERE
        begin, end = spans[d, 0], spans[d, 1]
        if not selected[d] or begin == end:
            continue
        is_ip = _is_ip(data, begin, end)
        h = K0
        for i in range(end - 1, begin - 1, -1):
            h = _step(h, load8(data, i))
            ends = i == begin or (not is_ip and load8(data, i - 1) == DOT)
            if ends and _find_key(listed, _key(h, end - i)) >= 0:
                domains[d, 0], domains[d, 1] = i, end


@kernel
def _find_pages(addresses: Addresses, selected: Bools, listed: Hashes, pages: Int64s) -> None:
    data, spans = addresses
    for d in range(len(spans)):
        pages[d, :] = NOWHERE
        if not selected[d] or spans[d, 0] == spans[d, 1]:
            continue
        begin = _page(data, spans[d, 0], spans[d, 1])
        h = K0
        for i in range(begin, spans[d, 3] + 1):
            folder = spans[d, 1] <= i < spans[d, 2] and load8(data, i) == SLASH
            ends = folder or i == spans[d, 2] or i == spans[d, 3]
            if ends and _find_key(listed, _key(h, i - begin)) >= 0:
                pages[d, 0], pages[d, 1] = begin, i
            if i < spans[d, 3]:
                h = _step(h, load8(data, i))


@inlined
def _page(data: Bytes, begin: int, end: int) -> Any:
    """Where the page of a host begins: after "www."."""
    i = 0
    while i < len(WWW) and begin + i < end and load8(data, begin + i) == WWW[i]:
        i += 1
    return begin + i if i == len(WWW) else begin


@kernel
def _keys(addresses: Addresses, pages: bool, keys: UInt64s) -> int:
    """Write the key of each host, or of each page if it has a host; returns how many there are."""
    data, spans = addresses
    count = 0
    for d in range(len(spans)):
        begin, end = spans[d, 0], spans[d, 1]
        h = K0
        if pages:
            if begin == end:
                continue
            begin, end = _page(data, begin, end), spans[d, 3]
            for i in range(begin, end):
                h = _step(h, load8(data, i))
        else:
            for i in range(end - 1, begin - 1, -1):
                h = _step(h, load8(data, i))
        keys[count] = _key(h, end - begin)
        count += 1
    return count


@kernel
def _find_sites(addresses: Addresses, rules: Hashes, kinds: Bytes, domains: Int64s) -> None:
    """Write where the registered domain of each host begins and ends, -1 if it has none.

    The public suffix is that of the longest rule: its own labels, one more for a wildcard and one less for an
    exception. The parent of a wildcard is public itself. Without a rule it is the last label.
    """
    data, spans = addresses
    for d in range(len(spans)):
        domains[d, :] = NOWHERE
        begin, end = spans[d, 0], spans[d, 1]
        if begin == end or _is_ip(data, begin, end):
            continue
        h = K0
        depth = 0
        public = 1
        empty = load8(data, begin) == DOT
        for i in range(end - 1, begin - 1, -1):
            h = _step(h, load8(data, i))
            if i > begin and load8(data, i - 1) != DOT:
                continue
            empty |= load8(data, i) == DOT
            depth += 1
            at = _find_key(rules, _key(h, end - i))
            if at >= 0:
                if kinds[at] & EXCEPTION:
                    public = depth - 1
                elif kinds[at] & WILDCARD and i > begin:
                    public = depth + 1
                else:
                    public = depth
        if empty or depth <= public:
            continue
        i = end
        while i > begin and public >= 0:
            i -= 1
            public -= i > begin and load8(data, i - 1) == DOT
        domains[d, 0], domains[d, 1] = i, end


@kernel
def _copy(data: Bytes, spans: Int64s, out: Bytes) -> None:
    used = 0
    for d in range(len(spans)):
        if spans[d, 0] != NOWHERE:
            for i in range(spans[d, 0], spans[d, 1]):
                out[used] = data[i]
                used += 1


def warm_up() -> None:
    """Compile all of this file."""
    addresses = parse(pa.array(["http://example.org/a", None]))
    selected = np.ones(2, np.bool_)
    find_domains(addresses, selected, domain_hashes(["example.org"]))
    find_pages(addresses, selected, page_hashes(["example.org/a"]))
    sites(addresses)
    site_keys(addresses)
