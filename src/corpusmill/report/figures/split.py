"""What a run keeps back for validation."""

from dataclasses import dataclass

from corpusmill.engine.work.split import BY, SPLIT
from corpusmill.report.numbers import number, plural, share, size
from corpusmill.report.tables import RunTables
from corpusmill.shards.layout import SPLITS

SPLIT_HEAD = ("split", "documents", "share", "text", "share", "tokens")


@dataclass(frozen=True)
class SplitSide:
    """One side of a split.

    documents   by source
    bytes       of text
    tokens      those of documents that a mix draws again counted again; None where the run counts none
    """

    name: str
    documents: dict[str, int]
    bytes: int
    tokens: int | None

    @property
    def count(self) -> int:
        return sum(self.documents.values())


def split_sides(tables: RunTables) -> list[SplitSide]:
    """Both sides, that for training first; none where the recipe does not split."""
    if SPLIT not in tables.files.stages:
        return []
    facts = tables.files.facts(SPLIT).get(SPLIT, {})
    sides = []
    for name in SPLITS:
        sources = {source: about["documents"] for source, about in sorted(facts.get(name, {}).items())}
        amount = sum(about["bytes"] for about in facts.get(name, {}).values())
        tokens = tables.files.facts(f"{SPLIT}-{name}").get("tokens")
        sides.append(SplitSide(name, sources, amount, tokens))
    return sides


def split_by(tables: RunTables) -> str | None:
    """What is on one side: "document", "domain" or "cluster"; None where the recipe does not split."""
    stage = tables.files.stages.get(SPLIT)
    return str(stage.notes[BY][0]) if stage and BY in stage.notes else None


def split_table(sides: list[SplitSide]) -> list[list[str]]:
    """A row for each side, as SPLIT_HEAD names them."""
    documents, amount = sum(side.count for side in sides), sum(side.bytes for side in sides)
    return [
        [
            side.name,
            number(side.count),
            share(side.count, documents),
            size(side.bytes),
            share(side.bytes, amount),
            "–" if side.tokens is None else number(side.tokens),
        ]
        for side in sides
    ]


def warnings(tables: RunTables) -> list[str]:
    """A sentence where nothing is on one side."""
    sides = split_sides(tables)
    empty = [side.name for side in sides if not side.count]
    if not empty or len(empty) == len(sides):
        return []
    by = split_by(tables)
    total = plural(sum(side.count for side in sides), "document")
    units = f", which `by: {by}` keeps together" if by != "document" else ""
    return [f"the split gives none of {total} to {empty[0]}{units}: give `validation` another share"]
