"""Which rules drop the same documents."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables

MAX_COMBINATIONS = 1000  # of reasons, the most frequent of each pass, that are counted
MAX_RULE_PAIRS = 20  # that are shown


@dataclass(frozen=True)
class RulePair:
    """Two rules, as `step.rule`, of one pass.

    both         dropped documents that fail both, as far as was measured
    one, other   those that fail each
    """

    rules: tuple[str, str]
    both: int
    one: int
    other: int

    @property
    def of_fewer(self) -> float:
        """The share of the documents of the rarer rule that fail the other one too."""
        return self.both / min(self.one, self.other)


def together(tables: RunTables, n: int) -> list[RulePair]:
    """The pairs of rules of a finished run that most documents fail both of, most first: `n` at most.

    Documents that were dropped as empty are left out: without a text they fail most rules, which says nothing.
    """
    rule_pairs: list[RulePair] = []
    for number in range(len(tables.passes)):
        # There are few combinations of reasons, and many documents.
        query = (
            f"SELECT reasons, count(*) AS n FROM ({tables.table('signals', number)}) WHERE dropped_by IS NOT NULL "
            f"AND split_part(reasons, ',', 1) NOT LIKE '%.empty' GROUP BY reasons "
            f"ORDER BY n DESC, reasons LIMIT {MAX_COMBINATIONS}"
        )
        rule_counts, both = dict[str, int](), dict[tuple[str, str], int]()
        for reasons, count in tables.tuples(query):
            names = sorted(set(reasons.split(",")))
            for i, name in enumerate(names):
                rule_counts[name] = rule_counts.get(name, 0) + count
                for other_name in names[i + 1 :]:
                    both[name, other_name] = both.get((name, other_name), 0) + count
        rule_pairs += [
            RulePair(pair, count, rule_counts[pair[0]], rule_counts[pair[1]]) for pair, count in both.items()
        ]
    return sorted(rule_pairs, key=lambda pair: (-pair.both, pair.rules))[:n]
