"""The columns that a unit of a run has saved, as arrays of numbers and codes."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.steps import Transform
from corpusmill.steps.verdict import distinct


@dataclass(frozen=True)
class Sizes:
    """Where the bytes of each version of the text are saved.

    columns   one per version: the first is that of the text as it reached the pass, the last that at its end. A column
              but the last is null of documents that its step is not for: their next version is the same text
    version   which of them each step sees, and at last the one at the end
    """

    columns: tuple[str, ...]
    version: tuple[int, ...]

    @staticmethod
    def from_steps(labels: Sequence[str], steps: Mapping[str, Any]) -> "Sizes":
        """Of a pass: every step that changes the text has saved its size before."""
        columns: list[str] = []
        version = []
        for label in labels:
            version.append(len(columns))
            if isinstance(steps[label], Transform):
                columns.append(f"{label}.bytes_before")
        return Sizes((*columns, "bytes"), (*version, len(columns)))


class Saved:
    """The signals of a unit, each column read when it is asked for.

    ahead   columns that will be asked for: read together, they take half the time
    """

    def __init__(self, path: str, sizes: Sizes, ahead: Sequence[str] = ()) -> None:
        self._file = pq.ParquetFile(path, read_dictionary=["reasons"])
        self.rows: int = self._file.metadata.num_rows
        self.names: list[str] = self._file.schema_arrow.names
        self.sizes = sizes
        self.columns: dict[str, pa.Array] = {}
        self._read(ahead)

    def read(self, name: str) -> pa.Array:
        if name not in self.columns:
            self._read([name])
        return self.columns[name]

    def _read(self, names: Sequence[str]) -> None:
        # One thread: another is at work on the unit before.
        table = self._file.read(list(names), use_threads=False)
        for name, column in zip(table.column_names, table.columns):
            self.columns[name] = pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)

    def numbers(self, name: str) -> NDArray[np.int64]:
        """(documents,) of a column of whole numbers; null is 0."""
        numbers: NDArray[np.int64] = pc.fill_null(self.read(name), 0).to_numpy(zero_copy_only=False)
        return numbers

    def size(self, version: int) -> pa.Array:
        """(documents,) bytes of a version of the text."""
        first, *later = self.sizes.columns[version:]
        size = self.read(first)
        return pc.coalesce(size, *(self.read(name) for name in later)) if size.null_count else size

    def coded(self, name: str) -> tuple[NDArray[np.int64], list[str | None]]:
        """(documents,) an index into the different values, and these."""
        return coded(self.read(name))

    def row(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        """Columns of one document, of which only its row group is read."""
        ends = np.cumsum([self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)])
        group = int(np.searchsorted(ends, row, "right"))
        start = int(ends[group - 1]) if group else 0
        values: dict[str, Any] = self._file.read_row_group(group, list(names)).slice(row - start, 1).to_pylist()[0]
        return values


def saved_units(paths: Sequence[str], sizes: Sizes) -> Iterator[Saved]:
    """Every unit in turn. While the caller is at work on one the next is read, which is half of the work."""
    columns: list[str] = []  # that the last unit took; the first unit reads each as it is asked for
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(Saved, paths[0], sizes)
        for unit in range(len(paths)):
            saved = following.result()
            if unit + 1 < len(paths):
                following = reader.submit(Saved, paths[unit + 1], sizes, columns)
            yield saved
            columns = list(saved.columns)


def coded(column: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """(documents,) an index into the different values, null among them, and these values.

    >>> [part if isinstance(part, list) else part.tolist() for part in coded(pa.array(["b", None, "b"]))]
    [[0, 1, 0], ['b', None]]
    """
    if pa.types.is_dictionary(column.type):
        code, values = column.indices, column.dictionary.to_pylist()
        if column.null_count == 0:
            return code.to_numpy().astype(np.int64), values
        return pc.fill_null(code.cast(pa.int64()), len(values)).to_numpy(), [*values, None]
    dictionary = pc.dictionary_encode(column, null_encoding="encode")
    return dictionary.indices.to_numpy().astype(np.int64), dictionary.dictionary.to_pylist()


def grouped(*columns: tuple[NDArray[np.int64], int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of several columns of codes, sorted, and for each row which of them it is.

    columns   (rows,) codes each, and how many codes there are
    returns   (groups, columns); (rows,)

    >>> [part.tolist() for part in grouped((np.array([1, 0, 1]), 2), (np.array([0, 2, 0]), 3))]
    [[[0, 2], [1, 0]], [1, 0, 1]]
    """
    groups = np.zeros((1, 0), np.int64)
    row = np.zeros(len(columns[0][0]), np.int64)
    # One after the other: all combinations are many more than those that occur.
    for code, size in columns:
        pairs, row = distinct(row * size + code, len(groups) * size)
        groups = np.column_stack([groups[pairs // size], pairs % size])
    return groups, row


class Codes(dict[str | None, int]):
    """A number for each string that is asked for, None being 0: the same one for all units."""

    def __init__(self) -> None:
        super().__init__({None: 0})
        self.names: list[str | None] = [None]

    def __missing__(self, name: str) -> int:
        self.names.append(name)
        return self.setdefault(name, len(self))
