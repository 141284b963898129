"""Block lists and words in the address: can a page be dropped by its URL alone?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.assets import load, locate
from corpusmill.errors import AssetError, RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.filter import _lists
from corpusmill.steps.verdict import Rule, join_reasons, only
from corpusmill.text.addresses import (
    Address,
    Addresses,
    Hashes,
    domain_hashes,
    find_domains,
    find_pages,
    page_hashes,
    parse,
    pieces,
    sites,
)
from corpusmill.text.array_types import Int64s
from corpusmill.text.word_lists import find_words, word_lists

List = tuple[str, ...] | str


@dataclass(frozen=True, kw_only=True)
class FilterUrl:
    """Drop documents by their URL: listed domains and pages, and words in the address that tell what a page is about.

    A list is written out in the recipe, or named: a file with one entry per line, or a list that ships. A domain also
    means its subdomains, a page also everything below it. Scheme, user, port, fragment and the case of the host make no
    difference; names in other scripts are compared as xn--…; an IP address matches as a whole. Words are separated by
    characters other than a-z and 0-9, case ignored; an entry of several words matches them in sequence. Sub-words match
    anywhere ("free-po.rn"). Documents without a URL are kept.

    The word lists that ship are small, ours, and English. UT1, the bulk of FineWeb's lists (4.6 M domains, CC BY-SA),
    does not ship: name its folder as `ut1`.

    Each list's reason has a signal of the same name with the entry found; of `ut1` "category: entry". Signal `domain`:
    the registered domain (example.co.uk), by the installed package publicsuffixlist.

    Source: Penedo et al. 2023 (RefinedWeb), arXiv:2306.01116, appendix G.1
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
    sub_words_across: bool = True  # sub-words match across separators, too
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
            for entry in listed_entries(getattr(self, field)):
                if not _lists.is_domain(entry):
                    raise RecipeError(
                        f'filter/url: {field} has "{entry}", which is not a bare domain; '
                        f'write "{Address.from_url(entry).host or "example.org"}", or put the page in block_urls'
                    )
        for entry in listed_entries(self.block_urls):
            if not Address.from_url(entry).host:
                raise RecipeError(f'filter/url: block_urls has "{entry}", which has no host; write "example.org/page"')
        for field in WORDS:
            for entry in listed_entries(getattr(self, field)):
                if not _lists.plain(entry):
                    raise RecipeError(f'filter/url: {field} has "{entry}"; a word is made of a-z and 0-9')
        for field, kind in KINDS.items():
            if isinstance(name := getattr(self, field), str):
                _lists.check(locate(name), kind)
        if self.ut1 is not None:
            folders = _lists.categories(locate(self.ut1))
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
        lists = [value for field in KINDS if isinstance(value := getattr(self, field), str)]
        return (*lists, *(f"{self.ut1}/{category}/{file}" for category, file in self._ut1_files()))

    def signals(self, docs: pa.RecordBatch) -> Columns:
        """The entry of each list that matches each URL, null for none; all null without a URL or for an allowed domain.
        `domain` is given for every URL.

        The longest domain and the deepest page of the URL that a list has are reported; of words, the first in list
        order.
        """
        listed = word_list(self.hard_words), word_list(self.sub_words, inside=True), word_list(self.soft_words)
        if not len(docs):  # needs no table of what is listed
            return {name: pa.nulls(0, kind) for name, kind in SIGNALS.items()}
        addresses = parse(docs["url"])
        judged = docs["url"].is_valid().to_numpy(zero_copy_only=False)
        judged = judged & (find_domains(addresses, judged, domain_list(self.allow_domains))[:, 0] < 0)
        by_domain, by_page = (
            partial(matched_entries, find_domains, addresses, judged),
            partial(matched_entries, find_pages, addresses, judged),
        )

        ut1 = pa.nulls(len(judged), pa.string())
        for category, file in self._ut1_files():
            find, read = (by_domain, _lists.domains) if file == "domains" else (by_page, _lists.pages)
            entries = find(load(f"{self.ut1}/{category}/{file}", read))
            ut1 = pc.coalesce(ut1, pc.binary_join_element_wise(category, entries, ": "))

        *places, soft = find_words(
            addresses.data, addresses.spans[:, 4], addresses.spans[:, 5], automata(*listed, self.sub_words_across)
        )
        hard, sub = (
            pa.array(words, pa.string()).take(pa.array(at, mask=~judged | (at < 0)))
            for words, at in zip(listed, places)
        )
        return {
            "domain": sites(addresses),
            "ut1": ut1,
            "block_domains": by_domain(domain_list(self.block_domains)),
            "block_urls": by_page(page_list(self.block_urls)),
            "curated_domains": by_domain(domain_list(self.curated_domains)),
            "hard_words": hard,
            "sub_words": sub,
            "soft_words": pa.array(soft, mask=~judged),
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
        folders = _lists.categories(locate(self.ut1))
        return [(category, file) for category in self.categories for file in sorted(folders.get(category, ()))]


DOMAINS = ("block_domains", "curated_domains", "allow_domains")
WORDS = ("hard_words", "sub_words", "soft_words")
KINDS = {**dict.fromkeys(DOMAINS, "domain"), "block_urls": "page", **dict.fromkeys(WORDS, "word")}
FINDS = FilterUrl.SWITCHES[:-1]
SIGNALS = dict.fromkeys(("domain", *FINDS), pa.string()) | {"soft_words": pa.int32()}


def listed_entries(entries: List) -> tuple[str, ...]:
    """The entries that are written out in the recipe."""
    return () if isinstance(entries, str) else entries


def matched_entries(
    find: Callable[..., Int64s], addresses: Addresses, judged: NDArray[np.bool_], listed: Hashes
) -> pa.Array:
    """The name of each judged address that `find` finds in a list, null for none."""
    return (
        pieces(addresses, find(addresses, judged, listed))
        if len(listed.keys) > 1
        else pa.nulls(len(judged), pa.string())
    )


def domain_list(entries: List) -> Hashes:
    return load(entries, _lists.domains) if isinstance(entries, str) else _hashed(domain_hashes, entries)


def page_list(entries: List) -> Hashes:
    return load(entries, _lists.pages) if isinstance(entries, str) else _hashed(page_hashes, entries)


@lru_cache(64)
def _hashed(hashes: Callable[[tuple[str, ...]], Hashes], entries: tuple[str, ...]) -> Hashes:
    return hashes(entries)


def word_list(entries: List, inside: bool = False) -> tuple[str, ...]:
    """The words of a list as they are reported; those that match `inside` others without the spaces between parts."""
    words = load(entries, _lists.words) if isinstance(entries, str) else tuple(map(_lists.plain, entries))
    return tuple(entry.replace(" ", "") for entry in words) if inside else words


automata = lru_cache(16)(word_lists)
