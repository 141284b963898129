"""Carry out a recipe: the only place where recipe, executor, report and verification meet.

Work that was done already, by this recipe or another one in the same folder, is not done again: a run that was stopped
continues, a recipe that was changed repeats only what depends on the change, and more input costs what it adds.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill import execute, forgotten, termination
from corpusmill import progress as displays
from corpusmill.collection import refuse_to_drop
from corpusmill.engine import preflight, republished
from corpusmill.engine.canaries import manifest
from corpusmill.engine.carry_out import Progress, ProgressListener, carry_out, heard
from corpusmill.engine.changes import changes, in_words, is_finished
from corpusmill.engine.damage import Repaired, Repairs
from corpusmill.engine.meter import BeatListener
from corpusmill.engine.plan import Plan
from corpusmill.engine.stored_rows import given, stored, with_inputs
from corpusmill.errors import CorpusmillError, InputError, ResumeError, RunError, StorageError
from corpusmill.execute import Executor, cpus, warm_start
from corpusmill.execute.on_demand import OnDemand
from corpusmill.execute.warm_start import ENGINE
from corpusmill.finished import Run
from corpusmill.provenance import describe
from corpusmill.provenance.calls import COMPILING, FAILED, FINISHED, Call
from corpusmill.recipe.load import Overrides
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import remarks
from corpusmill.recipe.stages import training_record
from corpusmill.report.run_files import RunFiles
from corpusmill.report.waterfall import Waterfall, waterfall
from corpusmill.run_folder import RunFolder
from corpusmill.storage import exists, is_full
from corpusmill.unit_io import disk_full
from corpusmill.units import now
from corpusmill.verify import Checked, verify

SHOWN = 5  # problems in a message
ROWS = 1 << 14  # ids in memory at a time
MUCH_TEXT = 64 << 20  # bytes from which on it is said that default workers have nothing to do


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
    progress: str | bool = "auto",
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
    listener    is called as the run makes progress, instead of showing it
    progress    "auto": how far the run is, as bars in a terminal, live in a notebook, as lines elsewhere, on stderr;
                "bars", "lines", "json": these; "off" or False: nothing

    Raises RecipeError or InputError before anything runs; BudgetError if too many records are bad; UnitError if a
    unit fails in every attempt (the others are committed); StorageError if the disk is full; DamagedOutput if what was
    written cannot be read back.

    What earlier calls left is compared with its checksums before it is read. A unit with a damaged file is done again,
    with a line to the listener; ResumeError if it then leaves other bytes than it did.
    """
    warm_start.leave_if_imported_by_worker()
    with ExitStack() as shown:
        listener = listener or shown.enter_context(displays.display(progress))
        if isinstance(recipe, Recipe):
            loaded = given(recipe, overrides)
        else:
            loaded = preflight.load(Path(recipe), overrides, None if folder is None else RunFolder.at(folder))
        return _run(with_inputs(loaded, inputs), folder, workers, executor, listener)


def _run(
    recipe: Recipe,
    folder: str | os.PathLike[str] | RunFolder | None,
    workers: int | None,
    executor: Executor | None,
    listener: ProgressListener,
) -> Run:
    started, call = now(), Call()
    run_folder = RunFolder.at(recipe.folder if folder is None else folder)
    _refuse_to_replace_a_whole_run(recipe, run_folder)
    refuse_to_drop(recipe, run_folder)
    recipe = stored(recipe, run_folder, listener.note)
    ready = preflight.ready(recipe, run_folder, sends=executor is None)
    plan = ready.plan
    if isinstance(listener, BeatListener):
        listener.planned(plan.stages)
    finished = is_finished(run_folder, plan)
    call.clock.at(COMPILING)
    compiling = 0.0 if finished else warm_kernels(listener)
    call.clock.at("")
    wanted = 0  # workers that are missed if there is no work for them
    if executor is None:
        asked = workers or recipe.run.workers
        if asked and recipe.run.address is None and (why := cpus.too_many(asked)):
            listener.note(why)
        much = sum(source.text_size for source in plan.inputs) >= MUCH_TEXT
        wanted = asked or (cpus.usable() if much else 0)
        begin = partial(execute.find(recipe.run.executor).start, asked, preloaded(), recipe.run.address)
        executor = OnDemand(begin) if finished else begin()
    with termination.raised(), closing(executor):
        if not finished:  # here, while the process that workers come from still imports
            from corpusmill.report.page import prepare

            plan.identities  # noqa: B018
            prepare()
        try:
            with heard(executor, listener):
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
                described = describe(plan) | ({"read_as": dict(ready.read_as)} if ready.read_as else {})
                has_report = finished and _is_described(run_folder, described)
                call.begin(run_folder, recipe, executor, described)
                started_here = True
                try:
                    progress, flow, checked = _to_the_end(
                        run_folder, plan, executor, listener, repairs, call, wanted, has_report
                    )
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
    seconds = round(now() - started - compiling, 3)
    damaged = tuple(repairs.damaged)
    if is_sound(checked) and not any(counts.done_now for counts in progress.counts.values()):
        listener.note(f"nothing to do: {run_folder.place} is finished, and its outputs are as they were written")
    done = Run(run_folder.place, flow, seconds, progress.counts, checked, damaged, round(compiling, 3))
    if not is_sound(checked):
        raise DamagedOutput(what_is_wrong(run_folder, checked), done)
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
    run: RunFolder,
    plan: Plan,
    executor: Executor,
    listener: ProgressListener,
    repairs: Repairs,
    call: Call,
    workers: int,
    has_report: bool,
) -> tuple[Progress, Waterfall, tuple[Checked, ...]]:
    """Carry out all stages, add up, publish, read back, report; again, if what an earlier call left was damaged.

    workers      see `carry_out`
    has_report   the report is there, and need not be written again if nothing is done
    """
    while True:
        progress = carry_out(run, plan, executor, listener, repairs, call.clock, workers)
        try:
            flow = waterfall(plan, progress.results)
            flow.check()
            publish(run, plan, progress)
            run.write_waterfall(flow.to_json())
            call.clock.at("read back")
            checked = read_back(run, listener)
            # Before the page, which says how long it took: a second or two are missing.
            call.end(FINISHED if is_sound(checked) else FAILED, progress.counts, repairs.damaged)
            if repairs.damaged or not (has_report and _is_as_reported(run, progress)):
                from corpusmill.report.page import write_page

                write_page(run)
        except (StorageError, RunError):
            raise
        except Exception:  # of what it reads: files of stages that nothing has compared, if all was done before
            if _compares_all(repairs, progress, executor):
                raise
        else:
            if is_sound(checked) or _compares_all(repairs, progress, executor):
                return progress, flow, checked


def _compares_all(repairs: Repairs, progress: Progress, executor: Executor) -> bool:
    """Whether all files that earlier calls left are as their commits say; what is not is set aside."""
    try:
        repairs.compare(progress.where, progress.results, executor, progress.session)
    except Repaired:
        return False
    return True


def publish(run: RunFolder, plan: Plan, progress: Progress) -> None:
    """Give what the writers wrote its lasting names, without the documents that the run must forget."""
    run.remove_output()
    run.will_publish(republished.names_of(plan, run, progress.results))
    republished.publish(plan, run, progress.results)
    write_manifests(run, plan, progress)
    if (wanted := forgotten.read(run)) is not None:
        forgotten.rewrite(run, frozenset(kept_of(run, wanted)))


def write_manifests(run: RunFolder, plan: Plan, progress: Progress) -> None:
    """What there is in the output besides documents: stages of training, canaries."""
    run.write_training(training_record(plan.recipe))
    run.write_canaries(manifest(plan.recipe, progress.results[plan.passes[-1].stage]))


def kept_of(run: RunFolder, wanted: forgotten.Forgotten) -> list[str]:
    """The ids of those documents that the stages of a run kept, in its order."""
    files = RunFiles(run)
    ids: list[str] = []
    for batch in files.all_documents("docs", len(files.passes) - 1, ("id", "url"), ROWS):
        ids += batch["id"].filter(pa.array(wanted.among(batch))).to_pylist()
    return ids


def read_back(run: RunFolder, listener: ProgressListener) -> tuple[Checked, ...]:
    """Read everything that was written for others, at the speed of its checksums.

    Not thoroughly: to inflate and parse every line and page again took a tenth of a run without rules, on one core.
    """
    names = run.outputs()
    if names:
        listener.note(f"verify: reading back {', '.join(names)}")
    return tuple(verify(run, thorough=False))


def is_sound(checked: Sequence[Checked]) -> bool:
    return not any(folder.problems for folder in checked)


def what_is_wrong(run: RunFolder, checked: Sequence[Checked]) -> str:
    problems = [problem for folder in checked for problem in folder.problems]
    more = f" And {len(problems) - SHOWN} more." if len(problems) > SHOWN else ""
    return (
        f"{run.place}: what was written cannot be read back as it was written: "
        f"{'; '.join(problems[:SHOWN])}.{more} Is the disk sound? Run the same command again: what is damaged is made "
        f"again. `corpusmill verify {run.place}` only reads it."
    )


def warm_kernels(listener: ProgressListener, modules: Sequence[str] | None = None) -> float:
    """Compile kernels once, before workers start, and say so: it takes a minute or two on a new machine. Returns how
    many seconds.

    modules   of the kernels; None: those that the recipe needs, which has been loaded
    """
    from corpusmill.text import compile as compiled

    compiled.tidy()
    needed = compiled.imported_kernels() if modules is None else modules
    for line in compiled.refused():
        listener.note(line)
    if compiled.is_warm(needed):
        return 0.0
    started = now()
    listener.compiling()
    if isinstance(listener, BeatListener):
        compiled.warm(needed, listener.compiled)
    else:
        compiled.warm(needed)
    seconds = now() - started
    lost = compiled.not_kept()
    later = "" if lost else ", which later runs on this machine need not do"
    listener.note(f"compiled the text kernels in {seconds:.1f} s{later}")
    for line in lost:
        listener.note(line)
    return seconds


def preloaded() -> tuple[str, ...]:
    """What the fork server imports: the kernels that the recipe needs, and then the engine, which loads them."""
    from corpusmill.text import compile as compiled

    return (*compiled.imported_kernels(), ENGINE)


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
    written = Path(run.report).stat().st_mtime_ns
    paths = (
        run.path / path
        for results in progress.results.values()
        for files in results.outputs.values()
        for path in files.paths.to_pylist()
    )
    return all(path.stat().st_mtime_ns <= written for path in paths)
