"""How far a run is: what its workers say, and what is committed, as numbers for those who watch."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from corpusmill.engine.plan.inputs import suffix
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.extraction import BYTES_IN, BYTES_OUT, ExtractedDocuments, ExtractTexts
from corpusmill.engine.work.pass_parts import InputPieces
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.sources import InputFiles
from corpusmill.execute import AtWork, WorkerStatus
from corpusmill.store.beats import Beat
from corpusmill.store.units import Commit, Unit, now
from corpusmill.store.work import Stage

WINDOW = 15.0  # seconds that rates are taken over
MOST_INSIDE = 0.98  # of a unit, while it is not committed: how long it is may be an estimate

# What a stage costs, measured on web text with the rules of FineWeb. Which steps a recipe has, and what is dropped,
# moves this by half: the overall bar is about.
FIRST_PASS, LATER_PASS, OTHER = 80.0, 5.0, 1.5
EXTRACTION, BEHIND_EXTRACTION = 60.0, 20.0  # parts of a first pass whose extraction of texts is a stage


@dataclass(frozen=True)
class StageProgress:
    """How far a run and its present stage are. What is not known is None.

    stage, number, stages   the stage's name; it is stage `number` of `stages`, from 1
    units, units_done       of the stage; done by this call or by earlier ones
    working, workers        workers that have a unit now, of all
    share                   of the stage that is done, 0 to 1, with what is done of units that are not committed yet
    seconds                 since this call began with the stage
    left                    seconds until the stage is done, at the speed until now
    documents, kept, text   that this call has seen in the stage, how many of them were not dropped, and bytes of their
                            text as it is at the end of the stage's steps; `kept` is None where the stage drops none
    documents_per_second, text_per_second
                            over the last WINDOW seconds
    memory                  bytes that the workers have in memory (RSS; pages that they share count for each)
    overall, overall_left   `share` and `left` of the whole run: about, as stages count by what they usually cost
    """

    stage: str
    number: int
    stages: int
    units: int
    units_done: int
    working: int = 0
    workers: int = 0
    share: float = 0.0
    seconds: float = 0.0
    left: float | None = None
    documents: int = 0
    kept: int | None = None
    text: int = 0
    documents_per_second: float | None = None
    text_per_second: float | None = None
    memory: int | None = None
    overall: float = 0.0
    overall_left: float | None = None


@runtime_checkable
class BeatListener(Protocol):
    """What a `ProgressListener` may have beside its own methods, to show what happens inside units.

    planned    the stages of the run, before the first of them begins
    compiled   so many of all kernels are compiled
    beat       about twice a second while units are at work, when a stage begins, and when it ends
    """

    def planned(self, stages: Sequence[Stage]) -> None: ...
    def compiled(self, kernels: int, of: int) -> None: ...
    def beat(self, progress: StageProgress) -> None: ...


@dataclass
class _Seen:
    """Documents that passed."""

    documents: int = 0
    kept: int = 0
    bytes_in: int = 0
    text: int = 0

    def add(self, other: "_Seen | Beat") -> None:
        self.documents += other.documents
        self.kept += other.kept
        self.bytes_in += other.bytes_in
        self.text += other.text


@dataclass
class Meter:
    """Measures one call that carries out a plan, and tells `listen`."""

    plan: RunPlan
    listen: Callable[[StageProgress], None]
    clock: Callable[[], float] = now
    _weights: list[float] = field(init=False)
    _began: float = field(init=False)
    _skipped: float = 0.0  # weight of what was done before this call
    _pulse: WorkerStatus | None = None  # the last
    _stage: "_StageMeter | None" = None

    def __post_init__(self) -> None:
        self._weights = [weight(stage) for stage in self.plan.stages]
        self._began = self.clock()

    def stage(self, number: int, units: Sequence[Unit], missing: Sequence[Unit]) -> None:
        """Begin with the stage of this number, of whose units those in `missing` are to be done."""
        self._stage = _StageMeter(self.plan, self.plan.stages[number], number, units, missing, self.clock)
        self._skipped += self._weights[number] * self._stage.share_before
        self._tell(None)

    def commit(self, commit: Commit) -> None:
        if self._stage:
            self._stage.commit(commit)
            if self._stage.is_done:
                self._tell(None)

    def elsewhere(self, key: str) -> None:
        """Another driver has done a unit of the stage."""
        if self._stage:
            self._stage.elsewhere(key)
            if self._stage.is_done:
                self._tell(None)

    def pulse(self, pulse: WorkerStatus) -> None:
        self._pulse = pulse
        if self._stage and not self._stage.is_done:  # its end was told when its last unit was done
            self._tell(pulse)

    def _tell(self, pulse: WorkerStatus | None) -> None:
        if not self._stage:
            return
        stage = self._stage.progress(pulse.at_work if pulse else ())
        total, before = sum(self._weights), sum(self._weights[: stage["number"] - 1])
        overall = (before + self._weights[stage["number"] - 1] * stage["share"]) / total
        seconds_left = _seconds_left(overall - self._skipped / total, 1 - overall, self.clock() - self._began)
        workers, memory = (self._pulse.workers, self._pulse.memory) if self._pulse else (0, None)
        self.listen(StageProgress(**stage, workers=workers, memory=memory, overall=overall, overall_left=seconds_left))


def weight(stage: Stage) -> float:
    """About how much of a run a stage is."""
    if isinstance(stage.work, ExtractTexts):
        return EXTRACTION
    if isinstance(stage.work, Pass):
        if isinstance(stage.work.source, ExtractedDocuments):
            return BEHIND_EXTRACTION
        return FIRST_PASS if isinstance(stage.work.source, InputFiles) else LATER_PASS
    return OTHER


class _StageMeter:
    """What is known of the present stage."""

    def __init__(
        self,
        plan: RunPlan,
        stage: Stage,
        number: int,
        units: Sequence[Unit],
        missing: Sequence[Unit],
        clock: Callable[[], float],
    ) -> None:
        self._name, self._number, self._stages = stage.name, number + 1, len(plan.stages)
        self._is_pass = isinstance(stage.work, Pass)
        self._labels = next((info.labels for info in plan.passes if info.stage == stage.name), ())
        self._clock, self._began = clock, clock()
        self._size = {unit.key: _bytes_of(unit, plan) for unit in units}
        self._total = sum(self._size.values())
        waiting = sum(self._size[unit.key] for unit in missing)
        self.share_before = 1 - waiting / self._total if self._total else 1.0
        self._before = self._committed = self._total - waiting
        self._units, self._missing = len(units), {unit.key for unit in missing}
        self._here = _Seen()  # of units that this call has committed
        self._expected = 0.0  # bytes that were expected of them
        self._samples: deque[tuple[float, int, int]] = deque([(self._began, 0, 0)])

    @property
    def is_done(self) -> bool:
        return not self._missing

    def commit(self, commit: Commit) -> None:
        if commit.key in self._missing:
            self._missing.remove(commit.key)
            self._committed += self._size[commit.key]
            self._expected += self._size[commit.key]
            self._here.add(_seen_by(commit, self._labels))

    def elsewhere(self, key: str) -> None:
        if key in self._missing:
            self._missing.remove(key)
            self._committed += self._size[key]

    def progress(self, at_work: Sequence[AtWork]) -> dict[str, Any]:
        """The fields of StageProgress that are of the stage alone."""
        at_work = [work for work in at_work if work.unit.key in self._missing]
        counts, inside = _Seen(), 0.0
        counts.add(self._here)
        for work in at_work:
            inside += self._size[work.unit.key] * self._share_of(work)
            if work.beat:
                counts.add(work.beat)
        share = min((self._committed + inside) / self._total, 1.0) if self._total and self._missing else 1.0
        at = self._clock()
        seconds = at - self._began
        documents, text = self._rates(at, counts)
        return {
            "stage": self._name,
            "number": self._number,
            "stages": self._stages,
            "units": self._units,
            "units_done": self._units - len(self._missing),
            "working": len(at_work),
            "share": share,
            "seconds": seconds,
            "left": _seconds_left(share - self.share_before, 1 - share, seconds),
            "documents": counts.documents,
            "kept": counts.kept if self._is_pass and counts.documents else None,
            "text": counts.text,
            "documents_per_second": documents,
            "text_per_second": text,
        }

    def _share_of(self, work: AtWork) -> float:
        """Of a unit that is at work. Of input whose length is estimated: by what it has given until now."""
        if not work.beat:
            return 0.0
        expected = self._size[work.unit.key]
        if self._expected and self._here.bytes_in:  # what those gave that are done corrects the estimate
            expected *= self._here.bytes_in / self._expected
        read_share = work.beat.bytes_in / expected if isinstance(work.unit.inputs, InputPieces) and expected else 0.0
        return min(max(work.beat.share, read_share), MOST_INSIDE)

    def _rates(self, at: float, counts: _Seen) -> tuple[float | None, float | None]:
        """Documents and bytes of text per second; None as long as there are none."""
        self._samples.append((at, counts.documents, counts.text))
        while len(self._samples) > 2 and at - self._samples[1][0] > WINDOW:
            self._samples.popleft()
        then, documents, text = self._samples[0]
        elapsed = at - then
        if elapsed <= 0 or not counts.documents:
            return None, None
        return (
            max(counts.documents - documents, 0) / elapsed,
            max(counts.text - text, 0) / elapsed if counts.text else None,
        )


def _bytes_of(unit: Unit, plan: RunPlan) -> float:
    """About how large a unit is among those of its stage: bytes of text in the first pass, elsewhere they are alike."""
    if not isinstance(unit.inputs, InputPieces):
        return 1.0
    return 1.0 + sum(
        piece.size * plan.inputs[part.source].expands.get(suffix(piece.file.name), 1.0)
        for part in unit.inputs.sources
        for piece in part.pieces
    )


def _seen_by(commit: Commit, labels: Sequence[str]) -> _Seen:
    """The documents of a unit, by what it has left. `labels` are the steps of its pass, in order."""
    outputs, facts = commit.outputs, commit.facts
    if "signals" in outputs:  # a pass
        lengths = facts.get("lengths", {}).get("bytes", {})
        text = sum(side["total"] for side in lengths.values())
        bytes_in = _bytes_in(facts, labels[0]) if labels else text
        return _Seen(outputs["signals"].rows, outputs["docs"].rows, bytes_in, text)
    if "batches" in outputs:  # of the stage that extracts texts
        rows, sizes = outputs["batches"].rows, (int(commit.notes[name]) for name in (BYTES_IN, BYTES_OUT))
        return _Seen(rows, rows, *sizes)
    if "text" in outputs:
        return _Seen(outputs["text"].rows)
    documents = facts.get("documents", 0)
    return _Seen(documents if isinstance(documents, int) else 0)


def documents_of(commit: Commit) -> int:
    """The documents that a unit has seen; 0 where it says nothing of documents."""
    return _seen_by(commit, ()).documents


def _bytes_in(facts: Mapping[str, Any], label: str) -> int:
    """What came to a step."""
    return sum(source.get("bytes_in", 0) for source in facts.get("steps", {}).get(label, {}).values())


def _seconds_left(share: float, remaining: float, seconds: float) -> float | None:
    """Seconds that the rest takes at the speed until now; None while nothing can be said."""
    if remaining <= 0:
        return 0.0
    return seconds * remaining / share if share > 0.001 and seconds >= 1.0 else None
