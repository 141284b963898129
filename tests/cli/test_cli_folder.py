"""Folders that cannot be, or must not be, a run's: `check` and `run` say so in one line before anything is read."""

import pytest

from made_run import write_corpus

ALL = "read: [jsonl: {{paths: {folder}/{pattern}}}]\nsteps: [filter/url]\nwrite: [jsonl]\n"


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("web.jsonl", r"is a file, not a folder. Name another folder, as in run.folder: runs/web"),
        ("web.jsonl/run", r"cannot be made: {tmp}/web.jsonl is a file"),
        (".", r"/. holds {tmp}/"),
        ("..", r"which this run reads: its files would be among its input, and --restart would remove both"),
    ],
)
def test_a_folder_that_is_something_else(corpusmill, tmp_path, verb, folder, said):
    status, out, err = corpusmill(verb, write_corpus(tmp_path), "--set", f"run.folder={tmp_path}/{folder}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said.format(tmp=tmp_path) in err and err.startswith("error: run.folder: ")


@pytest.mark.parametrize(
    ("pattern", "refused"),
    [("", True), ("**/*.jsonl", True), ("**", True), ("**/*.warc.jsonl", False), ("*.jsonl", False)],
)
def test_a_folder_inside_the_input_is_refused_where_the_input_would_grow_by_it(corpusmill, tmp_path, pattern, refused):
    write_corpus(tmp_path)
    (tmp_path / "a.warc.jsonl").write_text('{"text": "one"}\n')
    (tmp_path / "all.yaml").write_text(ALL.format(folder=tmp_path, pattern=pattern))
    status, _, err = corpusmill("check", tmp_path / "all.yaml", "--set", f"run.folder={tmp_path}/runs/x")
    assert (status, "is inside what this run reads" in err) == ((2, True) if refused else (0, False))


def test_damaged_records_are_one_line(corpusmill, tmp_path):
    recipe = write_corpus(tmp_path)
    assert corpusmill("run", recipe, "--folder", tmp_path / "run")[0] == 0
    (tmp_path / "run/waterfall.json").write_text('{"rows": 7}')
    status, out, err = corpusmill("report", tmp_path / "run")
    assert (status, out, err.count("\n")) == (1, "", 1) and "waterfall.json: not a waterfall" in err
    (tmp_path / "run/run.json").write_text('{"name": 7}')
    status, out, err = corpusmill("peek", tmp_path / "run")
    assert (status, out, err.count("\n")) == (1, "", 1) and "Run the recipe again in this folder" in err
    status, _, err = corpusmill("run", recipe, "--folder", tmp_path / "run")
    assert status == 0 and "run.json: not an object with name" in err
