"""The index of benchmarks: made once per machine, and mapped by every process that looks something up."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.steps.decontaminate._items import FieldsOfFiles, files_of, name_of, read_items
from corpusmill.text import near
from corpusmill.text.compile import cache_folder, fingerprint
from corpusmill.text.fold import fold
from corpusmill.text.loosened import BECOMES, IDEOGRAPH, LETTER, PLAIN, letters_apart, loosened
from corpusmill.text.near import NO_ITEMS, Near
from corpusmill.text.overlap import INDEX_ARRAYS, WIDEST, OverlapIndex, build
from corpusmill.text.sets import shift_of

FORMAT = 8  # of the files, and of how items are indexed: a change rebuilds every index
_APART = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in letters_apart())
WORDS = re.compile(f"[{_APART}]|[^\\W{_APART}]+")  # of loosened text
# How the words of most of an item are, and by how much its lengths are greater: a word of Chinese or Japanese has 1.5
# characters, one of Thai, Lao, Burmese or Khmer three and more.
PER_WORD = {PLAIN: 1.0, IDEOGRAPH: 1.5, LETTER: 3.0}
# Words. Of 3,441 questions that are not in the index, of benchmarks half of whose items are, 8 would take 10 for
# contaminated that are not so without templates, 9 six ("write a python function to find the sum of"), from 10 on none.
TEMPLATE = 13
SHOWN = 60  # words of a passage and of a question, kept as evidence
# The modules with the kernels that make an index.
INDEXING = (fold.__module__, build.__module__, loosened.__module__, near.__name__)


@dataclass(frozen=True)
class Benchmarks:
    """The items of benchmarks, and an index that finds them in text.

    benchmark, id, asked      (items,) each; `asked` is the beginning of the question
    answers                   (items,) loosened; any of them is right; empty where an item has none
    material                  (items,) whether it is ordinary public text: what is found of it counts apart
    index                     finds all but those of which most words are letters of scripts without spaces
    by_letter                 find these, each those of one kind of letter
    near                      leads to short items in spite of wrong words; to none if that is not asked for
    """

    benchmark: pa.Array
    id: pa.Array
    asked: pa.Array
    answers: pa.Array
    material: NDArray[np.bool_]
    index: OverlapIndex
    by_letter: tuple[OverlapIndex, ...]
    near: Near

    def overlap(self, passages: NDArray[Any]) -> NDArray[np.float64]:
        """(passages,) the share of the words that are there: of all words of the item, or, where n-grams were found, of
        those in n-grams that are not boilerplate. With a template, the larger of both."""
        item, covered, template = passages["item"], passages["covered"], passages["template"]
        indexes = (self.index, *self.by_letter)  # an item has words in one of them
        words, telling = sum(index.words[item] for index in indexes), sum(index.telling[item] for index in indexes)
        share: NDArray[np.float64] = covered / np.where(passages["grams"], np.maximum(telling, 1), words)
        return np.where(template > 0, np.maximum(share, (covered + template) / words), share)

    def answered(self, item: int, text: str) -> bool:
        """Whether one of the answers of an item occurs in a loosened text; true for an item without an answer.

        Only the first n words of a long answer count. Case and the characters between words make no difference; digits
        do.
        """
        answers = [WORDS.findall(answer.casefold())[: self.index.n] for answer in self.answers[item].as_py()]
        words = f" {' '.join(WORDS.findall(text.casefold()))} "
        return not any(answers) or any(f" {' '.join(answer)} " in words for answer in answers if answer)


def files(names: Sequence[str]) -> list[Path]:
    """The benchmark files that a recipe names by path, folder or pattern, each once.

    Raises AssetError if there are none.
    """
    paths = [path for name in names for pattern in assets.matching(name) for path in files_of(assets.locate(pattern))]
    return list(dict.fromkeys(paths))


def benchmarks(
    names: tuple[str, ...],
    fields: FieldsOfFiles,
    n: int,
    shortest: int,
    common: int,
    misspelt: bool,
    public: tuple[str, ...] = (),
) -> Benchmarks:
    """The index of the items in these files, as `overlap.build` makes it.

    An item is searched for by its question. If that has fewer than `shortest` words, the beginning of the answer is
    appended, up to n words in all: both must occur together.

    misspelt   whether short items are found in spite of wrong words
    public     patterns of benchmarks, or of benchmark/id, that are ordinary public text

    It is opened once per process and content. Raises AssetError if a file is missing, has no items or not those fields,
    or if no item can be searched for.
    """
    paths = files(names)
    about = [FORMAT, fingerprint(build.__module__), asdict(fields), n, shortest, common, misspelt, TEMPLATE]
    about += [[name_of(path), assets.fingerprint(path)] for path in paths]
    digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        with assets.unchanged(paths):
            items = read_items(paths, fields)
        texts, kinds = sought(items, n, shortest)
        by_kind = {kind: pc.if_else(pa.array(kinds == kind), texts, "") for kind in PER_WORD}
        indexes = []
        for kind, own in by_kind.items():
            longest = near.SHORTEST_ITEM - 1 if misspelt and kind == PLAIN else WIDEST
            indexes.append(build(own, *lengths(n, shortest, kind), common, *lengths(TEMPLATE, 0, kind)[:1], longest))
        short = near.build(by_kind[PLAIN], shortest, common) if misspelt else NO_ITEMS
        if not (any(len(index.first) > 1 for index in indexes) or len(short.item)):
            raise AssetError(
                f"{', '.join(names)}: none of the {len(items)} items can be searched for: each has fewer than "
                f"{shortest} words, few distinct words, or only n-grams of over {common} items. "
                "Lower `shortest`, or raise `common`."
            )
        for kind, index in zip(PER_WORD, indexes):
            for name in INDEX_ARRAYS:
                np.save(folder / f"{kind}-{name}.npy", getattr(index, name))
        for name in near.ITEM_ARRAYS:
            np.save(folder / f"near-{name}.npy", getattr(short, name))
        questions = [" ".join(question.split(None, SHOWN)[:SHOWN]) for question in items["question"].to_pylist()]
        given = _single_array(items["answers"])
        answers = pa.ListArray.from_arrays(given.offsets, loosened(given.values).texts)
        stored = items.select(["benchmark", "id", "is_context"]).append_column("asked", pa.array(questions))
        stored = stored.append_column("answers", answers)
        with pa.OSFile(str(folder / "items.arrow"), "wb") as file, pa.ipc.new_file(file, stored.schema) as writer:
            writer.write_table(stored)

    return _open(assets.derived(cache_folder(), f"ngrams-{digest}", make), n, shortest, public)


def count_too_short(names: tuple[str, ...], fields: FieldsOfFiles, n: int, shortest: int) -> tuple[int, int]:
    """How many of the items have too few words to be searched for, answer and all, and how many there are; no kernels
    are needed. Raises AssetError if the items cannot be read."""
    paths = files(names)

    def count() -> tuple[int, int]:
        items = read_items(paths, fields)
        short = 0
        for question, answers in zip(items["question"].to_pylist(), items["answers"].to_pylist()):
            words = WORDS.findall(question)
            most, least = lengths(n, shortest, kind_of(words))
            asked, answered = len(words), len(WORDS.findall(answers[0])) if answers else 0
            short += asked < least and (not asked or asked + min(answered, most - asked) < least)
        return short, len(items)

    counts: tuple[int, int] = assets.of_files(paths, ("count_too_short", fields, n, shortest), count)
    return counts


def lengths(n: int, shortest: int, kind: int) -> tuple[int, int]:
    """Those of n-grams, and of the shortest item, of a kind of words."""
    return min(WIDEST, int(PER_WORD[kind] * n)), min(WIDEST, int(PER_WORD[kind] * shortest))


def kind_of(words: Sequence[str]) -> int:
    """What most words are: letters of one kind of scripts without spaces, or PLAIN."""
    letters = Counter(int(BECOMES[ord(word)]) for word in words if len(word) == 1)
    return next((kind for kind in PER_WORD if kind != PLAIN and 2 * letters[kind] > len(words)), PLAIN)


def sought(items: pa.Table, n: int, shortest: int) -> tuple[pa.LargeStringArray, NDArray[np.int64]]:
    """(items,) the folded text that represents each item, and what most of its words are."""
    question = fold(loosened(_single_array(items["question"])).texts)
    first = [answers[0] if answers else "" for answers in items["answers"].to_pylist()]
    answer = fold(loosened(pa.array(first, pa.large_string())).texts)
    texts, kinds = [], []
    for query, answered in zip(question.to_pylist(), answer.to_pylist()):
        words = query.split()
        kinds.append(kind_of(words))
        most, least = lengths(n, shortest, kinds[-1])
        if 0 < len(words) < least:
            words += answered.split()[: most - len(words)]
        texts.append(" ".join(words))
    return pa.array(texts, pa.large_string()), np.array(kinds, np.int64)


@lru_cache(8)
def _open(folder: Path, n: int, shortest: int, public: tuple[str, ...]) -> Benchmarks:
    def mapped(name: str) -> NDArray[Any]:
        path = folder / f"{name}.npy"
        # As plain arrays: np.memmap is another type to numba. A file without elements cannot be mapped.
        array: NDArray[Any] = (
            np.load(path, mmap_mode="r").view(np.ndarray) if path.stat().st_size > 128 else np.load(path)
        )
        array.setflags(write=False)
        return array

    def overlaps(kind: int) -> OverlapIndex:
        arrays = {name: mapped(f"{kind}-{name}") for name in INDEX_ARRAYS}
        grams, phrase = lengths(n, shortest, kind)
        phrase = phrase if arrays["lengths"].any() else grams
        return OverlapIndex(grams, phrase, lengths(TEMPLATE, 0, kind)[0], shift_of(arrays["filter"]), **arrays)

    short = {name: mapped(f"near-{name}") for name in near.ITEM_ARRAYS}
    items = pa.ipc.open_file(pa.memory_map(str(folder / "items.arrow"))).read_all()
    benchmark, name, question, answers = (
        _single_array(items[column]) for column in ("benchmark", "id", "asked", "answers")
    )
    index, *others = (overlaps(kind) for kind in PER_WORD)
    by_letter = tuple(index for index in others if len(index.first) > 1)
    leading = Near(shift_of(short["filter"]), **short)
    return Benchmarks(benchmark, name, question, answers, _material(items, public), index, by_letter, leading)


def _material(items: pa.Table, patterns: tuple[str, ...]) -> NDArray[np.bool_]:
    """(items,) contexts, and those whose benchmark, or benchmark/id, fits a pattern."""
    material = np.array(items["is_context"], bool)
    if patterns:
        names = zip(items["benchmark"].to_pylist(), items["id"].to_pylist())
        both = ((name, f"{name}/{number}") for name, number in names)
        material |= [any(fnmatchcase(value, pattern) for pattern in patterns for value in pair) for pair in both]
    return material


def _single_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
