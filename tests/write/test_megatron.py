"""What is written for Megatron-LM is what the format says, read here by the letter of it."""

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.errors import ShardError
from corpusmill.write import DocumentTokens
from corpusmill.write.megatron import MegatronWriter, read_index


def read(prefix):
    """(type code, documents) of a pair of files, without a line of ours: struct, as the format is laid out."""
    data = (prefix.parent / f"{prefix.name}.idx").read_bytes()
    assert data[:9] == b"MMIDIDX\0\0"
    version, code, sequences, documents = struct.unpack("<QBQQ", data[9:34])
    assert version == 1 and documents == sequences + 1
    at = 34
    lengths = struct.unpack(f"<{sequences}i", data[at : (at := at + 4 * sequences)])
    pointers = struct.unpack(f"<{sequences}q", data[at : (at := at + 8 * sequences)])
    borders = struct.unpack(f"<{documents}q", data[at : (at := at + 8 * documents)])
    assert at == len(data) and borders == tuple(range(documents))
    ids = (prefix.parent / f"{prefix.name}.bin").read_bytes()
    size, letter = {8: (2, "H"), 4: (4, "i")}[code]
    found = [list(struct.unpack_from(f"<{n}{letter}", ids, pointer)) for n, pointer in zip(lengths, pointers)]
    assert len(ids) == size * sum(lengths)
    return code, found


def write(folder, parts, dtype=np.uint16):
    """Documents, given in parts, each a list of documents."""
    files = {suffix: folder / f"0{suffix}" for suffix in MegatronWriter().suffixes}
    tokens = (
        DocumentTokens(np.array([i for d in part for i in d], dtype), np.array([len(d) for d in part], np.int64))
        for part in parts
    )
    return MegatronWriter().write_tokens(tokens, files)


DOCUMENTS = st.lists(st.lists(st.integers(0, 65_535), min_size=1, max_size=9), max_size=6)


@settings(max_examples=50, deadline=None)
@given(parts=st.lists(DOCUMENTS, max_size=4), dtype=st.sampled_from([np.uint16, np.uint32]))
@example(parts=[[[1, 2], [3]], [[4]]], dtype=np.uint32)
def test_a_reader_of_the_format_finds_the_documents(tmp_path_factory, parts, dtype):
    folder = tmp_path_factory.mktemp("megatron")
    facts = write(folder, parts, dtype)
    code, read_back = read(folder / "0")
    documents = [document for part in parts for document in part]
    assert read_back == documents and facts.rows == len(documents)
    assert facts.bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert code == (8 if dtype == np.uint16 or not parts else 4)


def test_ids_beyond_16_bits_are_int32(tmp_path):
    write(tmp_path, [[[70_000, 128_255]]], np.uint32)
    assert read(tmp_path / "0") == (4, [[70_000, 128_255]])


def test_blocks_of_tokens_are_put_end_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr("corpusmill.write._rows.BLOCK", 3)
    write(tmp_path, [[list(range(8)), [9, 10]]])
    assert read(tmp_path / "0")[1] == [list(range(8)), [9, 10]]


def test_an_index_is_read_back(tmp_path):
    write(tmp_path, [[[5, 6, 7], [8]]])
    index = read_index(tmp_path / "0.idx")
    assert (index.dtype, index.lengths.tolist(), index.pointers.tolist()) == (np.dtype("<u2"), [3, 1], [0, 6])
    assert index.documents.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-1], "was cut"),
        (lambda data: b"X" + data[1:], "not an index of Megatron-LM"),
        (lambda data: data[:9] + struct.pack("<Q", 2) + data[17:], "version 2"),
        (lambda data: data[:20], "not an index of Megatron-LM"),
    ],
)
def test_a_file_that_is_not_an_index_is_reported(tmp_path, damage, said):
    write(tmp_path, [[[5, 6, 7], [8]]])
    path = tmp_path / "0.idx"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ShardError, match=said):
        read_index(path)


def test_a_document_that_the_format_cannot_hold_is_refused(tmp_path):
    huge = DocumentTokens(np.empty(0, np.uint16), np.array([2**31], np.int64))
    with pytest.raises(ShardError, match="2147483648 tokens"):
        MegatronWriter().write_tokens([huge], {suffix: tmp_path / f"0{suffix}" for suffix in MegatronWriter().suffixes})
