"""Remote files open for reading: windows that grow, and what breaks off is read on."""

import io
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import storage
from corpusmill.storage.object_file import ObjectFile

DATA = random.Random(8).randbytes(1 << 20)


class Store:
    """Bytes, and which ranges of them were asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges: list[tuple[int, int]] = []

    def get(self, start: int, stop: int) -> bytes:
        assert 0 <= start < stop <= len(self.data), "a range that is not all there"
        self.ranges.append((start, stop))
        return self.data[start:stop]

    def file(self) -> ObjectFile:
        return ObjectFile(len(self.data), self.get)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(0, 3000),
    moves=st.lists(
        st.tuples(st.sampled_from([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END]), st.integers(0, 3500), st.integers(0, 900)),
        max_size=8,
    ),
)
def test_an_object_reads_as_bytes_in_memory_do(size, moves):
    file, memory = Store(DATA[:size]).file(), io.BytesIO(DATA[:size])
    for whence, offset, count in moves:
        position = -min(offset, size) if whence == os.SEEK_END else offset
        assert file.seek(position, whence) == memory.seek(position, whence)
        assert file.read(count) == memory.read(count)
        assert file.tell() == memory.tell()


def test_reading_on_asks_for_more_each_time_and_jumping_for_little():
    store = Store(DATA * 8)
    file = io.BufferedReader(store.file(), 1 << 16)
    assert file.read() == DATA * 8
    sizes = [stop - start for start, stop in store.ranges]
    assert sizes[:3] == [256 << 10, 512 << 10, 1 << 20] and sum(sizes) == len(DATA) * 8
    store.ranges.clear()
    file.seek(5_000_000)
    file.read(10)
    assert [stop - start for start, stop in store.ranges] == [256 << 10]


def test_nothing_is_asked_for_beyond_the_end():
    store = Store(b"abc")
    file = store.file()
    assert file.read(10) == b"abc" and file.read(10) == b""
    file.seek(100)
    assert file.read(1) == b"" and store.ranges == [(0, 3)]
    assert Store(b"").file().read() == b""


def test_an_object_that_cannot_be_read_says_so_and_can_be_read_again():
    store, failures = Store(DATA[:100]), iter([OSError("broken off")])

    def get(start: int, stop: int) -> bytes:
        for error in failures:
            raise error
        return store.get(start, stop)

    file = ObjectFile(100, get)
    with pytest.raises(OSError, match="broken off"):
        file.read(5)
    assert file.tell() == 0 and file.read(5) == DATA[:5]


def test_files_of_other_stores_seek_and_end():
    storage.write_atomic("memory://remote-files/a", DATA[:5000])
    with storage.open_read("memory://remote-files/a", 10) as file:
        assert file.seekable() and file.readable()
        assert file.read(5) == DATA[10:15]
        assert file.seek(-5, os.SEEK_END) == 4995 and file.read(100) == DATA[4995:5000]
        assert file.seek(3, os.SEEK_CUR) == 5003 and file.read() == b""
        file.seek(0)
        assert file.read() == DATA[:5000]
