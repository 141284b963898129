import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.errors import RecipeError
from corpusmill.read._lines import READ_BYTES
from corpusmill.read.html import HtmlReader
from corpusmill.read.text import TextReader, overlaps, strip_gutenberg

BOOK = "The Project Gutenberg EBook of X\n\n*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n\nOnce.\n\nTwice.\n\n"
TAIL = "End of the Project Gutenberg EBook of X\n\n*** END OF THIS PROJECT GUTENBERG EBOOK X ***\n\nLicence\n"


def texts(rows):
    return [row["text"] for row in rows]


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        (b" a\nb\n", {}, " a\nb\n"),
        (b"\xef\xbb\xbfmark", {}, "mark"),
        ("größe".encode("utf-16"), {}, "größe"),
        (b"caf\xe9", {}, "caf\ufffd"),
        (b"caf\xe9", {"charset": "latin-1"}, "café"),
        (gzip.compress(b"packed", mtime=0), {}, "packed"),
        ((BOOK + TAIL).encode(), {"gutenberg": True}, "Once.\n\nTwice."),
    ],
)
def test_a_file_is_a_document(tmp_path, data, options, text):
    rows, dead, _ = read_all(TextReader(**options), save(tmp_path, "a.txt", data), target=2)
    assert texts(rows) == [text] and rows[0]["position"] == 0 and not dead


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (b"", "empty_file", True),
        (b" \n", "empty_text", True),
        (b"x" * 1001, "too_large", True),
        (gzip.compress(b"x", mtime=0)[:-4], "truncated", False),
        (gzip.compress(b"x", mtime=0)[:-8] + b"12345678", "damaged", False),
    ],
)
def test_a_file_that_is_not_a_document_has_a_reason(tmp_path, data, kind, expected):
    for reader in (TextReader(max_mb=0.001), HtmlReader(max_mb=0.001)):
        rows, dead, _ = read_all(reader, save(tmp_path, "a", data))
        assert not rows and briefly(dead) == [
            (0, kind.replace("text", (reader.__class__ is HtmlReader and "page") or "text"), expected)
        ]


def test_an_html_file_is_a_page(tmp_path):
    [row] = read_all(HtmlReader(), save(tmp_path, "a.html", b"<p>caf\xe9"))[0]
    assert row["raw"] == b"<p>caf\xe9" and row["text"] is None and row["charset"] is None


def test_a_separator_splits_a_file(tmp_path):
    data = b"one\n<|endoftext|>\n<|endoftext|>\n two <|end\n<|endoftext|>" + b"x" * 1001 + b"<|endoftext|>last"
    rows, dead, counts = read_all(TextReader(separator="<|endoftext|>", max_mb=0.001), save(tmp_path, "a.txt", data))
    assert [(row["position"], row["text"]) for row in rows] == [
        (0, "one"),
        (data.index(b"\n two"), "two <|end"),
        (data.index(b"last"), "last"),
    ]
    assert briefly(dead) == [(data.index(b"xxx"), "too_large", True)] and dict(counts.skipped) == {"blank": 1}


def test_blank_lines_end_paragraphs(tmp_path):
    data = b"\n\none\nline two\n \t\r\n\n  two\n\nthree"
    rows, _, counts = read_all(TextReader(document="paragraph"), save(tmp_path, "a.txt", data))
    assert [(row["position"], row["text"]) for row in rows] == [
        (2, "one\nline two"),
        (data.index(b"  two"), "two"),
        (data.index(b"three"), "three"),
    ]
    assert dict(counts.skipped) == {"blank": 1}


def test_headings_of_the_first_level_begin_articles(tmp_path):
    data = b" \n = One = \n \n text \n = = Part = = \n more = not this = \n = Two, and = = \n text\n = Three = \n"
    rows, _, _ = read_all(TextReader(document="article"), save(tmp_path, "a.tokens", data))
    assert [text.split("\n")[0].strip() for text in texts(rows)] == ["= One =", "= Three ="]
    assert "= = Part = =" in rows[0]["text"]


def slow_paragraphs(text):
    return [part.strip() for part in re.split(r"\n(?:[ \t\r]*\n)+", "\n" + text + "\n") if part.strip()]


ALPHABET = st.sampled_from(["\n", "\n\n", " \n", "a", "bc d", "\r\n", "<s>", "<", "s>", " = T = \n", "é"])


@settings(max_examples=80)
@given(st.lists(ALPHABET, max_size=40).map("".join), st.integers(1, 30))
@pytest.mark.parametrize("options", [{"document": "paragraph"}, {"document": "article"}, {"separator": "<s>"}])
def test_pieces_give_the_same_records_as_one_piece(tmp_path_factory, options, text, target):
    file = save(tmp_path_factory.mktemp("t"), "a.txt", text.encode())
    together = read_all(TextReader(**options), file)
    apart = read_all(TextReader(**options), file, target=target)
    assert apart[0] == together[0]
    if options == {"document": "paragraph"}:
        assert texts(together[0]) == slow_paragraphs(text)
    if options == {"separator": "<s>"}:
        assert texts(together[0]) == [part.strip() for part in text.split("<s>") if part.strip()]


def test_pieces_agree_across_the_blocks_that_files_are_read_in(tmp_path):
    text = b"<|endoftext|>".join(b"document %d " % i * (i // 8 + 1) for i in range(0, 50_000, 500))
    file = save(tmp_path, "a.txt", text)
    assert file.size > 4 << 20
    reader = TextReader(separator="<|endoftext|>")
    together = texts(read_all(reader, file)[0])
    assert together == [part.decode().strip() for part in text.split(b"<|endoftext|>")]
    assert texts(read_all(reader, file, target=(1 << 20) + 7)[0]) == together


@pytest.mark.parametrize("shift", range(-3, 1))
def test_a_separator_may_lie_across_two_blocks(tmp_path, shift):
    file = save(tmp_path, "a.txt", b"x" * (READ_BYTES + shift) + b"<s>" + b"y" * 9)
    assert [len(text) for text in texts(read_all(TextReader(separator="<s>"), file)[0])] == [READ_BYTES + shift, 9]


def test_a_piece_that_ends_where_a_line_and_a_block_end_takes_no_more(tmp_path):
    file = save(tmp_path, "a.txt", (b"x" * 65_535 + b"\n") * (2 * READ_BYTES // 65_536))
    rows, _, _ = read_all(TextReader(separator="\n"), file, target=READ_BYTES)
    assert [row["position"] for row in rows] == list(range(0, 2 * READ_BYTES, 65_536))


@pytest.mark.parametrize(("separator", "expected"), [(b"<s>", False), (b"\n\n", True), (b"abab", True), (b"ab", False)])
def test_a_separator_that_overlaps_itself_is_not_cut_at(tmp_path, separator, expected):
    assert overlaps(separator) == expected
    pieces = TextReader(separator=separator.decode()).split([save(tmp_path, "a.txt", b"x" * 100)], 10)
    assert len(pieces) == (1 if expected else 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"document": "paragraf"},
            r'must be one of file, paragraph, article, got "paragraf"; did you mean "paragraph"',
        ),
        ({"separator": ""}, "separator must not be empty"),
        ({"separator": "x", "document": "article"}, "replaces"),
        ({"charset": "utf-17"}, 'charset "utf-17" is not known'),
        ({"charset": "utf-16", "separator": "x"}, "can only be read as one document each"),
        ({"max_mb": 0}, "max_mb > 0"),
    ],
)
def test_bad_parameters_fail_when_the_reader_is_made(options, message):
    with pytest.raises(RecipeError, match=message):
        TextReader(**options)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        (BOOK + TAIL, "Once.\n\nTwice."),
        (BOOK, "Once.\n\nTwice."),
        (
            BOOK.replace("THIS", "THE").replace("*** S", "***S").replace("X ***", "X\nLONG TITLE ***") + TAIL,
            "Once.\n\nTwice.",
        ),
        ("No book. End of story.\n", "No book. End of story.\n"),
        (BOOK.replace("Once.", "\n\nProduced by Ann Other\n\n\n\n\nX\n\nby Y") + TAIL, "X\n\nby Y\n\nTwice."),
        (
            BOOK.replace(
                "Once.",
                "E-text prepared by A, B,\nand the Team (http://www.pgdp.net)\n\n"
                "(This file was produced from images\nof a library.)\n\n[Transcribed from the 1897 edition by D]\n\nOnce.",
            ),
            "Once.\n\nTwice.",
        ),
        (
            BOOK.replace("Once.", "Scanned and proofed by C\n\nOnce.\n\nProduced by magic, he rose."),
            "Once.\n\nProduced by magic, he rose.\n\nTwice.",
        ),
        (
            BOOK.replace("Once.", "Produced by nature " + "and time " * 200 + "\n\n"),
            "Produced by nature " + "and time " * 200 + "\n\n\n\nTwice.",
        ),
        ("Produced by hand.\n\nNo book.\n", "Produced by hand.\n\nNo book.\n"),
        ("head\n*END*THE SMALL PRINT! FOR ETEXTS*\nOnce.\nEnd of Project Gutenberg's X\n", "Once."),
    ],
)
def test_what_project_gutenberg_adds_is_taken_away(text, stripped):
    assert strip_gutenberg(text) == stripped
    assert strip_gutenberg(text.replace("\n", "\r\n")) == stripped.replace("\n", "\r\n")
