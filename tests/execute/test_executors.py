import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from works import FillsTheDisk, Number, Plan, Square

from corpusmill import execute
from corpusmill.errors import AssetError, RecipeError, ResumeError, StorageError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.store.arrays import map_arrays
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import Unit

EXECUTORS: dict[str, Any] = {"serial": Serial, "one": lambda: Processes(1), "three": lambda: Processes(3)}


@pytest.fixture(params=list(EXECUTORS))
def executor(request):
    made = EXECUTORS[request.param]()
    yield made
    made.close()


@pytest.fixture(params=["one", "three"])
def pool(request):
    made = EXECUTORS[request.param]()
    yield made
    made.close()


def unit(value, key=None):
    return Unit(value - 1, key or f"{value:020x}", Number(value))


UNITS = [unit(value) for value in range(1, 8)]
KEYS = [made.key for made in UNITS]


def task(root, work, name="squares-0"):
    run = RunFolder(str(root))
    run.make()
    return StageTask(run, name, work)


def carry_out(executor, root, work, units=UNITS):
    """Failures, the keys that were told of, and what is committed."""
    commits = []
    failures = executor.run(task(root, work), units, lambda commit: commits.append(commit.key))
    return failures, sorted(commits), folder(root).collect(KEYS)


def folder(root):
    return RunFolder(str(root)).stage("squares-0")


def squares(root, collected):
    """Value -> its square, as written."""
    results = folder(root).finished(collected, KEYS)
    written = [map_arrays(root / path)["value"][0] for path in results["squares"].paths.to_pylist()]
    return {value: int(square) for value, square in zip(results.notes["value"], written)}


@pytest.mark.parametrize("outcome", ["passes", "kills"])
def test_checks_are_called_before_units_are(executor, tmp_path, outcome):
    executor.check([Plan(outcome, os.getpid()).check])
    assert squares(tmp_path, carry_out(executor, tmp_path, Square())[2])[7] == 49


def test_a_check_that_fails_says_why_here(executor):
    with pytest.raises(AssetError, match="no such model"):
        executor.check([Plan("passes", 0).check, Plan("fails", 0).check])


def test_a_check_that_cannot_be_sent_is_called_here(executor):
    called = []
    executor.check([lambda: called.append(1)])
    assert called == [1]


def test_every_unit_is_committed_once(executor, tmp_path):
    failures, committed, collected = carry_out(executor, tmp_path, Square())
    assert not failures
    assert committed == KEYS
    assert squares(tmp_path, collected) == {i: i**2 for i in range(1, 8)}
    assert collected.facts == {"sum": 28}


def test_a_unit_that_always_fails_blocks_no_other(executor, tmp_path):
    failures, committed, _ = carry_out(executor, tmp_path, Square(raises=(3,)))
    assert [(f.unit, f.error) for f in failures] == [(unit(3), "ValueError: 3 is cursed")]
    assert "raise ValueError" in failures[0].traceback
    assert committed == [key for key in KEYS if key != unit(3).key]


def test_a_unit_that_stumbles_is_tried_again_and_leaves_an_orphan_only(executor, tmp_path):
    failures, committed, collected = carry_out(executor, tmp_path, Square(stumbles=(4,)))
    assert not failures and committed == KEYS
    written = tmp_path / "stages" / "squares-0" / "squares"
    assert len(list(written.iterdir())) == 8
    folder(tmp_path).remove_orphans(collected)
    assert len(list(written.iterdir())) == 7
    assert squares(tmp_path, collected)[4] == 16


def test_a_worker_that_is_killed_costs_one_attempt_of_one_unit(pool, tmp_path):
    failures, committed, _ = carry_out(pool, tmp_path, Square(dies=(1, 5)))
    assert not failures and committed == KEYS


def test_a_worker_that_is_killed_in_every_attempt_is_a_failure_with_a_reason(tmp_path):
    with closing(Processes(2, attempts=1)) as pool:
        failures, committed, _ = carry_out(pool, tmp_path, Square(dies=(2,)))
    assert [f.unit for f in failures] == [unit(2)]
    assert "exit status -9 (killed; often because memory ran out" in failures[0].error
    assert committed == [key for key in KEYS if key != unit(2).key]


def test_what_no_second_attempt_can_cure_stops_at_once(executor, tmp_path):
    with pytest.raises(AssetError, match="no such model"):
        carry_out(executor, tmp_path, Square(permanent=(1,)))


def test_a_full_disk_stops_the_run_and_says_what_to_do(executor, tmp_path):
    with pytest.raises(StorageError, match=r"the disk is full \(.* GB free of .*\).*run the same command again"):
        carry_out(executor, tmp_path, FillsTheDisk())


def test_workers_stay_for_the_next_stage(pool, tmp_path):
    carry_out(pool, tmp_path / "a", Square())
    failures, _, collected = carry_out(pool, tmp_path / "b", Square(raises=(2,)))
    assert [f.unit for f in failures] == [unit(2)]
    assert squares(tmp_path / "b", collected)[1] == 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_workers_die_with_a_driver_that_is_killed(tmp_path):
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from works import Square\nfrom test_executors import UNITS, task\n"
        "from corpusmill.execute.processes import Processes\n"
        "if __name__ == '__main__':\n"
        "    Processes(2).run(task(sys.argv[3], Square(seconds=60)), UNITS[:2], print)\n"
    )
    script = tmp_path / "driver.py"
    script.write_text(code)
    here = Path(__file__).parent
    command = [sys.executable, str(script), str(here), str(here.parent), str(tmp_path)]
    driver = subprocess.Popen(command, start_new_session=True)
    mine = lambda: [p for p in Path("/proc").iterdir() if p.name.isdigit() and session(p) == driver.pid]  # noqa: E731
    deadline = time.monotonic() + 30
    while len(mine()) < 4 and time.monotonic() < deadline:  # driver, fork server, two workers
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    while mine() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not mine()


def session(process):
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[3])


def race(root, barrier):
    barrier.wait()
    task(root, Square()).run_unit(unit(5))


def test_of_attempts_that_race_exactly_one_counts(tmp_path):
    context = multiprocessing.get_context("forkserver")
    barrier = context.Barrier(4)
    racers = [context.Process(target=race, args=(tmp_path, barrier)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
        assert racer.exitcode == 0
    collected = folder(tmp_path).collect(KEYS)
    assert list(collected.units) == [unit(5).key]
    assert squares(tmp_path, collected) == {5: 25}


def test_an_output_that_was_cut_is_refused(tmp_path):
    _, _, collected = carry_out(Serial(), tmp_path, Square())
    results = folder(tmp_path).finished(collected, KEYS)
    folder(tmp_path).check(results)
    os.truncate(tmp_path / results["squares"].path(4), 10)
    with pytest.raises(
        ResumeError, match=r"has 10 bytes, its commit says \d+\..* the unit that wrote this file is done again"
    ):
        folder(tmp_path).check(results)


def test_units_with_the_same_key_are_done_once_and_counted_for_each(tmp_path):
    twice = [unit(5), Unit(1, unit(5).key, Number(5))]
    collected = folder(tmp_path).collect([made.key for made in twice])
    Serial().run(task(tmp_path, Square()), twice[:1], collected.add)
    assert len(collected) == 2 and collected.facts == {"sum": 10}
    assert folder(tmp_path).finished(collected, [made.key for made in twice])["squares"].rows.tolist() == [1, 1]


def test_executors_are_found_by_their_names():
    assert execute.EXECUTORS == ("processes", "ray", "serial")
    assert execute.find("serial") is Serial and execute.find("processes") is Processes
    with pytest.raises(RecipeError, match='there is no executor "process"; did you mean "processes"'):
        execute.find("process")
