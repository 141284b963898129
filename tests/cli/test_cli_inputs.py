"""`add` and `remove`: what would change in words and as JSON, and what a run reads."""

import json
import shutil

import pytest

from corpusmill.cli.add import MAX_FILES_SHOWN, in_words, to_json
from corpusmill.ops.collection import ADD, REMOVE, InputChange
from corpusmill.recipe import Recipe
from made_run import made_run, prose

RECIPE = Recipe.parse("read: [jsonl: {paths: a.jsonl}]")


def change(verb=ADD, **facts) -> InputChange:
    files = facts.pop("files", (("web", "a.gz"),))
    return InputChange(RECIPE, verb, (), files, **facts)


def test_added_files_are_counted_by_source_with_their_size():
    files = (("web", "a.gz"), ("books", "c.gz"), ("web", "b.gz"))
    assert in_words(change(files=files, bytes=2_000_000)) == [
        "add 2 files to web: a.gz, b.gz",
        "add 1 file to books: c.gz (2.0 MB in all)",
    ]
    assert in_words(change(verb=REMOVE, bytes=999)) == ["remove 1 file from web: a.gz (999 B)"]


@pytest.mark.parametrize("count", [1, MAX_FILES_SHOWN, MAX_FILES_SHOWN + 1, 2000])
def test_many_files_are_named_in_part(count):
    (line,) = in_words(change(files=tuple(("web", f"{n}.gz") for n in range(count)), bytes=7))
    assert line.count(".gz") == min(count, MAX_FILES_SHOWN)
    assert (f" and {count - MAX_FILES_SHOWN:,} more (7 B)" in line) == (count > MAX_FILES_SHOWN)


def test_files_that_are_in_already_are_told_apart_by_what_happens_to_them():
    said = in_words(change(files=(), known=("a", "b"), altered=("b",), left_out=("c",)))
    assert said == [
        "already in the run, skipped: a",
        "left out, as they were removed from this run: c",
        "changed since they were read, so read again: b",
    ]


def test_no_change_says_nothing():
    assert in_words(change(files=())) == [] and to_json(None) == {}


def test_json_has_the_files_by_source():
    files = (("web", "a"), ("books", "b"), ("web", "c"))
    assert to_json(change(files=files, bytes=5, known=("k",), altered=("k",), left_out=("l",))) == {
        "add": {
            "files": {"web": ["a", "c"], "books": ["b"]},
            "bytes": 5,
            "known": ["k"],
            "changed": ["k"],
            "left_out": ["l"],
        }
    }
    assert to_json(change(verb=REMOVE)) == {"remove": {"files": {"web": ["a.gz"]}, "bytes": 0}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A copy of a run, which dry runs must not change."""
    return shutil.copytree(made_run(), tmp_path_factory.mktemp("inputs") / "run")


def test_the_inputs_of_a_run_are_listed_by_source(corpusmill, run):
    status, out, _ = corpusmill("add", run, "--list")
    lines = out.splitlines()
    assert status == 0 and lines[0].startswith("web: 1 file, ")
    assert lines[1].split() == ["files", "size", "added", "read", "kept"]
    path, files, *_, added, read, kept = lines[2].split()
    assert path.endswith("web.jsonl") and (files, added, read, kept) == ("1", "-", "51", "30")
    assert lines[3].startswith("extra: 1 file, ") and lines[5].split()[-2:] == ["6", "6"]


def test_as_json_they_are_rows_with_their_files(corpusmill, run):
    record = json.loads(corpusmill("add", run, "--list", "--json")[1])
    assert record["folder"] == str(run)
    assert [(row["source"], row["read"], row["kept"]) for row in record["inputs"]] == [("web", 51, 30), ("extra", 6, 6)]
    files = json.loads(corpusmill("add", run, "--files", "--json")[1])["inputs"]
    assert [row["path"].rpartition("/")[2] for row in files] == ["web.jsonl", "extra.jsonl"]


def test_a_list_takes_no_inputs_and_changes_nothing(corpusmill, run, tmp_path):
    status, out, err = corpusmill("add", run, tmp_path / "more.jsonl", "--list")
    assert (status, out) == (2, "") and "--list lists what the run has, and takes no INPUT" in err
    assert not (run / "collection.json").exists()


def test_a_dry_run_of_add_says_what_is_to_do_and_writes_nothing(corpusmill, run, tmp_path):
    from random import Random

    (tmp_path / "more.jsonl").write_text(json.dumps({"text": prose(Random(1))}) + "\n")
    command = ("add", run, tmp_path / "more.jsonl", "--source", "extra", "--dry-run")
    status, out, err = corpusmill(*command)
    assert status == 0, err
    assert f"add 1 file to extra: {tmp_path}/more.jsonl (" in err
    assert out.splitlines()[0].startswith("first pass: ") and " kept" in out.splitlines()[0]
    record = json.loads(corpusmill(*command, "--json")[1])
    assert record["add"]["files"] == {"extra": [str(tmp_path / "more.jsonl")]}
    units = record["first_pass"]
    assert units["kept"] + units["new"] == units["units"] and units["new"] >= 1
    assert not (run / "collection.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "RUN", "none.jsonl"), "none.jsonl"),
        (("add", "RUN", "none.jsonl", "--source", "wbe"), 'no source "wbe"; did you mean "web"?'),
        (("remove", "RUN", "none*.jsonl"), "no input of RUN is named by that"),
        (("remove", "RUN", "none*.jsonl"), "`corpusmill add RUN --list` lists them"),
        (("remove", "RUN"), "nothing to remove: name inputs of the run"),
        (("add",), "Missing argument 'RUN'"),
    ],
)
def test_a_mistake_is_answered_and_nothing_is_written(corpusmill, run, words, message):
    words = [str(run) if word == "RUN" else word for word in words]
    status, out, err = corpusmill(*words)
    assert (status, out) == (2, "") and message.replace("RUN", str(run)) in err.replace("'RUN'", f"'{run}'")
    assert not (run / "collection.json").exists()
