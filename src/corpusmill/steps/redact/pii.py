"""Personal data: e-mail and IP addresses, telephone, social security, card and account numbers."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.text.buffers import view
from corpusmill.text.pii import IPV4, IPV6, KINDS, pii_spans
from corpusmill.text.replace import replace_spans

Kind = Literal["email", "ip", "phone", "ssn", "card", "iban"]


@dataclass(frozen=True, kw_only=True)
class Pii:
    """Replace personal data by placeholders that name their kind: "write to <EMAIL>".

    The same text gives the same result, wherever it stands: no placeholder is numbered or drawn from a list. It
    cannot be taken for an address itself, so a second pass, or an audit of the output, finds nothing. FineWeb writes
    email@example.com and 22.214.171.124 and others in turn; for the first of each, set the placeholders.

    What is recognised as each kind is defined in `corpusmill.text.pii`: numbers are checked (Luhn, mod 97), telephone
    numbers need a "+" or the American form. An IP address is replaced if it can be somebody's: not one of a private,
    shared, loopback or link-local network, and not unspecified, multicast, broadcast or reserved; `public_only=False`
    replaces those too. Addresses set aside for documentation (192.0.2.1, 2001:db8::1) are replaced like public ones:
    in a crawl they are as often a made-up name for a real host.

    The signals `emails`, `ips`, `phones`, `ssns`, `cards` and `ibans` count what was replaced, one for each kind asked
    for.

    Source: Penedo et al. 2024 (FineWeb), arXiv:2406.17557, for e-mail and public IP addresses; Soldaini et al. 2024
    (Dolma), arXiv:2402.00159, for telephone numbers too
    """

    kinds: tuple[Kind, ...] = ("email", "ip")
    public_only: bool = True  # of IP addresses
    email_placeholder: str = "<EMAIL>"
    ip_placeholder: str = "<IP>"
    phone_placeholder: str = "<PHONE>"
    ssn_placeholder: str = "<SSN>"
    card_placeholder: str = "<CARD>"
    iban_placeholder: str = "<IBAN>"

    def __post_init__(self) -> None:
        if not self.kinds:
            raise RecipeError(f"redact/pii: kinds is empty; it takes any of {', '.join(get_args(Kind))}")
        for kind in self.kinds:
            if kind not in get_args(Kind):
                near = did_you_mean(kind, get_args(Kind)) or "."
                raise RecipeError(f'redact/pii: no kind "{kind}"{near} It takes any of {", ".join(get_args(Kind))}')

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        text = docs["text"]
        spans = pii_spans(text, [name for name in KINDS if KIND_OF[name] in self.kinds])
        if self.public_only:
            spans = spans[~nobodys(text, spans)]
        placeholders = pa.array([getattr(self, f"{KIND_OF[name]}_placeholder") for name in KINDS], pa.large_string())
        found = replace_spans(text, spans, placeholders.take(pa.array(spans[:, 1])))
        redacted = docs.set_column(docs.schema.get_field_index("text"), docs.schema.field("text"), found)
        for kind in sorted(set(self.kinds), key=get_args(Kind).index):
            of_kind = [at for at, name in enumerate(KINDS) if KIND_OF[name] == kind]
            count = np.bincount(spans[np.isin(spans[:, 1], of_kind), 0], minlength=len(docs))
            redacted = redacted.append_column(f"{kind}s", pa.array(count, pa.int32()))
        return redacted


# Here both forms of IP address are one kind.
KIND_OF = {name: "ip" if name in ("ipv4", "ipv6") else name for name in KINDS}

NOBODYS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/128", "::1/128", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


def nobodys(text: pa.LargeStringArray, spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(spans,) whether each is an IP address that can be nobody's."""
    found = np.zeros(len(spans), bool)
    data, offsets = view(text)
    for at in np.flatnonzero(np.isin(spans[:, 1], [IPV4, IPV6])).tolist():
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
