"""The file of lid.wide, and its tables as processes share them.

The file has a line of JSON, the card, which tells the languages without the weights, and below it the arrays, 5.0 MB
under LZMA and 59 MB unpacked. They are unpacked once a machine (`table_cache`), and read or mapped from there: no
process has to unpack them, and all have the same pages of the mapped ones.
"""

import io
import json
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.common_words import make_common_words
from corpusmill.models.model_file import DAMAGE, wrong_value
from corpusmill.models.table_cache import Tables, cached_tables
from corpusmill.text.array_types import Int8s

WIDE_MAGIC = b"CMWIDE1 "
FORMAT = 3
NOTHING = "zxx"  # py3langid's class of what is no language: never a name
MAX_DEPTH = 64  # bytes of the longest n-gram
LONGEST_CARD = 1 << 20  # bytes; that of the model that ships has 4 kB
MAX_UNPACKED = 256 << 20  # bytes of all arrays, and of LZMA's memory
ROW = 64  # bytes of a cache line
# What is mapped. `moves` and `states`, 40 MB, are copied instead: both are read at each byte of text, and mapped pages
# are small ones (4 KiB), whose addresses take the processor a fifth of the time.
MAPPED_TABLES = ("table", "ceiling")
COMMON = "common-"  # before the names of the arrays of `common_words.CommonWords`


def read_card(path: Path) -> dict[str, Any]:
    """The first line of the file: its classes, and how it was quantised. Raises AssetError if it is no such file."""
    with path.open("rb") as file:
        line = file.readline(LONGEST_CARD)
    try:
        card = json.loads(line.removeprefix(WIDE_MAGIC))
        assert isinstance(card, dict) and card["format"] == FORMAT
    except (*DAMAGE, AssertionError) as error:
        raise AssetError(f"{path}: not a language model of corpusmill, or one of another version") from error
    kinds: dict[str, tuple[type, ...]] = {"classes": (list,), "depth": (int,), "step": (int, float), "groups": (dict,)}
    for name, kind in {**kinds, "pairs": (list,)}.items():
        if not isinstance(card.get(name), kind):
            raise wrong_value(path, name, repr(card.get(name))[:40], f"a {kind[-1].__name__}")
    if not 1 <= card["depth"] <= MAX_DEPTH:
        raise wrong_value(path, "depth", card["depth"], f"from 1 to {MAX_DEPTH}")
    if not card["classes"] or not all(isinstance(name, str) for name in card["classes"]):
        raise wrong_value(path, "classes", repr(card["classes"])[:40], "a list of names")
    return card


def read_tables(path: Path) -> Tables:
    """The arrays of the model, MAPPED_TABLES as `wide_score.Wide` has them. Raises AssetError if it is damaged."""

    def make() -> Tables:
        with assets.unchanged([path]):
            return unpacked(path)

    return cached_tables(f"lid.wide-{assets.fingerprint(path)[:16]}", make, MAPPED_TABLES)


def unpacked(path: Path) -> Tables:
    """The same in memory of this process alone."""
    classes: list[str] = read_card(path)["classes"]
    try:
        content = path.read_bytes()
        unpack = lzma.LZMADecompressor(memlimit=MAX_UNPACKED)
        data = unpack.decompress(content[content.index(b"\n") + 1 :], MAX_UNPACKED)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if not unpack.eof or size > len(data):
            raise ValueError(f"the arrays have more than {min(MAX_UNPACKED, len(data))} bytes")
        tables = dict(np.load(io.BytesIO(data)))
        _check(path, len(classes), tables)
        states, table = tables["states"], tables["table"]
        common = make_common_words(*(tables.pop(name) for name in ("word_hashes", "word_lists", "list_groups")))
        return tables | {
            **{COMMON + name: array for name, array in common._asdict().items()},
            "moves": tables["moves"].ravel(),
            "states": np.stack([states[:, 0].astype(np.int32) << 8, states[:, 1]], 1).astype(np.int32),
            "table": aligned(table),
            "ceiling": table[:, [name != NOTHING for name in classes]].max(axis=1, initial=0),
        }
    except (*DAMAGE, lzma.LZMAError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise AssetError(f"{path}: not a language model of corpusmill, or a damaged one ({why})") from error


def _check(path: Path, classes: int, tables: Tables) -> None:
    """Kernels follow states, moves and n-grams without a look at where these end."""
    rows, states, ngrams = (len(tables[name]) for name in ("moves", "states", "table"))
    entries, lists = len(tables["word_hashes"]), len(tables["list_groups"])
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "moves": (np.uint32, (rows, 256)),
        "states": (np.int32, (states, 2)),
        "table": (np.int8, (ngrams, classes)),
        "prior": (np.float32, (classes,)),
        "expected": (np.float32, (classes,)),
        "word_hashes": (np.uint64, (entries,)),
        "word_lists": (np.int16, (entries,)),
        "list_groups": (np.int16, (lists,)),
    }
    for name, (kind, shape) in shapes.items():
        array = tables[name]
        if array.dtype != kind or array.shape != shape or not array.size:
            right = f"{np.dtype(kind)} {list(shape)}, and not empty"
            raise wrong_value(path, f"the array {name}", f"{array.dtype} {list(array.shape)}", right)
    columns = {
        "the state after a byte": (tables["moves"], 0, states),
        "the row of a state": (tables["states"][:, 0], 0, rows),
        "the n-gram of a state": (tables["states"][:, 1], 0, ngrams),
        "the list of a word": (tables["word_lists"], 0, lists),
        "the group of a list": (tables["list_groups"], -1, lists),
    }
    for name, (column, least, limit) in columns.items():
        if not (least <= column.min() and column.max() < limit):
            raise wrong_value(path, name, f"from {column.min()} to {column.max()}", f"from {least} to {limit - 1}")
    if not (np.isfinite(tables["prior"]).all() and np.isfinite(tables["expected"]).all()):
        raise wrong_value(path, "a prior", "infinite, or none", "a number")
    if (np.diff(tables["list_groups"]) < 0).any():
        raise wrong_value(path, "the groups of lists", "in another order", "ascending")


def aligned(table: Int8s) -> Int8s:
    """The table in rows of whole cache lines, columns of 0 behind: a quarter faster."""
    rows, columns = table.shape
    width = -(-columns // ROW) * ROW
    buffer = np.zeros(rows * width + ROW, np.int8)
    begin = -buffer.ctypes.data % ROW
    padded = buffer[begin : begin + rows * width].reshape(rows, width)
    padded[:, :columns] = table
    return padded
