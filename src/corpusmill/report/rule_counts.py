"""How many documents fail each rule of a run."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables
from corpusmill.store.facts import Facts


@dataclass(frozen=True)
class RuleCount:
    """Of the documents that a step drops: how many fail the rule first, how many fail it, and how many fail no other
    rule of the whole pass, so that they would be kept without it: None where later steps did not measure them."""

    first: int
    all: int
    alone: int | None


def rule_counts(tables: RunTables) -> dict[str, RuleCount]:
    """`step.rule` -> how many of the documents that reached the step fail it."""
    counts: dict[str, RuleCount] = {}
    for number, (stage, _) in enumerate(tables.passes):
        counted = tables.files.facts(stage).get("rules")
        if counted is None:  # units of earlier versions did not count
            counted = counted_in_rows(tables, number)
        to_the_end = tables.files.measure_dropped(number) == "all"
        for reason in sorted(counted):
            first, failing, alone = counted[reason]
            counts[reason] = RuleCount(first, failing, alone if to_the_end else None)
    return counts


def counted_in_rows(tables: RunTables, number: int) -> Facts:
    """What the units of a pass count as `rules` (`engine.pass_facts`), from its rows."""
    # There are few combinations of reasons, and many documents: the strings are taken apart once per combination.
    combinations = (
        f"SELECT reasons, dropped_by, count(*) AS n FROM ({tables.table('signals', number)}) "
        "WHERE dropped_by IS NOT NULL GROUP BY ALL"
    )
    query = (
        "SELECT reason, coalesce(sum(n) FILTER (reason = split_part(reasons, ',', 1)), 0)::BIGINT AS first, "
        'sum(n)::BIGINT AS "all", coalesce(sum(n) FILTER (reason = reasons), 0)::BIGINT AS alone '
        f"FROM (SELECT unnest(string_split(reasons, ',')) AS reason, reasons, dropped_by, n FROM ({combinations})) "
        "WHERE split_part(reason, '.', 1) = dropped_by GROUP BY reason ORDER BY reason"
    )
    return {reason: counts for reason, *counts in tables.tuples(query)}


def reasons(tables: RunTables) -> list[str]:
    """All reasons for which documents were dropped, as `step.rule`, the most frequent first."""
    counts = rule_counts(tables)
    return sorted((r for r in counts if counts[r].first), key=lambda reason: (-counts[reason].first, reason))
