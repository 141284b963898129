"""Units that are shared with other drivers of the same run, who meet in its folder alone: see `leases`.

What it asks of the folder is bounded, for a store that is paid by request. A unit that nobody else wants costs one
lease beside its commit. Listings are made when a lease is lost to another and when nothing is left to take, not more
often than every half second for each thousand units. A driver that waits looks at UNITS_PER_LOOK units at a time.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from corpusmill.execute import AtWork, Check, Failure, OnAside, OnCommit, OnPulse, WorkerStatus
from corpusmill.execute.announce import Announcer
from corpusmill.execute.processes import Processes
from corpusmill.execute.task import StageTask
from corpusmill.store.leases import BEATS, Leases, Peers
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.units import Commit, QuarantinedRecord, Unit, now

MAX_DRIVERS = 2  # drivers that try a unit, each as often as it tries units
UNITS_PER_LOOK = 16  # units and leases that are looked at one by one, at a time
NAMES_PER_LISTING = 1000  # names in the answer to one request for a listing
FIRST_PAUSE = 0.25  # seconds; pauses get longer up to a beat
T = TypeVar("T")


@dataclass
class LeasingExecutor:
    """Does those units that no other driver does, by processes of this machine.

    others      what is known of the other drivers
    announcer   says what this one does
    index, count   its number among so many, from 0: they begin at different units. None: at a unit drawn by its name
    """

    inner: Processes
    others: Peers
    announcer: Announcer
    index: int | None = None
    count: int | None = None
    on_pulse: OnPulse | None = None
    on_elsewhere: Callable[[str], None] | None = None

    @property
    def workers(self) -> int:
        return self.inner.workers

    def check(self, checks: Sequence[Check]) -> None:
        self.inner.check(checks)

    def close(self) -> None:
        self.inner.close()

    def run(self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside) -> list[Failure]:
        """Returns when all units are committed, by whomever, or given up: these are the failures, the same for every
        driver."""
        folder = task.run.stage(task.folder)
        aside = dict(task.aside)
        task = replace(task, aside=aside)
        feed = _Feed(folder, units, self.others, self._first(len(units)), aside, self._elsewhere)
        self.inner.on_pulse = self._pulse
        pause = Pause(self.others.lease)
        self.announcer.say(at_units=True)

        def committed(commit: Commit) -> None:
            feed.open.pop(commit.key, None)
            on_commit(commit)

        while True:
            open_before = len(feed.open)
            for failure in self.inner.run_feed(task, feed, committed, on_aside):
                feed.failed(failure)
            if feed.is_over():
                break
            if len(feed.open) < open_before:
                pause = Pause(self.others.lease)
            self.announcer.tick(state="waiting", units=[])
            pause()
        self.announcer.say(at_units=False, units=[])
        return feed.given_up()

    def once(self, folder: str, name: str, look_up: Callable[[], T | None], make: Callable[[], T]) -> T:
        """See `execute.SharedExecutor`. `folder` is that of the leases."""
        leases = Leases(self.others, folder)
        pause = Pause(self.others.lease)
        while (value := look_up()) is None:
            leases.look()
            if leases.is_free(name) and leases.take(name):
                value = look_up()  # it may have been made meanwhile, by one that was taken for gone
                return make() if value is None else value
            self.announcer.tick(state="waiting")
            pause()
        return value

    def _first(self, units: int) -> int:
        """The unit to begin with."""
        if self.index is not None and self.count:
            return self.index * units // self.count
        return int(sha256(self.others.me.encode()).hexdigest()[:8], 16) % max(units, 1)

    def _elsewhere(self, key: str) -> None:
        if self.on_elsewhere:
            self.on_elsewhere(key)

    def _pulse(self, pulse: WorkerStatus) -> None:
        self.announcer.tick(state="working", units=[_work_record(work) for work in pulse.at_work], memory=pulse.memory)
        if self.on_pulse:
            self.on_pulse(pulse)


def _work_record(work: AtWork) -> dict[str, Any]:
    return {"unit": work.unit.number, "key": work.unit.key, "seconds": round(work.seconds, 1)}


@dataclass
class Pause:
    """Waits, longer each time, but never longer than a beat."""

    lease: float
    seconds: float = FIRST_PAUSE

    def __call__(self) -> None:
        time.sleep(min(self.seconds, self.lease / BEATS))
        self.seconds *= 1.5


class _Feed:
    """Units that this driver can take.

    open   key -> unit, of those that are not known to be committed, in the order in which they are tried
    """

    def __init__(
        self,
        folder: StageFolder,
        units: Sequence[Unit],
        others: Peers,
        first: int,
        aside: dict[str, tuple[QuarantinedRecord, ...]],
        on_elsewhere: Callable[[str], None],
    ) -> None:
        self._on_elsewhere = on_elsewhere
        self.folder, self._others, self._aside = folder, others, aside
        self._leases = Leases(others, f"{folder.name}/leases")
        self._pages = 1 + len(units) // NAMES_PER_LISTING
        self.open = {unit.key: unit for unit in [*units[first:], *units[:first]]}
        self._fresh = iter(list(self.open))  # nobody was asked about them yet
        self._next: Unit | None = None
        self._mine: set[str] = set()  # this driver has begun with them
        self._listed = self._looked = float("-inf")
        self._failures: Mapping[str, Mapping[str, Any]] = {}
        self._turn: Iterator[str] = iter(())
        self._list()

    def __len__(self) -> int:
        if self._next is None:
            self._next = self._untaken() or self._abandoned()
        return self._next is not None

    def pop(self) -> Unit:
        assert len(self)
        unit, self._next = self._next, None
        assert unit
        self._mine.add(unit.key)
        return unit

    def failed(self, failure: Failure) -> None:
        """Note that this driver has given a unit up; others may try it."""
        key = failure.unit.key
        if not self.folder.is_committed(key):
            workers = self._valid(self._failures.get(key, {}))
            self.folder.fail(key, failure.unit.number, failure.error, failure.traceback, [*workers, self._others.me])
        self._look_at_failures()

    def is_over(self) -> bool:
        """Whether every unit is committed or given up."""
        if self._next is not None:
            return False
        self._refresh()
        return all(self._is_given_up(key) for key in self.open)

    def given_up(self) -> list[Failure]:
        notes = ((unit, self._failures[key]) for key, unit in self.open.items())
        failures = [Failure(unit, str(note.get("error")), str(note.get("traceback"))) for unit, note in notes]
        return sorted(failures, key=lambda failure: failure.unit.number)

    # ---------------------------------------------------------------- what can be taken

    def _untaken(self) -> Unit | None:
        """A unit that nobody has ever taken, as far as is known, and that is now taken for this driver."""
        for key in self._fresh:
            if key in self.open and key not in self._failures and not self._leases.last.get(key):
                if self._leases.take(key):
                    return self.open[key]
                self._list()  # others have been here: what else do they have?
        return None

    def _abandoned(self) -> Unit | None:
        """One whose holder is gone, or has given it up, and that is now taken for this driver."""
        if now() - self._looked < FIRST_PAUSE:
            return None
        self._looked = now()
        self._refresh()
        for key in self._sample():
            note = self._failures.get(key)
            if note is not None and (self._is_given_up(key) or self._others.me in self._valid(note)):
                continue
            free = self._leases.is_free(key) or (note is not None and self._leases.holder(key) in _failed_workers(note))
            # Listings may be late: who is gone may have committed it.
            if free and not self._is_done(key) and self._leases.take(key):
                if quarantined := self.folder.aside_of(key):  # by who had it before
                    self._aside[key] = quarantined
                return self.open[key]
        return None

    def _sample(self) -> list[str]:
        """Some of the open units, others each time."""
        chosen = list(islice(self._turn, UNITS_PER_LOOK))
        if len(chosen) < UNITS_PER_LOOK:
            self._turn = iter(list(self.open))
            chosen += islice(self._turn, UNITS_PER_LOOK - len(chosen))
        return [key for key in dict.fromkeys(chosen) if key in self.open]

    # ---------------------------------------------------------------- what is known

    def _refresh(self) -> None:
        """Find out what is committed: by a listing, or of some units if it is too soon for one."""
        if not self._list():
            for key in self._sample():
                self._is_done(key)

    def _is_done(self, key: str) -> bool:
        if key in self.open and self.folder.is_committed(key):
            self._done_elsewhere(key)
        return key not in self.open

    def _list(self) -> bool:
        """List commits and leases, unless that was done a short while ago."""
        if now() - self._listed < self._pages / 2:
            return False
        for key in self.folder.committed_keys() & self.open.keys():
            self._done_elsewhere(key)
        self._leases.look()
        self._look_at_failures()
        self._listed = now()
        return True

    def _done_elsewhere(self, key: str) -> None:
        del self.open[key]
        if key not in self._mine:
            self._on_elsewhere(key)

    def _look_at_failures(self) -> None:
        self._failures = self.folder.failures_by_key()

    def _is_given_up(self, key: str) -> bool:
        note = self._failures.get(key)
        if note is None:
            return False
        workers = self._valid(note)
        return len(workers) >= MAX_DRIVERS or (self._others.me in workers and not self._others.at_work())

    def _valid(self, note: Mapping[str, Any]) -> list[str]:
        """Who has tried a unit in vain, and is still there: what was noted by earlier ones counts no longer."""
        return [worker for worker in _failed_workers(note) if not self._others.is_gone(worker)]


def _failed_workers(note: Mapping[str, Any]) -> list[str]:
    workers = note.get("workers", [])
    return [str(worker) for worker in workers] if isinstance(workers, list) else []
