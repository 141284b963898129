import os
import subprocess
import sys

import pytest

from corpusmill.execute import warm_start as fork_server
from corpusmill.execute.warm_start import ENGINE, start_for

RECIPE = """
read:
  - jsonl: {paths: "*.jsonl"}
  - warc: {paths: "*.warc.gz"}
steps:
  - filter/gopher_quality
  - dedup/minhash: {threshold: 0.7}
"""


@pytest.fixture
def started(monkeypatch):
    found: list[str] = []
    monkeypatch.setattr(fork_server, "start", found.append)
    return found


def test_what_a_recipe_names_is_imported_and_then_the_engine(tmp_path, started):
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    start_for(path, ["steps.minhash.bands=20"])
    steps = ["corpusmill.steps.dedup.minhash", "corpusmill.steps.filter.gopher_quality"]
    assert started == [[*steps, "corpusmill.read.jsonl", "corpusmill.read.warc", ENGINE]]


@pytest.mark.parametrize(
    ("line", "setting"), [("run: {executor: serial}", ""), ("", "run.executor=serial"), ('"executor": "ray"', "")]
)
def test_a_recipe_that_runs_elsewhere_starts_no_server(tmp_path, started, line, setting):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"{RECIPE}\n{line}\n")
    start_for(path, [setting])
    assert not started


def test_one_that_says_what_is_the_rule_does(tmp_path, started):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"{RECIPE}\nrun: {{executor: processes}}\n")
    start_for(path, [])
    assert started


def test_a_recipe_that_cannot_be_read_is_left_to_who_reads_it(tmp_path, started):
    start_for(tmp_path / "none.yaml", [])
    start_for(tmp_path, [])
    (tmp_path / "latin.yaml").write_bytes(b"\xe9")
    start_for(tmp_path / "latin.yaml", [])
    assert not started


@pytest.mark.skipif(os.name == "nt", reason="no sockets with paths")
def test_a_folder_for_temporary_files_may_be_deep(tmp_path):
    deep = tmp_path / "of-a-job-with-a-long-name" / "and-a-longer-one-of-its-user"
    deep.mkdir(parents=True)
    code = (
        "from corpusmill.execute import warm_start as w; p = w.context().Process(target=print); p.start(); p.join();"
        "raise SystemExit(p.exitcode)"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(deep)}, check=True)
    assert not list(deep.iterdir())
