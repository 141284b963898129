"""An object store for several processes: a folder of this machine, without anything that object stores do not have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from corpusmill.storage import others
from corpusmill.store.run_folder import RunFolder


class SharedStore(LocalFileSystem):  # type: ignore[misc]
    """`shared:///folder/key` is the file /folder/key. Files are created once by O_EXCL."""

    protocol = ("shared",)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + str(path).removeprefix("shared://").strip("/")

    def unstrip_protocol(self, name: str) -> str:
        return f"shared://{self._strip_protocol(name)}"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        file = Path(self._strip_protocol(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb" if mode == "create" else "wb") as handle:
            handle.write(value)

    def put_file(self, lpath: str, rpath: str, *args: Any, **kwargs: Any) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def get_file(self, rpath: str, lpath: str, *args: Any, **kwargs: Any) -> None:
        Path(lpath).write_bytes(Path(self._strip_protocol(rpath)).read_bytes())

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        self.pipe_file(path2, Path(self._strip_protocol(path1)).read_bytes())


@dataclass(frozen=True)
class SharedRun(RunFolder):
    """A run in such a store: whoever is sent one knows the store."""


def register() -> None:
    fsspec.register_implementation("shared", SharedStore, clobber=True)
    others.CREATES_ONCE.add("shared")


register()
