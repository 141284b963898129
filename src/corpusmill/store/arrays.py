"""Named NumPy arrays in one file, aligned so that they can be mapped: keys, token ids, models."""

import json
import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

MAGIC = b"CMARRAY1"
CAN_READ = hasattr(os, "pread")  # not on Windows
CAN_ADVISE = hasattr(os, "posix_fadvise")  # not on macOS
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

        def add_array(name: str, part: NDArray[Any]) -> None:
            if name not in head:
                file.write(b"\0" * (-file.tell() % 64))
                shape = [0, *part.shape[1:]]
                head[name] = {"dtype": part.dtype.newbyteorder("<").str, "shape": shape, "offset": file.tell() - HEAD}
            head[name]["shape"][0] += len(part)
            file.write(np.ascontiguousarray(part).data.cast("B") if part.size else b"")

        yield add_array
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
    """The arrays of a file, by name. Rows can be asked for before they are read: here it is without effect."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def rows(self, name: str) -> int:
        """How many rows an array has."""
        return len(self.arrays[name])

    def part(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Rows [start, stop) of an array."""
        return self[name][start:stop]

    def copied(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """The same, to keep when the file is closed: a view would keep it open."""
        return self.part(name, start, stop).copy()

    def into(self, to: NDArray[Any], name: str, start: int, stop: int) -> None:
        """The same, in place of what is in `to`."""
        to[:] = self.part(name, start, stop)

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Some rows of an array."""
        return self[name][rows]

    def with_rows(self, name: str, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """An array of which no rows but [starts[i], stops[i]) are read."""
        return self[name]

    def will_read(self, name: str, start: int, stop: int) -> None:
        """Have the system read rows [start, stop) of an array, while the caller goes on."""

    def will_need(self, name: str, rows: NDArray[np.int64]) -> None:
        """The same of some rows, which rise."""

    def has_read(self, name: str, start: int, stop: int) -> None:
        """Say that rows [start, stop) were read for the last time: the system's memory is for others."""


class ReadArrays(Arrays):
    """Arrays of a file of which some rows are read: each by itself, as the system reads no others around it. What is
    asked for as a whole is mapped.

    A page that is mapped for a row costs a fault, and with it those around it are mapped that are in memory: of few
    rows from each of thousands of files it is most of the time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = os.open(path, os.O_RDONLY)
        finalize(self, os.close, self.file)
        if CAN_ADVISE:
            os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)
        head = os.pread(self.file, HEAD, 0)
        size = size_of_head(head, str(path), os.fstat(self.file).st_size)
        while len(head) < size and (chunk := os.pread(self.file, size - len(head), len(head))):
            head += chunk
        self.head = head[:size]
        self.described = described(self.head)

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:  # type: ignore[override]
        mapped = mmap.mmap(self.file, 0, access=mmap.ACCESS_READ)
        if hasattr(mmap, "MADV_RANDOM"):
            mapped.madvise(mmap.MADV_RANDOM)
        return arrays_in(mapped, self.head)

    def __iter__(self) -> Iterator[str]:
        return iter(self.described)

    def __len__(self) -> int:
        return len(self.described)

    def __contains__(self, name: object) -> bool:
        return name in self.described

    def rows(self, name: str) -> int:
        return self.described[name].shape[0]

    def part(self, name: str, start: int, stop: int) -> NDArray[Any]:
        array = self.described[name]
        stop = min(stop, array.shape[0])
        read = self._read(array.begin + start * array.row, (stop - start) * array.row)
        return np.frombuffer(read, array.dtype).reshape(stop - start, *array.shape[1:])

    def copied(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self.part(name, start, stop)  # what is read, and not mapped, is one

    def into(self, to: NDArray[Any], name: str, start: int, stop: int) -> None:
        array = self.described[name]
        begin, size = array.begin + start * array.row, (stop - start) * array.row
        if CAN_ADVISE:
            os.posix_fadvise(self.file, begin, size, os.POSIX_FADV_SEQUENTIAL)  # several megabytes at a time
        if to.dtype != array.dtype or not hasattr(os, "preadv"):  # not on older macOS
            super().into(to, name, start, stop)
        elif size and os.preadv(self.file, [to.data.cast("B")], begin) < size:
            super().into(to, name, start, stop)  # a call returns 2 GB at most

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        array = self.described[name]
        if self._as_whole(name, rows):
            return self.part(name, 0, array.shape[0])[rows]
        read = bytearray().join(
            [os.pread(self.file, array.row, at) for at in (array.begin + rows * array.row).tolist()]
        )
        return np.frombuffer(read, array.dtype).reshape(len(rows), *array.shape[1:])

    def _as_whole(self, name: str, rows: NDArray[np.int64]) -> bool:
        array = self.described[name]
        return len(rows) * mmap.PAGESIZE >= array.shape[0] * array.row  # as many rows as pages

    def _read(self, begin: int, size: int) -> bytes | bytearray:
        read: bytes | bytearray = os.pread(self.file, size, begin)
        while len(read) < size:  # a call returns 2 GB at most
            chunk = os.pread(self.file, size - len(read), begin + len(read))
            if not chunk:
                raise ValueError(f"{self.path}: ends before byte {begin + size}")
            read = bytearray(read) + chunk
        return read

    def will_read(self, name: str, start: int, stop: int) -> None:
        if CAN_ADVISE and start < stop:
            array = self.described[name]
            begin, size = array.begin + start * array.row, (stop - start) * array.row
            os.posix_fadvise(self.file, begin, size, os.POSIX_FADV_WILLNEED)

    def has_read(self, name: str, start: int, stop: int) -> None:
        # Where the system must look for pages to use again, that costs more than to read them.
        if CAN_ADVISE and start < stop:
            array = self.described[name]
            begin, end = array.begin + start * array.row, array.begin + stop * array.row
            begin -= begin % mmap.PAGESIZE  # only whole pages go; of this one, the rows before were read before
            os.posix_fadvise(self.file, begin, end - begin, os.POSIX_FADV_DONTNEED)

    def will_need(self, name: str, rows: NDArray[np.int64]) -> None:
        if not CAN_ADVISE or not len(rows):
            return
        if self._as_whole(name, rows):
            self.will_read(name, 0, self.rows(name))
            return
        array = self.described[name]
        first = (array.begin + rows * array.row) // mmap.PAGESIZE
        last = (array.begin + rows * array.row + (array.row - 1)) // mmap.PAGESIZE
        cuts = np.flatnonzero(first[1:] > last[:-1] + JOINED)
        firsts, lasts = [int(first[0]), *first[cuts + 1].tolist()], [*last[cuts].tolist(), int(last[-1])]
        for page, end in zip(firsts, lasts):
            size = (end + 1 - page) * mmap.PAGESIZE
            os.posix_fadvise(self.file, page * mmap.PAGESIZE, size, os.POSIX_FADV_WILLNEED)


def map_arrays(path: Path, scattered: bool = False) -> Arrays:
    """The arrays of `write_arrays`, mapped read-only.

    scattered   few of the rows are read, and are asked for before: the system reads no pages around them. Many systems
                read megabytes around each: of a corpus larger than memory, all of it for each unit
    """
    if scattered and CAN_READ:
        return ReadArrays(path)
    with path.open("rb", buffering=0) as file:
        head = file.read(HEAD)
        size = size_of_head(head, str(path), os.fstat(file.fileno()).st_size)
        while len(head) < size and (chunk := file.read(size - len(head))):
            head += chunk
        # One map for all: a stage opens every file once a unit, and np.memmap would open it once an array.
        return Arrays(arrays_in(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), head[:size]))


def size_of_head(start: bytes, name: str, size: int) -> int:
    """Bytes before the first array of a file of `size` bytes, of which 16 are given at least."""
    if start[:8] != MAGIC:
        raise ValueError(f"{name}: not a file of arrays, it begins with {start[:8]!r}")
    head = 16 + int.from_bytes(start[8:16], "little")
    if head > size:
        raise ValueError(f"{name}: says that its arrays begin at byte {head}, and has {size} bytes")
    return head


class ArrayDescription(NamedTuple):
    """An array of a file: its type, its shape, the byte at which it begins, and the bytes of a row."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    row: int


def arrays_in(mapped: mmap.mmap, head: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file."""
    return {
        name: np.frombuffer(mapped, array.dtype, math.prod(array.shape), array.begin).reshape(array.shape)
        if math.prod(array.shape)
        else np.empty(array.shape, array.dtype)
        for name, array in described(head).items()
    }


@lru_cache(maxsize=2048)
def described(head: bytes) -> dict[str, ArrayDescription]:
    """What a file says of its arrays in the bytes before them."""
    descriptions = {}
    for name, entry in json.loads(head[16:]).items():
        dtype, shape, offset = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["offset"]
        if not all(isinstance(number, int) and number >= 0 for number in (*shape, offset)) or offset % dtype.alignment:
            raise ValueError(f"the array {name} has the shape {list(shape)} at byte {offset}")
        descriptions[name] = ArrayDescription(dtype, shape, len(head) + offset, dtype.itemsize * math.prod(shape[1:]))
    return descriptions
