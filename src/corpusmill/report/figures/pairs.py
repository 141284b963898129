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
    similarities           of all pairs
    least_similar          some of them with their texts, see `samples.pairs`
    remarks                what the step says about its parameters
    """

    step: str
    candidates: int | None
    verified: int | None
    similarities: Histogram | None
    least_similar: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...] = ()

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
        if shown := samples.pairs(tables, step, n):
            facts = tables.files.facts(f"{step}-verdicts")
            compared = facts.get("candidates"), facts.get("verified")
            said = tuple(remark for label, remark in tables.remarks if label == step)
            figures.append(Pairs(step, *compared, histograms.similarities(tables, step), tuple(shown), said))
    return figures
