"""Carry out a recipe: the only place where recipe, executor, report and verification meet.

Work that was done already, by this recipe or another one in the same folder, is not done again: a run that was stopped
continues, a recipe that was changed repeats only what depends on the change, and more input costs what it adds.
"""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import corpusmill
from corpusmill import assets, execute, termination
from corpusmill.engine.carry_out import Progress, ProgressListener, Silent, StageCounts, carry_out
from corpusmill.engine.changes import changes, in_words
from corpusmill.engine.earlier_runs import refuse_itself
from corpusmill.engine.lower import lower
from corpusmill.engine.plan import Plan, Publisher
from corpusmill.errors import RunError, StorageError
from corpusmill.execute import Executor, warm_start
from corpusmill.execute.warm_start import ENGINE
from corpusmill.keys import FORMAT
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import remarks
from corpusmill.report.waterfall import Waterfall, waterfall
from corpusmill.run_folder import RunFolder
from corpusmill.storage import printable
from corpusmill.unit_io import disk_full
from corpusmill.units import now
from corpusmill.verify import Checked, verify

SHOWN = 5  # problems in a message


@dataclass
class Run:
    """A finished run.

    place       its folder: a path, or a URL
    waterfall   documents, bytes and tokens in and out of every step
    seconds     how long this call took; units of earlier calls are not in it
    units       stage -> units that this call did, and those that were done before
    checked     the folders of output, read back: nothing is wrong with them
    """

    place: str
    waterfall: Waterfall
    seconds: float
    units: Mapping[str, StageCounts] = field(default_factory=dict)
    checked: tuple[Checked, ...] = ()

    def __fspath__(self) -> str:
        """Its place: whatever takes the folder of a run takes the run."""
        return self.place

    @property
    def folder(self) -> Path:
        """The folder. Raises InputError if the run is in an object store."""
        return RunFolder(self.place).path

    @property
    def output(self) -> Path:
        """The folder of what the recipe writes."""
        return self.folder / "output"

    @property
    def shards(self) -> Path | None:
        """The folder of training shards; None if the recipe writes none."""
        path = self.output / "shards"
        return path if path.exists() else None

    @property
    def report(self) -> Path:
        """The report: one page of HTML."""
        return self.folder / "report.html"

    def __repr__(self) -> str:
        flow = self.waterfall
        return (
            f"<Run {self.place}: {flow.documents_in:,} documents in, {flow.documents_out:,} out, {self.seconds:.1f} s>"
        )


def run(
    recipe: Recipe | str | os.PathLike[str],
    *,
    overrides: Sequence[str] = (),
    folder: str | os.PathLike[str] | RunFolder | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    listener: ProgressListener | None = None,
) -> Run:
    """Run a recipe; resume if it was interrupted. Reads all outputs back and writes the report.

    recipe      a Recipe, or the path of one in YAML
    overrides   changes to the recipe in the file: "steps.gopher_quality.min_words=30"
    folder      instead of the recipe's run.folder: a path, or a URL such as s3://bucket/run
    workers     instead of the recipe's run.workers
    executor    instead of the recipe's run.executor
    listener    is called as the run makes progress

    Raises RecipeError or InputError before anything runs; BudgetError if too many records are bad; UnitError if a
    unit fails in every attempt (the others are committed); StorageError if the disk is full; RunError if what was
    written cannot be read back.
    """
    warm_start.leave_if_imported_by_worker()
    started = now()
    listener = listener or Silent()
    if not isinstance(recipe, Recipe):
        recipe = Recipe.load(Path(recipe), overrides)
    run_folder = RunFolder.at(recipe.folder if folder is None else folder)
    refuse_itself(recipe, run_folder)
    plan = lower(recipe)
    warm_kernels(listener)
    if executor is None:
        count = workers or recipe.run.workers or os.cpu_count() or 1
        executor = execute.find(recipe.run.executor).start(count, preloaded())
    with termination.raised(), closing(executor):
        # Here, while the process that workers come from still imports.
        from corpusmill.report.page import prepare, write_page

        plan.identities  # noqa: B018
        prepare()
        executor.check(plan.checks)
        try:
            run_folder.make()
            with run_folder.only_driver():
                for label, remark in remarks(recipe.steps):
                    listener.note(f"{label}: {remark}")
                for line in in_words(changes(run_folder, plan)):
                    listener.note(line)
                run_folder.write_record(_describe(plan))
                progress = carry_out(run_folder, plan, executor, listener)
                flow = waterfall(plan, progress.results)
                flow.check()
                publish(run_folder, plan, progress)
                run_folder.write_waterfall(flow.to_json())
                checked = read_back(run_folder, listener)
                write_page(run_folder)
        except OSError as error:
            if isinstance(error, StorageError) or "No space left" not in str(error):
                raise
            raise StorageError(disk_full(run_folder)) from error
    return Run(run_folder.place, flow, round(now() - started, 3), progress.counts, checked)


def publish(run: RunFolder, plan: Plan, progress: Progress) -> None:
    """Give what the writers wrote its lasting names."""
    run.remove_output()
    for stage in plan.stages:
        if isinstance(stage.work, Publisher):
            stage.work.publish(stage.name, run, progress.results)


def read_back(run: RunFolder, listener: ProgressListener) -> tuple[Checked, ...]:
    """Read everything that was written for others. Raises RunError if anything is wrong with it."""
    names = run.outputs()
    if names:
        listener.note(f"verify: reading back {', '.join(names)}")
    checked = tuple(verify(run))
    problems = [problem for folder in checked for problem in folder.problems]
    if problems:
        more = f" And {len(problems) - SHOWN} more." if len(problems) > SHOWN else ""
        raise RunError(
            f"{run.place}: what was written cannot be read back as it was written: "
            f"{'; '.join(problems[:SHOWN])}.{more} Is the disk sound? `corpusmill verify {run.place}` reads it again."
        )
    return checked


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


def _from_hub(plan: Plan) -> dict[str, dict[str, str]]:
    """asset -> commit and checksum, of the files of the Hugging Face hub that the steps use."""
    names = (name for step in plan.recipe.steps for name in getattr(step, "assets", ()))
    return {name: held for name in names if (held := assets.from_hub(name)) is not None}


def _describe(plan: Plan) -> dict[str, Any]:
    """run.json: what is run, on what, with which versions."""
    import numba
    import numpy
    import pyarrow

    inputs = {
        source.source: [{"path": printable(f.path), "bytes": f.size, "fingerprint": f.fingerprint} for f in found.files]
        for source, found in zip(plan.recipe.read, plan.inputs)
    }
    versions = {
        "corpusmill": corpusmill.__version__,
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
        "numpy": numpy.__version__,
        "numba": numba.__version__,
    }
    return {
        "name": plan.recipe.name,
        "recipe": plan.recipe.dump(),
        "fingerprint": plan.recipe.fingerprint(),
        "versions": versions,
        "command": [printable(word) for word in sys.argv],
        "inputs": inputs,
        "hub": _from_hub(plan),
        "passes": [
            {"stage": info.stage, "labels": list(info.labels), "only": {k: list(v) for k, v in info.only.items()}}
            for info in plan.passes
        ],
        "keys": FORMAT,
    }
