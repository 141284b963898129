"""What models said of the documents, of the input and of the output: perplexity, quality and other scores that a step
of the recipe measured, with the bounds that the recipe keeps documents by."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.errors import AssetError, RecipeError
from corpusmill.recipe.names import labels
from corpusmill.report.bins import Histogram
from corpusmill.report.figures.tokens import spread
from corpusmill.report.tables import RunTables, identifier
from corpusmill.steps.filter.keep_where import KeepWhere
from corpusmill.steps.filter.top import Top

SCORE_BINS = 40
# A comparison of a signal with a number, as people write it in a condition.
BETWEEN_CONDITION = re.compile(
    r"([\w-]+\.\w+)\s+BETWEEN\s+(\d[\d_.]*(?:[eE][+-]?\d+)?)\s+AND\s+(\d[\d_.]*(?:[eE][+-]?\d+)?)", re.IGNORECASE
)
NUMBER_COMPARISON = re.compile(r"([\w-]+\.\w+)\s*(<=|>=|<|>)\s*(\d[\d_.]*(?:[eE][+-]?\d+)?)(?![\w.])")


@dataclass(frozen=True)
class Score:
    """One signal.

    documents   side -> documents with a value: in the input, all that were measured
    mean        and `median` by side
    histogram   with the sides "input" and "output"; on a logarithmic axis for perplexity
    bounds      the steps that keep documents by the signal, each with the value of its bound
    looked_at   units that all this is of, spread evenly, and of how many; None if it is of all
    """

    step: str
    signal: str
    documents: Mapping[str, int]
    mean: Mapping[str, float]
    median: Mapping[str, float]
    histogram: Histogram
    bounds: tuple[tuple[str, float], ...]
    looked_at: tuple[int, int] | None

    @property
    def name(self) -> str:
        return "perplexity" if self.signal == "value" else self.signal

    def to_json(self) -> dict[str, Any]:
        sides = {
            side: {
                "documents": self.documents[side],
                "mean": float(f"{self.mean[side]:.6g}"),
                "median": float(f"{self.median[side]:.6g}"),
            }
            for side in self.documents
        }
        bounds = [{"step": step, "bound": bound} for step, bound in self.bounds]
        part = {"of_units": list(self.looked_at)} if self.looked_at else {}
        return {"step": self.step, "signal": self.signal, **sides, "bounds": bounds, **part}


def scores(tables: RunTables) -> list[Score]:
    """Every signal of perplexity or of a score, in the order of the steps. A step that identifies languages is left
    out: its score is of a label. Nor is there one of a pass that has saved no signals of dropped documents."""
    figures = []
    for number, (_, steps) in enumerate(tables.passes):
        if tables.files.measure_dropped(number) == "none":
            continue
        columns = tables.columns(number)
        for step in steps:
            signal = "value" if f"{step}.worst_window" in columns else "score"
            if f"{step}.{signal}" in columns and f"{step}.label" not in columns:
                figures.append(_score(tables, number, step, signal))
    return [score for score in figures if score]


def _score(tables: RunTables, number: int, step: str, signal: str) -> Score | None:
    value = f"p.{identifier(f'{step}.{signal}')}::DOUBLE"
    last = len(tables.passes) - 1
    count = len(tables.files.paths("signals", number))
    units = spread(count)
    source, kept_condition = f"({tables.table('signals', number, units=units)}) AS p", "p.dropped_by IS NULL"
    if number < last:
        kept_condition = "l.id IS NOT NULL"
        ids = f"SELECT id FROM ({tables.table('signals', last, units=units)}) WHERE dropped_by IS NULL"
        source += f" LEFT JOIN ({ids}) AS l ON p.id = l.id"
    values = f"SELECT {value} AS value, {kept_condition} AS kept FROM {source} WHERE isfinite({value})"
    ends = "min(value), max(value)"
    filters = ("", " FILTER (kept)")
    aggregates = (f"count(*){which}, avg(value){which}, median(value){which}" for which in filters)
    low, high, *side_values = tables.tuples(f"SELECT {ends}, {', '.join(aggregates)} FROM ({values})")[0]
    if low is None:
        return None
    log = signal == "value" and low > 0
    edges = _edges(low, high, log)
    start, width = (math.log(low), math.log(edges[1] / edges[0])) if log else (low, edges[1] - edges[0])
    offset = f"({'ln(value)' if log else 'value'} - {start!r}) / {width!r}"
    bin_sql = f"least(greatest(floor({offset}), 0), {SCORE_BINS - 1})"
    query = f"SELECT {bin_sql}::INTEGER, count(*), count(*) FILTER (kept) FROM ({values}) GROUP BY 1"
    counts = {side: [0] * SCORE_BINS for side in ("input", "output")}
    for at, documents, output in tables.tuples(query):
        counts["input"][at], counts["output"][at] = documents, output
    histogram = Histogram(edges, {side: tuple(own) for side, own in counts.items()}, log, high)
    sides = ("input", "output")
    return Score(
        step,
        signal,
        dict(zip(sides, side_values[::3])),
        {side: mean or 0.0 for side, mean in zip(sides, side_values[1::3])},
        {side: median or 0.0 for side, median in zip(sides, side_values[2::3])},
        histogram,
        tuple(_bounds(tables, f"{step}.{signal}")),
        (len(units), count) if len(units) < count else None,
    )


def _edges(low: float, high: float, log: bool) -> tuple[float, ...]:
    if log:
        ratio = max(high / low, 1.01) ** (1 / SCORE_BINS)
        return tuple(low * ratio**i for i in range(SCORE_BINS + 1))
    width = max(high - low, 1e-6) / SCORE_BINS
    return tuple(low + width * i for i in range(SCORE_BINS + 1))


def _bounds(tables: RunTables, signal: str) -> Iterator[tuple[str, float]]:
    """Where the recipe draws lines by a signal: the rules of filters, filter/top, and comparisons in filter/keep_where.
    Nothing where the recipe's own steps cannot be imported from here."""
    for reason, bound in tables.bounds.items():
        if bound.signal == signal:
            yield reason, bound.threshold
    try:
        steps = tables.files.recipe.steps
    except (RecipeError, AssetError):
        return
    for label, step in zip(labels(steps), steps):
        if isinstance(step, Top) and step.by == signal:
            facts = tables.files.facts(f"{label}-cut")
            if "bound" in facts:
                yield label, facts["bound"]
        if isinstance(step, KeepWhere):
            for rule_name, condition in step.named_conditions():
                drawn = [(name, at) for name, _, at in NUMBER_COMPARISON.findall(condition)]
                drawn += [(name, at) for name, *ends in BETWEEN_CONDITION.findall(condition) for at in ends]
                reason = f"{label}.{rule_name}" if step.conditions else label
                yield from ((reason, float(at.replace("_", ""))) for name, at in drawn if name == signal)
