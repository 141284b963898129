"""Output that is published by several, one after the other or at the same time."""

import uuid
from dataclasses import dataclass, field
from pathlib import Path

from corpusmill import storage
from corpusmill.run_folder import OUTPUT, RunFolder


@dataclass(frozen=True)
class Republished(RunFolder):
    """The same run, of whose output every file is replaced in one step by the one of the same name: who publishes what
    another one has published before, or is publishing, leaves no moment without it.

    names   of all that was written, below the folder of output
    """

    names: set[str] = field(default_factory=set, compare=False)

    def publish(self, relative: str, folder: str, name: str) -> None:
        target = self._noted(folder, name)
        if not self.is_local:
            storage.copy(self.name_of(relative), target)
            return
        if Path(target).exists() and Path(target).samefile(self.name_of(relative)):
            return
        draft = str(Path(target).with_name(f"{storage.TEMPORARY}{uuid.uuid4().hex}"))
        storage.copy(self.name_of(relative), draft)
        storage.move(draft, target)
        storage.remove(draft)  # which stays if both are names of one file already

    def write_output(self, folder: str, name: str, content: bytes) -> None:
        storage.write_atomic(self._noted(folder, name), content)

    def remove_others(self) -> None:
        """Remove output that is not of this run: it was left by one of another recipe."""
        for name in self._there():
            if name not in self.names:
                storage.remove(self.output(name))
        folders = {name.partition("/")[0] for name in self.names}
        for folder in self.outputs():
            if folder not in folders:
                storage.remove_tree(self.output(folder))

    def _there(self) -> list[str]:
        """All files of output, but those that are being written."""
        place = self.name_of(OUTPUT)
        if not self.is_local:
            return list(storage.list_tree(place))
        files = (path for path in Path(place).rglob("*") if path.is_file())
        return [path.relative_to(place).as_posix() for path in files if not path.name.startswith(storage.TEMPORARY)]

    def _noted(self, folder: str, name: str) -> str:
        self.names.add(f"{folder}/{name}")
        return self.output(f"{folder}/{name}")
