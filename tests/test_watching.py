import json
import shutil

import pytest

from corpusmill.ops.watch import Watcher
from corpusmill.store.leases import write_worker
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder


@pytest.fixture
def begun(two_sources, tmp_path):
    """A run that two workers are at, as one of them was killed: the first stage has lost a unit, and its results."""
    folder = tmp_path / "run"
    shutil.copytree(two_sources, folder)
    run = RunFolder(str(folder))
    (first, *_) = run.read(STAGES_RECORD)
    stage = folder / "stages" / first["folder"]
    for results in (stage / "results").iterdir():
        results.unlink()
    commit = sorted((stage / "commits").iterdir())[0]
    commit.rename(folder / commit.name)
    (stage / "leases").mkdir()
    (stage / "leases" / f"{commit.stem}-1.json").write_text('{"worker": "one"}')
    unit = {"unit": 0, "key": commit.stem, "seconds": 3.0}
    about = {"host": "node1", "stage": first["stage"], "call": {"started": "2026-11-22T20:00:41Z"}}
    write_worker(run, "one", {**about, "lease": 60.0, "beat": "1-1", "state": "working", "units": [unit]})
    write_worker(run, "two", {**about, "lease": 60.0, "beat": "2-1", "state": "ended", "error": "the store is full"})
    return run


def test_a_run_that_is_finished_says_so_and_ends(corpusmill, two_sources):
    status, out, _ = corpusmill("watch", two_sources)
    assert status == 0 and out.startswith("two: finished, ")


def test_where_there_is_no_run(corpusmill, tmp_path):
    assert corpusmill("watch", tmp_path)[0] == 2


def test_one_look_says_who_is_at_work_how_fast_it_is_and_how_long_it_takes(corpusmill, begun):
    status, out, _ = corpusmill("watch", begun.place, "--once", "--json")
    seen = json.loads(out)
    assert status == 0 and not seen["finished"]
    first, *later = seen["stages"]
    assert (first["state"], first["units"] - first["committed"], first["leased"]) == ("at work", 1, 1)
    assert {stage["state"] for stage in later} == {"to come"}
    assert [(worker["worker"], worker["state"]) for worker in seen["workers"]] == [("one", "working"), ("two", "ended")]
    assert 0 <= seen["share"] < 1
    out = corpusmill("watch", begun.place, "--once")[1]
    assert "1 at work" in out and "2026-11-22 20:00:41" in out and "two: the store is full" in out
    (commit,) = begun.path.glob("?" * 20 + ".json")
    commit.rename(next(begun.path.glob("stages/*/leases")).parent / "commits" / commit.name)
    seen = json.loads(corpusmill("watch", begun.place, "--once", "--json")[1])
    assert seen["documents_per_second"] > 0 and 0 <= seen["left"] < seen["overall_left"]


def test_a_worker_that_says_nothing_for_its_lease_is_silent(begun):
    clock = [0.0]
    watcher = Watcher(begun, lambda: clock[0])
    assert watcher.look().workers[0].state == "working"
    clock[0] = 61.0
    seen = watcher.look()
    assert seen.workers[0].state == "silent" and seen.quiet == 61.0
