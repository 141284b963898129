"""A run with little input: workers are copies of the command, and load the kernels that they call and no others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.execute.warm_start import LAZY_PRELOAD, SMALL, is_probably_small, method
from corpusmill.ops.kernels import preloaded

IS_COPY = pytest.mark.skipif(method() != "forkserver", reason="there is no fork server")

# Processes that a run starts: by fork, in whichever process, and as programs of their own.
COUNT = """
import os, sys
from multiprocessing import util

def note(word):
    with open({log!r}, "a") as file:
        file.write(word + "\\n")

spawn = util.spawnv_passfds
def noted(*arguments):
    note("program")
    return spawn(*arguments)

util.spawnv_passfds = noted
os.register_at_fork(after_in_child=lambda: note("fork"))
from corpusmill.cli import main
sys.argv = ["corpusmill", "run", {recipe!r}]
main()
"""
NO_KERNEL = """
import gc
import corpusmill.steps.dedup.minhash, corpusmill.steps.filter.gopher_quality
from corpusmill.engine import lazy_preload
from corpusmill.text.compile import Lazy
lazy = [each for each in gc.get_objects() if isinstance(each, Lazy)]
print(len(lazy) > 50, sum(each._made is not None for each in lazy))
"""


@pytest.fixture
def recipe(tmp_path):
    lines = (json.dumps({"text": f"Document {number} of the town by the river."}) + "\n" for number in range(100))
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    path = tmp_path / "recipe.yaml"
    read = f"read: {{jsonl: {tmp_path / 'docs.jsonl'}}}"
    steps = "steps: [filter/gopher_quality: {rules: [max_mean_word_length]}, dedup/exact, dedup/minhash]"
    path.write_text(f"{read}\n{steps}\nwrite: {{jsonl: {{}}}}\nrun: {{folder: {tmp_path / 'run'}}}\n")
    return path


def written(folder):
    return {path.relative_to(folder): path.read_bytes() for path in (folder / "output").rglob("*") if path.is_file()}


@IS_COPY
def test_a_hundred_documents_take_a_server_and_one_worker_and_give_the_same_bytes(tmp_path, recipe):
    log = tmp_path / "processes"
    code = COUNT.format(log=str(log), recipe=str(recipe))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    started = log.read_text().split()
    # Programs: Python's resource tracker alone. Copies: the server, and one worker for all stages.
    assert sorted(started) == ["fork", "fork", "program"]
    corpusmill.run(recipe, folder=tmp_path / "serial", executor=Serial())
    assert written(tmp_path / "run") == written(tmp_path / "serial") != {}


def test_workers_that_are_spawned_give_the_same_bytes(tmp_path, recipe, monkeypatch):
    """As on macOS and Windows."""
    monkeypatch.setenv("CORPUSMILL_START_METHOD", "spawn")
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    corpusmill.run(recipe, folder=tmp_path / "serial", executor=Serial())
    assert written(tmp_path / "run") == written(tmp_path / "serial") != {}


def test_the_engine_of_a_small_run_has_loaded_no_kernel():
    done = subprocess.run([sys.executable, "-c", NO_KERNEL], capture_output=True, text=True, check=True)
    assert done.stdout == "True 0\n"


@pytest.mark.parametrize("form", ["{}/docs.jsonl", "{}/*.jsonl", "{}", "${{HERE}}/docs.jsonl", "demo://pages.warc.gz"])
def test_input_is_looked_for_in_the_text_of_a_recipe(tmp_path, monkeypatch, form):
    monkeypatch.setenv("HERE", str(tmp_path))
    written = f"read:\n  - jsonl: {{paths: [{form.format(tmp_path)}]}}\nsteps: []\n"
    (tmp_path / "docs.jsonl").write_bytes(b"x" * 1000)
    assert is_probably_small(written)
    (tmp_path / "docs.jsonl").write_bytes(b"x" * SMALL)
    assert is_probably_small(written) == form.startswith("demo://")


@pytest.mark.parametrize("paths", ["s3://bucket/*.jsonl", "{}/none.jsonl", "{}/none/*.jsonl", "{}/*/docs.jsonl"])
def test_input_that_cannot_be_seen_is_taken_for_much(tmp_path, paths):
    (tmp_path / "docs.jsonl").write_bytes(b"x")
    assert not is_probably_small(f"read: {{jsonl: {paths.format(tmp_path)}}}\n")
    assert not is_probably_small(f"steps: []\nwrite: {{jsonl: {tmp_path}/docs.jsonl}}\n")


def test_input_may_be_given_with_the_command(tmp_path):
    (tmp_path / "docs.jsonl").write_bytes(b"x")
    (tmp_path / "more.jsonl").write_bytes(b"x" * SMALL)
    assert is_probably_small(f"steps: []\nread.0.paths={tmp_path}/docs.jsonl")
    assert not is_probably_small(f"read: {{jsonl: {tmp_path}/docs.jsonl}}\nread.0.paths={tmp_path}/more.jsonl")


def test_a_folder_is_listed_as_far_as_it_takes(tmp_path, monkeypatch):
    seen: list[str] = []
    for number in range(20):
        (tmp_path / f"{number}.jsonl").write_bytes(b"x" * (SMALL // 4))
    is_file = Path.is_file

    def noted(path):
        seen.append(path.suffix)
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", noted)
    assert not is_probably_small(f"read: {{jsonl: {tmp_path}}}\n")
    assert seen.count(".jsonl") == 4


def test_what_is_known_of_the_input_decides_what_workers_begin_with():
    assert preloaded(SMALL - 1)[-1] == LAZY_PRELOAD
    assert preloaded(SMALL)[-1] == preloaded()[-1] != LAZY_PRELOAD
