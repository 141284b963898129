import os
import signal
import threading

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
