import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.dedup._exact import exact_stages
from corpusmill.steps.dedup._keep import check_keep, needs, ranks
from corpusmill.steps.keys import DUPLICATES, Keys, KeyStage
from corpusmill.store.work import Stage
from corpusmill.text.hashing import hash128

TRACKING = (
    "utm_*",
    "fbclid",
    "gclid",
    "dclid",
    "gbraid",
    "wbraid",
    "msclkid",
    "yclid",
    "mc_cid",
    "mc_eid",
    "_ga",
    "_gl",
)


@dataclass(frozen=True, kw_only=True)
class DedupUrl:
    """Drop every document whose URL is that of another one, which is kept.

    URLs are compared by a 128-bit hash of their normal form: http and https are one, as are the ports 80, 443 and none,
    and no scheme; the host is in lower case, names in other scripts as xn--…, without a final dot; fragment and slashes
    at the end of the path go; escapes are as in RFC 3986. Parameters named in `tracking` are removed; `query` keeps the
    others, sorts them, or drops all. "www." and the case of the path make a difference. Documents without a URL have no
    duplicates.

    Of the documents of one URL one is kept, by `keep`: the "first" (sources in recipe order, files by name, documents
    by position), "longest", "newest", "oldest", or the one with the highest value of a signal of an earlier step, as in
    `keep: quality.score` ("-perplexity.value": the lowest). Of equals the first is kept. With `against`, what earlier
    runs kept under the same URL wins; with `mark` nothing is dropped. Signals: duplicate_of, similarity (1),
    cluster_id, cluster_size.
    """

    key_parameters: ClassVar[tuple[str, ...]] = ("query", "tracking", "keep")
    verdict: ClassVar[pa.Schema] = DUPLICATES
    default_signals: ClassVar[Mapping[str, Any]] = {"cluster_size": 1}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1

    query: Literal["keep", "sort", "drop"] = "keep"  # what becomes of ?a=1&b=2 before comparing
    tracking: tuple[str, ...] = TRACKING  # names of parameters; a * at the end stands for any ending
    keep: str = "first"
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if self.query not in ("keep", "sort", "drop"):
            raise RecipeError(f'query is "keep", "sort" or "drop", got "{self.query}"')
        for name in self.tracking:
            if not re.fullmatch(r"[^*=&]+\*?", name):
                raise RecipeError(f'tracking has "{name}", which is no name of a parameter; write it as in "utm_*"')
        check_keep(self.keep)

    @property
    def needs(self) -> tuple[str, ...]:
        return needs(self.keep)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        tracking = parameters(self.tracking)
        urls = [normal(url, self.query, tracking) if url else "" for url in docs["url"].to_pylist()]
        rows = np.array([row for row, url in enumerate(urls) if url], np.int64)
        hashes = hash128(pa.array([url for url in urls if url], pa.large_string()))
        return Keys(hashes[:, :1], ranks(self.keep, docs, signals), rows, {"low": hashes[:, 1]})

    def stages(self, keys: KeyStage) -> list[Stage]:
        return exact_stages(keys, "url_copy", self.keep != "first", self.mark)


_PARTS = re.compile(
    r"(?:(?:(?P<scheme>[a-z][a-z0-9+.-]*):)?//|(?![a-z0-9+.-]*://))"
    r"(?P<user>[^/?#@]*@)?"
    r"(?P<host>\[[^\]]*\]|[^/?#:@]+)"
    r"(?::(?P<port>[0-9]*))?"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_WRITTEN_ANYHOW = re.compile("%([0-9a-f]{2})|[^\\x00-\\x7f]+", re.IGNORECASE)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normal(url: str, query: str, tracking: re.Pattern[str]) -> str:
    """The form in which URLs are compared, as DedupUrl says.

    >>> normal("HTTPS://Example.COM:443/a/?b=2&utm_source=x&a=1#top", "sort", parameters(TRACKING))
    'example.com/a?a=1&b=2'
    """
    url = url.strip()
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return url
    scheme = (parts["scheme"] or "http").lower()
    web = scheme in ("http", "https")
    port = parts["port"] or ""
    if web and port in ("80", "443"):
        port = ""
    path = _normal_escapes(parts["path"] or "").rstrip("/")
    arguments = _query(_normal_escapes(parts["query"] or ""), query, tracking)
    begin = "" if web else f"{scheme}://"
    return f"{begin}{parts['user'] or ''}{_host(parts['host'])}{port and ':'}{port}{path}{arguments and '?'}{arguments}"


def parameters(names: tuple[str, ...]) -> re.Pattern[str]:
    """What matches the whole name of a parameter if it is one of these."""
    return re.compile(
        "|".join(re.escape(n.removesuffix("*")) + (".*" if n.endswith("*") else "") for n in names) or "$^"
    )


def _query(query: str, treat: str, tracking: re.Pattern[str]) -> str:
    if not query or treat == "drop":
        return ""
    parts = [part for part in query.split("&") if part and not tracking.fullmatch(part.partition("=")[0])]
    return "&".join(sorted(parts) if treat == "sort" else parts)


def _host(host: str) -> str:
    host = host.lower().rstrip(".")
    if not host.isascii():
        with suppress(UnicodeError):  # not a name that a resolver would accept
            name = host.encode("idna").decode("ascii")
            if re.fullmatch(r"[\w.-]+", name):  # nor one with signs in it that stand between the parts of a URL
                return name
    return host


def _normal_escapes(part: str) -> str:
    """The one way to write a path or a query."""
    return _WRITTEN_ANYHOW.sub(_one_way, part) if "%" in part or not part.isascii() else part


def _one_way(parts: re.Match[str]) -> str:
    if parts[1] is None:
        return "".join(f"%{byte:02X}" for byte in parts[0].encode())
    character = chr(int(parts[1], 16))
    return character if character in _UNRESERVED else parts[0].upper()
