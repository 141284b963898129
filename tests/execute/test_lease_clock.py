"""Leases that expire and are taken over, by a clock of the test's own: nothing waits."""

import json
from typing import Any

import pytest
from test_executors import KEYS, UNITS, folder, squares, task
from works import Square

from corpusmill.execute.leasing import LeasingExecutor
from corpusmill.execute.serial import Serial
from corpusmill.store.leases import ENDED, Leases, Peers, write_worker
from corpusmill.store.run_folder import RunFolder

LEASE = 60.0


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


class SameProcess:
    """What `LeasingExecutor` asks of `Processes`, in this process."""

    workers = 1
    on_pulse = None

    def check(self, checks):
        Serial().check(checks)

    def close(self):
        pass

    def run_feed(self, task, feed, on_commit, on_aside):
        failures = []
        while feed:
            failures += Serial(attempts=2).run(task, [feed.pop()], on_commit, on_aside)
        return failures


class Silent:
    """An announcer that keeps what it is told. The others' time passes while this worker waits."""

    def __init__(self, clock, seconds=20.0):
        self.clock, self.seconds = clock, seconds
        self.words = []

    def say(self, **about):
        self.words.append(about)

    def tick(self, **about):
        self.words.append(about)
        if about.get("state") == "waiting":
            self.clock.time += self.seconds


@pytest.fixture
def run(tmp_path):
    run = RunFolder(str(tmp_path))
    run.make()
    return run


def driver(run, clock, index=None, count=None):
    peers = Peers(run, "me", 0.001, clock)  # its own pauses are a fraction of this
    same_process: Any = SameProcess()
    announcer: Any = Silent(clock)
    return LeasingExecutor(same_process, peers, announcer, index, count)


def other(run, *keys, lease=LEASE, state="working"):
    write_worker(run, "other", {"lease": lease, "beat": 1, "state": state})
    leases = Leases(Peers(run, "other", LEASE), f"{folder(run.path).name}/leases")
    assert all(leases.take(key) for key in keys)


def carry_out(executor, root, work=None):
    commits = []
    failures = executor.run(
        task(root, work or Square()), UNITS, lambda commit: commits.append(commit.key), lambda *_: None
    )
    return failures, commits


def test_a_worker_is_gone_when_its_beat_has_not_changed_for_as_long_as_it_promised(run):
    clock = Clock()
    peers = Peers(run, "me", LEASE, clock)
    write_worker(run, "other", {"lease": 30.0, "beat": 1})
    for seconds, beat, gone in (
        (0, 1, False),
        (26, 1, False),
        (30, 1, True),
        (33, 2, False),  # an answer is kept for 2.5 seconds
        (60, 2, False),
        (63, 2, True),
    ):
        clock.time = float(seconds)
        write_worker(run, "other", {"lease": 30.0, "beat": beat})
        assert peers.is_gone("other") == gone, seconds


def test_a_worker_that_says_that_it_has_ended_is_gone_at_once(run):
    peers = Peers(run, "me", LEASE, Clock())
    write_worker(run, "other", {"lease": LEASE, "beat": 1, "state": ENDED})
    assert peers.is_gone("other") and peers.at_work() == []


def test_a_worker_without_a_record_is_given_the_time_of_a_lease(run):
    clock = Clock()
    peers = Peers(run, "me", LEASE, clock)
    assert not peers.is_gone("never seen")
    clock.time = LEASE
    assert peers.is_gone("never seen") and not peers.is_gone("me")


def test_a_lease_is_had_by_the_first_and_passes_on_when_its_holder_is_gone(run):
    clock = Clock()
    first, second = (Leases(Peers(run, name, LEASE, clock), "leases") for name in ("first", "second"))
    write_worker(run, "first", {"lease": LEASE, "beat": 1})
    assert first.take("unit") and not second.take("unit")
    second.look()
    assert second.holder("unit") == "first" and not second.is_free("unit")
    clock.time = LEASE
    assert second.is_free("unit") and second.take("unit")
    first.look()
    assert first.holder("unit") == "second"


def test_a_lease_that_cannot_be_read_is_held_by_nobody_known_and_is_not_free(run):
    leases = Leases(Peers(run, "me", LEASE, Clock()), "leases")
    (run.path / "leases").mkdir()
    (run.path / "leases" / "unit-1.json").write_text("{")
    leases.look()
    assert leases.holder("unit") is None and not leases.is_free("unit")


def test_alone_a_driver_does_every_unit(run):
    failures, commits = carry_out(driver(run, Clock()), run.path)
    assert not failures and sorted(commits) == KEYS
    assert squares(run.path, folder(run.path).collect(KEYS)) == {i: i**2 for i in range(1, 8)}


@pytest.mark.parametrize(("index", "first"), [(0, 0), (1, 3), (2, 4)])
def test_drivers_with_a_number_begin_at_different_units(run, index, first):
    _, commits = carry_out(driver(run, Clock(), index, 3 if index == 2 else 2), run.path)
    assert commits[0] == KEYS[first]


def test_units_of_a_driver_that_falls_silent_are_taken_over(run):
    other(run, *KEYS[2:5])
    clock = Clock()
    executor = driver(run, clock)
    failures, commits = carry_out(executor, run.path)
    assert not failures and sorted(commits) == KEYS
    assert {*commits[-3:]} == {*KEYS[2:5]}, "the others are tried last"
    assert clock.time >= LEASE


def test_units_that_another_commits_are_not_done_again(run):
    other(run, KEYS[0], KEYS[6])
    executor = driver(run, Clock())
    elsewhere: list[Any] = []
    executor.on_elsewhere = elsewhere.append
    for unit in (UNITS[0], UNITS[6]):
        task(run.path, Square()).run_unit(unit)
    failures, commits = carry_out(executor, run.path)
    assert not failures and sorted(commits) == KEYS[1:6]
    assert sorted(elsewhere) == [KEYS[0], KEYS[6]]


def test_a_unit_that_fails_for_the_only_driver_is_given_up(run):
    failures, commits = carry_out(driver(run, Clock()), run.path, Square(raises=(3,)))
    assert [(failure.unit.key, failure.error) for failure in failures] == [(KEYS[2], "ValueError: 3 is cursed")]
    assert sorted(commits) == [key for key in KEYS if key != KEYS[2]]
    note = json.loads((run.path / folder(run.path).name / "failed" / f"{KEYS[2]}.json").read_text())
    assert note["workers"] == ["me"]


def test_a_failure_of_a_driver_that_is_gone_counts_no_longer(run):
    other(run, KEYS[2], state=ENDED)
    folder(run.path).fail(KEYS[2], 2, "ValueError: once", "Traceback", ["other"])
    failures, commits = carry_out(driver(run, Clock()), run.path)
    assert not failures and sorted(commits) == KEYS


def test_one_makes_what_all_need_and_the_others_wait_for_it(run):
    other(run, "results")
    clock = Clock()
    made: list[str] = []
    executor = driver(run, clock)

    def make() -> str:
        made.append("x")
        return "x"

    assert executor.once(f"{folder(run.path).name}/leases", "results", lambda: made[0] if made else None, make) == "x"
    assert clock.time >= LEASE and made == ["x"]


def test_what_is_there_already_is_not_made_again(run):
    executor = driver(run, Clock())
    assert executor.once("leases", "results", lambda: "there", lambda: pytest.fail("made again")) == "there"


def test_what_was_made_while_the_lease_was_taken_is_kept(run):
    answers = iter([None, "made by one that was taken for gone"])
    executor = driver(run, Clock())
    assert executor.once("leases", "results", lambda: next(answers), lambda: pytest.fail("made")).startswith("made by")


def test_pulses_are_passed_on_and_announced(run):
    executor = driver(run, Clock())
    pulses: list[Any] = []
    executor.on_pulse = pulses.append
    carry_out(executor, run.path)
    assert executor.announcer.words[0] == {"at_units": True}
    assert executor.announcer.words[-1] == {"at_units": False, "units": []}
