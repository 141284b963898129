"""The end of a run, behind its last stage: add up, publish, read back. One way for `run`, `work` and `plan`."""

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import pyarrow as pa

from corpusmill.engine.drive.listener import ProgressListener
from corpusmill.engine.drive.session import Progress, Session
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.canaries import manifest
from corpusmill.errors import RunError
from corpusmill.ops import republished, rewrite_output
from corpusmill.ops.finished import Run
from corpusmill.ops.republished import Republished
from corpusmill.ops.verify import VerifiedFolder, verify
from corpusmill.recipe.stages import training_record
from corpusmill.report.run_files import RunFiles
from corpusmill.report.waterfall import Waterfall, waterfall
from corpusmill.store import forgotten
from corpusmill.store.output import OutputFolder
from corpusmill.store.run_folder import CANARIES_RECORD, TRAINING_RECORD, WATERFALL, RunFolder

READING_BACK = "read back"  # for the clock
MAX_PROBLEMS_SHOWN = 5  # problems in a message


class DamagedOutput(RunError):
    """The run is complete, but reading its output back found damage. `run` has all of it; its `checked` says which
    folders are sound."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


@dataclass(frozen=True)
class RunOutput:
    """What a run has published.

    waterfall   documents in and out of each step
    checked     the folders of output, read back
    """

    waterfall: Waterfall
    checked: tuple[VerifiedFolder, ...]

    @property
    def is_sound(self) -> bool:
        return not any(folder.problems for folder in self.checked)

    def problem(self, run: RunFolder) -> str:
        """What is wrong with it, and what to do."""
        problems = [problem for folder in self.checked for problem in folder.problems]
        unlisted = f" And {len(problems) - MAX_PROBLEMS_SHOWN} more." if len(problems) > MAX_PROBLEMS_SHOWN else ""
        return (
            f"{run.place}: what was written cannot be read back as it was written: "
            f"{'; '.join(problems[:MAX_PROBLEMS_SHOWN])}.{unlisted} Is the disk sound? Run the same command "
            f"again: what is damaged is made again. `corpusmill verify {quote(run.place)}` only reads it."
        )


def finish(session: Session, shared: bool = False) -> RunOutput:
    """Add up what the stages counted, publish what the writers wrote, and read it back.

    shared   others may do the same at the same time, or have done it: no file is missing at any moment
    """
    run, plan, progress, clock = session.run, session.plan, session.progress, session.clock
    flow = waterfall(plan, progress.results)
    flow.check()
    (_publish_beside_others if shared else publish)(run, plan, progress)
    run.write(WATERFALL, flow.to_json())
    clock.at(READING_BACK)
    checked = _read_back(run, session.listener)
    clock.at("")
    return RunOutput(flow, checked)


def publish(run: RunFolder, plan: RunPlan, progress: Progress) -> None:
    """Give what the writers wrote its lasting names, without the documents that the run must forget."""
    OutputFolder(run).remove()
    OutputFolder(run).expect(republished.names_of(plan, run, progress.results))
    republished.publish(plan, OutputFolder(run), progress.results)
    _write_manifests(run, plan, progress)
    if (record := forgotten.read(run)) is not None:
        rewrite_output.rewrite(run, frozenset(kept_ids(run, record)))


def _publish_beside_others(run: RunFolder, plan: RunPlan, progress: Progress) -> None:
    run.refuse_other_output()
    names = republished.names_of(plan, run, progress.results)
    OutputFolder(run).expect(names | run.has_published())
    output = Republished(run)
    republished.publish(plan, output, progress.results)
    _write_manifests(run, plan, progress)
    output.remove_others()
    OutputFolder(run).expect(names)


def _write_manifests(run: RunFolder, plan: RunPlan, progress: Progress) -> None:
    """What there is in the output besides documents: stages of training, canaries."""
    run.write(TRAINING_RECORD, training_record(plan.recipe))
    run.write(CANARIES_RECORD, manifest(plan.recipe, progress.results[plan.passes[-1].stage]))


def kept_ids(run: RunFolder, documents: forgotten.Forgotten) -> Sequence[str]:
    """The ids of those documents that the stages of a run kept, in its order."""
    files = RunFiles(run)
    ids: list[str] = []
    for batch in files.all_documents("docs", len(files.passes) - 1, ("id", "url"), rewrite_output.ID_ROWS):
        ids += batch["id"].filter(pa.array(documents.among(batch))).to_pylist()
    return ids


def _read_back(run: RunFolder, listener: ProgressListener) -> tuple[VerifiedFolder, ...]:
    """Read everything that was written for others, at the speed of its checksums.

    Not thoroughly: to inflate and parse every line and page again took a tenth of a run without rules, on one core.
    """
    names = run.outputs()
    if names:
        listener.note(f"verify: reading back {', '.join(names)}")
    return tuple(verify(run, thorough=False))
