"""Records that are strange and well-formed, or nearly: each is a document or a dead letter, and no reader raises."""

import csv
import io
import json
import os
import re
import sys
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.errors import InputError, RecipeError
from corpusmill.read._columns import Roles
from corpusmill.read._values import _plain, numbered, to_python
from corpusmill.read.arrow import ArrowReader
from corpusmill.read.csv import CsvReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.read.text import TextReader
from corpusmill.schema import document_id
from corpusmill.storage import stat

many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def deep(depth: int, more: str = "") -> bytes:
    return f'{{"text": "a", "deep": {"[" * depth}{"]" * depth}{more}}}'.encode()


def kinds(dead) -> list[str]:
    return [letter["kind"] for letter in dead]


# ------------------------------------------------------------------ JSON lines


@pytest.mark.parametrize(("depth", "kind"), [(200, None), (300, "too_deep"), (2000, "too_deep"), (100_000, "too_deep")])
@pytest.mark.parametrize("more", ["", ', "n": NaN'])
def test_a_deep_column_costs_one_record(tmp_path, depth, kind, more):
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", deep(depth, more) + b'\n{"text": "b"}\n'))
    assert [row["text"] for row in rows] == (["b"] if kind else ["a", "b"])
    assert kinds(dead) == [kind] * bool(kind)


def test_what_is_kept_as_metadata_can_be_written_inside_of_a_record(tmp_path):
    for depth in range(248, 256):
        file = save(tmp_path, "a.jsonl", deep(depth))
        for row in read_all(JsonlReader(), file)[0]:
            orjson.dumps({"metadata": orjson.loads(row["metadata"])})


def test_a_deep_column_that_is_not_kept_does_no_harm(tmp_path):
    file = save(tmp_path, "a.jsonl", deep(500))
    assert len(read_all(JsonlReader(keep=()), file)[0]) == 1


def test_json_lines_that_end_with_carriage_returns(tmp_path):
    data = b'{"text": "a"}\r{"text": "b"}\r\r{"text": NaN}\r{"text": "c"}\r'
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", data))
    assert [(row["position"], row["text"]) for row in rows] == [(0, "a"), (14, "b"), (43, "c")]
    assert briefly(dead) == [(29, "empty_text", True)]


def test_a_byte_order_mark_before_any_line(tmp_path):
    part = '{"text": "a"}\n{"text": "b"}\n'.encode("utf-8-sig")
    assert [row["text"] for row in read_all(JsonlReader(), save(tmp_path, "a.jsonl", part + part))[0]] == ["a", "b"] * 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf16_with_a_mark_is_read_whole(tmp_path, encoding):
    texts = [f"größer {number} \u4e2d\u0a0d \U0001f600" for number in range(2000)]
    data = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode(encoding)
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", data), target=1000)
    assert [row["text"] for row in rows] == texts and not dead


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_named(tmp_path, encoding):
    name = f"{encoding[:6]}{encoding[7:]}".upper()
    good = save(tmp_path, "a.jsonl", b'{"text": "a"}\n')
    bad = save(tmp_path, "b.jsonl", '{"text": "a"}\n{"text": "b"}\n'.encode(encoding))
    rows, dead, _ = read_all(JsonlReader(), good, bad)
    assert len(rows) == 1 and kinds(dead) == ["bad_encoding"]
    assert f"iconv -f {name} -t UTF-8 b.jsonl" in dead[0]["reason"]
    with pytest.raises(InputError, match=f"seems to be {name}"):
        JsonlReader().split([bad], 1000)
    table = save(tmp_path, "b.csv", "id,text\n1,a\n".encode(encoding))
    with pytest.raises(InputError, match=f"seems to be {name}"):
        CsvReader().split([table], 1000)
    texts = save(tmp_path, "b.txt", "Some words of text.\n".encode(encoding))
    for reader in (TextReader(), TextReader(document="paragraph")):
        rows, dead, _ = read_all(reader, texts)
        assert not rows and kinds(dead) == ["bad_encoding"]
    assert read_all(TextReader(charset=encoding), texts)[0][0]["text"] == "Some words of text.\n"


def test_paragraphs_of_utf16_are_one_dead_letter(tmp_path):
    file = save(tmp_path, "a.txt", "One.\n\nTwo.\n".encode("utf-16"))
    assert kinds(read_all(TextReader(document="paragraph"), file, target=4)[1]) == ["bad_encoding"]
    assert read_all(TextReader(), file)[0][0]["text"] == "One.\n\nTwo.\n"


def test_whole_numbers_of_any_size_are_numbers(tmp_path):
    row = b'{"text": "a", "n": [%d, %d, -%s], "x": "\\ud800"}' % (2**64 - 1, 2**64, b"9" * 5000)
    [row] = read_all(JsonlReader(), save(tmp_path, "a.jsonl", row))[0]
    assert row["metadata"] == '{"n":[18446744073709551615,1.8446744073709552e+19,null],"x":"\ufffd"}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800") | st.just(2**70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["text", "content", "id", "url", "date", "metadata", "x", "\ud83d", ""])


@many
@given(st.lists(st.dictionaries(NAMES, JSON) | JSON | st.binary(max_size=30), max_size=8), st.booleans())
def test_any_json_is_a_document_or_a_dead_letter(tmp_path, records, readable):
    lines = [
        record.replace(b"\n", b"") if isinstance(record, bytes) else json.dumps(record, ensure_ascii=True).encode()
        for record in records
    ]
    ending = b"\n" if readable else b"\r"
    file = save(tmp_path, "a.jsonl", b'{"text": "first"}\n' + ending.join(lines))
    rows, _, counts = read_all(JsonlReader(charset="utf-8"), file)
    if readable:
        assert counts.records == 1 + len([*lines[:-1], *filter(None, lines[-1:])])
    for row in rows:
        orjson.loads(row["metadata"] or "{}")


# ------------------------------------------------------------------ CSV


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (b"id,text\n1,a\rb\n2,c\n", ["a\rb", "c"]),
        (b"id,text\r\n1,a\rb\r\n2,c\r\n", ["a\rb", "c"]),
        (b"id,text\r1,a\r2,c\r", ["a", "c"]),
        (b'id,text\r1,"a\rb"\r2,"c\nd"\r', ["a\rb", "c\nd"]),
        (b"id,text\r1,a\n2,b\r\n3,c", ["a", "b", "c"]),
        (b'"i\rd",text\n1,a\r\n', ["a"]),
        (b'id,text\n1,"a\rb"\n2,"c\r\nd"\n', ["a\rb", "c\r\nd"]),
        (b"id,text\n1,a\0b\n\0,c\n", ["a\0b", "c"]),
        (b"id,text\n1,a\r\r\n", ["a\r"]),
        ("id,text\n1,größer\n".encode("utf-16"), ["größer"]),
        ("id,text\r1,größer\r".encode("utf-16"), ["größer"]),
    ],
)
def test_csv_with_carriage_returns_and_other_odd_bytes(tmp_path, data, texts):
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "a.csv", data))
    assert [row["text"] for row in rows] == texts and not dead


def test_a_quotation_mark_that_is_not_closed_costs_the_rest_and_says_how_much(tmp_path):
    data = b'id,text\n1,a\n2,"two\nlines"\n3,"b\n4,c\n5,d\n'
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "a.csv", data))
    assert [row["text"] for row in rows] == ["a", "two\nlines"]
    assert briefly(dead) == [(2, "bad_row", False)]
    assert dead[0]["reason"] == (
        "a quotation mark opens a field in line 5 of the file, and none closes it: 3 lines are lost"
    )
    with pytest.raises(InputError, match=r"a\.csv, header: a quotation mark opens a name"):
        CsvReader().split([save(tmp_path, "a.csv", b'id,"text\n1,a\n')], 10)


def test_a_csv_of_a_header_alone_holds_nothing_and_loses_nothing(tmp_path):
    rows, dead, _ = read_all(CsvReader(), save(tmp_path, "a.csv", b"id,text\n"))
    assert not rows and not dead
    _, dead, _ = read_all(CsvReader(), save(tmp_path, "b.csv", b'id,text\n1,"a\n'))
    assert dead[0]["reason"].startswith("a quotation mark opens a field in line 2 of the file")


@pytest.mark.parametrize(
    "row, advice",
    [
        ({"id": "a", "Text": "b"}, "for example `text: Text`"),
        ({"id": "a", " text": "b"}, "for example `text: ' text'`"),
        ({"id": "a", "data": {"text": "b"}}, "for example `text: data.text`"),
        ({"id": "a", "story": "b"}, "for example `text: story`"),
        ({"id": "a", "messages": [{"content": "b"}]}, "None holds text. Write the text of each record"),
        ({"word " * 99: "b"}, "the first line must be the names of the columns"),
    ],
)
def test_the_column_that_is_likely_the_text_is_named(row, advice):
    with pytest.raises(InputError, match=re.escape(advice)) as caught:
        Roles().check(row, "a.jsonl", row)
    assert len(str(caught.value)) < 400


def test_csv_columns_of_one_name(tmp_path):
    file = save(tmp_path, "a.csv", b"tag,text,tag\nx,a,y\n")
    assert read_all(CsvReader(), file)[0][0]["metadata"] == '{"tag":"x","tag_1":"y"}'
    with pytest.raises(InputError, match='2 columns are called "text"'):
        CsvReader().split([save(tmp_path, "a.csv", b"text,text\na,b\n")], 10)
    with pytest.raises(RecipeError, match="delimiter cannot be"):
        CsvReader(delimiter='"')


@many
@given(st.lists(st.lists(st.text(), min_size=1, max_size=4), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_csv_file_is_read_as_pythons_writer_wrote_it(tmp_path, rows, ending):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerows([["text", "b"], *rows])
    file = save(tmp_path, "a.csv", out.getvalue().encode("utf-8", "replace"))
    found, _, _ = read_all(CsvReader(), file)
    texts = [row[0].encode("utf-8", "replace").decode() for row in rows if len(row) == 2]
    assert [row["text"] for row in found] == [text for text in texts if text and not text.isspace()]


@many
@given(st.text(alphabet='a,"\r\n\0\ufeff \t', max_size=60))
def test_any_text_is_a_csv_file(tmp_path, text):
    read_all(CsvReader(), save(tmp_path, "a.csv", f"text,b\n{text}".encode()))
    with suppress(InputError):  # the header
        read_all(CsvReader(), save(tmp_path, "a.csv", f"text{text}".encode()))


# ------------------------------------------------------------------ Arrow and Parquet


def table_of(kind: pa.DataType, values) -> pa.Table:
    return pa.table({"text": [f"t{number}" for number in range(len(values))], "x": pa.array(values, kind)})


def shown(tmp_path: Path, table: pa.Table) -> list[str]:
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table)
    rows, dead, _ = read_all(ArrowReader(), stat(str(tmp_path / "a.arrow")))
    assert not dead and len(rows) == table.num_rows
    return [json.dumps(json.loads(row["metadata"])["x"]) for row in rows]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.timestamp("ns"), [1, 1000, None], ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000001", None]),
        (pa.timestamp("ns", "UTC"), [1, -1], ["1970-01-01T00:00:00.000000001+00:00", "1969-12-31T23:59:59.999999999+00:00"]),
        (pa.timestamp("s"), [0, 10**12, -(10**12)], ["1970-01-01T00:00:00", "+33658-09-27T01:46:40", "-29719-04-05T22:13:20"]),
        (pa.timestamp("us", "Nowhere/Land"), [0], ["1970-01-01T00:00:00+00:00"]),
        (pa.timestamp("ms", "Europe/Berlin"), [0], ["1970-01-01T01:00:00+01:00"]),
        (pa.date32(), [0, 10_000_000], ["1970-01-01", "+29349-01-26"]),
        (pa.time64("ns"), [1, 1000], ["00:00:00.000000001", "00:00:00.000001"]),
        (pa.duration("ns"), [86_400 * 10**9 + 1, -1], ["1 day, 0:00:00.000000001", "-1 day, 23:59:59.999999999"]),
        (pa.duration("s"), [3600, 10**15], ["1:00:00", "11574074074 days, 1:46:40"]),
        (pa.decimal128(9, 2), [Decimal("1.10")], ["1.10"]),
        (pa.month_day_nano_interval(), [(1, 2, 3)], ["MonthDayNano(months=1, days=2, nanoseconds=3)"]),
        (pa.float16(), [1.5], [1.5]),
        (pa.float64(), [float("nan"), float("-inf")], [None, None]),
        (pa.binary(), [b"caf\xe9"], ["caf\ufffd"]),
        (pa.map_(pa.string(), pa.timestamp("ns")), [[("k", 1)]], [[["k", "1970-01-01T00:00:00.000000001"]]]),
        (pa.list_(pa.struct([("a", pa.timestamp("ns"))])), [[{"a": 1}, None]], [[{"a": "1970-01-01T00:00:00.000000001"}, None]]),
        (pa.uuid(), [bytes(16)], ["00000000-0000-0000-0000-000000000000"]),
        (pa.uint64(), [2**64 - 1], [2**64 - 1]),
    ],
    ids=str,
)  # fmt: skip
def test_every_type_of_arrow_is_something_stable_in_json(tmp_path, kind, values, expected):
    assert shown(tmp_path, table_of(kind, values)) == [json.dumps(value) for value in expected]


def test_unions_runs_and_fields_of_one_name(tmp_path):
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([7]), pa.array(["s"])]
    )
    assert shown(tmp_path, pa.table({"text": ["a", "b"], "x": union})) == ["7", '"s"']
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], [3, None])
    assert shown(tmp_path, pa.table({"text": ["a", "b"], "x": runs})) == ["3", "null"]
    shared = pa.array([1], pa.timestamp("ns")).dictionary_encode()
    assert shown(tmp_path, pa.table({"text": ["a"], "x": shared})) == ['"1970-01-01T00:00:00.000000001"']
    flag = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))
    assert shown(tmp_path, pa.table({"text": ["a"], "x": flag})) == ["true"]
    beyond = pa.array([10**18], pa.int64()).view(pa.time64("us"))
    assert shown(tmp_path, pa.table({"text": ["a"], "x": beyond})) == ['"01:46:40"']
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert shown(tmp_path, pa.table({"text": ["a"], "x": twice})) == ['{"a": 1, "a_1": 2}']


@pytest.mark.parametrize("reader", [ArrowReader, ParquetReader])
def test_columns_of_one_name(tmp_path, reader):
    def made(names):
        table = pa.table([["t"], ["x"], ["y"], ["z"]], names=names)
        path = tmp_path / "a"
        if reader is ParquetReader:
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as file:
                file.write_table(table)
        return stat(str(path))

    [row] = read_all(reader(), made(["text", "tag", "tag", "tag_1"]))[0]
    assert row["metadata"] == '{"tag":"x","tag_1":"z","tag_2":"y"}'
    [row] = read_all(reader(keep=["tag_2"]), made(["text", "tag", "tag", "tag_1"]))[0]
    assert row["metadata"] == '{"tag_2":"y"}'
    for options in ({}, {"text": "text"}):
        with pytest.raises(InputError, match='2 columns are called "text"'):
            reader(**options).split([made(["text", "text", "a", "b"])], 100)
    [row] = read_all(reader(), made(["text", "x", "x", "b"]))[0]
    assert row["metadata"] == '{"b":"z","x":"x","x_1":"y"}'


def test_names_are_numbered_apart():
    assert numbered(["a", "a", "a_1", "a", ""]) == ["a", "a_2", "a_1", "a_3", ""]


UNITS = st.sampled_from(["s", "ms", "us", "ns"])
FLAT = st.one_of(
    st.sampled_from(
        [
            *(
                pa.null(),
                pa.bool_(),
                pa.int8(),
                pa.uint64(),
                pa.float16(),
                pa.float64(),
                pa.string(),
                pa.large_string(),
            ),
            *(pa.string_view(), pa.binary(), pa.binary_view(), pa.binary(3), pa.date32(), pa.date64(), pa.uuid()),
            *(
                pa.decimal128(38, 7),
                pa.decimal256(76, -3),
                pa.month_day_nano_interval(),
                pa.time32("s"),
                pa.time64("ns"),
            ),
            pa.bool8(),
        ]
    ),
    st.builds(pa.timestamp, UNITS, st.sampled_from([None, "UTC", "Europe/Amsterdam", "+07:30", "No/Where"])),
    st.builds(pa.duration, UNITS),
)
TYPES = st.recursive(
    FLAT,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(pa.list_view),
        st.builds(pa.list_, inner, st.integers(0, 3)),
        st.lists(st.tuples(st.sampled_from("abc"), inner), max_size=3).map(pa.struct),
        st.builds(pa.map_, st.just(pa.string()), inner),
    ),
    max_leaves=4,
)


def arrays(kind: pa.DataType, size: int) -> st.SearchStrategy[pa.Array]:
    """Arrays of a type whose flat values are any bits."""
    valid = st.lists(st.booleans(), min_size=size, max_size=size).map(lambda bits: pa.array(bits, pa.bool_()))
    if pa.types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return st.tuples(*(arrays(field.type, size) for field in fields)).map(
            lambda parts: pa.StructArray.from_arrays(parts, fields=fields) if parts else pa.array([{}] * size, kind)
        )
    if pa.types.is_fixed_size_list(kind):
        return arrays(kind.value_type, size * kind.list_size).map(
            lambda part: pa.Array.from_buffers(kind, size, [None], children=[part])
        )
    if pa.types.is_map(kind):
        return arrays(kind.item_type, size).map(
            lambda part: pa.MapArray.from_arrays(pa.array(range(size + 1), pa.int32()), ["k"] * size, part)
        )
    if pa.types.is_list_view(kind):
        return arrays(kind.value_type, size).map(
            lambda part: pa.ListViewArray.from_arrays([0] * size, list(range(size)), part)
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        new = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
        return arrays(kind.value_type, size).map(lambda part: new.from_arrays([0, *range(size)], part))
    if pa.types.is_null(kind):
        return st.just(pa.nulls(size))
    if isinstance(kind, pa.BaseExtensionType):
        return arrays(kind.storage_type, size).map(lambda part: pa.ExtensionArray.from_storage(kind, part))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return st.lists(st.none() | st.text(), min_size=size, max_size=size).map(
            lambda values: pa.array([v if v is None else v.encode("utf-8", "replace").decode() for v in values], kind)
        )
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return st.lists(st.none() | st.binary(), min_size=size, max_size=size).map(lambda v: pa.array(v, kind))
    width = max(kind.bit_width * size, 8) // 8 + 8
    return st.tuples(st.binary(min_size=width, max_size=width), valid).map(
        lambda parts: pa.Array.from_buffers(kind, size, [parts[1].buffers()[1], pa.py_buffer(parts[0])])
    )


@many
@given(st.data())
def test_any_table_of_arrow_is_read(tmp_path, data):
    size = data.draw(st.integers(1, 4))
    columns = [data.draw(arrays(data.draw(TYPES), size)) for _ in range(data.draw(st.integers(1, 3)))]
    names = data.draw(
        st.lists(st.sampled_from(["x", "y", "url", "date", "id"]), min_size=len(columns), max_size=len(columns))
    )
    table = pa.table([[f"t{number}" for number in range(size)], *columns], names=["text", *names])
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table)
    rows, dead, _ = read_all(ArrowReader(), stat(str(tmp_path / "a.arrow")))
    assert len(rows) == size and not dead
    for row in rows:
        orjson.loads(row["metadata"] or "{}")


@many
@given(st.data())
def test_values_are_the_same_one_by_one(data):
    kind = data.draw(TYPES.filter(lambda kind: "ns" not in str(kind)))
    column = data.draw(arrays(kind, 3))
    try:
        expected = column.to_pylist()
    except Exception:
        return
    assert repr([_plain(value) for value in column]) == repr(expected) == repr(to_python(column))


def test_dates_of_arrow_are_dates_of_documents(tmp_path):
    table = pa.table({"text": ["a", "b"], "date": pa.array([1, 10**9], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "a.parquet")
    rows = read_all(ParquetReader(), stat(str(tmp_path / "a.parquet")))[0]
    assert [row["date"] for row in rows] == ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:01"]


def test_python_agrees_on_ordinary_times():
    values = [datetime(2024, 5, 1, 12), date(2024, 5, 1), timedelta(1)]
    assert [to_python(pa.array([value]))[0] for value in values] == values


# ------------------------------------------------------------------ names of files


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_utf8_is_read_like_any_other(tmp_path):
    table = pa.table({"text": ["a"]})
    names = [os.fsdecode(b"caf\xe9"), os.fsdecode(b"caf\xff")]
    ids = set()
    for name in names:
        pq.write_table(table, tmp_path / "plain")
        for reader, suffix, data in (
            (ParquetReader(), ".parquet", (tmp_path / "plain").read_bytes()),
            (JsonlReader(), ".jsonl", b'{"text": "a"}\nbad\n'),
            (CsvReader(), ".csv", b"text\na\n"),
            (ArrowReader(), ".arrow", _ipc(table)),
        ):
            rows, dead, _ = read_all(reader, save(tmp_path, f"{name}{suffix}", data))
            assert rows[0]["file"].endswith(f"caf\\x{name.encode('utf-8', 'surrogateescape')[-1]:02x}{suffix}")
            assert rows[0]["id"] == document_id("made", f"{name}{suffix}:0")
            assert all(letter["file"] == rows[0]["file"] for letter in dead)
            ids.add(rows[0]["id"])
    assert len(ids) == 8


def _ipc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue()
