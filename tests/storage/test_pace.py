"""How often a server is asked: turns that all processes of a machine take from one file."""

import itertools
import tempfile

import pytest

from corpusmill.storage import pace


class Clock:
    """Time passes when somebody sleeps."""

    def __init__(self):
        self.now = 1_000_000.0
        self.slept = []

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(round(seconds, 3))
        self.now += seconds


class Refused(Exception):
    def __init__(self, status, **headers):
        super().__init__(status)
        self.status, self.headers = status, headers


NUMBERS = itertools.count()


@pytest.fixture
def clock(monkeypatch, tmp_path):
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return clock


@pytest.fixture
def url():
    return f"https://made-{next(NUMBERS)}.example.org/a.gz"


def test_requests_have_their_distance(clock, url):
    pace.agree_on(url, "me@example.org", 4.0)
    for _ in range(4):
        pace.take_turn(url, pace.manners_of(url))
    assert clock.slept == [0.0, 0.25, 0.25, 0.25]
    clock.now += 60
    pace.take_turn(url, pace.manners_of(url))
    assert clock.slept[-1] == 0.0  # turns that nobody took are not kept


def test_after_an_answer_that_asks_for_it_nobody_asks_for_a_while(clock, url):
    pace.agree_on(url, "me@example.org", 1000.0)
    for error, seconds in [
        (Refused(429, **{"Retry-After": "7"}), 7.0),
        (Refused(503), pace.PAUSE),
        (Refused(403), pace.PAUSE),
        (Refused(500), 0.0),
        (Refused(404), 0.0),
    ]:
        clock.now += 60
        pace.slow_down(url, error)
        pace.take_turn(url, pace.manners_of(url))
        assert clock.slept[-1] == seconds


def test_a_clock_that_was_set_back_does_not_stop_everything(clock, url):
    pace.agree_on(url, "me@example.org", 1.0)
    pace.take_turn(url, pace.manners_of(url))
    clock.now -= 1e6
    pace.take_turn(url, pace.manners_of(url))
    assert clock.slept[-1] == pace.LONGEST_TURN


def test_manners_are_of_a_server(url):
    pace.agree_on(url, "me@example.org", 1.0)
    manners = pace.manners_of(url.replace("https://", "https://user:secret@").replace("a.gz", "other"))
    assert manners is not None and manners.user_agent.endswith("(+me@example.org)")
    assert pace.manners_of("https://other.example.org/a.gz") is None and pace.manners_of("/a/path") is None
