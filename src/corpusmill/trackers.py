"""A run in the tools that watch machines and experiments: Prometheus, Weights & Biases, MLflow.

    import mlflow
    done = corpusmill.run(recipe, listener=trackers.Metrics(mlflow.log_metrics))
    mlflow.log_metrics(trackers.numbers(done))

All are listeners of `corpusmill.run`. None imports the tool: `Metrics` calls a function with numbers by name, as
`mlflow.log_metrics` and the `log` of a run of Weights & Biases take them.
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpusmill.engine.drive.listener import ProgressListener, Silent
from corpusmill.engine.work.pass_results import EXTRACT
from corpusmill.recipe.dump import changed
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.storage import write_atomic
from corpusmill.store.units import Commit
from corpusmill.store.work import Stage

if TYPE_CHECKING:
    from corpusmill.ops.finished import Run

SEND_SECONDS = 10.0  # seconds
# What a listener is told of the inside of units, by the names that it is sent under.
PROGRESS_HELP = {
    "overall": "Share of the run that is done, from 0 to 1, about.",
    "documents_per_second": "Documents a second, of all workers.",
    "text_per_second": "Bytes of text a second, of all workers.",
    "memory": "Bytes that the workers have in memory.",
    "working": "Workers that have a unit.",
}
METRIC_HELP = {
    "stage": "Stages that have begun.",
    "units": "Units of the present stage.",
    "units_done": "Units of the present stage that are done.",
    "documents_read": "Documents that this call has read.",
    "input_bytes_read": "Bytes of input files, as they are stored, that this call has read.",
    "documents_dropped": "Documents that steps of this call have dropped.",
    "worker_seconds": "Seconds that workers took for the units of this call.",
    "worker_memory_bytes": "Most memory that a worker had.",
}


class Together:
    """Several listeners as one: `Together(Metrics(mlflow.log_metrics), OpenMetrics("run.prom"))`."""

    def __init__(self, *listeners: ProgressListener) -> None:
        self.listeners = listeners

    def compiling(self) -> None:
        self._call_all("compiling")

    def stage(self, stage: Stage, units: int, done: int) -> None:
        self._call_all("stage", stage, units, done)

    def commit(self, stage: Stage, commit: Commit) -> None:
        self._call_all("commit", stage, commit)

    def note(self, message: str) -> None:
        self._call_all("note", message)

    def planned(self, stages: Sequence[Stage]) -> None:
        self._call_all("planned", stages)

    def compiled(self, kernels: int, of: int) -> None:
        self._call_all("compiled", kernels, of)

    def beat(self, progress: Any) -> None:
        self._call_all("beat", progress)

    def _call_all(self, method: str, *about: Any) -> None:
        for listener in self.listeners:
            if hasattr(listener, method):  # the last three are of those that show what happens inside units
                getattr(listener, method)(*about)


class Metrics(Silent):
    """Calls a function with what a run has done, as name -> number: see METRIC_HELP.

    every   seconds between calls; one at the beginning and the end of each stage comes in any case

    Numbers are of this call: what earlier ones have done is only in `units_done`.
    """

    def __init__(self, send: Callable[[dict[str, float]], object], every: float = SEND_SECONDS) -> None:
        self.send, self.every = send, every
        self.numbers: dict[str, float] = dict.fromkeys(METRIC_HELP, 0)
        self._sent = -every

    def stage(self, stage: Stage, units: int, done: int) -> None:
        self.numbers |= {"stage": self.numbers["stage"] + 1, "units": units, "units_done": done}
        self._send()

    def commit(self, stage: Stage, commit: Commit) -> None:
        # A first pass behind the stage that extracts texts counts again what that has read.
        read = () if EXTRACT in stage.after else commit.facts.get("read", {}).values()
        numbers = self.numbers
        numbers["units_done"] += 1
        numbers["documents_read"] += sum(source.get("documents", 0) for source in read)
        numbers["input_bytes_read"] += sum(source.get("bytes", 0) for source in read)
        numbers["documents_dropped"] += _counts(commit.facts.get("reasons", {}))
        numbers["worker_seconds"] += commit.seconds
        numbers["worker_memory_bytes"] = max(numbers["worker_memory_bytes"], commit.memory or 0)
        self._send(due=numbers["units_done"] == numbers["units"])

    def planned(self, stages: Sequence[Stage]) -> None:
        pass

    def compiled(self, kernels: int, of: int) -> None:
        pass

    def beat(self, progress: Any) -> None:
        values = {name: getattr(progress, name, None) for name in PROGRESS_HELP}
        self.numbers |= {name: value for name, value in values.items() if value is not None}
        self._send(due=False)

    def _send(self, due: bool = True) -> None:
        now = time.monotonic()
        if due or now - self._sent >= self.every:
            self._sent = now
            self.send(dict(self.numbers))


class OpenMetrics(Metrics):
    """Keeps a file of metrics for the textfile collector of Prometheus' node_exporter, whose name ends in ".prom".

    labels   of every metric: OpenMetrics(path, run="web-en")

    Gauges alone, which the text formats of Prometheus and of OpenMetrics write alike. The file is replaced in one step.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = SEND_SECONDS, **labels: str) -> None:
        super().__init__(self._write, every)
        self.path = os.fspath(path)
        pairs = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
        self.labels = f"{{{','.join(pairs)}}}" if labels else ""

    def _write(self, numbers: Mapping[str, float]) -> None:
        lines = []
        for name, value in numbers.items():
            metric = f"corpusmill_{re.sub('[^a-zA-Z0-9_]', '_', name)}"
            if text := METRIC_HELP.get(name) or PROGRESS_HELP.get(name):
                lines.append(f"# HELP {metric} {text}")
            lines += [f"# TYPE {metric} gauge", f"{metric}{self.labels} {value:.15g}"]
        write_atomic(self.path, "".join(f"{line}\n" for line in [*lines, "# EOF"]).encode())


def settings(recipe: Recipe) -> dict[str, str]:
    """What an experiment is compared by: the recipe's name, fingerprint and steps, and the parameters of these that are
    not the default, as "gopher_quality.min_words"."""
    steps = list(zip(labels(recipe.steps), recipe.steps))
    parameters = {f"{label}.{name}": str(value) for label, step in steps for name, value in changed(step).items()}
    return {"recipe": recipe.name, "fingerprint": recipe.fingerprint(), "steps": ", ".join(dict(steps)), **parameters}


def numbers(done: "Run") -> dict[str, float]:
    """What came of a run: documents, bytes of text and tokens, its seconds, and for each step the share of its input
    that it kept, and how many documents each rule dropped."""
    flow = done.waterfall
    totals: dict[str, float] = {"documents_in": flow.documents_in, "documents_out": flow.documents_out}
    if flow.rows:
        totals |= {"text_bytes_out": flow.rows[-1].bytes_out, "tokens_out": flow.rows[-1].tokens_out}
    shares = {f"kept.{row.step}": row.documents_out / max(row.documents_in, 1) for row in flow.rows}
    dropped = {f"dropped.{row.step}.{rule}": float(count) for row in flow.rows for rule, count in row.reasons.items()}
    return {**totals, "seconds": done.seconds, **shares, **dropped}


def _counts(facts: Any) -> int:
    """The sum of all numbers in nested counts."""
    return sum(map(_counts, facts.values())) if isinstance(facts, Mapping) else int(facts)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
