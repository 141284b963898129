"""How far a run is and who is at work on it, by its folder alone: from any machine, whatever carries it out.

Speeds come from what commits say of themselves: documents and tokens by seconds of a process, of a sample of them,
times the processes that are at work now. So one look is enough, and no clock of another machine is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from corpusmill import storage
from corpusmill.engine.drive.meter import BEHIND_EXTRACTION, EXTRACTION, FIRST_PASS, LATER_PASS, OTHER, documents_of
from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.errors import CorpusmillError
from corpusmill.store.leases import ENDED, LEASES, read_worker, workers
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.run_records import DamagedRecord
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.units import now

MAX_COMMITS_READ = 64  # commits that are read, at most, to know how fast a stage is
DONE, AT_WORK, WAITING = "done", "at work", "to come"


@dataclass(frozen=True)
class StageSnapshot:
    """A stage.

    state    DONE, AT_WORK or WAITING
    units    None as long as it is not planned
    leased   of those that are not committed, how many a worker has taken
    failed   how many were given up, or may be tried by another worker
    """

    stage: str
    state: str
    units: int | None = None
    committed: int = 0
    leased: int = 0
    failed: int = 0


@dataclass(frozen=True)
class WorkerSnapshot:
    """One that takes part.

    state      in its own words: "working", "waiting", "publishing", "ended"; "silent" if its beat has not changed for
               longer than it has promised, since it is watched
    processes  that have a unit now
    started    as its machine's clock had it, UTC
    error      why it has ended, if not because the run is finished
    """

    worker: str
    host: str
    state: str
    stage: str | None
    processes: int
    started: str | None
    error: str | None = None


@dataclass(frozen=True)
class RunSnapshot:
    """One look at a run. What is not known is None.

    stages     all of them, in order
    stage      the one that is at work
    workers    those that have not ended, or ended with an error
    ended      how many have ended
    left       seconds until the present stage is done, and `overall_left` the run: about
    quiet      seconds since anything has changed, as long as it is watched
    """

    place: str
    name: str
    finished: bool
    stages: Sequence[StageSnapshot]
    stage: str | None
    workers: Sequence[WorkerSnapshot]
    ended: int
    share: float
    documents_per_second: float | None
    tokens_per_second: float | None
    left: float | None
    overall_left: float | None
    quiet: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Watcher:
    """Looks at a run again and again. Raises InputError if there is none."""

    run: RunFolder
    clock: Callable[[], float] = now
    _beats: dict[str, tuple[Any, float]] = field(default_factory=dict)
    _plans: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _last: tuple[Any, float] = (None, 0.0)

    def look(self) -> RunSnapshot:
        record = self.run.record()
        entries = self.run.read(STAGES_RECORD)
        stages = [self._stage(entry) for entry in entries]
        # Stages follow each other: behind the first that is not done, none has begun, whatever an earlier run left.
        present = next((index for index, stage in enumerate(stages) if stage.state != DONE), len(stages))
        stages[present + 1 :] = [StageSnapshot(stage.stage, WAITING) for stage in stages[present + 1 :]]
        calls = [call for call in record.get("calls", []) if isinstance(call, dict)]
        snapshots, ended = self._workers()
        finished = present == len(stages) and self._is_finished(entries, calls)
        if not snapshots and not finished:
            snapshots = [_of_call(call) for call in calls[-1:] if call.get("ended") is None and "started" in call]
        at = stages[present] if present < len(stages) else None
        documents = tokens = seconds_left = overall_left = None
        if at and at.units:
            processes = sum(worker.processes for worker in snapshots)
            folder = self.run.stage(entries[present]["folder"])
            documents, tokens, seconds = self._speed(folder, self._keys(folder, entries[present]["plan"]), processes)
            if seconds is not None:
                seconds_left = (at.units - at.committed) * seconds
                own, *others = _weights([stage.stage for stage in stages])[present:]
                later = sum(others) / own
                overall_left = seconds_left + at.units * seconds * later
        changed = (stages, [self._beats.get(worker.worker, (None, 0))[0] for worker in snapshots])
        if changed != self._last[0]:
            self._last = changed, self.clock()
        return RunSnapshot(
            self.run.place, str(record["name"]), finished, tuple(stages), at.stage if at else None, tuple(snapshots),
            ended, _share(stages), documents, tokens, seconds_left, overall_left, self.clock() - self._last[1],
        )  # fmt: skip

    def _stage(self, entry: Mapping[str, Any]) -> StageSnapshot:
        name, plan, folder = entry["stage"], entry["plan"], self.run.stage(entry["folder"])
        keys = self._keys(folder, plan) if plan else None
        if keys is None:
            return StageSnapshot(name, WAITING)
        if folder.is_complete(plan):
            return StageSnapshot(name, DONE, len(keys), len(keys))
        committed_keys = folder.committed_keys()
        committed = sum(key in committed_keys for key in keys)
        leases = storage.list_dir(self.run.name_of(f"{folder.name}/{LEASES}"))
        open_keys = set(keys) - committed_keys
        leased = {name.rpartition("-")[0] for name in leases} & open_keys
        failed = {name.removesuffix(".json") for name in storage.list_dir(folder.failed)} & open_keys
        return StageSnapshot(name, AT_WORK, len(keys), committed, len(leased), len(failed))

    def _keys(self, folder: StageFolder, plan: str) -> list[str]:
        if (folder.name, plan) not in self._plans:
            try:
                self._plans[folder.name, plan] = folder.planned(plan) or []
            except DamagedRecord:
                return []
        return self._plans[folder.name, plan]

    def _workers(self) -> tuple[list[WorkerSnapshot], int]:
        snapshots, ended = [], 0
        for name in workers(self.run):
            record = read_worker(self.run, name) or {}
            if record.get("state") == ENDED:
                ended += 1
                if not record.get("error"):
                    continue
            if self._beats.get(name, (None, 0))[0] != record.get("beat"):
                self._beats[name] = record.get("beat"), self.clock()
            silent = self.clock() - self._beats.get(name, (None, self.clock()))[1]
            state = str(record.get("state", "starting"))
            if state != ENDED and silent > float(record.get("lease") or 60.0):
                state = "silent"
            busy = len(record.get("units") or ()) if state in ("working", "waiting") else 0
            call = record.get("call") or {}
            host = str(record.get("host", "?"))
            snapshots.append(
                WorkerSnapshot(name, host, state, record.get("stage"), busy, call.get("started"), record.get("error"))
            )
        return snapshots, ended

    def _is_finished(self, entries: Sequence[Mapping[str, Any]], calls: Sequence[Mapping[str, Any]]) -> bool:
        if self.run.is_published({entry["stage"]: (entry["folder"], entry["plan"]) for entry in entries}):
            return True
        return bool(calls) and calls[-1].get("outcome") == "finished" and storage.exists(self.run.report)

    def _speed(
        self, folder: StageFolder, keys: Sequence[str], processes: int
    ) -> tuple[float | None, float | None, float | None]:
        """Documents and tokens per second, and seconds for a unit, of all processes together."""
        done_keys = sorted(folder.committed_keys() & set(keys))
        documents = tokens = units = 0
        seconds = 0.0
        for key in done_keys[:: -(-len(done_keys) // MAX_COMMITS_READ) or 1]:
            try:
                commit = folder.committed(key)
            except CorpusmillError:
                continue
            count = commit.facts.get("tokens")
            tokens += count if isinstance(count, int) else 0
            documents += documents_of(commit)
            seconds += commit.seconds
            units += 1
        if not units or not processes or seconds <= 0:
            return None, None, None
        rate = processes / seconds
        return documents * rate or None, tokens * rate or None, seconds / units / processes


def _of_call(call: Mapping[str, Any]) -> WorkerSnapshot:
    """`corpusmill run` at work, or killed: it keeps no beat."""
    host = str((call.get("machine") or {}).get("host") or "?")
    return WorkerSnapshot("corpusmill run", host, "working", None, int(call.get("workers") or 1), call.get("started"))


def _weights(stages: Sequence[str]) -> list[float]:
    """About how much of a run each of its stages is."""
    weights = {EXTRACT: EXTRACTION, "pass-1": BEHIND_EXTRACTION if EXTRACT in stages else FIRST_PASS}
    return [weights.get(stage, LATER_PASS if stage.startswith("pass-") else OTHER) for stage in stages]


def _share(stages: Sequence[StageSnapshot]) -> float:
    """Of the run that is done, about: stages count by what they usually cost."""
    weights = _weights([stage.stage for stage in stages])
    shares = [1.0 if s.state == DONE else s.committed / s.units if s.units else 0.0 for s in stages]
    return sum(weight * share for weight, share in zip(weights, shares)) / sum(weights) if stages else 0.0
