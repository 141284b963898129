"""Text and tables where nothing is a terminal: widths, folding, cutting."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.cli.terminal import (
    CUT_MARK,
    DEFAULT_WIDTH,
    MAX_PROSE_WIDTH,
    MIN_CELL_WIDTH,
    NBSP,
    cell_width,
    first_few,
    fits,
    folded,
    heading,
    line_width,
    lines_of,
    paint,
    print_lines,
    print_table,
    prose,
    refolded,
    terminal,
)

CELLS = st.text("ab文 ", max_size=30).map(str.strip)


@pytest.fixture(autouse=True)
def no_columns():
    os.environ.pop("COLUMNS", None)
    yield
    os.environ.pop("COLUMNS", None)


def wide(text: str) -> int:
    """Columns of a terminal, character by character."""
    return sum(2 if character == "文" else 1 for character in text)


@given(CELLS)
def test_the_width_of_a_cell_is_that_of_its_characters(text):
    assert cell_width(text) == wide(text)


@pytest.mark.parametrize(
    ("columns", "line", "words"),
    [(None, None, DEFAULT_WIDTH), ("50", 50, 50), ("300", 300, MAX_PROSE_WIDTH), ("nonsense", None, DEFAULT_WIDTH)],
)
def test_the_width_is_that_of_the_environment(monkeypatch, columns, line, words):
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert (line_width(), prose()) == (line, words)


@given(st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=40), st.integers(0, 8))
def test_a_folded_text_has_all_its_words_in_order(texts, indent):
    lines = folded(" ".join(texts), " " * indent, "  " + " " * indent)
    assert " ".join(lines).split() == texts
    assert all(len(line) <= DEFAULT_WIDTH for line in lines)
    assert all(line.startswith(" " * indent) for line in lines)


def test_a_word_that_is_too_long_is_not_broken():
    path = "/data/" + "x" * 150
    assert folded(f"see {path} for it") == ["see", path, "for it"]


def test_a_tie_holds_words_together():
    words = [f"name{NBSP}{n:03}" for n in range(40)]
    lines = folded(" ".join(words))
    assert len(lines) > 1 and all(line.startswith("name ") and line[-3:].isdigit() for line in lines)
    assert NBSP not in "".join(lines)


def test_nothing_is_no_line():
    assert folded("") == [] and folded("   ") == []


def test_a_deep_indent_leaves_some_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    assert folded("one two three", " " * 30) == [" " * 30 + "one two three"]


def test_only_prose_is_folded_again(monkeypatch):
    text = "A sentence that is too long for the line.\n\n    code that is longer than the whole line\n\n- a list, too long, too"
    assert refolded(text) == text, "where nothing limits a line"
    monkeypatch.setenv("COLUMNS", "30")
    prose_block, code, listed = refolded(text).split("\n\n")
    assert prose_block.split("\n") == ["A sentence that is too long", "for the line."]
    assert code.startswith("    code") and "\n" not in code and listed.startswith("- a list") and "\n" not in listed
    assert refolded("") == ""


def test_lines_that_are_aligned_are_left_alone_in_a_file(capsys):
    print_lines("a" * 300 + "\n  | b")
    assert capsys.readouterr().out == "a" * 300 + "\n  | b\n"


def test_a_heading_stands_below_an_empty_line(capsys):
    heading("tokens")
    assert capsys.readouterr().out == "\ntokens\n"


def test_there_is_no_terminal_and_no_colour_here():
    assert terminal() is None and paint("kept", "green") == "kept" and paint("", "red") == ""


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6), st.sets(st.integers(0, 2)))
def test_columns_are_aligned_as_a_slow_twin_says(rows, left):
    widths = [max(wide(row[i]) for row in rows) for i in range(3)]
    slow = []
    for row in rows:
        cells = []
        for i, text in enumerate(row):
            spaces = " " * (widths[i] - wide(text))
            cells.append(text + spaces if i in left else spaces + text)
        slow.append("  ".join(cells).rstrip())
    assert lines_of(rows, left) == slow


def printed(capsys, *arguments, **settings) -> list[str]:
    print_table(*arguments, **settings)
    return capsys.readouterr().out.splitlines()


HEAD = ("name", "count", "note")
ROWS = [("a-name-that-is-long", "12", "x"), ("b", "3", "yy")]


@pytest.mark.parametrize("width", [200, 36, 33, 30, 25])
def test_a_table_is_as_wide_as_there_is_room(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys, HEAD, ROWS)
    assert max(map(len, lines)) <= max(width, MIN_CELL_WIDTH + len("  count  note"))
    assert [line.split()[-2:] for line in lines] == [["count", "note"], ["12", "x"], ["3", "yy"]]
    assert (CUT_MARK in lines[1]) == (width < len("a-name-that-is-long  count  note"))


def test_a_cell_is_not_cut_below_its_least(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "5")
    name = printed(capsys, HEAD, ROWS)[1].split()[0]
    assert len(name) == MIN_CELL_WIDTH and name.endswith(CUT_MARK) and "a-name-that-is-long".startswith(name[:-1])


def test_columns_are_left_out_in_the_order_that_is_given(capsys, monkeypatch):
    row = [("a", "b" * 10, "c" * 10, "d" * 10)]
    head = ("A", "B", "C", "D")
    heads = {}
    for width in (60, 30, 20, 10):
        monkeypatch.setenv("COLUMNS", str(width))
        heads[width] = "".join(printed(capsys, head, row, leave_out=(2, 1, 3))[0].split())
    assert heads == {60: "ABCD", 30: "ABD", 20: "AD", 10: "A"}


def test_a_column_of_nothing_is_left_out_and_the_first_never(capsys):
    assert printed(capsys, ("", "b", "c"), [("", "", "1"), ("", "", "2")]) == ["  c", "  1", "  2"]
    assert printed(capsys, ("a", "b"), []) == ["a  b"], "a table without rows has its head"


def test_notes_are_below_their_rows_and_indented(capsys):
    lines = printed(capsys, ("a",), [("1",), ("2",), ("3",)], notes=["of one", ""], indent="  ")
    assert lines == ["  a", "  1", "      of one", "  2", "  3"]


@pytest.mark.parametrize(("width", "expected"), [(None, True), ("32", True), ("25", True), ("24", False)])
def test_a_table_fits_if_texts_may_be_cut(monkeypatch, width, expected):
    if width:
        monkeypatch.setenv("COLUMNS", width)
    assert fits(HEAD, ROWS, (0,)) == expected


def test_numbers_are_never_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert not fits(("n",), [("1" * 30,)], ())


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=12), st.integers(1, 8))
def test_the_first_items_and_the_number_of_the_others(items, limit):
    text = first_few(items, limit)
    names, _, others = text.partition(" and ")
    shown = names.split(", ") if names else []
    assert shown == items[:limit]
    assert (int(others.removesuffix(" more")) if others else 0) == max(0, len(items) - limit)


def test_a_large_number_of_others_has_commas():
    assert first_few(["a"] * 12_345, 2) == "a, a and 12,343 more"
    assert first_few([], 3) == ""
