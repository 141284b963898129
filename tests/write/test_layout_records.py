"""The records of other programs' layouts, one by one: fields at their places, signals as spans."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError, ShardError
from corpusmill.write import DclmWriter, DocumentTokens, DolmaWriter, MegatronWriter, OlmoWriter, RedpajamaWriter
from corpusmill.write.megatron import read_index


def dclm(tmp_path, batch, **settings):
    DclmWriter(**settings).write([batch], tmp_path / "a")
    data = zstandard.ZstdDecompressor().stream_reader((tmp_path / "a").read_bytes()).read()
    return [json.loads(line) for line in data.splitlines()]


def dolma(tmp_path, batch, **settings):
    DolmaWriter(**settings).write([batch], tmp_path / "a")
    return [json.loads(line) for line in gzip.decompress((tmp_path / "a").read_bytes()).splitlines()]


def test_dclm_gives_back_the_fields_at_their_own_places(tmp_path):
    about = {"metadata": {"WARC-Record-ID": "<1>", "Content-Length": 7}, "warcinfo": "x", "url": "old"}
    batch = docs("new", url=["http://a.org"], date=["2020-01-02"], metadata=[json.dumps(about)])
    (record,) = dclm(tmp_path, batch)
    assert record == {
        "metadata": {"WARC-Record-ID": "<1>", "Content-Length": 7, "WARC-Date": "2020-01-02"},
        "warcinfo": "x",
        "url": "http://a.org",
        "text": "new",
    }


@pytest.mark.parametrize(
    ("about", "date", "expected"),
    [
        (None, None, {"id", "text", "url"}),
        ('{"id": "7"}', None, {"id", "text", "url"}),
        ('{"metadata": {"k": 1}}', "2020", {"metadata", "id", "date", "text", "url"}),
        ('{"metadata": {"WARC-Date": "2019"}}', "2020", {"metadata", "id", "date", "text", "url"}),
        ('{"metadata": "text"}', "2020", {"metadata", "id", "date", "text", "url"}),
    ],
)
def test_dclm_has_an_id_and_a_date_where_the_input_has_none(tmp_path, about, date, expected):
    (record,) = dclm(tmp_path, docs("a", date=[date], metadata=[about]))
    assert set(record) == expected
    if about and '"id"' in about:
        assert record["id"] == "7"


def test_dclm_writes_signals_as_fields(tmp_path):
    batch = docs("a").append_column("q.score", pa.array([0.5])).append_column("q.label", pa.array(["x"]))
    (record,) = dclm(tmp_path, batch, signals=["q.s*"])
    assert record["q.score"] == 0.5 and "q.label" not in record


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({}, {}),
        ({"id": "x"}, {"id": "x"}),
        ({"id": 7}, {"id": 7}),
        ({"source": "own", "version": "v1"}, {"source": "own", "version": "v1"}),
        ({"source": 7}, {}),
        ({"metadata": {"k": 1}, "own": 2}, {"metadata": {"k": 1}, "own": 2}),
        ({"metadata": "text", "own": 2}, {"metadata": {"metadata": "text", "own": 2}}),
        ({"own": 2}, {"metadata": {"own": 2}}),
        ({"attributes": {"documents": {"t": []}, "tagger": {}}}, {"attributes": {"t": []}}),
        ({"attributes": 7}, {}),
    ],
)
def test_dolma_puts_fields_where_dolma_has_them(tmp_path, about, expected):
    batch = docs("a", metadata=[json.dumps(about)])
    (record,) = dolma(tmp_path, batch)
    plain = {"id": batch["id"][0].as_py(), "text": "a", "source": "made"}
    assert record == plain | expected


def spans(tmp_path, text, name, values, pattern="*"):
    batch = docs(text).append_column(name, values)
    writer = DolmaWriter(signals=(pattern,))
    documents, attributes = tmp_path / "d", tmp_path / "s"
    writer.write_files([batch], dict(zip(writer.places, (documents, attributes))), "0")
    return json.loads(gzip.decompress(attributes.read_bytes()))["attributes"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3]), {"corpusmill__a__b": [[0, 5, 3]]}),
        (pa.array([0.25]), {"corpusmill__a__b": [[0, 5, 0.25]]}),
        (pa.array([True]), {"corpusmill__a__b": [[0, 5, 1.0]]}),
        (pa.array(["en-GB x"]), {"corpusmill__a__b__en-GB_x": [[0, 5, 1.0]]}),
        (pa.array([None], pa.float64()), {"corpusmill__a__b": []}),
        (pa.array([float("nan")]), {"corpusmill__a__b": []}),
        (pa.array([float("inf")]), {"corpusmill__a__b": []}),
        (
            pa.array([[{"kind": "mail", "start": 0, "end": 2}, {"kind": "mail", "start": 3, "end": 6}]]),
            {"corpusmill__a__b__mail": [[0, 1, 1.0], [2, 5, 1.0]]},  # bytes as characters
        ),
    ],
)
def test_signals_are_spans_of_the_text(tmp_path, values, expected):
    assert spans(tmp_path, "é bcd", "a.b", values) == expected


@pytest.mark.parametrize("span", [(0, 1), (0, 99), (4, 2)])
def test_spans_of_another_text_are_an_error_that_says_what_to_do(tmp_path, span):
    values = pa.array([[{"kind": "mail", "start": span[0], "end": span[1]}]])
    with pytest.raises(RecipeError, match=r"signals: a\.b are spans of another text: .* Leave them out, or find them"):
        spans(tmp_path, "é bcd", "a.b", values)


def test_a_signal_that_no_span_can_hold_is_refused(tmp_path):
    with pytest.raises(RecipeError, match=r"signals: a\.b holds list<.*, and a span has a number; leave it out"):
        spans(tmp_path, "text", "a.b", pa.array([[1, 2]]))


def test_redpajama_counts_the_text_that_it_writes(tmp_path):
    writer = RedpajamaWriter()
    batch = docs("a\nb\n", url=["http://a.example.org:80/x"], metadata=['{"id": "own", "length": 99, "title": "T"}'])
    files = dict(zip(writer.places, (tmp_path / "d", tmp_path / "s")))
    writer.write_files([batch], files, "part ü")
    record = json.loads(gzip.decompress((tmp_path / "d").read_bytes()))
    assert (record["id"], record["length"], record["nlines"], record["title"]) == ("own", 4, 3, "T")
    assert record["source_domain"] == "a.example.org" and record["digest"].startswith("sha1:")
    signals = json.loads(gzip.decompress((tmp_path / "s").read_bytes()))
    assert signals["id"] == "part ü.json.gz/0" and signals["metadata"]["cc_net_source"] == "part ü.json.gz"


def test_a_url_that_is_none_has_no_domain(tmp_path):
    RedpajamaWriter().write([docs("a", "b", url=["http://[x", None])], tmp_path / "a")
    records = [json.loads(line) for line in gzip.decompress((tmp_path / "a").read_bytes()).splitlines()]
    assert [record["source_domain"] for record in records] == ["", ""]


@settings(max_examples=40, deadline=None)
@given(
    parts=st.lists(st.lists(st.lists(st.integers(0, 65_535), min_size=1, max_size=6), max_size=4), max_size=3),
    wide=st.booleans(),
)
def test_olmo_and_megatron_hold_the_same_documents(tmp_path_factory, parts, wide):
    folder = tmp_path_factory.mktemp("tokens")
    dtype = np.uint32 if wide else np.uint16

    def tokens():
        return (
            DocumentTokens(np.array([i for d in part for i in d], dtype), np.array([len(d) for d in part], np.int64))
            for part in parts
        )

    documents = [document for part in parts for document in part]
    olmo = {suffix: folder / f"o{suffix}" for suffix in OlmoWriter.suffixes}
    megatron = {suffix: folder / f"m{suffix}" for suffix in MegatronWriter.suffixes}
    facts = OlmoWriter().write_tokens(tokens(), olmo)
    assert facts.rows == len(documents) == MegatronWriter().write_tokens(tokens(), megatron).rows
    ids = np.fromfile(olmo[".npy"], "<u4" if wide else "<u2")
    table = list(csv.reader(io.StringIO(gzip.decompress(olmo[".csv.gz"].read_bytes()).decode("ascii"))))
    assert [ids[int(row[0]) : int(row[1])].tolist() for row in table] == documents
    assert [(row[2], row[3], int(row[4])) for row in table] == [("", "", n) for n in range(len(documents))]
    index = read_index(megatron[".idx"])
    flat = np.fromfile(megatron[".bin"], index.dtype)
    starts = index.pointers // index.dtype.itemsize
    assert [flat[a : a + n].tolist() for a, n in zip(starts, index.lengths)] == documents


def test_an_index_of_megatron_that_is_damaged_says_how(tmp_path):
    files = {suffix: tmp_path / f"m{suffix}" for suffix in MegatronWriter.suffixes}
    MegatronWriter().write_tokens([DocumentTokens(np.array([1, 2, 3], np.uint16), np.array([1, 2]))], files)
    data = files[".idx"].read_bytes()
    for damaged, message in [
        (b"", r"m\.idx: begins with b'', not b'MMIDIDX"),
        (data[:33], "it is not an index of Megatron-LM"),
        (b"X" + data[1:], "begins with b'XMIDIDX"),
        (data[:9] + b"\2" + data[10:], "version 2 and type 8; known are version 1, types 4 and 8"),
        (data[:17] + b"\6" + data[18:], "version 1 and type 6"),
        (data[:-1], rf"has {len(data) - 1} bytes, its header says {len(data)}; it was cut\. Copy it again"),
        (data + b"\0", f"has {len(data) + 1} bytes"),
    ]:
        files[".idx"].write_bytes(damaged)
        with pytest.raises(ShardError, match=message):
            read_index(files[".idx"])
