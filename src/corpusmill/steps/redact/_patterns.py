"""Personal data that have a form: which kinds a recipe can name, and where they stand."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.steps.redact._found import Found
from corpusmill.text.buffers import view
from corpusmill.text.pii import IPV4, IPV6, KINDS, pii_spans

Kind = Literal["email", "ip", "phone", "ssn", "card", "iban", "mac", "secret", "wallet", "credential"]
NAMED: tuple[Kind, ...] = get_args(Kind)
# Here both forms of IP address are one kind.
KIND_OF = {name: "ip" if name in ("ipv4", "ipv6") else name for name in KINDS}


def find(texts: pa.LargeStringArray, kinds: tuple[Kind, ...], public_only: bool) -> Found:
    """What there is of these kinds; of IP addresses, with `public_only`, those that can be somebody's."""
    spans = pii_spans(texts, [name for name in KINDS if KIND_OF[name] in kinds])
    if public_only:
        spans = spans[~nobodys(texts, spans)]
    asked = tuple(kind for kind in NAMED if kind in kinds)
    number = [asked.index(KIND_OF[name]) if KIND_OF[name] in asked else -1 for name in KINDS]
    spans[:, 1] = np.array(number, np.int64)[spans[:, 1]]
    return Found(texts, spans, asked)


NOBODYS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/128", "::1/128", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


def nobodys(texts: pa.LargeStringArray, spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(spans,) whether each is an IP address that can be nobody's; the kinds are those of `corpusmill.text.pii`."""
    found = np.zeros(len(spans), bool)
    addresses = np.flatnonzero(np.isin(spans[:, 1], [IPV4, IPV6])).tolist()
    if not addresses:
        return found
    data, offsets = view(texts)
    for at in addresses:
        document, _, start, end = spans[at].tolist()
        found[at] = is_nobodys(data[offsets[document] + start : offsets[document] + end].tobytes().decode("ascii"))
    return found


@lru_cache(4096)
def is_nobodys(address: str) -> bool:
    """Whether an IP address belongs to a network of NOBODYS; an IPv4 address in the form of IPv6 is judged as IPv4.

    >>> is_nobodys("192.168.1.1"), is_nobodys("::ffff:10.0.0.1"), is_nobodys("192.0.2.1"), is_nobodys("8.8.8.8")
    (True, True, False, False)
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return any(ip in network for network in NOBODYS)
