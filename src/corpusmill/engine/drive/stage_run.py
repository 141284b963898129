"""The units of one stage that are not done yet: given to the executor, and their results put together.

Who puts them together is the one difference between a run that one driver carries out, which collects every commit
(`CollectsAll`), and one that several share, where each collects its own and one of them reads the rest (`CollectsOwn`).
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Protocol, runtime_checkable

from corpusmill.display import setting
from corpusmill.engine.drive.budget import bad_records, check_budget, facts_of_records
from corpusmill.engine.drive.damage import differences, not_the_same
from corpusmill.engine.drive.drops_all import DropsAll, losses
from corpusmill.engine.drive.listener import ProgressListener
from corpusmill.engine.drive.session import Session, StageCounts
from corpusmill.errors import BudgetError, ResumeError, RunError, UnitError
from corpusmill.execute import Failure, SharedExecutor
from corpusmill.execute.task import StageTask
from corpusmill.store.facts import Facts
from corpusmill.store.leases import LEASES, RESULTS
from corpusmill.store.run_records import CollectedCommits
from corpusmill.store.stage_folder import StageFolder, stage_folder
from corpusmill.store.units import Commit, QuarantinedRecord, Results, Unit
from corpusmill.store.work import Stage

LATE = 30  # seconds that a listing is waited for that lacks what is there
FIRST = 16  # units of a pass that are looked at as they are done: those after them cannot be saved


@runtime_checkable
class DescribesPlan(Protocol):
    """A work whose plan people want to see before it is done."""

    def describe_plan(self, inputs: Sequence[Any]) -> list[str]: ...


class StageRun:
    """The units of the stage of this number that are not done yet, in a session."""

    def __init__(self, session: Session, number: int, folder: StageFolder, units: list[Unit], task: StageTask) -> None:
        self.session, self.number, self.folder, self.units, self.task = session, number, folder, units, task
        self.stage = session.plan.stages[number]
        self.keys = [unit.key for unit in units]
        self.counts_records = session.counts_records(self.stage)

    def run(self) -> Results:
        session, stage = self.session, self.stage
        collector: Collector = (CollectsOwn if isinstance(session.executor, SharedExecutor) else CollectsAll)(self)
        collector.prepare()
        counts = session.progress.counts[stage.name] = StageCounts(len(self.units), collector.done)
        session.listener.stage(stage, len(self.units), collector.committed())
        if session.meter:
            session.meter.stage(self.number, self.units, list(collector.missing.values()))
        describe_plan(stage, self.units, session.listener)
        before, warn = facts_of_records(*session.facts_before(stage)), LossWarning(session, stage)

        def on_commit(commit: Commit) -> None:
            collector.add(commit)
            counts.done_now = collector.done_now()
            session.listener.commit(stage, commit)
            if session.meter:
                session.meter.commit(commit)
            warn(collector.collected.facts)
            if self.counts_records:
                facts = facts_of_records(before, collector.collected.facts)
                check_budget(session.plan.recipe, session.run.place, facts, early=True)

        on_aside = self._on_quarantined(before, collector.collected)
        with session.repairs.reading_ahead(*self._read_next()):
            failures = session.executor.run(self.task, list(collector.missing.values()), on_commit, on_aside)
        if failures:
            collector.fail(failures)
        return collector.results()

    def _on_quarantined(self, before: Facts, collected: CollectedCommits) -> Callable[[Unit, QuarantinedRecord], None]:
        """Says which records were quarantined, and ends a run that has lost more of them than it may.

        before      `facts_of_records` of the passes that are complete
        collected   what is committed of the stage, as far as it is known; it grows
        """
        recipe, listener = self.session.plan.recipe, self.session.listener
        pending = [key for key in self.keys for _ in self.task.aside.get(key, ())]  # of the units of these records

        def on_quarantined(unit: Unit, record: QuarantinedRecord) -> None:
            pending.append(unit.key)
            description = f"{record.at.where}, at {record.at.step}: {record.cause}"
            listener.note(f"{self.stage.name}: unit {unit.number}: set aside as {record.kind}: {description}")
            budget = recipe.run.error_budget
            bad = bad_records(facts_of_records(before, collected.facts))[1]
            bad += sum(key not in collected.units for key in pending)
            if isinstance(budget, int) and bad > budget:
                raise BudgetError(
                    f"records that could not be processed: {bad}; run.error_budget allows {budget}. The last: "
                    f"{description}. If the loss is acceptable, run again with {setting('run.error_budget', bad)}."
                )

        return on_quarantined

    def _read_next(self) -> tuple[Mapping[str, Results], Mapping[str, Mapping[str, tuple[str, ...]]]]:
        """The results that the stage after this one reads and that are complete, and what it reads of each; none if it
        was begun by an earlier session, since then it may have nothing to do."""
        session, number = self.session, self.number + 1
        if (
            isinstance(session.executor, SharedExecutor)
            or not session.run.is_local
            or number == len(session.plan.stages)
        ):
            return {}, {}
        stage = session.plan.stages[number]
        if session.run.stage(stage_folder(stage.name, session.plan.identity(stage.name).fingerprint)).is_begun():
            return {}, {}
        return session.read_by(stage), stage.reads

    def refuse_lost(self, collected: CollectedCommits, why: str) -> None:
        """Raises RunError if a unit is not committed that should be."""
        if lost := [unit.number for unit in self.units if unit.key not in collected.units]:
            raise RunError(f"{self.stage.name}: units {lost[:5]} {why}")


@dataclass
class Collector(ABC):
    """Commits of a stage, as far as this driver knows them.

    done        how many of the stage's units earlier sessions did
    missing     key -> a unit that is to be done
    collected   the commits that it has read
    """

    of: StageRun
    done: int = 0
    missing: dict[str, Unit] = field(default_factory=dict)
    collected: CollectedCommits = field(init=False)

    @abstractmethod
    def prepare(self) -> None:
        """Find out what is committed."""

    def add(self, commit: Commit) -> None:
        """Take a unit that this session has done."""
        self.collected.add(commit)

    @abstractmethod
    def committed(self) -> int:
        """Units that are done, by whomever."""

    @abstractmethod
    def done_now(self) -> int:
        """Units that this session has done."""

    def fail(self, failures: Sequence[Failure]) -> NoReturn:
        """Take units that failed in every attempt. Raises UnitError."""
        first, stage = failures[0], self.of.stage.name
        raise UnitError(
            f"{len(failures)} of {len(self.of.units)} units of {stage} failed in every attempt; the others are "
            f"committed. The first: unit {first.unit.number}: {first.error}. See {self.of.folder.failed} for the "
            f"tracebacks, and run the same command again to repeat only these."
        )

    @abstractmethod
    def results(self) -> Results:
        """Put the results of all units together."""


@dataclass
class CollectsAll(Collector):
    """Of a run that one driver carries out: every commit, those of earlier sessions included."""

    _earlier: Mapping[str, Commit] = field(default_factory=dict)
    _different: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Read what is committed; compare what the missing units will read."""
        folder, keys, repairs = self.of.folder, self.of.keys, self.of.session.repairs
        folder.forget_failures()
        self.collected = folder.collect(keys, partial(repairs.set_aside, folder))
        if self.collected.units and (damaged := repairs.resized(folder, folder.finished(self.collected, keys))):
            repairs.forget(folder, self.of.stage.name, damaged)
            self.collected = folder.collect(keys)
        self.missing = {unit.key: unit for unit in self.of.units if unit.key not in self.collected.units}
        if self.missing:
            self._earlier = folder.earlier()
            self.of.session.compare(self.of.stage, self.of.stage.reads)
        committed = [key for key in keys if key in self.collected.units]
        self.done = len(self.collected) - repairs.done_of(folder, committed)

    def add(self, commit: Commit) -> None:
        super().add(commit)
        self.of.session.repairs.committed(self.of.folder, commit.key)
        self._different.extend(differences(commit, self._earlier.get(commit.key)))

    def committed(self) -> int:
        return len(self.collected)

    def done_now(self) -> int:
        return len(self.collected) - self.done

    def fail(self, failures: Sequence[Failure]) -> NoReturn:
        for failure in failures:
            self.of.folder.fail(failure.unit.key, failure.unit.number, failure.error, failure.traceback)
        super().fail(failures)

    def results(self) -> Results:
        stage, folder = self.of.stage, self.of.folder
        if self._different:
            raise ResumeError(not_the_same(stage.name, self._different))
        self.of.refuse_lost(
            self.collected, "are neither committed nor failed; this is a bug in corpusmill, please report it"
        )
        results = folder.finish(self.of.session.progress.where[stage.name][1], self.collected, self.of.keys)
        folder.remove_orphans(self.collected)
        return results


@dataclass
class CollectsOwn(Collector):
    """Of a run that several drivers share: its own commits. One of the drivers reads those of all, at the end."""

    def prepare(self) -> None:
        committed = self.of.folder.committed_keys()
        self.collected = CollectedCommits(self.of.folder.name, self.of.keys)
        self.missing = {unit.key: unit for unit in self.of.units if unit.key not in committed}
        self.done = sum(key in committed for key in self.of.keys)
        meter, executor = self.of.session.meter, self.of.session.executor
        assert isinstance(executor, SharedExecutor)
        executor.on_elsewhere = meter.elsewhere if meter else None

    def committed(self) -> int:
        return self.done + len(self.collected)

    def done_now(self) -> int:
        return len(self.collected)

    def results(self) -> Results:
        folder, executor = self.of.folder, self.of.session.executor
        assert isinstance(executor, SharedExecutor)
        plan = self.of.session.progress.where[self.of.stage.name][1]
        return executor.once(f"{folder.name}/{LEASES}", RESULTS, partial(folder.results, plan), self._put_together)

    def _put_together(self) -> Results:
        folder, keys = self.of.folder, self.of.keys
        collected = folder.collect(keys)
        for _ in range(LATE):
            if all(key in collected.units for key in keys):
                break
            time.sleep(1.0)  # a listing of an object store may be late; every one of them is there
            collected = folder.collect(keys)
        self.of.refuse_lost(collected, "are not committed, and were; was the folder changed?")
        if damaged := folder.resized(folder.finished(collected, keys)):
            self.of.session.repairs.forget(folder, self.of.stage.name, damaged)
        return folder.finish(self.of.session.progress.where[self.of.stage.name][1], collected, keys)


class LossWarning:
    """Says, once of each, which steps of a pass have dropped all they have seen, while its first units are done."""

    def __init__(self, session: Session, stage: Stage) -> None:
        self._session = session
        self._labels = next((info.labels for info in session.plan.passes if info.stage == stage.name), ())
        names = {stage_.name for stage_ in session.plan.stages}
        self._draws = [label for label in self._labels if f"{label}-draw" in names]
        self._warned: set[tuple[str, str | None]] = set()
        self._left = FIRST if self._labels else 0

    def __call__(self, facts: Facts) -> None:
        if not self._left:
            return
        self._left -= 1
        for loss in losses(self._labels, facts, self._draws):
            of = loss.source if isinstance(loss, DropsAll) else f"script {loss.script}"
            if (loss.step, of) not in self._warned:
                self._warned.add((loss.step, of))
                sentence = loss.in_words(str(self._session.run.place), " until now")
                self._session.listener.note(f"warning: {sentence}")


def describe_plan(stage: Stage, units: Sequence[Unit], listener: ProgressListener) -> None:
    """Say what a work's plan is, where people want to see it."""
    if isinstance(stage.work, DescribesPlan):
        for line in stage.work.describe_plan([unit.inputs for unit in units]):
            listener.note(line)
