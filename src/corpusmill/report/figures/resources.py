"""What each stage of a run took: seconds, throughput, memory.

Seconds are those of the workers, added up: of two workers side by side each counts. Of a run that was continued, or
that found work done already, they are those of whoever did it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.report.numbers import number, size
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class StageResources:
    """What a stage took.

    seconds          of all units
    longest          of the unit that took the longest
    documents        input documents of the stage, and `bytes`, of their texts: of a pass, what is left of the one
                     before; of any other stage, what the last pass before it kept
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
            "documents_per_second": round(self.documents_per_second, 1),
            "mb_per_second": round(self.mb_per_second, 3),
        }


def resources(tables: RunTables) -> list[StageResources]:
    """Every stage that has begun, in order."""
    flow = {stage: _flow(tables, stage, labels) for stage, labels in tables.passes}
    carried = (0, 0)
    found = []
    for stage, results in tables.files.stages.items():
        if not len(results):
            continue
        if stage in flow:
            (documents, text), carried = flow[stage]
        else:
            documents, text = carried
        memory = int(results.memory.max())
        spent = float(results.seconds.sum()), float(results.seconds.max())
        found.append(StageResources(stage, len(results), *spent, documents, text, memory or None, results.bytes))
    return found


def _flow(tables: RunTables, stage: str, labels: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Documents and bytes into a pass, and out of it."""
    steps = tables.files.facts(stage).get("steps", {})
    ends = []
    for label, side in ((labels[0], "in"), (labels[-1], "out")) if labels else ():
        sources = steps.get(label, {}).values()
        ends.append(tuple(sum(source[f"{what}_{side}"] for source in sources) for what in ("documents", "bytes")))
    if not ends:  # a recipe without steps
        read = tables.files.facts(stage).get("read", {}).values()
        ends = [(sum(source["documents"] for source in read), sum(source["bytes"] for source in read))] * 2
    (first, last) = ends
    return (first[0], first[1]), (last[0], last[1])


def resources_table(stages: Sequence[StageResources]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    head = ["stage", "units", "worker seconds", "longest unit", "documents/s", "MB/s", "peak memory", "written"]
    rows = [
        [
            one.stage,
            number(one.units),
            f"{one.seconds:,.1f}",
            f"{one.longest:,.1f}",
            number(one.documents_per_second),
            f"{one.mb_per_second:,.1f}",
            "–" if one.memory is None else size(one.memory),
            size(one.written),
        ]
        for one in stages
    ]
    return head, rows
