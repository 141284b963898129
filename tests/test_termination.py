import contextlib
import gc
import os
import signal
import sys
import threading
from typing import Any

import pytest

from corpusmill import termination

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX")


@pytest.fixture(autouse=True)
def default():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_is_an_exception_and_the_handler_is_put_back():
    with pytest.raises(termination.Terminated) as end, termination.raised():
        os.kill(os.getpid(), signal.SIGTERM)
    assert end.value.code == 143
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_second_signal_does_not_end_what_the_first_one_closes():
    closed = False
    with pytest.raises(termination.Terminated), termination.raised():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            closed = True
    assert closed


def test_handlers_of_others_are_left_alone():
    def own(number, frame):
        pass

    signal.signal(signal.SIGTERM, own)
    with termination.raised():
        assert signal.getsignal(signal.SIGTERM) is own
    assert signal.getsignal(signal.SIGTERM) is own


def test_in_another_thread_nothing_happens():
    def inside():
        with termination.raised():
            found.append(signal.getsignal(signal.SIGTERM))

    found: list[object] = []
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


def test_what_a_signal_left_half_made_is_removed_without_a_word(monkeypatch):
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)

    class Half:
        handle: int

        def __init__(self):
            raise KeyboardInterrupt

        def __del__(self):
            os.close(self.handle)

    class Faulty:
        def __del__(self):
            raise ValueError

    with termination.raised():
        with pytest.raises(KeyboardInterrupt):
            Half()
        gc.collect()
        assert said == []
        Faulty()
        gc.collect()
    assert len(said) == 1
    assert sys.unraisablehook == said.append


def test_a_signal_while_a_query_runs_is_what_it_is_elsewhere():
    """DuckDB looks for signals now and then, and what a handler raised is lost: it says a RuntimeError."""
    with termination.raised():
        with pytest.raises(KeyboardInterrupt), termination.queries():
            raise RuntimeError("Query interrupted")
        with contextlib.suppress(termination.Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(termination.Terminated) as ended, termination.queries():
            raise RuntimeError("Query interrupted")
    assert ended.value.code == 143
    with termination.raised(), pytest.raises(KeyboardInterrupt), termination.queries():
        raise RuntimeError("Query interrupted")


def test_other_errors_of_queries_stay():
    with pytest.raises(RuntimeError, match="mine"), termination.queries():
        raise RuntimeError("mine")
