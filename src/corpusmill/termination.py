"""SIGTERM and SIGHUP end a run as Ctrl-C does: workers are stopped, and what is open is closed."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType


class Terminated(SystemExit):
    """This process was asked to end. `code` is 128 and the signal's number, as shells have it."""


_asked: list[int] = []  # the signal that has raised Terminated


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Inside, the signals raise `Terminated` in the main thread, once. Where a program, or whoever started it, has said
    what they do, they do that.

    Where a signal comes while a library makes an object, that lacks attributes when it is removed: Python says so with
    a traceback that is nobody's fault, and does not here.
    """
    ours: list[int] = []
    said = sys.unraisablehook

    def unless_half_made(found: "sys.UnraisableHookArgs") -> None:
        removes = getattr(found.object, "__qualname__", "").endswith(".__del__")
        if not (removes and isinstance(found.exc_value, AttributeError)):
            said(found)

    sys.unraisablehook = unless_half_made

    def end(number: int, _: FrameType | None) -> None:
        for each in ours:  # another one must not end what this one closes
            signal.signal(each, signal.SIG_IGN)
        _asked.append(number)
        raise Terminated(128 + number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                ours.append(number)
                signal.signal(number, end)
    try:
        yield
    finally:
        sys.unraisablehook = said
        _asked.clear()
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


@contextlib.contextmanager
def queries() -> Iterator[None]:
    """Inside, a signal raises the same while DuckDB is at work, which says RuntimeError instead."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise (Terminated(128 + _asked[0]) if _asked else KeyboardInterrupt) from None
