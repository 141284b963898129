"""Pairs of rules that drop the same documents: one of two that always agree could be left out."""

from corpusmill.report.figures.together import COMBINATIONS, PAIRS, together
from corpusmill.report.html.markup import Inside, parted, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    found = together(tables, PAIRS)
    if not found:
        return []
    head = ["rule", "and", "fail both", "fail the one", "fail the other", "of the rarer rule"]
    rows = [
        [*map(parted, one.rules), number(one.both), number(one.one), number(one.other), f"{100 * one.of_fewer:.1f} %"]
        for one in found
    ]
    words = (
        "Dropped documents by pairs of rules that they fail, in the same pass, as far as was measured after they were "
        f"dropped (run.measure_dropped), in the {number(COMBINATIONS)} most frequent combinations of rules. At 100 % "
        "of the rarer rule, it drops nothing that the other one does not."
    )
    return [table(head, rows, words=(0, 1)), tag("p", words, class_="note")]
