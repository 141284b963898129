"""Tables that are made of assets once a machine, and read or mapped by every process from then on.

They are in the folder in which machine code is kept (`text.compile.cache_folder`), so that nobody else can have
written them, each set in a folder of its own, which is there whole or not at all. Where there is no such folder, each
process makes its own.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import cache_folder

SUMS = "sums.json"  # written last
Tables = dict[str, NDArray[Any]]


def cached_tables(name: str, make: Callable[[], Mapping[str, NDArray[Any]]], mapped: Collection[str] = ()) -> Tables:
    """The tables that `make` returns, made once a machine, and again where they are damaged. They are not to be written
    to.

    name     changes with everything that `make` depends on
    mapped   the tables that are mapped, so that all processes have the same pages: small pages (4 KiB) have their price
             where rows are read at random

    Raises what `make` raises.
    """
    root = cache_folder()
    if root is not None:
        try:
            for _ in range(2):
                folder = assets.derived(root, name, lambda folder: write(folder, make()))
                tables = read(folder, mapped)
                if tables is not None:
                    return tables
                shutil.rmtree(folder, ignore_errors=True)  # damaged
        except OSError:  # a full disk, or a folder that somebody removes just now
            pass
    return dict(make())


def write(folder: Path, tables: Mapping[str, NDArray[Any]]) -> None:
    """Each array as a file of its own, which begins at a whole cache line, and a checksum of each."""
    sums = {}
    for name, array in tables.items():
        path = folder / f"{name}.npy"
        np.save(path, array)
        sums[path.name] = checksum(np.memmap(path, np.uint8, "r"))
    (folder / SUMS).write_bytes(json.dumps(sums).encode())


def read(folder: Path, mapped: Collection[str]) -> Tables | None:
    """What `write` has written; None if it has changed."""
    tables = {}
    try:
        for file, expected in json.loads((folder / SUMS).read_text("utf-8")).items():
            path = folder / file
            if checksum(np.memmap(path, np.uint8, "r")) != expected:
                return None
            tables[path.stem] = np.asarray(np.load(path, mmap_mode="r")) if path.stem in mapped else np.load(path)
    except (ValueError, AttributeError, FileNotFoundError):  # no JSON, no object, no array; an empty file
        return None
    return tables


def checksum(data: Bytes) -> str:
    """XXH3, which finds damage at the speed of memory."""
    return xxhash.xxh3_128_hexdigest(data.data)
