"""A session: one call that carries out the stages of a run. What it knows is handed to each of them."""

import uuid
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

from corpusmill.engine.drive.clock import Clock
from corpusmill.engine.drive.damage import Repairs
from corpusmill.engine.drive.listener import ProgressListener
from corpusmill.engine.drive.meter import BeatListener, Meter
from corpusmill.engine.plan.plan import RunPlan, stages_record
from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.execute import Executor, SharedExecutor
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.units import Results
from corpusmill.store.work import Stage


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
    where     stage -> the name of its folder, and of its plan
    """

    results: dict[str, Results] = field(default_factory=dict)
    counts: dict[str, StageCounts] = field(default_factory=dict)
    where: dict[str, tuple[str, str]] = field(default_factory=dict)
    session: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass
class Session:
    """A plan, the folder that it is carried out in, who carries it out, and how far it is.

    repair_policy   another than `Repairs`: what becomes of files that earlier calls left damaged
    clock           measures the stages
    workers         a note says when the first pass has work for fewer
    """

    run: RunFolder
    plan: RunPlan
    executor: Executor
    listener: ProgressListener
    repair_policy: InitVar[Repairs | None] = None
    clock: Clock = field(default_factory=Clock)
    workers: int = 0
    progress: Progress = field(default_factory=Progress)
    meter: Meter | None = None
    records: list[dict[str, Any]] = field(default_factory=list)  # of the stages, as stages.json has them
    repairs: Repairs = field(init=False)

    def __post_init__(self, repair_policy: Repairs | None) -> None:
        self.repairs = repair_policy or Repairs(
            self.run, self.listener.note, keeps_all=self.plan.recipe.run.keep == "all"
        )

    def begin(self) -> None:
        """Begin with the first stage: nothing is known of any."""
        self.progress, self.records = Progress(), stages_record(self.plan)
        self.meter = Meter(self.plan, self.listener.beat) if isinstance(self.listener, BeatListener) else None

    def is_pass(self, stage: Stage) -> bool:
        """Whether a stage carries documents through steps."""
        return any(info.stage == stage.name for info in self.plan.passes)

    def counts_records(self, stage: Stage) -> bool:
        """Whether a stage reads records or carries documents through steps, and counts those that it loses."""
        return stage.name == EXTRACT or self.is_pass(stage)

    def facts_before(self, stage: Stage) -> list[dict[str, Any]]:
        """The facts of the passes that are complete; not those that the stage counts again."""
        results = self.progress.results
        names = (info.stage for info in self.plan.passes if info.stage != stage.name)
        return [results[name].facts for name in names if name in results]

    def read_by(self, stage: Stage) -> dict[str, Results]:
        """The results of earlier stages that a stage reads, as far as they are complete."""
        results = self.progress.results
        return {name: results[name] for name in stage.after if name in results}

    def compare(self, stage: Stage, reads: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None) -> None:
        """Compare what a stage reads with the checksums in its commits: raises Repaired if something is damaged."""
        where = {name: self.progress.where[name] for name in stage.after}
        read_arrays = () if reads is None else (reads,)
        self.repairs.compare(where, self.read_by(stage), self.executor, self.progress.session, *read_arrays)

    def record(self, number: int, stage: Stage, plan: str) -> None:
        """Say in the run's folder which folder and plan a stage has."""
        self.records[number]["plan"] = plan
        self.progress.where[stage.name] = (self.records[number]["folder"], plan)
        if isinstance(self.executor, SharedExecutor):
            self.run.add_stages(self.records)
        else:
            self.run.write(STAGES_RECORD, self.records)
