from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.keys import VERDICT, Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._records import Files, after, files_of, fingerprint, gone_documents
from corpusmill.units import Committed, Stage, Unit, UnitIO


@dataclass(frozen=True, kw_only=True)
class Top:
    """Keep the best part of the corpus by a signal, such as the best tenth by a quality score.

    `keep` is a share of the documents that come to the step, or of their bytes with `of: bytes`: documents are taken from
    the highest value down (`lowest: true`: from the lowest up) until the next one would be beyond it. The bound is exact,
    not estimated from a sample. Of equal values the earlier document is taken first, so the result does not depend on
    how the work was split; documents without a value come last. The value of the last document that stays is among the
    facts of the run (`bound`), for a run on another part of the data with a fixed threshold.

    Source: a tenth of the pages by a fastText classifier: Li et al. 2024 (DCLM), arXiv:2406.11794, section 4.4
    """

    verdict: ClassVar[pa.Schema] = VERDICT
    otherwise: ClassVar[Mapping[str, Any]] = {}
    keyed_by: ClassVar[tuple[str, ...]] = ("by", "of")

    by: str = "quality.score"
    keep: float = 0.1
    of: Literal["documents", "bytes"] = "documents"
    lowest: bool = False

    def __post_init__(self) -> None:
        if "." not in self.by:
            raise RecipeError(f'by is a signal of an earlier step, as in "quality.score", got "{self.by}"')
        if not 0 < self.keep <= 1:
            raise RecipeError(f"keep is a share above 0 and up to 1, got {self.keep}")
        if self.of not in ("documents", "bytes"):
            raise RecipeError(f'of is "documents" or "bytes", got "{self.of}"')

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.by,)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        value = pc.cast(signals[self.by], pa.float64()).to_numpy(zero_copy_only=False)
        size = pc.fill_null(pc.binary_length(docs["text"]), 0).to_numpy(zero_copy_only=False)
        weight = size if self.of == "bytes" else np.ones(len(docs))
        none = np.empty((len(docs), 0), np.uint64)
        return Keys(none, {"value": value, "weight": weight.astype(np.int64)})

    def stages(self, signed: Signed) -> list[Stage]:
        def one_unit(done: Committed, root: Path) -> list[Unit]:
            return [Unit(0, (files_of(signed, done),))]

        work = Decide(self.keep, self.lowest)
        name = f"{signed.label}-verdicts"
        return [Stage(name, fingerprint(signed, "decide"), work, after(signed), one_unit)]


@dataclass(frozen=True)
class Decide:
    """Unit inputs: files."""

    keep: float
    lowest: bool

    def run(self, unit: Unit, io: UnitIO) -> None:
        files = Files(*unit.inputs[0])
        parts = [io.arrays(path) for path in files.keys]
        value = np.concatenate([part["value"] for part in parts])
        weight = np.concatenate([part["weight"] for part in parts])
        there = np.ones(len(value), bool)
        there[gone_documents(files, io)] = False
        documents = np.flatnonzero(there)
        worth = value[documents] if self.lowest else -value[documents]
        order = documents[np.argsort(np.where(np.isnan(worth), np.inf, worth), kind="stable")]
        taken = np.cumsum(weight[order])
        total = int(taken[-1]) if len(taken) else 0
        # A share that is meant to be whole, as 0.1 of 30, must not miss a document by the last bit.
        stays = int(np.searchsorted(taken, self.keep * total * (1 + 1e-12), "right"))
        drops = np.sort(order[stays:])
        if stays:
            io.facts["bound"] = float(value[order[stays - 1]])
        io.write(
            "verdicts",
            pa.record_batch([pa.array(drops), pa.array(["keep"] * len(drops), pa.string())], schema=VERDICT),
        )
