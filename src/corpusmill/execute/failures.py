"""How failures are put into words."""

import signal
import traceback
from dataclasses import dataclass

from corpusmill.errors import CorpusmillError
from corpusmill.hidden import masked
from corpusmill.store.units import AttemptPosition

KILLED, OUT_OF_MEMORY, STEP_FAILED, READER_FAILED = "killed_worker", "out_of_memory", "step_failed", "reader_failed"
OUTSIDE_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")  # what people and systems end processes with
CRASH_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTRAP")


@dataclass(frozen=True)
class Ended:
    """How an attempt ended that made no commit.

    error, traceback   as in `Failure`
    kind      of the dead letters of records that end attempts so; "" if it says nothing about records
    cause     the same as the error, for such a dead letter
    is_kill   whether it may as well have been somebody
    """

    error: str
    traceback: str = ""
    kind: str = ""
    cause: str = ""
    is_kill: bool = False

    def kind_at(self, at: AttemptPosition) -> str:
        return READER_FAILED if self.kind == STEP_FAILED and at.reading else self.kind


def of_error(error: Exception) -> Ended:
    """An attempt that raised an error. One about files, or on purpose, says nothing about records."""
    message, trace = last_line(error), masked("".join(traceback.format_exception(error)))
    if isinstance(error, MemoryError):
        return Ended(message or "MemoryError", trace, OUT_OF_MEMORY, f"memory ran out ({message})")
    if isinstance(error, OSError | CorpusmillError):
        return Ended(message, trace)
    return Ended(message, trace, STEP_FAILED, message)


def of_exit(code: int | None) -> Ended:
    """An attempt whose worker ended.

    >>> of_exit(-11).error
    'its worker died with exit status -11 (SIGSEGV: native code crashed)'
    """
    name = _signal(code)
    message = f"its worker died with exit status {code}"
    kind = "" if code is None or name in OUTSIDE_SIGNALS else KILLED
    if name == "SIGKILL":
        often = "killed; often because memory ran out"
        advice = "try fewer workers, or a smaller unit_mb"
        return Ended(f"{message} ({often}: {advice})", "", kind, f"{message} ({often})", is_kill=True)
    why = f" ({name}: native code crashed)" if name in CRASH_SIGNALS else f" ({name})" if name else ""
    return Ended(message + why, "", kind, message + why)


def last_line(error: BaseException) -> str:
    """`ValueError: …`, as the end of a traceback says it; of a longer message, its first line."""
    return masked(traceback.format_exception_only(error)[-1].strip().partition("\n")[0])


def _signal(code: int | None) -> str:
    if code is None or code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
