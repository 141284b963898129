"""Block lists and telling words: does the address alone say that a page is not wanted?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.assets import load, locate
from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.filter import _lists
from corpusmill.steps.filter._lists import Address, Hashes, Names
from corpusmill.steps.verdict import Rule, join_reasons

List = tuple[str, ...] | str


@dataclass(frozen=True, kw_only=True)
class Url:
    """Drop documents by their URL: listed domains and pages, and words that tell what a page is about.

    A list is written out in the recipe, or named: a file with one entry a line, or a list that ships. A domain stands
    for its subdomains too (so a public suffix, "edu", for all below it), a page for what lies below it. Scheme, user,
    port, fragment and the case of the host make no difference; names in other scripts are compared as they are
    resolved (xn--…); an IP address matches as a whole. Words are what other characters than a-z and 0-9 separate,
    case ignored; an entry of several matches where they follow one another. Sub-words match anywhere, separators
    ignored ("free-po.rn"). Documents without a URL are kept.

    The word lists that ship are small, ours, and English. RefinedWeb's and FineWeb's bulk comes from the UT1 lists
    of the University of Toulouse, which do not ship (4.6 M domains, CC BY-SA): get them, and name their folder as
    `ut1`. Word lists have a price: two soft words also meet in the address of a page on sex education for adults.

    Each list's reason has a signal of the same name that holds what was found; that of `ut1` is "category: entry".
    The signal `domain` is the registered domain (example.co.uk), by the public suffixes that come with the package
    publicsuffixlist: nothing here asks the network.

    Source: Penedo et al. 2023 (RefinedWeb), arXiv:2306.01116, appendix G.1, which drops at two soft words
    """

    ut1: str | None = None  # a folder laid out as CATEGORY/domains and CATEGORY/urls
    categories: tuple[str, ...] = (  # of UT1: those that RefinedWeb chose
        "adult",
        "agressif",
        "arjel",
        "chat",
        "dating",
        "ddos",
        "filehosting",
        "gambling",
        "mixed_adult",
        "phishing",
    )
    block_domains: List = ()
    block_urls: List = ()
    curated_domains: List = ()  # sources that the corpus takes from elsewhere, such as wikipedia.org
    hard_words: List = "url/hard_words"
    sub_words: List = "url/sub_words"
    soft_words: List = "url/soft_words"
    max_soft_words: int | None = 1  # different ones in one URL
    allow_domains: List = ()  # kept, whatever the other lists say

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_soft_words", "soft_words", ">"),)

    def __post_init__(self) -> None:
        for field in DOMAINS:
            for entry in written(getattr(self, field)):
                if not _lists.is_domain(entry):
                    raise RecipeError(
                        f'filter/url: {field} has "{entry}", which is not a bare domain; '
                        f'write "{Address.of(entry).host or "example.org"}", or put the page in block_urls'
                    )
        for entry in written(self.block_urls):
            if not Address.of(entry).host:
                raise RecipeError(f'filter/url: block_urls has "{entry}", which has no host; write "example.org/page"')
        for field in WORDS:
            for entry in written(getattr(self, field)):
                if not _lists.plain(entry):
                    raise RecipeError(f'filter/url: {field} has "{entry}"; a word is made of a-z and 0-9')
        for field, what in KINDS.items():
            if isinstance(name := getattr(self, field), str):
                _lists.check(locate(name), what)
        if self.ut1 is not None:
            there = load(self.ut1, _lists.categories)
            for category in self.categories:
                if not there.get(category):
                    raise AssetError(
                        f'{self.ut1}: no category "{category}" with a file "domains" or "urls"'
                        f"{did_you_mean(category, there) or '.'} Found: {', '.join(sorted(there)) or 'no folder at all'}."
                    )
                files = [locate(f"{self.ut1}/{category}/{file}") for file in sorted(there[category])]
                if not any(any(_lists.lines(file)) for file in files):
                    raise AssetError(f"{self.ut1}/{category}: an empty list; unpack the UT1 lists anew")

    @property
    def assets(self) -> tuple[str, ...]:
        """The lists that are named, not written out: what they hold decides, too."""
        named = [value for field in KINDS if isinstance(value := getattr(self, field), str)]
        return (*named, *(f"{self.ut1}/{category}/{file}" for category, file in self._ut1_files()))

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """What each list finds in each URL, null for nothing; all null without a URL or where the domain is allowed.
        But `domain` is that of every URL.

        The URL's longest domain and deepest page that a list holds is reported; of words, the first in list order.
        """
        urls = [None if url is None else Address.of(url) for url in docs["url"].to_pylist()]
        sites = [None if url is None else url.site for url in urls]
        allowed = Names(urls, lambda url: url.domains).found(domain_list(self.allow_domains))
        urls = [url if kept is None else None for url, kept in zip(urls, allowed)]
        domains, pages = Names(urls, lambda url: url.domains), Names(urls, lambda url: url.pages)

        ut1: list[str | None] = [None] * len(urls)
        for category, file in self._ut1_files():
            names, read = (domains, _lists.domain_hashes) if file == "domains" else (pages, _lists.page_hashes)
            found = names.found(load(f"{self.ut1}/{category}/{file}", read))
            ut1 = [old or (entry and f"{category}: {entry}") for old, entry in zip(ut1, found)]

        whole = [None if url is None else f"{url.host}{url.path}{url.query}".lower() for url in urls]
        parted = pc.replace_substring_regex(pa.array(whole, pa.string()), "[^a-z0-9]+", " ")
        hard, soft = (spelled(parted, word_list(listed)) for listed in (self.hard_words, self.soft_words))
        return {
            "domain": pa.array(sites, pa.string()),
            "ut1": pa.array(ut1, pa.string()),
            "block_domains": pa.array(domains.found(domain_list(self.block_domains)), pa.string()),
            "block_urls": pa.array(pages.found(page_list(self.block_urls)), pa.string()),
            "curated_domains": pa.array(domains.found(domain_list(self.curated_domains)), pa.string()),
            "hard_words": pa.array([words[0] if words else None for words in hard], pa.string()),
            "sub_words": pa.array(first_sub_words(parted, word_list(self.sub_words)), pa.string()),
            "soft_words": pa.array([None if url is None else len(words) for url, words in zip(urls, soft)], pa.int32()),
        }

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        hits = {field: pc.is_valid(signals[field]) for field in FINDS}
        if self.max_soft_words is not None:
            hits["max_soft_words"] = pc.greater(signals["soft_words"], pa.scalar(self.max_soft_words, pa.int64()))
        return join_reasons(**hits)

    def _ut1_files(self) -> list[tuple[str, str]]:
        """(category, "domains" or "urls") of each UT1 file that is asked for and there."""
        if self.ut1 is None:
            return []
        there = load(self.ut1, _lists.categories)
        return [(category, file) for category in self.categories for file in sorted(there.get(category, ()))]


DOMAINS = ("block_domains", "curated_domains", "allow_domains")
WORDS = ("hard_words", "sub_words", "soft_words")
KINDS = {**dict.fromkeys(DOMAINS, "domain"), "block_urls": "page", **dict.fromkeys(WORDS, "word")}
FINDS = ("ut1", "block_domains", "block_urls", "curated_domains", "hard_words", "sub_words")


def written(entries: List) -> tuple[str, ...]:
    """The entries that the recipe itself holds."""
    return () if isinstance(entries, str) else entries


@cache
def domain_list(entries: List) -> Hashes:
    if isinstance(entries, str):
        return load(entries, _lists.domain_hashes)
    return _lists.hashes(Address.of(entry).host for entry in entries)


@cache
def page_list(entries: List) -> Hashes:
    if isinstance(entries, str):
        return load(entries, _lists.page_hashes)
    return _lists.hashes(Address.of(entry).pages[0] for entry in entries)


@cache
def word_list(entries: List) -> tuple[str, ...]:
    if isinstance(entries, str):
        return load(entries, _lists.words)
    return tuple(map(_lists.plain, entries))


def spelled(parted: pa.StringArray, listed: tuple[str, ...]) -> Iterator[list[str]]:
    """For each URL, here words with spaces between them, those of the listed that it has, in the order of the list."""
    place = {word: at for at, word in reversed(list(enumerate(listed)))}
    several = [word for word in place if " " in word]
    for text in parted.to_pylist():
        words = f" {text or ''} "
        hits = [word for word in set(words.split()) if word in place]
        hits += [word for word in several if f" {word} " in words]
        yield sorted(hits, key=place.__getitem__)


def first_sub_words(parted: pa.StringArray, listed: tuple[str, ...]) -> list[str | None]:
    """The first of the listed words whose letters stand in each URL when its separators, here spaces, are taken out."""
    if not listed:
        return [None] * len(parted)
    squeezed = pc.replace_substring(parted, " ", "")
    listed = tuple(word.replace(" ", "") for word in listed)
    # One pass of RE2 for all words together; which word it was is asked of the few that match.
    hits = np.flatnonzero(pc.fill_null(pc.match_substring_regex(squeezed, "|".join(map(re.escape, listed))), False))
    found: list[str | None] = [None] * len(parted)
    for row in hits.tolist():
        letters = squeezed[row].as_py()
        found[row] = next(word for word in listed if word in letters)
    return found
