"""How alike documents are, from the definition alone: slow, and sharing no code with the steps that are judged by it.

A document is folded (lower case, numbers as 0, punctuation and white space as one space, no accents) and is then the
set of its runs of five words, or of all its words where it has fewer. Two sets are as alike as the share of their
members that both have: their Jaccard similarity. `alike` finds all pairs of at least a given similarity and misses
none, which takes minutes from some 100 MB on; `among` looks at given pairs alone.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill.text import unicode

Set = NDArray[np.uint64]

NUMBER = re.compile(r"\d+([.,،٫⎖⎗⎘]\d+)?")
GAPS = {ord(c): " " for c in unicode.punctuation()}
MARKS = dict.fromkeys(c for c in range(0x110000) if unicodedata.category(chr(c)) == "Mn")


def folded(text: str) -> str:
    text = NUMBER.sub("0", text.lower()).translate(GAPS)
    if not text.isascii():
        text = unicodedata.normalize("NFD", " ".join(text.split())).translate(MARKS)
    return " ".join(text.split())


def shingles(text: str, n: int = 5) -> Set:
    """The set of a document, sorted; its members are 64-bit hashes."""
    words = folded(text).split(" ")
    if words == [""]:
        return np.empty(0, np.uint64)
    grams = {" ".join(words[i : i + n]).encode() for i in range(max(1, len(words) - n + 1))}
    return np.sort(np.fromiter(map(xxhash.xxh3_64_intdigest, grams), np.uint64, len(grams)))


def jaccard(one: Set, other: Set) -> float:
    """Two empty documents are not alike: there is nothing that both have."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common) if common else 0.0


class Sets:
    """The sets of some texts, each made when it is first asked for."""

    def __init__(self, texts: Sequence[str], n: int) -> None:
        self.texts, self.n = texts, n
        self._made: dict[int, Set] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, number: int) -> Set:
        if number not in self._made:
            self._made[number] = shingles(self.texts[number], self.n)
        return self._made[number]

    def __iter__(self) -> Iterator[Set]:
        return (self[number] for number in range(len(self)))


class Alike(NamedTuple):
    """Documents of equal sets are one group; pairs are pairs of groups.

    group          (documents,) the group of each
    first          (groups,) the first document of each
    left, right    (pairs,) groups
    similarity     (pairs,)
    """

    group: NDArray[np.int64]
    first: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similarity: NDArray[np.float64]


def alike(sets: Iterable[Set], least: float) -> Alike:
    """All pairs of groups with a similarity from `least` to below 1.

    With members in any one order, here the rarest first, two sets this alike share a member that each of them has
    among its first size - ceil(least * size) + 1 (Bayardo, Ma, Srikant, "Scaling up all pairs
    similarity search", 2007; Xiao et al., "Efficient similarity joins", 2008). Those that do are counted out.
    """
    groups: dict[bytes, int] = {}
    distinct: list[Set] = []
    first: list[int] = []
    group: list[int] = []
    for number, members in enumerate(sets):
        name = members.tobytes() or number.to_bytes(4)  # an empty one is alone
        if name not in groups:
            groups[name] = len(distinct)
            distinct.append(members)
            first.append(number)
        group.append(groups[name])
    return _alike(group, first, list(_pairs(distinct, least)))


def among(sets: Sets, pairs: Iterable[tuple[int, int]], least: float) -> Alike:
    """The same of given pairs of documents; a document in none of them is a group of its own."""
    pairs = list(pairs)
    group = np.arange(len(sets))
    same: dict[bytes, int] = {}
    for number in sorted({number for pair in pairs for number in pair}):
        if len(sets[number]):
            group[number] = same.setdefault(sets[number].tobytes(), number)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    met = {(min(a, b), max(a, b)) for a, b in ((int(group[a]), int(group[b])) for a, b in pairs) if a != b}
    near = [(a, b, value) for a, b in sorted(met) if (value := jaccard(sets[first[a]], sets[first[b]])) >= least]
    return _alike(group.tolist(), first.tolist(), near)


def _alike(group: list[int], first: list[int], pairs: list[tuple[int, int, float]]) -> Alike:
    left, right, similarity = zip(*pairs) if pairs else ((), (), ())
    return Alike(
        np.array(group, np.int64),
        np.array(first, np.int64),
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(similarity, np.float64),
    )


def _pairs(sets: list[Set], least: float) -> Iterator[tuple[int, int, float]]:
    sizes = np.array([len(members) for members in sets])
    _, name, count = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rank = np.empty(len(count), np.int64)
    rank[np.argsort(count, kind="stable")] = np.arange(len(count))
    alone = int((count == 1).sum())  # members of these ranks are in one set only
    named = np.split(rank[name], np.cumsum(sizes)[:-1])
    having: dict[int, list[int]] = {}  # member -> the sets before that have it early
    here = np.zeros(len(count), bool)
    for number in np.argsort(sizes, kind="stable").tolist():
        members, size = np.sort(named[number]), int(sizes[number])
        early = [m for m in members[: size - math.ceil(least * size - 1e-9) + 1].tolist() if m >= alone]
        met = {other for member in early for other in having.get(member, ()) if sizes[other] >= least * size - 1e-9}
        if met:
            others = sorted(met)
            here[members] = True
            ends = np.cumsum(sizes[others])
            hits = here[np.concatenate([named[other] for other in others])]
            common = np.add.reduceat(hits, np.concatenate([[0], ends[:-1]]), dtype=np.int64)
            here[members] = False
            similarity = common / (sizes[others] + size - common)
            for other, value in zip(others, similarity.tolist()):
                if value >= least:
                    yield other, number, value
        for member in early:
            having.setdefault(member, []).append(number)
