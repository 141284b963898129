"""What holds for every reader: nothing raises for what a file holds, nothing is lost silently, pieces are the whole."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, http, page, read_all, save, warc

from corpusmill import read
from corpusmill.errors import InputError, RecipeError
from corpusmill.read import GivesPages, content_of
from corpusmill.storage import stat
from made_crawl import wat


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def arrow(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    return out.getvalue()


def archive(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in files.items():
            file.writestr(name.replace("__", "/"), data)
    return out.getvalue()


TABLE = pa.table({"text": ["one ü", "two"], "n": [1, 2]})
EXPORT = (
    "<mediawiki xml:lang='en'><siteinfo><dbname>w</dbname></siteinfo>\n"
    "<page><title>A</title><ns>0</ns><id>1</id><revision><id>2</id><text>Hello</text></revision></page>\n"
    "<page><title>B</title><ns>0</ns><id>3</id><revision><id>4</id><text>World</text></revision></page></mediawiki>"
)
POSTS = (
    '<posts>\n<row Id="1" PostTypeId="1" Title="T" Body="Q" Score="3" />\n'
    '<row Id="2" PostTypeId="2" ParentId="1" Body="A" Score="1" />\n</posts>'
)
# reader -> (name of a file, its content, the documents in it)
SAMPLES = {
    "arrow": ("a.arrow", arrow(TABLE), 2),
    "code": ("a.zip", archive(**{"r__a.py": b"x = 1\n", "r__b.py": b"y = 2\n"}), 2),
    "csv": ("a.csv", "text,n\none ü,1\ntwo,2\n".encode(), 2),
    "html": ("a.html", b"<html><p>one</p></html>", 1),
    "jsonl": ("a.jsonl", '{"text": "one ü"}\n{"text": "two"}\n'.encode(), 2),
    "latex": ("a.tex", b"\\documentclass{article}\\begin{document}Hello\\end{document}", 1),
    "mediawiki": ("a.xml", EXPORT.encode(), 2),
    "parquet": ("a.parquet", parquet(TABLE), 2),
    "stackexchange": ("Posts.xml", POSTS.encode(), 1),
    "text": ("a.txt", "one ü\n\ntwo\n".encode(), 1),
    "warc": ("a.warc", page("one") + page("two") + warc("request", b"GET /"), 2),
    "wat": ("a.wat", wat("response", "http://a.org/", 200, "text/html", 1, {}) * 2, 2),
    "wet": ("a.wet", warc("conversion", b"one") + warc("conversion", b"two"), 2),
}
NEEDED = {"commoncrawl": {"crawl": "CC-MAIN-2026-25"}}  # parameters that must be given
every_reader = pytest.mark.parametrize("name", SAMPLES)
COMPRESSED = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def sample(folder, name):
    file, data, documents = SAMPLES[name]
    return save(folder, file, data), documents


@every_reader
def test_a_sample_is_read_without_a_dead_letter(tmp_path, name):
    file, documents = sample(tmp_path, name)
    rows, dead, _ = read_all(read.find(name)(), file)
    assert len(rows) == documents and dead == []
    assert len({row["id"] for row in rows}) == documents
    assert [row["position"] for row in rows] == sorted({row["position"] for row in rows})
    is_page = isinstance(read.find(name)(), GivesPages)
    assert all((row["raw"] is not None) is is_page and (row["text"] is None) is is_page for row in rows)


@every_reader
@pytest.mark.parametrize("target", [1, 40, 300])
def test_pieces_are_the_whole(tmp_path, name, target):
    file, _ = sample(tmp_path, name)
    whole, _, counts = read_all(read.find(name)(), file)
    parts, dead, part_counts = read_all(read.find(name)(), file, target=target)
    assert parts == whole and dead == [] and part_counts.skipped == counts.skipped
    pieces = read.find(name)().split([file], target)
    assert pieces == read.find(name)().split([file], target)
    assert sum(piece.size for piece in pieces) <= file.size + len(pieces)


@every_reader
def test_the_name_and_the_folder_of_a_file_may_be_any(tmp_path, name):
    file, data, documents = SAMPLES[name]
    folder = tmp_path / "a folder, ü—𝔸 (1) [x] #100%"
    folder.mkdir()
    rows, dead, _ = read_all(read.find(name)(), save(folder, file, data))
    assert len(rows) == documents and dead == []
    assert all("ü—𝔸" in row["file"] for row in rows)


@every_reader
def test_a_file_without_bytes_is_one_expected_dead_letter(tmp_path, name):
    file = save(tmp_path, SAMPLES[name][0], b"")
    rows, dead, _ = read_all(read.find(name)(), file)
    assert rows == [] and briefly(dead) == [(0, "empty_file", True)]
    assert dead[0]["step"] == f"read/{name}" and dead[0]["reason"].strip()


@every_reader
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.95])
def test_a_file_cut_off_is_read_or_explained(tmp_path, name, share):
    file, data, documents = SAMPLES[name]
    cut = save(tmp_path, file, data[: int(len(data) * share)])
    try:
        rows, dead, counts = read_all(read.find(name)(), cut)
    except InputError as error:
        assert str(cut.path) in str(error)
        return
    assert len(rows) <= documents
    is_header = name == "csv" and share == 0.3  # which alone holds nothing
    assert counts.records or is_header or (name in ("mediawiki", "stackexchange") and share < 0.3), "nothing was said"
    assert all(letter["kind"].isidentifier() and letter["reason"].strip() for letter in dead)


@every_reader
@pytest.mark.parametrize("suffix", [".gz", ".zst", ".bz2", ".xz"])
def test_compressed_files_hold_the_same_and_cut_ones_are_explained(tmp_path, name, suffix):
    reader = read.find(name)()
    file, data, _ = SAMPLES[name]
    if not any((file + suffix).endswith(ending) for ending in reader.suffixes) or name == "latex":
        pytest.skip(f"{name} does not read {suffix}")
    plain, _, _ = read_all(reader, save(tmp_path, file, data))
    packed = COMPRESSED[suffix](data)
    rows, dead, _ = read_all(reader, save(tmp_path, file + suffix, packed))
    column = "raw" if plain[0]["raw"] is not None else "text"
    assert [row[column] for row in rows] == [row[column] for row in plain] and dead == []
    try:
        rows, dead, _ = read_all(reader, save(tmp_path, file + suffix, packed[: len(packed) * 2 // 3]))
    except InputError:
        return
    assert any(letter["kind"] in ("truncated", "damaged") for letter in dead)
    assert all(not letter["expected"] for letter in dead)


@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=300), name=st.sampled_from(sorted(SAMPLES)))
def test_bytes_of_any_kind_end_in_documents_dead_letters_or_an_input_error(tmp_path_factory, data, name):
    folder = tmp_path_factory.mktemp("bytes")
    file = save(folder, SAMPLES[name][0], data)
    try:
        read_all(read.find(name)(), file)
    except InputError as error:
        assert file.path in str(error)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(SAMPLES)), place=st.floats(0, 1), value=st.integers(0, 255))
def test_one_wrong_byte_costs_no_more_than_is_explained(tmp_path_factory, name, place, value):
    folder = tmp_path_factory.mktemp("byte")
    file, data, documents = SAMPLES[name]
    at = min(int(place * len(data)), len(data) - 1)
    changed = save(folder, file, data[:at] + bytes([value]) + data[at + 1 :])
    try:
        rows, dead, counts = read_all(read.find(name)(), changed)
    except InputError:
        return
    assert len(rows) <= documents + 1
    assert len(rows) >= documents or dead or counts.skipped


@pytest.mark.parametrize("name", [n for n in SAMPLES if "max_mb" in read.find(n).__dataclass_fields__])
def test_a_limit_must_be_positive_and_what_is_above_it_is_expected(tmp_path, name):
    cls = read.find(name)
    for value in (0, -1.5):
        with pytest.raises(RecipeError, match=f"need max_mb > 0.*{value}"):
            cls(max_mb=value)
    file, _ = sample(tmp_path, name)
    rows, dead, counts = read_all(cls(max_mb=1e-6), file)
    assert rows == [] and (dead or counts.skipped)
    assert all(letter["expected"] for letter in dead if letter["kind"] == "too_large")


# ------------------------------------------------------------------ a file that another reader was given


@pytest.mark.parametrize(
    ("name", "data", "said", "reader"),
    [
        ("a.jsonl", SAMPLES["parquet"][1], "seems to be a Parquet file, which `parquet` reads", "parquet"),
        ("a.jsonl", SAMPLES["arrow"][1], "seems to be an Arrow file, which `arrow` reads", "arrow"),
        ("a.jsonl", SAMPLES["warc"][1], "seems to be a web archive, which `warc` reads", "warc"),
        ("a.txt", b"%PDF-1.7\n", "seems to be a PDF document, which `pdf` reads", "pdf"),
        (
            "a.jsonl",
            b"PK\x03\x04",
            "seems to be a ZIP archive: unpack it first, unless it is a repository, which",
            "code",
        ),
        ("a.csv", b"\xef\xbb\xbf\n <html>", "seems to be HTML or XML, which `html` reads", "html"),
        ("a.csv", b' {"text": 1}', "seems to be JSON lines, or one JSON object, which `jsonl` reads", "jsonl"),
        ("a.jsonl", b"[1]", "seems to be a JSON array: write one object per line first", ""),
        ("a.jsonl.gz", gzip.compress(b"PAR1"), "seems to be a Parquet file, which", "parquet"),
        ("a.jsonl.gz", b"plain text", "is not compressed, although its name says so, or is damaged from the start", ""),
        ("a.jsonl", b"a\0b", "holds bytes that are not text", ""),
        ("a.jsonl", b"words", "", ""),
        ("a.jsonl", b"", "", ""),
        ("a.gz", gzip.compress(b"x" * 999)[:5], "", ""),
    ],
)
def test_what_a_file_seems_to_be(tmp_path, name, data, said, reader):
    words, found = content_of(save(tmp_path, name, data))
    assert words.startswith(said) and bool(words) is bool(said) and found == reader


def test_what_a_reader_says_of_itself_is_enough_to_be_recognized():
    begins = [mark for name in read.names() for mark in getattr(read.find(name), "begins", {})]
    assert len(begins) == len(set(begins)) and all(isinstance(mark, bytes) and mark for mark in begins)
    for name in read.names():
        reader = read.find(name)(**NEEDED.get(name, {}))
        if isinstance(reader, GivesPages):
            assert reader.gives.extractor.startswith("extract/") and reader.gives.words


# ------------------------------------------------------------------ columns


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet", "arrow"])
def test_readers_of_rows_take_the_same_parameters_and_say_the_same(tmp_path, name):
    cls = read.find(name)
    assert list(cls.__dataclass_fields__)[:6] == ["text", "html", "id", "url", "date", "keep"]
    assert cls(keep=["a"]) == cls(keep=("a",)) and hash(cls(keep=["a"]))
    with pytest.raises(
        RecipeError, match='text names the column "a" and html the column "b", but a document is either'
    ):
        cls(text="a", html="b")
    file, _ = sample(tmp_path, name)
    with pytest.raises(InputError, match=r'there is no column "txet" for the text; did you mean "text"\? It has: text'):
        read_all(cls(text="txet"), file)
    with pytest.raises(InputError, match='there is no column "when" for the date'):
        read_all(cls(date="when"), file)
    rows, _, _ = read_all(cls(keep=["n"], id="text"), file) if name != "jsonl" else read_all(cls(keep=[]), file)
    assert [row["metadata"] and json.loads(row["metadata"]) for row in rows] in ([{"n": 1}, {"n": 2}], [{"n": "1"}, {"n": "2"}], [None, None])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"a,b\n1,2\n"),
        ("a.jsonl", b'{"a": 1, "b": 2}\n'),
        ("a.parquet", parquet(pa.table({"a": [1], "b": [2]}))),
        ("a.arrow", arrow(pa.table({"a": [1], "b": [2]}))),
    ],
)
def test_a_file_without_a_text_column_says_what_it_has_and_what_to_write(tmp_path, name, data):
    reader = read.find(name.partition(".")[2])()
    with pytest.raises(
        InputError, match=r"none of its columns is called text, .*(Name the one|None holds text).*It has: a, b"
    ):
        read_all(reader, save(tmp_path, name, data))


def test_a_document_of_a_page_that_was_not_200_is_expected_to_be_none(tmp_path):
    record = warc("response", http(b"<p>gone</p>", status=404))
    rows, dead, _ = read_all(read.find("warc")(), save(tmp_path, "a.warc", record))
    assert rows == [] and briefly(dead) == [(0, "http_status", True)]
    assert stat(str(tmp_path / "a.warc")).size == len(record)
