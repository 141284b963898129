"""Text that was decoded badly before it came here: halves of surrogate pairs, Latin-1, characters cut in two.

Arrow has no place for any of it. Every reader puts U+FFFD there, and what the rules then measure is what they measure
of that text.
"""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import read_all, save, warc

from conftest import docs
from corpusmill.read.arrow import ArrowReader
from corpusmill.read.csv import CsvReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.parquet import ParquetReader
from corpusmill.read.text import TextReader
from corpusmill.read.wet import WetReader
from corpusmill.steps.measures import MEASURES

BAD = {
    "half \ud800 pair".encode("utf-8", "surrogatepass"): "half \ufffd\ufffd\ufffd pair",
    "byte \udce9 escaped".encode("utf-8", "surrogatepass"): "byte \ufffd\ufffd\ufffd escaped",
    "byte \udce9 escaped".encode("utf-8", "surrogateescape"): "byte \ufffd escaped",
    b"latin caf\xe9": "latin caf\ufffd",
    b"cut in two \xe2\x82": "cut in two \ufffd",
    b"too long \xf8\x88\x80\x80\x80 form": "too long \ufffd\ufffd\ufffd\ufffd\ufffd form",
    "whole 😀".encode(): "whole 😀",
}


def as_jsonl(folder):
    return JsonlReader(), save(folder, "a.jsonl", b"".join(b'{"text":"%s"}\n' % text for text in BAD))


def as_csv(folder):
    return CsvReader(), save(folder, "a.csv", b"\n".join([b"text", *BAD]) + b"\n")


def as_wet(folder):
    return WetReader(), save(folder, "a.wet", b"".join(warc("conversion", text) for text in BAD))


def as_text(folder):
    return TextReader(separator="<end>"), save(folder, "a.txt", b"<end>".join(BAD))


def table():
    """Strings that are none: Arrow does not look."""
    return pa.table({"text": pa.array(BAD, pa.large_binary()).view(pa.large_string())})


def as_parquet(folder):
    pq.write_table(table(), folder / "made.parquet")
    return ParquetReader(), save(folder, "a.parquet", (folder / "made.parquet").read_bytes())


def as_arrow(folder):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table().schema) as file:
        file.write_table(table())
    return ArrowReader(), save(folder, "a.arrow", sink.getvalue().to_pybytes())


@pytest.mark.parametrize("made", [as_jsonl, as_csv, as_wet, as_text, as_parquet, as_arrow])
def test_invalid_bytes_become_the_replacement_character(made, tmp_path):
    rows, dead, _ = read_all(*made(tmp_path))
    assert [row["text"] for row in rows] == list(BAD.values()) and not dead


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\udc00\ud800", r"\ud83d\u0041", r"\ud83dude00"])
def test_half_of_a_pair_as_an_escape_in_json_becomes_one_too(escape, tmp_path):
    line = f'{{"text": "a {escape} b", "url": "http://a.org/{escape}", "k": "{escape}"}}\n'
    [row], dead, _ = read_all(JsonlReader(), save(tmp_path, "a.jsonl", line.encode()))
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in json.loads(line)["k"])
    assert (row["text"], row["url"], row["metadata"]) == (f"a {clean} b", f"http://a.org/{clean}", f'{{"k":"{clean}"}}')
    assert "\ufffd" in clean and not dead


def test_the_replacement_character_is_a_character_like_others():
    measured = {
        name: column.to_pylist() for name, column in MEASURES["stats"](docs("caf\ufffd \ufffd\ufffd the", "")).items()
    }
    assert (measured["chars"][0], measured["words"][0], measured["content_words"][0]) == (11, 3, 3)
    assert measured["alpha_word_ratio"][0] == 2 / 3
