"""SIGTERM and SIGHUP end a run as Ctrl-C does: workers are stopped, and what is open is closed."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from types import FrameType


class Terminated(SystemExit):
    """This process was asked to end. `code` is 128 and the signal's number, as shells have it."""


AGAIN = 0.05  # seconds after which a signal comes again whose exception was lost

_handled: list[int] = []  # the signals that raise Terminated
_asked: list[int] = []  # the signal that has raised it


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Inside, the signals raise `Terminated` in the main thread, once. Where a program, or whoever started it, has said
    what they do, they do that.

    What a handler raises is lost where C calls Python and takes no errors back, as compiled kernels do when they are
    loaded; then the signal comes again. Where a signal comes while a library makes an object, that lacks attributes
    when it is removed: Python says so with a traceback that is nobody's fault, and does not here.
    """
    ours: list[int] = []
    said = sys.unraisablehook

    def unraisable(found: "sys.UnraisableHookArgs") -> None:
        if isinstance(found.exc_value, (Terminated, KeyboardInterrupt)):
            _again(found.exc_value)
            return
        removes = getattr(found.object, "__qualname__", "").endswith(".__del__")
        if not (removes and isinstance(found.exc_value, AttributeError)):
            said(found)

    sys.unraisablehook = unraisable
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                ours.append(number)
                _handled.append(number)
                signal.signal(number, _end)
    try:
        with unhidden():
            yield
    finally:
        sys.unraisablehook = said
        if ours:
            _asked.clear()
        for each in ours:
            _handled.remove(each)
            signal.signal(each, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> None:
    for each in _handled:  # another one must not end what this one closes
        signal.signal(each, signal.SIG_IGN)
    _asked.append(number)
    raise Terminated(128 + number)


def _again(lost: BaseException) -> None:
    """Have a signal come again, from the main thread, in which its exception was lost."""
    number: int = signal.SIGINT
    if isinstance(lost, Terminated):
        number = int(lost.code or 0) - 128
        _asked.clear()
        for each in _handled:
            signal.signal(each, _end)
    timer = threading.Timer(AGAIN, signal.raise_signal if os.name == "nt" else partial(os.kill, os.getpid()), [number])
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def unhidden() -> Iterator[None]:
    """Inside, a signal raises the same where a library says something else instead: DuckDB at work RuntimeError, and a
    compiled module that is being loaded ImportError, with what the signal raised as its cause."""
    try:
        yield
    except Exception as error:
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
            raise (Terminated(128 + _asked[0]) if _asked else KeyboardInterrupt) from None
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, (Terminated, KeyboardInterrupt)):
            # `from None` puts an error in the place of another one; one that only follows another is its own.
            cause = cause.__context__ if cause.__suppress_context__ and not cause.__cause__ else cause.__cause__
        if cause is None:
            raise
        raise cause from None
