"""Stage after stage: plan, do what is missing, record the results."""

import contextlib
import hashlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

from corpusmill import assets
from corpusmill.engine.clock import Clock
from corpusmill.engine.damage import Repaired, Repairs, differences, not_the_same
from corpusmill.engine.drops_all import drops_all, in_words
from corpusmill.engine.identity import assets_of
from corpusmill.engine.meter import BeatListener, Meter
from corpusmill.engine.plan import Plan
from corpusmill.engine.workers import too_few_units
from corpusmill.errors import BudgetError, ResumeError, RunError, UnitError
from corpusmill.execute import Executor, Failure, OnAside, Pulse, Pulsing, Together
from corpusmill.facts import Facts, total
from corpusmill.leases import LEASES, RESULTS
from corpusmill.recipe.model import Recipe
from corpusmill.run_folder import RunFolder
from corpusmill.run_records import Collected
from corpusmill.stage_folder import StageFolder, stage_folder
from corpusmill.unit_io import StageTask, Upstream
from corpusmill.units import Aside, Commit, Results, Stage, Unit

LATE = 30  # seconds that a listing is waited for that lacks what is there
FIRST = 16  # units of a pass that are looked at as they are done: those after them cannot be saved
EARLY = 10_000  # records after which a run that loses too many stops at once, not at the end of the pass


class ProgressListener(Protocol):
    """Called as a run goes on, to show its progress. Every method is called from the driver only.

    compiling   kernels are compiled now, which takes a minute or two
    stage       a stage begins: it has so many units, of which some are done already
    commit      a unit of the stage is done
    note        a line for people

    One that is a `meter.BeatListener` as well is also told what happens inside units.
    """

    def compiling(self) -> None: ...
    def stage(self, stage: Stage, units: int, done: int) -> None: ...
    def commit(self, stage: Stage, commit: Commit) -> None: ...
    def note(self, message: str) -> None: ...


class Silent:
    """Shows nothing."""

    def compiling(self) -> None:
        pass

    def stage(self, stage: Stage, units: int, done: int) -> None:
        pass

    def commit(self, stage: Stage, commit: Commit) -> None:
        pass

    def note(self, message: str) -> None:
        pass


@runtime_checkable
class DescribesPlan(Protocol):
    """A work whose plan people want to see before it is done."""

    def describe_plan(self, inputs: Sequence[Any]) -> list[str]: ...


@dataclass
class StageCounts:
    """Units of a stage that this call did, of all that it has."""

    units: int
    done_before: int
    done_now: int = 0


@dataclass
class Progress:
    """What has been carried out.

    results   stage -> what its units left, in the order in which the stages were done
    counts    stage -> how many units were done by this call and by earlier ones
    plans     stage -> the name of its plan
    where     stage -> the name of its folder, and of its plan
    """

    results: dict[str, Results] = field(default_factory=dict)
    counts: dict[str, StageCounts] = field(default_factory=dict)
    plans: dict[str, str] = field(default_factory=dict)
    where: dict[str, tuple[str, str]] = field(default_factory=dict)
    session: str = field(default_factory=lambda: uuid.uuid4().hex)


def carry_out(
    run: RunFolder,
    plan: Plan,
    executor: Executor,
    listener: ProgressListener,
    repairs: Repairs | None = None,
    clock: Clock | None = None,
    workers: int = 0,
) -> Progress:
    """Do every stage in turn; where files of an earlier session were damaged, once more from the first.

    repairs   of this session, if it has carried out these stages before
    clock     measures the stages
    workers   the listener is told if the first pass has not work for so many
    """
    repairs = repairs or Repairs(run, listener.note)
    while True:
        progress = Progress()
        meter = Meter(plan, listener.beat) if isinstance(listener, BeatListener) else None
        try:
            with heard(executor, listener, meter):
                _go_through(run, plan, executor, listener, meter, progress, repairs, workers, clock or Clock())
        except Repaired:
            continue
        return progress


@contextlib.contextmanager
def heard(executor: Executor, listener: ProgressListener, meter: Meter | None = None) -> Iterator[None]:
    """Meanwhile the listener is told what units wait for, and the meter what workers do, if the executor says it."""
    if not isinstance(executor, Pulsing):
        yield
        return
    missing = ""

    def hear(pulse: Pulse) -> None:
        nonlocal missing
        if pulse.waits_for and pulse.waits_for != missing:
            listener.note(f"no unit can run: the cluster has no {pulse.waits_for}. Waiting for one; Ctrl-C ends this")
        missing = pulse.waits_for
        if meter is not None:
            meter.pulse(pulse)

    executor.on_pulse = hear
    try:
        yield
    finally:
        executor.on_pulse = None


def _go_through(
    run: RunFolder,
    plan: Plan,
    executor: Executor,
    listener: ProgressListener,
    meter: Meter | None,
    progress: Progress,
    repairs: Repairs,
    workers: int,
    clock: Clock,
) -> None:
    recorded = stages_record(plan)
    for number, stage in enumerate(plan.stages):
        clock.at(stage.name)
        fingerprint = plan.identity(stage.name)
        folder = run.stage(stage_folder(stage.name, fingerprint.fingerprint))
        upstream = _upstream(run, progress, recorded, stage.after)
        read = {name: progress.results[name] for name in stage.after}
        try:
            units = unit_list(stage, upstream)
        except Exception:
            repairs.compare(upstream.where, read, executor, progress.session)  # it may be what planning read
            raise
        repairs.sound(folder, partial(folder.describe, fingerprint.to_json()))
        name = repairs.sound(folder, partial(folder.plan, units))
        recorded[number]["plan"] = progress.plans[stage.name] = name
        progress.where[stage.name] = (recorded[number]["folder"], name)
        if isinstance(executor, Together):
            run.add_stages(recorded)
        else:
            run.write_stages(recorded)
        results = repairs.sound(folder, partial(folder.results, name))
        if results is not None and (damaged := repairs.resized(folder, results)):
            repairs.forget(folder, stage.name, damaged)
            results = None
        if results is not None:
            done_now = repairs.done_of(folder, results.keys)
            listener.stage(stage, len(units), len(units))
            if meter:
                meter.stage(number, units, ())
            _describe_plan(stage, units, listener)
            progress.counts[stage.name] = StageCounts(len(units), len(units) - done_now, done_now)
        else:
            if number == 0 and (why := too_few_units(plan, units, workers)):
                listener.note(why)
            where, aside = recorded[number]["folder"], repairs.sound(folder, folder.aside)
            held = fingerprint.assets
            guard = partial(assets.kept, held, partial(assets_of, stage.work), assets.planned(list(held)))
            task = StageTask(run, where, stage.work, upstream.where, stage.needs, progress.session, aside, guard)
            do = _do_together if isinstance(executor, Together) else _do
            results = do(plan, number, folder, units, task, read, executor, listener, meter, progress, repairs)
        progress.results[stage.name] = results
        if stage.name in _passes(plan):
            check_budget(plan.recipe, run, _of_passes(plan, progress), early=False)


def _do(
    plan: Plan,
    number: int,
    folder: StageFolder,
    units: list[Unit],
    task: StageTask,
    read: Mapping[str, Results],
    executor: Executor,
    listener: ProgressListener,
    meter: Meter | None,
    progress: Progress,
    repairs: Repairs,
) -> Results:
    """Do the units of the stage of this number that are not done yet. `read` are the results of earlier stages that it
    reads."""
    stage = plan.stages[number]
    folder.forget_failures()
    keys = [unit.key for unit in units]
    collected = folder.collect(keys, partial(repairs.set_aside, folder))
    if collected.units and (damaged := folder.resized(folder.finished(collected, keys))):
        repairs.forget(folder, stage.name, damaged)
        collected = folder.collect(keys)
    missing = {unit.key: unit for unit in units if unit.key not in collected.units}
    earlier = folder.earlier() if missing else {}
    if missing:
        repairs.compare(task.upstream, read, executor, progress.session, stage.reads)
    done_before = len(collected) - repairs.done_of(folder, [key for key in keys if key in collected.units])
    counts = progress.counts[stage.name] = StageCounts(len(units), done_before)
    listener.stage(stage, len(units), len(collected))
    if meter:
        meter.stage(number, units, list(missing.values()))
    _describe_plan(stage, units, listener)
    before = _of_passes(plan, progress)
    warn = _warns_of_loss(plan, stage, folder.run, listener)
    other: list[str] = []

    def on_commit(commit: Commit) -> None:
        collected.add(commit)
        repairs.committed(folder, commit.key)
        counts.done_now = len(collected) - done_before
        listener.commit(stage, commit)
        if meter:
            meter.commit(commit)
        other.extend(differences(commit, earlier.get(commit.key)))
        warn(collected.facts)
        if stage.name in _passes(plan):
            check_budget(plan.recipe, folder.run, total([before, _of_records(collected.facts)]), early=True)

    on_aside = _on_aside(plan, stage, task, keys, before, collected, listener)
    with repairs.reading_ahead(*_read_next(plan, number, folder.run, progress)):
        failures = executor.run(task, list(missing.values()), on_commit, on_aside)
    if failures:
        for failure in failures:
            folder.fail(failure.unit.key, failure.unit.number, failure.error, failure.traceback)
        raise _given_up(stage, len(units), failures, folder)
    if other:
        raise ResumeError(not_the_same(stage.name, other))
    lost = [unit.number for unit in units if unit.key not in collected.units]
    if lost:
        raise RunError(f"{stage.name}: units {lost[:5]} are neither committed nor failed; this is a fault of ours")
    results = folder.finish(progress.plans[stage.name], collected, keys)
    folder.remove_orphans(collected)
    return results


def _read_next(
    plan: Plan, number: int, run: RunFolder, progress: Progress
) -> tuple[Mapping[str, Results], Mapping[str, Mapping[str, tuple[str, ...]]]]:
    """The results that the stage after this one reads and that are complete, and what it reads of each; none if it was
    begun by an earlier session, since then it may have nothing to do."""
    if not run.is_local or number + 1 == len(plan.stages):
        return {}, {}
    stage = plan.stages[number + 1]
    if run.stage(stage_folder(stage.name, plan.identity(stage.name).fingerprint)).is_begun():
        return {}, {}
    return {name: progress.results[name] for name in stage.after if name in progress.results}, stage.reads


def _do_together(
    plan: Plan,
    number: int,
    folder: StageFolder,
    units: list[Unit],
    task: StageTask,
    read: Mapping[str, Results],
    executor: Executor,
    listener: ProgressListener,
    meter: Meter | None,
    progress: Progress,
    repairs: Repairs,
) -> Results:
    """The same where other drivers do units of the stage, too. One of them puts the results together; the commits of
    others are not read here, but by that one."""
    assert isinstance(executor, Together)
    stage, name = plan.stages[number], progress.plans[plan.stages[number].name]
    keys = [unit.key for unit in units]
    there = folder.committed_keys()
    missing = {unit.key: unit for unit in units if unit.key not in there}
    counts = progress.counts[stage.name] = StageCounts(len(units), sum(key in there for key in keys))
    listener.stage(stage, len(units), counts.done_before)
    if meter:
        meter.stage(number, units, list(missing.values()))
    _describe_plan(stage, units, listener)
    before, own = _of_passes(plan, progress), Collected(folder.name, keys)
    warn = _warns_of_loss(plan, stage, folder.run, listener)

    def on_commit(commit: Commit) -> None:
        own.add(commit)
        counts.done_now = len(own)
        listener.commit(stage, commit)
        if meter:
            meter.commit(commit)
        warn(own.facts)
        if stage.name in _passes(plan):
            check_budget(plan.recipe, folder.run, total([before, _of_records(own.facts)]), early=True)

    on_aside = _on_aside(plan, stage, task, keys, before, own, listener)
    executor.on_elsewhere = meter.elsewhere if meter else None
    if failures := executor.run(task, list(missing.values()), on_commit, on_aside):
        raise _given_up(stage, len(units), failures, folder)

    def put_together() -> Results:
        collected = folder.collect(keys)
        for _ in range(LATE):
            if all(key in collected.units for key in keys):
                break
            time.sleep(1.0)  # a listing of an object store may be late; every one of them is there
            collected = folder.collect(keys)
        lost = [unit.number for unit in units if unit.key not in collected.units]
        if lost:
            raise RunError(f"{stage.name}: units {lost[:5]} are not committed, and were; was the folder changed?")
        if damaged := folder.resized(folder.finished(collected, keys)):
            repairs.forget(folder, stage.name, damaged)
        return folder.finish(name, collected, keys)

    return executor.once(f"{folder.name}/{LEASES}", RESULTS, partial(folder.results, name), put_together)


def _warns_of_loss(plan: Plan, stage: Stage, run: RunFolder, listener: ProgressListener) -> Callable[[Facts], None]:
    """Says, once of each, which steps of a pass have dropped all they have seen, while its first units are done."""
    labels = next((info.labels for info in plan.passes if info.stage == stage.name), ())
    draws = [label for label in labels if any(one.name == f"{label}-draw" for one in plan.stages)]
    said: set[tuple[str, str | None]] = set()
    left = FIRST if labels else 0

    def warn(facts: Facts) -> None:
        nonlocal left
        if left:
            left -= 1
            for one in drops_all(labels, facts, draws):
                if (one.step, one.source) not in said:
                    said.add((one.step, one.source))
                    listener.note(f"warning: {in_words(one, str(run.place), ' until now')}")

    return warn


def _on_aside(
    plan: Plan,
    stage: Stage,
    task: StageTask,
    keys: Sequence[str],
    before: Facts,
    collected: Collected,
    listener: ProgressListener,
) -> OnAside:
    """Says what was set aside, and ends a run that has lost more records than it may.

    before      `_of_passes`
    collected   what is committed of the stage, as far as it is known; it grows
    """
    pending = [key for key in keys for _ in task.aside.get(key, ())]  # of the units of records that were set aside

    def on_aside(unit: Unit, aside: Aside) -> None:
        pending.append(unit.key)
        what = f"{aside.at.where}, at {aside.at.step}: {aside.cause}"
        listener.note(f"{stage.name}: unit {unit.number}: set aside as {aside.kind}: {what}")
        budget = plan.recipe.run.error_budget
        bad = bad_records(total([before, _of_records(collected.facts)]))[1]
        bad += sum(key not in collected.units for key in pending)
        if isinstance(budget, int) and bad > budget:
            raise BudgetError(
                f"records that could not be processed: {bad}; run.error_budget allows {budget}. The last: {what}. "
                f"If the loss is acceptable, run again with --set run.error_budget={bad}."
            )

    return on_aside


def _given_up(stage: Stage, units: int, failures: Sequence[Failure], folder: StageFolder) -> UnitError:
    first = failures[0]
    return UnitError(
        f"{len(failures)} of {units} units of {stage.name} failed in every attempt; the others are "
        f"committed. The first: unit {first.unit.number}: {first.error}. See {folder.failed} for the "
        f"tracebacks, and run the same command again to repeat only these."
    )


def _passes(plan: Plan) -> list[str]:
    return [info.stage for info in plan.passes]


def _of_passes(plan: Plan, progress: Progress) -> Facts:
    """`_of_records` of the passes that are done."""
    return total(_of_records(progress.results[name].facts) for name in _passes(plan) if name in progress.results)


def _of_records(facts: Facts) -> Facts:
    """What `bad_records` looks at."""
    return {name: facts[name] for name in ("read", "failed") if name in facts}


def _describe_plan(stage: Stage, units: Sequence[Unit], listener: ProgressListener) -> None:
    if isinstance(stage.work, DescribesPlan):
        for line in stage.work.describe_plan([unit.inputs for unit in units]):
            listener.note(line)


def unit_list(stage: Stage, upstream: Upstream) -> list[Unit]:
    """The units of a stage in order, with their keys."""
    planned = stage.units(upstream)
    return [Unit(number, unit_key(unit.content), unit.inputs) for number, unit in enumerate(planned)]


def unit_key(content: tuple[str, ...]) -> str:
    """20 hexadecimal digits: two units with the same key read the same."""
    text = "\0\0".join(content).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:20]


def _upstream(
    run: RunFolder, progress: Progress, recorded: Sequence[Mapping[str, Any]], after: tuple[str, ...]
) -> Upstream:
    folders = {entry["stage"]: entry["folder"] for entry in recorded}
    return Upstream(run, {name: (folders[name], progress.plans[name]) for name in after}, progress.session)


def stages_record(plan: Plan) -> list[dict[str, Any]]:
    """The stages of a run as run.json has them, before any is planned."""
    folders = ((stage.name, plan.identity(stage.name).fingerprint) for stage in plan.stages)
    return [{"stage": name, "folder": stage_folder(name, print_), "plan": None} for name, print_ in folders]


def check_budget(recipe: Recipe, run: RunFolder, facts: Facts, early: bool) -> None:
    """Raises BudgetError if more records were bad than `run.error_budget` allows: a share of them, or a count."""
    records, bad, kinds = bad_records(facts)
    budget = recipe.run.error_budget
    if early and isinstance(budget, float) and records < EARLY:
        return
    allowed = budget * records if isinstance(budget, float) else budget
    if bad <= allowed:
        return
    worst = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    raise BudgetError(
        f"{bad} of {records} records could not be processed ({worst}), and run.error_budget allows {allowed:g}. "
        f"Look at them with: corpusmill peek {run.place} --dead. If the loss is acceptable, run again with "
        f"--set run.error_budget={_enough(bad, records)}; nothing is read twice."
    )


def bad_records(facts: Facts) -> tuple[int, int, dict[str, int]]:
    """Records read; records and documents lost to errors; these by kind."""
    kinds: dict[str, int] = {}
    records = 0
    for source in facts.get("read", {}).values():
        records += source.get("records", 0)
        for kind, count in source.get("dead", {}).items():
            kinds[kind] = kinds.get(kind, 0) + count
    for step, sources in facts.get("failed", {}).items():
        kinds[f"{step} failed"] = sum(sources.values())
    return records, sum(kinds.values()), kinds


def _enough(bad: int, records: int) -> str:
    return f"{min(1.0, -(-bad * 1000 // max(records, 1)) / 1000):g}" if records else "1.0"
