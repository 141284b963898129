"""Units as tasks of a Ray cluster.

What passes through Ray are units (numbers and names), commits (counts), and once a stage what all its units share.
Documents do not: units read and write the run's folder, which every node must see. No actors, no retries of Ray's own:
the driver knows which attempts there were, as with processes. At most twice as many units are in Ray's hands as there
are processors, so that each processor has its next one, an autoscaler sees what is wanted, and the memory of driver and
head does not grow with the plan.
"""

import contextlib
import re
import signal
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from corpusmill import storage
from corpusmill.errors import ClusterError
from corpusmill.execute import AtWork, Check, Failure, OnAside, OnCommit, OnPulse, WorkerStatus, ignored, versions
from corpusmill.execute.attempts import Attempts
from corpusmill.execute.cpus import usable
from corpusmill.execute.failures import KILLED, OUT_OF_MEMORY, Ended, of_error
from corpusmill.execute.ray_cluster import connected, imported
from corpusmill.execute.ray_worker import BEAT_NAMESPACE, AttemptOutcome, GivenBack, Job, attempt, fit, passed
from corpusmill.execute.serial import Serial
from corpusmill.execute.task import StageTask
from corpusmill.execute.termination import Terminated
from corpusmill.store.beats import EVERY, Beat
from corpusmill.store.units import Commit, Resources, Unit, now

UNITS_PER_PROCESSOR = 2  # units for each processor
LOOK_SECONDS = 2.0  # seconds between two looks at which nodes there are
MAX_NODE_LOSSES = 20  # times that a unit may lose its node, beside its attempts
PLANNED_DEATHS = (1, 3, 4)  # of Ray's NodeDeathInfo: it was told to end; drained because it is preempted, or idle
NODE_ID = re.compile(r"\b[0-9a-f]{56}\b")


@dataclass
class _Flight:
    """A unit in Ray's hands."""

    job: Attempts
    since: float
    lost: int = 0  # how often its node went away


@dataclass
class _Cluster:
    """What there is now.

    cpus      processors
    largest   of one node: resource -> how much
    """

    cpus: float = 0.0
    accelerators: float = 0.0
    largest: Mapping[str, float] = field(default_factory=dict)


class Ray:
    """Units as tasks of the Ray cluster at `address`; "local" starts one on this machine for as long as this lives.

    workers   units at a time, at most; None: as many as the cluster's processors allow, now and as it grows or shrinks

    A unit gets `attempts` attempts; losing a node that was to go (preempted, drained, scaled down) is none.
    """

    on_pulse: OnPulse | None = None

    def __init__(
        self, address: str | None, workers: int | None = None, attempts: int = 3, preload: Sequence[str] = ()
    ) -> None:
        self.most = workers
        self.attempts = attempts
        self._ray = imported()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(connected(address, workers or usable()))
        self._job = Job(uuid.uuid4().hex, str(Path.cwd()), versions.installed_versions(), tuple(preload))
        self._look = 0.0
        self._cluster = _Cluster()

    @classmethod
    def start(cls, workers: int | None, preload: Sequence[str], address: str | None = None) -> Self:
        return cls(address, workers, preload=preload)

    @property
    def workers(self) -> int:
        """Units of one processor that can run at a time now."""
        slots = max(int(self._now().cpus), 1)
        return slots if self.most is None else min(slots, self.most)

    def check(self, checks: Sequence[Check]) -> None:
        try:
            reference = self._remote(passed, num_cpus=1).remote(self._job, tuple(checks))
            while not self._ray.wait([reference], timeout=EVERY)[0]:
                if self.on_pulse:
                    self._pulse(self.on_pulse, (), Resources())
            wrong = self._ray.get(reference)
        except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.NodeDiedError):
            Serial().check(checks)
            return
        except Exception as error:  # they cannot be sent
            wrong = _first_line(error)
        if isinstance(wrong, ClusterError):
            raise wrong
        if wrong:  # here they fail with all that they have to say
            Serial().check(checks)
            raise ClusterError(f"a node of the cluster cannot carry out this recipe, and this machine can: {wrong}")

    def run(
        self, task: StageTask, units: Sequence[Unit], on_commit: OnCommit, on_aside: OnAside = ignored
    ) -> list[Failure]:
        if not units:
            return []
        ray = self._ray
        self._see_the_place(task)
        modules = versions.of_modules(versions.own_modules(task.work))
        stage = [ray.put((task, modules))]
        # "SPREAD": where the head has no processors, as is usual, Ray's default sends a unit that waits back and forth
        # between it and a busy node, without a pause: a quarter of a processor.
        remote = self._remote(attempt, scheduling_strategy="SPREAD", **self._resources(task.needs))
        todo: deque[Unit | _Flight] = deque(units)
        flying: dict[Any, _Flight] = {}
        failures: list[Failure] = []
        next_pulse = 0.0
        try:
            while todo or flying:
                limit = self._max_in_flight(task.needs)
                while todo and len(flying) < limit:
                    unit = todo.popleft()
                    flight = _Flight(Attempts(task, unit, self.attempts), 0.0) if isinstance(unit, Unit) else unit
                    flight.since = now()
                    arguments = (flight.job.unit, flight.job.care, self.on_pulse is not None)
                    flying[remote.remote(self._job, stage, *arguments)] = flight
                ready, _ = ray.wait(list(flying), timeout=EVERY)
                if ready:
                    ready, _ = ray.wait(list(flying), num_returns=len(flying), timeout=0)
                for reference in ready:
                    flight = flying.pop(reference)
                    answer = self._answer(reference)
                    if isinstance(answer.result, GivenBack):
                        flight.lost += 1
                        answer = (
                            answer
                            if flight.lost <= MAX_NODE_LOSSES
                            else AttemptOutcome(Ended(f"its node went away {MAX_NODE_LOSSES} times"))
                        )
                    if isinstance(answer.result, Commit):
                        on_commit(answer.result)
                        continue
                    if isinstance(answer.result, BaseException):
                        raise answer.result
                    if answer.result is None:
                        flight.job.probe_passed()
                    elif isinstance(answer.result, Ended) and (aside := flight.job.ended(answer.result, answer.at)):
                        on_aside(flight.job.unit, aside)
                    if flight.job.failure:
                        failures.append(flight.job.failure)
                    else:
                        todo.append(flight)
                if self.on_pulse and now() >= next_pulse:
                    self._pulse(self.on_pulse, flying.values(), task.needs)
                    next_pulse = now() + EVERY
        except SystemExit as error:  # Ray makes one of its own of that which a signal has raised while it waits
            self._cancel(flying)
            raise error if isinstance(error, Terminated) else Terminated(128 + signal.SIGTERM) from None
        except BaseException:
            self._cancel(flying)
            raise
        return failures

    def close(self) -> None:
        if self._job.probe:
            with contextlib.suppress(Exception):
                storage.remove(self._job.probe)
        self._stack.close()

    # ------------------------------------------------------------- the cluster

    def _remote(self, function: Callable[..., Any], **options: Any) -> Any:
        # Without events: the head keeps them, 100,000 tasks and more.
        return self._ray.remote(max_retries=0, enable_task_events=False, **options)(function)

    def _now(self) -> _Cluster:
        """What there is, looked at every other second at most."""
        if now() >= self._look:
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            names = {name for node in nodes for name in node}
            largest = {name: max(node.get(name, 0.0) for node in nodes) for name in names}
            cpus, accelerators = (sum(node.get(name, 0.0) for node in nodes) for name in ("CPU", "GPU"))
            self._cluster = _Cluster(cpus, accelerators, largest)
            self._look = now() + LOOK_SECONDS
        return self._cluster

    def _resources(self, needs: Resources) -> dict[str, float]:
        """What Ray reserves for a unit: no more processors or memory than the largest node has, as a unit that needs
        more still runs there."""
        largest = self._now().largest
        resources: dict[str, float] = {"num_cpus": min(needs.cpus, largest.get("CPU", 0.0) or needs.cpus)}
        if needs.accelerators:
            resources["num_gpus"] = needs.accelerators
        if needs.memory_mb:
            memory = float(needs.memory_mb << 20)
            resources["memory"] = int(min(memory, largest.get("memory", 0.0) or memory))
        return resources

    def _max_in_flight(self, needs: Resources) -> int:
        """Units in Ray's hands, at most."""
        cluster = self._now()
        limits = [max(cluster.cpus / (needs.cpus or 1.0), 1.0)]
        if needs.accelerators:
            limits.append(max(cluster.accelerators / needs.accelerators, 1.0))
        units = UNITS_PER_PROCESSOR * int(min(limits))
        return min(limit for limit in (units, needs.workers, self.most) if limit is not None)

    def _see_the_place(self, task: StageTask) -> None:
        """Raises ClusterError if there is a node that does not fit, before it gets a unit. One that comes later finds
        it out itself, by the same file."""
        if self._job.place == task.run.place:
            return
        probe = task.run.name_of(f"{storage.TEMPORARY}probe-{self._job.session}")
        content = uuid.uuid4().hex.encode()
        if task.run.is_local:
            task.run.make()
        storage.write_atomic(probe, content)
        self._job = replace(self._job, place=task.run.place, probe=probe, content=content)
        on = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        references = [
            self._remote(fit, num_cpus=0, scheduling_strategy=on(node, soft=False)).remote(self._job) for node in nodes
        ]
        wrong = []
        for reference in references:
            try:
                problem = self._ray.get(reference)
            except (
                self._ray.exceptions.WorkerCrashedError,
                self._ray.exceptions.NodeDiedError,
                self._ray.exceptions.LocalRayletDiedError,
                self._ray.exceptions.TaskUnschedulableError,
            ):
                continue  # the node has gone
            except self._ray.exceptions.RayError as error:
                raise ClusterError(f"a node of the cluster cannot carry out units: {_first_line(error)}") from error
            if problem is not None:
                wrong.append(str(problem))
        if wrong:
            raise ClusterError("; ".join(wrong))

    # ------------------------------------------------------------- attempts

    def _answer(self, reference: Any) -> AttemptOutcome:
        kinds = self._ray.exceptions
        try:
            answer: AttemptOutcome = self._ray.get(reference)
            return answer
        except kinds.OutOfMemoryError as error:
            why = f"the memory of its node ran out, and Ray ended it ({_first_line(error)})"
            message = f"{why}: try a smaller unit_mb, or nodes with more memory for each processor"
            return AttemptOutcome(Ended(message, "", OUT_OF_MEMORY, why, is_kill=True))
        except (kinds.NodeDiedError, kinds.LocalRayletDiedError) as error:
            if self._was_to_go(str(error)):
                return AttemptOutcome(GivenBack())
            return AttemptOutcome(Ended(f"its node died ({_first_line(error)})"))
        except kinds.WorkerCrashedError:
            why = "its worker died (killed, often because memory ran out; or native code crashed)"
            message = f"{why}. If it happens often, try a smaller unit_mb"
            return AttemptOutcome(Ended(message, "", KILLED, why, is_kill=True))
        except (kinds.ObjectLostError, kinds.TaskUnschedulableError, kinds.TaskCancelledError):
            return AttemptOutcome(GivenBack())
        except kinds.RayTaskError as error:
            return AttemptOutcome(of_error(error.cause if isinstance(error.cause, Exception) else error))
        except kinds.RayError as error:
            return AttemptOutcome(
                ClusterError(f"Ray failed: {_first_line(error)}. Run the same command again to continue")
            )

    def _was_to_go(self, message: str) -> bool:
        """Whether the node that an error names went away as planned."""
        node_ids = set(NODE_ID.findall(message))
        return any(
            node.get("DeathReason") in PLANNED_DEATHS for node in self._ray.nodes() if node["NodeID"] in node_ids
        )

    def _pulse(self, on_pulse: OnPulse, flights: Any, needs: Resources) -> None:
        """Units that have said how far they are run; the others wait for a processor, or what else they need."""
        from ray.experimental.internal_kv import _internal_kv_get

        at_work = []
        for flight in flights:
            try:
                value = _internal_kv_get(f"{self._job.session}/{flight.job.unit.key}", namespace=BEAT_NAMESPACE)
            except Exception:
                value = None
            if value is not None:
                beat = Beat(*map(int, value.strip(b"()").split(b",")))
                at_work.append(AtWork(flight.job.unit, now() - flight.since, beat))
        missing = self._missing(needs)
        if missing:  # or was, when it was looked at last
            self._look = 0.0
            missing = self._missing(needs)
        on_pulse(WorkerStatus(self.workers, at_work, waits_for=f"node with a {missing}" if missing else ""))

    def _missing(self, needs: Resources) -> str:
        cluster = self._now()
        return "processor" if not cluster.cpus else "GPU" if needs.accelerators and not cluster.accelerators else ""

    def _cancel(self, flying: Mapping[Any, _Flight]) -> None:
        with contextlib.suppress(Exception):
            for reference in flying:
                self._ray.cancel(reference, force=True)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:500]
