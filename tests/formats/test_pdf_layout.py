"""From lines with places to paragraphs in the order of reading."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.pdf_layout import PdfLine, PdfPage, blocks, document_text, joined, running_heads

WIDTH, HEIGHT, SIZE = 600.0, 800.0, 10.0


def line(text: str, x: float, y: float, width: float = 200.0) -> PdfLine:
    """A line whose foot is `y` points above the foot of the page."""
    return PdfLine(x, y, x + width, y + SIZE, text)


def page(*lines: PdfLine) -> PdfPage:
    return PdfPage(WIDTH, HEIGHT, list(lines))


def column(texts: list[str], x: float = 100.0, top: float = 600.0, width: float = 200.0) -> list[PdfLine]:
    return [line(text, x, top - 12 * number, width) for number, text in enumerate(texts)]


def test_lines_of_a_paragraph_are_one_line():
    assert document_text([page(*column(["The ferry left", "the harbour", "at night."]))]) == (
        "The ferry left the harbour at night."
    )


def test_white_between_lines_parts_paragraphs():
    lines = [*column(["First part."], top=600), *column(["Second part."], top=560)]
    assert document_text([page(*lines)]) == "First part.\nSecond part."


def test_columns_are_read_one_after_the_other():
    left = column(["left one and more of it", "left two and more of it", "left three and more of it."], x=50)
    right = column(["right one and more of it", "right two and more of it", "right three and more of it."], x=350)
    mixed = [part for pair in zip(left, right) for part in pair]
    assert document_text([page(*mixed)]) == (
        "left one and more of it left two and more of it left three and more of it.\n"
        "right one and more of it right two and more of it right three and more of it."
    )


def test_a_title_above_columns_comes_first():
    title = line("The title over both columns", 50, 680, 500)
    left = column(["left one and more of it", "left two and more of it."], x=50)
    right = column(["right one and more of it", "right two and more of it."], x=350)
    text = document_text([page(title, *[part for pair in zip(left, right) for part in pair])])
    assert text.split("\n")[0] == "The title over both columns"
    assert text.index("left two") < text.index("right one")


def test_short_pieces_on_common_lines_are_the_rows_of_a_table():
    rows = [("Name", "Age"), ("Ada", "36"), ("Alan", "41")]
    lines = [
        part for number, (a, b) in enumerate(rows) for part in (line(a, 50, 600 - 12 * number, 40), line(b, 300, 600 - 12 * number, 40))
    ]  # fmt: skip
    assert document_text([page(*lines)]) == "Name | Age\nAda | 36\nAlan | 41"


def test_running_heads_and_page_numbers_go():
    pages = [
        page(line(f"Journal of ferries, page {n}", 100, 780), line(str(n), 300, 20, 10), *column([f"Text {n}."]))
        for n in range(1, 5)
    ]
    assert running_heads(pages) == {"journalofferries,page#", "#"}
    assert document_text(pages) == "Text 1.\nText 2.\nText 3.\nText 4."


def test_what_stands_at_the_edge_of_few_pages_stays():
    pages = [page(line("A heading", 100, 780), *column(["One."])), page(*column(["Two."]))]
    assert document_text(pages) == "A heading\nOne.\nTwo."


@pytest.mark.parametrize("number", ["7", "- 7 -", "vii", "Page 7", "Seite 7 von 9", "p. 7", "7/9"])
def test_a_number_at_the_foot_goes_even_on_one_page(number):
    assert document_text([page(*column(["Text."]), line(number, 300, 20, 20))]) == "Text."


def test_a_sentence_goes_on_on_the_next_page():
    pages = [page(*column(["The ferry left the"])), page(*column(["old harbour."]))]
    assert document_text(pages) == "The ferry left the old harbour."
    pages = [page(*column(["The ferry left."])), page(*column(["old harbours are."]))]
    assert document_text(pages) == "The ferry left.\nold harbours are."


@pytest.mark.parametrize(
    ("before", "after", "words", "expected"),
    [
        ("the har-", "bour", set(), "the harbour"),
        ("a well-", "known fact", {"well-known"}, "a well-known fact"),
        ("at C-", "speed", set(), "at C-speed"),
        ("the Baltic-", "North route", set(), "the Baltic-North route"),
        ("pages 1-", "2", set(), "pages 1-2"),
        ("he said -", "and left", set(), "he said - and left"),
        ("soft\u00ad", "ware", set(), "software"),
        ("plain", "words", set(), "plain words"),
        ("", "a", set(), " a"),
    ],
)
def test_hyphens_at_the_ends_of_lines(before, after, words, expected):
    assert joined(before, after, words) == expected


def test_a_word_that_the_document_has_with_its_hyphen_keeps_it():
    lines = [*column(["A well-known line."], top=700), *column(["It is a well-", "known fact."], top=600)]
    assert document_text([page(*lines)]) == "A well-known line.\nIt is a well-known fact."


def test_signs_of_hyphens_do_not_stay_in_the_text():
    assert document_text([page(*column(["a\u00adb c\u2010d e\ufffef."]))]) == "ab c-d e-f."


@pytest.mark.parametrize("pages", [[], [page()], [page(), page()]])
def test_pages_without_lines_have_no_text(pages):
    assert document_text(pages) == ""
    assert running_heads(pages) == set()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 780), st.integers(0, 300), st.integers(0, 30)), max_size=14)
)
def test_every_line_is_in_one_block_wherever_it_stands(places):
    lines = [
        PdfLine(float(x), float(y), float(x + width), float(y + height), f"w{number}")
        for number, (x, y, width, height) in enumerate(places)
    ]
    cut = blocks(list(lines))
    assert sorted(one.text for block in cut for one in block) == sorted(one.text for one in lines)
    assert all(cut)
    document_text([PdfPage(WIDTH, HEIGHT, lines)])
