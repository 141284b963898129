"""What filter/url finds, one URL at a time in plain Python: the twin that its kernels are compared with."""

import re
from contextlib import suppress
from functools import cache
from typing import Any

from publicsuffixlist import PublicSuffixList

from corpusmill.steps.filter.url import FilterUrl

PARTS = re.compile(
    r"(?:(?:[a-z][a-z0-9+.-]*:)?//)?(?:[^/?#@]*@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?::\d*)?(?P<path>[^?#]*)(?P<query>\?[^#]*)?",
    re.IGNORECASE,
)


@cache
def suffixes() -> Any:
    return PublicSuffixList()


def parts_of(url: str) -> tuple[str, str, str]:
    """host, path, query"""
    found = PARTS.match(url.strip())
    assert found is not None
    host = found["host"].lower().rstrip(".")
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    return host, found["path"].rstrip("/"), found["query"] or ""


def is_ip(host: str) -> bool:
    return bool(re.fullmatch(r"\[.*\]|[0-9.]+", host))


def domains(url: str) -> list[str]:
    """The host and its parent domains, the longest first; of an IP address, itself alone."""
    host = parts_of(url)[0]
    if not host or is_ip(host):
        return [host] if host else []
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels))]


def pages(url: str) -> list[str]:
    """The address and every folder above it, the longest first, without a leading "www."."""
    host, path, query = parts_of(url)
    host = host.removeprefix("www.")
    folders = path.split("/")
    above = [host + "/".join(folders[:i]) for i in range(len(folders), 0, -1)] if host else []
    return [above[0] + query, *above] if above and query else above


def site(url: str) -> str | None:
    host = parts_of(url)[0]
    registered: str | None = None if not host or is_ip(host) else suffixes().privatesuffix(host)
    return registered


def plain(entry: str) -> str:
    return " ".join(re.findall("[a-z0-9]+", entry.lower()))


def first(names: list[str], listed: set[str]) -> str | None:
    return next((name for name in names if name in listed), None)


def signals(step: FilterUrl, url: str | None) -> dict[str, object]:
    """The signals of a URL for lists that are written out in the step."""
    nothing = dict.fromkeys(("ut1", "block_domains", "block_urls", "curated_domains"))
    nothing |= dict.fromkeys(("hard_words", "sub_words", "soft_words"))
    if url is None:
        return {"domain": None, **nothing}
    if first(domains(url), {parts_of(entry)[0] for entry in step.allow_domains}):
        return {"domain": site(url), **nothing}
    text = re.sub("[^a-z0-9]+", " ", "".join(parts_of(url)).lower())
    hard, soft, sub = (list(map(plain, listed)) for listed in (step.hard_words, step.soft_words, step.sub_words))
    squeezed = [word.replace(" ", "") for word in sub]
    return nothing | {
        "domain": site(url),
        "block_domains": first(domains(url), {parts_of(entry)[0] for entry in step.block_domains}),
        "curated_domains": first(domains(url), {parts_of(entry)[0] for entry in step.curated_domains}),
        "block_urls": first(pages(url), {pages(entry)[0] for entry in step.block_urls}),
        "hard_words": next((word for word in hard if f" {word} " in f" {text} "), None),
        "sub_words": next(
            (word for word in squeezed if word in text.replace(" ", "" if step.sub_words_across else " ")), None
        ),
        "soft_words": len({word for word in soft if f" {word} " in f" {text} "}),
    }
