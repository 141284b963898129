"""The documents of a run in two: for training, and for validation.

Sides follow from what documents hold, and not from where they are: a unit needs its own documents alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.pass_documents import BYTES, HASH, PassDocuments, unchunked
from corpusmill.engine.work.pass_results import TEXT_GROUPS, UnitOfPass
from corpusmill.engine.work.signals import signals_of_kept
from corpusmill.recipe.split import Split
from corpusmill.schema import CANARY
from corpusmill.shards.layout import SPLITS, TRAIN, VALIDATION
from corpusmill.store.facts import add
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Results
from corpusmill.store.work import PlannedUnit
from corpusmill.text.addresses import parse, pieces, sites
from corpusmill.text.hashing import hash64
from corpusmill.text.splitmix64 import chance, mix64

BY = "by"  # the note of what is on one side
SPLIT = "split"  # the stage of SplitDocuments, and its output


@dataclass(frozen=True)
class SplitDocuments:
    """Which documents of a unit are for validation.

    split     of the recipe
    seed      of the recipe
    before    the documents
    cluster   the signal that names the cluster of a document; None: not by cluster
    passes    whose signals these may be, in order

    Writes `split`: `validation`, (documents,) bool. Notes say how much text of each side is in each row group of the
    documents, as TEXT_GROUPS does of both; facts count documents and bytes by side and source.
    """

    split: Split
    seed: int
    before: PassDocuments
    cluster: str | None = None
    passes: tuple[str, ...] = ()

    @property
    def after(self) -> tuple[str, ...]:
        """The stages that it reads."""
        return tuple(dict.fromkeys((self.before.stage, *self.passes)))

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        for i in range(len(upstream.results(self.before.stage))):
            signals = (upstream.results(stage)["signals"].checksum(i) for stage in self.passes)
            yield PlannedUnit(UnitOfPass(i), (*self.before.content(upstream, i), *signals))

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        path = io.results(self.before.stage)["docs"].path(inputs.number)
        docs = io.table(path, ["id", "source", "url", HASH, BYTES])
        sources = docs["source"].to_numpy()
        keys = self._keys(docs, inputs.number, io) ^ mix64(np.array([self.seed], np.uint64))
        validation = (chance(keys) < self.split.validation) & (sources != CANARY)
        groups = io.parquet(path).metadata
        edges = np.cumsum([0, *(groups.row_group(i).num_rows for i in range(groups.num_row_groups))])
        sizes = docs[BYTES].to_numpy()
        for side in SPLITS:
            chosen = validation if side == VALIDATION else ~validation
            total = np.append(0, np.cumsum(np.where(chosen, sizes, 0)))
            io.notes[text_groups(side)] = ",".join(map(str, np.diff(total[edges]).tolist()))
            counts, amounts = Counter(sources[chosen].tolist()), Counter[str]()
            for source in counts:
                amounts[source] = int(sizes[chosen & (sources == source)].sum())
            for source, count in sorted(counts.items()):
                add(io.facts, SPLIT, side, source, "documents", count=count)
                add(io.facts, SPLIT, side, source, "bytes", count=amounts[source])
        io.notes[BY] = self.split.by
        io.write_arrays(SPLIT, len(validation), validation=validation)

    def _keys(self, docs: pa.Table, unit: int, io: UnitIO) -> NDArray[np.uint64]:
        """(documents,) numbers that are the same for documents that stay together."""
        if self.cluster is not None:
            paths = [io.results(stage)["signals"].path(unit) for stage in self.passes]
            cluster = signals_of_kept(paths, (self.cluster,), io)[self.cluster]
            return _hashed(pc.coalesce(unchunked(cluster), unchunked(docs["id"])))
        if self.split.by == "domain":
            addresses = parse(unchunked(docs["url"]))
            hosts = pieces(addresses, addresses.spans[:, :2])
            hosts = pc.if_else(pc.equal(hosts, ""), pa.scalar(None, pa.string()), hosts)
            return _hashed(pc.coalesce(sites(addresses), hosts, unchunked(docs["source"])))
        texts: NDArray[np.uint64] = docs[HASH].to_numpy()
        return texts


def _hashed(names: pa.Array) -> NDArray[np.uint64]:
    return hash64(names.cast(pa.large_string()))


def split_counts(stages: Mapping[str, Results]) -> dict[str, int]:
    """Documents of each side, by the stages of a run that splits."""
    facts = stages[SPLIT].facts.get(SPLIT, {})
    return {side: sum(about["documents"] for about in facts.get(side, {}).values()) for side in SPLITS}


def text_groups(side: str) -> str:
    """The note of the bytes of text that one side has in each row group, with commas between."""
    return f"{TEXT_GROUPS}.{side}"


@dataclass(frozen=True)
class SplitSubset:
    """One side of a split: "train" or "validation"."""

    name: str

    @property
    def is_repeated(self) -> bool:
        """Whether a mix draws its documents more than once."""
        return self.name == TRAIN

    def among(self, upstream: Upstream, unit: int) -> NDArray[np.bool_]:
        """(documents,) whether each document of a unit of the last pass is of this side."""
        return self.chosen(upstream.arrays(upstream.results(SPLIT)[SPLIT].path(unit)))

    def chosen(self, arrays: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """The same, of what the stage has written."""
        validation = arrays["validation"]
        return np.array(validation if self.name == VALIDATION else ~validation)

    def content(self, upstream: Upstream, unit: int) -> str:
        """What says which these are."""
        return upstream.results(SPLIT)[SPLIT].checksum(unit)
