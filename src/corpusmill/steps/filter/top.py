from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.corpus import Everything, after, is_present, key_files, pass_units, single_unit
from corpusmill.steps.keys import VERDICT, Keys, KeyStage
from corpusmill.steps.ranks import SIDES, RankLine, Run, line_at, opened, ordered, run_of, weight
from corpusmill.steps.verdict_tables import UnitRange
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.work import Stage


@dataclass(frozen=True, kw_only=True)
class Top:
    """Keep the best part of the corpus by a signal, such as the best tenth by a quality score.

    Documents are taken from the highest value down (`lowest=True`: from the lowest up) until the next one would be
    beyond `keep`. The bound is exact. Of equal values the earlier document is taken first; documents without a value
    come last. The run records the value of the last document that is kept (`bound`), as a threshold for other data.

    Source: Li et al. 2024 (DCLM), arXiv:2406.11794, section 4.4, keeps a tenth of the pages
    """

    verdict: ClassVar[pa.Schema] = VERDICT
    default_signals: ClassVar[Mapping[str, Any]] = {}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1
    key_parameters: ClassVar[tuple[str, ...]] = ("by", "weight_by")

    by: str = "quality.score"  # the signal that ranks documents
    keep: float = 0.1  # share that is kept, 0 to 1
    weight_by: Literal["documents", "bytes"] = "documents"  # what the share is a share of
    lowest: bool = False  # keep the lowest values instead

    def __post_init__(self) -> None:
        if "." not in self.by:
            raise RecipeError(f'by is a signal of an earlier step, as in "quality.score", got "{self.by}"')
        if not 0 < self.keep <= 1:
            raise RecipeError(f"keep is a share above 0 and up to 1, got {self.keep}")
        if self.weight_by not in ("documents", "bytes"):
            raise RecipeError(f'weight_by is "documents" or "bytes", got "{self.weight_by}"')

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.by,)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        value = pc.cast(signals[self.by], pa.float64()).to_numpy(zero_copy_only=False)
        size = pc.fill_null(pc.binary_length(docs["text"]), 0).to_numpy(zero_copy_only=False)
        weight = size if self.weight_by == "bytes" else np.ones(len(docs))
        none = np.empty((len(docs), 0), np.uint64)
        return Keys(none, {"value": value, "weight": weight.astype(np.int64)})

    def stages(self, keys: KeyStage) -> list[Stage]:
        ranks, cut = f"{keys.label}-ranks", f"{keys.label}-cut"

        judge = TopVerdicts(keys, cut, self.lowest)
        return [
            Stage(ranks, TopRanks(keys, self.lowest), after(keys), pass_units(keys)),
            Stage(cut, TopCut(ranks, self.keep, self.lowest), (ranks,), single_unit((ranks, "ranks"))),
            Stage(f"{keys.label}-verdicts", judge, after(keys, cut), pass_units(keys, (cut, "line"))),
        ]


def worth(value: NDArray[np.float64], lowest: bool) -> NDArray[np.uint64]:
    """(documents,) smaller for those that are taken before others."""
    return ordered(value if lowest else -value)


def value_of(key: int, lowest: bool) -> float:
    """The value that is worth this; NaN of those that come last."""
    bits = key & ~(1 << 63) if key >> 63 else ~key & ((1 << 64) - 1)
    value = float(np.array([bits], np.uint64).view(np.float64)[0])
    return float("nan") if value == float("inf") else (value if lowest else -value) + 0.0


@dataclass(frozen=True)
class TopRanks:
    """Some neighbouring units, sorted: see `ranks`."""

    keys: KeyStage
    lowest: bool

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        keys, documents, weights = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number in files.own_files(inputs):
            arrays = io.arrays(files.keys[number])
            rows = np.flatnonzero(is_present(files, io, number))
            keys.append(worth(arrays["value"][rows], self.lowest))
            documents.append(rows + files.starts[number])
            weights.append(arrays["weight"][rows])
        run = run_of(np.concatenate(keys), np.concatenate(documents), np.concatenate(weights))
        io.write_arrays("ranks", len(run["documents"]), **run)


@dataclass(frozen=True)
class TopCut:
    """The output `line` says before which document the line is drawn, (1,) `key` and `document`: see `ranks`."""

    ranks: str
    keep: float
    lowest: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        runs = [partial(io.arrays, path) for path in io.results(self.ranks)["ranks"].paths.to_pylist()]
        # A share that is meant to be whole, as 0.1 of 30, must not miss a document by the last bit.
        line = line_at(runs, self.keep * weight(runs) * (1 + 1e-12))
        io.write_arrays("line", 0, key=np.array([line.key], np.uint64), document=np.array([line.document]))
        last = [run["keys"][end - 1] for run in opened(runs) if (end := places_before(run, line))]
        if last:
            io.facts["bound"] = value_of(int(max(last)), self.lowest)


def places_before(run: Run, line: RankLine) -> int:
    """How many documents of a file come before a line."""
    first, stop = (int(np.searchsorted(run["keys"], np.uint64(line.key), side)) for side in SIDES)
    return first + int(np.searchsorted(run["documents"][first:stop], line.document))


@dataclass(frozen=True)
class TopVerdicts:
    keys: KeyStage
    cut: str
    lowest: bool

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        arrays = io.arrays(io.results(self.cut)["line"].path(0))
        line = RankLine(int(arrays["key"][0]), int(arrays["document"][0]))
        verdicts = files.verdict_writer(inputs, io, VERDICT)
        for number in files.own_files(inputs):
            value = np.asarray(io.arrays(files.keys[number])["value"])
            documents = np.arange(len(value)) + files.starts[number]
            dropped = ~line.before(worth(value, self.lowest), documents) & is_present(files, io, number)
            rows = documents[dropped]
            verdicts.write(rows, [pa.array(["keep"] * len(rows), pa.string())])
        verdicts.close()
