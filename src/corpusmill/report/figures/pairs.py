"""How similar the duplicates of a step are to the documents that were kept instead."""

from dataclasses import dataclass
from typing import Any

from corpusmill.report import histograms, samples
from corpusmill.report.bins import Histogram
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class Pairs:
    """The duplicate pairs of a step.

    candidates, verified   candidate pairs that were compared, and those that are duplicates; None if the step does not
                           compare candidates
    left_out               pairs of large buckets that were not compared: with documents that are no leaders of the
                           bucket, once for each band; and with leaders, or documents that duplicates were dropped for
    similarities           of all pairs
    least_similar          some of them with their texts, see `samples.pairs`
    remarks                what the step says about its parameters
    rejected               pairs that were compared and did not pass, as `least_similar`: the most similar of a sample
    losses                 of the duplicates, those that lose nothing, up to 2 %, up to 10 % and more of their n-grams
    """

    step: str
    candidates: int | None
    verified: int | None
    left_out: tuple[int, int]
    similarities: Histogram | None
    least_similar: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...] = ()
    rejected: tuple[dict[str, Any], ...] = ()
    losses: tuple[int, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether even the least similar texts are equal."""
        return all(pair["document"]["text"] == pair["duplicate_of"]["text"] for pair in self.least_similar)


def pairs(tables: RunTables, n: int) -> list[Pairs]:
    """Every step of a run that found duplicates, in order.

    n   pairs per step whose texts are read
    """
    figures = []
    for step in tables.labels:
        shown = samples.pairs(tables, step, n)
        facts = tables.files.facts(f"{step}-decide")
        unmet = tables.files.facts(f"{step}-group").get("not_compared", 0)
        left_out = unmet, facts.get("not_verified", 0) + facts.get("not_followed", 0)
        if shown or any(left_out) or facts.get("compared"):
            compared = facts.get("compared"), facts.get("verified")
            step_remarks = tuple(remark for label, remark in tables.remarks if label == step)
            similarities = histograms.similarities(tables, step)
            rejected = tuple(samples.rejected(tables, step, n))
            figures.append(
                Pairs(
                    step, *compared, left_out, similarities, tuple(shown), step_remarks, rejected, losses(tables, step)
                )
            )
    return figures


def losses(tables: RunTables, step: str) -> tuple[int, ...]:
    counted = (tables.files.facts(stage).get("losses", {}).get(step) for stage, _ in tables.passes)
    return tuple(next(filter(None, counted), ()))
