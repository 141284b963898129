"""`corpusmill work`: workers without a head, who share nothing but the folder of the run."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from corpusmill.engine.plan import identity
from corpusmill.errors import InputError, RefusedFolder, StorageError
from corpusmill.ops import worker
from corpusmill.recipe.model import Recipe
from corpusmill.store.leases import RESULTS, Leases, Peers, read_worker, write_worker
from corpusmill.store.locks import if_alone, only_driver, with_others
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from test_every_executor import output

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture
def recipe(two_sources):
    return two_sources.parent / "two.yaml"


def start(recipe, folder, *options):
    command = [sys.executable, "-m", "corpusmill.cli", "work", str(recipe), "--processes", "1", "--lease", "3"]
    where = () if folder is None else ("--folder", str(folder))
    return subprocess.Popen(
        [*command, *where, *map(str, options)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def test_three_workers_leave_the_bytes_of_a_run_and_one_publishes(two_sources, recipe, tmp_path):
    workers = [start(recipe, tmp_path / "run", "--index", index, "--of", 3, "--json") for index in range(3)]
    said = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], said
    found = [json.loads(out) for out, _ in said]
    assert sum(one["published"] for one in found) == 1
    assert output(tmp_path / "run") == output(two_sources)
    every = [counts for one in found if not one["nothing"] for counts in one["units"].values()]
    assert sum(counts["done_now"] for counts in every) == sum(
        len(r) for r in RunFolder(str(tmp_path / "run")).results().values()
    )
    # Nothing is left of how they agreed, and run.json knows of all who took part.
    assert not list((tmp_path / "run").rglob("leases")) and not (tmp_path / "run" / "workers").exists()
    record = RunFolder(str(tmp_path / "run")).record()
    assert [call["outcome"] for call in record["calls"]] == ["finished"] * sum(not one["nothing"] for one in found)


def test_who_comes_late_says_that_the_run_is_finished(corpusmill, recipe, tmp_path):
    assert corpusmill("work", recipe, "--folder", tmp_path / "run", "--processes", 1)[0] == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    for command in ((recipe, "--folder", tmp_path / "run"), (tmp_path / "run",)):
        status, out, _ = corpusmill("work", *command)
        assert status == 0 and "nothing to do: the run is finished" in out
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_who_comes_late_tidies_up_for_one_that_ended_when_it_had_published(recipe, tmp_path, monkeypatch):
    """As in a bucket, where no lock says that nobody is at work any more."""
    monkeypatch.setattr(worker, "if_alone", lambda run: nullcontext(False))

    def away(run):
        raise StorageError("the store is away")

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(worker, "_tidy_leases", away)
        with pytest.raises(StorageError, match="away"):
            worker.work(recipe, folder=str(folder), processes=1, progress=False)
    assert len(list(folder.rglob("leases"))) > 2
    assert worker.work(recipe, folder=str(folder), processes=1, progress=False).nothing
    assert not list(folder.rglob("leases"))


def test_a_run_that_was_prepared_needs_no_recipe(corpusmill, two_sources, recipe, tmp_path):
    status, out, _ = corpusmill("work", recipe, "--folder", tmp_path / "run", "--prepare")
    assert status == 0 and f"corpusmill work {tmp_path / 'run'}" in out
    assert not list((tmp_path / "run").glob("stages/*/commits/*"))
    assert corpusmill("work", tmp_path / "run", "--processes", 1)[0] == 0
    assert output(tmp_path / "run") == output(two_sources)


def test_what_run_has_begun_others_end(corpusmill, two_sources, recipe, tmp_path):
    """And the other way round: commits are commits."""
    worker.work(recipe, folder=str(tmp_path / "run"), processes=1, progress=False)
    status, out, _ = corpusmill("run", recipe, "--folder", tmp_path / "run")
    assert status == 0 and "nothing to do" in out
    assert not (tmp_path / "run" / "finished.json").exists()  # what was published then is not there any more
    done = worker.work(recipe, folder=str(tmp_path / "run"), processes=1, progress=False)
    assert done.published and not any(counts.done_now for counts in done.units.values())
    assert output(tmp_path / "run") == output(two_sources)


def test_other_versions_are_refused_with_both(recipe, tmp_path, monkeypatch):
    folder = str(tmp_path / "run")
    worker.prepare(Recipe.load(recipe), folder)
    installed = identity._installed
    other = {"xxhash": ("xxhash", "1.0.99")}
    monkeypatch.setattr(identity, "_installed", lambda module: other.get(module) or installed(module))
    with pytest.raises(RefusedFolder, match=r"was planned with xxhash [^ ]*, and this machine has 1\.0\.99.*--prepare"):
        worker.work(recipe, folder=folder, processes=1, progress=False)
    assert not (tmp_path / "run" / "workers").exists()


def test_another_recipe_is_refused_until_the_run_is_prepared_anew(recipe, two_sources, tmp_path):
    folder = str(tmp_path / "run")
    worker.work(recipe, folder=folder, processes=1, progress=False)
    other = Recipe.load(recipe, "steps.concat.length=16")
    with pytest.raises(RefusedFolder, match=r"planned otherwise.*length was 32, is 16"):
        worker.work(other, folder=folder, processes=1, progress=False)
    worker.prepare(other, folder)
    done = worker.work(other, folder=folder, processes=1, progress=False)
    assert not done.units["pass-1"].done_now and done.units["shards"].done_now


def test_input_that_was_added_since_is_refused(recipe, two_sources, tmp_path):
    folder = str(tmp_path / "run")
    (tmp_path / "a.jsonl").write_bytes((two_sources.parent / "news.jsonl").read_bytes())
    text = f"read: {{jsonl: {tmp_path}/*.jsonl}}\nwrite: jsonl\n"
    (tmp_path / "small.yaml").write_text(text)
    worker.work(tmp_path / "small.yaml", folder=folder, processes=1, progress=False)
    (tmp_path / "b.jsonl").write_bytes((two_sources.parent / "code.jsonl").read_bytes())
    with pytest.raises(Exception, match=r"planned from other input.*--prepare"):
        worker.work(tmp_path / "small.yaml", folder=folder, processes=1, progress=False)


def test_a_recipe_with_a_secret_is_not_taken_from_the_record(tmp_path):
    with pytest.raises(InputError, match="no run here"):
        worker.of_run(str(tmp_path))


@pytest.mark.parametrize("wrong", [("--index", 3, "--of", 3), ("--index", 3), ("--of", 2)])
def test_numbers_that_make_no_sense(corpusmill, recipe, tmp_path, wrong):
    status, _, err = corpusmill("work", recipe, "--folder", tmp_path / "run", *wrong)
    assert status == 2 and "give both or neither" in err and not (tmp_path / "run").exists()


@POSIX
def test_run_and_work_do_not_share_a_folder_at_a_time(recipe, tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    run.make()
    with only_driver(run), pytest.raises(RefusedFolder, match=r"`corpusmill run` \(process \d+\) is at work"):
        worker.work(recipe, folder=run.place, processes=1, progress=False)
    refused = pytest.raises(RefusedFolder, match="workers of `corpusmill work` are at work")
    with with_others(run), refused, only_driver(run):
        pass


@POSIX
def test_a_worker_waits_for_one_that_tidies_up(tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    run.make()
    tidies, tidied = threading.Event(), threading.Event()

    def tidy():
        with if_alone(run) as alone:
            assert alone
            tidies.set()
            time.sleep(0.2)
            tidied.set()

    thread = threading.Thread(target=tidy)
    thread.start()
    tidies.wait()
    with with_others(run):
        assert tidied.is_set()
    thread.join()


@POSIX
def test_who_is_asked_to_end_gives_back_and_says_that_it_can_be_started_again(recipe, two_sources, tmp_path):
    run = RunFolder(str(tmp_path / "run"))
    worker.prepare(Recipe.load(recipe), run.place)
    # Another has the first unit, so this one cannot come to the end.
    (stage, *_) = run.read(STAGES_RECORD)
    write_worker(run, "other", {"lease": 60.0, "beat": 1, "state": "working"})
    assert Leases(Peers(run, "other", 60.0), f"stages/{stage['folder']}/leases").take(RESULTS)
    process = start(run.place, None)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "run").glob("stages/*/commits/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGTERM)  # as Slurm does
    _, err = process.communicate()
    assert process.returncode == 75, err
    assert "is given back, and others do it" in err and "Traceback" not in err
    (name,) = [path.stem for path in (tmp_path / "run" / "workers").iterdir() if path.stem != "other"]
    assert read_worker(run, name)["state"] == "ended"
    write_worker(run, "other", {"lease": 60.0, "beat": 1, "state": "ended"})
    worker.work(recipe, folder=run.place, processes=1, progress=False)
    assert output(Path(run.place)) == output(two_sources)
