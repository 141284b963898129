"""Carry out a recipe: the only place where recipe, executor and report meet.

    runs/NAME/
        run.json                    the recipe as resolved, versions, inputs with size and date
        NN-stage-FINGERPRINT/       one a stage, see execute/commits.py
        output/                     what the recipe writes, under lasting names
        waterfall.json report.html  what happened

Stages that are there already, with the same fingerprint, are not done again: a run that was stopped continues, and a
recipe that was changed repeats only what depends on the change.
"""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import corpusmill
from corpusmill.errors import BudgetError, ResumeError, RunError, StorageError, UnitError
from corpusmill.execute import Executor
from corpusmill.execute.commits import StageFolder, disk_full
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.facts import Facts, total
from corpusmill.fork_server import ENGINE
from corpusmill.keys import FORMAT
from corpusmill.recipe.against import refuse_itself
from corpusmill.recipe.lower import Plan, lower
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.writing import publish
from corpusmill.report.waterfall import Waterfall, waterfall
from corpusmill.storage import write_atomic
from corpusmill.units import Commit, Stage, now

EARLY = 10_000  # records after which a run that loses too many stops at once, not at the end of the pass


class Watcher(Protocol):
    """Is told what happens, to show it. Every method may be called from the driver only."""

    def compiling(self) -> None: ...
    def stage(self, stage: Stage, units: int, done: int) -> None: ...
    def commit(self, stage: Stage, commit: Commit) -> None: ...
    def note(self, message: str) -> None: ...


class Silent:
    def compiling(self) -> None:
        pass

    def stage(self, stage: Stage, units: int, done: int) -> None:
        pass

    def commit(self, stage: Stage, commit: Commit) -> None:
        pass

    def note(self, message: str) -> None:
        pass


@dataclass
class Run:
    """A finished run.

    folder      where it is
    waterfall   documents, bytes and tokens in and out of every step
    output      the folder of what the recipe writes
    shards      the folder of the training shards, None if the recipe writes none
    seconds     how long this call took; commits of earlier calls are not in it
    """

    folder: Path
    waterfall: Waterfall
    seconds: float
    output: Path = field(init=False)

    def __post_init__(self) -> None:
        self.output = self.folder / "output"

    @property
    def shards(self) -> Path | None:
        path = self.output / "shards"
        return path if path.exists() else None

    @property
    def report(self) -> Path:
        return self.folder / "report.html"


def run(
    recipe: Recipe | str | os.PathLike[str],
    *,
    overrides: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Do what a recipe says, or go on where an earlier run of it stopped.

    recipe      a Recipe, or the path of one in YAML
    overrides   changes to the recipe in the file: "steps.gopher_quality.min_words=30"
    folder      instead of the recipe's run.folder
    workers     instead of the recipe's run.workers
    executor    instead of the recipe's run.executor
    watcher     is told of the progress

    Raises RecipeError or InputError before anything runs; BudgetError if too many records are bad; UnitError if a
    unit fails in every attempt (the others are committed); StorageError if the disk is full.
    """
    started = now()
    watcher = watcher or Silent()
    if not isinstance(recipe, Recipe):
        recipe = Recipe.load(Path(recipe), overrides)
    root = Path(folder) if folder is not None else recipe.folder
    refuse_itself(recipe, root)
    plan = lower(recipe)
    warm_kernels(watcher)
    if executor is None:
        count = workers or recipe.run.workers or os.cpu_count() or 1
        serial = recipe.run.executor == "serial"
        executor = Serial() if serial else Processes(count, preload=preloaded())
    with closing(executor):
        executor.check(plan.checks)
        try:
            root.mkdir(parents=True, exist_ok=True)
            with only_driver(root):
                _describe(root, plan)
                committed = carry_out(root, plan, executor, watcher)
                flow = waterfall(plan, committed)
                flow.check()
                publish(root, plan, committed)
                _write_json(root / "waterfall.json", flow.to_json())
        except OSError as error:
            if isinstance(error, StorageError) or "No space left" not in str(error):
                raise
            raise StorageError(disk_full(root)) from error
    return Run(root, flow, round(now() - started, 3))


def carry_out(root: Path, plan: Plan, executor: Executor, watcher: Watcher) -> dict[str, list[Commit]]:
    """Do every stage in turn; returns their commits by stage name, in unit order."""
    committed: dict[str, list[Commit]] = {}
    reading = plan.passes[0].stage
    for number, stage in enumerate(plan.stages, 1):
        folder = StageFolder(root, stage_folder(number, stage))
        units = stage.units(committed, root)
        folder.plan(units)
        folder.forget_failures()
        done = folder.commits()
        folder.tidy()
        watcher.stage(stage, len(units), len(done))
        for line in getattr(stage.work, "tell", lambda units: ())(units):
            watcher.note(line)

        def commit(record: Commit, stage: Stage = stage, done: dict[int, Commit] = done) -> None:
            done[record.unit] = record
            watcher.commit(stage, record)
            if stage.name == reading:
                check_budget(plan.recipe, root, done.values(), early=True)

        for record in done.values():
            watcher.commit(stage, record)
        failures = executor.run(root, folder.name, stage.work, [u for u in units if u.number not in done], commit)
        if failures:
            for failure in failures:
                folder.fail(failure.unit, failure.error, failure.traceback)
            first = failures[0]
            raise UnitError(
                f"{len(failures)} of {len(units)} units of {stage.name} failed in every attempt; the others are "
                f"committed. The first: unit {first.unit}: {first.error}. See {folder.path / 'failed'} for the "
                f"tracebacks, and run the same command again to repeat only these."
            )
        missing = [unit.number for unit in units if unit.number not in done]
        if missing:
            raise RunError(
                f"{stage.name}: units {missing[:5]} are neither committed nor failed; this is a fault of ours"
            )
        committed[stage.name] = [done[unit.number] for unit in units]
        folder.tidy()
        if stage.name == reading:
            check_budget(plan.recipe, root, committed[stage.name], early=False)
    return committed


def stage_folder(number: int, stage: Stage) -> str:
    return f"{number:02d}-{stage.name}-{stage.fingerprint[:8]}"


def check_budget(recipe: Recipe, root: Path, commits: Any, early: bool) -> None:
    """Raises BudgetError if more records were bad than `run.error_budget` allows: a share of them, or a count."""
    facts = total(commit.facts for commit in commits)
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
        f"Look at them with: corpusmill peek {root} --dead. If the loss is acceptable, run again with "
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


def warm_kernels(watcher: Watcher) -> None:
    """Compile what the recipe needs once, before workers start, and say so: it takes up to a minute on a new machine."""
    from corpusmill.text import compile as compiled

    needed = compiled.imported_kernels()
    if not compiled.is_warm(needed):
        watcher.compiling()
        compiled.warm(needed)


def preloaded() -> tuple[str, ...]:
    """What the fork server imports: the kernels that the recipe needs, and then the engine, which loads them."""
    from corpusmill.text import compile as compiled

    return (*compiled.imported_kernels(), ENGINE)


@contextmanager
def only_driver(root: Path) -> Iterator[None]:
    """Hold the run's folder: two drivers at once would tidy away each other's files."""
    if os.name == "nt":
        yield
        return
    import fcntl

    with (root / ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise ResumeError(
                f"{root}: another process ({file.read().strip() or 'unknown'}) is at work in this folder. "
                f"Wait for it, stop it, or give this run a folder of its own."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _describe(root: Path, plan: Plan) -> None:
    """run.json: what is run, on what, with which versions."""
    import numba
    import numpy
    import pyarrow

    inputs = {
        source.source: [{"path": f.path, "bytes": f.size, "fingerprint": f.fingerprint} for f in files]
        for source, files in zip(plan.recipe.read, plan.inputs)
    }
    versions = {
        "corpusmill": corpusmill.__version__,
        "python": platform.python_version(),
        "pyarrow": pyarrow.__version__,
        "numpy": numpy.__version__,
        "numba": numba.__version__,
    }
    record = {
        "name": plan.recipe.name,
        "recipe": plan.recipe.dump(),
        "fingerprint": plan.recipe.fingerprint(),
        "versions": versions,
        "command": sys.argv,
        "inputs": inputs,
        "passes": [{"stage": info.stage, "labels": list(info.labels)} for info in plan.passes],
        "stages": [stage_folder(number, stage) for number, stage in enumerate(plan.stages, 1)],
        "keys": FORMAT,
    }
    _write_json(root / "run.json", record)


def _write_json(path: Path, value: Any) -> None:
    write_atomic(str(path), json.dumps(value, indent=1, ensure_ascii=False).encode())


def forget(root: Path) -> None:
    """Remove all that a run has made, for a start from nothing."""
    if root.exists() and not (root / "run.json").exists() and any(root.iterdir()):
        raise ResumeError(f"{root}: this is no run folder (it has no run.json), so nothing in it is removed")
    shutil.rmtree(root, ignore_errors=True)
