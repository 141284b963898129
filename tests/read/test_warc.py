import gc
import gzip
import io
import random
import struct
import zlib
from itertools import pairwise
from typing import Any

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import arc, briefly, http, packed, page, read_all, save, warc
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from corpusmill.errors import RecipeError
from corpusmill.read import END, FilePiece, ReadCounts, find, names
from corpusmill.read._archive import Record, records
from corpusmill.read.warc import WarcReader

HTML = b"<html><p>The river runs.</p></html>"


def raws(rows):
    return [row["raw"] for row in rows]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # warcio leaves temporary files open
def test_reads_what_warcio_writes(tmp_path):
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("made.warc.gz", {"software": "made"}))
    head = StatusAndHeaders("200 OK", [("Content-Type", 'text/html; charset="latin-1"')], protocol="HTTP/1.0")
    where = out.tell()
    response = writer.create_warc_record(
        "http://made.org/a", "response", payload=io.BytesIO(HTML), http_headers=head, warc_headers_dict={}
    )
    request = writer.create_warc_record(
        "http://made.org/a", "request", http_headers=StatusAndHeaders("GET / HTTP/1.0", [], is_http_request=True)
    )
    writer.write_request_response_pair(request, response)
    file = save(tmp_path, "made.warc.gz", out.getvalue())
    [row], dead, counts = read_all(WarcReader(), file)
    assert (row["raw"], row["charset"], row["url"], row["position"]) == (HTML, "latin-1", "http://made.org/a", where)
    assert row["text"] is None and row["date"] == response.rec_headers["WARC-Date"]
    assert row["file"] == file.path and row["source"] == "made"
    assert response.rec_headers["WARC-Record-ID"] in row["metadata"]
    assert not dead and dict(counts.skipped) == {"warc_warcinfo": 1, "warc_request": 1}
    del writer, response, request
    gc.collect()


@pytest.mark.parametrize("how", ["", "gz", "zst"])
def test_says_of_every_response_what_became_of_it(tmp_path, how):
    records_ = [
        warc("warcinfo", b"software: made", None),
        warc("response", http(HTML)),
        warc("response", http(b"\x89PNG", content_type="image/png")),
        warc("response", http(b"gone", status=404)),
        warc("response", http(b"  ")),
        warc("response", http(b"x" * 3000)),
        warc("response", http(HTML, content_type=None)),
        warc("response", http(b"no markup", content_type=None)),
        warc("response", HTML, Content_Type="text/html; charset=utf-8"),
        warc("response", b"1.2.3.4", "dns:made.org", Content_Type="text/dns"),
        warc("resource", HTML, Content_Type="text/html"),
        warc("resource", b"log"),
        warc("revisit", b""),
    ]
    rows, dead, counts = read_all(WarcReader(max_mb=0.002), save(tmp_path, "a.warc", packed(records_, how)))
    assert raws(rows) == [HTML] * 4
    assert [letter["kind"] for letter in dead] == [
        *("not_html", "http_status", "empty_page", "too_large", "not_html", "not_html"),
    ]
    assert all(letter["expected"] for letter in dead)
    assert [letter["reason"] for letter in dead][:2] == ["image/png", "status 404"]
    assert dict(counts.skipped) == {"warc_warcinfo": 1, "warc_resource": 1, "warc_revisit": 1}


def test_pages_of_plain_text_are_documents_if_asked_for(tmp_path):
    text = "Größe: 5 €\n  <b> is no markup"
    made = [
        warc("response", http(text.encode("cp1252"), content_type="text/plain; charset=ISO-8859-1")),
        warc("response", http(HTML)),
        warc("response", http(b" ", content_type="text/plain")),
        warc("resource", b"plain", Content_Type="text/plain"),
    ]
    file = save(tmp_path, "a.warc", b"".join(made))
    _, dead, counts = read_all(WarcReader(), file)
    assert [letter["reason"] for letter in dead] == ["text/plain"] * 2 and counts.skipped["warc_resource"] == 1
    rows, dead, _ = read_all(WarcReader(plain_text=True), file)
    assert [(row["text"], row["raw"], row["charset"]) for row in rows] == [
        *[(text, None, None), (None, HTML, None), ("plain", None, None)]
    ]
    assert [letter["kind"] for letter in dead] == ["empty_page"]


def test_positions_are_where_the_records_begin(tmp_path):
    parts = [packed([page(f"page {i}")], "gz") for i in range(5)]
    rows, _, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", b"".join(parts)))
    starts = [sum(map(len, parts[:i])) for i in range(5)]
    assert [row["position"] for row in rows] == starts
    for start, row in zip(starts, rows, strict=True):
        assert row["raw"] in gzip.decompress(b"".join(parts)[start:])
    assert len({row["id"] for row in rows}) == 5


SIZES = st.lists(st.integers(0, 3000), min_size=1, max_size=25)


@pytest.mark.parametrize("how", ["", "gz", "zst", "run", "junk"])
@settings(max_examples=12)
@given(
    sizes=SIZES, target=st.integers(200, 4000), look_back=st.sampled_from([0, 1500, 1 << 20]), seed=st.integers(0, 99)
)
def test_pieces_give_the_same_records_as_one_piece(tmp_path_factory, how, sizes, target, look_back, seed):
    noise = random.Random(seed)
    made = [page(f"{i} " + "".join(noise.choices("abcdefgh \n", k=size))) for i, size in enumerate(sizes)]
    if how == "run":  # one gzip stream in members that end anywhere
        whole_ = b"".join(made)
        cuts = sorted({0, len(whole_), *(noise.randrange(len(whole_)) for _ in range(4))})
        data = b"".join(gzip.compress(whole_[a:b], 1) for a, b in pairwise(cuts))
    elif how == "junk":  # members of which one is damaged
        parts = [packed([record], "gz") for record in made]
        broken = noise.randrange(len(parts))
        parts[broken] = parts[broken][:-6] + b"\0\0" + parts[broken][-4:]
        data = b"".join(parts)
    else:
        data = packed(made, how)
    file = save(tmp_path_factory.mktemp("w"), "a.warc", data)

    def items_of(piece):
        return [
            (type(item), item.offset, getattr(item, "body", None), getattr(item, "reason", None))
            for item in records(piece, 1 << 20, look_back)
        ]

    together = items_of(FilePiece(file, 0, END))
    count = -(-file.size // target)
    cuts = [file.size * i // count for i in range(count)] + [END]
    assert [item for a, b in pairwise(cuts) for item in items_of(FilePiece(file, a, b))] == together
    assert [offset for _, offset, _, _ in together] == sorted({offset for _, offset, _, _ in together})
    if how != "junk":
        assert [body for _, _, body, _ in together] == [record.partition(b"\r\n\r\n")[2][:-4] for record in made]


@pytest.mark.parametrize("how", ["", "gz"])
def test_an_archive_within_a_record_is_not_read_by_the_piece_that_begins_in_it(tmp_path, how):
    inner = packed([page(f"inner {i}") for i in range(40)], how)
    stored = warc("response", http(inner, content_type="application/gzip"))
    outer = [packed([page("before")], how), gzip.compress(stored, 0) if how else stored, packed([page("after")], how)]
    file = save(tmp_path, "a.warc", b"".join(outer))
    rows, dead, _ = read_all(WarcReader(), file, target=1000)
    assert raws(rows) == [b"<html>before</html>", b"<html>after</html>"]
    assert [letter["reason"] for letter in dead] == ["application/gzip"]


def test_split_and_read_through_the_reader_agree(tmp_path):
    file = save(tmp_path, "a.warc.gz", packed([page(f"{i}" * 50) for i in range(60)], "gz"))
    together = read_all(WarcReader(), file)[0]
    assert len(WarcReader().split([file], 500)) > 5
    assert read_all(WarcReader(), file, target=500)[0] == together
    assert sum(piece.size for piece in WarcReader().split([file], 500)) == file.size


def test_a_file_that_ends_too_soon_gives_what_came_before(tmp_path):
    parts = [packed([page(f"page {i} " + "x" * 200)], "gz") for i in range(3)]
    data = b"".join(parts)
    for cut in range(len(data) - len(parts[2]) + 1, len(data)):
        rows, dead, counts = read_all(WarcReader(), save(tmp_path, "a.warc.gz", data[:cut]))
        assert len(rows) >= 2 and counts.faults == len(dead) == 1
        assert dead[0]["kind"] == "truncated" and dead[0]["position"] >= len(data) - len(parts[2])
        assert len(rows) == 2 or dead[0]["position"] > len(data) - len(parts[2])


def test_a_record_shorter_than_its_length_is_not_a_document(tmp_path):
    short = packed([warc("response", http(HTML), length="900"), page("next")], "gz")
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", short))
    assert raws(rows) == [b"<html>next</html>"]
    assert briefly(dead) == [(0, "truncated", False)] and "900 bytes" in dead[0]["reason"]
    assert dead[0]["url"] == "http://made.org/"


@pytest.mark.parametrize("spoil", ["crc", "bits", "header"])
def test_a_damaged_member_costs_its_own_record_only(tmp_path, spoil):
    parts = [packed([page(f"page {i} " + "abc " * 100)], "gz") for i in range(4)]
    bad = bytearray(parts[1])
    if spoil == "crc":
        bad[-8] ^= 1
    elif spoil == "bits":
        bad[len(bad) // 2 : len(bad) // 2 + 8] = b"\xff" * 8
    else:
        bad[0:2] = b"XX"
    where = len(parts[0])
    parts[1] = bytes(bad)
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", b"".join(parts)))
    assert [row["raw"][:12] for row in rows] == [b"<html>page 0", b"<html>page 2", b"<html>page 3"]
    assert briefly(dead) == [(where, "damaged", False)]


def test_a_large_record_whose_checksum_is_wrong_is_not_trusted(tmp_path):
    noise = random.Random(0).randbytes(200_000).hex()
    large = bytearray(packed([page(noise)], "gz"))
    large[-7] ^= 1
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", bytes(large) + packed([page("next")], "gz")))
    assert raws(rows) == [b"<html>next</html>"]
    assert briefly(dead) == [(0, "damaged", False)] and dead[0]["url"] == "http://made.org/" + noise[:20]


def test_addresses_in_angle_brackets_lose_them(tmp_path):
    file = save(tmp_path, "a.warc", warc("response", http(HTML), "<http://made.org/x>"))
    assert [row["url"] for row in read_all(WarcReader(), file)[0]] == ["http://made.org/x"]


def test_a_wrong_length_does_not_swallow_the_records_that_follow(tmp_path):
    data = page("one") + warc("response", http(HTML), length="400") + page("two") + page("three")
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc", data))
    assert raws(rows) == [b"<html>one</html>", b"<html>two</html>", b"<html>three</html>"]
    assert briefly(dead) == [(len(page("one")), "truncated", False)]


def test_junk_between_records_is_said_and_passed_over(tmp_path):
    data = page("one") + b"some junk without sense\r\n" + page("two")
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc", data))
    assert raws(rows) == [b"<html>one</html>", b"<html>two</html>"]
    assert briefly(dead) == [(len(page("one")), "damaged", False)]
    assert "found b'some junk" in dead[0]["reason"]


def test_zeros_and_empty_members_are_padding(tmp_path):
    data = packed([page("one")], "gz") + b"\0" * 700 + gzip.compress(b"") + packed([page("two")], "gz") + b"\0" * 90
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", data))
    assert raws(rows) == [b"<html>one</html>", b"<html>two</html>"] and not dead


@given(data=st.binary(max_size=300), how=st.sampled_from(["", "gz", "magic"]))
@settings(max_examples=60)
def test_any_bytes_are_survived_and_explained(tmp_path_factory, data, how):
    data = gzip.compress(data) if how == "gz" else b"\x1f\x8b\x08" + data if how == "magic" else data
    rows, dead, _ = read_all(WarcReader(), save(tmp_path_factory.mktemp("x"), "a.warc", data))
    assert not rows
    assert dead or how == "gz" or not data.strip(b"\r\n\0")


@example(at=462, byte=4)  # the header of a member then says that what follows is a field of its own
@given(at=st.integers(0, 1200), byte=st.integers(0, 255))
@settings(max_examples=60)
def test_any_changed_byte_is_survived(tmp_path_factory, at, byte):
    data = bytearray(packed([page(f"page {i} " + "text " * 60) for i in range(4)], "gz"))
    data[at % len(data)] = byte
    rows, _, counts = read_all(WarcReader(), save(tmp_path_factory.mktemp("x"), "a.warc.gz", bytes(data)))
    assert len(rows) >= 3
    assert len(rows) == 4 or counts.faults


@pytest.mark.parametrize("how", ["", "gz"])
def test_reads_arc_files(tmp_path, how):
    first = b"1 0 Made\nURL IP-address Archive-date Content-type Archive-length\n\n"
    made = [
        f"filedesc://a.arc 0.0.0.0 20080619093439 text/plain {len(first)}\n".encode() + first + b"\n",
        arc("http://made.org/a b", http(HTML, Transfer_Encoding="chunked")),
        arc("dns:made.org", b"1.2.3.4", "text/dns"),
        arc("http://made.org/c", http(b"x", status=302)),
        arc("http://made.org/d", http(HTML)),
    ]
    file = save(tmp_path, "a.arc", packed(made, how))
    rows, dead, counts = read_all(WarcReader(), file)
    assert [(row["url"], row["date"], row["raw"]) for row in rows] == [
        ("http://made.org/a b", "2008-05-09T19:02:41Z", HTML),
        ("http://made.org/d", "2008-05-09T19:02:41Z", HTML),
    ]
    assert [letter["kind"] for letter in dead] == ["not_html", "http_status"]
    assert dict(counts.skipped) == {"warc_filedesc": 1}
    assert read_all(WarcReader(), file, target=150)[0] == rows


def test_a_zstd_dictionary_at_the_head_of_the_file_is_used(tmp_path):
    made: list[Any] = [page(f"page number {i} of a crawl") for i in range(300)]
    known = zstandard.train_dictionary(2000, made)
    packer = zstandard.ZstdCompressor(dict_data=known)
    frames = b"".join(packer.compress(record) for record in made)
    for content in (known.as_bytes(), zstandard.compress(known.as_bytes())):
        head = b"\x5d\x2a\x4d\x18" + struct.pack("<I", len(content)) + content
        file = save(tmp_path, "a.warc.zst", head + frames)
        assert len(read_all(WarcReader(), file)[0]) == 300
        assert len(read_all(WarcReader(), file, target=4000)[0]) == 300


@pytest.mark.parametrize("how", ["bz2", "xz", "lz4"])
def test_other_compression_is_one_piece(tmp_path, how):
    import bz2
    import lzma

    from fastwarc.stream_io import Lz4Writer

    data = b"".join(page(f"page {i}") for i in range(9))
    if how == "lz4":
        out = io.BytesIO()
        with Lz4Writer(out) as writer:
            writer.write(data)
        data = out.getvalue()
    else:
        data = bz2.compress(data) if how == "bz2" else lzma.compress(data)
    file = save(tmp_path, f"a.warc.{how}", data)
    assert len(WarcReader().split([file], 10)) == 1
    assert len(read_all(WarcReader(), file)[0]) == 9


def test_a_body_beyond_the_limit_is_not_kept_in_memory(tmp_path):
    file = save(tmp_path, "a.warc", page("x" * 50_000) + page("y"))
    first, second = records(FilePiece(file), 1000)
    assert isinstance(first, Record) and len(first.body) == 1000 < first.length
    assert isinstance(second, Record) and second.length == len(second.body)


def test_an_empty_file_is_one_expected_dead_letter(tmp_path):
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc.gz", b""))
    assert not rows and briefly(dead) == [(0, "empty_file", True)]


def test_batches_are_bounded(tmp_path):
    many = save(tmp_path, "many.warc", b"".join(page(str(i)) for i in range(2500)))
    large = save(tmp_path, "large.warc", b"".join(page(f"{i}" + "x" * (3 << 20)) for i in range(7)))
    assert [len(batch) for batch in WarcReader().read(FilePiece(many), "made", ReadCounts())] == [2048, 452]
    assert [len(batch) for batch in WarcReader().read(FilePiece(large), "made", ReadCounts())] == [3, 3, 1]


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=UTF-8", "UTF-8"),
        ('text/html;charset="windows-1251";q=1', "windows-1251"),
        ("text/html", None),
        ("TEXT/HTML ; Charset='koi8-r'", "koi8-r"),
    ],
)
def test_the_charset_is_what_the_header_says(tmp_path, content_type, charset):
    file = save(tmp_path, "a.warc", warc("response", http(HTML, content_type=content_type)))
    assert [row["charset"] for row in read_all(WarcReader(), file)[0]] == [charset]


def test_names_and_finds_every_format():
    markup = ["commoncrawl", "docx", "dolma", "epub", "latex", "mediawiki", "pdf", "redpajama", "stackexchange"]
    assert names() == sorted(
        ["arrow", "code", "csv", "html", "jsonl", "parquet", "text", "warc", "wat", "wet", *markup]
    )
    for name in names():
        reader = find(name)(**({"crawl": "CC-MAIN-2026-25"} if name == "commoncrawl" else {}))
        assert type(reader).__name__ == f"{name.title()}Reader" and all("." in suffix for suffix in reader.suffixes)
    with pytest.raises(RecipeError, match='there is no reader "jsonlines"'):
        find("jsonlines")
    with pytest.raises(RecipeError, match='cannot import the reader "made:Nothing"'):
        find("made:Nothing")


def test_zlib_damage_counts_as_a_fault(tmp_path):
    body = zlib.compress(HTML)
    bad = warc("response", http(b"\x1f\x8b\x08\x00" + body, Content_Encoding="gzip"))
    rows, dead, counts = read_all(WarcReader(), save(tmp_path, "a.warc", bad))
    assert not rows and [letter["kind"] for letter in dead] == ["bad_encoding"] and counts.faults == 1
