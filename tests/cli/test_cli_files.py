"""Files are looked at without a recipe, and nothing is left of it."""

import json
import tempfile

import pytest


@pytest.fixture
def files(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [json.dumps({"text": f"Document number {n}.", "url": f"https://a.org/{n}"}) for n in range(9)]
    (folder / "a.jsonl").write_text("\n".join([*lines, "{bad"]) + "\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    yield folder
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("name", ["a.jsonl", "*.jsonl", ""])
def test_documents_of_files_are_shown(files, corpusmill, name):
    status, out, _ = corpusmill("peek", files / name, "-n", "2", "--json")
    shown = json.loads(out)
    assert status == 0 and shown["run"] == str(files / name)
    assert sorted(entry["text"] for entry in shown["documents"]) == ["Document number 0.", "Document number 1."]


def test_what_is_no_record_is_shown_too(files, corpusmill):
    status, out, _ = corpusmill("peek", files / "a.jsonl", "--dead")
    assert status == 0 and "bad_json" in out and "cannot be read" not in out
    status, out, _ = corpusmill("peek", files / "a.jsonl", "-n", "100")
    assert status == 0 and "1 record cannot be read: `corpusmill peek" in out
    status, out, _ = corpusmill("peek", files / "a.jsonl", "--id", "https://a.org/7")
    assert status == 0 and "Document number 7." in out


def test_files_have_statistics(files, corpusmill):
    status, out, _ = corpusmill("stats", files / "a.jsonl", "--json")
    assert status == 0 and json.loads(out)["texts"]["input"]["documents"] == 9
    status, out, _ = corpusmill("stats", files)
    assert status == 0 and "characters, input" in out and "tokenize/bpe" not in out


def test_pages_are_shown_with_their_text(files, corpusmill):
    (files / "page.html").write_text("<html><body><p>The river runs to the sea, and the sea is wide.</p></body></html>")
    status, out, _ = corpusmill("peek", files / "page.html")
    assert status == 0 and "The river runs to the sea" in out and "<p>" not in out


def test_what_is_neither_a_run_nor_files_is_refused(files, corpusmill):
    status, _, err = corpusmill("peek", files / "none.jsonl")
    assert status == 2 and "none.jsonl: no such file" in err
    (files / "part-0").write_text("{}")
    status, _, err = corpusmill("peek", files / "part-0")
    assert status == 2 and "else name its reader" in err
    (files / "other").mkdir()
    status, _, err = corpusmill("stats", files / "other")
    assert status == 2 and "not a run folder (it has no run.json)" in err
