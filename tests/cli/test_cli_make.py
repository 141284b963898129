"""Verbs that make something of files: `train`, `rights`, `index`, `work`, `new`."""

import gzip
import json

import pytest

from corpusmill.cli.new import assigned, missing, recipe_text
from corpusmill.recipe.shipped import names, shipped
from made_run import made_corpus, made_run

TEXT = "the river runs past the mill and the mill grinds the corn of the valley\n"


def record_of(corpusmill, *words) -> dict:
    status, out, err = corpusmill(*words, "--json")
    assert status == 0, err
    return json.loads(out)


# ------------------------------------------------------------- train


def test_a_language_model_of_files(corpusmill, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT * 20)
    record = record_of(corpusmill, "train", "lm", "--text", tmp_path / "a.txt", "--out", tmp_path / "a.lm")
    assert record["model"] == str(tmp_path / "a.lm") and (tmp_path / "a.lm").stat().st_size > 0
    assert len(record["ngrams"]) == 3 and record["sentences"] == 20
    status, out, err = corpusmill("train", "lm", "--text", tmp_path / "a.txt", "--out", tmp_path / "b.lm")
    assert status == 0 and err.startswith("1 document in 1 file, ")
    assert f"In a recipe: annotate/perplexity: {{model: {tmp_path}/b.lm}}" in out
    assert (tmp_path / "a.lm").read_bytes() == (tmp_path / "b.lm").read_bytes(), "the same text gives the same bytes"


def test_a_tokenizer_of_a_run(corpusmill, tmp_path):
    command = ("train", "tokenizer", made_run(), "--vocab-size", "300", "--held-out", "0.2")
    record = record_of(corpusmill, *command, "--out", tmp_path / "t.json")
    assert record["vocabulary"] == 300 and record["documents"] == 36 and record["held_out"]
    assert set(record["rates"]) == {"t.json", "gpt2"}
    status, out, err = corpusmill(*command, "--out", tmp_path / "u.json", "--special", "</s>")
    assert status == 0 and err.startswith("36 documents, ")
    assert out.splitlines()[-1].endswith(f'In a recipe: tokenize/bpe: {{tokenizer: {tmp_path}/u.json, eos: "</s>"}}')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lm", "--text", "a.txt", "--out", "no/where.lm"), "no/where.lm: cannot be written: no folder no"),
        (("lm", "--text", "a.txt", "--out", "folder"), "folder: cannot be written: a folder"),
        (("lm", "--text", "none.txt", "--out", "a.lm"), "none.txt"),
        (("lm", "--out", "a.lm"), "Missing option '--text'"),
        (("quality", "--good", "a.txt", "--bad", "a.txt", "--out", "folder"), "folder: cannot be written: a folder"),
        (("tokenizer", "a.txt", "--vocab-size", "300", "--out", "folder"), "folder: cannot be written: a folder"),
        (("tokenizer", "a.txt", "--out", "t.json"), "Missing option '--vocab-size'"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_it_begins(corpusmill, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "folder").mkdir()
    status, out, err = corpusmill("train", *words)
    assert (status, out) == (2, "") and message in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]


# ------------------------------------------------------------- rights


def capture(url: str, body: str, status: str = "200 OK") -> bytes:
    """A record of a WARC file."""
    http = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n\r\n{body}".encode()
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    return gzip.compress(head.encode() + http + b"\r\n\r\n", mtime=0)


def test_the_answers_of_hosts_are_collected(corpusmill, tmp_path):
    robots = capture("https://a.org/robots.txt", "User-agent: *\nDisallow: /private\n")
    tdm = capture("https://a.org/.well-known/tdmrep.json", '[{"location": "/", "tdm-reservation": 1}]')
    page = capture("https://a.org/page.html", "<p>a page</p>")
    (tmp_path / "crawl.warc.gz").write_bytes(robots + page + tdm)
    record = record_of(corpusmill, "rights", tmp_path / "crawl.warc.gz", "--out", tmp_path / "a.captures")
    assert (record["files"], record["records"], record["damaged"]) == (1, 3, 0)
    assert record["found"] == {"robots": 1, "tdmrep": 1} and record["kept"] == 2
    status, out, _ = corpusmill("rights", tmp_path / "crawl.warc.gz", "--out", tmp_path / "b.captures")
    assert status == 0 and out.splitlines()[0] == "1 file, 3 records: 1 robots.txt, 1 tdmrep.json"
    assert f"In a recipe: filter/rights: {{captures: {tmp_path}/b.captures}}" in out
    assert (tmp_path / "a.captures").read_bytes() == (tmp_path / "b.captures").read_bytes()


def test_a_crawl_without_answers_is_refused(corpusmill, tmp_path):
    (tmp_path / "crawl.warc.gz").write_bytes(capture("https://a.org/page.html", "<p>a page</p>"))
    status, out, err = corpusmill("rights", tmp_path / "crawl.warc.gz", "--out", tmp_path / "a.captures")
    assert (status, out) == (2, "") and "no capture of robots.txt or tdmrep.json among the 1 records of 1 files" in err


# ------------------------------------------------------------- work


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--index", "0"), "--index 0 --of None: give both or neither"),
        (("--of", "2"), "--index None --of 2: give both or neither"),
        (("--index", "2", "--of", "2"), "the index from 0 to one less than --of"),
        (("--index", "-1", "--of", "2"), "'--index'"),
        (("--lease", "0.5"), "'--lease'"),
    ],
)
def test_a_worker_without_a_number_is_refused(corpusmill, tmp_path, words, message):
    status, out, err = corpusmill("work", made_corpus(), "--folder", tmp_path / "run", *words)
    assert (status, out) == (2, "") and message in err and not (tmp_path / "run").exists()


def test_settings_change_a_recipe_and_not_a_run(corpusmill):
    status, _, err = corpusmill("work", made_run(), "--set", "gopher_quality.min_words=9")
    assert status == 2 and "--set changes a recipe, and this run has its own" in err


def test_a_plan_for_workers_is_written_and_nothing_done(corpusmill, tmp_path):
    folder = tmp_path / "run"
    status, out, _ = corpusmill("work", made_corpus(), "--folder", folder, "--prepare")
    assert status == 0 and out == f"planned. Now, on every machine:\n  corpusmill work {folder}\n"
    assert record_of(corpusmill, "work", folder, "--prepare") == {"folder": str(folder)}
    look = json.loads(corpusmill("watch", folder, "--json", "--once")[1])
    assert not look["finished"] and look["workers"] == [] and not any(stage["committed"] for stage in look["stages"])


# ------------------------------------------------------------- new


@pytest.mark.parametrize("name", names())
def test_what_is_missing_is_what_no_path_was_given_for(name):
    recipe = shipped(name)
    assert missing(recipe, {}) == recipe.inputs
    assert missing(recipe, dict.fromkeys(recipe.inputs, "x")) == {}


def test_a_path_with_an_equals_sign_is_a_path():
    assert assigned(shipped("minimal"), ["a=b.jsonl"]) == {"INPUT": "a=b.jsonl"}
    assert assigned(shipped("minimal"), ["input=b.jsonl"]) == {"INPUT": "b.jsonl"}
    assert assigned(shipped("mix"), ["web=a=1", "BOOKS=b"]) == {"WEB": "a=1", "BOOKS": "b"}


@pytest.mark.parametrize("name", ["null", "true", "7", "a b", "", "x: y", "web"])
def test_any_name_of_a_file_is_a_name_of_a_run(tmp_path, name):
    from corpusmill.recipe import Recipe

    (tmp_path / "r.yaml").write_text(recipe_text(shipped("minimal"), {"INPUT": "x.jsonl"}, name or "r"))
    assert Recipe.load(tmp_path / "r.yaml").name == (name or "r")


def test_json_says_which_paths_are_missing(corpusmill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert record_of(corpusmill, "new", "mix", "--input", "web=a.wet.gz") == {
        "file": "mix.yaml",
        "missing": {"BOOKS": "jsonl"},
    }
    assert record_of(corpusmill, "new", "demo", "x.yaml") == {"file": "x.yaml", "missing": {}}


def test_the_list_is_the_same_in_a_pipe(corpusmill, monkeypatch):
    out = corpusmill("new", "--list")[1]
    assert corpusmill("new", "fineweb", "--list")[0] == 2
    monkeypatch.setenv("COLUMNS", "40")
    assert corpusmill("new", "--list")[1] == out, "lines of a pipe are left whole"
    assert [line.split()[0] for line in out.splitlines()[:-2]] == names()
