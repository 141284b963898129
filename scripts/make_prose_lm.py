"""Make src/corpusmill/data/prose-en.lm, the model of annotate/perplexity that ships, and enter it in MANIFEST.json.

    apt-get download wordnet-base=1:3.0-37 dict-jargon=4.4.7-3.1; for each: dpkg-deb -x FILE.deb DEBIAN
    pip download --no-deps gensim==4.4.0; unzip its wheel to GENSIM
    python scripts/make_prose_lm.py --debian DEBIAN --gensim GENSIM

The texts, and their licences:

    Wikipedia    106 articles of English Wikipedia from the tests of gensim, CC BY-SA 3.0
    WordNet      definitions and examples of WordNet 3.0, WordNet licence
    jargon       the Jargon File 4.4.7, public domain: informal prose
    demo         running text of the demo crawl: books and speeches in the public domain or CC0, articles and threads
                 written for the demo, Apache-2.0

So the model is under CC BY-SA 3.0. It has words and n-grams that occur twice, and is packed
(`corpusmill.models.ngram_packed`). Running this again gives the same bytes.
"""

import argparse
import bz2
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from train_quality import DATA, enter

import corpusmill
from corpusmill.assets import demo_path
from corpusmill.models.model_file import write_model
from corpusmill.models.ngram import FORMAT, NgramModel, NgramTable, find
from corpusmill.models.ngram_keys import END, START
from corpusmill.models.ngram_packed import SPECIAL_WORDS, extend_all, pack
from corpusmill.steps.annotate.perplexity import PROSE_EN, sentences
from corpusmill.text.compile import kernel
from corpusmill.train.lm import LmSettings, train

ARTICLES = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
DEMO = ("standard-ebooks", "us-government", "gutenberg", "written for the demo")  # running prose, of extra.jsonl.gz
SETTINGS = LmSettings(order=3, min_count=2, prune=1, prune_from=2)
LICENCE = "CC-BY-SA-3.0"
MOST_BYTES = 2 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debian", type=Path, required=True, help="where the Debian packages are unpacked")
    parser.add_argument("--gensim", type=Path, required=True, help="where the wheel of gensim is unpacked")
    options = parser.parse_args()
    texts = {
        "wikipedia": list(wikipedia(options.gensim / ARTICLES)),
        "wordnet": ["\n".join(wordnet(options.debian / "usr/share/wordnet"))],
        "jargon": [jargon(options.debian / "usr/share/dictd/jargon.dict.dz")],
        "demo": list(demo()),
    }
    every = pa.array([text for part in texts.values() for text in part], pa.large_string())
    sizes = {name: sum(len(text.encode()) for text in part) for name, part in texts.items()}
    about = {"licence": LICENCE, "texts": sizes, "documents": len(every), "made by": "scripts/make_prose_lm.py"}
    model = train(every, SETTINGS, about)
    words, grams = known_grams(every, model)
    logs, backs = zip(*(values(model, n, key) for n, key in enumerate(keys(words, grams))))
    path = DATA / f"{PROSE_EN}.lm"
    card = {**model.card, "order": model.order, "packed": True, "wide": len(words) + 3 > 1 << 16}
    card["ngrams"] = [len(rows) for rows in grams]
    write_model(path, FORMAT, card, pack(words, grams, logs, backs))
    assert path.stat().st_size <= MOST_BYTES, path.stat().st_size
    enter(
        PROSE_EN,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": "scripts/make_prose_lm.py on Wikipedia, WordNet 3.0, the Jargon File and texts in demo/",
            "licence": LICENCE,
            "note": "n-grams of English prose; the file holds a card with its data",
        },
    )
    print(f"{path}: {path.stat().st_size:,} bytes; words {len(words):,}; n-grams {card['ngrams']}; {sizes}")
    print(f"corpusmill {corpusmill.__version__}")


def wikipedia(path: Path) -> Iterator[str]:
    """The paragraphs of the articles in a dump, their markup removed; without redirects, lists and tables."""
    raw = bz2.decompress(path.read_bytes()).decode()
    for page in re.findall(r"<text[^>]*>(.*?)</text>", raw, re.DOTALL):
        if page.lstrip().upper().startswith("#REDIRECT"):
            continue
        text = html.unescape(page)
        text = re.sub(r"<!--.*?-->|<ref[^>]*/>|<ref.*?</ref>", "", text, flags=re.DOTALL)
        text = re.sub(r"<(math|table|gallery|source|pre|timeline)\b.*?</\1>", "", text, flags=re.DOTALL)
        for _ in range(6):  # as deep as templates are nested
            text = re.sub(r"\{\{[^{}]*\}\}", "", text)
        text = re.sub(r"\{\|.*?\n\|\}", "", text, flags=re.DOTALL)
        links = r"\[\[(?:File|Image|Category|Media)[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]"
        text = re.sub(links, "", text)
        text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", text)
        text = re.sub(r"\[\S+ ([^\]]*)\]", r"\1", text)
        text = re.sub(r"'{2,}|<[^>]+>", "", text)
        yield "\n".join(line for line in text.splitlines() if line[:1] not in "*#|!=:;{}[" and line.count(" ") > 8)


def wordnet(folder: Path) -> Iterator[str]:
    """Definitions and examples, one a line."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
            if not line.startswith("  "):  # of the licence
                yield from (each.strip().strip('"') for each in line.split(" | ", 1)[1].split(";"))


def jargon(path: Path) -> str:
    """The entries, a paragraph a line: the file is wrapped, and a line is a sentence of the model."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    return "\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text))


def demo() -> Iterator[str]:
    with gzip.open(demo_path("demo://extra.jsonl.gz"), "rb") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # planted
            if isinstance(record, dict) and record.get("source") in DEMO and record.get("lang") == "eng":
                yield str(record.get("text") or "")


def known_grams(texts: pa.LargeStringArray, model: NgramModel) -> tuple[list[str], list[NDArray[np.int64]]]:
    """The words of the model, sorted, and for each order the n-grams of the texts that it has, as numbers of words."""
    folded, _ = sentences(texts)
    lines = [line.split() for line in folded.to_pylist()]
    counts: dict[str, int] = {}
    for line in lines:
        for word in line:
            counts[word] = counts.get(word, 0) + 1
    words = sorted(word for word, count in counts.items() if count >= SETTINGS.min_count)
    number = {word: i for i, word in enumerate(words, len(SPECIAL_WORDS))}
    start, end = SPECIAL_WORDS.index(START), SPECIAL_WORDS.index(END)
    stream = np.array([n for line in lines for n in (start, *(number.get(word, 0) for word in line), end)], np.int64)
    grams = []
    for n in range(1, model.order + 1):
        rows = np.lib.stride_tricks.sliding_window_view(stream, n)
        # <s> only begins one, and nothing follows </s>.
        inside = (rows[:, 1:] != start).all(1) & (rows[:, :-1] != end).all(1)
        rows = np.unique(rows[inside], axis=0)
        if n == 1:
            rows = np.unique(np.append(rows, [[0]], axis=0), axis=0)
        (key,) = keys(words, [rows])
        rows = rows[slots(model.table, n - 1, key) >= 0]
        grams.append(rows)
    return words, grams


def keys(words: list[str], grams: list[NDArray[np.int64]]) -> list[NDArray[np.uint64]]:
    import xxhash

    hashes = np.array([*SPECIAL_WORDS, *(xxhash.xxh64_intdigest(word.encode()) for word in words)], np.uint64)
    all_keys = []
    for rows in grams:
        key = np.zeros(len(rows), np.uint64)
        for column in reversed(range(rows.shape[1])):
            extend_all(key, hashes[rows[:, column]])
        all_keys.append(key)
    return all_keys


def values(model: NgramModel, n: int, key: NDArray[np.uint64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    at = slots(model.table, n, key)
    return model.table.log[at], model.table.back[at]


@kernel
def slots(table: NgramTable, n: int, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    out = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        out[i] = find(table, n, keys[i])
    return out


if __name__ == "__main__":
    main()
