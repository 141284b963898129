"""What a pass is made of: the pieces that it reads, the corpus steps whose verdicts it takes, and those that its keys
are for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.read import FilePiece
from corpusmill.steps import CorpusStep
from corpusmill.steps.keys import VERDICT, Keys, laid_out
from corpusmill.store.unit_io import UnitIO
from corpusmill.text.buckets import scatter


@dataclass(frozen=True)
class SourcePieces:
    """Pieces of one source: input of a unit of the first pass. `source` is its number in the recipe."""

    source: int
    pieces: tuple[FilePiece, ...]


@dataclass(frozen=True)
class InputPieces:
    """What a unit of the first pass reads, in order."""

    sources: tuple[SourcePieces, ...]


@dataclass(frozen=True)
class KeyRequest:
    """A corpus step that follows a pass.

    partitions_per_band   partitions that each band of its keys is cut into
    description           the step as far as its keys depend on it: a change of the rest leaves the pass as it is
    only                  the sources that the step is for; None: all. Documents of others get no keys
    """

    label: str
    step: CorpusStep
    partitions_per_band: int
    description: Mapping[str, Any]
    only: tuple[str, ...] | None = None

    def identity(self) -> Any:
        """Partitions do not count: files whose bands are cut differently can be read together."""
        return [self.label, {**self.description, **_only_entry(self.only)}]


@dataclass(frozen=True)
class VerdictSource:
    """A corpus step whose verdicts a pass takes: its label, the stage that wrote them, the sources that it is for."""

    label: str
    step: CorpusStep
    stage: str
    only: tuple[str, ...] | None = None

    def identity(self) -> Any:
        """What the pass does with verdicts; what they are is the content of its units."""
        step = self.step
        columns = [[field.name, str(field.type)] for field in step.verdict]
        about = {"columns": columns, "defaults": dict(step.default_signals), "cuts": step.cuts}
        return [self.label, {**about, **_only_entry(self.only)}]

    @property
    def signals(self) -> dict[str, pa.DataType]:
        """The columns that the step leaves."""
        own = {
            f"{self.label}.{field.name}": field.type for field in self.step.verdict if field.name not in VERDICT.names
        }
        return {f"{self.label}.bytes_before": pa.int64(), **own} if self.step.cuts else own


def _only_entry(only: tuple[str, ...] | None) -> dict[str, list[str]]:
    return {} if only is None else {"only": list(only)}


def write_keys(io: UnitIO, request: KeyRequest, batches: list[tuple[Keys, int]]) -> None:
    """`batches` are keys and how many documents they are of."""
    first = np.cumsum([0, *(documents for _, documents in batches)])
    bands = np.concatenate([keys.bands for keys, _ in batches])
    partitions = request.partitions_per_band
    offsets, sorted_keys, row = scatter(bands, partitions)
    template, _ = batches[0]
    payload = {name: np.concatenate([keys.payload[name] for keys, _ in batches])[row] for name in template.payload}
    if template.documents is not None:
        rows = [keys.documents + base for (keys, _), base in zip(batches, first) if keys.documents is not None]
        row = np.concatenate(rows).astype(np.uint32)[row]
    arrays = {name: np.concatenate([keys.arrays[name] for keys, _ in batches]) for name in template.arrays}
    names = np.frombuffer(",".join(payload).encode(), np.uint8)
    documents, output = int(first[-1]), f"keys-{request.label}"
    header = {"partitions": np.array([partitions]), "offsets": offsets, "payload": names}
    keyed = laid_out(sorted_keys, row, template.short, documents)
    io.write_arrays(output, documents, **header, **keyed, **payload, **arrays)
    io.notes[output] = len(sorted_keys)
