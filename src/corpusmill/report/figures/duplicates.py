"""What each dedup step found, and what two of them both found.

A dropped document never reaches later steps. So the overlap of two steps is known only if the first one marks
(`mark: true`) or cuts: the recipe compare-dedup marks with all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.engine.work.pass_facts import FLAGGED
from corpusmill.report.numbers import number, share, size
from corpusmill.report.tables import RunTables, identifier
from corpusmill.store.facts import Facts

FLAG_CONDITIONS = {signal: "{} IS NOT NULL" if signal == "duplicate_of" else "{} > 0" for signal in FLAGGED}


@dataclass(frozen=True)
class DedupStep:
    """What a step found.

    documents_in   input documents of sources that it is for
    documents      of these, those that are duplicates, or hold repeats
    dropped        those that it dropped
    bytes          of `documents`; of the repeats alone, if the step records them; None if it records no bytes
    both           other step -> documents in which it also found something
    """

    step: str
    documents_in: int
    documents: int
    dropped: int
    bytes: int | None
    both: dict[str, int]


def dedup_table(steps: Sequence[DedupStep]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the same on the page and in the terminal."""
    head = ["step", "documents in", "with duplicates", "share", "dropped", "bytes"]
    head += [f"also found by {step.step}" for step in steps]
    rows = [
        [
            step.step,
            number(step.documents_in),
            number(step.documents),
            share(step.documents, step.documents_in),
            number(step.dropped),
            "–" if step.bytes is None else size(step.bytes),
            *("" if other_step.step == step.step else number(step.both[other_step.step]) for other_step in steps),
        ]
        for step in steps
    ]
    return head, rows


def dedup_steps(tables: RunTables) -> list[DedupStep]:
    """Every dedup step of a run, in order."""
    counted = {
        step: (number, facts)
        for number, (stage, labels) in enumerate(tables.passes)
        for step, facts in tables.files.facts(stage).get("duplicates", {}).items()
        if step in labels
    }
    order = [step for step in tables.labels if step in counted]
    return [_figure(tables, step, counted, order) for step in order]


def _figure(tables: RunTables, step: str, counted: dict[str, tuple[int, Facts]], order: list[str]) -> DedupStep:
    number, facts = counted[step]
    others = [other_step for other_step in order if other_step != step]
    both = {
        other_step: facts["both"][other_step]
        if counted[other_step][0] == number
        else _across(tables, step, other_step, counted)
        for other_step in others
    }
    duplicate_bytes = facts["bytes"] if f"{step}.passages" not in tables.columns(number) else None
    return DedupStep(step, facts["documents_in"], facts["documents"], facts["dropped"], duplicate_bytes, both)


def _across(tables: RunTables, step: str, other_step: str, counted: dict[str, tuple[int, Facts]]) -> int:
    """Documents in which two steps of different passes found something: these are looked up by their ids."""
    first_ids, second_ids = (
        f"SELECT id FROM ({tables.table('signals', counted[name][0])}) WHERE {_flag(tables, counted[name][0], name)}"
        for name in (step, other_step)
    )
    return int(tables.tuples(f"SELECT count(*) FROM ({first_ids}) JOIN ({second_ids}) USING (id)")[0][0])


def _flag(tables: RunTables, number: int, step: str) -> str:
    columns = tables.columns(number)
    signal = next(signal for signal in FLAGGED if f"{step}.{signal}" in columns)
    return FLAG_CONDITIONS[signal].format(identifier(f"{step}.{signal}"))
