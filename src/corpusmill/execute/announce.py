"""A process that says of a worker that it lives: the beat in its record, see `leases`.

Not a thread: who carries out a run reads and writes tables for minutes, holds Python's lock while it does, and must
have no thread at its side in the end. The process ends with the one that started it.
"""

import contextlib
import os
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from corpusmill import storage
from corpusmill.errors import CorpusmillError
from corpusmill.execute import warm_start
from corpusmill.execute.processes import sigint_blocked
from corpusmill.store.leases import BEATS, ENDED, record_of, write_worker
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import now


class Announcer:
    """Writes the record of one worker: at once, then BEATS times in `lease` seconds, and when it ends.

    lease   seconds that the worker may be silent before others take it for gone

    `say` adds to the record. While `at_units`, the worker has to say something every `lease` seconds: if it hangs, or
    was stopped, its beat stops.
    """

    def __init__(self, run: RunFolder, worker: str, lease: float, record: Mapping[str, Any]) -> None:
        self.run, self.worker, self.lease = run, worker, lease
        self.record: dict[str, Any] = {**record, "lease": lease, "beat": ""}
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._next = 0.0
        write_worker(run, worker, self.record)
        self._start()

    def say(self, **about: Any) -> None:
        """What has changed; it is written with the next beat."""
        self.record |= about
        if self._process is None or not self._process.is_alive():
            self._start()
        else:
            self._send()

    def tick(self, **about: Any) -> None:
        """The same, and not more often than is of use: for those who say it twice a second."""
        if now() >= self._next:
            self._next = now() + self.lease / BEATS / 2
            self.say(**about)

    def close(self, **about: Any) -> None:
        """The worker ends: what it had is free."""
        self._stop()
        with contextlib.suppress(CorpusmillError, OSError):  # the folder may be the reason that it ends
            if storage.exists(record_of(self.run, self.worker)):
                write_worker(self.run, self.worker, {**self.record, **about, "state": ENDED})

    def _start(self) -> None:
        self._stop()
        context = warm_start.context()
        child_end, own_end = context.Pipe(duplex=False)
        process = context.Process(target=_announce, args=(child_end, self.run, self.worker, self.record), daemon=True)
        with sigint_blocked(), warm_start.script_hidden():
            process.start()
        child_end.close()
        self._process, self._pipe = process, own_end

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # it died: the next word starts another
            if self._pipe:
                self._pipe.send(self.record)

    def _stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()  # which it hears, after what it is writing
            self._pipe = None
        if self._process is not None:
            self._process.join(self.lease)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process = None


def _announce(pipe: Connection, run: RunFolder, worker: str, record: dict[str, Any]) -> None:
    """The life of the process: it ends when nobody holds the other end of the pipe."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # for the worker to handle, which then has the last word
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)
    lease, beat, heard, due = record["lease"], 0, now(), 0.0
    while True:
        try:
            while pipe.poll(max(due - now(), 0.0)):
                record, heard = pipe.recv(), now()
        except (EOFError, OSError):
            return
        if now() < due:
            continue
        due = now() + lease / BEATS
        if record.get("at_units") and now() - heard > lease:
            continue
        beat += 1
        # As long as it cannot be written, the others see no beat: that is what has to be seen.
        with contextlib.suppress(CorpusmillError, OSError):
            write_worker(run, worker, {**record, "beat": f"{os.getpid()}-{beat}"})
