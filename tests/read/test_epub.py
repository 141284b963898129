"""Books: their spine, what they say of themselves, and archives that are made to hurt."""

import io
import zipfile

import pytest
from reading import briefly, read_all, save

from corpusmill.errors import RecipeError
from corpusmill.read.epub import EpubReader
from corpusmill.steps.extract.blocks import Blocks
from growth import assert_linear

CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
PACKAGE = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE package>
<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>Two
 rivers</dc:title><dc:creator>A. Writer</dc:creator><dc:language>en</dc:language></metadata>
<manifest><item id="b" href="two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/><item id="s" href="s.css" media-type="text/css"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/><itemref idref="c" linear="no"/><itemref idref="x"/></spine>
</package>"""
PAGES = {
    "OPS/a.xhtml": "<html><head><title>x</title></head><body class='y'><h1>One</h1><p>The first.</p></body></html>",
    "OPS/two b.xhtml": "<html><body><p>Zwölf Uhr.</p></body></html>",
    "OPS/c.xhtml": "<html><body>aside</body></html>",
    "OPS/nav.xhtml": "<html><body>contents</body></html>",
}


def book(**changed: str | bytes | None) -> bytes:
    members: dict[str, str | bytes] = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}
    members |= {"OPS/book.opf": PACKAGE, **PAGES}
    members |= {name: content for name, content in changed.items() if content is not None}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if changed.get(name, "") is not None:
                archive.writestr(name, content)
    return out.getvalue()


def test_a_book_is_its_pages_in_the_order_of_the_spine(tmp_path):
    rows, dead, _ = read_all(EpubReader(), save(tmp_path, "a.epub", book()))
    assert not dead and rows[0]["metadata"] == '{"creator":"A. Writer","language":"en","title":"Two rivers"}'
    assert rows[0]["raw"].decode() == (
        "<html><head><title>Two rivers</title></head><body><h1>One</h1><p>The first.</p>\n<p>Zwölf Uhr.</p></body></html>"
    )
    text = Blocks(favour="all", markup="markdown").page_text(rows[0]["raw"], "utf-8")
    assert text == "# One\n\nThe first.\n\nZwölf Uhr."


def test_a_chapter_may_be_a_document(tmp_path):
    rows, _, _ = read_all(EpubReader(document="chapter"), save(tmp_path, "a.epub", book()))
    assert [row["position"] for row in rows] == [0, 1] and b"first" in rows[0]["raw"] and b"Uhr" in rows[1]["raw"]
    assert '"chapter":2,"chapter_file":"OPS/two b.xhtml"' in rows[1]["metadata"]


SECRET = '<encryption><CipherReference URI="OPS/{}"/></encryption>'
GROWS = '<!DOCTYPE a [<!ENTITY b "ccc">]>' + CONTAINER


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (b"", "empty_file", True),
        (b"no archive", "damaged", False),
        (book()[:-30], "damaged", False),
        (book(**{"META-INF/container.xml": None}), "not_epub", False),
        (book(**{"META-INF/container.xml": "<container/>"}), "not_epub", False),
        (book(**{"META-INF/container.xml": GROWS}), "bad_xml", False),
        (book(**{"META-INF/container.xml": GROWS.encode("utf-16")}), "bad_xml", False),
        (book(**{"OPS/book.opf": "<package>"}), "bad_xml", False),
        (book(**{"OPS/book.opf": "<package/>"}), "empty_page", True),
        (book(**{"META-INF/encryption.xml": SECRET.format("a.xhtml")}), "encrypted", True),
        (book(**{"OPS/a.xhtml": bytes(30 << 20)}), "too_large", True),
    ],
)
def test_what_is_no_book_is_a_dead_letter(tmp_path, data, kind, expected):
    _, dead, _ = read_all(EpubReader(max_mb=1), save(tmp_path, "a.epub", data))
    assert briefly(dead) == [(0, kind, expected)]


def test_encrypted_fonts_do_not_matter_and_parameters_are_checked(tmp_path):
    data = book(**{"META-INF/encryption.xml": SECRET.format("font.otf")})
    assert len(read_all(EpubReader(), save(tmp_path, "a.epub", data))[0]) == 1
    with pytest.raises(RecipeError, match='document must be one of book, chapter, got "boek"; did you mean "book"'):
        EpubReader(document="boek")  # type: ignore[arg-type]


def long_book(spine: str, body: str, title: str = "t") -> bytes:
    package = (
        f"<package><metadata><title>{title}</title></metadata><manifest>"
        f'<item id="a" href="a.xhtml" media-type="text/html"/></manifest><spine>{spine}</spine></package>'
    )
    return book(**{"OPS/book.opf": package, "OPS/a.xhtml": body})


@pytest.mark.parametrize(
    "make",
    [
        lambda size: long_book('<itemref idref="a"/>', "<body>" * (size // 6)),
        lambda size: long_book('<itemref idref="a"/>', "<body>" + "</body " * (size // 7)),
        lambda size: long_book('<itemref idref="a"/>', "<body></body>" * (size // 13)),
        lambda size: long_book('<itemref idref="a"/>', "<body" + " " * size),
        lambda size: long_book('<itemref idref="a"/>' * (size // 40), "<body>a</body>", "t" * size),
    ],
)
@pytest.mark.parametrize("document", ["book", "chapter"])
def test_hostile_books_take_linear_time(tmp_path, document, make):
    assert_linear(lambda data: read_all(EpubReader(document=document), save(tmp_path, "a.epub", data)), make, 1 << 16)


def test_a_body_is_from_its_first_beginning_to_its_last_end(tmp_path):
    body = "x<body a='1'>one<body>two</body>three</BODY >four"
    rows, _, _ = read_all(EpubReader(), save(tmp_path, "a.epub", long_book('<itemref idref="a"/>', body)))
    assert b"<body>one<body>two</body>three</body>" in rows[0]["raw"]
