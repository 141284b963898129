"""What a page of an archive is: by its bytes, then as the crawl identified it, then as the server said."""

import gzip
import io
import random
import zipfile
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from reading import http, read_all, save, warc

from corpusmill.read import WarcReader
from corpusmill.read._media_types import SIGNATURES, is_noise, media_type

HTML = b"<html><p>The river runs over stones, and nobody knows how old the pier is.</p></html>"
FRAGMENT = b"<div>The river runs over stones.</div>"
NOISE = random.Random(7).randbytes(3000)
BARE = zlib.compressobj(wbits=-15)
DEFLATED = BARE.compress(HTML) + BARE.flush()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.html", HTML)
    return out.getvalue()


def read_one(tmp_path, body, stated="text/html", identified=None, **parameters):
    """What becomes of one page: its raw bytes, or (kind, reason, expected) of its dead letter."""
    fields = {"WARC_Identified_Payload_Type": identified} if identified else {}
    file = save(tmp_path, "a.warc", warc("response", http(body, content_type=stated), **fields))
    rows, dead, _ = read_all(WarcReader(**parameters), file)
    assert len(rows) + len(dead) == 1
    return rows[0]["raw"] or rows[0]["text"] if rows else (dead[0]["kind"], dead[0]["reason"], dead[0]["expected"])


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"\x89PNG\r\n\x1a\n" + NOISE, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF" + NOISE, "image/jpeg"),
        (b"GIF89a" + NOISE, "image/gif"),
        (b"RIFF\1\2\3\4WEBPVP8 " + NOISE, "image/webp"),
        (b"\0\0\0\x20ftypisom" + NOISE, "video/mp4"),
        (b"\0\0\0\x20ftypavif" + NOISE, "image/heif"),
        (b"ID3\4\0\0" + NOISE, "audio/mpeg"),
        (b"\xff\xfb\x90\x64" + NOISE, "audio/mpeg"),
        (b"OggS\0" + NOISE, "application/ogg"),
        (b"%PDF-1.7\nall of it may be text", "application/pdf"),
        (b"{\\rtf1 text}", "application/rtf"),
        (zipped(), "application/zip"),
        (gzip.compress(b"\x89PNG\r\n" + NOISE), "image/png"),
        (b"\x1f\x8b\x08" + NOISE, "application/gzip"),
        (b"BZh91AY&SY" + NOISE, "application/x-bzip2"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + NOISE, "application/x-ole-storage"),
        (b"wOF2" + NOISE, "font/woff"),
        (b"\0\1\0\0" + NOISE, "font/sfnt"),
        (b"Rar!\x1a\7\1\0" + NOISE, "application/vnd.rar"),
        (b"FLV\1" + NOISE, "video/x-flv"),
        (b"\0\0\1\xba" + NOISE, "video/mpeg"),
        (NOISE, "application/octet-stream"),
        (NOISE[:120], "application/octet-stream"),
        (b"\0" * 500, "application/octet-stream"),
    ],
)
@pytest.mark.parametrize("stated", ["text/html", "text/plain", None])
@pytest.mark.parametrize("identified", [None, "text/html"])
def test_bytes_that_are_no_text_are_no_page(tmp_path, body, media, stated, identified):
    kind, reason, expected = read_one(tmp_path, body, stated, identified, plain_text=True)
    assert (kind, expected) == ("not_html", True)
    if not (stated is None and identified is None):
        assert reason == f"{media}, by its bytes"


@pytest.mark.parametrize(
    "body",
    [gzip.compress(HTML), zstandard.compress(HTML), zlib.compress(HTML), DEFLATED, gzip.compress(gzip.compress(HTML))],
)
def test_a_page_that_is_compressed_without_a_word_is_decompressed(tmp_path, body):
    assert read_one(tmp_path, body) == HTML


@pytest.mark.parametrize(
    "text",
    [
        "<p>Die Fähre verläßt den Hafen. größer, schöner",
        "явление тут, у моря, было давно",
        "川は石の上を流れる。" * 20,
        "강물이 돌 위로 흐른다. " * 20,
        "MZ and PK and BM and CWS 12 are letters, GIF87 and ID3 too",
        "a\x0bb" + "The river runs. " * 20,
    ],
)
@pytest.mark.parametrize(
    "charset",
    ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "cp1251", "shift_jis", "iso2022_jp", "euc_kr", "gb18030"],
)
def test_text_in_any_charset_is_a_page(tmp_path, text, charset):
    try:
        body = text.encode(charset)
    except UnicodeEncodeError:
        return
    assert read_one(tmp_path, body, f"text/html; charset={charset}") == body
    if not (charset.startswith("utf-16-") and text[0] in "川강"):
        assert read_one(tmp_path, body) == body


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_no_utf8_text_is_noise(text):
    assert not is_noise(text.encode())


@pytest.mark.parametrize(
    "stated",
    ["text/html charset=utf-8", "*/*", '"text/html"', "text/htm", "application/unknown", "text", "html", "", "None",
     "Content-Type: text/html", "text/html:charset=utf-8", "TEXT/HTML;", "text/html, text/plain", "application/octet-stream"],
)  # fmt: skip
def test_odd_types_are_read_as_they_are_meant(tmp_path, stated):
    assert read_one(tmp_path, HTML, stated) == HTML
    assert read_one(tmp_path, FRAGMENT, stated, "text/html") == FRAGMENT


@pytest.mark.parametrize(
    ("body", "stated", "identified", "is_page"),
    [
        (FRAGMENT, "text/html", None, True),
        (FRAGMENT, "text/html", "application/xhtml+xml", True),
        (FRAGMENT, "text/html", "text/plain", True),  # said of all that is text
        (FRAGMENT, "text/plain", "text/html", True),
        (FRAGMENT, "image/png", "text/html", True),
        (b"p { color: red }", "text/html", "text/css", False),
        (b'{"a": 1}', "text/html", "application/json", False),
        (b"alert(1)", "text/html", "application/javascript", False),
        (HTML, "text/html", "application/json", True),  # bytes and server agree
        (HTML, "application/json", None, False),
        (HTML, "text/plain", None, False),  # a browser shows the source
        (HTML, "text/css", "text/css", False),
        (FRAGMENT, None, None, False),
        (HTML, None, None, True),
    ],
)
def test_bytes_then_the_identified_type_then_the_stated_one(tmp_path, body, stated, identified, is_page):
    outcome = read_one(tmp_path, body, stated, identified)
    assert (outcome == body) is is_page
    if not is_page:
        assert outcome[0] == "not_html" and outcome[2]
        assert outcome[1] == (identified or stated or "no media type is stated, and it does not begin as HTML")


def test_resources_are_pages_by_what_they_are_identified_as(tmp_path):
    made = [
        warc("resource", HTML, Content_Type="text/html charset=utf-8"),
        warc("resource", HTML, Content_Type="application/unknown", WARC_Identified_Payload_Type="text/html"),
        warc("resource", b"a log", Content_Type="text/x-log"),
    ]
    rows, dead, counts = read_all(WarcReader(), save(tmp_path, "a.warc", b"".join(made)))
    assert [row["raw"] for row in rows] == [HTML] * 2 and not dead and counts.skipped["warc_resource"] == 1


def test_every_signature_names_a_type():
    assert all(media_type(media) == media for media in SIGNATURES.values())
