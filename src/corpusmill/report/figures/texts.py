"""What texts were like as they came in and as they went out: how long, and how many of them damaged.

Counted in the first and the last pass over every document (`engine.text_facts`), so nothing is read again. The input
of a page is its text as the extractor left it; documents that a step failed on are on neither side.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.engine.text_facts import COUNTED, FACTS, LENGTHS, PER_OCTAVE
from corpusmill.facts import Facts, total
from corpusmill.report.bins import Histogram
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.text.integrity import FLAGS

SIDES = ("input", "output")
NAMES = {"chars": "characters", "words": "words", "tokens": "tokens"}


@dataclass(frozen=True)
class Length:
    """How long the documents of one side are in one unit.

    median      of tokens exact; of characters and words interpolated in bins of an eighth of an octave, so at most 9 %
                off and mostly below 1 %
    histogram   bin -> documents, by the edges of `EDGES`
    """

    total: int
    mean: float
    median: float
    least: int
    most: int
    histogram: tuple[int, ...]


@dataclass(frozen=True)
class Texts:
    """The documents of one side.

    lengths   unit -> how long: "characters", "words" and, with a tokenizer, "tokens", unless those of dropped documents
              were not counted
    flags     "markup", "code", "space", "encoding" -> documents; `text.integrity` says what they are
    """

    documents: int
    lengths: Mapping[str, Length]
    flags: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        lengths = {name: asdict(length) for name, length in self.lengths.items()}
        for length in lengths.values():
            del length["histogram"]
            length |= {"mean": round(length["mean"], 2), "median": round(length["median"], 1)}
        return {"documents": self.documents, **lengths, "with": dict(self.flags)}


# For charts: half octaves. Each is an edge of LENGTHS too, so that no bin is split.
EDGES = np.unique(np.concatenate([LENGTHS[LENGTHS < 4], LENGTHS[LENGTHS >= 4][:: PER_OCTAVE // 2]]))


def texts(tables: RunTables) -> dict[str, Texts] | None:
    """side -> its documents. None of a run by a version that did not count them."""
    stages = {"input": tables.passes[0][0], "output": tables.passes[-1][0]} if tables.passes else {}
    facts = {side: tables.files.facts(stage).get(FACTS, {}).get(side) for side, stage in stages.items()}
    if not facts.get("input"):
        return None
    tokens = _tokens(tables)
    found = {}
    for side in SIDES:
        counts = total((facts[side] or {}).values())
        notes = tables.files.stages[stages[side]].notes.get(f"{FACTS}_{side}", ())
        ends = np.array([[int(part) for part in note.split(",")] for note in notes if note], np.int64).reshape(-1, 4)
        lengths = {
            NAMES[name]: _length(counts, name, ends[:, 2 * i], ends[:, 2 * i + 1]) for i, name in enumerate(COUNTED)
        }
        if tokens[side] and (side == "output" or tables.files.waterfall().counts_all_tokens):
            lengths["tokens"] = _exact(tokens[side])
        found[side] = Texts(counts.get("documents", 0), lengths, {name: counts.get(name, 0) for name in FLAGS})
    return found


def lengths_table(sides: Mapping[str, Texts]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    rows = []
    for side in SIDES:
        for unit, one in sides[side].lengths.items():
            ends = (number(one.least), number(one.most)) if sides[side].documents else ("–", "–")
            rows.append([f"{unit}, {side}", number(one.total), f"{one.mean:,.1f}", number(one.median), *ends])
    return ["per document", "in all", "mean", "median", "minimum", "maximum"], rows


def histogram(sides: Mapping[str, Texts], unit: str) -> Histogram | None:
    """The documents of both sides by length; None if there are none."""
    counts = {side: sides[side].lengths[unit].histogram for side in SIDES if unit in sides[side].lengths}
    if not any(map(sum, counts.values())):
        return None
    most = max(sides[side].lengths[unit].most for side in counts)
    last = 2.0 * float(EDGES[-1])
    return Histogram((*EDGES.astype(float).tolist(), last), counts, True, most).trimmed()


def _length(counts: Facts, name: str, least: NDArray[np.int64], most: NDArray[np.int64]) -> Length:
    documents = counts.get("documents", 0)
    by = {int(at): times for at, times in counts.get(f"{name}_by", {}).items()}
    ends = (int(least.min()), int(most.max())) if len(least) else (0, 0)
    return Length(
        counts.get(name, 0),
        counts.get(name, 0) / max(documents, 1),
        _median(by, *ends),
        *ends,
        _in_edges({int(LENGTHS[at]): times for at, times in by.items()}),
    )


def _exact(lengths: Mapping[int, int]) -> Length:
    documents, whole = sum(lengths.values()), sum(length * times for length, times in lengths.items())
    values = np.array(sorted(lengths))
    up_to = np.cumsum([lengths[value] for value in values.tolist()])
    middle = values[np.searchsorted(up_to, [(documents - 1) // 2, documents // 2], "right")]
    return Length(whole, whole / documents, float(middle.mean()), int(values[0]), int(values[-1]), _in_edges(lengths))


def _median(by: Mapping[int, int], least: int, most: int) -> float:
    """The median of values of which the bins are known: within its bin they are taken to be spread evenly."""
    middle = sum(by.values()) / 2
    below = 0
    for at in sorted(by):
        if below + by[at] >= middle:
            low = max(int(LENGTHS[at]), least)
            high = min(int(LENGTHS[at + 1]) - 1, most) if at + 1 < len(LENGTHS) else most
            return low + (high - low) * (middle - below) / by[at]
        below += by[at]
    return 0.0


def _in_edges(lengths: Mapping[int, int]) -> tuple[int, ...]:
    place = np.searchsorted(EDGES, np.array(list(lengths), np.int64), "right") - 1
    counts = np.zeros(len(EDGES), np.int64)
    np.add.at(counts, place, list(lengths.values()))
    return tuple(counts.tolist())


def _tokens(tables: RunTables) -> dict[str, dict[int, int]]:
    """side -> tokens -> documents: tokens of the text as it left the last pass that the document reached, or as it was
    dropped."""
    found: dict[str, dict[int, int]] = {side: {} for side in SIDES}
    last = len(tables.passes) - 1
    for at in range(len(tables.passes)):
        kept = "dropped_by IS NULL"
        wanted = "true" if at == last else f"NOT ({kept})"
        query = (
            f"SELECT tokens, count(*), count(*) FILTER ({kept}) FROM ({tables.table('signals', at)}) "
            f"WHERE tokens IS NOT NULL AND {wanted} GROUP BY 1"
        )
        for length, documents, output in tables.tuples(query):
            found["input"][length] = found["input"].get(length, 0) + documents
            if output:
                found["output"][length] = found["output"].get(length, 0) + output
    return found
