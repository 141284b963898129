"""How many processors this process may use: of the machine's, those that affinity, control groups and Slurm leave."""

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def usable() -> int:
    """Processors that this process may keep busy, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota()
    # A cluster need not bind jobs to what they asked for. The first is of a task, the second of all on this node.
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"):
        if (allotted := os.environ.get(name, "")).isdigit():
            count = min(count, int(allotted))
            break
    return max(1, min(count, round(quota + 0.49)) if quota else count)  # half a processor is worth a worker


def cgroup_quota(root: Path = CGROUP) -> float | None:
    """Processors that the control group of a container may use; None if nothing limits it."""
    try:
        if (file := root / "cpu.max").exists():  # version 2
            quota, period = file.read_text("ascii").split()[:2]
        else:
            quota, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text("ascii") for name in ("quota", "period"))
        return float(quota) / float(period) if quota.strip() != "max" and float(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def too_many(workers: int) -> str:
    """Why so many workers do not make a run faster here; "" if they do."""
    available = usable()
    if workers <= available:
        return ""
    total = os.cpu_count() or available
    limited = f" of the {total} of this machine (affinity, or the limit of a container)" if available < total else ""
    return (
        f"{workers} workers were asked for, and this process may use {available} processor{'s' * (available != 1)}"
        f"{limited}: more than {available} take turns, and each takes memory"
    )
