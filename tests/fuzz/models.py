"""Files of models, changed at random: each is refused with an AssetError that names it, or it is applied to texts."""

import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from fuzz.case import Files, Wrong
from fuzz.mutate import JSON, NUMBERS, mutated, replaced

IN_JSON = [
    *(value for value in NUMBERS if value.isascii() and value.isdigit()),
    *JSON[:8],
    '"x"',
    "-1",
    "1.5",
    "[]",
    "{}",
]
EDGES = (0, 1, 2, 5, 127, 1 << 16, (1 << 31) - 1, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)


def plain(data: bytes) -> bytes:
    return data


class Models:
    """Kernels and libraries that trust what they are given, behind a reader that must not."""

    name = "models"

    def prepare(self, base: Path) -> None:
        from made_models import model_files, use

        self.use = use
        self.seeds = model_files()

    def plain(self) -> list[Files]:
        return [{**files, "kind.txt": kind.encode()} for kind, models in self.seeds.items() for files in models]

    def make(self, random: Random) -> Files:
        kind = random.choice([*self.seeds])
        files = dict(random.choice(self.seeds[kind]))
        name = random.choice([*files])
        pack: Callable[[bytes], bytes] = plain
        data = files[name]
        if name.endswith(".gz"):
            data, pack = gzip.decompress(data), gzip.compress
        elif name.endswith(".wide") and random.random() < 0.7:
            card, data = data.split(b"\n", 1)
            data, pack = lzma.decompress(data), lambda changed: card + b"\n" + lzma.compress(changed)
        if random.random() < 0.1:  # the packing is damaged, and not what it holds
            data, pack = files[name], plain
        for _ in range(random.choice((1, 1, 2, 4))):
            data = self.changed(random, kind, data)
        files[name] = pack(data)
        return {**files, "kind.txt": kind.encode()}

    def changed(self, random: Random, kind: str, data: bytes) -> bytes:
        how = random.random()
        if how < 0.4:  # a number of the head, or of JSON
            pattern = r"[:\[,=] ?(-?[\d.]+|true|false|null|\"[^\"\n]{0,20}\")"
            return replaced(random, data, pattern, IN_JSON)
        if how < 0.7 and len(data) > 8:
            size = random.choice((4, 8))
            at = random.randrange(min(len(data) - size, random.choice((120, 400, 1 << 30))) + 1)
            number = random.choice(EDGES) & ((1 << 8 * size) - 1)
            return data[:at] + number.to_bytes(size, "little") + data[at + size :]
        if how < 0.75 and len(data) > 4:  # infinite, or no number
            at = random.randrange(len(data) - 3)
            return data[:at] + struct.pack("<f", random.choice((float("inf"), float("nan"), 3e38))) + data[at + 4 :]
        return mutated(random, data, [*(seed for files in self.seeds[kind] for seed in files.values())])

    def check(self, folder: Path) -> str:
        from corpusmill.errors import AssetError, RecipeError

        kind = (folder / "kind.txt").read_text()
        try:
            self.use(kind, folder)
        except (AssetError, RecipeError) as error:
            if str(folder) not in str(error):
                raise Wrong(f"the message names no file: {error}") from error
            if len(str(error)) > 5000:
                raise Wrong(f"a message of {len(str(error))} characters") from error
            return "refused"
        return "right"


def targets() -> list[Any]:
    return [Models()]
