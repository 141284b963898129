"""Pairs of rules that drop the same documents: one of two that always agree could be left out."""

from corpusmill.report.figures.together import MAX_COMBINATIONS, MAX_RULE_PAIRS, together
from corpusmill.report.html.markup import Inside, parted, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    pairs = together(tables, MAX_RULE_PAIRS)
    if not pairs:
        return []
    head = ["first rule", "second rule", "fail both", "fail first", "fail second", "share of the rarer rule"]
    rows = [
        [*map(parted, pair.rules), *map(number, (pair.both, pair.one, pair.other)), f"{100 * pair.of_fewer:.1f} %"]
        for pair in pairs
    ]
    words = (
        "Dropped documents that fail both rules, of one pass, as far as was measured after they were dropped "
        f"(run.measure_dropped), in the {number(MAX_COMBINATIONS)} most frequent combinations of rules. Documents that "
        "an earlier step drops are counted too, which a rule's own card above leaves out; empty ones are in neither. "
        "At 100 %, the rarer rule drops nothing that the other one does not."
    )
    return [table(head, rows, words=(0, 1)), tag("p", words, class_="note")]
