"""Sources and domains that near deduplication has left nearly nothing of."""

from dataclasses import dataclass

from corpusmill.report.numbers import number, share
from corpusmill.report.tables import RunTables
from corpusmill.steps.corpus import EMPTIED, EMPTIED_LEAST


@dataclass(frozen=True)
class EmptiedFigure:
    """A source or a domain.

    kind           "source" or "domain"
    documents_in   that came to the step
    dropped        those that it dropped
    """

    step: str
    kind: str
    name: str
    documents_in: int
    dropped: int


def emptied(tables: RunTables) -> list[EmptiedFigure]:
    """Sources first, in the order of their names, then domains, those that lost most first."""
    figures = []
    for row in tables.files.waterfall().rows:
        facts = tables.files.facts(f"{row.step}-emptied")
        if "emptied" not in facts:
            continue
        for name, flow in row.sources.items():
            documents_in = flow["documents_in"] - flow.get("passed_through", 0)
            dropped = flow["documents_in"] - flow["documents_out"]
            if dropped >= EMPTIED_LEAST and dropped > EMPTIED * documents_in:
                figures.append(EmptiedFigure(row.step, "source", name, documents_in, dropped))
        domains = sorted(facts["emptied"].items(), key=lambda item: (-item[1][1], item[0]))
        figures += [EmptiedFigure(row.step, "domain", name, *counts) for name, counts in domains]
    return figures


def warnings(tables: RunTables) -> list[str]:
    """A sentence for each."""
    return [
        f"{step.step} drops {share(step.dropped, step.documents_in)} of the documents of {step.kind} {step.name} as "
        f"near-duplicates ({number(step.dropped)} of {number(step.documents_in)}): check the pairs in the report"
        for step in emptied(tables)
    ]
