import pytest

from corpusmill.store.leases import BEATS, ENDED, Leases, Peers, new_worker, workers, write_worker
from corpusmill.store.run_folder import RunFolder


class Clock:
    """Of one worker: it goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run(tmp_path):
    return RunFolder(str(tmp_path))


def seen_by(run, me, lease=60.0):
    clock = Clock()
    return Leases(Peers(run, me, lease, clock), "leases"), clock


def test_names_differ_and_are_names_of_files():
    assert len({new_worker(3) for _ in range(100)}) == 100
    assert new_worker(3).startswith("3-") and not set(new_worker()) & set("/\\: ")


def test_one_of_two_gets_it(run):
    one, _ = seen_by(run, "one")
    two, _ = seen_by(run, "two")
    assert one.take("unit") and not two.take("unit")
    two.look()
    assert two.holder("unit") == one.holder("unit") == "one"
    assert two.take("other")


def test_a_worker_that_beats_keeps_what_it_has(run):
    one, _ = seen_by(run, "one")
    two, clock = seen_by(run, "two")
    one.take("unit")
    two.look()
    for beat in range(40):
        write_worker(run, "one", {"lease": 60.0, "beat": beat, "state": "working"})
        assert not two.is_free("unit")
        clock.now += 59


def test_one_that_is_silent_for_a_lease_loses_it_by_the_clock_of_who_looks(run):
    one, _ = seen_by(run, "one")
    two, clock = seen_by(run, "two", lease=9.0)
    one.take("unit")
    write_worker(run, "one", {"lease": 60.0, "beat": 1, "state": "working", "time": "2000-01-01"})
    two.look()
    assert not two.is_free("unit")
    clock.now += 59  # what the holder has promised counts, not what who looks would have
    assert not two.is_free("unit")
    clock.now += 2
    assert two.is_free("unit") and two.take("unit")
    third, _ = seen_by(run, "three")
    third.look()
    assert third.holder("unit") == "two"
    assert not one.take("unit")  # which goes on meanwhile; it does not get it back either


def test_one_that_says_that_it_ends_gives_all_back_at_once(run):
    one, _ = seen_by(run, "one")
    two, clock = seen_by(run, "two")
    one.take("unit")
    write_worker(run, "one", {"lease": 60.0, "beat": 1, "state": "working"})
    two.look()
    assert not two.is_free("unit")
    write_worker(run, "one", {"lease": 60.0, "beat": 1, "state": ENDED})
    clock.now += 60 / BEATS
    assert two.is_free("unit")
    assert two.others.at_work() == [] and workers(run) == ["one"]


def test_a_worker_without_a_record_is_waited_for(run):
    """Its record may not be listed yet."""
    one, _ = seen_by(run, "one")
    two, clock = seen_by(run, "two", lease=30.0)
    one.take("unit")
    two.look()
    assert not two.is_free("unit")
    clock.now += 31
    assert two.is_free("unit")


def test_a_listing_that_is_late_costs_one_request(run, monkeypatch):
    one, _ = seen_by(run, "one")
    two, _ = seen_by(run, "two")
    assert one.take("unit")
    assert two.is_free("unit")  # as far as it knows
    assert not two.take("unit")
    assert two.holder("unit") == "one" and not two.is_free("unit")
    one.tidy()
    one.tidy()
