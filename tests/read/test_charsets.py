"""Text that is not UTF-8 is refused with the charset that it seems to have, read in the charset that is named, and
what cannot be read of a text is counted."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill.errors import InputError, RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.read import END, FilePiece, ReadCounts
from corpusmill.read._encoding import LEAST_BROKEN, not_utf8
from corpusmill.read.csv import CsvReader
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.text import TextReader
from corpusmill.recipe import Recipe
from corpusmill.report.tables import RunTables
from corpusmill.storage import expand

GERMAN = "Schöne Grüße aus München: Käse, Äpfel und Brötchen für alle Gäste, Nummer {}."
JAPANESE = "これは日本語の文章です。東京の天気は今日も良いでしょう。番号{}"
CHINESE = "今天天气很好，我们去公园散步，看见很多人在那里跑步和唱歌。号码{}"
RUSSIAN = "Сегодня хорошая погода, мы гуляем в парке и видим много людей. Номер {}"
CASES = [(GERMAN, "cp1252"), (JAPANESE, "shift_jis"), (CHINESE, "gbk"), (RUSSIAN, "cp1251")]
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le"]


def texts_of(sentence):
    return [sentence.format(number) for number in range(50)]


def jsonl(texts):
    return "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)


def csv(texts):
    return "text\n" + "".join(f'"{text}"\n' for text in texts)


FORMATS: dict[str, Any] = {  # how to read, and to write
    "jsonl": (JsonlReader, jsonl),
    "csv": (CsvReader, csv),
    "text": (lambda **settings: TextReader(separator="\n", **settings), "\n".join),
}


def read(reader, path, start=0, stop=END):
    file = expand(str(path))[0]
    counts = ReadCounts()
    batches = list(reader.read(FilePiece(file, start, stop), "s", counts))
    return [text for batch in batches for text in batch["text"].to_pylist()], counts


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("sentence", "charset"), CASES)
def test_a_charset_that_nothing_names_is_said_and_that_of_the_recipe_is_read(tmp_path, format_, sentence, charset):
    make, written = FORMATS[format_]
    texts, path = texts_of(sentence), tmp_path / "in.txt"
    path.write_bytes(written(texts).encode(charset))
    found, counts = read(make(), path)
    assert not found and [letter["kind"] for letter in counts.letters] == ["bad_encoding"]
    reason = counts.letters[0]["reason"]
    assert "it is not UTF-8" in reason and "charset: " in reason
    named = reason.partition("write charset: ")[2].partition(";")[0]
    assert read(make(charset=named), path)[0] == texts or named != charset  # of short texts some look alike
    found, counts = read(make(charset=charset), path)
    assert found == texts and not counts.broken_texts
    found, counts = read(make(charset="utf-8"), path)
    assert len(found) == len(texts) and counts.broken_texts == len(texts)
    assert all("\ufffd" in text for text in found)


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
@pytest.mark.parametrize("charset", WIDE)
def test_utf_16_without_a_mark_is_read_where_it_is_named(tmp_path, format_, charset):
    make, written = FORMATS[format_]
    texts, path = texts_of(GERMAN), tmp_path / "in.txt"
    path.write_bytes(written(texts).encode(charset))
    assert read(make(charset=charset), path)[0] == texts
    assert not make(charset=charset).can_cut(expand(str(path))[0])


@pytest.mark.parametrize("format_", FORMATS)
def test_few_broken_characters_are_replaced_and_counted(tmp_path, format_):
    make, written = FORMATS[format_]
    path = tmp_path / "in.txt"
    path.write_bytes(written(["sound", "caf@", "also so\u00fcnd", "\ufffd was there"]).encode().replace(b"@", b"\xe9"))
    found, counts = read(make(), path)
    assert found == ["sound", "caf\ufffd", "also so\u00fcnd", "\ufffd was there"]
    assert counts.broken_texts == 1


def test_every_piece_and_compressed_files_are_looked_at(tmp_path):
    content = jsonl(texts_of(JAPANESE)).encode("shift_jis")
    path, packed = tmp_path / "in.jsonl", tmp_path / "in.jsonl.gz"
    path.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    for file, start in ((path, len(content) // 2), (packed, 0)):
        found, counts = read(JsonlReader(), file, start)
        assert not found and counts.letters[0]["kind"] == "bad_encoding"


def test_a_piece_of_a_file_in_a_charset_has_the_lines_that_begin_in_it(tmp_path):
    texts = texts_of(JAPANESE)
    content = jsonl(texts).encode("shift_jis")
    path = tmp_path / "in.jsonl"
    path.write_bytes(content)
    reader = JsonlReader(charset="shift_jis")
    for cut in range(0, len(content), 97):
        assert read(reader, path, 0, cut)[0] + read(reader, path, cut)[0] == texts


def test_check_names_the_file_and_a_run_says_what_it_replaced(tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(jsonl(texts_of(GERMAN)).encode("cp1252"))
    recipe = Recipe.parse(f"read: {{jsonl: {tmp_path}/bad.jsonl}}\nsteps: [clean/normalize]\nwrite: [jsonl]\n")
    with pytest.raises(InputError, match=r"bad.jsonl: it is not UTF-8: .* write charset: cp1252"):
        corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    (tmp_path / "few.jsonl").write_bytes(jsonl(["a river @", "a stone", "a mill"]).encode().replace(b"@", b"\xe9"))
    recipe = Recipe.parse(f"read: {{jsonl: {tmp_path}/few.jsonl}}\nsteps: [clean/normalize]\nwrite: [jsonl]\n")
    done = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    from corpusmill.report.figures.lost import reading_warnings

    (sentence,) = reading_warnings(RunTables(done.place))
    assert "1 document (33.3 %) had bytes that are not in its charset" in sentence


@pytest.mark.parametrize("make", [JsonlReader, CsvReader, TextReader])
@pytest.mark.parametrize("charset", ["klingon", "rot13", "hex"])
def test_a_charset_that_is_none_is_refused(make, charset):
    with pytest.raises(RecipeError, match=f'charset "{charset}" is not known'):
        make(charset=charset)


@given(st.text())
def test_utf_8_is_never_taken_for_another_charset(text):
    head = text.encode("utf-8", "ignore")
    for cut in range(len(head), max(len(head) - 4, 0), -1):
        assert not not_utf8(head[:cut])


def test_the_bound():
    words = b"word " * 2000
    assert not not_utf8(words + b"caf\xe9 " * (LEAST_BROKEN - 1))
    assert not_utf8(words + b"caf\xe9 " * LEAST_BROKEN)
    assert not not_utf8(words + b"caf\xe9 " * LEAST_BROKEN + "é ".encode() * LEAST_BROKEN)
