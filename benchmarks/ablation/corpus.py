"""The corpus that every arm is milled from, and the text that none of them sees.

The corpus is what a crawl brings: pages of the crawl of DATA (real pages, with planted spam, copies and near copies),
the mixed documents of web46 (documentation, code, raw HTML, spam, copies), and newsgroup posts with their headers.

Held out, by source: `web`, the text that people marked on pages of one domain in ten, whose domains no arm reads;
`wikipedia`, `news` and `books`, whole articles, stories and chapters. A document of these that shares a run of 13 words
with the corpus is left out, counted here in plain Python, so that no arm can know it.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq

HELD_OUT_DOMAINS = 10  # one in so many
GRAM = 13  # words, as GPT-3's decontamination (Brown et al. 2020, arXiv:2005.14165, appendix C)
CHAPTERS = 4  # one in so many, or books would be three quarters of what is held out
PAGES = ("full_text", "full_text_markup")  # kinds of gold that are a page's whole text
WORD = re.compile(r"\w+")


def read(data: Path) -> list[dict[str, Any]]:
    """What a recipe reads."""
    return [
        {"warc": {"paths": str(data / "warc" / "crawl" / "*.warc.gz"), "source": "crawl"}},
        {"jsonl": {"paths": str(data / "bench" / "web46.jsonl.zst"), "source": "mixed"}},
        {"jsonl": {"paths": str(data / "text" / "20newsgroups_train.jsonl.gz"), "source": "posts"}},
    ]


def domain(url: str) -> str:
    """The last two labels of the host: coarser than the public suffix list, so it holds out no less."""
    return ".".join((urlsplit(url).hostname or "").split(".")[-2:])


def is_held_out(url: str | None) -> bool:
    digest = hashlib.md5(domain(url or "").encode()).digest()
    return bool(url) and digest[0] % HELD_OUT_DOMAINS == 0


def of_other_domains(document: Any) -> bool:
    """For `filter/function`."""
    return document.source != "crawl" or not is_held_out(document.url)


def held_out(data: Path, corpus: Iterable[str]) -> dict[str, list[str]]:
    """Set -> its documents, without those that share a run of 13 words with the corpus."""
    sets = {
        "web": list(_web(data)),
        "wikipedia": pq.read_table(data / "text" / "wikitext2_valid.parquet")["text"].to_pylist(),
        "news": [one["text"] for one in _lines(data / "lang" / "ntrex_docs.jsonl.gz") if one["lang"] == "eng"],
        "books": [one["text"] for one in _lines(data / "text" / "standardebooks_chapters.jsonl.gz")][::CHAPTERS],
    }
    holders: dict[int, set[tuple[str, int]]] = {}
    for name, texts in sets.items():
        for number, text in enumerate(texts):
            for gram in _grams(text):
                holders.setdefault(gram, set()).add((name, number))
    seen: set[tuple[str, int]] = set()
    for text in corpus:
        for gram in _grams(text):
            if gram in holders:
                seen |= holders[gram]
    return {
        name: [text for number, text in enumerate(texts) if (name, number) not in seen] for name, texts in sets.items()
    }


def _web(data: Path) -> Iterator[str]:
    for one in _lines(data / "warc" / "crawl" / "gold_extraction.jsonl.gz"):
        if one["kind"] in PAGES and is_held_out(one["url"]):
            yield one["text"]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _grams(text: str) -> Iterator[int]:
    words = WORD.findall(text.lower())
    for start in range(len(words) - GRAM + 1):
        yield hash(tuple(words[start : start + GRAM]))
