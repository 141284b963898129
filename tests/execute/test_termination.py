import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from corpusmill.errors import MissingExtraError
from corpusmill.execute import termination

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX")


@pytest.fixture(autouse=True)
def default():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def interruptible():
    """Ctrl-C as a terminal has it; a suite in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def wanted(sent):
    return termination.Terminated if sent == signal.SIGTERM else KeyboardInterrupt


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
        with pytest.raises(KeyboardInterrupt), termination.unhidden():
            raise RuntimeError("Query interrupted")
        with contextlib.suppress(termination.Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(termination.Terminated) as ended, termination.unhidden():
            raise RuntimeError("Query interrupted")
    assert ended.value.code == 143
    with termination.raised(), pytest.raises(KeyboardInterrupt), termination.unhidden():
        raise RuntimeError("Query interrupted")


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_while_a_compiled_module_is_loaded_is_what_it_is_elsewhere(sent, interruptible):
    """The module says ImportError, with what the handler raised as its cause."""
    with pytest.raises(wanted(sent)), termination.raised():
        try:
            os.kill(os.getpid(), sent)
        except BaseException as error:
            try:
                raise ImportError("while initializing the extension") from error
            except ImportError:
                raise MissingExtraError("a step", libraries=("duckdb",)) from None


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_that_is_lost_inside_a_callback_of_c_comes_again(sent, interruptible, monkeypatch):
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), sent))
    went_on = False
    # Twice, as where a command calls what a program may call, too.
    with pytest.raises(wanted(sent)) as ended, termination.raised(), termination.raised():
        callback()
        went_on = True
        time.sleep(60)
    assert went_on and said == []
    if sent == signal.SIGTERM:
        assert isinstance(ended.value, termination.Terminated) and ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_that_comes_while_another_is_about_to_come_again_is_one_with_it(sent, interruptible, monkeypatch):
    """As where a terminal ends a worker, and then its driver does."""
    said: list[Any] = []
    left, number = [1], termination._number

    def struck(error: BaseException) -> int:
        if left:
            left.pop()
            os.kill(os.getpid(), sent)
        return number(error)

    monkeypatch.setattr(sys, "unraisablehook", said.append)
    monkeypatch.setattr(termination, "_number", struck)
    callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), sent))
    with termination.raised():
        with pytest.raises(wanted(sent)):
            callback()
            time.sleep(60)
        time.sleep(4 * termination.RERAISE_SECONDS)  # nothing comes a second time
    assert said == [] and not left


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_while_a_kernel_is_loaded_waits(sent, interruptible):
    """LLVM goes on with what a callback gave when it was left, and frees twice what was left half wrapped."""
    source = "def callback(kill):\n    kill()\n    return 'whole'\n"
    names: dict[str, Any] = {}
    exec(compile(source, f"site-packages{termination.LLVM_FOLDER}binding.py", "exec"), names)
    gave = []
    with pytest.raises(wanted(sent)), termination.raised():
        gave.append(names["callback"](lambda: os.kill(os.getpid(), sent)))
        time.sleep(60)
    assert gave == ["whole"]


LOADS = """
import os, signal, sys, time
from importlib.machinery import ExtensionFileLoader
from corpusmill.execute import termination
loading = ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts tests in the background has it ignored

def strike(frame, event, argument):
    inner = frame.f_code.co_filename
    while event == "call" and inner.endswith("enum.py") and (frame := frame.f_back):
        if frame.f_code in loading:
            sys.setprofile(None)
            print("struck", flush=True)
            os.kill(os.getpid(), {sent})
            return

sys.setprofile(strike)
try:
    with termination.raised():
        import duckdb
        if sys.getprofile() is None:
            time.sleep(60)
except BaseException as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_while_a_compiled_module_makes_itself_waits(sent):
    """A process in which DuckDB does so would abort."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADS.format(sent=int(sent))], capture_output=True, text=True, timeout=60, check=False
    )
    if "struck" not in ended.stdout:
        pytest.skip("this version of DuckDB calls no Python meanwhile")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["struck", wanted(sent).__name__]


@pytest.mark.parametrize("sent", (signal.SIGTERM, signal.SIGINT))
def test_an_error_that_a_library_makes_of_a_signal_without_a_word_of_it(sent, interruptible):
    with pytest.raises(wanted(sent)), termination.raised():
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), sent)
        raise TypeError("input must be an array of strings")
    with pytest.raises(TypeError, match="later"), termination.raised():
        raise TypeError("later")


def test_a_signal_that_was_swallowed_leaves_nobody_deaf():
    with pytest.raises(termination.Terminated), termination.raised():
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)


def test_what_fails_while_a_signal_is_obeyed_is_not_taken_for_it():
    with pytest.raises(OSError, match="mine"), termination.raised():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            raise OSError("mine")


def test_other_errors_stay():
    with pytest.raises(RuntimeError, match="mine"), termination.unhidden():
        raise RuntimeError("mine")
    with pytest.raises(ImportError, match="mine") as found, termination.raised():
        try:
            raise OSError("a cause")
        except OSError as error:
            raise ImportError("mine") from error
    assert isinstance(found.value.__cause__, OSError)


def test_an_error_that_is_its_own_cause_in_the_end():
    one, other = ValueError("one"), OSError("other")
    one.__cause__, other.__cause__ = other, one
    with pytest.raises(ValueError, match="one"), termination.raised():
        raise one
