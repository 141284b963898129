"""Why documents were dropped: by each step, by each of its rules."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from corpusmill.recipe.names import labels
from corpusmill.report import histograms, samples
from corpusmill.report.bins import Histogram
from corpusmill.report.rule_counts import RuleCount, rule_counts
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import WaterfallRow
from corpusmill.steps.describe import summary
from corpusmill.steps.verdict import Bound


@dataclass(frozen=True)
class DroppingRule:
    """A rule that dropped documents.

    bound      None if it is not a signal compared with a threshold
    values     its signal among all documents that reached the step, None without a bound
    examples   documents that were dropped by this rule first
    """

    rule: str
    count: RuleCount
    bound: Bound | None
    values: Histogram | None
    examples: tuple[samples.Document, ...]


@dataclass(frozen=True)
class Step:
    """A step that dropped documents.

    documents_in  input documents of sources that it is for
    summary       what the step does, in a sentence; empty if the step cannot be imported from here
    rules         the most frequent first
    never_first   other rules that its documents fail -> how many do
    """

    step: str
    summary: str
    documents_in: int
    dropped: int
    rules: tuple[DroppingRule, ...]
    never_first: Mapping[str, int]


def reasons(tables: RunTables, examples: int) -> list[Step]:
    """Every step of a finished run that dropped documents, in order.

    examples   documents per rule
    """
    counts, drawn = rule_counts(tables), samples.examples(tables, examples)
    values = histograms.signals(
        tables, [reason for reason in tables.bounds if reason in counts and counts[reason].first]
    )
    summaries = _summaries(tables)

    def rule(step: str, name: str) -> DroppingRule:
        reason = f"{step}.{name}"
        shown = tuple(drawn.get(reason, ()))
        return DroppingRule(name, counts[reason], tables.bounds.get(reason), values.get(reason), shown)

    def step(row: WaterfallRow) -> Step:
        late = {
            reason.partition(".")[2]: count.all
            for reason, count in counts.items()
            if reason.startswith(f"{row.step}.") and not count.first
        }
        return Step(
            row.step,
            summaries.get(row.step, ""),
            row.documents_in - row.passed_through,
            sum(row.reasons.values()),
            tuple(rule(row.step, name) for name in row.reasons),
            dict(sorted(late.items(), key=lambda item: (-item[1], item[0]))),
        )

    return [step(row) for row in tables.files.waterfall().rows if sum(row.reasons.values())]


def _summaries(tables: RunTables) -> dict[str, str]:
    """label -> what the step does, in a sentence; empty if one of the steps cannot be made here."""
    if not tables.bounds:
        return {}
    steps = tables.files.recipe.steps
    return {label: summary(inspect.cleandoc(type(step).__doc__ or "")) for label, step in zip(labels(steps), steps)}
