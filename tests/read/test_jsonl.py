import bz2
import gzip
import json
import lzma
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.errors import InputError, RecipeError
from corpusmill.read import FilePiece, ReadCounts
from corpusmill.read.jsonl import JsonlReader
from corpusmill.schema import document_id

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def lines(*rows) -> bytes:
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


def texts(rows):
    return [row["text"] for row in rows]


@pytest.mark.parametrize("how", list(PACK))
def test_reads_lines_however_they_are_compressed(tmp_path, how):
    made = [
        {
            "text": "The river runs.",
            "url": "http://a.org",
            "id": "x-1",
            "date": "2024-05-01",
            "b": [1, "ü"],
            "a": {"c": 2},
        },
        {"text": "Still.", "url": None},
    ]
    file = save(tmp_path, "a.jsonl", PACK[how](lines(*made)))
    rows, dead, _ = read_all(JsonlReader(), file)
    assert not dead and texts(rows) == ["The river runs.", "Still."]
    assert rows[0]["id"] == document_id("made", "x-1")
    assert (rows[0]["url"], rows[0]["date"]) == ("http://a.org", "2024-05-01")
    assert rows[0]["metadata"] == '{"a":{"c":2},"b":[1,"ü"],"id":"x-1"}'
    assert rows[1]["position"] == len(lines(made[0])) and rows[1]["id"] == document_id(
        "made", f"a.jsonl:{rows[1]['position']}"
    )


@pytest.mark.parametrize("name", ["text", "content", "body", "raw_content", "document"])
def test_finds_the_text_under_its_usual_names(tmp_path, name):
    assert texts(read_all(JsonlReader(), save(tmp_path, "a.jsonl", lines({"x": 1, name: "found"})))[0]) == ["found"]


def test_named_columns_may_be_nested_and_a_dotted_name_comes_first(tmp_path):
    made = [
        {"body": {"text": "in", "x": 1}, "src": {"link": "http://a"}},
        {"body.text": "flat", "body": {"text": "in"}},
    ]
    rows, _, _ = read_all(JsonlReader(text="body.text", url="src.link"), save(tmp_path, "a.jsonl", lines(*made)))
    assert texts(rows) == ["in", "flat"] and rows[0]["url"] == "http://a"
    assert rows[0]["metadata"] == '{"body":{"x":1},"src":{}}'


def test_url_and_date_are_found_in_metadata(tmp_path):
    made = {"text": "t", "metadata": {"url": "http://a", "WARC-Date": "2020-03-29T09:04:10Z", "n": 1}}
    [row] = read_all(JsonlReader(), save(tmp_path, "a.jsonl", lines(made)))[0]
    assert (row["url"], row["date"], row["metadata"]) == ("http://a", "2020-03-29T09:04:10Z", '{"metadata":{"n":1}}')


def test_a_number_is_an_id_only_if_it_is_named(tmp_path):
    file = save(tmp_path, "a.jsonl", lines({"text": "t", "id": 7}))
    assert read_all(JsonlReader(), file)[0][0]["id"] == document_id("made", "a.jsonl:0")
    assert read_all(JsonlReader(id="id"), file)[0][0]["id"] == document_id("made", "7")


@pytest.mark.parametrize(("keep", "metadata"), [(None, '{"a":1,"b":2}'), ((), None), (["b", "z"], '{"b":2}')])
def test_keeps_the_columns_that_are_asked_for(tmp_path, keep, metadata):
    [row] = read_all(JsonlReader(keep=keep), save(tmp_path, "a.jsonl", lines({"b": 2, "a": 1, "text": "t"})))[0]
    assert row["metadata"] == metadata


def test_every_bad_line_is_explained_and_costs_itself_only(tmp_path):
    bad = [
        (b"{broken", "bad_json", False),
        (b'["a list"]', "bad_json", False),
        (b'{"text": 5}', "no_text", False),
        (b'{"text": null, "url": "http://a"}', "empty_text", True),
        (b'{"other": "x"}', "no_text", False),
        (b'{"text": " \\n"}', "empty_text", True),
        (b'{"text": "' + b"x" * 300 + b'"}', "too_long", False),
        (b"\x80\x81", "bad_json", False),
        (b"[" * 5000, "too_long", False),
    ]
    data = lines({"text": "first"}, *(line for line, _, _ in bad), b"", b"  \r", {"text": "last"})
    rows, dead, counts = read_all(JsonlReader(max_line_mb=0.0003), save(tmp_path, "a.jsonl", data))
    assert texts(rows) == ["first", "last"]
    assert briefly(dead) == [(data.index(line), kind, expected) for line, kind, expected in bad]
    assert dead[3]["url"] == "http://a" and dead[0]["file"].endswith("a.jsonl")
    assert dict(counts.skipped) == {"blank_line": 2}


def test_what_is_not_quite_json_is_read_as_far_as_it_makes_sense(tmp_path):
    data = b"\xef\xbb\xbf" + lines({"text": "mark"}) + b'{"text": "line end"}\r\n'
    data += b'{"text": "caf\xe9"}\n{"text": "half \\ud83d pair", "k": "\\udc00"}\n{"text": "whole \\ud83d\\ude00"}\n'
    data += b'{"text": "nan", "score": NaN, "big": 123456789012345678901234567890, "inf": 1e999}\n{"text": "no end"}'
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", data))
    assert not dead
    assert texts(rows) == ["mark", "line end", "caf\ufffd", "half \ufffd pair", "whole 😀", "nan", "no end"]
    assert rows[3]["metadata"] == '{"k":"\ufffd"}'
    assert rows[5]["metadata"] == '{"big":1.2345678901234568e+29,"inf":null,"score":null}'


def test_deep_nesting_is_a_dead_letter_and_no_crash(tmp_path):
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", lines({"text": "a"}, b"[" * 200_000)))
    assert texts(rows) == ["a"] and [letter["kind"] for letter in dead] == ["too_deep"]


@pytest.mark.parametrize("how", ["gz", "bz2", "xz", "zst"])
def test_a_truncated_file_gives_the_lines_before_the_cut(tmp_path, how):
    made = lines(*({"text": f"line {i} {i * 7919 % 10007}"} for i in range(12_000)))
    packed = PACK[how](made)
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", packed[: len(packed) * 3 // 4]))
    assert texts(rows) == [json.loads(line)["text"] for line in made.splitlines()[: len(rows)]]
    assert [(letter["kind"], letter["position"]) for letter in dead] == [
        ("truncated", len(b"".join(made.splitlines(True)[: len(rows)])))
    ]
    assert rows or how in ("bz2", "xz")


def test_damage_within_a_compressed_file_is_said(tmp_path):
    first, second = gzip.compress(lines({"text": "one"})), bytearray(gzip.compress(lines({"text": "two"})))
    second[-6] ^= 255
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl.gz", first + bytes(second)))
    assert texts(rows) == ["one"] and [letter["kind"] for letter in dead] == ["damaged"]


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([b"", b"\r", b"{}", b'{"text":"a"}', b'{"text":"' + b"b" * 40 + b'"}', b"junk"]), max_size=20
    ),
    st.integers(1, 60),
    st.booleans(),
)
def test_pieces_give_the_same_records_as_one_piece(tmp_path_factory, made, target, ends):
    data = b"\n".join(made) + (b"\n" if ends else b"")
    file = save(tmp_path_factory.mktemp("j"), "a.jsonl", data)
    reader = JsonlReader(text="text")
    try:
        together = read_all(reader, file)
    except InputError:  # the first record has no text
        return
    apart = read_all(reader, file, target=target)
    assert apart[:2] == together[:2] and apart[2].skipped == together[2].skipped
    assert texts(together[0]) == [json.loads(line)["text"] for line in data.split(b"\n") if line.startswith(b'{"t')]


def test_a_column_that_is_not_there_is_an_input_error_that_lists_those_that_are(tmp_path):
    file = save(tmp_path, "a.jsonl", b"\n" + lines({"txt": "x", "n": 1}))
    with pytest.raises(
        InputError, match=r"a\.jsonl, first record: none of its columns is called text.*It has: txt, n\."
    ):
        JsonlReader().split([file], 1000)
    with pytest.raises(InputError, match=r'no column "tx" for the text; did you mean "txt"\?'):
        JsonlReader(text="tx").split([file], 1000)
    with pytest.raises(InputError, match='no column "link" for the url'):
        JsonlReader(text="txt", url="link").split([file], 1000)
    with pytest.raises(InputError, match=r"not one object per line\. Convert it, for example with: jq"):
        JsonlReader().split([save(tmp_path, "b.json", b'[\n{"text": "x"}]')], 1000)


def test_an_empty_file_is_one_expected_dead_letter(tmp_path):
    rows, dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", b""))
    assert not rows and briefly(dead) == [(0, "empty_file", True)]
    assert not read_all(JsonlReader(), save(tmp_path, "b.jsonl", b"\n\n"))[1]


def test_batches_are_bounded(tmp_path):
    file = save(tmp_path, "a.jsonl", lines(*({"text": str(i)} for i in range(2100)), *({"text": "x" * 5_000_000},) * 3))
    assert [len(batch) for batch in JsonlReader().read(FilePiece(file), "made", ReadCounts())] == [2048, 54, 1]


def test_bad_parameters_fail_when_the_reader_is_made():
    with pytest.raises(RecipeError, match="max_line_mb > 0"):
        JsonlReader(max_line_mb=0)
