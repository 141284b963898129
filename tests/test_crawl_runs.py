"""Runs that read a crawl by its name: the same bytes whoever does them, however often they are killed, and with the
index asked once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpusmill.engine.plan.selections import with_selections
from corpusmill.read.commoncrawl import CommoncrawlReader
from corpusmill.recipe import Recipe
from corpusmill.store.run_folder import RunFolder
from made_crawl import CRAWL, make, serving

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
WHERE = "url_host_registered_domain = 'example.is' OR content_languages = 'eng'"
SELECTED = 183  # records: 180 pages and three rows that name what is not there
FAULTS = ["403", "429", "503", "cut", "wrong range", "slow"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(make(tmp_path_factory.mktemp("crawl"), files=6, pages=30, noise=12_000)) as server:
        yield server


@pytest.fixture
def recipe(server, tmp_path):
    server.reset()
    path = tmp_path / "crawl.yaml"
    path.write_text(
        f"""
read:
  commoncrawl:
    crawl: {CRAWL}
    where: "{WHERE}"
    paths: {server.url}
    contact: made@example.org
    requests_per_second: 2000
steps: [extract/blocks, clean/normalize, dedup/exact]
write: jsonl
run: {{error_budget: 0.1, unit_mb: 1}}
"""
    )
    return path


@pytest.fixture(scope="module")
def expected(server, tmp_path_factory):
    """What a run in one process writes, of the same crawl."""
    folder = tmp_path_factory.mktemp("expected")
    path = folder / "crawl.yaml"
    path.write_text(
        f'read: {{commoncrawl: {{crawl: {CRAWL}, where: "{WHERE}", paths: {server.url}, contact: me, requests_per_second: 900}}}}\n'
        "steps: [extract/blocks, clean/normalize, dedup/exact]\nwrite: jsonl\nrun: {error_budget: 0.1, unit_mb: 1}\n"
    )
    run = start("run", path, "--folder", folder / "run", "--workers", 1)
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    return output(folder / "run")


def start(verb, recipe, *options):
    command = [sys.executable, "-m", "corpusmill.cli", verb, str(recipe), *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def output(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "output" / "jsonl").glob("*.jsonl*"))}


def test_two_workers_and_a_server_with_faults_give_the_same_bytes(server, recipe, expected, tmp_path, corpusmill):
    server.fault = lambda number, path: FAULTS[number // 2 % len(FAULTS)] if number % 2 else None
    run = start("run", recipe, "--folder", tmp_path / "run", "--workers", 2, "--json")
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    assert output(tmp_path / "run") == expected and set(FAULTS) <= server.faults.keys()
    query = "SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM dead) AS records"
    status, out, err = corpusmill("sql", tmp_path / "run", query, "--json")
    assert status == 0 and json.loads(out)["rows"] == [[SELECTED]], out + err


def test_check_says_how_much_is_asked_for_and_a_run_asks_the_index_once(server, recipe, corpusmill, tmp_path):
    folder = tmp_path / "run"
    status, out, _ = corpusmill("check", recipe, "--folder", folder)
    assert status == 0 and f"{SELECTED} selected records, " in out and " requests\n" in out
    asked = len([path for _, path, _ in server.requests if "cc-index" in path])
    assert asked
    status, out, err = corpusmill("run", recipe, "--folder", folder, "--workers", 1)
    assert status == 0, err
    assert len([path for _, path, _ in server.requests if "cc-index" in path]) == asked
    server.reset()
    status, _, err = corpusmill("run", recipe, "--folder", folder, "--workers", 1)
    assert status == 0 and "nothing to do" in err
    assert len(server.requests) <= 3  # a look at the first records of three files, as of any input
    for settings, nothing in (
        (("contact=other@example.org",), True),
        (("contact=you@example.org", f"where={WHERE} -- "), False),
    ):
        words = [word for each in settings for word in ("--set", f"read.commoncrawl.{each}")]
        status, _, err = corpusmill("run", recipe, "--folder", folder, "--workers", 1, *words)
        assert status == 0 and "nothing to do" in err, err  # another question with the same answer fetches nothing
        assert not nothing or not [path for _, path, _ in server.requests if "cc-index" in path]
    status, out, _ = corpusmill("explain", folder, "https://www.example.is/3")
    assert status == 0 and "CC-MAIN-20260601000000-00000.warc.gz" in out


@POSIX
def test_a_run_that_is_killed_again_and_again_goes_on_to_the_same_bytes(server, recipe, expected, tmp_path):
    drawn = random.Random(11)
    server.fault = lambda number, path: "slow" if drawn.random() < 0.3 else None
    for _ in range(6):
        run = start("run", recipe, "--folder", tmp_path / "run", "--workers", 2)
        time.sleep(drawn.uniform(0.2, 5.0))
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    run = start("run", recipe, "--folder", tmp_path / "run", "--workers", 2)
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    assert output(tmp_path / "run") == expected


def test_workers_that_share_a_run_give_the_same_bytes(recipe, expected, tmp_path):
    options = ("--folder", tmp_path / "run", "--processes", 1, "--of", 2)
    workers = [start("work", recipe, *options, "--index", index) for index in range(2)]
    told = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], "\n".join(map("".join, told))
    assert output(tmp_path / "run") == expected


def test_who_is_late_to_ask_takes_the_answer_of_a_worker_that_was_faster(recipe, tmp_path, monkeypatch):
    run, loaded, select = RunFolder(str(tmp_path / "run")), Recipe.load(recipe), CommoncrawlReader.select

    def late(self, location, target, scratch):
        monkeypatch.setattr(CommoncrawlReader, "select", select)
        with_selections(loaded, run)  # the other's, which removes what both write to
        assert not scratch.exists()
        raise FileNotFoundError(scratch)

    monkeypatch.setattr(CommoncrawlReader, "select", late)
    (source,) = with_selections(loaded, run).read
    assert [Path(path).is_file() for path in source.paths] == [True]
