"""What drops each document of a pass, in the run and with the changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import CorpusmillError, InputError, RecipeError
from corpusmill.report.tables import ORIGIN_COLUMNS
from corpusmill.report.what_if.saved import Codes, Saved, coded
from corpusmill.steps import Transform, needs_of
from corpusmill.steps.verdict import rules_of


class RejudgedVerdicts:
    """What drops each document, as the code of a reason: 0 of a kept document.

    labels   the steps of the pass, in order
    judges   those of them that are changed
    all_measured
             whether dropped documents were measured to the end of the pass
    """

    def __init__(self, labels: Sequence[str], judges: Sequence["Judge"], all_measured: bool = True) -> None:
        self.labels = labels
        self.judges = judges
        self.all_measured = all_measured
        self._firsts = Codes()  # `step.rule` that drops a document
        self._answers = [Codes() for _ in judges]  # the reasons that each judge gives
        self._combinations = Codes()  # of reasons in the run
        self._by_combination = np.empty((4 + len(judges), 0), np.int64)  # (numbers of _about, combinations)

    @property
    def reasons(self) -> Sequence[str | None]:
        """The reason of each code."""
        return self._firsts.names

    def compare(self, saved: Saved) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(documents,) the first reason in the run, and with the changes.

        Raises InputError if the saved columns cannot answer, or a step judges otherwise than it did in the run; where
        not all is measured, too, if the changes let a document pass the step that dropped it.
        """
        code, combinations = saved.coded("reasons")
        row = np.array([self._combinations[reasons] for reasons in combinations], np.int64)[code]
        # Documents share few combinations of reasons: each is taken apart once, in whatever unit it occurs first.
        new = [self._about(reasons) for reasons in self._combinations.names[self._by_combination.shape[1] :]]
        self._by_combination = np.hstack(
            [self._by_combination, np.array(new, np.int64).reshape(-1, len(self._by_combination)).T]
        )
        before, dropped_at, drops_at, after, *then = (column[row] for column in self._by_combination)
        for judge, codes, judged in zip(self.judges, self._answers, then):
            judge.check_measured(saved)
            judge.check(saved, judged, codes)
            code, values = coded(judge.reasons(judge.after, saved))
            first = [self._firsts[f"{judge.label}.{v.partition(',')[0]}" if v else None] for v in values]
            own = np.array(first, np.int64)[code]
            earlier = (own != 0) & (judge.index <= drops_at)  # its own reasons come before that a text is empty
            drops_at[earlier], after[earlier] = judge.index, own[earlier]
        if not self.all_measured and (drops_at > dropped_at).any():
            row_passed = int(np.argmax(drops_at > dropped_at))
            raise InputError(
                f"this run measured dropped documents only up to the step that dropped them. With these thresholds "
                f"{self.labels[dropped_at[row_passed]]} would pass documents that it dropped, such as "
                f"{saved.read('id')[row_passed]}, which later steps have not measured: run again with --set "
                f"run.measure_dropped=all. Stricter thresholds can be tried without a run."
            )
        return before, after

    def _about(self, reasons: str | None) -> list[int]:
        """Of the reasons in the run: the first, and the index of its step; the index of the first step that drops the
        document whatever the judges decide, and its reason; the reasons that each judge gave."""
        was = _by_step(reasons)
        unchanged = was | {judge.label: _unjudged(judge, was) for judge in self.judges}
        dropped_at, drops_at = (
            next((at for at, label in enumerate(self.labels) if by_step.get(label)), len(self.labels))
            for by_step in (was, unchanged)
        )
        answers = [codes[",".join(_judged(judge, was)) or None] for judge, codes in zip(self.judges, self._answers)]
        return [self._first(was), dropped_at, drops_at, self._first(unchanged), *answers]

    def _first(self, by_step: Mapping[str, Sequence[str]]) -> int:
        first = (f"{label}.{by_step[label][0]}" for label in self.labels if by_step.get(label))
        return self._firsts[next(first, None)]


@dataclass(frozen=True)
class Judge:
    """A changed step: its label and place in the pass, as it was and as it would be.

    only   the sources that it is for; None: all
    until  the labels of the step and of those that follow it, if it has not measured what an earlier one dropped
    """

    label: str
    index: int
    before: Any
    after: Any
    only: Sequence[str] | None = None
    until: Sequence[str] | None = None

    def reasons(self, step: Any, saved: Saved) -> pa.Array:
        """(documents,) the reasons that a step gives by the saved columns; null of documents that it is not for. Raises
        InputError if it needs more than these."""
        rows = self.rows(saved)
        documents = pa.RecordBatch.from_arrays([pa.nulls(saved.rows if rows is None else len(rows))], names=[""])
        try:
            reasons = step.reasons(documents, StepSignals(saved, self.label, self.index, needs_of(step), rows))
            return reasons if rows is None else reasons.take(_places(rows, saved.rows))
        except RecipeError:
            raise
        except CorpusmillError as error:
            raise InputError(f"{self.label}: {error}; only a run can show which documents this loses") from error
        except KeyError as error:
            raise InputError(
                f"{self.label} judges by {error}, which the run has not saved: run again. A step whose "
                f"thresholds can be tried judges by signals that its rules name, or that it writes itself."
            ) from error

    def rows(self, saved: Saved) -> pa.Array | None:
        """The documents that the step has judged; None for all."""
        chosen = None
        if self.only is not None:
            chosen = pc.is_in(saved.read("source"), pa.array(self.only, pa.string()))
        if self.until is not None:
            dropped_by = saved.read("dropped_by")
            reached = pc.or_(dropped_by.is_null(), pc.is_in(dropped_by, pa.array(self.until, pa.string())))
            chosen = reached if chosen is None else pc.and_(chosen, reached)
        return None if chosen is None else pc.indices_nonzero(chosen)

    def check(self, saved: Saved, then: NDArray[np.int64], codes: Codes) -> None:
        """Raises InputError unless the unchanged step gives the same reasons today as in the run.

        then    (documents,) the codes of its reasons in the run
        codes   of reasons
        """
        code, values = coded(self.reasons(self.before, saved))
        now = np.array([codes[value] for value in values], np.int64)[code]
        if (now != then).any():
            row = int(np.argmax(now != then))
            document = saved.read("id")[row].as_py()
            raise InputError(
                f"{self.label} gives another verdict than in the run (document {document}: {codes.names[then[row]]} "
                f"then, {codes.names[now[row]]} now): its code has changed since. Run again."
            )

    def check_measured(self, saved: Saved) -> None:
        """Raises InputError if a rule is switched on whose signal is only measured while it is on."""
        for rule in rules_of(self.before):
            was, now = getattr(self.before, rule.parameter), getattr(self.after, rule.parameter)
            if was is None and now is not None:
                column, rows = saved.read(f"{self.label}.{rule.signal}"), self.rows(saved)
                column = column if rows is None else column.take(rows)
                if len(column) and column.null_count == len(column):
                    raise InputError(
                        f"{self.label}.{rule.parameter} was off, so {self.label}.{rule.signal} was not measured: run "
                        f"again with --set steps.{self.label}.{rule.parameter}={now}"
                    )


@dataclass
class StepSignals(Mapping[str, pa.Array]):
    """The signals that a step judges by, under the names that they have for it in a pass, read when it asks for one.

    rows   the documents that it judges; None: all
    """

    saved: Saved
    label: str
    index: int
    needs: Sequence[str]
    rows: pa.Array | None = None

    def __getitem__(self, name: str) -> pa.Array:
        column = self._columns[name]
        version = self.saved.sizes.version[self.index]
        is_size = name == "bytes" and column == self.saved.sizes.columns[version]
        values = self.saved.size(version) if is_size else self.saved.read(column)
        return values if self.rows is None else values.take(self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @cached_property
    def _columns(self) -> dict[str, str]:
        """Name for the step -> saved column."""
        columns = {need: need for need in self.needs if "." in need}
        if "*" in self.needs:
            steps = {name.partition(".")[0]: None for name in self.saved.names if "." in name}
            before = set(list(steps)[: list(steps).index(self.label)] if self.label in steps else steps)
            columns |= {name: name for name in self.saved.names if name.partition(".")[0] in before}
            columns |= {name: name for name in (*ORIGIN_COLUMNS, "date")}
            columns["bytes"] = self.saved.sizes.columns[self.saved.sizes.version[self.index]]
        own = f"{self.label}."
        return columns | {name.removeprefix(own): name for name in self.saved.names if name.startswith(own)}


def _places(rows: pa.Array, documents: int) -> pa.Array:
    """(documents,) the place of each among some rows; null where it is not one of them."""
    position = np.full(documents, -1, np.int64)
    position[rows.to_numpy()] = np.arange(len(rows))
    return pa.array(position, mask=position < 0)


def _by_step(reasons: str | None) -> dict[str, list[str]]:
    """step -> rules.

    >>> _by_step("c4.min_sentences,fineweb.max_short_lines")
    {'c4': ['min_sentences'], 'fineweb': ['max_short_lines']}
    """
    by_step: dict[str, list[str]] = {}
    for reason in reasons.split(",") if reasons else ():
        step, _, rule = reason.partition(".")
        by_step.setdefault(step, []).append(rule)
    return by_step


def _unjudged(judge: Judge, by_step: Mapping[str, list[str]]) -> list[str]:
    """What a step drops for without judging: a text of which it leaves nothing."""
    return ["empty"] if isinstance(judge.before, Transform) and "empty" in by_step.get(judge.label, []) else []


def _judged(judge: Judge, by_step: Mapping[str, list[str]]) -> list[str]:
    unjudged = _unjudged(judge, by_step)
    return [rule for rule in by_step.get(judge.label, []) if rule not in unjudged]
