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


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of `write_arrays`, mapped read-only."""
    with path.open("rb") as file:
        start = file.read(16)
        if start[:8] != MAGIC:
            raise ValueError(f"{path}: not a file of arrays, it begins with {start[:8]!r}")
        size = int.from_bytes(start[8:], "little")
        head = json.loads(file.read(size))
        # One map for all: a stage opens every file once a partition, and np.memmap would open it once an array.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in head.items():
        shape = tuple(entry["shape"])
        if 0 in shape:
            arrays[name] = np.empty(shape, entry["dtype"])
        else:
            flat = np.frombuffer(mapped, entry["dtype"], math.prod(shape), 16 + size + entry["offset"])
            arrays[name] = flat.reshape(shape)
    return arrays
