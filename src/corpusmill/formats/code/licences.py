"""The licence that a page names: by rel=license, in JSON-LD, in a meta element, or by a link to Creative Commons."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import orjson

How = Literal["rel", "json-ld", "meta", "link"]
STRONGEST: tuple[How, ...] = ("rel", "json-ld", "meta", "link")  # the page's own word first; a link may be a picture's

MAY_NAME = re.compile(rb"licen[sc]e|creativecommons\.org|dc(?:terms)?\.rights", re.I)
TAG = re.compile(r"<(?:a|area|link|meta)\s[^<>]*>", re.I)
MAX_TAG_CHARACTERS = 4000  # characters: of a longer one no attribute is read, which could take the square of its length
ATTRIBUTE = re.compile(r"""([a-zA-Z:._-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
JSON_LD = re.compile(r"<script\b[^<>]*application/ld\+json[^<>]*>", re.I)
MAX_JSON_CHARACTERS = 1 << 20  # characters
META = frozenset({"license", "licence", "dc.rights", "dc.rights.license", "dc.license", "dcterms.license"})
COMMONS = re.compile(
    r"^(?:https?:)?//(?:[a-z0-9-]+\.)?creativecommons\.org/(?:licenses|publicdomain)/"
    r"([a-z+-]+)(?:/(\d\.\d))?(?:/([a-z]{2,8}))?(?:/|$)",
    re.I,
)
DEED = re.compile(r"/(?:deed|legalcode)\.([a-z]{2,3}(?:[-_][a-z]+)?)\b", re.I)
NAMES = {"zero": "CC0", "mark": "CC-PDM"}  # the others are CC-, and the type
PAGES = frozenset({"deed", "legalcode", "rdf"})  # at the place of a jurisdiction


@dataclass(frozen=True)
class PageLicence:
    """A licence that a page names.

    name      SPDX identifier, as CC-BY-SA-3.0-DE; without a version where the address has none; None for a licence that
              is not of Creative Commons
    type      "by", "by-sa", "zero" …; version, and the language of the deed, if the address has one
    url       as the page gives it
    how       where it stands
    """

    name: str | None
    type: str | None
    version: str | None
    language: str | None
    url: str
    how: How


def licences(page: str) -> list[PageLicence]:
    """The licences of a page, those that are named by STRONGEST first, else in the order of the page."""
    named_urls = [(how, url.strip()) for how, url in _named_urls(page)]
    return [_licence(url, how) for method in STRONGEST for how, url in named_urls if how == method and url]


def may_name_any(page: bytes) -> bool:
    """False for most pages that name none."""
    return MAY_NAME.search(page) is not None


def _named_urls(page: str) -> Iterator[tuple[How, str]]:
    for match in TAG.finditer(page):
        tag = match[0]
        if len(tag) <= MAX_TAG_CHARACTERS:
            attributes = {name.lower(): html.unescape(a or b or c) for name, a, b, c in ATTRIBUTE.findall(tag)}
            if tag[1:5].lower() == "meta":
                if (attributes.get("name") or attributes.get("property", "")).lower() in META:
                    yield "meta", attributes.get("content", "")
            elif "href" in attributes:
                is_own = {"license", "licence"} & set(attributes.get("rel", "").lower().split())
                if is_own or COMMONS.match(attributes["href"].strip()):
                    yield ("rel" if is_own else "link"), attributes["href"]
    for match in JSON_LD.finditer(page):
        end = page.find("</", match.end())
        if end < 0:
            break
        if end - match.end() <= MAX_JSON_CHARACTERS:
            yield from (("json-ld", url) for url in _in_json(page[match.end() : end]))


def _in_json(text: str) -> Iterator[str]:
    """The values of "license" in JSON-LD, outermost first: a text, or an object with an address; none if it is not
    JSON."""
    try:
        level: list[Any] = [orjson.loads(text)]
    except orjson.JSONDecodeError:
        return
    while level:
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                for key, member in value.items():
                    if key in ("license", "schema:license", "https://schema.org/license"):
                        yield from _addresses(member)
                    elif isinstance(member, dict | list):
                        inner.append(member)
            elif isinstance(value, list):
                inner += value
        level = inner


def _addresses(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from [item[key] for key in ("@id", "url", "name") if isinstance(item.get(key), str)][:1]


def _licence(url: str, how: How) -> PageLicence:
    commons = COMMONS.match(url)
    if commons is None:
        return PageLicence(None, None, None, None, url, how)
    kind, version, jurisdiction = commons[1].lower(), commons[2], (commons[3] or "").lower()
    deed = DEED.search(url)
    parts = [NAMES.get(kind, f"CC-{kind.upper()}"), version, jurisdiction.upper() if jurisdiction not in PAGES else ""]
    name = "-".join(part for part in parts if part)
    return PageLicence(name, kind, version, deed[1].lower() if deed else None, url, how)
