"""Near-duplicates by definitions that are not ours: python -m benchmarks.quality near --data DIR

A run of `dedup/exact` and `dedup/minhash` decides, with the step's defaults and with other settings. Each document that
is dropped as a near-duplicate is judged beside the one that is kept instead, in plain Python, by the Jaccard similarity
of two sets of 5-grams:

    words         re.findall(r"\\w+", text.lower())
    white space   text.split()

A drop is right by a definition if that similarity is 0.8 or more. Recall is of the pairs to which a labelled set gives
a similarity, by that similarity: a pair is found if one of the two, or both, are dropped. `possible` is the share of
them that are right by both definitions, and `at most` the share that any step can find whose drops are right by both
as often as is wanted: the possible ones, and as many others as the bar lets be wrong. `unmet` were not compared: their
sketches had no band in common.

Nothing is fitted here: settings are compared on all sets, and the default is the one that is right by both definitions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from benchmarks.quality import copies
from benchmarks.quality.dedup import Decided, band_keys, decide
from corpusmill.steps.dedup.minhash import Minhash

NGRAM, THRESHOLD = 5, 0.8
PRECISION, RECALL = 0.985, 0.97  # bars
SETTINGS = {
    "default": "dedup/minhash",
    "numbers folded": "dedup/minhash: {numbers: fold}",
    "case kept": "dedup/minhash: {case: keep}",
    "punctuation kept": "dedup/minhash: {punctuation: keep}",
    "punctuation dropped": "dedup/minhash: {punctuation: drop}",
    "as datatrove": "dedup/minhash: {numbers: fold, punctuation: drop}",
    "contained": "dedup/minhash: {rule: contained}",
}
FOR_LARGE = ("default", "as datatrove", "contained")
DEFINITIONS = {
    "words": lambda text: re.findall(r"\w+", text.lower()),
    "white space": str.split,
}


@dataclass(frozen=True)
class Labelled:
    """Documents, and the similarity that the set gives to pairs of them, by their numbers."""

    name: str
    texts: Sequence[str]
    given: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """Of a set and a setting.

    right            definition -> of each document dropped as a near-duplicate, whether that is right
    lost             of each of them, the share of its 5-grams of words that the kept document lacks
    found, possible, met   of the pairs with a given similarity of 0.8 to 0.9
    by                     definition -> whether these pairs are 0.8 by it
    """

    right: Mapping[str, NDArray[np.bool_]]
    lost: NDArray[np.float64]
    found: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    met: NDArray[np.bool_]
    by: Mapping[str, NDArray[np.bool_]]

    @property
    def at_most(self) -> float:
        """The share of the pairs that can be found while PRECISION of the drops are right by both definitions. Each
        pair that is not found takes a drop."""
        right = self.found | self.possible  # one may be found by a third document
        dropped = len(self.lost) + int((self.possible & ~self.found).sum())
        wrong = int(dropped * (1 - PRECISION) / PRECISION)
        return min(1.0, (int(right.sum()) + wrong) / len(right))


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    copies.check(data)
    judged: dict[str, dict[str, Judged]] = {name: {} for name in SETTINGS}
    for labelled in sets(data):
        for name, step in SETTINGS.items():
            if labelled.name == "web46" and name not in FOR_LARGE:
                continue
            decided = decide(list(labelled.texts), scratch / "run", step)
            keys = band_keys(list(labelled.texts), Minhash()) if name == "default" and labelled.given else None
            judged[name][labelled.name] = judge(labelled, decided, keys)
    print("## near: near-duplicates by others' definitions\n")
    print_sets(judged["default"])
    print_missed(judged["default"])
    print_settings(judged)
    return figures(judged["default"])


def figures(judged: Mapping[str, Judged]) -> list[Figure]:
    found = [
        Figure(f"near: {name}, dropped rightly by {definition}", share(right), "", PRECISION, digits=4)
        for name, one in judged.items()
        for definition, right in one.right.items()
        if len(right)
    ]
    found += [
        Figure(f"near: {name}, pairs given as 0.8 to 0.9 found", share(one.found), "", RECALL, digits=4)
        for name, one in judged.items()
        if len(one.found)
    ]
    recall = share(np.concatenate([one.found for one in judged.values()]))
    return [*found, Figure("near: pairs given as 0.8 to 0.9 found, all sets", recall, "", RECALL, digits=4)]


# --- documents


def sets(data: Path) -> Iterator[Labelled]:
    pages = copies.crawl(data / "warc/crawl")
    yield Labelled("crawl", pages.texts, pages.given)
    boost = copies.boost(data / "neardup")
    number = {page["id"]: n for n, page in enumerate(rows(data, "neardup/boost_1.74_vs_1.81_docs"))}
    pairs = rows(data, "neardup/boost_1.74_vs_1.81_same_page_pairs")
    yield Labelled("Boost", boost.texts, {(number[p["a"]], number[p["b"]]): p["jaccard5"] for p in pairs})
    yield Labelled("licences", [each["text"] for each in rows(data, "neardup/license_texts")])
    # Its given similarities leave out 5-grams of more than 12 posts, so they are of no whole post.
    yield Labelled("newsgroups", [each["text"] for each in rows(data, "text/20newsgroups_train")])
    web46, truth = copies.web46(data / "bench"), orjson.loads((data / "bench/web46.truth.json").read_bytes())
    yield Labelled("web46", web46.texts, {(b, a): similarity for a, b, similarity, _ in truth["near"]})
    human = rows(data, "neardup/copycat_cc2015_human_pairs")
    texts = list(dict.fromkeys(pair[side] for pair in human for side in ("text_a", "text_b")))
    at = {text: n for n, text in enumerate(texts)}
    yield Labelled("copycat", texts, {(at[p["text_a"]], at[p["text_b"]]): p["jaccard5"] for p in human})
    yield Labelled("answers", [each["text"] for each in rows(data, "neardup/clough_stevenson_plagiarism")])


def rows(data: Path, name: str) -> list[dict[str, Any]]:
    return copies.rows(data / f"{name}.jsonl.gz")


# --- definitions


def grams(words: list[str]) -> frozenset[tuple[str, ...]]:
    return (
        frozenset(tuple(words[i : i + NGRAM]) for i in range(max(1, len(words) - NGRAM + 1))) if words else frozenset()
    )


def jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    return len(one & other) / len(one | other) if one & other else 0.0


def judge(labelled: Labelled, decided: Decided, keys: NDArray[np.uint64] | None) -> Judged:
    """keys   (documents, bands) by which the step brings documents together"""

    def of(document: int, definition: str) -> frozenset[tuple[str, ...]]:
        return grams(DEFINITIONS[definition](labelled.texts[document]))

    def alike(pair: tuple[int, int], definition: str) -> bool:
        return jaccard(of(pair[0], definition), of(pair[1], definition)) >= THRESHOLD

    near = np.flatnonzero(decided.step == 2).tolist()
    pairs = [(number, int(decided.kept[number])) for number in near]
    right = {name: np.array([alike(pair, name) for pair in pairs], bool) for name in DEFINITIONS}
    lost = [len((one := of(a, "words")) - of(b, "words")) / max(len(one), 1) for a, b in pairs]
    asked = [pair for pair, similarity in labelled.given.items() if THRESHOLD <= similarity < 0.9]
    gone = decided.step > 0
    found = np.array([gone[a] or gone[b] for a, b in asked], bool)
    by = {name: np.array([alike(pair, name) for pair in asked], bool) for name in DEFINITIONS}
    possible = np.logical_and.reduce(list(by.values()))
    met = np.array([keys is None or bool((keys[a] == keys[b]).any()) for a, b in asked], bool)
    return Judged(right, np.array(lost), found, possible, met, by)


# --- printing


def print_sets(judged: Mapping[str, Judged]) -> None:
    print("With the defaults; lost is the mean over dropped documents:\n")
    table("documents", "dropped", *(f"right by {name}" for name in DEFINITIONS), "lost", "pairs", "found", "possible")
    for name, one in judged.items():
        cells = [f"{share(right):.4f}" if len(right) else "–" for right in one.right.values()]
        lost = f"{one.lost.mean():.4f}" if len(one.lost) else "–"
        pairs = [f"{share(one.found):.4f}", f"{share(one.possible):.4f}"] if len(one.found) else ["–", "–"]
        row(name, f"{len(one.lost):,}", *cells, lost, f"{len(one.found):,}", *pairs)
    print()


def print_missed(judged: Mapping[str, Judged]) -> None:
    print("Why pairs given as 0.8 to 0.9 are not found, with the defaults:\n")
    table(
        *("documents", "pairs", *(f"0.8 by {name}" for name in DEFINITIONS), "by both", "found", "at most"),
        *("not found", "not 0.8 by both", "0.8 by both, unmet", "0.8 by both, met"),
    )
    for name, one in judged.items():
        if len(one.found):
            missed = ~one.found
            right = one.possible & missed
            counts = [*(int(by.sum()) for by in one.by.values()), int(one.possible.sum())]
            why = [missed, missed & ~one.possible, right & ~one.met, right & one.met]
            cells = [*counts, f"{share(one.found):.4f}", f"{one.at_most:.4f}", *(int(each.sum()) for each in why)]
            row(name, len(one.found), *cells)
    print()


def print_settings(judged: Mapping[str, Mapping[str, Judged]]) -> None:
    print(
        "Other settings: dropped, right by words and by white space, in each set; mean lost and pairs found, of all:\n"
    )
    names = list(next(iter(judged.values())))
    table("setting", *names, "lost", "found")
    for setting, by_set in judged.items():
        cells = [in_short(by_set[name]) if name in by_set else "" for name in names]
        lost = np.concatenate([one.lost for one in by_set.values()]).mean()
        found = share(np.concatenate([one.found for one in by_set.values()]))
        row(setting, *cells, f"{lost:.4f}", f"{found:.4f}")
    print()


def in_short(one: Judged) -> str:
    return " ".join(
        [f"{len(one.lost):,}:", *(f"{share(right):.3f}" if len(right) else "–" for right in one.right.values())]
    )


def share(which: NDArray[np.bool_]) -> float:
    return float(which.mean()) if len(which) else 0.0
