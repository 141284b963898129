"""Measures too dear to take of every document, of a random sample of the input and of the output: language, personal
data, toxicity.

The texts are those that the run left: of a kept document, the output; of a dropped one, the text that came to the step
that dropped it. So the input is sampled after the steps that cleaned or redacted it. The models are those that ship.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.models.language import Identifier
from corpusmill.models.toxicity import Rater
from corpusmill.report import samples
from corpusmill.report.tables import RunTables
from corpusmill.steps.personal_data import NAMED, count_of, find
from corpusmill.steps.redact.pii import without_own

SAMPLE_PER_SIDE = 1000  # documents of a side
MEASURED_AT_ONCE = 100  # of them measured at a time
TOXIC_SCORE = 0.5  # score
MAX_NAMED_LANGUAGES = 8  # that are named


@dataclass(frozen=True)
class Share:
    """So many of `of` documents; `sampled`: these are a random sample of more."""

    count: int
    of: int
    sampled: bool = True

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's at 95 %; the share itself where everything was looked at."""
        return wilson(self.value, self.of) if self.sampled and self.of else (self.value, self.value)

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "documents": self.count,
            "of": self.of,
            "sampled": self.sampled,
            "share": round(self.value, 6),
            "interval": [round(low, 6), round(high, 6)],
        }


def wilson(share: float, of: float) -> tuple[float, float]:
    """The interval at 95 % of a share that was measured on so many (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    >>> low, high = wilson(0.1, 100)
    >>> round(low, 3), round(high, 3)
    (0.055, 0.174)
    """
    z = 1.959964
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of**2)) / (1 + z * z / of)
    return max(middle - half, 0.0), min(middle + half, 1.0)


Compared = Mapping[str, tuple[Share, Share]]  # what -> input, output


@dataclass(frozen=True)
class Sampled:
    """Shares of the documents of the input and of the output.

    languages    by language, the most frequent in the input first, and "others"
    personal     documents with each kind of personal data. Where a step of the recipe counts a kind, the input is all
                 documents that came to it, as it found them
    found        kind -> pieces of personal data that the recipe's steps found, all documents together
    toxicity     documents with a score of TOXIC or more, and with a word of the list
    """

    sample: "TextSample"
    languages: Compared
    personal: Compared
    found: Mapping[str, int]
    toxicity: Compared

    def to_json(self) -> dict[str, Any]:
        parts = {"languages": self.languages, "personal_data": self.personal, "toxicity": self.toxicity}
        shares = {
            name: {group: {"input": a.to_json(), "output": b.to_json()} for group, (a, b) in part.items()}
            for name, part in parts.items()
        }
        return {**shares, "personal_data_found": dict(self.found)}


@dataclass(frozen=True)
class TextSample:
    """Texts of a random sample of each side, and how many documents the sides have."""

    texts: Mapping[str, pa.LargeStringArray]
    documents: Mapping[str, int]

    def share(self, side: str, hits: pa.Array) -> Share:
        count = len(self.texts[side])
        return Share(pc.sum(hits.cast(pa.int64())).as_py() or 0, count, count < self.documents[side])


def sampled(tables: RunTables) -> Sampled | None:
    """None if the run had no documents, or no texts are stored of a random sample of them."""
    sample = draw(tables)
    if not len(sample.texts["input"]):
        return None
    steps = tuple(tables.steps.values())
    measured = {side: measure(texts, steps) for side, texts in sample.texts.items()}

    def compared(column: str) -> tuple[Share, Share]:
        return (sample.share("input", measured["input"][column]), sample.share("output", measured["output"][column]))

    recipe_shares, pieces = _counted_by_recipe(tables)
    # Not credentials, a loose match; nor postal addresses, most of which are of offices, unless a step looks for them.
    kinds = (kind for kind in NAMED if kind != "credential" and (kind != "address" or kind in recipe_shares))
    personal = {kind: compared(kind) for kind in kinds}
    personal = {kind: (recipe_shares.get(kind, before), after) for kind, (before, after) in personal.items()}
    return Sampled(
        sample,
        _languages(sample, {side: columns["language"] for side, columns in measured.items()}),
        {kind: pair for kind, pair in personal.items() if pair[0].count or pair[1].count or kind in recipe_shares},
        pieces,
        {f"score of {TOXIC_SCORE:g} or more": compared("toxic"), "a word of the list": compared("words")},
    )


def draw(tables: RunTables) -> TextSample:
    """The documents with the smallest ids, which are hashes."""
    flow = tables.files.waterfall()
    texts = {side: samples.texts(tables, pass_tables, SAMPLE_PER_SIDE) for side, pass_tables in sides(tables).items()}
    failed = sum(row.failed for row in flow.rows)
    return TextSample(texts, {"input": flow.documents_in - failed, "output": flow.documents_out})


def sides(tables: RunTables) -> dict[str, list[tuple[str, int]]]:
    """side -> the tables that its documents are in."""
    output = [("docs", len(tables.passes) - 1)]
    dropped = [("dropped", number) for number in range(len(tables.passes))]
    return {"input": [*output, *dropped], "output": output}


def measure(texts: pa.LargeStringArray, steps: Iterable[object] = ()) -> dict[str, pa.Array]:
    """language (string), and whether each text is toxic, has words of the list, has personal data of each kind.

    steps   of the recipe: what they put in place of personal data is none
    """
    own = tuple(steps)
    parts = [
        _measure_some(texts.slice(start, MEASURED_AT_ONCE), own)
        for start in range(0, max(len(texts), 1), MEASURED_AT_ONCE)
    ]
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}


def _measure_some(texts: pa.LargeStringArray, steps: Iterable[object]) -> dict[str, pa.Array]:
    rated = Rater().columns(texts, False)
    personal = find(without_own(texts, steps), NAMED, True).columns(False)
    columns = {
        "language": pc.fill_null(Identifier().columns(texts)["label"], "none"),
        "toxic": pc.fill_null(pc.greater_equal(rated["score"].cast(pa.float64()), TOXIC_SCORE), False),
        "words": pc.greater(rated["found"], 0),
    }
    return columns | {kind: pc.greater(personal[count_of(kind)], 0) for kind in NAMED}


def _languages(sample: TextSample, labels: Mapping[str, pa.Array]) -> Compared:
    counts = {
        side: {entry["values"]: entry["counts"] for entry in pc.value_counts(column).to_pylist()}
        for side, column in labels.items()
    }
    all_languages = counts["input"].keys() | counts["output"].keys()
    ordered = sorted(all_languages, key=lambda name: (-counts["input"].get(name, 0), name))
    shown, others = ordered[:MAX_NAMED_LANGUAGES], ordered[MAX_NAMED_LANGUAGES:]
    by_language = {name: [counts[side].get(name, 0) for side in ("input", "output")] for name in shown}
    if others:
        by_language[f"{len(others)} others"] = [
            sum(counts[side].get(n, 0) for n in others) for side in ("input", "output")
        ]
    sizes = [(len(sample.texts[side]), len(sample.texts[side]) < sample.documents[side]) for side in sample.texts]
    return {name: (Share(before, *sizes[0]), Share(after, *sizes[1])) for name, (before, after) in by_language.items()}


def _counted_by_recipe(tables: RunTables) -> tuple[dict[str, Share], dict[str, int]]:
    """What the recipe's own steps counted: kind -> documents that came to the first step that counts the kind, and
    those with it; kind -> pieces found by that step. Nothing of a pass that has saved no signals of dropped
    documents."""
    shares: dict[str, Share] = {}
    pieces: dict[str, int] = {}
    for number, (stage, labels) in enumerate(tables.passes):
        counted = tables.files.facts(stage).get("personal", {})
        for label in (label for label in labels if label in counted and tables.files.measure_dropped(number) != "none"):
            documents = counted[label]["documents"]
            for kind in (*NAMED, "person", "place"):
                if kind not in pieces and count_of(kind) in counted[label]:
                    holding, pieces[kind] = counted[label][count_of(kind)]
                    if kind in NAMED:
                        shares[kind] = Share(holding, documents, sampled=False)
    return shares, pieces
