"""Lists of words, domains and addresses in files: one entry per line, `#` begins a comment."""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill.errors import AssetError

Hashes = NDArray[np.uint64]  # sorted, without repeats
_PARTS = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]*:)?//)?"  # scheme
    r"(?:[^/?#@]*@)?"  # user
    r"(?P<host>\[[^\]]*\]|[^/?#:]*)"
    r"(?::\d*)?"  # port
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\[.*\]|[0-9.]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # compressed files have some, lists have none
_HOST = re.compile(r"\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)*")


@dataclass(frozen=True)
class Address:
    """A URL as it is looked up in lists: without scheme, user, port and fragment; the host in lower case."""

    host: str
    path: str  # "/a/b", empty for the home page
    query: str  # "?q=1", empty if there is none

    @classmethod
    def of(cls, url: str) -> "Address":
        """The parts of a URL, or of a bare "host/path". Never fails: without a host, `host` is empty.

        >>> Address.of("HTTPS://me@Example.COM.:8080/A/b/?q=1#top")
        Address(host='example.com', path='/A/b', query='?q=1')
        """
        parts = _PARTS.match(url.strip())
        assert parts is not None  # every part of the expression may be empty
        host = parts["host"].lower().rstrip(".")
        if not host.isascii():
            with suppress(UnicodeError):  # a name that resolvers refuse is compared as it is written
                host = host.encode("idna").decode("ascii")
        return cls(host, parts["path"].rstrip("/"), parts["query"] or "")

    @property
    def domains(self) -> list[str]:
        """The host and its parent domains, the longest first; of an IP address, itself alone.

        >>> Address.of("http://a.b.example.org/x").domains
        ['a.b.example.org', 'b.example.org', 'example.org', 'org']
        """
        if not self.host or _ADDRESS.fullmatch(self.host):
            return [self.host] if self.host else []
        labels = self.host.split(".")
        return [".".join(labels[i:]) for i in range(len(labels))]

    @property
    def site(self) -> str | None:
        """The registered domain, one label below a public suffix; None for an IP address and a bare suffix.

            >>> urls = ("http://www.shop.example.co.uk/", "http://me.github.io", "http://10.0.0.7")
        >>> [Address.of(url).site for url in urls]
        ['example.co.uk', 'me.github.io', None]
        """
        return None if not self.host or _ADDRESS.fullmatch(self.host) else _site(self.host)

    @property
    def pages(self) -> list[str]:
        """The address and every folder above it, the longest first, without a leading "www.".

        >>> Address.of("http://www.example.org/~joe/pics/?p=2").pages
        ['example.org/~joe/pics?p=2', 'example.org/~joe/pics', 'example.org/~joe', 'example.org']
        """
        host = self.host.removeprefix("www.")
        folders = self.path.split("/")
        pages = [host + "/".join(folders[:i]) for i in range(len(folders), 0, -1)] if host else []
        return [pages[0] + self.query, *pages] if pages and self.query else pages


@lru_cache(maxsize=1 << 16)
def _site(host: str) -> str | None:
    site: str | None = _suffixes().privatesuffix(host)
    return site


@cache
def _suffixes() -> Any:
    """The public suffixes (publicsuffix.org) that are installed with publicsuffixlist: nothing is looked up online."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


class Names:
    """The names of each document of a batch, to be looked up in any number of lists.

    addresses   of each document, None for one that matches no list
    of          the names of an address, the most specific first; called only once there is a list to look in
    """

    def __init__(self, addresses: Sequence[Address | None], of: Callable[[Address], list[str]]) -> None:
        self.addresses = addresses
        self.of = of

    def matches(self, listed: Hashes) -> list[str | None]:
        """(documents,) the first name of each that is listed, None if none is."""
        matches: list[str | None] = [None] * len(self.addresses)
        if len(listed) and self._flat:
            nearest = listed[np.minimum(np.searchsorted(listed, self._keys), len(listed) - 1)]
            for at in np.flatnonzero(nearest == self._keys)[::-1].tolist():
                row, name = self._flat[at]
                matches[row] = name
        return matches

    @cached_property
    def _flat(self) -> list[tuple[int, str]]:
        """Every name, with the row of its document."""
        return [(row, name) for row, own in enumerate(self.addresses) if own is not None for name in self.of(own)]

    @cached_property
    def _keys(self) -> Hashes:
        return np.array([xxhash.xxh3_64_intdigest(name.encode()) for _, name in self._flat], np.uint64)


def hashes(entries: Iterable[str]) -> Hashes:
    """XXH3-64 of each entry, sorted: 8 bytes per entry, where a set of strings takes 150 or more.

    The probability that a name which is not listed matches is 3e-13 at five million entries.
    """
    return np.unique(np.array(array("Q", (xxhash.xxh3_64_intdigest(entry.encode()) for entry in entries)), np.uint64))


def domain_hashes(path: Path) -> Hashes:
    """The domains of a file, as `hashes`."""
    return hashes(Address.of(line).host for line in lines(path))


def page_hashes(path: Path) -> Hashes:
    """The addresses of a file, with or without a scheme, as `hashes`."""
    return hashes(Address.of(line).pages[0] for line in lines(path) if Address.of(line).host)


def words(path: Path) -> tuple[str, ...]:
    """The words of a file in its order, as `plain`. Raises AssetError for a line without one."""
    entries = []
    for number, line in enumerate(lines(path), 1):
        if not (word := plain(line)):
            raise AssetError(f'{path}: entry {number}, "{line}", has no letter a-z and no digit, as a word must')
        entries.append(word)
    return tuple(entries)


def plain(entry: str) -> str:
    """A word of a list in lower case, with one space between its parts.

    >>> plain("Free-Stuff!")
    'free stuff'
    """
    return " ".join(re.findall("[a-z0-9]+", entry.lower()))


def check(path: Path, what: str) -> None:
    """Check the beginning of a list before anything runs.

    what   "word", "domain", or "page": what each line should be

    Raises AssetError if the list is empty or of another kind.
    """
    if path.is_dir():
        raise AssetError(
            f"{path}: this is a folder; it must be a file with one {what} per line. A UT1 folder is for `ut1`"
        )
    first = list(islice(lines(path), PROBE))
    if not first:
        raise AssetError(f"{path}: an empty list: it has no {what}, so nothing would match")
    fits = {"word": plain, "domain": is_domain, "page": is_page}[what]
    if not any(map(fits, first)) or any(map(_CONTROL.search, first)):
        raise AssetError(
            f"{path}: not a list of one {what} per line; it begins with {first[0][:40]!r}. Compressed files, hosts "
            f"files and lists for ad blockers are not read: make it a list of lines like {EXAMPLE[what]}"
        )


PROBE = 100  # entries that are checked: published lists contain mistakes
EXAMPLE = {"word": "casino", "domain": "example.org", "page": "example.org/page"}


def is_domain(entry: str) -> bool:
    """Whether the entry is a domain or an IP address, and nothing else.

    >>> [is_domain(entry) for entry in ("Example.org", "[::1]", "bücher.example", "example.org:80", "||ads.example^")]
    [True, True, True, False, False]
    """
    return bool(_HOST.fullmatch(entry.lower().rstrip(".")))


def is_page(entry: str) -> bool:
    """Whether the entry has a host, as the address of a page must."""
    return is_domain(Address.of(entry).host)


def categories(path: Path) -> dict[str, frozenset[str]]:
    """category -> which of `domains` and `urls` it has, in a folder laid out like the UT1 lists.

    Raises AssetError if the path is not a folder.
    """
    if not path.is_dir():
        raise AssetError(f"{path}: this is a file; it must be the folder of the UT1 lists. Unpack it")
    return {
        folder.name: frozenset(name for name in ("domains", "urls") if (folder / name).is_file())
        for folder in path.iterdir()
        if folder.is_dir()
    }


def lines(path: Path) -> Iterator[str]:
    """The entries of a file, without comments and blank lines. Bytes that are not UTF-8 are read as Latin-1."""
    with path.open("rb") as file:
        for raw in file:
            if entry := raw.split(b"#", 1)[0].strip():
                try:
                    yield entry.decode()
                except UnicodeDecodeError:
                    yield entry.decode("latin-1")
