"""PDFium in a process of its own: a document of three kilobytes can make it take 14 GB, or not end, and another one
kill it, which costs the document then and not the worker.

A request is JSON and the document, an answer JSON, each after its size in 8 bytes. The process lives until the worker
that started it ends.
"""

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import orjson

from corpusmill import system

MEMORY = 768 << 20  # bytes for a document beside its own, of which there are two copies
SECONDS = 600  # of the processor, for a document; the 5,000 pages that are read at most take a tenth of it
FROM_OUTSIDE = (-1, -2, -9, -15)  # SIGHUP, SIGINT, SIGKILL, SIGTERM: neither a bound nor a crash ends a process so
ATTEMPTS = 3  # to ask about a document
START = "from corpusmill.read.pdf import serve; serve()"


class PdfAnswer(NamedTuple):
    """What became of a document: its text and metadata, or the kind of its dead letter, why, and whether that is
    expected."""

    text: str = ""
    about: dict[str, Any] = {}  # noqa: RUF012 - never changed
    kind: str = ""
    reason: str = ""
    expected: bool = False


TOO_MUCH = PdfAnswer(
    kind="too_large",
    reason=f"it takes more than {MEMORY >> 20} MiB of memory or {SECONDS} s of the processor, or kills its parser",
    expected=True,
)


class PdfProcess:
    """A process that `answer` puts documents to; another one where it has died, or there is none yet."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def answer(self, data: bytes, settings: dict[str, Any]) -> PdfAnswer:
        """What becomes of a document. The settings are those of `answer_to`.

        A process that somebody else kills says nothing about the document, which another one is asked about.
        """
        for _ in range(ATTEMPTS):
            process = self._running()
            assert process.stdin and process.stdout
            with contextlib.suppress(OSError):  # it died as it was read to
                limits = {"memory": MEMORY + 2 * len(data), "seconds": SECONDS}
                _send(process.stdin, orjson.dumps(settings | limits))
                _send(process.stdin, data)
            received = _receive(process.stdout)
            if received is not None:
                return PdfAnswer(**orjson.loads(received))
            code = process.wait()
            self.close()
            if code not in FROM_OUTSIDE:
                break
        return TOO_MUCH

    def _running(self) -> "subprocess.Popen[bytes]":
        """The process, started if this one has none."""
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            path = os.pathsep.join(filter(None, sys.path))
            self._process = subprocess.Popen(
                [sys.executable, "-c", START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for the worker, which may go on to the end of its unit
            )
            self._owner = os.getpid()
            atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process, if this one has started it."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        atexit.unregister(self.close)
        process.kill()
        with contextlib.suppress(OSError), process:  # a request that was not read cannot be written
            process.wait()


def serve_answers(answer: Callable[[bytes, dict[str, Any]], PdfAnswer]) -> None:
    """The life of the process: answers until its input ends."""
    takes, gives = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever prints
    size = _size()
    while (head := _receive(takes)) is not None and (data := _receive(takes)) is not None:
        settings = orjson.loads(head)
        _limit(size + settings["memory"], settings["seconds"])
        try:
            made = answer(data, settings)
        except MemoryError:
            made = TOO_MUCH
        _limit(size + settings["memory"] + MEMORY, settings["seconds"])  # room for the answer, and the next document
        _send(gives, orjson.dumps(made._asdict()))


def _size() -> int:
    """Bytes of this process's address space; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _limit(memory: int, seconds: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # others have set one that is lower
        system.end_above(memory, seconds)


def _send(file: IO[bytes], data: bytes) -> None:
    file.write(len(data).to_bytes(8, "little") + data)
    file.flush()


def _receive(file: IO[bytes]) -> bytes | None:
    head = file.read(8)
    data = file.read(int.from_bytes(head, "little")) if len(head) == 8 else b""
    return data if len(head) == 8 and len(data) == int.from_bytes(head, "little") else None
