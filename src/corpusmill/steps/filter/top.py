from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.keys import VERDICT, Keys, KeyStage
from corpusmill.steps import Columns
from corpusmill.steps.corpus import Everything, VerdictWriter, after, dropped_documents, key_files, keys_content
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Stage


@dataclass(frozen=True, kw_only=True)
class Top:
    """Keep the best part of the corpus by a signal, such as the best tenth by a quality score.

    `keep` is a share of the step's input documents, or of their bytes with `weight_by: bytes`: documents are taken from
    the highest value down (`lowest: true`: from the lowest up) until the next one would be beyond it. The bound is
    exact, not estimated from a sample. Of equal values the earlier document is taken first, so the result does not
    depend on how the work was split; documents without a value come last. The value of the last document that is kept
    is among the facts of the run (`bound`), for a run on another part of the data with a fixed threshold.

    Source: a tenth of the pages by a fastText classifier: Li et al. 2024 (DCLM), arXiv:2406.11794, section 4.4
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
        work = TopVerdicts(keys, self.keep, self.lowest)
        return [Stage(f"{keys.label}-verdicts", work, after(keys), partial(one_unit, keys))]


def one_unit(keys: KeyStage, upstream: Upstream) -> list[Planned]:
    return [Planned(Everything(), keys_content(keys, upstream))]


@dataclass(frozen=True)
class TopVerdicts:
    keys: KeyStage
    keep: float
    lowest: bool

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        parts = [io.arrays(path) for path in files.keys]
        value = np.concatenate([part["value"] for part in parts])
        weight = np.concatenate([part["weight"] for part in parts])
        present = np.ones(len(value), bool)
        present[dropped_documents(files, io)] = False
        documents = np.flatnonzero(present)
        worth = value[documents] if self.lowest else -value[documents]
        order = documents[np.argsort(np.where(np.isnan(worth), np.inf, worth), kind="stable")]
        taken = np.cumsum(weight[order])
        total = int(taken[-1]) if len(taken) else 0
        # A share that is meant to be whole, as 0.1 of 30, must not miss a document by the last bit.
        kept = int(np.searchsorted(taken, self.keep * total * (1 + 1e-12), "right"))
        drops = np.sort(order[kept:])
        if kept:
            io.facts["bound"] = float(value[order[kept - 1]])
        verdicts = VerdictWriter(io, files.own_starts, VERDICT)
        verdicts.write(drops, [pa.array(["keep"] * len(drops), pa.string())])
        verdicts.close()
