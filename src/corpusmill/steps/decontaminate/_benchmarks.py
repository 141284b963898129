"""The index of benchmarks: made once per machine, and mapped by every process that looks something up."""

import hashlib
import json
import re
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
from corpusmill.text.loosened import APART, BECOMES, LAST, letters_apart, loosened
from corpusmill.text.near import NO_ITEMS, Near
from corpusmill.text.overlap import INDEX_ARRAYS, WIDEST, OverlapIndex, build
from corpusmill.text.sets import shift_of

FORMAT = 7  # of the files, and of how items are indexed: a change rebuilds every index
_APART = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in letters_apart())
WORDS = re.compile(f"[{_APART}]|[^\\W{_APART}]+")  # of loosened text
PER_WORD = 2  # letters of a script without spaces are so much of a word: of items in these, lengths are in letters
# Words. Of 3,441 questions that are not in the index, of benchmarks half of whose items are, 8 would take 10 for
# contaminated that are not so without templates, 9 six ("write a python function to find the sum of"), from 10 on none.
TEMPLATE = 13
SHOWN = 60  # words of a passage and of a question, kept as evidence
INDEXING = (fold.__module__, build.__module__, loosened.__module__, near.__name__)  # the modules with the kernels that make an index


@dataclass(frozen=True)
class Benchmarks:
    """The items of benchmarks, and an index that finds them in text.

    benchmark, id, asked      (items,) each; `asked` is the beginning of the question
    answers                   (items,) any of them is right; empty where an item has none
    material                  (items,) whether it is ordinary public text: what is found of it counts apart
    index                     finds all but those of which most words are letters of scripts without spaces
    by_letter                 finds these, by PER_WORD times as many letters as others by words
    near                      leads to short items in spite of wrong words; to none if that is not asked for
    """

    benchmark: pa.Array
    id: pa.Array
    asked: pa.Array
    answers: pa.Array
    material: NDArray[np.bool_]
    index: OverlapIndex
    by_letter: OverlapIndex
    near: Near

    def overlap(self, passages: NDArray[Any]) -> NDArray[np.float64]:
        """(passages,) the share of the words that are there: of all words of the item, or, where n-grams were found, of
        those in n-grams that are not boilerplate. With a template, the larger of both."""
        item, covered, template = passages["item"], passages["covered"], passages["template"]
        words = self.index.words[item] + self.by_letter.words[item]  # an item has none in one of the two
        telling = self.index.telling[item] + self.by_letter.telling[item]
        share: NDArray[np.float64] = covered / np.where(passages["grams"], np.maximum(telling, 1), words)
        return np.where(template > 0, np.maximum(share, (covered + template) / words), share)

    def answered(self, item: int, text: str) -> bool:
        """Whether one of the answers of an item occurs in a text; true for an item without an answer.

        Only the first n words of a long answer count. Case and the characters between words make no difference; digits
        do.
        """
        given, around = self.answers[item].as_py(), loosened(pa.array([text], pa.large_string())).texts[0].as_py()
        loose = loosened(pa.array(given, pa.large_string())).texts.to_pylist()
        answers = [WORDS.findall(answer.casefold())[: self.index.n] for answer in loose]
        words = f" {' '.join(WORDS.findall(around.casefold()))} "
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
        texts, in_letters = sought(items, n, shortest)
        in_words, letters = (pc.if_else(pa.array(is_one), texts, "") for is_one in (~in_letters, in_letters))
        index = build(in_words, n, shortest, common, TEMPLATE, near.SHORTEST_ITEM - 1 if misspelt else WIDEST)
        by_letter = build(letters, *lengths(n, shortest), common, PER_WORD * TEMPLATE)
        short = near.build(in_words, shortest, common) if misspelt else NO_ITEMS
        if not (len(index.first) > 1 or len(by_letter.first) > 1 or len(short.item)):
            raise AssetError(
                f"{', '.join(names)}: none of the {len(items)} items can be searched for: each has fewer than "
                f"{shortest} words, few distinct words, or only n-grams of over {common} items. "
                "Lower `shortest`, or raise `common`."
            )
        for name in INDEX_ARRAYS:
            np.save(folder / f"{name}.npy", getattr(index, name))
            np.save(folder / f"letters-{name}.npy", getattr(by_letter, name))
        for name in near.ITEM_ARRAYS:
            np.save(folder / f"near-{name}.npy", getattr(short, name))
        questions = [" ".join(question.split(None, SHOWN)[:SHOWN]) for question in items["question"].to_pylist()]
        stored = items.select(["benchmark", "id", "answers", "is_context"]).append_column("asked", pa.array(questions))
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
            most, least = lengths(n, shortest) if is_in_letters(words) else (n, shortest)
            asked, answered = len(words), len(WORDS.findall(answers[0])) if answers else 0
            short += asked < least and (not asked or asked + min(answered, most - asked) < least)
        return short, len(items)

    counts: tuple[int, int] = assets.of_files(paths, ("count_too_short", fields, n, shortest), count)
    return counts


def lengths(n: int, shortest: int) -> tuple[int, int]:
    """Those of n-grams, and of the shortest item, in letters of scripts without spaces."""
    return min(WIDEST, PER_WORD * n), min(WIDEST, PER_WORD * shortest)


def is_in_letters(words: Sequence[str]) -> bool:
    """Whether most words are single letters of scripts without spaces."""
    return 2 * sum(len(word) == 1 and BECOMES[min(ord(word), LAST - 1)] == APART for word in words) > len(words)


def sought(items: pa.Table, n: int, shortest: int) -> tuple[pa.LargeStringArray, NDArray[np.bool_]]:
    """(items,) the folded text that represents each item, and whether most of its words are letters."""
    question = fold(loosened(_single_array(items["question"])).texts)
    first = [answers[0] if answers else "" for answers in items["answers"].to_pylist()]
    answer = fold(loosened(pa.array(first, pa.large_string())).texts)
    texts, in_letters = [], []
    for query, answered in zip(question.to_pylist(), answer.to_pylist()):
        words = query.split()
        in_letters.append(is_in_letters(words))
        most, least = lengths(n, shortest) if in_letters[-1] else (n, shortest)
        if 0 < len(words) < least:
            words += answered.split()[: most - len(words)]
        texts.append(" ".join(words))
    return pa.array(texts, pa.large_string()), np.array(in_letters, bool)


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

    def overlaps(prefix: str, n: int, shortest: int, template: int) -> OverlapIndex:
        arrays = {name: mapped(prefix + name) for name in INDEX_ARRAYS}
        phrase = shortest if arrays["lengths"].any() else n
        return OverlapIndex(n, phrase, template, shift_of(arrays["filter"]), **arrays)

    short = {name: mapped(f"near-{name}") for name in near.ITEM_ARRAYS}
    items = pa.ipc.open_file(pa.memory_map(str(folder / "items.arrow"))).read_all()
    benchmark, name, question, answers = (
        _single_array(items[column]) for column in ("benchmark", "id", "asked", "answers")
    )
    index = overlaps("", n, shortest, TEMPLATE)
    by_letter = overlaps("letters-", *lengths(n, shortest), PER_WORD * TEMPLATE)
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
