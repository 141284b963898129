"""SIGTERM, SIGHUP and Ctrl-Break of Windows end a run as Ctrl-C does: workers are stopped, what is open is closed, and
none is lost."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any


class Terminated(SystemExit):
    """This process was asked to end. `code` is 128 and the signal's number, as shells have it."""


RERAISE_SECONDS = 0.05  # seconds after which a signal comes again that came at the wrong moment
RECENT_SECONDS = 5.0  # seconds for which an error without another cause may be what a library made of a signal
# Where nothing must be raised: between a pointer and the object that holds it, and in callbacks from which LLVM goes on
# with half of a kernel. Of processes that load forty kernels and are interrupted in many a fifth crashed.
LLVM_FOLDER = f"{os.sep}llvmlite{os.sep}"
# Nor while a compiled module makes itself: many say ImportError, those of nanobind, as DuckDB's, abort the process.
MODULE_LOADERS = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)

_raised_until = [0.0]  # by the clock: before, a signal comes again
_asked: list[tuple[int, float]] = []  # the signals that have raised something, and when


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise `Terminated` in the main thread, and Ctrl-C KeyboardInterrupt, as ever. Where a
    program, or whoever started it, has said what they do, they do that. While one is obeyed, and what is open is
    closed, another SIGTERM or SIGHUP does nothing.

    What a handler raises is lost where C calls Python and takes no errors back; then the signal comes again. Where a
    signal comes while a library makes an object, that lacks attributes when it is removed: Python says so with a
    traceback that is nobody's fault, and does not here.
    """
    ours: dict[int, Any] = {}
    hook = sys.unraisablehook

    sys.unraisablehook = partial(_unraisable, hook)
    if threading.current_thread() is threading.main_thread():
        for name, usual in (
            ("SIGTERM", signal.SIG_DFL),
            ("SIGHUP", signal.SIG_DFL),
            ("SIGBREAK", signal.SIG_DFL),
            ("SIGINT", signal.default_int_handler),
        ):
            number = getattr(signal, name, None)  # Windows has no SIGHUP, others no SIGBREAK
            if number is not None and signal.getsignal(number) == usual:
                ours[number] = signal.signal(number, _end)
    try:
        with unhidden():
            yield
    finally:
        sys.unraisablehook = hook
        if ours:
            _asked.clear()
        for number, before in ours.items():
            signal.signal(number, before)


def _unraisable(hook: Callable[["sys.UnraisableHookArgs"], Any], unraised: "sys.UnraisableHookArgs") -> None:
    if isinstance(unraised.exc_value, (Terminated, KeyboardInterrupt)):
        _asked.clear()
        _raise_later(_number(unraised.exc_value))
        return
    removes = getattr(unraised.object, "__qualname__", "").endswith(".__del__")
    if not (removes and isinstance(unraised.exc_value, AttributeError)):
        hook(unraised)


# Nor in the hook itself: Python says so with a traceback, and the signal is lost.
HOOK = _unraisable.__code__


def _end(number: int, frame: FrameType | None) -> None:
    if number != signal.SIGINT and _find_error(sys.exc_info()[1], Terminated, follows=True):
        return  # what an earlier one ended is being closed
    while frame is not None:
        if LLVM_FOLDER in frame.f_code.co_filename or frame.f_code in (*MODULE_LOADERS, HOOK):
            _raise_later(number)
            return
        frame = frame.f_back
    _asked.append((number, time.monotonic()))
    raise _error(number)


def _error(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated(128 + number)


def _number(error: BaseException) -> int:
    return int(error.code or 0) - 128 if isinstance(error, Terminated) else signal.SIGINT


def _raise_later(number: int) -> None:
    """Have a signal come again, in a moment; none where one does already."""
    if time.monotonic() < _raised_until[0]:
        return
    _raised_until[0] = time.monotonic() + RERAISE_SECONDS / 2
    timer = threading.Timer(
        RERAISE_SECONDS, signal.raise_signal if os.name == "nt" else partial(os.kill, os.getpid()), [number]
    )
    timer.daemon = True
    timer.start()


def _find_error(
    error: BaseException | None, *wanted: type[BaseException], follows: bool = False
) -> BaseException | None:
    """The first of an error, that which it says instead of, and so on, that is of these classes.

    follows   also of those that they only came after
    """
    ids: set[int] = set()  # an error may be given as the cause of one that it has itself as its cause
    while error is not None and not isinstance(error, wanted):
        if id(error) in ids:
            return None
        ids.add(id(error))
        replaces = error.__suppress_context__ and not error.__cause__  # `from None`
        error = error.__context__ if replaces or (follows and not error.__cause__) else error.__cause__
    return error


@contextlib.contextmanager
def unhidden() -> Iterator[None]:
    """Inside, a signal raises the same where a library says something else instead: DuckDB at work RuntimeError, a
    compiled module that is being loaded ImportError, with what the signal raised as its cause, and a compiled function
    that asks Python what it was given TypeError, with none."""
    try:
        yield
    except Exception as error:
        cause = _find_error(error, Terminated, KeyboardInterrupt)
        if cause is not None:
            raise cause from None
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
            raise _error(_asked[-1][0] if _asked else signal.SIGINT) from None
        # One that came while a signal was obeyed is an error of its own.
        obeyed = _find_error(error, Terminated, KeyboardInterrupt, follows=True)
        if obeyed is None and _asked and time.monotonic() - _asked[-1][1] < RECENT_SECONDS:
            raise _error(_asked[-1][0]) from None
        raise
