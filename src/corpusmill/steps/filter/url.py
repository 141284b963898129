"""Block lists and words in the address: can a page be dropped by its URL alone?"""

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
from corpusmill.steps.verdict import Rule, join_reasons, only

List = tuple[str, ...] | str


@dataclass(frozen=True, kw_only=True)
class Url:
    """Drop documents by their URL: listed domains and pages, and words in the address that tell what a page is about.

    A list is written out in the recipe, or named: a file with one entry per line, or a list that ships. A domain also
    means its subdomains (so a public suffix, "edu", means all below it), a page also means everything below it. Scheme,
    user, port, fragment and the case of the host make no difference; names in other scripts are compared in their
    resolved form (xn--…); an IP address matches as a whole. Words are separated by characters other than a-z and 0-9,
    case ignored; an entry of several words matches them in sequence. Sub-words match anywhere, separators ignored
    ("free-po.rn"). Documents without a URL are kept.

    The word lists that ship are small, ours, and English. The bulk of RefinedWeb's and FineWeb's lists is the UT1 lists
    of the University of Toulouse, which do not ship (4.6 M domains, CC BY-SA): download them, and name their folder as
    `ut1`. Word lists have a price: two soft words also occur in the address of a page on sex education for adults.

    Each list's reason has a signal of the same name that holds the entry found; that of `ut1` is "category: entry". The
    signal `domain` is the registered domain (example.co.uk), by the public suffixes of the installed package
    publicsuffixlist: nothing is looked up online.

    Source: Penedo et al. 2023 (RefinedWeb), arXiv:2306.01116, appendix G.1, which drops at two soft words
    """

    ut1: str | None = None  # a folder laid out as CATEGORY/domains and CATEGORY/urls
    categories: tuple[str, ...] = (  # of UT1: those of RefinedWeb
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
    curated_domains: List = ()  # sources that the corpus gets elsewhere, such as wikipedia.org
    hard_words: List = "url/hard_words"
    sub_words: List = "url/sub_words"
    soft_words: List = "url/soft_words"
    max_soft_words: int | None = 1  # distinct ones in one URL
    allow_domains: List = ()  # kept, even if another list has them
    rules: tuple[str, ...] | None = None  # only these are on; null: all

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_soft_words", "soft_words", ">"),)
    SWITCHES: ClassVar[tuple[str, ...]] = (
        *("ut1", "block_domains", "block_urls", "curated_domains", "hard_words", "sub_words"),
        "max_soft_words",
    )

    def __post_init__(self) -> None:
        only(self, "filter/url")
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
            folders = load(self.ut1, _lists.categories)
            for category in self.categories:
                if not folders.get(category):
                    raise AssetError(
                        f'{self.ut1}: there is no category "{category}" with a file "domains" or "urls"'
                        f"{did_you_mean(category, folders) or '.'} Found: {', '.join(sorted(folders)) or 'no folders'}."
                    )
                files = [locate(f"{self.ut1}/{category}/{file}") for file in sorted(folders[category])]
                if not any(any(_lists.lines(file)) for file in files):
                    raise AssetError(f"{self.ut1}/{category}: an empty list; unpack the UT1 lists again")

    @property
    def assets(self) -> tuple[str, ...]:
        """The named lists: their content decides, too."""
        named = [value for field in KINDS if isinstance(value := getattr(self, field), str)]
        return (*named, *(f"{self.ut1}/{category}/{file}" for category, file in self._ut1_files()))

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """The entry of each list that matches each URL, null for none; all null without a URL or for an allowed domain.
        `domain` is given for every URL.

        The longest domain and the deepest page of the URL that a list has are reported; of words, the first in list
        order.
        """
        urls = [None if url is None else Address.of(url) for url in docs["url"].to_pylist()]
        sites = [None if url is None else url.site for url in urls]
        allowed = Names(urls, lambda url: url.domains).matches(domain_list(self.allow_domains))
        urls = [url if kept is None else None for url, kept in zip(urls, allowed)]
        domains, pages = Names(urls, lambda url: url.domains), Names(urls, lambda url: url.pages)

        ut1: list[str | None] = [None] * len(urls)
        for category, file in self._ut1_files():
            names, read = (domains, _lists.domain_hashes) if file == "domains" else (pages, _lists.page_hashes)
            entries = names.matches(load(f"{self.ut1}/{category}/{file}", read))
            ut1 = [old or (entry and f"{category}: {entry}") for old, entry in zip(ut1, entries)]

        whole = [None if url is None else f"{url.host}{url.path}{url.query}".lower() for url in urls]
        parted = pc.replace_substring_regex(pa.array(whole, pa.string()), "[^a-z0-9]+", " ")
        hard, soft = (spelled(parted, word_list(listed)) for listed in (self.hard_words, self.soft_words))
        return {
            "domain": pa.array(sites, pa.string()),
            "ut1": pa.array(ut1, pa.string()),
            "block_domains": pa.array(domains.matches(domain_list(self.block_domains)), pa.string()),
            "block_urls": pa.array(pages.matches(page_list(self.block_urls)), pa.string()),
            "curated_domains": pa.array(domains.matches(domain_list(self.curated_domains)), pa.string()),
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
        """(category, "domains" or "urls") of each UT1 file that is asked for and exists."""
        if self.ut1 is None:
            return []
        folders = load(self.ut1, _lists.categories)
        return [(category, file) for category in self.categories for file in sorted(folders.get(category, ()))]


DOMAINS = ("block_domains", "curated_domains", "allow_domains")
WORDS = ("hard_words", "sub_words", "soft_words")
KINDS = {**dict.fromkeys(DOMAINS, "domain"), "block_urls": "page", **dict.fromkeys(WORDS, "word")}
FINDS = Url.SWITCHES[:-1]


def written(entries: List) -> tuple[str, ...]:
    """The entries that are written out in the recipe."""
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
    """For each URL, given as words with spaces between them, the listed words that it has, in the order of the list."""
    place = {word: at for at, word in reversed(list(enumerate(listed)))}
    several = [word for word in place if " " in word]
    for text in parted.to_pylist():
        words = f" {text or ''} "
        hits = [word for word in set(words.split()) if word in place]
        hits += [word for word in several if f" {word} " in words]
        yield sorted(hits, key=place.__getitem__)


def first_sub_words(parted: pa.StringArray, listed: tuple[str, ...]) -> list[str | None]:
    """For each URL, given as words with spaces between them, the first listed word that occurs when spaces are
    removed."""
    if not listed:
        return [None] * len(parted)
    squeezed = pc.replace_substring(parted, " ", "")
    listed = tuple(word.replace(" ", "") for word in listed)
    # One pass of RE2 with all words together; only the few URLs that match are searched for the word.
    hits = np.flatnonzero(pc.fill_null(pc.match_substring_regex(squeezed, "|".join(map(re.escape, listed))), False))
    first: list[str | None] = [None] * len(parted)
    for row in hits.tolist():
        letters = squeezed[row].as_py()
        first[row] = next(word for word in listed if word in letters)
    return first
