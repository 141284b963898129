import gzip
import tracemalloc
import zlib

import pytest
import zstandard
from fastwarc.stream_io import BrotliWriter
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.read import _http

PAGE = b"<html>" + b"The river runs. " * 50 + b"</html>"


def body(data: bytes, limit: int = 1 << 20, **fields: str) -> bytes:
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    response = _http.parse(b"HTTP/1.1 200 OK\r\n" + head.encode() + b"\r\n" + data)
    assert response is not None
    return _http.content(response, limit)


def chunked(data: bytes, size: int = 100) -> bytes:
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def brotli(data: bytes) -> bytes:
    import io

    out = io.BytesIO()
    with BrotliWriter(out) as writer:
        writer.write(data)
    return out.getvalue()


BARE = zlib.compressobj(wbits=-15)
DEFLATED = BARE.compress(PAGE) + BARE.flush()


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("x-gzip", gzip.compress(PAGE[:99]) + gzip.compress(PAGE[99:])),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", DEFLATED),
        ("br", brotli(PAGE)),
        ("zstd", zstandard.compress(PAGE)),
        ("gzip, gzip", gzip.compress(gzip.compress(PAGE))),
        ("identity", PAGE),
        ("nonsense", PAGE),
    ],
)
def test_a_content_coding_is_undone(coding, data):
    assert body(data, Content_Encoding=coding) == PAGE
    assert body(chunked(data), Content_Encoding=coding, Transfer_Encoding="chunked") == PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_coding_that_the_archive_has_undone_already_is_let_be(coding):
    assert body(PAGE, Content_Encoding=coding, Transfer_Encoding="chunked") == PAGE


@pytest.mark.parametrize(
    ("coding", "data"), [("gzip", gzip.compress(PAGE)), ("br", brotli(PAGE)), ("zstd", zstandard.compress(PAGE))]
)
def test_a_page_that_inflates_beyond_the_limit_is_refused(coding, data):
    assert body(data, len(PAGE), Content_Encoding=coding) == PAGE
    with pytest.raises(_http.BodyTooLarge):
        body(data, len(PAGE) - 1, Content_Encoding=coding)


def test_a_bomb_is_refused_before_it_goes_off():
    bomb = gzip.compress(b"0" * (20 << 20))
    tracemalloc.start()
    with pytest.raises(_http.BodyTooLarge, match="more than 1000 bytes"):
        body(bomb, 1000, Content_Encoding="gzip")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 << 20


def test_a_body_that_was_cut_gives_what_it_holds():
    data = gzip.compress(PAGE, 0)[:-100]
    assert body(data, Content_Encoding="gzip") == PAGE[: len(data) - 15]
    held = body(chunked(PAGE)[:-30], Transfer_Encoding="chunked")
    assert PAGE.startswith(held) and len(PAGE) - 30 <= len(held) < len(PAGE)


def test_damage_is_an_error():
    with pytest.raises(_http.BadEncoding, match="the compressed body is damaged"):
        body(b"\x1f\x8b\x08\x00" + b"\xff" * 40, Content_Encoding="gzip")
    with pytest.raises(_http.BadEncoding, match="no chunk size at byte 5"):
        body(b"2\r\nab\r\nrubbish", Transfer_Encoding="chunked")


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8))
def test_dechunking_undoes_chunking(parts):
    data = b"".join(parts)
    assert _http.dechunk(b"".join(b"%X\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n") == data


def test_reads_heads_as_servers_write_them():
    response = _http.parse(b"HTTP/1.0 404\nA: 1\nb:2\na:  3 \nno colon\n\nbody")
    assert response == _http.Response(404, {"a": "1, 3", "b": "2"}, b"body")
    assert _http.parse(b"HTTP/2 200 \r\nA: 1") == _http.Response(200, {"a": "1"}, b"")
    assert _http.parse(b"<html>") is None
