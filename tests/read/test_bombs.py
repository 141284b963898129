"""Input that is made to exhaust the reader: a few kilobytes that hold hundreds of megabytes, and worse."""

import bz2
import gzip
import io
import json
import lzma
import struct
import subprocess
import sys
import textwrap
import zlib

import pytest
import zstandard
from fastwarc.stream_io import Lz4Writer
from reading import briefly, http, page, read_all, save, warc

from corpusmill.errors import RecipeError
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, FilePiece, ReadCounts, _http, expansion
from corpusmill.read import csv as csv_reader
from corpusmill.read._bytes import (
    MAX_DICTIONARY,
    SLICE,
    ZSTD_BLOCK,
    ByteStream,
    Damaged,
    Truncated,
    WindowTooLarge,
    blocks,
    sniff_dictionary,
)
from corpusmill.read.csv import CsvReader
from corpusmill.read.html import HtmlReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.text import TextReader
from corpusmill.read.warc import HTML_BEGINS, WarcReader
from corpusmill.read.wet import WetReader

CODECS = ["gz", "zst", "bz2", "xz", "lz4"]
GOOD = b'{"text": "The river runs over stones."}\n'
RLE = b"\x02\x00\x10"  # of a zstd block: not the last, one byte repeated 2^17 times


def compressed(data: bytes, how: str) -> bytes:
    if how == "lz4":
        out = io.BytesIO()
        with Lz4Writer(out) as writer:
            writer.write(data)
        return out.getvalue()
    if how == "xz":
        return lzma.compress(data, preset=0)
    return gzip.compress(data) if how == "gz" else bz2.compress(data) if how == "bz2" else zstandard.compress(data)


def frame(size: int, window: int = 0x38) -> bytes:
    """A zstd frame of `size` zeros in blocks of four bytes, by default with a window of 128 KiB."""
    full, rest = divmod(size, ZSTD_BLOCK)
    last = struct.pack("<I", rest << 3 | 3)[:3]  # the last block, repeated too
    return b"\x28\xb5\x2f\xfd" + bytes([0, window]) + (RLE + b"\0") * full + last + b"\0"


@pytest.mark.parametrize("how", CODECS)
def test_a_block_is_small_however_much_the_file_holds(tmp_path, how):
    data = b"begin" + bytes(24 << 20) + b"end"
    file = save(tmp_path, f"bomb.{how}", compressed(data, how))
    sizes, digest = [], 0
    for block in blocks(file.path):
        sizes.append(len(block))
        digest = zlib.crc32(block, digest)
    assert max(sizes) <= SLICE + ZSTD_BLOCK and sum(sizes) == len(data) and digest == zlib.crc32(data)


def test_a_zstd_frame_of_tiny_blocks_is_given_out_bit_by_bit(tmp_path):
    file = save(tmp_path, "bomb.zst", frame(100 << 20) + frame(5) + frame(3 << 17))
    sizes = list(map(len, blocks(file.path)))
    assert sum(sizes) == (100 << 20) + 5 + (3 << 17) and max(sizes) <= SLICE + ZSTD_BLOCK


@pytest.mark.parametrize("cut", [3, 5, 6, 8, 9, 10, -1])
def test_a_zstd_frame_that_is_cut_anywhere_is_truncated(tmp_path, cut):
    file = save(tmp_path, "a.zst", frame(1 << 20)[:cut])
    if cut == 3:  # not even the magic
        assert b"".join(blocks(file.path)) == b"\x28\xb5\x2f"
        return
    with pytest.raises(Truncated):
        list(blocks(file.path))


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000, 400_000])
def test_zstd_frames_of_every_kind_follow_each_other(tmp_path, checksum, sized, size):
    packer = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=sized)
    noise = bytes(range(256)) * (size // 256 + 1)
    skippable = b"\x53\x2a\x4d\x18" + struct.pack("<I", 9) + b"\x28\xb5\x2f\xfdthere"
    stored = packer.compress(noise[:size])
    data = stored + skippable + b"\0" * 40 + packer.compress(b"end")
    assert b"".join(blocks(save(tmp_path, "a.zst", data).path)) == noise[:size] + b"end"
    with pytest.raises(Damaged, match="no frame begins"):
        list(blocks(save(tmp_path, "a.zst", stored + b"no frame at all").path))


def test_a_hostile_window_is_a_dead_letter_that_says_what_to_do(tmp_path):
    window = bytes([0, (28 - 10) << 3])  # 256 MiB
    data = b"\x28\xb5\x2f\xfd" + window + struct.pack("<I", len(GOOD) << 3 | 1)[:3] + GOOD
    file = save(tmp_path, "a.jsonl.zst", data)
    rows, dead, _ = read_all(JsonlReader(), file)
    assert not rows and briefly(dead) == [(0, "window_too_large", False)]
    assert "takes 256 MiB of memory, and at most 122 MiB are allowed" in dead[0]["reason"]
    assert "max_window_mb" in dead[0]["reason"]
    assert len(read_all(JsonlReader(max_window_mb=269), file)[0]) == 1
    assert expansion(file) == 1.0 and expansion(save(tmp_path, "b.zst", frame(100 << 20, (31 - 10) << 3))) > 100
    for reader in (TextReader(), HtmlReader(), WarcReader(), WetReader()):
        assert [letter["kind"] for letter in read_all(reader, file)[1]] == ["window_too_large"]
    with pytest.raises(RecipeError, match="max_window_mb"):
        JsonlReader(max_window_mb=3000)
    packed = save(tmp_path, "a.xz", lzma.compress(GOOD, preset=6))  # a dictionary of 8 MiB
    with pytest.raises(WindowTooLarge, match="xz"):
        list(blocks(packed.path, window=4 << 20))


def test_a_record_with_a_hostile_window_costs_itself_only(tmp_path):
    bad = b"\x28\xb5\x2f\xfd" + bytes([0, 21 << 3]) + b"\x01\0\0"
    data = zstandard.compress(page("one")) + bad + zstandard.compress(page("two"))
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.zst", data))
    assert len(rows) == 2 and [letter["kind"] for letter in dead] == ["window_too_large"]


@pytest.mark.parametrize("content", [frame(MAX_DICTIONARY + 1), frame(1 << 20)[:-4], b"\x28\xb5\x2f\xfd" + b"\xff" * 9])
def test_a_hostile_dictionary_is_a_dead_letter(tmp_path, content):
    head = b"\x5d\x2a\x4d\x18" + struct.pack("<I", len(content)) + content
    file = save(tmp_path, "a.warc.zst", head + zstandard.compress(page("one")))
    rows, dead, _ = read_all(WarcReader(), file)
    assert not rows and briefly(dead) == [(0, "damaged", False)]
    with pytest.raises(Damaged):
        sniff_dictionary(io.BytesIO(head))
    assert expansion(file) > 0


LIMITED = """
    import resource, sys
    from corpusmill.read import ReadCounts, expansion, find
    from corpusmill.storage import stat

    import orjson, pyarrow, zstandard, isal.isal_zlib, fastwarc.stream_io  # so that they do not count
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (240 << 20),) * 2)
    for path in sys.argv[1:]:
        file, counts = stat(path), ReadCounts()
        reader = find("warc" if ".warc" in path else "jsonl")()
        assert expansion(file) > 1
        kept = sum(map(len, (b for piece in reader.split([file], 1 << 30) for b in reader.read(piece, "s", counts))))
        print(kept, sorted(letter["kind"] for letter in counts.letters))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux")
def test_bombs_are_read_in_little_memory(tmp_path):
    files = []
    for how in CODECS:
        data = GOOD + bytes((40 if how == "bz2" else 80) << 20) + b"\n" + GOOD
        files.append(save(tmp_path, f"a.jsonl.{how}", compressed(data, how)).path)
    huge = warc("response", b"", length=str(1 << 30))[:-4]
    middle = frame(1 << 30)
    ends = [zstandard.compress(page("one") + huge), zstandard.compress(b"\r\n\r\n" + page("two"))]
    files.append(save(tmp_path, "a.warc.zst", ends[0] + middle + ends[1]).path)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["2 ['too_long']"] * 5 + ["2 ['too_large']"]


@pytest.mark.parametrize("inner", CODECS)
@pytest.mark.parametrize("outer", CODECS)
def test_what_is_compressed_twice_is_decompressed_twice(tmp_path, outer, inner):
    lines = compressed(compressed(GOOD * 3, inner), outer)
    assert len(read_all(JsonlReader(), save(tmp_path, "a.jsonl.gz", lines))[0]) == 3
    pages = b"".join(compressed(page(f"page {i}"), inner) for i in range(4))
    file = save(tmp_path, "a.warc.gz", compressed(pages, outer))
    rows, dead, _ = read_all(WarcReader(), file, target=50)
    assert len(rows) == 4 and not dead
    assert len({row["position"] for row in rows}) == 4


def test_what_is_compressed_three_times_says_so(tmp_path):
    thrice = GOOD
    for _ in range(3):
        thrice = gzip.compress(thrice)
    for reader in (JsonlReader(), TextReader(), HtmlReader(), CsvReader(), WarcReader()):
        rows, dead, _ = read_all(reader, save(tmp_path, "a.gz", thrice))
        assert not rows and [letter["kind"] for letter in dead] == ["damaged"] and "three times" in dead[0]["reason"]
    cut = gzip.compress(gzip.compress(GOOD * 3)[:-9])
    assert [letter["kind"] for letter in read_all(JsonlReader(), save(tmp_path, "a.gz", cut))[1]] == ["truncated"]


def test_zeros_between_records_are_passed_in_linear_time(tmp_path):
    zeros = gzip.compress(bytes(150 << 20), 1)  # 16 bytes at a time took half a minute
    file = save(tmp_path, "a.warc.gz", gzip.compress(page("one")) + zeros + gzip.compress(page("two")))
    rows, dead, _ = read_all(WarcReader(), file)
    assert len(rows) == 2 and not dead


def test_a_stream_of_tiny_blocks_is_read_in_large_ones():
    data = page("one") * 2000
    stream = ByteStream(data[i : i + 1] for i in range(len(data)))
    pulls = 0
    pull = stream._pull

    def counted(least):
        nonlocal pulls
        pulls += 1
        return pull(least)

    stream._pull = counted  # type: ignore[method-assign]
    while stream.peek(5000):
        assert stream.take(100)
    assert pulls < len(data) // 30_000 + 60  # some at the end, where there is nothing more


def test_dead_letters_do_not_pile_up(tmp_path):
    file = save(tmp_path, "a.jsonl", b"x\n" * 10_000 + GOOD)
    other = save(tmp_path, "a.warc", b"WARC/1.0\r\nA:\r\n" * 10_000 + page("one"))
    for reader, made in ((JsonlReader(), file), (WarcReader(), other)):
        counts, most, rows = ReadCounts(), 0, 0
        for batch in reader.read(FilePiece(made), "made", counts):
            rows += len(batch)
            most = max(most, len(counts.letters))
            counts.drain()
        assert rows == 1 and counts.dead_letters > 5000 and most <= BATCH_ROWS


def test_long_metadata_and_addresses_fill_a_batch_too(tmp_path):
    for name in ("url", "other"):
        line = json.dumps({"text": "The river runs.", name: "x" * (BATCH_BYTES // 2)}).encode()
        file = save(tmp_path, "a.jsonl", b"\n".join([line] * 5))
        assert [len(batch) for batch in JsonlReader().read(FilePiece(file), "made", ReadCounts())] == [2, 2, 1]


@pytest.mark.parametrize("value", [b"[],", b'{"a":1},', b'"ab",'])
def test_a_long_line_of_many_values_is_not_parsed(tmp_path, value):
    bomb = b'{"text": "x", "many": [' + value * (24_000_000 // len(value)) + b"0]}\n"
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", bomb + GOOD))
    assert len(rows) == 1 and [letter["kind"] for letter in dead] == ["too_many_values"]
    prose = json.dumps({"text": 'He said, "Look [there], {friend}": ' * 300_000}).encode()
    assert len(read_all(JsonlReader(), save(tmp_path, "a.jsonl", prose))[0]) == 1


def test_a_quotation_mark_that_is_not_closed_does_not_swallow_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "MAX_ROW", 10_000)
    monkeypatch.setattr(csv_reader, "MAX_FIELDS", 1000)
    good = b"a text of its own\n"
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "a.csv", b"text\n" + good + b'"open\n' + good * 1000))
    assert len(rows) == 1 and briefly(dead) == [(1, "too_long", False)] and "quotation" in dead[0]["reason"]
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "a.csv", b"text\n" + good + b"," * 2000 + b"\n" + good))
    assert len(rows) == 1 and briefly(dead) == [(1, "too_long", False)] and "fields" in dead[0]["reason"]
    long = b'"' + good * 100 + b'"\n'
    assert len(read_all(CsvReader(), save(tmp_path, "a.csv", b"text\n" + long * 40))[0]) == 40


def test_headers_of_http_are_read_in_linear_time():
    parsed = _http.parse(b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 60_000)
    assert parsed and not parsed.body and parsed.fields["a"].count("b") > 50_000
    endless = _http.parse(b"HTTP/1.1 200 OK\r\n" + b"x" * (1 << 20) + b"\r\n\r\nbody")
    assert endless and not endless.body
    assert _http.charset("charset=" + " " * 200_000) is None
    many = _http.parse(b"HTTP/1.1 200 OK\r\nContent-Encoding: " + b"gzip," * 500 + b"\r\n\r\nbody")
    assert many
    with pytest.raises(_http.BadEncoding, match="501 content codings"):
        _http.content(many, 1000)


def test_a_body_of_many_empty_members_is_read_in_linear_time():
    empty = gzip.compress(b"", mtime=0)
    response = _http.Response(200, {"content-encoding": "gzip"}, empty * 150_000 + gzip.compress(b"end"))
    assert _http.content(response, 1000) == b"end"


def test_comments_before_nothing_take_no_time():
    assert not HTML_BEGINS.match(b"<!---->" * 500 + b"x")
    assert not HTML_BEGINS.match(b" " * 4000)
    assert HTML_BEGINS.match(b" \xef\xbb\xbf <!-- a --> <!-- b --> <html>")


def test_unknown_types_of_records_are_counted_as_one(tmp_path):
    data = b"".join(warc(f"made-{i}", b"x") for i in range(50)) + warc("revisit", b"")
    _, _, counts = read_all(WarcReader(), save(tmp_path, "a.warc", data))
    assert dict(counts.skipped) == {"warc_other": 50, "warc_revisit": 1}
    assert read_all(WarcReader(), save(tmp_path, "a.warc", warc("response", http(b"<html>x</html>"))))[0]
