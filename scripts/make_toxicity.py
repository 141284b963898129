"""Make src/corpusmill/data/toxicity-en.toxicity, the model of annotate/toxicity, and enter it in MANIFEST.json.

    apt-get download wordnet-base=1:3.0-37 dict-jargon=4.4.7-3.1; for each: dpkg-deb -x FILE.deb DEBIAN
    pip download --no-deps vaderSentiment==3.3.2; unzip its wheel to VADER
    pip install scikit-learn==1.9.1
    python scripts/make_toxicity.py --data DIR --debian DEBIAN --vader VADER

What it learns from, and under which licence:

    tweets         Davidson et al. 2017, MIT: hateful, offensive, neither
    toxic spans    SemEval 2021 task 5, CC0: comments, with the words that make them toxic
    comments       Surge AI, MIT: toxic or not
    sentences      made by toxicity_sentences.py from general phrases and groups of people
    ordinary       the demo crawl (public domain, CC0, permissive), WordNet 3.0, the Jargon File (public domain)

Of the first three only the parts that `part_of` calls TRAIN, by a hash of the text; the others are for choosing
(DEVELOPMENT) and for judging. The kinds of words come from toxicity_words.py, from the list toxic-words-en, from
WordNet (words that it calls offensive terms for people) and from the ratings of VADER (MIT). The model is a logistic
regression. Swearing that is not labelled hateful counts as toxic in part (`SOFT`), so that hate scores higher. Running
this again gives the same bytes.
"""

import argparse
import csv
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from make_prose_lm import jargon, wordnet
from numpy.typing import NDArray
from toxicity_sentences import made
from toxicity_words import BAD, GOOD, GROUP, POOR, SLUR, SWEAR, given_kinds
from train_quality import DATA, enter

from corpusmill import assets
from corpusmill.assets import demo_path
from corpusmill.models.model_file import write_model
from corpusmill.models.toxicity import FORMAT, MISSPELLED, TOXICITY_EN, WORDS_EN, spellings, word_table
from corpusmill.models.toxicity_score import KIND_FEATURES, LONGEST_WORD, sentence_features
from corpusmill.text.buffers import view
from corpusmill.text.lexicon import read_words
from corpusmill.text.sentences import sentence_spans
from corpusmill.text.unicode import classes

TRAIN, DEVELOPMENT, TEST = range(3)
SOFT = 0.8  # how toxic an offensive tweet is that is not hateful
MADE = 18_000  # sentences
GLOSSES, ORDINARY = 20_000, 60_000  # sentences, at most
SEEN = 4  # texts that a word must be in
LEAST = 0.02  # a smaller weight of a word that has no kind is none
PENALTY = 0.3  # C of scikit-learn: the inverse of the strength of the L2 penalty
# Of the log odds: so that 0.5 drops few ordinary pages and passages of novels of the development parts.
SHIFT = 0.4
LICENCE = "Apache-2.0"


def part_of(text: str) -> int:
    """TRAIN for three texts in five, DEVELOPMENT and TEST for one each."""
    return max(0, hashlib.sha256(text.encode()).digest()[0] % 5 - 2)


@dataclass
class Examples:
    """Texts of one sentence, how toxic, from 0 to 1, and their weights."""

    texts: list[str] = field(default_factory=list)
    toxic: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, text: str, toxic: float, weight: float = 1.0) -> None:
        self.texts.append(text)
        self.toxic.append(toxic)
        self.weights.append(weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled documents")
    parser.add_argument("--debian", type=Path, required=True, help="where the Debian packages are unpacked")
    parser.add_argument("--vader", type=Path, required=True, help="where the wheel of vaderSentiment is unpacked")
    options = parser.parse_args()
    folder = options.debian / "usr/share/wordnet"
    kinds = word_kinds(folder, options.vader / "vaderSentiment/vader_lexicon.txt")
    insults = sorted(word for word, kind in kinds.items() if kind in (SLUR, SWEAR) and word[-1] not in "sgd")
    examples = collect(options.data, options.debian, insults)
    counts = Counter(word for text in examples.texts for word in set(re.findall(r"\w+", text.lower())))
    known = {w for w, n in counts.items() if n >= SEEN and len(w.encode()) <= LONGEST_WORD and not mixed(w)}
    words = sorted(known | set(kinds))
    kind_of = np.array([kinds.get(word, 0) for word in words], np.uint8)
    close = real_words(folder) | {word for word, n in counts.items() if n > 1}
    close &= {s for word in words if kinds.get(word) in MISSPELLED for s in spellings(word)} - set(words)
    weights, bias = fit(examples, words, kind_of, sorted(close))
    # Words that decide nothing are left out; those that are close to one of a kind are kept as such.
    kept = (np.abs(weights[: len(words)]) >= LEAST) | (kind_of > 0)
    words, left = [w for w, k in zip(words, kept) if k], {w for w, k in zip(words, kept) if not k}
    near = {s for word in words if kinds.get(word) in MISSPELLED for s in spellings(word)}
    path = DATA / f"{TOXICITY_EN}.toxicity"
    card = {
        "kind": "toxicity",
        "from": "scripts/make_toxicity.py, a logistic regression",
        "licence": LICENCE,
        "data": "English tweets (t-davidson/hate-speech-and-offensive-language), comments (SemEval 2021 task 5, toxic "
        "spans; Surge AI), made sentences, and ordinary text; the parts and numbers stand in the script",
        "examples": len(examples.texts),
        "note": "docs/guide/toxicity.md has its scores and what it cannot do.",
    }
    arrays = {
        "words": as_bytes(words),
        "kinds": kind_of[kept],
        "weights": np.concatenate([weights[: len(kept)][kept], weights[len(kept) :]]),
        "bias": np.array([bias + SHIFT], np.float32),
        "close": as_bytes(sorted((close | left) & near)),
    }
    write_model(path, FORMAT, card, arrays)
    enter(
        TOXICITY_EN,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": "scripts/make_toxicity.py on labelled tweets and comments, made sentences and ordinary text",
            "licence": LICENCE,
            "note": "tells insults, obscenities and hate in English; the file holds a card",
        },
    )
    print(f"{path}: {path.stat().st_size:,} bytes; {len(words):,} words, {len(examples.texts):,} examples")


def collect(data: Path, debian: Path, insults: list[str]) -> Examples:
    examples = Examples()
    for record in records(data / "toxicity/davidson_tweets.jsonl.gz"):
        if part_of(record["text"]) == TRAIN:
            toxic = {"hate": 1.0, "offensive": SOFT, "neither": 0.0}[record["label"]]
            # Five in six are offensive.
            examples.add(record["text"], toxic, {"hate": 0.5, "offensive": 0.35, "neither": 1.0}[record["label"]])
    for text, marked in toxic_spans(data):
        if part_of(text) == TRAIN:
            for sentence, toxic in marked_sentences(text, marked):
                examples.add(sentence, toxic * (1 + SOFT) / 2, 1.0 if toxic or not marked else 0.5)
    for record in records(data / "toxicity/surge_toxicity_en.jsonl.gz"):
        if part_of(record["text"]) == TRAIN:
            examples.add(record["text"], float(record["is_toxic"] == "Toxic"))
    for text, hateful in made(MADE, insults):
        examples.add(text, float(hateful))
    for text in ordinary(debian):
        examples.add(text, 0.0)
    return examples


def toxic_spans(data: Path) -> Iterator[tuple[str, frozenset[int]]]:
    """Comments, and the characters that make them toxic."""
    with gzip.open(data / "toxicity/toxic_spans_train.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            yield record["text"], frozenset(json.loads(record["spans"]))


def marked_sentences(text: str, marked: frozenset[int]) -> Iterator[tuple[str, bool]]:
    """The sentences of a text, and whether one of the characters is marked."""
    at = 0
    for sentence in sentences([text]):
        at = text.index(sentence, at)
        yield sentence, not marked.isdisjoint(range(at, at + len(sentence)))
        at += len(sentence)


def ordinary(debian: Path) -> list[str]:
    """Sentences of text that nobody would call toxic, or hardly: books, speeches, documentation, definitions."""
    chance = Random(0)
    glosses = sorted({line for line in wordnet(debian / "usr/share/wordnet") if line.count(" ") > 2})
    chance.shuffle(glosses)
    texts = [jargon(debian / "usr/share/dictd/jargon.dict.dz")]
    with gzip.open(demo_path("demo://extra.jsonl.gz"), "rb") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # planted
            if isinstance(record, dict) and record.get("source") != "udhr" and record.get("lang") == "eng":
                texts.append(str(record.get("text") or ""))
    found = [sentence for sentence in sentences(texts) if sentence.count(" ") > 2] + glosses[:GLOSSES]
    chance.shuffle(found)
    return found[:ORDINARY]


def sentences(texts: list[str]) -> list[str]:
    spans, offsets = sentence_spans(pa.array(texts, pa.large_string()))
    raw = [text.encode() for text in texts]
    of = np.repeat(np.arange(len(texts)), np.diff(offsets))
    return [raw[d][start:end].decode() for d, (start, end) in zip(of, spans.tolist())]


def word_kinds(wordnet_folder: Path, vader: Path) -> dict[str, int]:
    """The kind of each word that has one."""
    kinds: dict[str, int] = {}
    for line in vader.read_text("utf-8").splitlines():
        word, rating = line.split("\t")[:2]
        if re.fullmatch(r"[a-z0-9]+", word):
            value = float(rating)
            kind = BAD if value <= -1.8 else POOR if value <= -0.8 else GOOD if value >= 1.2 else 0
            if kind:
                kinds[word] = kind
    kinds.update(given_kinds())
    words = assets.load(WORDS_EN, read_words)
    letters = bytes(words.letters).decode()
    kinds.update((letters[start:end], SWEAR) for start, end in zip(words.start[:-1], words.start[1:]))
    slurs = offensive_terms(wordnet_folder)
    kinds.update(dict.fromkeys((form for word in slurs for form in (word, word + "s")), SLUR))
    return kinds


def offensive_terms(folder: Path) -> set[str]:
    """Nouns of WordNet for people whose definition calls them offensive terms, if they have no other meaning."""
    meanings: Counter[str] = Counter()
    offensive: Counter[str] = Counter()
    for line in (folder / "data.noun").read_text("latin-1").splitlines():
        if line.startswith("  "):
            continue
        entry, _, gloss = line.partition(" | ")
        fields = entry.split()
        words = {fields[4 + 2 * i].lower() for i in range(int(fields[3], 16))}
        meanings.update(words)
        if fields[1] == "18" and re.search(r"ethnic slur|offensive (term|name|and disparaging)", gloss):
            offensive.update(words)
    return {word for word in offensive if word.isalpha() and offensive[word] == meanings[word]}


def real_words(folder: Path) -> set[str]:
    return {
        line.split(" ", 1)[0]
        for part in ("noun", "verb", "adj", "adv")
        for line in (folder / f"index.{part}").read_text("latin-1").splitlines()
        if not line.startswith("  ")
    }


def mixed(word: str) -> bool:
    """Letters and digits: looked up as the letters that the digits stand for."""
    return len(word) > 2 and any(c.isdigit() for c in word)


def fit(
    examples: Examples, words: list[str], kinds: NDArray[np.uint8], close: list[str]
) -> tuple[NDArray[np.float32], float]:
    """(features,) weights, and the bias."""
    from scipy.sparse import csr_matrix, diags, vstack
    from sklearn.linear_model import LogisticRegression

    text = view(pa.array(examples.texts, pa.large_string()))
    table = word_table(words, kinds, close)
    features = len(words) + KIND_FEATURES
    ends = np.empty(len(examples.texts), np.int64)
    size = sentence_features(text, table, classes(), features, np.empty(0, np.int32), ends)
    columns = np.empty(size, np.int32)
    sentence_features(text, table, classes(), features, columns, ends)
    rows = csr_matrix((np.ones(size), columns, np.concatenate([[0], ends])), (len(ends), features))
    # The names of groups have no weight of their own, so that no group is worse than another.
    named = np.zeros(features, bool)
    named[: len(words)] = kinds == GROUP
    rows = rows @ diags((~named).astype(np.float64))
    toxic, weights = np.array(examples.toxic), np.array(examples.weights)
    # A text that is toxic in part is two examples.
    yes, no = toxic > 0, toxic < 1
    model = LogisticRegression(C=PENALTY, solver="liblinear", tol=1e-3, random_state=0)
    model.fit(
        vstack([rows[yes], rows[no]]).tocsr(),
        np.repeat([1, 0], [yes.sum(), no.sum()]),
        np.concatenate([(weights * toxic)[yes], (weights * (1 - toxic))[no]]),
    )
    return model.coef_[0].astype(np.float32), float(model.intercept_[0])


def as_bytes(words: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), np.uint8)


def records(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
