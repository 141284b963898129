"""The delimiter of a CSV file is found out, and what is read by it is what Python's csv module reads when it is told."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import read_all, save

from corpusmill.errors import InputError
from corpusmill.read.csv import CsvReader

USUAL = [",", ";", "\t", "|"]
fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@st.composite
def tables(draw):
    """(rows, delimiter, how they are quoted): a header of names and rows of texts that may hold any delimiter."""
    width = draw(st.integers(2, 5))
    names = ["text", *(f"c{number}" for number in range(1, width))]
    rows = draw(st.lists(st.lists(fields, min_size=width, max_size=width), max_size=6))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    return [names, *rows], draw(st.sampled_from(USUAL)), quoting


@given(tables(), st.sampled_from(["a.csv", "a.tsv"]))
def test_what_is_found_out_reads_as_what_was_written(tmp_path_factory, table, name):
    rows, delimiter, quoting = table
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, quoting=quoting).writerows(rows)
    file = save(tmp_path_factory.mktemp("d"), name, written.getvalue().encode())
    found, _, _ = read_all(CsvReader(), file)
    told, _, _ = read_all(CsvReader(delimiter=delimiter), file)
    assert found == told
    texts = [row[0] for row in csv.reader(io.StringIO(written.getvalue(), newline=""), delimiter=delimiter)][1:]
    assert [row["text"] for row in found] == [text for text in texts if text and not text.isspace()]


@pytest.mark.parametrize(
    "name, data, said",
    [
        ("a.csv", b"id,text\n1,a;b\n", '","'),
        ("a.csv", b"id;text\n1;a, b\n2;c\n", '";"'),
        ("a.tsv", b"id\ttext\n1\ta, b\n", '"\\t"'),
        ("a.tsv", b"id,text\n1,a\n", '","'),
        ("a.csv", b"id|text\n1|a, b; c\n", '"|"'),
        ("a.csv", b"text\na, b; c\n", '","'),  # one column
        ("a.csv", b"id,text;more\n1,a;x\n", '","'),  # both would do: what the name says
        ("a.csv", b"id,of;text\n1;a, b, c\n2;c\n", '";"'),  # the header divides both ways, the rows by one
        ("a.csv", b'id;text\n1;"a\n,b"\n', '";"'),
        ("a.csv", "id;text\n1;a\n".encode("utf-16"), '";"'),
    ],
)
def test_which_delimiter_is_found(tmp_path, name, data, said):
    file = save(tmp_path, name, data)
    assert CsvReader().describe(file) == f"fields separated by {said}"


def test_each_file_has_its_own(tmp_path):
    files = [save(tmp_path, "a.csv", b"id;text\n1;one\n"), save(tmp_path, "b.csv", b"id,text\n1,two\n")]
    rows, _, _ = read_all(CsvReader(), *files)
    assert [row["text"] for row in rows] == ["one", "two"]


def test_a_header_that_is_one_column_is_not_suggested(tmp_path):
    file = save(tmp_path, "a.csv", b"Nr.;Der Text;Sprache\n1;x;de\n")
    with pytest.raises(InputError, match='it seems to be separated by ";": write delimiter: ";"'):
        read_all(CsvReader(delimiter=","), file)
    with pytest.raises(InputError, match=r"It has: Nr\., Der Text, Sprache"):
        read_all(CsvReader(), file)
