"""What a run writes for others: output under lasting names, files of the data card, and what is pushed to a hub.

`owned` records each of these files before it is there, so that the run replaces and removes nothing else.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from corpusmill import storage
from corpusmill.store import owned
from corpusmill.store.run_folder import FINISHED, HUB, OUTPUT, RunFolder


@dataclass(frozen=True)
class OutputFolder:
    """The output of a run, to be written. `RunFolder.outputs` and the like read it."""

    run: RunFolder

    def remove(self) -> None:
        """Remove what the run has published. Raises RefusedFolder if other files are among it."""
        self.run.refuse_other_output()
        self.run.noted_output.clear()
        storage.remove(self.run.name_of(FINISHED))
        owned.remove_written(self.run.place, OUTPUT)
        self.expect(())

    def remove_folder(self, folder: str) -> None:
        """Remove what the run has published in one folder of output."""
        others = [name for name in self.run.has_published() if not name.startswith(f"{folder}/")]
        owned.remove_written(self.run.place, OUTPUT, [f"{OUTPUT}/{name}" for name in others])
        self.expect(others)

    def expect(self, names: Iterable[str]) -> None:
        """Record the files of output, by their names below it, that there are to be from now on."""
        owned.note_written(self.run.place, OUTPUT, dict.fromkeys(f"{OUTPUT}/{name}" for name in names))

    def publish(self, relative: str, folder: str, name: str) -> None:
        """Give an output of a unit a lasting name in a folder of output."""
        self._note(f"{folder}/{name}")
        storage.copy(self.run.name_of(relative), self.run.name_of(f"{OUTPUT}/{folder}/{name}"))

    def _note(self, name: str) -> None:
        if not self.run.is_local:
            self.run.noted_output.add(name)

    def write(self, folder: str, name: str, content: bytes) -> None:
        """Write a small file, an index, into a folder of output."""
        self._note(f"{folder}/{name}")
        storage.write_atomic(self.run.name_of(f"{OUTPUT}/{folder}/{name}"), content)

    def make_folder(self, folder: str) -> None:
        storage.make_dir(self.run.name_of(f"{OUTPUT}/{folder}"))


def is_card_file(run: RunFolder, name: str) -> bool:
    """Whether the file is not there, or is as the run has written it."""
    path = run.name_of(name)
    if not storage.exists(path):
        return True
    return owned.written_files(run.place).get(name) == hashlib.sha256(storage.read_bytes(path)).hexdigest()


def write_card_file(run: RunFolder, name: str, content: str) -> None:
    storage.write_atomic(run.name_of(name), content.encode())
    cards = {card: digest for card, digest in owned.written_files(run.place).items() if "/" not in card}
    owned.note_written(run.place, "", cards | {name: hashlib.sha256(content.encode()).hexdigest()})


def empty_hub(run: RunFolder) -> None:
    """Remove what an earlier push has put into HUB. Raises RefusedFolder if other files are there."""
    own = owned.written_files(run.place)
    strangers = [name for name in owned.files_below(run.place, HUB) if name not in own]
    why = f"{HUB}/ has files that no push has put there. Move them elsewhere. They are"
    owned.refuse(run.place, strangers, why)
    owned.remove_written(run.place, HUB)


def will_push(run: RunFolder, names: Iterable[str]) -> tuple[str, ...]:
    """Record the files of HUB, by their names below it, that there are to be; returns them, sorted."""
    files = tuple(sorted(names))
    owned.note_written(run.place, HUB, dict.fromkeys(f"{HUB}/{name}" for name in files))
    return files


def has_pushed(run: RunFolder) -> list[str]:
    return [name.partition("/")[2] for name in owned.written_files(run.place) if name.startswith(f"{HUB}/")]
