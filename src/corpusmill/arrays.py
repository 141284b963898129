"""Named NumPy arrays in one file, aligned so that they can be mapped: keys, token ids, models."""

import json
import math
import mmap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


def map_arrays(path: Path, scattered: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays of `write_arrays`, mapped read-only.

    scattered   few of the rows are read, which `will_need` names before: the system reads no pages around them. Many
                systems read megabytes around each: of a corpus larger than memory, all of it for each unit
    """
    with path.open("rb") as file:
        start = file.read(16)
        if start[:8] != MAGIC:
            raise ValueError(f"{path}: not a file of arrays, it begins with {start[:8]!r}")
        size = int.from_bytes(start[8:], "little")
        head = json.loads(file.read(size))
        # One map for all: a stage opens every file once a partition, and np.memmap would open it once an array.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if scattered and CAN_ADVISE:
            mapped.madvise(mmap.MADV_RANDOM)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in head.items():
        shape = tuple(entry["shape"])
        if 0 in shape:
            arrays[name] = np.empty(shape, entry["dtype"])
        else:
            flat = np.frombuffer(mapped, entry["dtype"], math.prod(shape), 16 + size + entry["offset"])
            arrays[name] = flat.reshape(shape)
    return arrays


def will_need(array: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
    """Have the system read rows of an array of `map_arrays`, while the caller goes on.

    starts, stops   (ranges,) of rows; none is empty, and both rise
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapped = owner.obj if isinstance(owner, memoryview) else None
    if not isinstance(mapped, mmap.mmap) or not CAN_ADVISE or not len(starts):
        return
    begin = array.ctypes.data - np.frombuffer(mapped, np.uint8, 1).ctypes.data
    row = array.strides[0]
    first, last = (begin + starts * row) // mmap.PAGESIZE, (begin + stops * row - 1) // mmap.PAGESIZE
    cuts = np.flatnonzero(first[1:] > last[:-1] + JOINED)
    firsts, lasts = first[np.append(0, cuts + 1)], last[np.append(cuts, len(last) - 1)]
    for page, end in zip(firsts.tolist(), lasts.tolist()):
        mapped.madvise(mmap.MADV_WILLNEED, page * mmap.PAGESIZE, (end + 1 - page) * mmap.PAGESIZE)
