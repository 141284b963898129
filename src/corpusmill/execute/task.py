"""A stage as executors are given it: its work, and where its units read and write."""

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from corpusmill import storage
from corpusmill.execute import termination
from corpusmill.store.beats import Beat, Heart
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import (
    USUAL,
    AttemptPosition,
    Commit,
    QuarantinedRecord,
    Resources,
    RetryPolicy,
    Unit,
    now,
    peak_memory,
)
from corpusmill.store.work import Work


@dataclass(frozen=True)
class StageTask:
    """All that is needed to carry out units of a stage, wherever: it is sent to a worker once.

    folder      the name of the stage's folder
    upstream    earlier stages that the work reads
    needs       resources of one unit
    session     see Upstream
    aside       unit's key -> what is left out of it, because earlier attempts ended there
    guard       what must hold while a unit is at work: a context manager, made anew for each
    """

    run: RunFolder
    folder: str
    work: Work[Any]
    upstream: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    needs: Resources = field(default_factory=Resources)
    session: str = ""
    aside: Mapping[str, tuple[QuarantinedRecord, ...]] = field(default_factory=dict)
    guard: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext

    def run_unit(
        self,
        unit: Unit,
        care: RetryPolicy = USUAL,
        at: Callable[[AttemptPosition], None] = lambda _: None,
        beat: Callable[[Beat], None] | None = None,
    ) -> Commit | None:
        """Carry out one unit and commit it, or try some of its records: the one function that every executor calls.

        care   how: see `RetryPolicy`
        at     is called with where the attempt is, if `care` has it noted
        beat   is called twice a second at most with how far it is

        Returns None if records were tried. If another attempt has committed the unit first, that commit is returned.
        Raises what the work raises; StorageError if the disk is full.
        """
        folder = self.run.stage(self.folder)
        io = UnitIO(
            self.run,
            self.upstream,
            self.session,
            folder.name,
            unit.key,
            uuid.uuid4().hex[:8],
            care=care,
            at=at,
            heart=Heart(beat),
        )
        try:
            with termination.unhidden():
                if care.probe is None:
                    return self._committed(unit, io, folder)
                with self.guard():
                    self.work.run(unit.inputs, io)
            io.discard()
            return None
        except OSError as error:
            io.abandon()
            if storage.is_full(error):
                raise storage.disk_full(self.run.place, error) from error
            raise
        except BaseException:
            io.abandon()
            raise

    def _committed(self, unit: Unit, io: UnitIO, folder: StageFolder) -> Commit:
        started, before = now(), time.process_time()
        with self.guard():
            self.work.run(unit.inputs, io)
        outputs = io.finish()
        # As they will be read back, order of keys and all.
        facts, notes = json.loads(json.dumps([io.facts, io.notes], sort_keys=True))
        seconds = round(now() - started, 3)
        cpu = round(time.process_time() - before, 3)
        commit = Commit(unit.key, io.attempt, outputs, facts, notes, seconds, peak_memory(), cpu)
        if not folder.commit(commit):
            commit = folder.committed(unit.key)
            if commit.attempt != io.attempt:
                io.discard()  # nobody else knows of these files
                return commit
        io.remove_scratch()
        return commit
