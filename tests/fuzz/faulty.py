"""Targets that fail, to see that it is noticed: `FUZZ_MODULES=faulty python -m fuzz dies`."""

import os
from pathlib import Path
from random import Random
from typing import Any

from fuzz.case import MEMORY, Files


class Faulty:
    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, base: Path) -> None: ...

    def plain(self) -> list[Files]:
        return []

    def make(self, random: Random) -> Files:
        return {"case": b"input"}

    def check(self, folder: Path) -> str:
        if self.name == "raises":
            print(1 // (len((folder / "case").read_bytes()) - 5))
        if self.name == "dies":
            os.abort() if os.name == "nt" else os.kill(os.getpid(), 9)
        if self.name == "grows":
            print(len(b"\1" * (MEMORY + (1 << 24))))
        return "right"


def targets() -> list[Any]:
    return [Faulty(name) for name in ("raises", "dies", "grows", "works")]
