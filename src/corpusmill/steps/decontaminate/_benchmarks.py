"""The index of benchmarks: made once per machine, and mapped by every process that looks something up."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.steps.decontaminate._items import Fields, files_of, name_of, read_items
from corpusmill.text.compile import cache_folder, fingerprint
from corpusmill.text.fold import fold
from corpusmill.text.overlap import ARRAYS, Index, build

FORMAT = 1  # of the files, and of how items are indexed: a change rebuilds every index
WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Benchmarks:
    """The items of benchmarks, and an index that finds them in text.

    benchmark, id, answer   (items,) each; null where an item has no answer
    """

    benchmark: pa.Array
    id: pa.Array
    answer: pa.Array
    index: Index

    def answered(self, item: int, text: str) -> bool:
        """Whether the answer of an item occurs in a text; true for an item without an answer.

        Only the first n words of a long answer count. Case and the characters between words make no difference; digits
        do.
        """
        answer = self.answer[item].as_py()
        wanted = [] if answer is None else WORDS.findall(answer.casefold())[: self.index.n]
        words = WORDS.findall(text.casefold())
        return f" {' '.join(wanted)} " in f" {' '.join(words)} " if wanted else True


def files(named: Sequence[str]) -> list[Path]:
    """The benchmark files that a recipe names by path, folder or pattern, each once.

    Raises AssetError if there are none.
    """
    paths = [path for name in named for each in assets.matching(name) for path in files_of(assets.locate(each))]
    return list(dict.fromkeys(paths))


@lru_cache(8)
def benchmarks(named: tuple[str, ...], fields: Fields, n: int, shortest: int, common: int) -> Benchmarks:
    """The index of the items in these files, as `overlap.build` makes it.

    An item is searched for by its question. If that has fewer than `shortest` words, the beginning of the answer is
    appended, up to n words in all: both must occur together.

    Raises AssetError if a file is missing, has no items or not those fields, or if no item can be searched for.
    """
    paths = files(named)
    about = [FORMAT, fingerprint(build.__module__), vars(fields), n, shortest, common]
    about += [[name_of(path), assets.fingerprint(path)] for path in paths]
    digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        items = read_items(paths, fields)
        index = build(sought(items, n, shortest), n, shortest, common)
        if not len(index.first) > 1:
            raise AssetError(
                f"{', '.join(named)}: none of the {len(items)} items can be searched for: each has fewer than "
                f"{shortest} words, few distinct words, or only n-grams of over {common} items. "
                "Lower `shortest`, or raise `common`."
            )
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(index, name))
        with pa.OSFile(str(folder / "items.arrow"), "wb") as file, pa.ipc.new_file(file, items.schema) as writer:
            writer.write_table(items)

    return _open(assets.derived(cache_folder(), f"ngrams-{digest}", make), n, shortest)


def sought(items: pa.Table, n: int, shortest: int) -> pa.LargeStringArray:
    """(items,) the folded text that represents each item."""
    question = fold(_one(items["question"]))
    answer = fold(_one(items["answer"]))
    texts = []
    for asked, answered in zip(question.to_pylist(), answer.to_pylist()):
        words = asked.split()
        if 0 < len(words) < shortest:
            words += answered.split()[: n - len(words)]
        texts.append(" ".join(words))
    return pa.array(texts, pa.large_string())


def _open(folder: Path, n: int, shortest: int) -> Benchmarks:
    arrays: dict[str, NDArray[Any]] = {}
    for name in ARRAYS:
        # As plain arrays: np.memmap is another type to numba.
        arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)
    shift = 58 - (len(arrays["filter"]) - 1).bit_length()
    items = pa.ipc.open_file(pa.memory_map(str(folder / "items.arrow"))).read_all()
    return Benchmarks(
        _one(items["benchmark"]), _one(items["id"]), _one(items["answer"]), Index(n, shortest, shift, **arrays)
    )


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
