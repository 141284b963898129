"""PDF: the order of reading, what repeats on every page, words cut at the ends of lines."""

import os
import signal
import sys
import threading
import zlib

import orjson
import pytest
from reading import briefly, read_all, save

from made_pdf import made_pdf

pytest.importorskip("pypdfium2")

from corpusmill.errors import RecipeError
from corpusmill.read import _pdf_process
from corpusmill.read.pdf import PdfReader

FIRST = [
    "The river runs through the whole of the val-",
    "ley, and it comes to the sea in the evening,",
    "where boats wait.",
]
SECOND = ["The second column is read after the first has", "come to its end, as people have always read", "a page."]


def column(x: float, lines: list[str], top: float = 650) -> list[tuple[float, float, str]]:
    return [(x, top - 12 * at, line) for at, line in enumerate(lines)]


def text_of(tmp_path, *pages) -> list[str]:
    rows, dead, _ = read_all(PdfReader(), save(tmp_path, "a.pdf", made_pdf(*pages)))
    assert not dead
    return rows[0]["text"].split("\n")


def test_columns_are_read_one_after_the_other(tmp_path):
    left, right = column(50, FIRST), column(320, SECOND)
    expected = [
        "A title over both columns of the page, as wide as they are together, in one line",
        "The river runs through the whole of the valley, and it comes to the sea in the evening, where boats wait.",
        "The second column is read after the first has come to its end, as people have always read a page.",
    ]
    title = [(50, 700, expected[0])]
    assert text_of(tmp_path, title + left + right) == expected
    mixed = [place for pair in zip(right, left) for place in pair]  # drawn row by row
    assert text_of(tmp_path, mixed + title) == expected


def test_running_heads_and_page_numbers_go_and_paragraphs_go_on(tmp_path):
    pages = [
        [(50, 770, f"Rivers of the World, {number}"), (300, 30, str(number)), *column(50, lines)]
        for number, lines in (
            (1, ["One page ends in the middle of the"]),
            (2, ["sentence of another."]),
            (3, ["Third."]),
        )
    ]
    assert text_of(tmp_path, *pages) == ["One page ends in the middle of the sentence of another.", "Third."]


def test_a_table_keeps_its_rows(tmp_path):
    table = [
        (x, 600 - 14 * row, cell)
        for row, cells in enumerate((("way", "minutes"), ("old", "9"), ("new", "4")))
        for x, cell in zip((50, 200), cells)
    ]
    assert text_of(tmp_path, table) == ["way | minutes", "old | 9", "new | 4"]


def test_a_hyphen_stays_where_the_word_has_one(tmp_path):
    lines = [
        "A well-known way to read is well-",
        "known, by those of the Anglo-",
        "Saxon kind, and of many re-",
        "gions, at C-",
        "speed.",
    ]
    assert text_of(tmp_path, column(50, lines)) == [
        "A well-known way to read is well-known, by those of the Anglo-Saxon kind, and of many regions, at C-speed."
    ]


def test_a_document_says_how_much_of_it_is_text(tmp_path):
    full = column(50, FIRST)
    rows, _, _ = read_all(PdfReader(), save(tmp_path, "a.pdf", made_pdf(full, [], [], title="On rivers")))
    assert orjson.loads(rows[0]["metadata"]) == {
        "needs_ocr": True,
        "pages": 3,
        "pages_without_text": 2,
        "title": "On rivers",
    }
    _, dead, _ = read_all(PdfReader(scans=False), save(tmp_path, "a.pdf", made_pdf(full, [], [])))
    assert briefly(dead) == [(0, "needs_ocr", True)]


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (b"", "empty_file", True),
        (b"no PDF", "damaged", False),
        (made_pdf([]), "needs_ocr", True),
        (made_pdf([], [], []), "too_large", True),
        (made_pdf(column(50, FIRST * 20)) + b" " * 30000, "too_large", True),
    ],
)
def test_what_gives_no_text_is_a_dead_letter(tmp_path, data, kind, expected):
    _, dead, _ = read_all(PdfReader(max_mb=0.02, max_pages=2), save(tmp_path, "a.pdf", data))
    assert briefly(dead) == [(0, kind, expected)]


def test_parameters_are_checked():
    with pytest.raises(RecipeError, match="need max_mb > 0 and max_pages > 0"):
        PdfReader(max_pages=0)


def hostile_pdf(content: bytes, *more: bytes) -> bytes:
    """A page with this content, and the objects from number 6 on."""
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>"
        b"/XObject<</X 6 0 R>>>>>>",
        content, font, *more,
    ]  # fmt: skip
    out, offsets = b"%PDF-1.7\n", []
    for number, part in enumerate(parts, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return out + head % (len(parts) + 1, table, len(parts) + 1, len(out))


def stream(data: bytes, about: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (about, len(data), data)


def forms(depth: int, inner: bytes) -> bytes:
    """A form that draws the next ten times, which draws the next ten times, …"""
    about = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>/XObject<</X %d 0 R>>>>"
    each = [stream(b"/X Do " * 10 if at < depth - 1 else inner, about % (7 + at)) for at in range(depth)]
    return hostile_pdf(stream(b"/X Do " * 10), *each)


def packed(data: bytes) -> bytes:
    return zlib.compress(data, 9)


BOMBS = {
    "forms within forms": lambda: forms(12, b"BT /F1 12 Tf 72 700 Td (lol) Tj ET"),
    "forms that draw nothing": lambda: forms(12, b""),
    "streams within streams": lambda: hostile_pdf(
        stream(packed(packed(bytes(400 << 20))), b"/Filter[/FlateDecode/FlateDecode]")
    ),
    "states that are kept": lambda: hostile_pdf(stream(packed(b"q " * 20_000_000), b"/Filter/FlateDecode")),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system limits no memory")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_document_that_takes_gigabytes_or_does_not_end_is_a_dead_letter(tmp_path, monkeypatch, bomb):
    monkeypatch.setattr(_pdf_process, "MEMORY", 150 << 20)
    monkeypatch.setattr(_pdf_process, "SECONDS", 20)
    good = save(tmp_path, "b.pdf", made_pdf([(50, 700, "The river runs through the valley, and it comes to the sea.")]))
    content = BOMBS[bomb]()
    assert len(content) < 40_000
    resource = pytest.importorskip("resource")
    # Of the largest child so far, of any test, and of this process: a child begins as its copy.
    before = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    rows, dead, _ = read_all(PdfReader(), save(tmp_path, "a.pdf", content), good)
    assert briefly(dead) == [(0, "too_large", True)] and len(rows) == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < before + (500 << 10)  # kilobytes


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_document_is_not_lost_where_somebody_kills_its_parser(number):
    process = _pdf_process.PdfProcess()
    data, settings = made_pdf([(50, 700, "The river runs to the sea.")]), {"max_pages": 10, "scans": True}
    expected = process.answer(data, settings)
    child = process._running()
    child.send_signal(signal.SIGSTOP)  # so that it is killed as it is asked
    for after, sent in ((0.3, number), (0.4, signal.SIGCONT)):
        threading.Timer(after, child.send_signal, [sent]).start()
    assert process.answer(data, settings) == expected and expected.text.startswith("The river")
    assert process._running().pid != child.pid
    process.close()
