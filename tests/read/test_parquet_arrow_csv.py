"""Parquet, Arrow and CSV: the same rows, whichever holds them."""

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import briefly, read_all, save

from corpusmill.errors import InputError, RecipeError
from corpusmill.read import END, FilePiece
from corpusmill.read.arrow import ArrowReader
from corpusmill.read.csv import CsvReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.schema import document_id
from corpusmill.storage import stat

MADE = pa.table(
    {
        "id": ["a", "b", None, "d", "e"],
        "text": ["The river runs.", None, "Größe", " ", "last"],
        "url": ["http://a", None, "http://c", "http://d", None],
        "date": pa.array([datetime(2024, 5, 1, tzinfo=UTC), None, None, None, None], pa.timestamp("s", "UTC")),
        "meta": [{"n": i} for i in range(5)],
    }
)


def parquet(folder, table, rows=2):
    pq.write_table(table, folder / "a.parquet", row_group_size=rows)
    return ParquetReader, stat(str(folder / "a.parquet"))


def ipc(folder, table, rows=2):
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as file:
        file.write_table(table, rows)
    return ArrowReader, stat(str(folder / "a.arrow"))


def stream(folder, table, rows=2):
    with pa.ipc.new_stream(str(folder / "s.arrow"), table.schema) as file:
        file.write_table(table, rows)
    return ArrowReader, stat(str(folder / "s.arrow"))


formats = pytest.mark.parametrize("write", [parquet, ipc, stream])


@formats
@pytest.mark.parametrize(
    "columns, advice",
    [
        (
            {"text": [["a", "b"]]},
            "Write the text of each record, such as its messages, into a column of its own first.",
        ),
        ({"text": [{"n": 1, "body": "b"}]}, "Name the field with the text: text: text.body."),
        ({"messages": [[{"content": "b"}]]}, "None holds text. Write the text of each record"),
        ({"data": [{"n": 1, "body": "b"}]}, "for example `text: data.body`"),
        ({"n": [1], "blob": [b"b"]}, "for example `text: blob`"),
    ],
)
def test_a_text_in_a_list_or_a_struct_is_answered_with_what_to_do(tmp_path, write, columns, advice):
    reader, file = write(tmp_path, pa.table(columns))
    with pytest.raises(InputError, match=re.escape(advice)):
        reader().split([file], 1000)


@formats
def test_rows_are_documents_with_their_row_number_as_position(tmp_path, write):
    reader, file = write(tmp_path, MADE)
    rows, dead, _ = read_all(reader(), file)
    assert [(row["position"], row["text"]) for row in rows] == [(0, "The river runs."), (2, "Größe"), (4, "last")]
    assert briefly(dead) == [(1, "empty_text", True), (3, "empty_text", True)]
    assert dead[0]["reason"] == "the text is null" and dead[1]["url"] == "http://d"
    assert rows[0]["date"] == "2024-05-01T00:00:00Z"
    assert rows[0]["id"] == document_id("made", "a")
    assert rows[1]["id"] == document_id("made", f"{file.name}:2")
    assert rows[0]["metadata"] == '{"id":"a","meta":{"n":0}}'


@formats
def test_pieces_give_the_same_records_as_one_piece(tmp_path, write):
    table = pa.table({"text": [f"text {i} " * 50 for i in range(100)], "n": list(range(100))})
    reader, file = write(tmp_path, table, 7)
    together = read_all(reader(), file)[0]
    pieces = reader().split([file], 800)
    assert len(pieces) > 3 and [piece.start for piece in pieces[1:]] == [piece.stop for piece in pieces[:-1]]
    assert len(together) == 100 and read_all(reader(), file, target=800)[0] == together


@formats
def test_columns_are_kept_as_asked(tmp_path, write):
    reader, file = write(tmp_path, MADE.slice(0, 1))
    assert read_all(reader(keep=[]), file)[0][0]["metadata"] is None
    assert read_all(reader(keep=["meta"]), file)[0][0]["metadata"] == '{"meta":{"n":0}}'


def test_parquet_reads_no_column_that_it_does_not_need(tmp_path):
    _, file = parquet(tmp_path, pa.table({"text": ["a"] * 500, "fat": [str(i) * 50 for i in range(500)]}))
    bare = bytearray(Path(file.path).read_bytes())
    column = pq.read_metadata(file.path).row_group(0).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    bare[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    spoilt = save(tmp_path, "b.parquet", bytes(bare))
    assert len(read_all(ParquetReader(keep=()), spoilt)[0]) == 500
    rows, dead, _ = read_all(ParquetReader(), spoilt)
    assert len(rows) == 498 and briefly(dead) == [(0, "damaged", False)]
    assert "row group 0 is damaged, rows 0 to 1 are lost" in dead[0]["reason"]


@formats
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "txet"}, r'no column "txet" for the text; did you mean "text"\? It has: id, text, url, date, meta\.'),
        ({"text": "id", "url": "uri"}, 'no column "uri" for the url'),
        (
            {"text": "meta"},
            r'the column "meta" holds struct.* Write the text of each record, such as its messages, into',
        ),
        ({"text": "date"}, r'the column "date" holds timestamp.*, not text\. Columns with text: id, text, url\.'),
    ],
)
def test_a_wrong_column_is_an_input_error(tmp_path, write, options, message):
    reader, file = write(tmp_path, MADE)
    with pytest.raises(InputError, match=message):
        reader(**options).split([file], 1000)
    with pytest.raises(InputError, match=message):
        read_all(reader(**options), file, file)


@formats
def test_a_file_without_text_is_an_input_error_even_after_a_good_one(tmp_path, write):
    (tmp_path / "x").mkdir()
    reader, good = write(tmp_path, MADE)
    _, bad = write(tmp_path / "x", pa.table({"prose": ["x"]}))
    with pytest.raises(InputError, match=r"none of its columns is called text.*It has: prose\."):
        list(reader().read(FilePiece(bad, 0, END), "made", read_all(reader(), good)[2]))


@pytest.mark.parametrize("reader", [ParquetReader, ArrowReader])
def test_a_damaged_file_is_one_fault_and_no_crash(tmp_path, reader):
    _, good = parquet(tmp_path, MADE) if reader is ParquetReader else ipc(tmp_path, MADE)
    data = Path(good.path).read_bytes()
    for number, spoilt in enumerate([data[:-9], data[: len(data) // 2], b"rubbish"]):
        file = save(tmp_path, f"bad{number}", spoilt)
        rows, dead, counts = read_all(reader(), file)
        # Of an Arrow file without its end all batches are there, and are read as a stream.
        most = 3 if reader is ArrowReader and number == 0 else 2
        assert counts.faults >= 1 and len(rows) <= most
        assert {letter["kind"] for letter in dead if not letter["expected"]} <= {"damaged", "no_text"}
    assert read_all(reader(), save(tmp_path, "empty", b""))[1][0]["kind"] == "empty_file"


def test_strings_that_are_no_utf8_get_replacement_characters(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"caf\xe9"], pa.binary()).buffers())
    for write in (parquet, ipc):
        reader, file = write(tmp_path, pa.table({"text": bad, "n": [1]}))
        rows, dead, _ = read_all(reader(), file)
        assert [row["text"] for row in rows] == ["caf\ufffd"] and not dead


def test_dictionary_encoded_text_is_text(tmp_path):
    reader, file = ipc(tmp_path, pa.table({"text": pa.array(["a", "b", "a"]).dictionary_encode()}))
    assert [row["text"] for row in read_all(reader(), file)[0]] == ["a", "b", "a"]


CSV = b'\xef\xbb\xbfid,text,url\r\n1,"two\nlines, ""quoted""",http://a\r\n\r\n2,caf\xe9,\r\n3,short\r\n4,,\r\n5,last,x\r\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_csv_rows_are_documents(tmp_path, pack):
    rows, dead, counts = read_all(CsvReader(), save(tmp_path, "a.csv", pack(CSV)))
    assert [(row["position"], row["text"]) for row in rows] == [
        (0, 'two\nlines, "quoted"'),
        (2, "caf\ufffd"),
        (5, "last"),
    ]
    assert rows[0]["url"] == "http://a" and rows[0]["metadata"] == '{"id":"1"}'
    assert briefly(dead) == [(3, "bad_row", False), (4, "empty_text", True)]
    assert dead[0]["reason"].startswith("the row has 2 fields, the header 3")
    assert dict(counts.skipped) == {"blank_line": 1}


def test_tsv_by_name_and_other_delimiters_by_parameter(tmp_path):
    for name, data, reader in [
        ("a.tsv", b"n\ttext\n1\ta,b\n", CsvReader()),
        ("a.csv", b"n;text\n1;a,b\n", CsvReader(delimiter=";")),
    ]:
        assert [row["text"] for row in read_all(reader, save(tmp_path, name, data))[0]] == ["a,b"]
    with pytest.raises(RecipeError, match="one character"):
        CsvReader(delimiter=";;")


def test_csv_fields_may_be_long(tmp_path):
    rows, _, _ = read_all(CsvReader(), save(tmp_path, "a.csv", b"text\n" + b"x" * 300_000 + b"\n"))
    assert [len(row["text"]) for row in rows] == [300_000]


def test_a_csv_without_the_column_or_cut_off(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv, header: none of its columns.*It has: x, y\."):
        CsvReader().split([save(tmp_path, "a.csv", b"x,y\n1,2\n")], 9)
    data = gzip.compress(b"text\n" + b"".join(b"row %d\n" % (i * 7919 % 10007) for i in range(30_000)))
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "b.csv.gz", data[:-2000]))
    assert rows and briefly(dead) == [(len(rows), "truncated", False)]


@formats
@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())], ids=str
)
def test_a_column_of_bytes_that_is_named_is_read_as_utf8(tmp_path, write, kind):
    if write is parquet and pa.types.is_binary_view(kind):
        kind = pa.binary()
    values = ["Größe".encode(), "Größe".encode("latin-1"), None, b"", b" \n", "\U0001f600 川".encode()]
    table = pa.table(
        {
            "body": pa.array(values, pa.binary()).cast(kind) if not pa.types.is_dictionary(kind)
            else pa.array(values, pa.binary()).dictionary_encode(),
            "id": pa.array([b"a", b"b", b"c", b"d", b"e", b"\xff"], pa.binary()),
            "url": pa.array([f"http://{n}".encode() for n in range(6)], pa.binary()),
            "date": pa.array([b"2024/05/01"] * 6, pa.binary()),
        }
    )  # fmt: skip
    reader, file = write(tmp_path, table)
    rows, dead, _ = read_all(reader(text="body"), file)
    assert [(row["position"], row["text"], row["url"], row["date"]) for row in rows] == [
        (0, "Größe", "http://0", "2024-05-01"),
        (5, "\U0001f600 川", "http://5", "2024-05-01"),
    ]
    assert [row["id"] for row in rows] == [document_id("made", "a"), document_id("made", f"{file.name}:5")]
    assert briefly(dead) == [
        (1, "bad_encoding", False), (2, "empty_text", True), (3, "empty_text", True), (4, "empty_text", True),
    ]  # fmt: skip
    assert dead[0]["url"] == "http://1" and "holds bytes that are not UTF-8: b'Gr\\xf6" in dead[0]["reason"]


@formats
def test_a_column_of_bytes_that_is_not_named_says_how_to_read_it(tmp_path, write):
    reader, file = write(tmp_path, pa.table({"text": pa.array([b"a"], pa.binary())}))
    with pytest.raises(InputError, match=r'"text" holds binary, not text.* as UTF-8, name it: text: text\.'):
        read_all(reader(), file)
    pages = read_all(reader(html="text"), file)[0]
    assert [page["raw"] for page in pages] == [b"a"]
