"""Who is at work on a run, and whose a unit is: workers without a head agree through the folder of the run alone.

    RUN/workers/ID.json                 a worker: what it does, and a number that changes as long as it lives (its beat)
    RUN/…/leases/KEY-N.json             the worker that was the N-th to take KEY: a unit, or what one does for all

A lease is created once, so one of any number of workers has it. It ends with the commit of what it is about, or with
its worker: one that says that it has ended, or whose beat has not changed for as long as it has promised, by the clock
of who looks (clocks of machines are never compared). Then the next to look takes KEY-(N+1), again created once; nothing
is ever replaced.

A lease saves work and protects nothing: a worker that was taken for dead and goes on does what another does as well,
and its commit comes second.
"""

import json
import os
import re
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corpusmill import storage
from corpusmill.errors import InputError
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.run_records import as_json
from corpusmill.store.units import now

WORKERS, LEASES = "workers", "leases"
RESULTS, PUBLISH = "results", "publish"  # what one worker does for all, at the end of a stage and of the run
ENDED = "ended"  # a state of a worker; the others are for people
BEATS = 6  # in the time after which a silent worker is taken for gone


def new_worker(index: int | None = None) -> str:
    """A name for a worker that no other has."""
    host = re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:40]
    number = "" if index is None else f"{index}-"
    return f"{number}{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def record_of(run: RunFolder, worker: str) -> str:
    """The full name of the record of a worker."""
    return run.name_of(f"{WORKERS}/{worker}.json")


def write_worker(run: RunFolder, worker: str, record: Mapping[str, Any]) -> None:
    storage.write_atomic(record_of(run, worker), as_json(record))


def read_worker(run: RunFolder, worker: str) -> dict[str, Any] | None:
    """What a worker said last; None if it is not there, or was just being replaced."""
    try:
        record = json.loads(storage.read_bytes(record_of(run, worker)))
    except (InputError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def workers(run: RunFolder) -> list[str]:
    """All workers that ever were at work on a run, but those that were tidied away."""
    return [name.removesuffix(".json") for name in storage.list_dir(run.name_of(WORKERS)) if name.endswith(".json")]


@dataclass
class Peers:
    """What one worker knows of the others, by its own clock.

    me      its own name
    lease   seconds after which it takes a worker for gone that has not said how long it may be silent
    """

    run: RunFolder
    me: str
    lease: float
    clock: Callable[[], float] = now
    _heard: dict[str, tuple[Any, float]] = field(default_factory=dict)  # worker -> its last words, and since when
    _answers: dict[str, tuple[bool, float]] = field(default_factory=dict)  # worker -> whether it was gone, and when

    def is_gone(self, worker: str) -> bool:
        """Whether a worker has ended, or has said nothing new for so long that it must be taken for gone.

        One that is looked at for the first time is not gone, unless it says so.
        """
        if worker == self.me:
            return False
        at = self.clock()
        answer, checked_at = self._answers.get(worker, (False, float("-inf")))
        if at - checked_at >= self.lease / BEATS / 4:
            answer = self._look(worker, at)
            self._answers[worker] = answer, at
        return answer

    def _look(self, worker: str, at: float) -> bool:
        record = read_worker(self.run, worker)
        if record is not None and record.get("state") == ENDED:
            return True
        if worker not in self._heard or record != self._heard[worker][0]:
            self._heard[worker] = record, at
            return False
        promised = (record or {}).get("lease")
        return at - self._heard[worker][1] >= (promised if isinstance(promised, int | float) else self.lease)

    def at_work(self) -> list[str]:
        """Those of the others that are not gone."""
        return [worker for worker in workers(self.run) if worker != self.me and not self.is_gone(worker)]


@dataclass
class Leases:
    """The leases of one folder of a run, as one worker sees them.

    folder   relative to the run: `stages/pass-1-3fa2b1c4/leases`
    """

    others: Peers
    folder: str
    last: dict[str, int] = field(default_factory=dict)  # key -> the highest number that is known
    _holders: dict[tuple[str, int], str] = field(default_factory=dict)

    def look(self) -> None:
        """List what is taken; what was known stays so, since listings may be late."""
        for file in storage.list_dir(self.others.run.name_of(self.folder)):
            key, _, number = file.removesuffix(".json").rpartition("-")
            if key and number.isdigit():
                self.last[key] = max(self.last.get(key, 0), int(number))

    def take(self, key: str) -> bool:
        """Take what nobody has, or what its holder has lost; False if another was first."""
        number = self.last.get(key, 0) + 1
        self.last[key] = number
        record = json.dumps({"worker": self.others.me}).encode()
        if storage.create_once(self._name(key, number), record):
            self._holders[key, number] = self.others.me
            return True
        return False

    def holder(self, key: str) -> str | None:
        """The worker that has it, by the last lease that is known; None if there is none, or it is not readable yet."""
        number = self.last.get(key, 0)
        if not number:
            return None
        if (key, number) not in self._holders:
            try:
                self._holders[key, number] = str(json.loads(storage.read_bytes(self._name(key, number)))["worker"])
            except (InputError, ValueError, KeyError, TypeError):
                return None
        return self._holders[key, number]

    def is_free(self, key: str) -> bool:
        """Whether nobody has it, as far as is known, or who has it is gone."""
        if not self.last.get(key):
            return True
        holder = self.holder(key)
        return holder is not None and self.others.is_gone(holder)

    def tidy(self) -> None:
        """Remove them all: what they are about is done."""
        storage.remove_tree(self.others.run.name_of(self.folder))

    def _name(self, key: str, number: int) -> str:
        return self.others.run.name_of(f"{self.folder}/{key}-{number}.json")
