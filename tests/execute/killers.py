"""Steps and a reader that end their worker. In a module of its own, because workers import it."""

import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from corpusmill.read import jsonl
from corpusmill.store.units import Resources


def end(how: str) -> None:
    if how == "segfault":
        ctypes.string_at(0)
    elif how == "exit":
        os._exit(3)
    elif how == "memory":
        raise MemoryError
    elif how == "raise":
        raise KeyError("odd")
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class Kills:
    """Ends its worker at documents with a mark, as the word behind it says; where `times` is given, so many times in
    all, counted in the file."""

    needs: ClassVar[tuple[str, ...]] = ()
    times: int | None = None
    counter: str = ""

    def reasons(self, docs, signals):
        for text in docs["text"].to_pylist():
            how = text.split()[-1] if "KILLER" in text else ""
            if how == "crowd":  # memory is enough for each document alone
                how = "memory" if len(docs) > 1 else ""
            if how and self._again():
                end(how)
        return pa.nulls(len(docs), pa.string())

    def _again(self):
        if self.times is None:
            return True
        with Path(self.counter).open("a") as file:
            file.write("x")
            return file.tell() <= self.times


@dataclass(frozen=True, kw_only=True)
class Extracts:
    """Changes no document, and is taken for what extracts texts."""

    extracts: ClassVar[bool] = True

    def transform(self, docs):
        return docs


@dataclass(frozen=True, kw_only=True)
class OnGpu:
    """Keeps every document, and asks for a GPU."""

    needs: ClassVar[tuple[str, ...]] = ()
    own_pass: ClassVar[Resources] = Resources(accelerators=1.0)

    def reasons(self, docs, signals):
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True, kw_only=True)
class Reader(jsonl.JsonlReader):
    """JSON lines; marked ones end the worker that reads them."""

    def read(self, piece, source, counts):
        def lines(*given, **named):
            for position, line in real(*given, **named):
                if b"KILLER" in bytes(line):
                    end(bytes(line).split()[-1].strip(b'"}').decode())
                yield position, line

        name = "lines"
        real = getattr(jsonl, name)
        setattr(jsonl, name, lines)
        try:
            yield from super().read(piece, source, counts)
        finally:
            setattr(jsonl, name, real)
