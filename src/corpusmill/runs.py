"""Carry out a recipe: the only place where recipe, executor, report and verification meet.

Work that was done already, by this recipe or another one in the same folder, is not done again: a run that was stopped
continues, a recipe that was changed repeats only what depends on the change, and more input costs what it adds.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from corpusmill import execute, termination
from corpusmill.engine import preflight
from corpusmill.engine.carry_out import Progress, ProgressListener, Silent, carry_out
from corpusmill.engine.changes import changes, in_words
from corpusmill.engine.damage import Repaired, Repairs
from corpusmill.engine.plan import Plan, Publisher
from corpusmill.engine.stored_rows import given, stored, with_inputs
from corpusmill.errors import CorpusmillError, InputError, ResumeError, RunError, StorageError
from corpusmill.execute import Executor, warm_start
from corpusmill.execute.warm_start import ENGINE
from corpusmill.finished import Run
from corpusmill.provenance import describe
from corpusmill.provenance.calls import COMPILING, FAILED, FINISHED, Call
from corpusmill.recipe.load import Overrides
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import remarks
from corpusmill.report.waterfall import Waterfall, waterfall
from corpusmill.run_folder import RunFolder
from corpusmill.storage import is_full
from corpusmill.unit_io import disk_full
from corpusmill.units import now
from corpusmill.verify import Checked, verify

SHOWN = 5  # problems in a message


class DamagedOutput(RunError):
    """A run that is complete, but of whose output something is not as it was written. `run` has all of it; its
    `checked` says which folders are sound."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def run(
    recipe: Recipe | str | os.PathLike[str],
    *,
    inputs: Any = None,
    overrides: Overrides = (),
    folder: str | os.PathLike[str] | RunFolder | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    listener: ProgressListener | None = None,
) -> Run:
    """Run a recipe; resume if it was interrupted. Reads all outputs back and writes the report.

    recipe      a Recipe, or the path of one in YAML
    inputs      source -> documents in memory that it reads instead: dicts, strings, a table, a data set; see `Rows`. Of
                a recipe with one source, the documents alone
    overrides   changes to the recipe in the file: "steps.gopher_quality.min_words=30", a list of these, or a mapping
                {"steps.gopher_quality.min_words": 30}
    folder      instead of the recipe's run.folder: a path, or a URL such as s3://bucket/run
    workers     instead of the recipe's run.workers
    executor    instead of the recipe's run.executor
    listener    is called as the run makes progress

    Raises RecipeError or InputError before anything runs; BudgetError if too many records are bad; UnitError if a
    unit fails in every attempt (the others are committed); StorageError if the disk is full; DamagedOutput if what was
    written cannot be read back.

    What earlier calls left is compared with its checksums before it is read. A unit with a damaged file is done again,
    with a line to the listener; ResumeError if it then leaves other bytes than it did.
    """
    warm_start.leave_if_imported_by_worker()
    started, call = now(), Call()
    listener = listener or Silent()
    if isinstance(recipe, Recipe):
        loaded = given(recipe, overrides)
    else:
        loaded = preflight.load(Path(recipe), overrides, None if folder is None else RunFolder.at(folder))
    recipe = with_inputs(loaded, inputs)
    run_folder = RunFolder.at(recipe.folder if folder is None else folder)
    _refuse_to_replace_a_whole_run(recipe, run_folder)
    recipe = stored(recipe, run_folder, listener.note)
    ready = preflight.ready(recipe, run_folder, sends=executor is None)
    plan = ready.plan
    call.clock.at(COMPILING)
    warm_kernels(listener)
    call.clock.at("")
    if executor is None:
        count = workers or recipe.run.workers or os.cpu_count() or 1
        executor = execute.find(recipe.run.executor).start(count, preloaded())
    with termination.raised(), closing(executor):
        # Here, while the process that workers come from still imports.
        from corpusmill.report.page import prepare

        plan.identities  # noqa: B018
        prepare()
        try:
            executor.check(plan.checks)
        except CorpusmillError:
            # Says all that is wrong, with the lines of the recipe.
            preflight.ready(recipe, run_folder, thorough=True, sends=False)
            raise
        started_here = False
        try:
            run_folder.make()
            with run_folder.only_driver():
                for label, remark in remarks(recipe.steps):
                    listener.note(f"{label}: {remark}")
                for line in in_words(changes(run_folder, plan)):
                    listener.note(line)
                repairs = Repairs(run_folder, listener.note)
                for record in run_folder.damaged_records():
                    listener.note(f"warning: {record.name}: {record.problem}; it is written anew")
                for source, found in ready.read_as:
                    listener.note(f"{source}: {found}")
                for warning in ready.warnings:
                    listener.note(f"warning: {warning}")
                read_as = {"read_as": dict(ready.read_as)} if ready.read_as else {}
                call.begin(run_folder, recipe, executor, describe(plan) | read_as)
                started_here = True
                try:
                    progress, flow, checked = _to_the_end(run_folder, plan, executor, listener, repairs, call)
                except BaseException as error:
                    call.failed(error)
                    raise
        except Exception as error:
            if started_here and not run_folder.exists():
                raise ResumeError(
                    f"{run_folder.place}: the folder was removed, moved or renamed while the run was at work. Run "
                    f"again, with --folder and its new name to continue, or with the same command to begin anew."
                ) from error
            if isinstance(error, OSError) and not isinstance(error, StorageError) and is_full(error):
                raise StorageError(disk_full(run_folder, error)) from error
            raise
    seconds = round(now() - started, 3)
    done = Run(run_folder.place, flow, seconds, progress.counts, checked, tuple(repairs.damaged))
    if not _sound(checked):
        raise DamagedOutput(_what_is_wrong(run_folder, checked), done)
    return done


def _refuse_to_replace_a_whole_run(recipe: Recipe, run: RunFolder) -> None:
    """Raises InputError if a run on some documents is to replace the output of one on all of them."""
    if recipe.run.limited and run.exists() and not (earlier := run.record()).get("limited"):
        raise InputError(
            f"{run.place}: holds a run on all documents ({earlier['name']}), whose output a run on "
            f"{recipe.run.limited} would replace. Give this one a folder of its own: --folder "
            f"{run.place}{recipe.run.limited_name}"
        )


def _to_the_end(
    run: RunFolder, plan: Plan, executor: Executor, listener: ProgressListener, repairs: Repairs, call: Call
) -> tuple[Progress, Waterfall, tuple[Checked, ...]]:
    """Carry out all stages, add up, publish, read back, report; again, if what an earlier call left was damaged."""
    from corpusmill.report.page import write_page

    while True:
        progress = carry_out(run, plan, executor, listener, repairs, call.clock)
        try:
            flow = waterfall(plan, progress.results)
            flow.check()
            publish(run, plan, progress)
            run.write_waterfall(flow.to_json())
            call.clock.at("read back")
            checked = read_back(run, listener)
            # Before the page, which says how long it took: a second or two are missing.
            call.end(FINISHED if _sound(checked) else FAILED, progress.counts, repairs.damaged)
            write_page(run)
        except (StorageError, RunError):
            raise
        except Exception:  # of what it reads: files of stages that nothing has compared, if all was done before
            if _compares_all(repairs, progress, executor):
                raise
        else:
            if _sound(checked) or _compares_all(repairs, progress, executor):
                return progress, flow, checked


def _compares_all(repairs: Repairs, progress: Progress, executor: Executor) -> bool:
    """Whether all files that earlier calls left are as their commits say; what is not is set aside."""
    try:
        repairs.compare(progress.where, progress.results, executor, progress.session)
    except Repaired:
        return False
    return True


def publish(run: RunFolder, plan: Plan, progress: Progress) -> None:
    """Give what the writers wrote its lasting names."""
    run.remove_output()
    for stage in plan.stages:
        if isinstance(stage.work, Publisher):
            stage.work.publish(stage.name, run, progress.results)


def read_back(run: RunFolder, listener: ProgressListener) -> tuple[Checked, ...]:
    """Read everything that was written for others, at the speed of its checksums.

    Not thoroughly: to inflate and parse every line and page again took a tenth of a run without rules, on one core.
    """
    names = run.outputs()
    if names:
        listener.note(f"verify: reading back {', '.join(names)}")
    return tuple(verify(run, thorough=False))


def _sound(checked: Sequence[Checked]) -> bool:
    return not any(folder.problems for folder in checked)


def _what_is_wrong(run: RunFolder, checked: Sequence[Checked]) -> str:
    problems = [problem for folder in checked for problem in folder.problems]
    more = f" And {len(problems) - SHOWN} more." if len(problems) > SHOWN else ""
    return (
        f"{run.place}: what was written cannot be read back as it was written: "
        f"{'; '.join(problems[:SHOWN])}.{more} Is the disk sound? Run the same command again: what is damaged is made "
        f"again. `corpusmill verify {run.place}` only reads it."
    )


def warm_kernels(listener: ProgressListener) -> None:
    """Compile what the recipe needs once, before workers start, and say so: it takes up to a minute on a new
    machine."""
    from corpusmill.text import compile as compiled

    compiled.tidy()
    needed = compiled.imported_kernels()
    for line in compiled.refused():
        listener.note(line)
    if not compiled.is_warm(needed):
        listener.compiling()
        compiled.warm(needed)


def preloaded() -> tuple[str, ...]:
    """What the fork server imports: the kernels that the recipe needs, and then the engine, which loads them."""
    from corpusmill.text import compile as compiled

    return (*compiled.imported_kernels(), ENGINE)
