"""Inputs that are added to a run and removed from it: the outputs are those of a run from nothing on what is left."""

import json
import os
from pathlib import Path
from random import Random

import pytest

import corpusmill as mill
from corpusmill.engine.plan.inputs import files_of
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe.parts import Source
from corpusmill.store.run_folder import RunFolder

WORDS = "river stone winter garden letter window market silver morning captain forest bridge candle harbour".split()
STEPS = """
steps:
  - dedup/exact
write: [jsonl]
run: {executor: serial, folder: run}
"""


def month(name: str, common: bool = True) -> None:
    """A folder with two files of documents of their own, and one that all months have."""
    for number in range(2):
        random = Random(f"{name} {number}")
        texts = [" ".join(random.choices(WORDS, k=12)) for _ in range(20)] + ["all months have this"] * common
        path = Path("data", name, f"part-{number}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@pytest.fixture
def crawl(tmp_path, monkeypatch, corpusmill):
    """A run of one month, in a folder with two more."""
    monkeypatch.chdir(tmp_path)
    for name in ("2024-10", "2024-14", "2024-18"):
        month(name)
    Path("web.yaml").write_text("read: {jsonl: data/2024-10}" + STEPS)
    assert corpusmill("run", "web.yaml")[0] == 0
    return tmp_path


def written(folder: str) -> dict[str, bytes]:
    files = (path for path in Path(folder, "output").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def from_nothing(corpusmill, of: str) -> dict[str, bytes]:
    """What a run of the recipe that a run has now gives in a folder of its own."""
    Path("all.yaml").write_text(corpusmill("recipe", of)[1])
    status, _, err = corpusmill("run", "all.yaml", "--folder", "anew")
    assert status == 0, err
    return written("anew")


def test_a_month_more_gives_the_bytes_of_a_run_on_both(crawl, corpusmill):
    status, out, err = corpusmill("add", "run", "data/2024-14")
    assert status == 0 and "add 2 files to jsonl: data/2024-14/part-0.jsonl" in err
    assert "84 documents in, 81 out" in out  # of both, in one waterfall
    assert written("run") == from_nothing(corpusmill, "run")
    # Names are those of before, so ids are: what was read first is kept.
    names = [file["name"] for file in RunFolder("run").record()["inputs"]["jsonl"]]
    assert names == ["part-0.jsonl", "part-1.jsonl", "../2024-14/part-0.jsonl", "../2024-14/part-1.jsonl"]


def test_files_beside_the_first_ones_need_no_root(crawl, corpusmill):
    """Then the bytes are those of a recipe that a user would write for all of them."""
    Path("one.yaml").write_text("read: {jsonl: data/2024-10/part-0.jsonl}" + STEPS.replace("run}", "grown}"))
    Path("both.yaml").write_text("read: {jsonl: data/2024-10}" + STEPS.replace("run}", "both}"))
    assert corpusmill("run", "one.yaml")[0] == corpusmill("run", "both.yaml")[0] == 0
    assert corpusmill("add", "grown", "data/2024-10/part-1.jsonl")[0] == 0
    assert written("grown") == written("both")
    assert "root" not in RunFolder("grown").record()["recipe"]


def test_units_of_earlier_months_are_kept(tmp_path, monkeypatch, corpusmill):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
        lines = (json.dumps({"text": f"{name} {i} " + "word " * 2000}) + "\n" for i in range(450))
        Path(name, "x.jsonl").write_text("".join(lines))  # above half a unit: one of its own
    Path("web.yaml").write_text("read: {jsonl: a}" + STEPS)
    assert corpusmill("run", "web.yaml")[0] == 0
    status, out, _ = corpusmill("add", "run", "b", "--dry-run", "--json")
    assert status == 0 and json.loads(out)["first_pass"] == {"units": 2, "kept": 1, "new": 1}
    assert not Path("run/collection.json").exists()
    status, out, _ = corpusmill("add", "run", "b", "--json")
    found = json.loads(out)
    assert found["units"]["pass-1"]["done_now"] == 1 and found["units"]["pass-1"]["units"] == 2
    assert found["add"]["files"] == {"jsonl": ["b/x.jsonl"]} and found["documents_in"] == 900


def test_what_is_removed_leaves_the_outputs_as_if_it_had_never_been(crawl, corpusmill):
    before = written("run")
    assert corpusmill("add", "run", "data/2024-14", "data/2024-18")[0] == 0
    status, _, err = corpusmill("remove", "run", "data/2024-14/part-0.jsonl")
    assert status == 0 and "remove 1 file from jsonl: data/2024-14/part-0.jsonl" in err
    assert "data/2024-14/part-0.jsonl" not in [f["path"] for f in RunFolder("run").record()["inputs"]["jsonl"]]
    assert written("run") == from_nothing(corpusmill, "run")
    assert corpusmill("remove", "run", "data/2024-1[48]")[0] == 0
    assert written("run") == before
    # The same pattern has it again.
    status, _, err = corpusmill("add", "run", "data/2024-14", "data/2024-18")
    assert status == 0 and "left out, as they were removed from this run: data/2024-14/part-0.jsonl" in err
    assert corpusmill("add", "run", "data/2024-14/part-0.jsonl")[0] == 0
    assert len(RunFolder("run").record()["inputs"]["jsonl"]) == 6


def test_a_file_that_is_gone_can_be_removed(crawl, corpusmill):
    assert corpusmill("add", "run", "data/2024-14/part-0.jsonl")[0] == 0
    Path("data/2024-14/part-0.jsonl").unlink()
    assert corpusmill("add", "run")[0] == 2
    assert corpusmill("remove", "run", "data/2024-14/part-0.jsonl")[0] == 0


def test_the_first_recipe_does_not_drop_what_was_added(crawl, corpusmill):
    assert corpusmill("add", "run", "data/2024-14")[0] == 0
    whole = written("run")
    for verb in (("run", "web.yaml"), ("work", "web.yaml", "--processes", 1)):
        status, _, err = corpusmill(*verb)
        assert status == 2 and "does not have what was added to it: data/2024-14" in err, verb
        assert "corpusmill add run" in err and "corpusmill recipe run > all.yaml" in err
    assert written("run") == whole
    Path("all.yaml").write_text(corpusmill("recipe", "run")[1])
    assert corpusmill("run", "all.yaml")[0] == 0
    assert corpusmill("run", "web.yaml", "--restart")[0] == 0  # that was asked for
    assert len(RunFolder("run").record()["inputs"]["jsonl"]) == 2


def test_the_first_recipe_does_not_bring_back_what_was_removed(crawl, corpusmill):
    assert corpusmill("remove", "run", "data/2024-10/part-1.jsonl")[0] == 0
    status, _, err = corpusmill("run", "web.yaml")
    assert status == 2 and "has what was removed from it: data/2024-10/part-1.jsonl" in err


def test_a_recipe_with_more_inputs_goes_on_as_a_collection(crawl, corpusmill):
    """What somebody wrote into the recipe of a collection stays with the next addition."""
    assert corpusmill("add", "run", "data/2024-14/part-0.jsonl")[0] == 0
    Path("all.yaml").write_text(corpusmill("recipe", "run")[1])
    paths = "read.jsonl.paths=[data/2024-10, data/2024-14/part-0.jsonl, data/2024-14/part-1.jsonl]"
    assert corpusmill("run", "all.yaml", "--set", paths)[0] == 0
    assert corpusmill("add", "run", "data/2024-18")[0] == 0
    assert len(RunFolder("run").record()["inputs"]["jsonl"]) == 6


def test_what_was_added_before_the_run_was_stopped_is_read(crawl, corpusmill):
    """The run was killed behind the record of what is to be read."""
    record = (crawl / "run" / "run.json").read_bytes()
    assert corpusmill("add", "run", "data/2024-14")[0] == 0
    whole = written("run")
    (crawl / "run" / "run.json").write_bytes(record)
    assert corpusmill("add", "run")[0] == 0
    assert written("run") == whole


def test_workers_carry_on(crawl, corpusmill):
    status, out, _ = corpusmill("add", "run", "data/2024-14", "--prepare")
    assert status == 0 and "corpusmill work run" in out
    assert corpusmill("work", "run", "--processes", 1)[0] == 0
    assert len(RunFolder("run").record()["inputs"]["jsonl"]) == 4
    assert written("run") == from_nothing(corpusmill, "run")


def test_what_is_in_already_is_said_and_passed_over(crawl, corpusmill):
    status, out, err = corpusmill("add", "run", "data/2024-10/part-0.jsonl", crawl / "data" / "2024-10")
    assert status == 0 and "already in the run, skipped: data/2024-10/part-0.jsonl" in err
    assert "nothing to do" in out and len(RunFolder("run").record()["inputs"]["jsonl"]) == 2
    os.utime("data/2024-10/part-0.jsonl", ns=(1, 1))
    _, _, err = corpusmill("add", "run", "data/2024-10", "--dry-run")
    assert "changed since they were read, so read again: data/2024-10/part-0.jsonl" in err


def test_what_cannot_be_is_refused_with_what_to_do(crawl, corpusmill):
    for command, said in (
        (("add", "run", "data/2024-11"), "data/2024-11: no such file; did you mean"),
        (("add", "run", "data/2024-14", "--source", "jsonk"), 'has no source "jsonk"; did you mean "jsonl"?'),
        (("remove", "run", "data/2025-*"), "data/2025-*: no input of run is named by that"),
        (("remove", "run", "data/2024-10"), "jsonl: nothing would be left of this source"),
        (("add", "nowhere", "data/2024-14"), "nowhere: no run here"),
        (("add", "nowhere", "--list"), "nowhere: no run here"),
        (("add", "run", "data/2024-14", "--list"), "--list lists what the run has, and takes no INPUT"),
    ):
        status, _, err = corpusmill(*command)
        assert status == 2 and said in err, command
    assert not (crawl / "run" / "collection.json").exists()


def test_a_file_of_another_reader_is_refused_before_it_is_recorded(crawl, corpusmill):
    Path("rows.csv").write_text("id,text\n1,a\n")
    Path("odd.ending").write_text('{"text": "a"}\n')
    status, _, err = corpusmill("add", "run", "rows.csv")
    assert (
        status == 2 and "rows.csv: the source jsonl is read by `jsonl`, and this ending is one that `csv` reads" in err
    )
    assert not Path("run/collection.json").exists()
    assert corpusmill("add", "run", "odd.ending", "--dry-run")[0] == 0


def test_a_file_that_cannot_be_read_can_be_removed_and_is_named_where_another_is(crawl, corpusmill):
    Path("data/2024-10/part-1.jsonl").write_text("[1]\n")
    status, _, err = corpusmill("remove", "run", "data/2024-10/part-0.jsonl", "--dry-run")
    assert status == 2 and "part-1.jsonl: holds a JSON list" in err and "can be removed in the same command" in err
    assert corpusmill("remove", "run", "data/2024-10/part-1.jsonl", "--dry-run")[0] == 0


def test_of_several_sources_it_is_said_which(tmp_path, monkeypatch, corpusmill):
    monkeypatch.chdir(tmp_path)
    month("a")
    month("b")
    Path("notes").mkdir()
    Path("notes/one.txt").write_text("a note of some words\n")
    read = "read:\n  - jsonl: {paths: data/a/part-0.jsonl, source: first}\n"
    read += "  - jsonl: {paths: data/a/part-1.jsonl, source: second}\n  - text: notes\n"
    Path("web.yaml").write_text(read + STEPS)
    assert corpusmill("run", "web.yaml")[0] == 0
    status, _, err = corpusmill("add", "run", "data/b")
    assert status == 2 and "Name the source to add them to with --source: first, second" in err
    assert corpusmill("add", "run", "data/b", "--source", "second")[0] == 0
    Path("more.txt").write_text("more words of another note\n")
    status, _, err = corpusmill("add", "run", "more.txt")
    assert status == 0 and "add 1 file to text: more.txt" in err
    status, out, _ = corpusmill("add", "run", "--list", "--json")
    rows = json.loads(out)["inputs"]
    assert [(row["source"], row["path"], row["files"]) for row in rows] == [
        ("first", "data/a/part-0.jsonl", 1), ("second", "data/a/part-1.jsonl", 1), ("second", "data/b", 2),
        ("text", "notes", 1), ("text", "more.txt", 1),
    ]  # fmt: skip
    assert [row["added"] is not None for row in rows] == [False, False, True, False, True]
    assert [(row["read"], row["kept"]) for row in rows] == [(21, 21), (21, 20), (42, 40), (1, 1), (1, 1)]
    assert sum(row["read"] for row in rows) == mill.open("run").waterfall.documents_in
    _, out, _ = corpusmill("add", "run", "--list", "--files")
    assert "data/b/part-1.jsonl" in out and "second: 3 files" in out


def test_names_are_relative_to_the_root_and_exclude_leaves_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    month("a")
    month("b")
    source = Source(JsonlReader(), ["data/a", "data/b"], root="data/b", exclude="data/*/part-1.jsonl")
    assert [file.name for file in files_of(source)] == ["part-0.jsonl", "../a/part-0.jsonl"]
    assert files_of(Source(JsonlReader(), "data/a", root="."))[0].name == "data/a/part-0.jsonl"
    made = mill.Recipe(read=[source])
    assert mill.Recipe.parse(made.dump()) == made and mill.Recipe.parse(made.dump(resolved=True)) == made
    assert made.fingerprint() != mill.Recipe(read=[Source(JsonlReader(), ["data/a", "data/b"])]).fingerprint()
    with pytest.raises(RecipeError, match="exclude: a path is empty"):
        Source(JsonlReader(), "data/a", exclude=[""])
    done = mill.run(made, folder="run", executor=Serial())
    assert done.waterfall.documents_in == 42
