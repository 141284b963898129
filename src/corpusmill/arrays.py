"""Named NumPy arrays in one file, aligned so that they can be mapped: keys, token ids, models."""

import json
import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

MAGIC = b"CMARRAY1"
CAN_ADVISE = hasattr(mmap.mmap, "madvise")  # not on Windows
JOINED = 4  # pages between two that are wanted, which are read with them in one request
HEAD = 4096  # bytes before the first array of a file that is written in parts


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays in one file: magic, length of a JSON header, the header (name -> dtype, shape, offset), the bytes."""
    head: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        head[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "offset": at}
        at += -(-array.nbytes // 64) * 64
    header = json.dumps(head, sort_keys=True).encode()
    header += b" " * (-(len(header) + 16) % 64)
    with path.open("wb") as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            file.write(b"\0" * (-array.nbytes % 64))


@contextmanager
def writing_arrays(path: Path) -> Iterator[Callable[[str, NDArray[Any]], None]]:
    """A file as of `write_arrays`, in parts, so that an array need not fit in memory.

    What it yields appends a part to an array. All parts of an array follow each other; each array has one at least.
    """
    head: dict[str, Any] = {}
    with path.open("wb") as file:
        file.write(b" " * HEAD)

        def put(name: str, part: NDArray[Any]) -> None:
            if name not in head:
                file.write(b"\0" * (-file.tell() % 64))
                shape = [0, *part.shape[1:]]
                head[name] = {"dtype": part.dtype.newbyteorder("<").str, "shape": shape, "offset": file.tell() - HEAD}
            head[name]["shape"][0] += len(part)
            file.write(np.ascontiguousarray(part).data.cast("B") if part.size else b"")

        yield put
        header = json.dumps(head, sort_keys=True).encode()
        if len(header) > HEAD - 16:
            raise ValueError(f"{path}: the names of {len(head)} arrays take more than {HEAD} bytes")
        file.seek(0)
        file.write(MAGIC + (HEAD - 16).to_bytes(8, "little") + header)


def memory() -> int:
    """Bytes of this machine's memory; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return 0


class Arrays(Mapping[str, NDArray[Any]]):
    """The arrays of a file, by name.

    begins   of each array that is not empty, the bytes before it in the file
    mapped   what they are mapped by; None where rows need not be asked for
    opened   the same file, of which few rows are read; closed with this
    """

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        begins: dict[str, int],
        mapped: mmap.mmap | None,
        opened: int | None = None,
    ) -> None:
        self.arrays, self.begins, self.mapped, self.opened = arrays, begins, mapped, opened
        if opened is not None:
            finalize(self, os.close, opened)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def rows(self, name: str) -> int:
        """How many rows an array has."""
        return len(self.arrays[name])

    def part(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Rows [start, stop) of an array."""
        return self[name][start:stop]

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Some rows of an array."""
        array = self[name]
        if self.opened is None or len(rows) * mmap.PAGESIZE >= array.nbytes:
            return array[rows]
        # Of fewer rows than pages each page would be mapped for one, and with it those around it that are in memory.
        begin, size = self.begins[name], array.strides[0]
        read = bytearray().join([os.pread(self.opened, size, at) for at in (begin + rows * size).tolist()])
        return np.frombuffer(read, array.dtype).reshape(len(rows), *array.shape[1:])

    def with_rows(self, name: str, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """An array of which no rows but [starts[i], stops[i]) are read."""
        return self[name]

    def will_read(self, name: str, start: int, stop: int) -> None:
        """Have the system read rows [start, stop) of an array, while the caller goes on."""
        if self.mapped is not None and start < stop:
            begin, row = self.begins[name], self[name].strides[0]
            first = (begin + start * row) // mmap.PAGESIZE * mmap.PAGESIZE
            self.mapped.madvise(mmap.MADV_WILLNEED, first, begin + stop * row - first)

    def will_need(self, name: str, rows: NDArray[np.int64]) -> None:
        """The same of some rows, which rise."""
        if self.mapped is None or not len(rows):
            return
        begin, size = self.begins[name], self[name].strides[0]
        first = (begin + rows * size) // mmap.PAGESIZE
        last = (begin + rows * size + (size - 1)) // mmap.PAGESIZE
        cuts = np.flatnonzero(first[1:] > last[:-1] + JOINED)
        firsts, lasts = [int(first[0]), *first[cuts + 1].tolist()], [*last[cuts].tolist(), int(last[-1])]
        for page, end in zip(firsts, lasts):
            self.mapped.madvise(mmap.MADV_WILLNEED, page * mmap.PAGESIZE, (end + 1 - page) * mmap.PAGESIZE)


def map_arrays(path: Path, scattered: bool = False) -> Arrays:
    """The arrays of `write_arrays`, mapped read-only.

    scattered   few of the rows are read, and are asked for before: the system reads no pages around them. Many systems
                read megabytes around each: of a corpus larger than memory, all of it for each unit
    """
    with path.open("rb", buffering=0) as file:
        head = file.read(HEAD)
        size = size_of_head(head, str(path))
        while len(head) < size and (more := file.read(size - len(head))):
            head += more
        # One map for all: a stage opens every file once a unit, and np.memmap would open it once an array.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays, begins = arrays_in(mapped, head[:size])
        if not (scattered and CAN_ADVISE):
            return Arrays(arrays, begins, None)
        mapped.madvise(mmap.MADV_RANDOM)
        return Arrays(arrays, begins, mapped, os.dup(file.fileno()))


def size_of_head(start: bytes, name: str) -> int:
    """Bytes before the first array of a file, of which 16 are given at least."""
    if start[:8] != MAGIC:
        raise ValueError(f"{name}: not a file of arrays, it begins with {start[:8]!r}")
    return 16 + int.from_bytes(start[8:16], "little")


def arrays_in(mapped: mmap.mmap, head: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """The arrays of a file; and where they begin in it, of those that are not empty."""
    arrays, begins = {}, {}
    for name, dtype, shape, count, offset in _described(head[16:]):
        if count:
            begins[name] = len(head) + offset
            arrays[name] = np.frombuffer(mapped, dtype, count, len(head) + offset).reshape(shape)
        else:
            arrays[name] = np.empty(shape, dtype)
    return arrays, begins


@lru_cache(maxsize=256)
def _described(header: bytes) -> list[tuple[str, np.dtype[Any], tuple[int, ...], int, int]]:
    """Of each array its name, type, shape, how many elements it has, and where it begins."""
    return [
        (name, np.dtype(entry["dtype"]), tuple(entry["shape"]), math.prod(entry["shape"]), entry["offset"])
        for name, entry in json.loads(header).items()
    ]
