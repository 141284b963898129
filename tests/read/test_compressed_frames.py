"""Compressed files as every tool writes them: frames without content, padding, old formats, several in a file, cut."""

import bz2
import gzip
import io
import lzma
import random
import struct
import zipfile

import lz4.block
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, page, read_all, save

from corpusmill.read import JsonlReader, TextReader, WarcReader, expansion
from corpusmill.read._bytes import Damaged, Truncated, blocks, sniff

LINES = b"".join(b'{"text": "line %d of the made file"}\n' % number for number in range(40))
MARKS = [struct.pack("<I", 0x184D2A50 + number) for number in range(16)]


def legacy(data: bytes) -> bytes:
    """As `lz4 -l` writes it."""
    out = struct.pack("<I", 0x184C2102)
    for at in range(0, len(data), 8 << 20):
        block = lz4.block.compress(data[at : at + (8 << 20)], store_size=False)
        out += struct.pack("<I", len(block)) + block
    return out


def alone(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_ALONE, preset=1)


PACKERS = {
    "zstd": zstandard.compress,
    "lz4": lz4.frame.compress,
    "lz4-linked": lambda data: lz4.frame.compress(data, block_linked=True, content_checksum=True, store_size=False),
    "lz4-legacy": legacy,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": alone,
}
WITH_SKIPPABLE = ("zstd", "lz4", "lz4-linked", "lz4-legacy")


def empty_frame(mark: bytes, content: bytes) -> bytes:
    return mark + struct.pack("<I", len(content)) + content


def whole(folder, data: bytes, name: str = "a") -> bytes:
    return b"".join(blocks(save(folder, name, data).path))


@pytest.mark.parametrize("how", WITH_SKIPPABLE)
@pytest.mark.parametrize("mark", MARKS)
def test_frames_without_content_may_stand_anywhere(tmp_path, how, mark):
    pack = PACKERS[how]
    for content in (b"", b"size", bytes(100_000), MARKS[3] * 5):
        skip = empty_frame(mark, content)
        for data in (
            skip + pack(LINES),
            pack(LINES) + skip,
            skip * 3 + pack(LINES[:300]) + skip + pack(LINES[300:]) + skip,
        ):
            assert whole(tmp_path, data) == LINES


def test_a_file_of_frames_without_content_is_empty(tmp_path):
    assert whole(tmp_path, empty_frame(MARKS[0], b"x") * 3) == b""


@pytest.mark.parametrize("how", PACKERS)
@pytest.mark.parametrize("zeros", [1, 3, 4, 8, 511, 70_000])
def test_frames_follow_each_other_with_padding_between(tmp_path, how, zeros):
    pack, padding = PACKERS[how], bytes(zeros)
    assert whole(tmp_path, pack(LINES) + padding + pack(b"more") + padding) == LINES + b"more"
    assert whole(tmp_path, pack(LINES) + pack(b"more")) == LINES + b"more"


def test_old_and_new_lz4_frames_follow_each_other(tmp_path):
    noise = random.Random(1).randbytes(70_000)
    data = legacy(noise) + lz4.frame.compress(LINES) + legacy(b"x" * (9 << 20)) + legacy(LINES)
    assert whole(tmp_path, data) == noise + LINES + b"x" * (9 << 20) + LINES


@pytest.mark.parametrize("how", PACKERS)
def test_what_is_before_a_cut_is_read_and_the_cut_is_a_dead_letter(tmp_path, how):
    size = 9000 if how == "lz4-legacy" else 1500  # a block of bz2 has .9 MB, one of legacy lz4 8
    line = random.Random(1).randbytes(500).hex().encode()
    rows = [b'{"text": "%d %s"}\n' % (number, line) for number in range(size)]
    if how not in ("xz", "lzma"):
        rows = [row.replace(b"a", b"%d" % number) for number, row in enumerate(rows)]
    data = PACKERS[how](b"".join(rows))
    documents, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", data[: len(data) * 9 // 10]))
    assert len(documents) > size // 3
    assert [(letter["kind"], letter["expected"]) for letter in dead] == [("truncated", False)]


@settings(max_examples=60, deadline=None)
@given(how=st.sampled_from(["lz4", "lz4-linked", "lz4-legacy"]), cut=st.integers(1, 400))
def test_an_lz4_file_that_is_cut_anywhere_never_reads_as_whole(tmp_path_factory, how, cut):
    data = PACKERS[how](LINES)
    cut = min(cut, len(data) - 8)
    parts = []
    with pytest.raises((Truncated, Damaged)):
        for block in blocks(save(tmp_path_factory.mktemp("cut"), "a", data[:-cut]).path):
            parts.append(block)
    assert LINES.startswith(b"".join(parts))


def test_damaged_lz4_data_says_so(tmp_path):
    for pack in (lz4.frame.compress, legacy):
        data = bytearray(pack(random.Random(2).randbytes(50_000) + LINES * 200))
        data[60_000:60_040] = b"\xff" * 40
        with pytest.raises((Damaged, Truncated), match="lz4"):
            whole(tmp_path, bytes(data))
    with pytest.raises(Damaged, match="no frame begins"):
        whole(tmp_path, lz4.frame.compress(LINES) + b"no frame at all")


@pytest.mark.parametrize("how", PACKERS)
def test_how_much_a_file_expands_is_measured(tmp_path, how):
    file = save(tmp_path, "a", PACKERS[how](b"the same words again and again, " * 4000))
    assert expansion(file) > 10
    assert sniff(file.path) == how.partition("-")[0]


@pytest.mark.parametrize("how", ["lz4", "lz4-legacy", "lzma"])
def test_archives_of_the_web_are_read_too(tmp_path, how):
    pages = b"".join(PACKERS[how](page(f"page {number}")) for number in range(3))
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc", pages))
    assert len(rows) == 3 and not dead


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", LINES * 100)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped(), "a ZIP archive: unpack it first"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7-Zip archive"),
        (b"Rar!\x1a\x07\x01\x00", "a RAR archive"),
        (b"\x1f\x9d\x90abc", "gzip -d"),
        (b"LZIP\x01\x0c", "lzip"),
        (b"\xff\x06\x00\x00sNaPpY\x00", "snappy"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, data, said):
    file = save(tmp_path, "a.jsonl.gz", data + b"\n" * 500)
    for reader in (JsonlReader(), TextReader(document="paragraph"), WarcReader()):
        rows, dead, _ = read_all(reader, file, target=100)
        assert not rows and briefly(dead) == [(0, "damaged", False)] and said in dead[0]["reason"]
    assert JsonlReader().can_cut(file) is False


@pytest.mark.parametrize("text", ["]", "]\n]", "] PK", "BZ", "\x1f", "P*M", "LZIP", "Rar!", "7z"])
def test_no_text_is_taken_for_compressed(tmp_path, text):
    for charset in ("utf-8", "utf-16-le", "utf-16"):
        data = (text + "\nThe river runs.\n" * 3).encode(charset)
        assert sniff(save(tmp_path, "a.txt", data).path) == ""
