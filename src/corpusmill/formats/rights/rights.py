"""What a page and its server say about its use: robots directives, and reservations of text and data mining."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import orjson

from corpusmill.formats.code.licences import ATTRIBUTE, MAX_TAG_CHARACTERS

How = Literal["page", "header", "file"]

MAY_SAY = re.compile(rb"<meta\s[^<>]{0,4000}?(?:robots|tdm-|noai|noindex|bot)|<link\s[^<>]{0,4000}?rsl\+xml", re.I)
META = re.compile(r"<meta\s[^<>]*>", re.I)
WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")  # a colon is not an agent's
EVERYBODY = "robots"
NONE_DIRECTIVES = ("noindex", "nofollow")  # what "none" stands for
MAX_FILE_CHARACTERS = 1 << 20  # characters


@dataclass(frozen=True)
class Reservation:
    """reserved   1, or 0 if the rights are said not to be reserved
    policy     the address of what may be agreed upon
    how        where it is said
    """

    reserved: int
    policy: str | None
    how: How


def may_say(page: bytes) -> bool:
    """False for most pages that say nothing."""
    return MAY_SAY.search(page) is not None


def metas(page: str) -> dict[str, list[str]]:
    """The contents of the meta elements of a page by their names in lower case."""
    contents: dict[str, list[str]] = {}
    for match in META.finditer(page):
        if len(match[0]) <= MAX_TAG_CHARACTERS:
            attributes = {name.lower(): html.unescape(a or b or c) for name, a, b, c in ATTRIBUTE.findall(match[0])}
            if name := attributes.get("name", "").strip().lower():
                contents.setdefault(name, []).append(attributes.get("content", ""))
    return contents


def directives(meta_elements: Mapping[str, list[str]], header: str, agents: frozenset[str]) -> list[str]:
    """The robots directives of a page that are for everybody or for one of `agents`, in alphabetical order: noindex,
    noai, noimageai, nofollow …; `none` as the two that it stands for.

    meta_elements   by name
    header          X-Robots-Tag, repeated ones in lines of their own
    agents          in lower case
    """
    names: set[str] = set()
    for name, contents in meta_elements.items():
        if name == EVERYBODY or name in agents:
            names.update(_listed(contents))
    for line in header.split("\n"):
        names.update(_of_line(line, agents))
    return sorted(names)


def _of_line(line: str, agents: frozenset[str]) -> Iterator[str]:
    """The directives of a line of X-Robots-Tag: those behind the name of an agent are for that agent."""
    agent = EVERYBODY
    for part in line.split(","):
        name, colon, value = part.partition(":")
        names_agent = bool(colon) and name.strip().lower() not in WITH_VALUE
        agent = name.strip().lower() if names_agent else agent
        if agent == EVERYBODY or agent in agents:
            yield from _listed([value if names_agent else part])


def _listed(contents: Iterable[str]) -> Iterator[str]:
    for content in contents:
        for part in content.lower().split(","):
            directive = part.partition(":")[0].strip()
            if directive == "none":
                yield from NONE_DIRECTIVES
            elif directive and directive.isascii() and directive.replace("-", "").replace("_", "").isalpha():
                yield directive


def reservation(
    meta_elements: Mapping[str, list[str]], header: str | None, header_policy: str | None, file: str | None, url: str
) -> Reservation | None:
    """What TDMRep says of a page: its meta elements before the header, and that before the file of the host, because
    what is nearer to the page says more about it. None if nothing is said.

    Source: TDM Reservation Protocol, W3C Community Group Final Report of 2024-05-10
    """
    for content in meta_elements.get("tdm-reservation", []):
        if (value := _bit(content)) is not None:
            return Reservation(value, next(iter(meta_elements.get("tdm-policy", [])), None), "page")
    if header is not None and (value := _bit(header)) is not None:
        return Reservation(value, header_policy, "header")
    return _in_file(file, url) if file else None


def _bit(value: object) -> int | None:
    shown = str(value).split(",")[0].strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(shown) if shown in ("0", "1") else None


def _in_file(file: str, url: str) -> Reservation | None:
    """The first rule of tdmrep.json whose location matches the path of an address."""
    if len(file) > MAX_FILE_CHARACTERS:
        return None
    try:
        rules = orjson.loads(file)
        parts = urlsplit(url)
    except ValueError:  # JSON, too
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    for rule in rules if isinstance(rules, list) else [rules]:
        if isinstance(rule, dict) and isinstance(location := rule.get("location"), str):
            value = _bit(rule.get("tdm-reservation"))
            if value is not None and matches(location, path):
                policy = rule.get("tdm-policy")
                return Reservation(value, policy if isinstance(policy, str) else None, "file")
    return None


def matches(pattern: str, path: str) -> bool:
    """Whether a path begins as a pattern says: * stands for any characters, and $ at the end for the end of the path.

    >>> matches("/a/*.html$", "/a/b/c.html"), matches("/a", "/abc"), matches("/a$", "/abc"), matches("b", "/ab")
    (True, True, False, False)
    """
    ends = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if ends and last:
            return len(path) - len(part) >= at and path.endswith(part)
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return not ends or at == len(path)
