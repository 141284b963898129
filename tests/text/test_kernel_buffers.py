"""Arrays are taken as Arrow makes them; what is not safe to read is copied or refused."""

import subprocess
import sys
import textwrap
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.text.buffers import PAD, to_arrow, view
from corpusmill.text.hashing import hash64
from text_strategies import raw_strings, strings


def documents(text):
    return [bytes(text.data[a:b]) for a, b in pairwise(text.offsets)]


def test_slices_nulls_and_chunks_are_the_documents_they_say():
    array = strings("one", None, "three", "", "fünf")
    assert documents(view(array)) == [b"one", b"", b"three", b"", "fünf".encode()]
    assert documents(view(array[2:])) == [b"three", b"", "fünf".encode()]
    assert documents(view(array[5:])) == []
    assert documents(view(pa.chunked_array([array[:1], array[2:3]]))) == [b"one", b"three"]
    assert documents(view(pa.nulls(2, pa.large_string()))) == [b"", b""]


def test_a_null_that_owns_bytes_is_empty():
    array = pa.LargeStringArray.from_buffers(
        3, pa.py_buffer(np.array([0, 1, 4, 5])), pa.py_buffer(b"aNULb"), pa.py_buffer(b"\x05"), 1
    )
    assert array.to_pylist() == ["a", None, "b"]
    assert documents(view(array)) == [b"a", b"", b"b"]
    assert hash64(array).tolist() == hash64(strings("a", "", "b")).tolist()


def test_the_pad_is_there_and_costs_a_copy_only_where_it_is_missing():
    data = np.frombuffer(b"abc" + bytes(PAD), np.uint8)
    padded = to_arrow(data, np.array([0, 3]))
    assert view(padded).data.ctypes.data == data.ctypes.data
    short = to_arrow(data[:-1], np.array([0, 3]))
    assert view(short).data.ctypes.data != data.ctypes.data
    assert len(view(short).data) >= 3 + PAD


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (pa.array(["a"]), "large_string here, got string"),
        (to_arrow(np.zeros(9, np.uint8), np.array([0, 5, 3])), r"within 0\.\.9"),
        (to_arrow(np.zeros(9, np.uint8), np.array([0, 500, 9])), r"within 0\.\.9"),
    ],
)
def test_refuses_what_it_could_not_read_safely(array, words):
    with pytest.raises(ValueError, match=words):
        view(array)


# The text fills a page exactly up to the pad, between two pages that may not be touched. A read outside the pad, or
# before the text, kills the process.
GUARDED = """
    import ctypes, mmap, random, sys
    import numpy as np, pyarrow as pa
    from corpusmill.text import c4, code, fold, hashing, pieces, pii, replace, sentences, shingles, stats
    from corpusmill.text.buffers import PAD, view

    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    area = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for guard in (start, start + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(guard), page, 0) == 0

    def guarded(content):
        ctypes.memmove(start + page, content + bytes(page - len(content)), page)
        rng = np.random.default_rng(1)
        cuts = np.sort(rng.integers(0, len(content) + 1, 30))
        offsets = np.concatenate([[0, 0], cuts, [len(content) - 1, len(content), len(content)]]).astype(np.int64)
        values = pa.foreign_buffer(start + page, page, area)
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), values)

    room = page - PAD
    endings = ["word", "é", "…", "😀", ".", "...", "\\u3000", "\\n", "\\r", "[", "[1", "[edit", "1.2.3.4", "a@b.c", "a@",
               "2001:", "2001::", "+4", "(555", "DE8", "DE89", "4111 1111", "123-45-", "Σ", "1,", "x" * 70, "lorem ipsu"]
    contents = [("A b. " * room).encode()[: room - len(e.encode())] + e.encode() for e in endings]
    contents += [e.encode() + ("A b. " * room).encode()[: room - len(e.encode())] for e in endings]
    contents += [random.Random(seed).randbytes(room) for seed in range(20)]  # not UTF-8
    contents += [(half * room)[:room] for half in (b"\\xed\\xa0\\xbd", b"\\xed\\xb8\\x80 ")]  # half surrogates
    contents += [bytes([b]) * room for b in (0x20, 0x0A, 0x40, 0x80, 0xBF, 0xC2, 0xE2, 0xF0, 0xFF)]
    for content in contents:
        texts = guarded(content)
        assert view(texts).data.ctypes.data == start + page
        stats.document_stats(texts), stats.document_stats(texts, contained=True), code.code_counts(texts)
        shingles.shingle_hashes(texts, 3)
        shingles.shingle_hashes(fold.fold(texts), 3)
        hashing.hash128(texts)
        for of in ("lines", "paragraphs"):
            parts = pieces.pieces(texts, of)
            for folded in (False, True):
                pieces.piece_hashes(texts, parts, folded, 3)
            pieces.spans_without(texts, parts, np.arange(len(parts.start)) % 3 > 0)
        c4.clean_lines(texts)
        c4.clean_lines(texts, terminal_punctuation=False, min_words=None)
        sentences.sentence_counts(texts)
        spans = pii.pii_spans(texts)
        replace.replace_spans(texts, spans, pa.array(["x"] * len(spans), pa.large_string()))
    print("survived", len(contents))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
def test_no_kernel_reads_outside_a_text_and_its_pad():
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(GUARDED)], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("survived")


def test_bytes_that_are_no_text_hash_as_bytes():
    assert hash64(raw_strings(b"\xff\xfe", b"\x80")).tolist() != hash64(raw_strings(b"\xff", b"\x80")).tolist()
