"""SIGTERM and SIGHUP end a run as Ctrl-C does: workers are stopped, and what is open is closed."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Terminated(SystemExit):
    """This process was asked to end. `code` is 128 and the signal's number, as shells have it."""


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Inside, the signals raise `Terminated` in the main thread, once. Where a program, or whoever started it, has said
    what they do, they do that."""
    ours: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        for each in ours:  # another one must not end what this one closes
            signal.signal(each, signal.SIG_IGN)
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
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
