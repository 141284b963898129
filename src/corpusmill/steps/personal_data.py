"""Personal data with a recognisable form: which kinds a recipe can name, and where they are in the texts.

annotate/pii counts them and redact/pii replaces them; both look here, so that they mean the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal, Protocol, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.text.buffers import view
from corpusmill.text.pii import IPV4, IPV6, KINDS, Forms, ids, pii_spans
from corpusmill.text.pii.networks import address_of
from corpusmill.text.pii.phones import COUNTRIES
from corpusmill.text.secrets import merged

Kind = Literal[
    "email",
    "ip",
    "phone",
    "ssn",
    "card",
    "iban",
    "mac",
    "secret",
    "wallet",
    "credential",
    "address",
    "us_itin",
    "us_passport",
    "us_npi",
    "us_mbi",
    "aba_routing",
    "ca_sin",
    "uk_nhs",
    "uk_nino",
    "uk_passport",
    "uk_postcode",
    "au_abn",
    "au_acn",
    "au_tfn",
    "au_medicare",
    "in_pan",
    "in_aadhaar",
    "sg_fin",
    "de_tax_id",
    "de_vat_id",
    "es_nif",
    "es_nie",
    "fr_nir",
    "it_fiscal_code",
    "nl_bsn",
    "pl_pesel",
    "fi_personal_identity_code",
    "se_personnummer",
    "tr_national_id",
    "kr_rrn",
    "th_tnin",
    "cn_resident_id",
    "br_cpf",
    "ng_nin",
    "date",
    "url",
]
KNOWN: tuple[Kind, ...] = get_args(Kind)
NAMED: tuple[Kind, ...] = KNOWN[
    :11
]  # those that are looked for everywhere; the others are national numbers, dates, URLs
FormsOf = Literal["any", "plain"]
# Here both forms of IP address are one kind.
KIND_OF = {name: "ip" if name in ("ipv4", "ipv6") else name for name in (*KINDS, *ids.NAMES)}
SCANNED = (*KINDS, *ids.NAMES)  # as the searches number them
CHAIN = 8  # searches of a text; those that nobody made to be slow need three
SPANS = pa.list_(pa.struct([("kind", pa.string()), ("start", pa.int64()), ("end", pa.int64())]))


class RegionSettings(Protocol):
    """Which countries' telephone numbers a document may have (ISO 3166, two capitals)."""

    def __call__(self, document: int) -> tuple[str, ...]: ...


class Nowhere:
    def __call__(self, document: int) -> tuple[str, ...]:
        return ()


def count_of(kind: str) -> str:
    """The name of the signal that counts a kind.

    >>> count_of("email"), count_of("address")
    ('emails', 'addresses')
    """
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


@dataclass(frozen=True)
class PersonalData:
    """Personal data in the texts of a batch.

    texts   (documents,) large_string
    spans   (spans, 4) int64: document, kind (an index of `kinds`), first byte, end; in order, without overlap
    kinds   as a recipe names them
    """

    texts: pa.LargeStringArray
    spans: NDArray[np.int64]
    kinds: tuple[str, ...]

    def columns(self, with_spans: bool) -> dict[str, pa.Array]:
        """The signals: the count of each kind as `<kind>s` (`addresses`), of all kinds as `found`, and on request
        their `spans`."""
        document, kind = self.spans[:, 0], self.spans[:, 1]
        counts = [np.bincount(document[kind == k], minlength=len(self.texts)) for k in range(len(self.kinds))]
        columns = {count_of(name): pa.array(count, pa.int32()) for name, count in zip(self.kinds, counts)}
        total = np.bincount(document, minlength=len(self.texts))
        columns["found"] = pa.array(total, pa.int32())
        if with_spans:
            spans = pa.StructArray.from_arrays(
                [pa.array(self.kinds, pa.string()).take(pa.array(kind)), *(pa.array(self.spans[:, c]) for c in (2, 3))],
                fields=list(SPANS.value_type),
            )
            offsets = pa.array(np.concatenate([[0], np.cumsum(total)]), pa.int32())
            columns["spans"] = pa.ListArray.from_arrays(offsets, spans, type=SPANS)
        return columns

    def values(self, spans: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """Kind and text of each of these spans."""
        data, offsets = view(self.texts)
        for document, kind, start, end in spans.tolist():
            base = int(offsets[document])
            yield self.kinds[kind], data[base + start : base + end].tobytes().decode()


def find(
    texts: pa.LargeStringArray,
    kinds: tuple[Kind, ...],
    public_only: bool,
    forms: FormsOf = "any",
    regions: RegionSettings | None = None,
) -> PersonalData:
    """The personal data of these kinds; with `public_only`, without the IP addresses that are not public.

    regions   document -> the countries whose telephone numbers it may have

    What is found is blanked and the rest searched again, until nothing more is found: in "a@host.example.8.8.8.8" the
    e-mail address ends where the IP address begins, and is seen once that is out of the way. In a chain of these, as in
    "8.8.8.8::8.8.8.8::…", each search would find one more: after CHAIN searches what is around it counts as part of it,
    64 bytes on each side and then four times as many each time, so that a search of n bytes is repeated log n times.
    """
    names = [name for name in SCANNED if KIND_OF[name] in kinds]
    search = _Search(names, public_only, forms, regions or Nowhere())
    spans = search(texts, np.arange(len(texts)))
    new, searches = spans, 1
    while len(new):
        rows = np.unique(new[:, 0])
        in_rows = spans[np.isin(spans[:, 0], rows)]
        in_rows[:, 0] = np.searchsorted(rows, in_rows[:, 0])
        new = search(_blanked(texts.take(pa.array(rows)), in_rows), rows)
        new[:, 0] = rows[new[:, 0]]
        searches += 1
        if searches > CHAIN:
            new = _widened(texts, new, 16 * 4 ** (searches - CHAIN))
            spans = _joined(np.concatenate([spans, new]))
        else:
            spans = np.concatenate([spans, new])
    spans = spans[np.lexsort((spans[:, 2], spans[:, 0]))]
    listed = tuple(kind for kind in KNOWN if kind in kinds)
    number = [listed.index(KIND_OF[name]) if KIND_OF[name] in listed else -1 for name in SCANNED]
    spans[:, 1] = np.array(number, np.int64)[spans[:, 1]]
    return PersonalData(texts, spans, listed)


@dataclass(frozen=True)
class _Search:
    """One search: of texts that are the given rows of the batch."""

    names: list[str]
    public_only: bool
    forms: FormsOf
    regions: RegionSettings

    def __call__(self, texts: pa.LargeStringArray, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        any_form = self.forms == "any"
        forms = Forms(any_form, not self.public_only, any_form, _DocumentRegions(self.regions, rows), networks=any_form)
        spans = pii_spans(texts, [name for name in self.names if name in KINDS], forms)
        if numbers := [name for name in self.names if name not in KINDS]:
            national = ids.id_spans(view(texts), numbers)
            national[:, 1] += len(KINDS)
            spans = merged(national, spans)
        return spans[~not_public(texts, spans)] if self.public_only else spans


@dataclass(frozen=True)
class _DocumentRegions:
    """The regions of some documents."""

    regions: RegionSettings
    rows: NDArray[np.int64]

    def __getitem__(self, number: int) -> tuple[str, ...]:
        return self.regions(int(self.rows[number]))


def _widened(texts: pa.LargeStringArray, spans: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The spans with so many bytes more on each side, or as many as there are, in whole characters."""
    data, offsets = view(texts)
    wide = spans.copy()
    for row, (document, _, start, end) in enumerate(spans.tolist()):
        lo, hi = offsets[document : document + 2].tolist()
        first, last = max(lo, lo + start - width), min(hi, lo + end + width)
        while first > lo and data[first] & 0xC0 == 0x80:
            first -= 1
        while last < hi and data[last] & 0xC0 == 0x80:
            last += 1
        wide[row, 2:] = first - lo, last - lo
    return wide


def _joined(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans in order, those that overlap as one, of the kind of the first."""
    joined: list[list[int]] = []
    for document, kind, start, end in spans[np.lexsort((spans[:, 2], spans[:, 0]))].tolist():
        if joined and joined[-1][0] == document and start < joined[-1][3]:
            joined[-1][3] = max(joined[-1][3], end)
        else:
            joined.append([document, kind, start, end])
    return np.array(joined, np.int64)


def _blanked(texts: pa.LargeStringArray, spans: NDArray[np.int64]) -> pa.LargeStringArray:
    """The texts with each span overwritten by "<>>>…" of the same length, which like a placeholder is no data."""
    data, offsets = view(texts)
    blanked = data.copy()
    for document, _, start, end in spans.tolist():
        base = int(offsets[document])
        blanked[base + start : base + end] = ord(">")
        blanked[base + start] = ord("<")
    return pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(blanked)
    )


def check_kinds(step: str, choices: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raises RecipeError unless `kinds` names one or more of the kinds that the step knows."""
    takes = f"It takes any of {', '.join(choices)}"
    if not kinds:
        raise RecipeError(f"{step}: kinds is empty. {takes}")
    for kind in kinds:
        if kind not in choices:
            raise RecipeError(f'{step}: there is no kind "{kind}"{did_you_mean(kind, choices) or "."} {takes}')


def check_countries(step: str, countries: tuple[str, ...]) -> None:
    """Raises RecipeError unless each is a country with a numbering plan."""
    for country in countries:
        if country not in COUNTRIES:
            hint = did_you_mean(country.upper(), COUNTRIES) or "."
            raise RecipeError(
                f'{step}: countries has "{country}", which is no country with telephone numbers{hint} '
                "It takes codes of ISO 3166 in two capitals, such as DE or US"
            )


NOT_PUBLIC = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/128", "::1/128", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


TRANSLATED = ip_network("64:ff9b::/96")  # IPv4 behind NAT64, RFC 6052


def not_public(texts: pa.LargeStringArray, spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(spans,) whether each is an IP address that is not public; the kinds are those of `corpusmill.text.pii`."""
    mask = np.zeros(len(spans), bool)
    addresses = np.flatnonzero(np.isin(spans[:, 1], [IPV4, IPV6])).tolist()
    if not addresses:
        return mask
    data, offsets = view(texts)
    for at in addresses:
        document, _, start, end = spans[at].tolist()
        address = data[offsets[document] + start : offsets[document] + end].tobytes().decode("ascii")
        mask[at] = not is_public(address)
    return mask


@lru_cache(4096)
def is_public(address: str) -> bool:
    """Whether an IP address is in none of the networks NOT_PUBLIC; IPv4 in the form of IPv6 is judged as IPv4, and a
    network by its first address.

    >>> is_public("192.168.1.1"), is_public("::ffff:10.0.0.1"), is_public("192.0.2.1"), is_public("8.8.8.8")
    (False, False, True, True)
    """
    ip = ip_address(address_of(address))
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    elif ip in TRANSLATED:
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    return not any(ip in network for network in NOT_PUBLIC)
