"""Drivers that share a stage. The others are played by what they would have written."""

import threading
import time
from contextlib import contextmanager

import pytest
from test_executors import KEYS, UNITS, folder, squares, task
from works import Square

from corpusmill.execute import ignored
from corpusmill.execute.announce import Announcer
from corpusmill.execute.leasing import LeasingExecutor
from corpusmill.execute.processes import Processes
from corpusmill.store.leases import ENDED, Leases, Peers, read_worker, write_worker
from corpusmill.store.run_folder import RunFolder

LEASE = 1.0  # seconds


@contextmanager
def driver(root, name="me", index=None, of=None, attempts=3):
    run = RunFolder(str(root))
    run.make()
    pool = Processes(2, attempts=attempts)
    announcer = Announcer(run, name, LEASE, {"worker": name})
    try:
        yield LeasingExecutor(pool, Peers(run, name, LEASE), announcer, index, of)
    finally:
        pool.close()
        announcer.close()


def carry_out(executor, root, work):
    """Failures, and keys that this driver committed, in order."""
    commits = []
    failures = executor.run(task(root, work), UNITS, lambda commit: commits.append(commit.key), ignored)
    return failures, commits


def other(root, *keys, state="working", name="other"):
    """Another driver holds these units."""
    run = RunFolder(str(root))
    run.make()
    write_worker(run, name, {"lease": LEASE, "beat": 1, "state": state})
    leases = Leases(Peers(run, name, LEASE), f"{folder(root).name}/leases")
    assert all(leases.take(key) for key in keys)


def do_elsewhere(root, *units):
    for unit in units:
        task(root, Square()).run_unit(unit)


def test_alone_it_does_everything(tmp_path):
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square())
    assert not failures and sorted(commits) == KEYS
    assert squares(tmp_path, folder(tmp_path).collect(KEYS)) == {i: i**2 for i in range(1, 8)}
    assert read_worker(RunFolder(str(tmp_path)), "me")["state"] == ENDED


def test_two_begin_at_different_units_and_do_each_once(tmp_path):
    done = {}

    def part(index):
        with driver(tmp_path, f"worker-{index}", index, 2) as executor:
            done[index] = carry_out(executor, tmp_path, Square(seconds=0.05))

    threads = [threading.Thread(target=part, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done[0][0] == done[1][0] == []
    assert sorted(done[0][1] + done[1][1]) == KEYS
    leases = sorted(path.name for path in (tmp_path / "stages" / "squares-0" / "leases").iterdir())
    assert leases == [f"{key}-1.json" for key in KEYS]


def test_what_another_commits_is_left_to_it_and_heard_of(tmp_path):
    other(tmp_path, *KEYS[:2])
    do_elsewhere(tmp_path, UNITS[0])
    told: list[str] = []
    with driver(tmp_path) as executor:
        executor.on_elsewhere = told.append
        timer = threading.Timer(0.3, do_elsewhere, (tmp_path, UNITS[1]))
        timer.start()
        failures, commits = carry_out(executor, tmp_path, Square())
        timer.join()
    assert not failures and sorted(commits) == KEYS[2:] and sorted(told) == KEYS[:2]


@pytest.mark.parametrize("state", ["working", ENDED])
def test_units_of_one_that_is_gone_are_taken_over(tmp_path, state):
    other(tmp_path, *KEYS[:3], state=state)
    since = time.monotonic()
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square())
    assert not failures and sorted(commits) == KEYS
    if state != ENDED:  # it has been given its time
        assert time.monotonic() - since >= LEASE


def test_a_unit_that_fails_is_given_up_and_noted(tmp_path):
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square(raises=(3,)))
    assert [(failure.unit.key, failure.error) for failure in failures] == [(KEYS[2], "ValueError: 3 is cursed")]
    assert len(commits) == 6
    assert folder(tmp_path).failures_by_key()[KEYS[2]]["workers"] == ["me"]


def test_a_unit_that_two_have_failed_is_tried_by_no_third(tmp_path):
    RunFolder(str(tmp_path)).make()
    for name in ("one", "two"):
        write_worker(RunFolder(str(tmp_path)), name, {"lease": 60.0, "beat": 1, "state": "waiting"})
    folder(tmp_path).fail(KEYS[2], 2, "ValueError: there", "", ["one", "two"])
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square())
    assert [failure.error for failure in failures] == ["ValueError: there"]
    assert len(commits) == 6 and not (tmp_path / "tried-3").exists()


def test_a_unit_that_one_machine_has_failed_is_tried_by_a_second(tmp_path):
    RunFolder(str(tmp_path)).make()
    write_worker(RunFolder(str(tmp_path)), "bad", {"lease": 60.0, "beat": 1, "state": "waiting"})
    folder(tmp_path).fail(KEYS[2], 2, "OSError: there", "", ["bad"])
    other(tmp_path, KEYS[2], name="bad")
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square())
    assert not failures and sorted(commits) == KEYS


def test_failures_of_workers_that_have_ended_count_no_longer(tmp_path):
    """Somebody has seen to the cause, and begins again."""
    RunFolder(str(tmp_path)).make()
    for name in ("one", "two"):
        write_worker(RunFolder(str(tmp_path)), name, {"lease": 60.0, "beat": 1, "state": ENDED})
    folder(tmp_path).fail(KEYS[2], 2, "ValueError: there", "", ["one", "two"])
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square())
    assert not failures and sorted(commits) == KEYS


def test_a_worker_process_that_is_killed_costs_one_attempt(tmp_path):
    with driver(tmp_path) as executor:
        failures, commits = carry_out(executor, tmp_path, Square(dies=(1, 5)))
    assert not failures and sorted(commits) == KEYS


def test_one_that_comes_second_leaves_nothing(tmp_path):
    """It was taken for dead, and was not."""
    do_elsewhere(tmp_path, UNITS[0])
    written = [path.name for path in (tmp_path / "stages" / "squares-0" / "squares").iterdir()]
    commit = task(tmp_path, Square()).run_unit(UNITS[0])
    assert [path.name for path in (tmp_path / "stages" / "squares-0" / "squares").iterdir()] == written
    assert commit.attempt in written[0]


def test_once_is_made_by_one_and_found_by_the_others(tmp_path):
    made: list[int] = []

    def found():
        return made[0] if made else None

    def make():
        made.append(7)
        return 7

    with driver(tmp_path) as executor:
        assert executor.once("leases", "results", found, make) == 7
        assert executor.once("leases", "results", found, make) == 7
    assert made == [7]


def test_the_beat_goes_on_while_the_driver_is_busy_and_ends_where_it_hangs(tmp_path):
    run = RunFolder(str(tmp_path))
    announcer = Announcer(run, "me", LEASE, {"worker": "me"})

    def beat():
        return read_worker(run, "me")["beat"]

    def beats_within(seconds):
        before, until = beat(), time.monotonic() + seconds
        while time.monotonic() < until:
            if beat() != before:
                return True
            time.sleep(0.02)
        return False

    try:
        assert beats_within(20)  # busy with something that takes long
        announcer.say(at_units=True)
        deadline = time.monotonic() + 30
        while beats_within(3 * LEASE) and time.monotonic() < deadline:
            pass
        assert time.monotonic() < deadline
        announcer.say()
        assert beats_within(20)
    finally:
        announcer.close()
    assert read_worker(run, "me")["state"] == ENDED
