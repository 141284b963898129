"""What there is to be in the output, before it is; and output that is published by several at the same time."""

import uuid
from dataclasses import dataclass, field
from pathlib import Path

from corpusmill import storage
from corpusmill.engine.plan.plan import Publisher, RunPlan
from corpusmill.store import owned
from corpusmill.store.output import OutputFolder
from corpusmill.store.run_folder import OUTPUT, RunFolder
from corpusmill.store.units import Results


def publish(plan: RunPlan, output: OutputFolder, results: dict[str, Results]) -> None:
    """Give what the writers of a plan have written its lasting names."""
    for stage in plan.stages:
        if isinstance(stage.work, Publisher):
            stage.work.publish(stage.name, output, results)


def names_of(plan: RunPlan, run: RunFolder, results: dict[str, Results]) -> set[str]:
    """The names of all that `publish` makes, below the folder of output."""
    names = _Names(run)
    publish(plan, names, results)
    return names.names


@dataclass(frozen=True)
class _Names(OutputFolder):
    """Notes what is published, and publishes nothing."""

    names: set[str] = field(default_factory=set, compare=False)

    def publish(self, relative: str, folder: str, name: str) -> None:
        self.names.add(f"{folder}/{name}")

    def write(self, folder: str, name: str, content: bytes) -> None:
        self.names.add(f"{folder}/{name}")

    def make_folder(self, folder: str) -> None:
        pass


@dataclass(frozen=True)
class Republished(OutputFolder):
    """The same output, of which every file is replaced in one step by the one of the same name: who publishes what
    another one has published before, or is publishing, leaves no moment without it.

    names   of all that was written, below the folder of output
    """

    names: set[str] = field(default_factory=set, compare=False)

    def publish(self, relative: str, folder: str, name: str) -> None:
        target = self._noted(folder, name)
        if not self.run.is_local:
            storage.copy(self.run.name_of(relative), target)
            return
        if Path(target).exists() and Path(target).samefile(self.run.name_of(relative)):
            return
        draft = str(Path(target).with_name(f"{storage.TEMPORARY}{uuid.uuid4().hex}"))
        storage.copy(self.run.name_of(relative), draft)
        storage.move(draft, target)
        storage.remove(draft)  # which stays if both are names of one file already

    def write(self, folder: str, name: str, content: bytes) -> None:
        storage.write_atomic(self._noted(folder, name), content)

    def remove_others(self) -> None:
        """Remove output of this run that is not of this recipe: one before it has left it."""
        owned.remove_written(self.run.place, OUTPUT, {f"{OUTPUT}/{name}" for name in self.names})

    def _noted(self, folder: str, name: str) -> str:
        self.names.add(f"{folder}/{name}")
        return self.run.output(f"{folder}/{name}")
