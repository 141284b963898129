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
    found = []
    for row in tables.files.waterfall().rows:
        facts = tables.files.facts(f"{row.step}-emptied")
        if "emptied" not in facts:
            continue
        for name, flow in row.sources.items():
            came = flow["documents_in"] - flow.get("passed_through", 0)
            dropped = flow["documents_in"] - flow["documents_out"]
            if dropped >= EMPTIED_LEAST and dropped > EMPTIED * came:
                found.append(EmptiedFigure(row.step, "source", name, came, dropped))
        domains = sorted(facts["emptied"].items(), key=lambda item: (-item[1][1], item[0]))
        found += [EmptiedFigure(row.step, "domain", name, *counts) for name, counts in domains]
    return found


def warnings(tables: RunTables) -> list[str]:
    """A sentence for each."""
    return [
        f"{one.step} drops {share(one.dropped, one.documents_in)} of the documents of {one.kind} {one.name} as "
        f"near-duplicates ({number(one.dropped)} of {number(one.documents_in)}): look at pairs of them in the report"
        for one in emptied(tables)
    ]
