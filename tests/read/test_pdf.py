"""PDF: the order of reading, what repeats on every page, words cut at the ends of lines."""

import orjson
import pytest
from reading import briefly, read_all, save

from made_pdf import made_pdf

pytest.importorskip("pypdfium2")

from corpusmill.errors import RecipeError
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
