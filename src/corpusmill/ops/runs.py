"""Carry out a recipe: the only place where recipe, executor, report and verification meet.

Work that was done already, by this recipe or another one in the same folder, is not done again: a run that was stopped
continues, a recipe that was changed repeats only what depends on the change, and more input costs what it adds.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from corpusmill import execute
from corpusmill import progress as displays
from corpusmill.display import is_command
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.damage import RestartStages
from corpusmill.engine.drive.listener import ProgressListener, listening_to
from corpusmill.engine.drive.meter import BeatListener
from corpusmill.engine.drive.session import Progress, Session
from corpusmill.engine.plan import preflight
from corpusmill.engine.plan.changes import changes, in_words, is_finished
from corpusmill.engine.plan.stored_rows import stored, with_inputs
from corpusmill.errors import CorpusmillError, InputError, ResumeError, RunError, StorageError
from corpusmill.execute import Executor, cpus, termination, warm_start
from corpusmill.execute.on_demand import OnDemand
from corpusmill.ops.collection import refuse_to_drop
from corpusmill.ops.finish import DamagedOutput, RunOutput, finish
from corpusmill.ops.finished import Run
from corpusmill.ops.kernels import preloaded, warm_kernels
from corpusmill.ops.provenance import describe
from corpusmill.ops.provenance.calls import COMPILING_CLOCK, FAILED, FINISHED, Call
from corpusmill.ops.unused import remove_intermediate
from corpusmill.progress.log import RunLog
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import remarks
from corpusmill.recipe.override import Overrides
from corpusmill.report.numbers import plural
from corpusmill.storage import disk_full, exists, is_full
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.units import now

MUCH_TEXT = 64 << 20  # bytes from which on it is said that default workers have nothing to do


def run(
    recipe: Recipe | str | os.PathLike[str],
    *,
    inputs: Any = None,
    overrides: Overrides = (),
    folder: str | os.PathLike[str] | RunFolder | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    listener: ProgressListener | None = None,
    progress: str | bool = "auto",
) -> Run:
    """Run a recipe; resume if it was interrupted. Reads all outputs back and writes the report.

    recipe      a Recipe, or the path of one in YAML
    inputs      source -> documents in memory that it reads instead, see `Rows`. Of a recipe with one source, the
                documents alone
    overrides   changes to the recipe: "steps.gopher_quality.min_words=30", a list of these, or a mapping of their
                values
    folder      instead of the recipe's run.folder: a path, or a URL such as s3://bucket/run
    workers     instead of the recipe's run.workers
    executor    instead of the recipe's run.executor
    listener    is called as the run makes progress, instead of showing it
    progress    "auto": bars in a terminal, live in a notebook, lines elsewhere, on stderr; "bars", "lines", "json":
                these; "off" or False: nothing

    Raises RecipeError or InputError before anything runs; BudgetError if too many records are bad; UnitError if a unit
    fails in every attempt (the others are committed); StorageError if the disk is full; DamagedOutput if what was
    written cannot be read back.

    What earlier calls left is compared with its checksums. A unit with a damaged file is done again; ResumeError if it
    then leaves other bytes than it did.
    """
    warm_start.leave_if_imported_by_worker()
    with ExitStack() as shown:
        listener = RunLog(listener or shown.enter_context(displays.display(progress)))
        shown.enter_context(listener)
        started, call = now(), Call()
        named_folder = None if folder is None else RunFolder.at(folder)
        recipe = with_inputs(preflight.load(recipe, overrides, named_folder), inputs)
        run_folder = named_folder or RunFolder(recipe.folder)
        _refuse_to_replace_a_whole_run(recipe, run_folder)
        refuse_to_drop(recipe, run_folder)
        recipe = stored(recipe, run_folder, listener.note)
        ready = preflight.ready(recipe, run_folder, sends=executor is None)
        plan, settings = ready.plan, recipe.run
        if isinstance(listener, BeatListener):
            listener.planned(plan.stages)
        finished = is_finished(run_folder, plan)
        call.clock.at(COMPILING_CLOCK)
        compiling = 0.0 if finished else warm_kernels(listener)
        call.clock.at("")
        needed = 0  # workers that are missed if there is no work for them
        if executor is None:
            worker_count = workers or settings.workers
            if worker_count and settings.address is None and (why := cpus.too_many(worker_count)):
                listener.note(why)
            text_bytes = sum(source.text_size for source in plan.inputs)
            needed = worker_count or (cpus.usable() if text_bytes >= MUCH_TEXT else 0)
            name = settings.executor
            if name == "processes" and (here := preflight.only_here(recipe)):
                name, needed = "serial", 0
                listener.note(
                    f"{', '.join(here)}: defined in this program or notebook, where workers cannot import it, so one "
                    "process does all. For all processors, put it into a module: in a notebook, a cell that begins "
                    "with %%writefile my_steps.py"
                )
            start = partial(execute.find(name).start, worker_count, preloaded(text_bytes), settings.address)
            executor = OnDemand(start) if finished else start()
        session = Session(run_folder, plan, executor, listener, clock=call.clock, workers=needed)
        output = _drive(session, ready, call, finished)
        seconds, counts = round(now() - started - compiling, 3), session.progress.counts
        if output.is_sound and not any(stage.done_now for stage in counts.values()):
            listener.note(f"nothing to do: {run_folder.place} is finished, and its outputs are as they were written")
        flow = output.waterfall
        listener.write(f"{plural(flow.documents_in, 'document')} in, {flow.documents_out} out, in {seconds:.1f} s")
        damaged = tuple(session.repairs.damaged)
        result = Run(run_folder.place, output.waterfall, seconds, counts, output.checked, damaged, round(compiling, 3))
        if not output.is_sound:
            raise DamagedOutput(output.problem(run_folder), result)
        return result


def _drive(session: Session, ready: preflight.PreflightResult, call: Call, finished: bool) -> RunOutput:
    """Have the workers check the plan, take the folder, and do all that is not done.

    finished   all stages are done: there is nothing to prepare for
    """
    run_folder, plan, executor, listener = session.run, session.plan, session.executor, session.listener
    with termination.raised(), closing(executor):
        if not finished:  # here, while the process that workers come from still imports
            from corpusmill.report.page import prepare

            plan.identities  # noqa: B018
            prepare()
        try:
            with listening_to(executor, listener):
                executor.check(plan.checks)
        except CorpusmillError:
            # Says all that is wrong, with the lines of the recipe.
            preflight.ready(plan.recipe, run_folder, thorough=True, sends=False)
            raise
        begun = False
        try:
            run_folder.make()
            with only_driver(run_folder):
                _note(session, ready)
                described = describe(plan) | ({"read_as": dict(ready.read_as)} if ready.read_as else {})
                has_report = finished and _is_described(run_folder, described)
                call.begin(run_folder, plan.recipe, executor, described)
                begun = True
                if isinstance(listener, RunLog):
                    listener.begin(run_folder)
                try:
                    return _to_the_end(session, call, has_report)
                except BaseException as error:
                    call.failed(error)
                    raise
        except Exception as error:
            if begun and not run_folder.exists():
                raise ResumeError(
                    f"{run_folder.place}: the folder was removed, moved or renamed while the run was at work. Run "
                    f"again, with its new name as the folder to continue, or with the same command to start again."
                ) from error
            if isinstance(error, OSError) and not isinstance(error, StorageError) and is_full(error):
                raise disk_full(run_folder.place, error) from error
            raise


def _note(session: Session, ready: preflight.PreflightResult) -> None:
    """Say what is worth a line before a run begins."""
    run, plan, listener = session.run, session.plan, session.listener
    for label, remark in remarks(plan.recipe.steps):
        listener.note(f"{label}: {remark}")
    for line in in_words(changes(run, plan)):
        listener.note(line)
    for record in run.damaged_records():
        listener.note(f"warning: {record.name}: {record.problem}; it is written anew")
    for source, format_ in ready.read_as:
        listener.note(f"{source}: {format_}")
    for source, sentence in ready.passed_over:
        listener.note(f"{source}: {sentence}")
    for warning in ready.warnings:
        listener.note(f"warning: {warning}")


def _refuse_to_replace_a_whole_run(recipe: Recipe, run: RunFolder) -> None:
    """Raises InputError if a run on some documents is to replace the output of one on all of them."""
    if recipe.run.limited and run.exists() and not (earlier := run.record()).get("limited"):
        own = run.place + recipe.run.limited_name
        raise InputError(
            f"{run.place}: holds a run on all documents ({earlier['name']}), whose output a run on "
            f"{recipe.run.limited} would replace. Give this one a folder of its own: "
            f"{f'--folder {quote(own)}' if is_command() else f'folder={own!r}'}"
        )


def _to_the_end(session: Session, call: Call, has_report: bool) -> RunOutput:
    """Carry out all stages, publish, read back, report; again, if what an earlier call left was damaged.

    has_report   the report is there, and need not be written again if nothing is done
    """
    run, repairs = session.run, session.repairs
    while True:
        progress = carry_out(session)
        try:
            output = finish(session)
            # Before the page, which says how long it took: a second or two are missing.
            call.end(FINISHED if output.is_sound else FAILED, progress.counts, repairs.damaged)
            if repairs.damaged or not (has_report and _is_as_reported(run, progress)):
                from corpusmill.report.page import write_page

                write_page(run)
        except (StorageError, RunError):
            raise
        except Exception:  # of what it reads: files of stages that nothing has compared, if all was done before
            if _all_compared(session):
                raise
        else:
            if output.is_sound or _all_compared(session):
                if output.is_sound and session.plan.recipe.run.keep == "output":
                    remove_intermediate(run)
                return output


def _all_compared(session: Session) -> bool:
    """Whether all files that earlier calls left are as their commits say; what is not is set aside."""
    progress = session.progress
    try:
        session.repairs.compare(progress.where, progress.results, session.executor, progress.session)
    except RestartStages:
        return False
    return True


def _is_described(run: RunFolder, described: Mapping[str, Any]) -> bool:
    """Whether the report of a run is there, and of this recipe, these inputs and versions."""
    try:
        before = run.record()
    except CorpusmillError:
        return False
    same = all(before.get(name) == value for name, value in described.items() if name != "command")
    return same and exists(run.report)


def _is_as_reported(run: RunFolder, progress: Progress) -> bool:
    """Whether no file that the report reads was written after it: this call did nothing, and nobody has changed one."""
    if not run.is_local or any(counts.done_now for counts in progress.counts.values()):
        return False
    reported_at = Path(run.report).stat().st_mtime_ns
    paths = (
        run.path / path
        for results in progress.results.values()
        for name, files in results.outputs.items()
        if not run.stage_of(results).is_freed(name)
        for path in files.paths.to_pylist()
    )
    return all(path.stat().st_mtime_ns <= reported_at for path in paths)
