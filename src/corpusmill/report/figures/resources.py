"""What each stage of a run took: seconds, throughput, memory.

Seconds are those of the workers, added up: of two workers side by side each counts. Of a run that was resumed, or
that found work done already, they are those of the call that did it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.report.figures.calls import stages_of
from corpusmill.report.numbers import duration, number, size
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class StageResources:
    """What a stage took.

    seconds          of all units
    longest          of the unit that took the longest
    cpu_seconds      seconds of processors, of all units; None where that is not known of each
    elapsed_seconds  of the calls that carried out the run, as long as they were at the stage; None where that is not
                     known. A call that was killed is not in it
    workers          that were at work at once, at most, in a call that came to its end; None where that is not known
    share            of the seconds of all stages
    documents        input documents of the stage, and `bytes`, of their texts: of a pass, what is left of the one
                     before; of any other stage, what the last pass before it kept. Of pages before extraction, HTML
    memory           bytes that a worker had in memory at most during a unit; None where that is not known. Where the
                     system cannot begin anew to measure (not Linux, or units in the process of the run), at most since
                     the process began
    written          bytes of the stage's files
    """

    stage: str
    units: int
    seconds: float
    longest: float
    documents: int
    bytes: int
    memory: int | None
    written: int
    cpu_seconds: float | None = None
    elapsed_seconds: float | None = None
    workers: int | None = None
    share: float = 0.0

    @property
    def documents_per_second(self) -> float:
        return self.documents / self.seconds if self.seconds else 0.0

    @property
    def mb_per_second(self) -> float:
        """Megabytes of text a second of one worker."""
        return self.bytes / 1e6 / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, object]:
        return {
            **self.__dict__,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": self.cpu_seconds and round(self.cpu_seconds, 3),
            "elapsed_seconds": self.elapsed_seconds and round(self.elapsed_seconds, 3),
            "share": round(self.share, 6),
            "documents_per_second": round(self.documents_per_second, 1),
            "mb_per_second": round(self.mb_per_second, 3),
        }


def resources(tables: RunTables) -> list[StageResources]:
    """Every stage that has begun, in order."""
    flow = {stage: _flow(tables, stage, labels) for stage, labels in tables.passes}
    carried = (0, 0)
    total_seconds = sum(float(results.seconds.sum()) for results in tables.files.stages.values())
    figures = []
    for stage, results in tables.files.stages.items():
        if not len(results):
            continue
        if stage in flow:
            (documents, text), carried = flow[stage]
        elif stage == EXTRACT and tables.passes:
            (documents, text), _ = flow[tables.passes[0][0]]
        else:
            documents, text = carried
        memory = int(results.memory.max())
        spent = float(results.seconds.sum()), float(results.seconds.max())
        cpu = float(results.cpu.sum())
        figures.append(
            StageResources(
                stage,
                len(results),
                *spent,
                documents,
                text,
                memory or None,
                results.bytes,
                None if isnan(cpu) else cpu,
                *_of_calls(tables, stage),
                spent[0] / total_seconds if total_seconds else 0.0,
            )
        )
    return figures


def _of_calls(tables: RunTables, stage: str) -> tuple[float | None, int | None]:
    """Seconds that calls were at a stage, and workers that did units of it, of the calls that did some."""
    own = [part for call in tables.files.calls if (part := stages_of(tables, call).get(stage))]
    if not own:
        return None, None
    workers = (part["workers"] for part in own if "workers" in part)
    return sum(part["seconds"] for part in own), max(workers, default=None)


def _flow(tables: RunTables, stage: str, labels: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Documents and bytes into a pass, and out of it."""
    steps = tables.files.facts(stage).get("steps", {})
    ends = []
    for label, side in ((labels[0], "in"), (labels[-1], "out")) if labels else ():
        sources = steps.get(label, {}).values()
        ends.append(tuple(sum(source[f"{measure}_{side}"] for source in sources) for measure in ("documents", "bytes")))
    if not ends:  # a recipe without steps
        facts = tables.files.facts(stage)
        texts = facts.get("lengths", {}).get("bytes", {}).values()
        documents = sum(source.get("documents", 0) for source in facts.get("read", {}).values())
        ends = [(documents, sum(side["total"] for side in texts))] * 2
    (first, last) = ends
    return (first[0], first[1]), (last[0], last[1])


def resources_table(stages: Sequence[StageResources]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    head = ["stage", "units", "workers", "elapsed", "worker time", "share", "CPU"]
    head += ["documents/s", "text MB/s", "peak memory", "written"]
    rows = [
        [
            stage.stage,
            number(stage.units),
            "–" if stage.workers is None else number(stage.workers),
            "–" if stage.elapsed_seconds is None else duration(stage.elapsed_seconds),
            duration(stage.seconds),
            f"{100 * stage.share:.1f} %",
            "–"
            if stage.cpu_seconds is None or not stage.seconds
            else f"{100 * stage.cpu_seconds / stage.seconds:.0f} %",
            number(stage.documents_per_second),
            f"{stage.mb_per_second:,.1f}",
            "–" if stage.memory is None else size(stage.memory),
            size(stage.written),
        ]
        for stage in stages
    ]
    return head, rows
