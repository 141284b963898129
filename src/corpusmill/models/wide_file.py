"""The file of lid.wide, and its tables as processes share them.

The file has a line of JSON, the card, which tells the languages without the weights, and below it the arrays, 5.0 MB
under LZMA and 59 MB unpacked. They are unpacked once a machine (`table_cache`), and read or mapped from there: no
process has to unpack them, and all have the same pages of the mapped ones.
"""

import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.common_words import make_common_words
from corpusmill.models.table_cache import Tables, cached_tables
from corpusmill.text.array_types import Int8s

WIDE_MAGIC = b"CMWIDE1 "
FORMAT = 3
NOTHING = "zxx"  # py3langid's class of what is no language: never a name
ROW = 64  # bytes of a cache line
# What is mapped. `moves` and `states`, 40 MB, are copied instead: both are read at each byte of text, and mapped pages
# are small ones (4 KiB), whose addresses take the processor a fifth of the time.
MAPPED_TABLES = ("table", "ceiling")
COMMON = "common-"  # before the names of the arrays of `common_words.CommonWords`


def read_card(path: Path) -> dict[str, Any]:
    """The first line of the file: its classes, and how it was quantised. Raises AssetError if it is no such file."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        card = json.loads(line.removeprefix(WIDE_MAGIC))
        assert isinstance(card, dict) and card["format"] == FORMAT
    except (ValueError, KeyError, AssertionError) as error:
        raise AssetError(f"{path}: not a language model of corpusmill, or one of another version") from error
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
        tables = dict(np.load(io.BytesIO(lzma.decompress(content[content.index(b"\n") + 1 :]))))
        states, table = tables["states"], tables["table"]
        common = make_common_words(*(tables.pop(name) for name in ("word_hashes", "word_lists", "list_groups")))
        return tables | {
            **{COMMON + name: array for name, array in common._asdict().items()},
            "moves": tables["moves"].ravel(),
            "states": np.stack([states[:, 0].astype(np.int32) << 8, states[:, 1]], 1).astype(np.int32),
            "table": aligned(table),
            "ceiling": table[:, [name != NOTHING for name in classes]].max(axis=1),
        }
    except (lzma.LZMAError, KeyError, ValueError, EOFError) as error:
        why = f"{type(error).__name__}: {error}"
        raise AssetError(f"{path}: not a language model of corpusmill, or a damaged one ({why})") from error


def aligned(table: Int8s) -> Int8s:
    """The table in rows of whole cache lines, columns of 0 behind: a quarter faster."""
    rows, columns = table.shape
    width = -(-columns // ROW) * ROW
    buffer = np.zeros(rows * width + ROW, np.int8)
    begin = -buffer.ctypes.data % ROW
    padded = buffer[begin : begin + rows * width].reshape(rows, width)
    padded[:, :columns] = table
    return padded
