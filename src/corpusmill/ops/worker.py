"""Carry out a run together with others, without a head: each worker needs the run's folder, and nothing else.

All do the same: go through the stages in order, do those units of the present one that nobody else does (see `leases`),
and wait for the rest. What one has to do for all, the results of a stage and the outputs in the end, one of them does.
"""

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from corpusmill import progress as displays
from corpusmill import storage
from corpusmill.about import __version__
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.damage import ReadOnlyRepairs
from corpusmill.engine.drive.listener import ProgressListener
from corpusmill.engine.drive.meter import BeatListener, StageProgress
from corpusmill.engine.drive.session import Session, StageCounts
from corpusmill.engine.plan import preflight
from corpusmill.engine.plan.changes import changes
from corpusmill.engine.plan.plan import RunPlan, stages_record, unit_list
from corpusmill.engine.plan.selections import with_selections
from corpusmill.errors import CorpusmillError, InputError, RecipeError, RefusedFolder
from corpusmill.execute import cpus, termination, warm_start
from corpusmill.execute.announce import Announcer
from corpusmill.execute.leasing import LeasingExecutor
from corpusmill.execute.processes import Processes
from corpusmill.hidden import masked
from corpusmill.ops.collection import as_collected, refuse_to_drop
from corpusmill.ops.finish import DamagedOutput, finish
from corpusmill.ops.finished import Run
from corpusmill.ops.kernels import preloaded, warm_kernels
from corpusmill.ops.provenance import describe
from corpusmill.ops.provenance.calls import FAILED, FINISHED, SharedCall, write_calls
from corpusmill.ops.unused import refuse_removed, remove_intermediate
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import remarks
from corpusmill.recipe.override import Overrides
from corpusmill.store import forgotten
from corpusmill.store.leases import ENDED, LEASES, PUBLISH, WORKERS, Peers, new_worker, read_worker, workers
from corpusmill.store.locks import if_alone, only_driver, with_others
from corpusmill.store.output import OutputFolder
from corpusmill.store.run_folder import STAGES, STAGES_RECORD, RunFolder
from corpusmill.store.unit_io import Upstream

LEASE_SECONDS = 60.0  # seconds without a sign of life after which others take a worker's units
MAX_NAMES_SHOWN = 5  # of workers or libraries in a message


@dataclass(frozen=True)
class WorkResult:
    """What a worker has done of a run that is finished.

    place      the run's folder
    worker     its name in the run's records
    units      stage -> units that it did, and those that were done before it came to the stage
    published  whether it was the one that published, verified and reported
    nothing    whether the run was finished before it came
    """

    place: str
    worker: str
    units: dict[str, StageCounts]
    published: bool
    nothing: bool


def of_run(address: str, overrides: Overrides = ()) -> Recipe:
    """The recipe of a run that is there, as it was resolved. Raises InputError if it cannot be taken from there."""
    if overrides:
        raise RecipeError(
            "--set changes a recipe, and this run has its own: name the recipe and the run's --folder instead"
        )
    run = RunFolder(address)
    record = run.record()
    recipe = Recipe.parse(record["recipe"], run.name_of("run.json"), recorded=True)
    if recipe.fingerprint() != record["fingerprint"] and record["versions"]["corpusmill"] == __version__:
        raise InputError(
            f"{address}: its recipe cannot be taken from its run.json, where secrets are hidden and code of your own "
            f"is not: name the recipe as well, corpusmill work RECIPE --folder {quote(address)}"
        )
    return as_collected(recipe, run)


def prepare(recipe: Recipe, folder: str | None = None) -> str:
    """Plan a run for workers to carry out, and write its recipe and stages into its folder; returns the place.

    A run that is there, of this recipe or another one, is planned anew: what is the same is not done again.
    """
    run = RunFolder(folder or recipe.folder)
    refuse_to_drop(recipe, run)
    plan = preflight.ready(with_selections(recipe, run), run).plan
    run.make()
    with only_driver(run):
        active = [name for name in workers(run) if (read_worker(run, name) or {}).get("state") != ENDED]
        if active and not run.is_local:  # where no lock says it
            raise RefusedFolder(
                f"{run.place}: workers may be at work in it ({', '.join(active[:MAX_NAMES_SHOWN])}). Stop them first; "
                f"if they were killed, remove {run.name_of(WORKERS)}"
            )
        storage.remove_tree(run.name_of(WORKERS))
        _tidy_leases(run)
        OutputFolder(run).remove()
        run.write(STAGES_RECORD, stages_record(plan))
        write_calls(run, describe(plan), ())
    return run.place


def work(
    recipe: Recipe | str | os.PathLike[str],
    *,
    folder: str | None = None,
    index: int | None = None,
    of: int | None = None,
    processes: int | None = None,
    lease: float = LEASE_SECONDS,
    overrides: Overrides = (),
    listener: ProgressListener | None = None,
    progress: str | bool = "auto",
) -> WorkResult:
    """Take part in a run until it is finished, as one of any number of workers on any machines.

    recipe      a Recipe, or the path of one in YAML; every worker is given the same
    folder      the run's folder, which all of them reach: a path, or a URL. None: the recipe's
    index, of   this worker's number among so many, from 0. Only where they begin depends on it: none waits for another
    processes   at work at a time; None: the processors that this process may use
    lease       seconds without a sign of life after which other workers take what this one has

    Raises what `run` raises; ResumeError, before it does anything, if the code, a library or the input is not the one
    that the run was planned with.
    """
    warm_start.leave_if_imported_by_worker()
    if (index is None) != (of is None) or (index is not None and of is not None and not 0 <= index < of):
        raise RecipeError(f"--index {index} --of {of}: give both or neither, the index from 0 to one less than --of")
    loaded = recipe if isinstance(recipe, Recipe) else preflight.load(Path(recipe), overrides)
    run = RunFolder.at(folder or loaded.folder)
    refuse_to_drop(loaded, run)
    with ExitStack() as stack:
        listener = listener or stack.enter_context(displays.display(progress))
        loaded = with_selections(loaded, run, listener.note)
        plan = preflight.ready(loaded, run).plan
        if forgotten.read(run) is not None:
            raise RefusedFolder(
                f"{run.place}: this run has documents to forget, which workers that publish side by side cannot take "
                "out. Run the recipe with `corpusmill run` here; what is committed is not done again."
            )
        run.make()
        stack.callback(_last_one_out, run, plan)
        stack.enter_context(with_others(run))
        described = describe(plan)
        run.begin_together(stages_record(plan), {**described, "calls": []})
        _refuse_others(run, plan, described)
        name = new_worker(index)
        if (units := _published_units(run, plan)) is not None:
            if storage.list_dir(run.name_of(LEASES)):  # who published ended before it had tidied up
                _tidy_leases(run)
            listener.note(f"nothing to do: {run.place} is finished")
            return WorkResult(run.place, name, units, False, True)
        refuse_removed(run)
        compiling = warm_kernels(listener)
        stack.enter_context(termination.raised())
        record: dict[str, Any] = {
            "worker": name, "index": index, "of": of, "host": socket.gethostname(), "pid": os.getpid(),
            "state": "starting", "stage": None, "units": [], "call": None,
        }  # fmt: skip
        announcer = Announcer(run, name, lease, record)
        how: dict[str, Any] = {"error": "interrupted"}
        stack.callback(lambda: announcer.close(units=[], stage=None, **how))
        pool = Processes(processes or cpus.usable(), preload=preloaded())
        stack.callback(pool.close)
        executor = LeasingExecutor(pool, Peers(run, name, lease), announcer, index, of)
        call = SharedCall(lambda said: announcer.say(call=dict(said)))
        try:
            executor.check(plan.checks)
            for label, remark in remarks(plan.recipe.steps):
                listener.note(f"{label}: {remark}")
            listener.note(f"worker {name}: {pool.workers} processes, in {run.place}")
            call.begin(run, loaded, executor, described)
            call.clock.at("")
            announcing = AnnouncingListener(listener, announcer)
            if isinstance(listener, BeatListener):
                listener.planned(plan.stages)
            session = Session(run, plan, executor, announcing, ReadOnlyRepairs(run, listener.note), call.clock)
            progress_made = carry_out(session)
            call.end(FINISHED, progress_made.counts)
            published = executor.once(
                LEASES,
                PUBLISH,
                lambda: False if run.is_published(progress_made.where) else None,
                partial(_publish, session, described, announcer, compiling),
            )
        except BaseException as error:
            call.failed(error)
            is_stopped = isinstance(error, KeyboardInterrupt | SystemExit)
            how["error"] = (
                "was asked to end" if is_stopped else masked(str(error)).partition("\n")[0] or type(error).__name__
            )
            raise
        how["error"] = None
        return WorkResult(run.place, name, progress_made.counts, published, False)


def _published_units(run: RunFolder, plan: RunPlan) -> dict[str, StageCounts] | None:
    """The units of a run that is published; None if it is not."""
    where = {entry["stage"]: (entry["folder"], entry["plan"]) for entry in run.read(STAGES_RECORD)}
    if list(where) != [stage.name for stage in plan.stages] or not run.is_published(where):
        return None
    first, (folder, name) = plan.stages[0], where[plan.stages[0].name]
    if run.stage(folder).planned(name) != [unit.key for unit in unit_list(first, Upstream(run))]:
        return None  # of other input, which is refused where it is planned
    return {stage: StageCounts(len(results), len(results)) for stage, results in run.results().items()}


def _refuse_others(run: RunFolder, plan: RunPlan, described: dict[str, Any]) -> None:
    """Raises RefusedFolder if the run was planned by other code, with other libraries or for another recipe."""
    own = {entry["stage"]: entry["folder"] for entry in stages_record(plan)}
    theirs = {entry["stage"]: entry["folder"] for entry in run.read(STAGES_RECORD)}
    if own == theirs:
        return
    record = run.record()
    advice = (
        f"Use the same versions on all machines; or, to have it planned again with what is here, stop all workers and "
        f"run: corpusmill work RECIPE --folder {quote(run.place)} --prepare"
    )
    before, present = record["versions"], described["versions"]
    differ = [name for name in {**before, **present} if before.get(name) != present.get(name)]
    if differ:
        pairs = ((name, before.get(name, "(none)"), present.get(name, "(none)")) for name in differ[:MAX_NAMES_SHOWN])
        differences = "; ".join(f"{name} {old}, and this machine has {new}" for name, old, new in pairs)
        raise RefusedFolder(f"{run.place}: the run was planned with {differences}. {advice}")
    reasons = [reason for change in changes(run, plan) for reason in change.reasons]
    explanation = "; ".join(dict.fromkeys(reasons)) or "the recipe or the code is not the same"
    raise RefusedFolder(
        f"{run.place}: the run was planned otherwise than it would be here, with corpusmill {before['corpusmill']} in "
        f"both places: {explanation}. {advice}"
    )


def _publish(session: Session, described: dict[str, Any], announcer: Announcer, compiling: float) -> bool:
    """What `run` does behind the last stage, so that another worker may do the same at the same time."""
    from corpusmill.report.page import write_page

    run, counts = session.run, session.progress.counts
    announcer.say(state="publishing", stage=None)
    output = finish(session, shared=True)
    calls = _calls(run)
    own = calls[announcer.worker] = dict(announcer.record["call"])
    if not output.is_sound:
        own |= {"outcome": FAILED}
    write_calls(run, described, calls.values())
    write_page(run)
    if not output.is_sound:
        result = Run(run.place, output.waterfall, 0.0, counts, output.checked, (), compiling)
        raise DamagedOutput(output.problem(run), result)
    run.mark_published(session.progress.where)
    _tidy_leases(run)
    return True


def _calls(run: RunFolder) -> dict[str, Any]:
    """Worker -> the record of its call, of those that have one."""
    records = {name: read_worker(run, name) or {} for name in workers(run)}
    return {name: record["call"] for name, record in records.items() if isinstance(record.get("call"), dict)}


def _tidy_leases(run: RunFolder) -> None:
    """Remove all leases: last those of the run, which say that there may be others."""
    for folder in (*(f"{STAGES}/{name}/{LEASES}" for name in run.stage_folders()), LEASES):
        storage.remove_tree(run.name_of(folder))


def _last_one_out(run: RunFolder, plan: RunPlan) -> None:
    """Remove what killed workers have left, if nobody is at work any more and the run is finished."""
    with suppress(CorpusmillError, OSError), if_alone(run) as alone:
        if not alone or not run.exists() or _published_units(run, plan) is None:
            return
        for name in workers(run):
            record = read_worker(run, name) or {}
            if record.get("state") != ENDED and record.get("host") != socket.gethostname():
                return  # on another machine, where its lock may not be seen
        write_calls(run, run.record(), _calls(run).values())
        for entry in run.read(STAGES_RECORD):
            folder = run.stage(entry["folder"])
            folder.remove_orphans(folder.collect(folder.planned(entry["plan"]) or ()))
        if plan.recipe.run.keep == "output":
            remove_intermediate(run)
        _tidy_leases(run)
        storage.remove_tree(run.name_of(WORKERS))
        storage.remove_unfinished(run.place)


class AnnouncingListener:
    """Passes on what a listener hears, and announces it to the other workers and those who watch."""

    def __init__(self, listener: ProgressListener, announcer: Announcer) -> None:
        self._listener, self.announcer = listener, announcer

    def compiling(self) -> None:
        self._listener.compiling()

    def stage(self, stage: Any, units: int, done_before: int) -> None:
        self.announcer.say(state="working", stage=stage.name, progress=None)
        self._listener.stage(stage, units, done_before)

    def commit(self, stage: Any, commit: Any) -> None:
        self._listener.commit(stage, commit)

    def note(self, message: str) -> None:
        self._listener.note(message)

    def planned(self, stages: Sequence[Any]) -> None:
        pass

    def compiled(self, kernels: int, total: int) -> None:
        pass

    def beat(self, progress: StageProgress) -> None:
        self.announcer.tick(
            progress={
                "documents": progress.documents,
                "documents_per_second": progress.documents_per_second,
                "text_per_second": progress.text_per_second,
                "seconds": progress.seconds,
            }
        )
        if isinstance(self._listener, BeatListener):
            self._listener.beat(progress)
