"""A stage of units on many workers that die, are slow, and are preempted: a simulation by events.

It is `corpusmill work` without the work: a worker takes a unit that is not done and that nobody holds, renews its lease
while it lives, and commits. One that dies leaves its lease, which expires after `lease` seconds; then another takes the
unit. One whose machine is preempted gives its unit back, and a new machine comes after a while. Times of units are
drawn from measured ones, by a seed; equal settings give equal results.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cluster:
    """
    workers    at a time
    mean_life  seconds until a worker dies without notice, on average, exponentially; None: it does not
    lease      seconds that the unit of one that died is held for
    back       seconds until there is another worker in its place
    notice     share of ends that come with a notice, in which the unit is given back: spot machines
    slow       share of workers that are `slower` times as slow
    steal      a worker without other work takes a unit that another is at, once there is no unit left: the first commit
               counts
    """

    workers: int
    mean_life: float | None = None
    lease: float = 120.0
    back: float = 60.0
    notice: float = 0.0
    slow: float = 0.0
    slower: float = 4.0
    steal: bool = False


@dataclass(frozen=True)
class Outcome:
    """
    makespan   seconds until the last unit is committed
    useful     seconds of workers on attempts that committed
    wasted     seconds of workers on attempts that did not: lost to deaths, or beaten by another's commit
    ends       workers that ended before the last commit
    doubled    units that were begun more than once
    """

    makespan: float
    useful: float
    wasted: float
    ends: int
    doubled: int
    workers: int

    @property
    def efficiency(self) -> float:
        """Useful seconds, of all that the workers could have given."""
        return self.useful / (self.makespan * self.workers)


def simulate(seconds: Sequence[float], cluster: Cluster, seed: int = 0) -> Outcome:
    """Units that take so long, in the order in which they are taken."""
    chance = random.Random(seed)
    ready = list(range(len(seconds)))[::-1]
    begun = [0] * len(seconds)
    done = [False] * len(seconds)
    at_work: dict[int, set[int]] = {}  # unit -> workers
    speeds = [cluster.slower if chance.random() < cluster.slow else 1.0 for _ in range(cluster.workers)]
    ends_at = [_life(cluster, chance, 0.0) for _ in range(cluster.workers)]
    events: list[tuple[float, int, str, int, int, float]] = []  # when, order, what, worker, unit, since
    order = 0
    idle: list[int] = []
    useful = wasted = makespan = 0.0
    ends = left = 0
    left = len(seconds)

    def push(when: float, what: str, worker: int, unit: int = -1, since: float = 0.0) -> None:
        nonlocal order
        heapq.heappush(events, (when, order, what, worker, unit, since))
        order += 1

    def take(worker: int, when: float) -> None:
        while ready and done[ready[-1]]:
            ready.pop()
        unit = ready.pop() if ready else None
        if unit is None and cluster.steal:
            held = [one for one, by in at_work.items() if len(by) == 1 and not done[one]]
            unit = min(held, key=lambda one: (begun[one], one), default=None)
        if unit is None:
            idle.append(worker)
            if ends_at[worker] < float("inf"):
                push(ends_at[worker], "idle-end", worker, -1, ends_at[worker])
            return
        begun[unit] += 1
        at_work.setdefault(unit, set()).add(worker)
        stop = when + seconds[unit] * speeds[worker]
        push(min(stop, ends_at[worker]), "commit" if stop <= ends_at[worker] else "end", worker, unit, when)

    def wake(when: float) -> None:
        while idle and ready:
            take(idle.pop(), when)

    for worker in range(cluster.workers):
        push(0.0, "come", worker)
    while left:
        when, _, what, worker, unit, since = heapq.heappop(events)
        if what == "come":
            take(worker, when)
        elif what == "expire":
            if not done[unit]:
                ready.append(unit)
                wake(when)
        elif what == "idle-end":
            if worker in idle and ends_at[worker] == since:
                idle.remove(worker)
                ends += 1
                ends_at[worker] = _life(cluster, chance, when + cluster.back)
                push(when + cluster.back, "come", worker)
        else:
            at_work[unit].discard(worker)
            if what == "commit":
                if done[unit]:
                    wasted += when - since
                else:
                    done[unit], left, makespan = True, left - 1, when
                    useful += when - since
                take(worker, when)
                continue
            wasted += when - since
            ends += 1
            if chance.random() < cluster.notice:
                if not done[unit]:
                    ready.append(unit)
                    wake(when)
            else:
                push(when + cluster.lease, "expire", worker, unit)
            ends_at[worker] = _life(cluster, chance, when + cluster.back)
            push(when + cluster.back, "come", worker)
    return Outcome(makespan, useful, wasted, ends, sum(count > 1 for count in begun), cluster.workers)


def _life(cluster: Cluster, chance: random.Random, since: float) -> float:
    return since + chance.expovariate(1 / cluster.mean_life) if cluster.mean_life else float("inf")
