import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.keys import TWINS, Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._exact import exact_stages
from corpusmill.steps.dedup._keep import check_keep, needs, ranks
from corpusmill.text.hashing import hash128
from corpusmill.units import Stage

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
class Url:
    """Drop every document whose URL is that of another one that stays.

    Crawls bring a page many times, and each time its text may differ a little; this asks for the address alone. URLs
    are compared by a 128-bit hash of their normal form. There, http and https are one, as are the ports 80 and 443 and
    none, and a URL without a scheme is one of these. The host is in lower case, names in other scripts as they are
    resolved (xn--…), without a final dot. The fragment goes, and slashes at the end of the path. In path and query,
    letters, digits and -._~ stand for themselves, and other scripts and all that is escaped already as %XX with capital
    digits (RFC 3986, section 6.2.2). Of the query, parameters whose names are in `tracking` go, which say only how a
    visitor came; `query` keeps the others as they are, sorts them, or drops all. "www." and the case of the path do
    make a difference. What has no host is compared as it is. Documents without a URL have no twins.

    Of the documents of one URL one stays, by `keep`: the "first" (sources in recipe order, files by name, documents by
    position), "longest", "newest", "oldest", or the one with the highest value of a signal of an earlier step, as in
    `keep: quality.score` ("-perplexity.value": the lowest). Of equals the first stays. With `against`, what earlier runs
    kept under the same URL goes before, whatever `keep` says. Each removal keeps the id of the document that stays;
    `mark` removes none, and only notes them. The signals are twin_id, similarity (1), cluster_id and cluster_size.
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("query", "tracking", "keep")
    verdict: ClassVar[pa.Schema] = TWINS
    otherwise: ClassVar[Mapping[str, Any]] = {"cluster_size": 1}

    query: Literal["keep", "sort", "drop"] = "keep"
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
        found = [normal(url, self.query, tracking) if url else "" for url in docs["url"].to_pylist()]
        rows = np.array([row for row, url in enumerate(found) if url], np.int64)
        hashes = hash128(pa.array([url for url in found if url], pa.large_string()))
        return Keys(hashes[:, :1], ranks(self.keep, docs, signals), rows, {"low": hashes[:, 1]})

    def stages(self, signed: Signed) -> list[Stage]:
        return exact_stages(signed, "url_copy", self.keep != "first", self.mark)


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
    """The form in which URLs are compared, as Url says.

    >>> normal("HTTPS://Example.COM:443/a/?b=2&utm_source=x&a=1#top", "sort", parameters(TRACKING))
    'example.com/a?a=1&b=2'
    """
    url = url.strip()
    found = _PARTS.fullmatch(url)
    if found is None:
        return url
    scheme = (found["scheme"] or "http").lower()
    web = scheme in ("http", "https")
    port = found["port"] or ""
    if web and port in ("80", "443"):
        port = ""
    path = _written(found["path"] or "").rstrip("/")
    asked = _query(_written(found["query"] or ""), query, tracking)
    begin = "" if web else f"{scheme}://"
    return f"{begin}{found['user'] or ''}{_host(found['host'])}{port and ':'}{port}{path}{asked and '?'}{asked}"


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


def _written(part: str) -> str:
    """The one way to write a path or a query."""
    return _WRITTEN_ANYHOW.sub(_one_way, part) if "%" in part or not part.isascii() else part


def _one_way(found: re.Match[str]) -> str:
    if found[1] is None:
        return "".join(f"%{byte:02X}" for byte in found[0].encode())
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()
