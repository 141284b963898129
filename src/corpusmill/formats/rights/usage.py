"""Preferences by AIPREF, `Content-Usage`, and licences by RSL: in headers, robots.txt and pages.

Sources: draft-ietf-aipref-vocab-06 and draft-ietf-aipref-attach-04, with the categories of earlier drafts, which hosts
use; Really Simple Licensing 1.0, https://rslstandard.org/rsl.
"""

import re
from collections.abc import Iterable, Mapping
from html import unescape
from urllib.parse import urljoin, urlsplit

from corpusmill.formats.code.licences import ATTRIBUTE
from corpusmill.formats.rights.rights import matches

PREFERENCE = re.compile(r"([a-z*][a-z0-9_.*-]*)\s*=\s*([yn])\s*(?:;.*)?")
# What covers the training of a language model, from the narrowest on: one that is stated counts before a wider one.
TRAINING = ("train-genai", "train-ai", "bots")
RSL_TYPE = "application/rsl+xml"
LINK = re.compile(r"<link\s[^<>]{0,4000}>", re.I)
IN_HEADER = re.compile(r"<([^<>]{1,2083})>([^<>]*)")
SAYS_LICENSE = re.compile(r"rel\s*=\s*\"?[^\";,]*\blicense\b", re.I)


def preferences(statement: str) -> dict[str, str]:
    """What a statement says: category -> y or n. What is neither says nothing; of a category that is there twice the
    last counts, as in RFC 9651.

    >>> preferences("train-ai=n, search=y;a=1, bots=?0")
    {'train-ai': 'n', 'search': 'y'}
    """
    found = (PREFERENCE.fullmatch(part.strip()) for part in statement.replace("\n", ",").split(","))
    return {match[1]: match[2] for match in found if match}


def joined(statements: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What several statements on one page say together: n, where one of them does.

    >>> joined([{"train-ai": "y"}, {"train-ai": "n", "search": "y"}])
    {'train-ai': 'n', 'search': 'y'}
    """
    values: dict[str, str] = {}
    for statement in statements:
        for name, value in statement.items():
            values[name] = "n" if "n" in (value, values.get(name)) else value
    return values


def training(statements: Iterable[Mapping[str, str]]) -> str | None:
    """Whether training is preferred, y or n, by statements of which each speaks for itself; None if none says so."""
    said = [next((one[name] for name in TRAINING if name in one), None) for one in statements]
    return "n" if "n" in said else "y" if "y" in said else None


def of_path(rules: Iterable[str], url: str) -> dict[str, str]:
    """What rules of a robots.txt, `[path] preferences`, say of an address: those of the longest path that matches."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return {}
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    longest = -1
    said: list[dict[str, str]] = []
    for rule in rules:
        pattern, _, rest = rule.partition(" ") if rule.startswith(("/", "*")) else ("", "", rule)
        if not matches(pattern, path) or len(pattern) < longest:
            continue
        if len(pattern) > longest:
            longest, said = len(pattern), []
        said.append(preferences(rest))
    return joined(said)


def rsl_in_header(links: str, url: str) -> str | None:
    """The address of the first licence by RSL in a field `Link`."""
    for match in IN_HEADER.finditer(links):
        if SAYS_LICENSE.search(match[2]) and RSL_TYPE in match[2].lower():
            return _absolute(url, match[1])
    return None


def rsl_in_page(page: str, url: str) -> str | None:
    """The address of the first licence by RSL in the `link` elements of a page."""
    for match in LINK.finditer(page):
        attributes = {name.lower(): unescape(a or b or c) for name, a, b, c in ATTRIBUTE.findall(match[0])}
        of_licence = "license" in attributes.get("rel", "").lower().split()
        if of_licence and attributes.get("type", "").strip().lower() == RSL_TYPE and attributes.get("href"):
            return _absolute(url, attributes["href"])
    return None


def _absolute(url: str, target: str) -> str:
    try:
        return urljoin(url, target.strip())
    except ValueError:
        return target.strip()
