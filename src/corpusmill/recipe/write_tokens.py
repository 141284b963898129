"""Token ids of whole documents, written in shards."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpusmill.shards.plan import plan_shards
from corpusmill.sums import sha256
from corpusmill.units import Commit, Unit, UnitIO, map_arrays
from corpusmill.write import DocumentTokens, TokenWriter


@dataclass(frozen=True)
class WriteTokens:
    """The documents of one shard, by a writer of tokens. Unit inputs: extents of the files of tokens that hold them."""

    writer: TokenWriter

    def units(self, tokens: list[Commit], root: Path) -> list[Unit]:
        """A unit for each shard, from the token counts of all documents."""
        lengths = [map_arrays(root / commit.outputs["tokens"].path)["lengths"] for commit in tokens]
        # Rows of one token keep documents whole where they start, and need no padding.
        plan = plan_shards(lengths, "best_fit", 1, self.writer.tokens_per_shard)
        return [
            Unit(shard.number, tuple((tokens[e.unit].outputs["tokens"].path, e) for e in shard.extents))
            for shard in plan.shards
        ]

    def run(self, unit: Unit, io: UnitIO) -> None:
        files = {suffix: io.path(f"tokens{suffix}", suffix) for suffix in self.writer.suffixes}
        written = self.writer.write_tokens(_parts(unit, io), files)
        io.facts["documents"] = written.rows
        io.facts["sha256"] = {f"{unit.number:05d}{suffix}": sha256(path) for suffix, path in files.items()}
        if written.entry:
            io.facts["entries"] = {str(unit.number): dict(written.entry)}


def _parts(unit: Unit, io: UnitIO) -> Iterator[DocumentTokens]:
    for path, extent in unit.inputs:
        arrays = io.arrays(path)
        ids = arrays["ids"][extent.first_token : extent.stop_token]
        yield DocumentTokens(ids, arrays["lengths"][extent.first_document : extent.stop_document])
