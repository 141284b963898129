"""IP addresses with what belongs to them: the length of a network's prefix ("/24", CIDR, RFC 4632), the name of a zone
("%eth0", RFC 4007), and the groups of IPv6 before a part in the form of IPv4 ("64:ff9b::192.0.2.1", RFC 6052)."""

import re

import numpy as np

from corpusmill.text.array_types import Int64s
from corpusmill.text.buffers import TextBuffer
from corpusmill.text.pii.addresses import LONGEST_IPV6, is_ipv6

_ZONE = re.compile(rb"%[A-Za-z][A-Za-z0-9._-]{0,14}(?<![._-])(?![\w%])")
_PREFIX = re.compile(rb"/(\d{1,3})(?![\w/]|[.-]\w)")
_GROUPS = re.compile(rb"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){1,6}:?(?:[0-9A-Fa-f]{1,4}:){0,5}\Z")
LONGEST_ZONE, LONGEST_PREFIX = 18, 6  # bytes, with what must follow
COLON = ord(":")


def extend_addresses(text: TextBuffer, spans: Int64s, ipv4: int, ipv6: int) -> Int64s:
    """The spans (document, kind, first byte, end; in order, without overlap) with those of these two kinds made longer.

    In a URL "/24" is the beginning of a path, and no part of the address.
    """
    spans = spans.copy()
    data = text.data.data
    for i in np.flatnonzero((spans[:, 1] == ipv4) | (spans[:, 1] == ipv6)).tolist():
        document, kind, start, end = spans[i].tolist()
        base, hi = int(text.offsets[document]), int(text.offsets[document + 1])
        followed = base + end < hi and data[base + end] in b"/%"
        if not followed and (kind == ipv6 or start == 0 or data[base + start - 1] != COLON):
            continue
        floor = int(spans[i - 1, 3]) if i and spans[i - 1, 0] == document else 0
        limit = int(spans[i + 1, 2]) if i + 1 < len(spans) and spans[i + 1, 0] == document else hi - base
        if kind == ipv4:
            before = bytes(data[base + max(floor, start - LONGEST_IPV6) : base + start])
            groups = _GROUPS.search(before) if before.endswith(b":") else None
            if groups and is_ipv6((groups[0] + bytes(data[base + start : base + end])).decode("ascii")):
                start -= len(groups[0])
                kind = ipv6
        after = bytes(data[base + end : min(hi, base + end + LONGEST_ZONE)])
        if kind == ipv6 and (zone := _ZONE.match(after)):
            end += zone.end()
        after = bytes(data[base + end : min(hi, base + end + LONGEST_PREFIX)])
        prefix = _PREFIX.match(after)
        in_url = start and bytes(data[base + start - 1 : base + start]) in (b"/", b"@", b"[")
        if prefix and not in_url and int(prefix[1]) <= (32 if kind == ipv4 else 128):
            end += prefix.end()
        if end <= limit:
            spans[i, 1:] = kind, start, end
    return spans


def address_of(value: str) -> str:
    """The address alone, as `ipaddress` reads it.

    >>> address_of("10.0.0.0/8"), address_of("fe80::1%eth0")
    ('10.0.0.0', 'fe80::1')
    """
    return value.partition("/")[0].partition("%")[0]
