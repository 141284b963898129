"""What texts were like as they came in and as they went out: how long, and how many of them damaged.

Counted in the first and the last pass over every document (`engine.text_facts`), so nothing is read again. The input
of a page is its text as the extractor left it; documents that a step failed on are on neither side.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpusmill.engine.work.text_facts import COUNTED, FACTS
from corpusmill.report.bins import Histogram
from corpusmill.report.figures.lengths import LENGTH_EDGES, Length, length, lengths_of
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.store.facts import total
from corpusmill.text.integrity import INTEGRITY_FLAGS

TEXT_SIDES = ("input", "output")
LENGTH_UNITS = {"chars": "characters", "words": "words"}
# Of the text as it left the last pass that the document reached.
TOKEN_LENGTHS_OF_SIDE = {"input": "all", "output": "kept"}


@dataclass(frozen=True)
class SideTexts:
    """The documents of one side.

    lengths   unit -> how long: "characters", "words" and, with a tokenizer, "tokens", unless those of dropped documents
              were not counted
    flags     "markup", "code", "space", "encoding" -> documents; `text.integrity` says what they are
    """

    documents: int
    lengths: Mapping[str, Length]
    flags: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        lengths = {
            name: {
                "total": unit_length.total,
                "mean": round(unit_length.mean, 2),
                "median": round(unit_length.median, 1),
                "least": unit_length.least,
                "most": unit_length.most,
            }
            for name, unit_length in self.lengths.items()
        }
        return {"documents": self.documents, **lengths, "with": dict(self.flags)}


def texts(tables: RunTables) -> dict[str, SideTexts] | None:
    """side -> its documents. None of a run by a version that did not count them."""
    stages = {"input": tables.passes[0][0], "output": tables.passes[-1][0]} if tables.passes else {}
    facts = {side: tables.files.facts(stage).get(FACTS, {}).get(side) for side, stage in stages.items()}
    if not facts.get("input"):
        return None
    tokens = lengths_of(tables, "tokens")
    sides = {}
    for side in TEXT_SIDES:
        counts = total((facts[side] or {}).values())
        notes = tables.files.stages[stages[side]].notes.get(f"{FACTS}_{side}", ())
        ends = np.array([[int(part) for part in note.split(",")] for note in notes if note], np.int64).reshape(-1, 4)
        lengths = {}
        for i, name in enumerate(COUNTED):
            by = {int(at): times for at, times in counts.get(f"{name}_by", {}).items()}
            minimum, maximum = (int(ends[:, 2 * i].min()), int(ends[:, 2 * i + 1].max())) if len(ends) else (0, 0)
            lengths[LENGTH_UNITS[name]] = length(counts.get("documents", 0), counts.get(name, 0), by, minimum, maximum)
        complete = side == "output" or tables.files.waterfall().counts_all_tokens
        if complete and tokens and tokens[TOKEN_LENGTHS_OF_SIDE[side]].documents:
            lengths["tokens"] = tokens[TOKEN_LENGTHS_OF_SIDE[side]]
        sides[side] = SideTexts(
            counts.get("documents", 0), lengths, {name: counts.get(name, 0) for name in INTEGRITY_FLAGS}
        )
    return sides


def lengths_table(sides: Mapping[str, SideTexts]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    rows = []
    for side in TEXT_SIDES:
        for unit, unit_length in sides[side].lengths.items():
            ends = (number(unit_length.least), number(unit_length.most)) if sides[side].documents else ("–", "–")
            mean, median = f"{unit_length.mean:,.1f}", number(unit_length.median)
            rows.append([f"{unit}, {side}", number(unit_length.total), mean, median, *ends])
    return ["per document", "in all", "mean", "median", "minimum", "maximum"], rows


def histogram(sides: Mapping[str, SideTexts], unit: str) -> Histogram | None:
    """The documents of both sides by length; None if there are none."""
    counts = {side: sides[side].lengths[unit].histogram for side in TEXT_SIDES if unit in sides[side].lengths}
    if not any(map(sum, counts.values())):
        return None
    maximum = max(sides[side].lengths[unit].most for side in counts)
    return Histogram(LENGTH_EDGES, counts, True, maximum).trimmed()
