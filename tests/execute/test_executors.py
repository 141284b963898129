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
from works import FillsTheDisk, Plan, Square

from corpusmill.errors import AssetError, ResumeError, StorageError
from corpusmill.execute.commits import StageFolder
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.units import Unit, map_arrays

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


UNITS = [Unit(i, (i + 1,)) for i in range(7)]


def carry_out(executor, root, work, units=UNITS):
    told = []
    failures = executor.run(root, "squares", work, units, lambda commit: told.append(commit.unit))
    return failures, sorted(told), StageFolder(root, "squares").commits()


def squares(root, commits):
    return {n: int(map_arrays(root / c.outputs["squares"].path)["value"][0]) for n, c in commits.items()}


@pytest.mark.parametrize("outcome", ["passes", "kills"])
def test_checks_are_called_before_units_are(executor, tmp_path, outcome):
    executor.check([Plan(outcome, os.getpid()).check])
    assert squares(tmp_path, carry_out(executor, tmp_path, Square())[2])[6] == 49


def test_a_check_that_fails_says_why_here(executor):
    with pytest.raises(AssetError, match="no such model"):
        executor.check([Plan("passes", 0).check, Plan("fails", 0).check])


def test_a_check_that_cannot_be_sent_is_called_here(executor):
    called = []
    executor.check([lambda: called.append(1)])
    assert called == [1]


def test_every_unit_is_committed_once(executor, tmp_path):
    failures, told, commits = carry_out(executor, tmp_path, Square())
    assert not failures
    assert told == list(range(7))
    assert squares(tmp_path, commits) == {i: (i + 1) ** 2 for i in range(7)}


def test_a_unit_that_always_fails_blocks_no_other(executor, tmp_path):
    failures, told, _ = carry_out(executor, tmp_path, Square(raises=(2,)))
    assert [(f.unit, f.error) for f in failures] == [(2, "ValueError: unit 2 is cursed")]
    assert "raise ValueError" in failures[0].traceback
    assert told == [0, 1, 3, 4, 5, 6]


def test_a_unit_that_stumbles_is_tried_again_and_leaves_an_orphan_only(executor, tmp_path):
    failures, told, commits = carry_out(executor, tmp_path, Square(stumbles=(3,)))
    assert not failures and told == list(range(7))
    assert len(list((tmp_path / "squares" / "squares").iterdir())) == 8
    StageFolder(tmp_path, "squares").tidy()
    assert len(list((tmp_path / "squares" / "squares").iterdir())) == 7
    assert squares(tmp_path, commits)[3] == 16


def test_a_worker_that_is_killed_costs_one_attempt_of_one_unit(pool, tmp_path):
    failures, told, _ = carry_out(pool, tmp_path, Square(dies=(0, 4)))
    assert not failures and told == list(range(7))


def test_a_worker_that_is_killed_in_every_attempt_is_a_failure_with_a_reason(tmp_path):
    with closing(Processes(2, attempts=1)) as pool:
        failures, told, _ = carry_out(pool, tmp_path, Square(dies=(1,)))
    assert [f.unit for f in failures] == [1]
    assert "exit status -9 (killed; often because memory ran out" in failures[0].error
    assert told == [0, 2, 3, 4, 5, 6]


def test_what_no_second_attempt_can_cure_stops_at_once(executor, tmp_path):
    with pytest.raises(AssetError, match="no such model"):
        carry_out(executor, tmp_path, Square(incurable=(0,)))


def test_a_full_disk_stops_the_run_and_says_what_to_do(executor, tmp_path):
    with pytest.raises(StorageError, match=r"the disk is full \(\d+ MiB free\).*run the same command again"):
        carry_out(executor, tmp_path, FillsTheDisk())


def test_workers_stay_for_the_next_stage(pool, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    carry_out(pool, tmp_path / "a", Square())
    failures, _, commits = carry_out(pool, tmp_path / "b", Square(raises=(1,)))
    assert [f.unit for f in failures] == [1]
    assert squares(tmp_path / "b", commits)[0] == 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_workers_die_with_a_driver_that_is_killed(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from works import Square\nfrom corpusmill.execute.processes import Processes\nfrom corpusmill.units import Unit\n"
        "if __name__ == '__main__':\n"
        "    Processes(2).run(Path(sys.argv[2]), 's', Square(seconds=60), [Unit(i, (i,)) for i in range(2)], print)\n"
    )
    script = tmp_path / "driver.py"
    script.write_text(code)
    here = str(Path(__file__).parent)
    driver = subprocess.Popen([sys.executable, str(script), here, str(tmp_path)], start_new_session=True)
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
    from corpusmill.execute.commits import run_unit

    run_unit(root, "squares", Square(), Unit(0, (5,)))


def test_of_attempts_that_race_exactly_one_counts(tmp_path):
    context = multiprocessing.get_context("forkserver")
    barrier = context.Barrier(4)
    racers = [context.Process(target=race, args=(tmp_path, barrier)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
        assert racer.exitcode == 0
    commits = StageFolder(tmp_path, "squares").commits()
    assert list(commits) == [0]
    assert squares(tmp_path, commits) == {0: 25}


def test_a_commit_whose_output_was_cut_is_refused(tmp_path):
    _, _, commits = carry_out(Serial(), tmp_path, Square())
    os.truncate(tmp_path / commits[4].outputs["squares"].path, 10)
    with pytest.raises(ResumeError, match=r"says \d+ bytes, found 10"):
        StageFolder(tmp_path, "squares").commits()


def test_a_plan_that_changed_is_refused(tmp_path):
    folder = StageFolder(tmp_path, "squares")
    folder.plan(UNITS)
    folder.plan(UNITS)
    with pytest.raises(ResumeError, match="not those that were planned here"):
        folder.plan(UNITS[:-1])
