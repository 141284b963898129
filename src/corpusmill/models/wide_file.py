"""The file of lid.wide, and its tables as processes share them.

The file has a line of JSON, the card, which tells the languages without the weights, and below it the arrays, 5.0 MB
under LZMA and 59 MB unpacked. They are unpacked once a machine, into the cache folder, and read or mapped from there:
no process has to unpack them, and all have the same pages of the mapped ones. Where there is no such folder, each
process has its own.
"""

import io
import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.common_words import make_common_words
from corpusmill.text.array_types import Bytes, Int8s
from corpusmill.text.compile import cache_folder

WIDE_MAGIC = b"CMWIDE1 "
FORMAT = 3
NOTHING = "zxx"  # py3langid's class of what is no language: never a name
ROW = 64  # bytes of a cache line
# What is mapped. `moves` and `states`, 40 MB, are copied instead: both are read at each byte of text, and mapped pages
# are small ones (4 KiB), whose addresses take the processor a fifth of the time.
MAPPED_TABLES = ("table", "ceiling")
SUMS = "sums.json"  # written last
COMMON = "common-"  # before the names of the arrays of `common_words.CommonWords`
Tables = dict[str, NDArray[Any]]


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
    root = cache_folder()
    if root is None:
        return unpacked(path)
    name = f"lid.wide-{assets.fingerprint(path)[:16]}"

    def make(folder: Path) -> None:
        with assets.unchanged([path]):
            write(folder, unpacked(path))

    try:
        folder = assets.derived(root, name, make)
        tables = mapped(folder)
        if tables is None:  # damaged
            shutil.rmtree(folder, ignore_errors=True)
            tables = mapped(assets.derived(root, name, make))
    except OSError:  # a full disk, or a folder that somebody removes just now
        tables = None
    return unpacked(path) if tables is None else tables


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


def write(folder: Path, tables: Tables) -> None:
    """Each array as a file of its own, which begins at a whole cache line, and a checksum of each."""
    sums = {}
    for name, array in tables.items():
        path = folder / f"{name}.npy"
        np.save(path, array)
        sums[path.name] = checksum(np.memmap(path, np.uint8, "r"))
    (folder / SUMS).write_text(json.dumps(sums), "utf-8")


def mapped(folder: Path) -> Tables | None:
    """What `write` has written; None if it has changed.

    Pages are copied where they are written to, which nothing does: so arrays are of the same type, for numba, as those
    of `unpacked`.
    """
    tables = {}
    try:
        for file, expected in json.loads((folder / SUMS).read_text("utf-8")).items():
            path = folder / file
            if checksum(np.memmap(path, np.uint8, "r")) != expected:
                return None
            tables[path.stem] = (
                np.asarray(np.load(path, mmap_mode="c")) if path.stem in MAPPED_TABLES else np.load(path)
            )
    except (ValueError, AttributeError, FileNotFoundError):  # no JSON, no object, no array; an empty file
        return None
    return tables


def checksum(data: Bytes) -> str:
    """XXH3, which finds damage at the speed of memory."""
    return xxhash.xxh3_128_hexdigest(data.data)
