"""Lists of words, domains and addresses in files: one entry per line, `#` begins a comment."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from corpusmill.errors import AssetError
from corpusmill.text.addresses import Address, Hashes, domain_hashes, page_hashes

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # compressed files have some, lists have none
_HOST = re.compile(r"\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)*")


def domains(path: Path) -> Hashes:
    """The domains of a file."""
    return domain_hashes(lines(path))


def pages(path: Path) -> Hashes:
    """The addresses of a file, with or without a scheme."""
    return page_hashes(lines(path))


def words(path: Path) -> tuple[str, ...]:
    """The words of a file in its order, as `plain`. Raises AssetError for a line without one."""
    entries = []
    for number, line in enumerate(lines(path), 1):
        if not (entry := plain(line)):
            raise AssetError(f'{path}: entry {number}, "{line}", has no letter a-z and no digit, as a word must')
        entries.append(entry)
    return tuple(entries)


def plain(entry: str) -> str:
    """A word of a list in lower case, with one space between its parts.

    >>> plain("Free-Stuff!")
    'free stuff'
    """
    return " ".join(re.findall("[a-z0-9]+", entry.lower()))


def check(path: Path, kind: str) -> None:
    """Check the beginning of a list before anything runs.

    kind   "word", "domain", or "page": what each line should be

    Raises AssetError if the list is empty or of another kind.
    """
    if path.is_dir():
        raise AssetError(
            f"{path}: this is a folder; it must be a file with one {kind} per line. A UT1 folder is for `ut1`"
        )
    first = list(islice(lines(path), PROBE))
    if not first:
        raise AssetError(f"{path}: an empty list: it has no {kind}, so nothing would match")
    fits = {"word": plain, "domain": is_domain, "page": is_page}[kind]
    if not any(map(fits, first)) or any(map(_CONTROL.search, first)):
        raise AssetError(
            f"{path}: not a list of one {kind} per line; it begins with {first[0][:40]!r}. Compressed files, hosts "
            f"files and lists for ad blockers are not read: make it a list of lines like {EXAMPLE[kind]}"
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
    return is_domain(Address.from_url(entry).host)


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
