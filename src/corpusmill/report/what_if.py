"""What would other thresholds have kept? Answered from the columns of a finished run: no text is read.

A pass measures every document with every step, the dropped ones too, so what was measured does not depend on any
threshold. The steps that are changed judge the saved columns anew; the verdicts of the others are those of the run.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import CorpusmillError, InputError, RecipeError
from corpusmill.facts import Facts, add
from corpusmill.recipe.load import KEYS, SECTIONS
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.report.rules import Bound, bounds, evidence
from corpusmill.report.tables import ORIGIN, RunTables
from corpusmill.report.waterfall import Row, rows_of
from corpusmill.steps import CorpusStep, Pack, Tokenize, Transform
from corpusmill.steps.verdict import distinct, thresholds

Kept = tuple["Amount", "Amount"]  # of the run; and with the changes


@dataclass(frozen=True)
class Change:
    """A parameter of a step, by the step's label."""

    step: str
    parameter: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Amount:
    """How much text. Bytes are those at the end of the pass; tokens are 0 where the recipe has no tokenizer."""

    documents: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.documents + other.documents, self.bytes + other.bytes, self.tokens + other.tokens)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.documents - other.documents, self.bytes - other.bytes, self.tokens - other.tokens)


@dataclass(frozen=True)
class Border:
    """A document that would move, and how near it stands to the threshold.

    newly       what it would be: "kept" or "dropped"
    reason      the first that drops it: in the run, of one that would be kept; with the changes, of one that would go
    values      what that reason is judged by
    threshold   the new one, or the old one where the rule is switched off; None if the reason has none
    """

    id: str
    source: str
    file: str
    position: int
    url: str | None
    newly: Literal["kept", "dropped"]
    reason: str
    values: Mapping[str, Any]
    threshold: float | None


@dataclass(frozen=True)
class WhatIf:
    """A pass of a run, as it was and as it would be. All counts are exact: those of a run with the changes.

    changes         what differs from the recipe of the run
    stage           the pass that the changed steps belong to; of several, the first
    before, after   the steps of the pass, as in the waterfall
    kept            what comes out of the pass
    sources         the same by source, and
    languages       by language, as the first step that finds it says; empty if none does
    newly_kept      reason that dropped them in the run -> documents that would come out
    newly_dropped   reason that would drop them -> documents that came out in the run
    border          of both, by reason, the documents nearest to the threshold
    open_steps      what stands behind the pass and depends on which documents meet: only a run can tell
    command         makes that run, in a folder of its own; the recipe is named RECIPE where the run does not know it
    """

    changes: tuple[Change, ...]
    stage: str
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    kept: Kept
    sources: Mapping[str, Kept]
    languages: Mapping[str, Kept]
    newly_kept: Mapping[str, Amount]
    newly_dropped: Mapping[str, Amount]
    border: tuple[Border, ...]
    open_steps: tuple[str, ...]
    command: str


def what_if(folder: str | PathLike[str], changes: Sequence[str], examples: int = 3) -> WhatIf:
    """What a finished run would have kept with other thresholds.

    changes    "gopher_quality.min_words=30", as for --set of `corpusmill run`, with or without "steps." before it
    examples   documents at the border, for each reason

    Raises ResumeError if the run is not finished, RecipeError if a change leads nowhere or is no value for its
    parameter, InputError if it is about more than a threshold: that needs a run.
    """
    tables = RunTables(Path(folder))
    tables.files.must_be_finished()
    settings = [setting if setting.partition(".")[0] in SECTIONS else _of_a_step(setting) for setting in changes]
    recipe = tables.files.recipe_with(settings)
    changed = differences(tables.files.recipe, recipe)
    for change, step in changed:
        _check_judges(change, step, settings)
    touched = {change.step for change, _ in changed}
    number = next((n for n, (_, own) in enumerate(tables.passes) if touched & set(own)), 0)
    stage, own = tables.passes[number]
    old, new = (dict(zip(labels(r.steps), r.steps)) for r in (tables.files.recipe, recipe))
    judges = [_Judge(label, at, old[label], new[label]) for at, label in enumerate(own) if label in touched]
    count = _Count(tables, number, old, judges, bounds(recipe), examples)
    count.add_all()
    later = [label for _, rest in tables.passes[number + 1 :] for label in rest]
    return WhatIf(
        changes=tuple(change for change, _ in changed),
        stage=stage,
        before=count.rows(0),
        after=count.rows(1),
        kept=_kept(count.kept.values()),
        sources=_grouped(count.kept, 0),
        languages=_grouped(count.kept, 1) if count.language else {},
        newly_kept=_ordered(count.newly[0]),
        newly_dropped=_ordered(count.newly[1]),
        border=count.border(),
        open_steps=tuple(later) if count.newly[0] or count.newly[1] or touched & set(later) else (),
        command=_command(tables, settings),
    )


def differences(before: Recipe, after: Recipe) -> list[tuple[Change, Any]]:
    """The parameters in which the steps of two recipes differ, which have the same steps; with the steps as they were."""
    return [
        (Change(label, name, getattr(old, name), getattr(new, name)), old)
        for label, old, new in zip(labels(before.steps), before.steps, after.steps)
        for name in old.__dataclass_fields__
        if getattr(old, name) != getattr(new, name)
    ]


def _of_a_step(setting: str) -> str:
    if setting.partition("=")[0].partition(".")[0] in KEYS:
        raise InputError(
            f"what-if asks for other thresholds of steps, as in gopher_quality.min_words=30; for {setting}, run again "
            f"with --set {setting}"
        )
    return f"steps.{setting}"


def _check_judges(change: Change, step: Any, settings: Sequence[str]) -> None:
    """Raises InputError if the change is about more than which of the measured documents are dropped."""
    if change.parameter in thresholds(step):
        return
    if isinstance(step, CorpusStep):
        what = "is about which documents are compared, and how"
    elif isinstance(step, Tokenize | Pack):
        what = "changes the tokens"
    elif isinstance(step, Transform):
        what = "changes the text"
    else:
        what = "changes what is measured"
    known = thresholds(step)
    there = f" What can be tried of {change.step} without a run: {', '.join(known)}." if known else ""
    name = f"steps.{change.step}.{change.parameter}"
    again = next((setting for setting in settings if setting.startswith(name)), f"{name}=…")
    raise InputError(
        f"{change.step}.{change.parameter} {what}, which the saved columns cannot tell: run again with "
        f"--set {again}.{there}"
    )


# ------------------------------------------------------------- judging saved columns


@dataclass(frozen=True)
class _Judge:
    """A changed step: its label and place in the pass, as it was and as it would be."""

    label: str
    index: int
    before: Any
    after: Any

    def reasons(self, step: Any, saved: "_Saved") -> pa.Array:
        """(documents,) what a step says of the saved columns. Raises InputError if it asks for more than these."""
        documents = pa.RecordBatch.from_arrays([pa.nulls(saved.rows)], names=[""])
        try:
            return step.reasons(documents, _Signals(saved, self.label, self.index, step.needs))
        except RecipeError:
            raise
        except CorpusmillError as error:
            raise InputError(f"{self.label}: {error}; only a run can tell which documents are lost by it") from error
        except KeyError as error:
            raise InputError(
                f"{self.label} judges by {error}, which the run has not saved: only a run can tell. A step whose "
                f"thresholds can be tried looks at signals that RULES name, or that it leaves itself."
            ) from error

    def check(self, saved: "_Saved", then: NDArray[np.int64], codes: "_Codes") -> None:
        """Raises InputError unless the step as it was, in the code of today, says what it said in the run.

        then    (documents,) the code of that
        codes   of what the step says
        """
        code, values = coded(self.reasons(self.before, saved))
        now = np.array([codes[value] for value in values], np.int64)[code]
        if (now != then).any():
            row = int(np.argmax(now != then))
            who = saved.read("id")[row].as_py()
            raise InputError(
                f"{self.label} does not judge as it did in the run (document {who}: {codes.names[then[row]]} then, "
                f"{codes.names[now[row]]} now): its code has changed since. Run again."
            )

    def check_measured(self, saved: "_Saved") -> None:
        """Raises InputError if a rule is switched on whose signal is only measured while it is on."""
        for rule in getattr(self.before, "RULES", ()):
            was, now = getattr(self.before, rule.parameter), getattr(self.after, rule.parameter)
            if was is None and now is not None and saved.rows:
                column = saved.read(f"{self.label}.{rule.signal}")
                if column.null_count == len(column):
                    raise InputError(
                        f"{self.label}.{rule.parameter} was off, so {self.label}.{rule.signal} was not measured: run "
                        f"again with --set steps.{self.label}.{rule.parameter}={now}"
                    )


class _Codes(dict[str | None, int]):
    """A number for each string that is asked for, None being 0: the same one for all units."""

    def __init__(self) -> None:
        super().__init__({None: 0})
        self.names: list[str | None] = [None]

    def __missing__(self, name: str) -> int:
        self.names.append(name)
        return self.setdefault(name, len(self))


class _Saved:
    """The signals of a unit, each column read when it is asked for.

    sizes   columns of bytes: the first is what step 0 sees, `version[i]` of them what step i sees, the last the end
    ahead   columns that will be asked for: read together, they take half the time
    """

    def __init__(self, path: str, sizes: Sequence[str], version: Sequence[int], ahead: Sequence[str] = ()) -> None:
        self._file = pq.ParquetFile(path, read_dictionary=["reasons"])
        self.rows: int = self._file.metadata.num_rows
        self.names: list[str] = self._file.schema_arrow.names
        self.sizes = tuple(sizes)
        self.version = tuple(version)
        self.columns: dict[str, pa.Array] = {}
        self._read(ahead)

    def read(self, name: str) -> pa.Array:
        if name not in self.columns:
            self._read([name])
        return self.columns[name]

    def _read(self, names: Sequence[str]) -> None:
        # One thread: another is at work on the unit before.
        table = self._file.read(list(names), use_threads=False)
        for name, column in zip(table.column_names, table.columns):
            self.columns[name] = pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)

    def numbers(self, name: str) -> NDArray[np.int64]:
        """(documents,) of a column of whole numbers; null is 0."""
        found: NDArray[np.int64] = pc.fill_null(self.read(name), 0).to_numpy(zero_copy_only=False)
        return found

    def coded(self, name: str) -> tuple[NDArray[np.int64], list[str | None]]:
        """(documents,) an index into the values that there are, and these."""
        return coded(self.read(name))

    def row(self, row: int, names: Sequence[str]) -> dict[str, Any]:
        """Columns of one document, of which only its row group is read."""
        ends = np.cumsum([self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)])
        group = int(np.searchsorted(ends, row, "right"))
        start = int(ends[group - 1]) if group else 0
        found: dict[str, Any] = self._file.read_row_group(group, list(names)).slice(row - start, 1).to_pylist()[0]
        return found


@dataclass
class _Signals(Mapping[str, pa.Array]):
    """What a step is given to judge by, in a pass and here alike, read when the step asks for it."""

    saved: _Saved
    label: str
    index: int
    needs: Sequence[str]

    def __getitem__(self, name: str) -> pa.Array:
        return self.saved.read(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @cached_property
    def _columns(self) -> dict[str, str]:
        """Name for the step -> saved column."""
        found = {need: need for need in self.needs if "." in need}
        if "*" in self.needs:
            steps = {name.partition(".")[0]: None for name in self.saved.names if "." in name}
            before = set(list(steps)[: list(steps).index(self.label)] if self.label in steps else steps)
            found |= {name: name for name in self.saved.names if name.partition(".")[0] in before}
            found |= {name: name for name in (*ORIGIN, "date")}
            found["bytes"] = self.saved.sizes[self.saved.version[self.index]]
        own = f"{self.label}."
        return found | {name.removeprefix(own): name for name in self.saved.names if name.startswith(own)}


def coded(column: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """(documents,) an index into the values that there are, null among them, and these values.

    >>> [part if isinstance(part, list) else part.tolist() for part in coded(pa.array(["b", None, "b"]))]
    [[0, 1, 0], ['b', None]]
    """
    if pa.types.is_dictionary(column.type):
        code, values = column.indices, column.dictionary.to_pylist()
        if column.null_count == 0:
            return code.to_numpy().astype(np.int64), values
        return pc.fill_null(code.cast(pa.int64()), len(values)).to_numpy(), [*values, None]
    found = pc.dictionary_encode(column, null_encoding="encode")
    return found.indices.to_numpy().astype(np.int64), found.dictionary.to_pylist()


def grouped(*columns: tuple[NDArray[np.int64], int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of several columns of codes, sorted, and for each row which of them it is.

    columns   (rows,) codes each, and how many codes there are
    returns   (groups, columns); (rows,)

    >>> [part.tolist() for part in grouped((np.array([1, 0, 1]), 2), (np.array([0, 2, 0]), 3))]
    [[[0, 2], [1, 0]], [1, 0, 1]]
    """
    found = np.zeros((1, 0), np.int64)
    row = np.zeros(len(columns[0][0]), np.int64)
    # One after the other: all combinations are many more than those that there are.
    for code, size in columns:
        pairs, row = distinct(row * size + code, len(found) * size)
        found = np.column_stack([found[pairs // size], pairs % size])
    return found, row


# ------------------------------------------------------------- counting


@dataclass
class _Count:
    """Documents, bytes and tokens of a pass by what drops them, in the run (0) and with the changes (1).

    flow    (reason in the run, reason now, source) -> documents, tokens, and bytes in each version of the text
    kept    (source, language) -> what comes out of the pass
    newly   reason -> documents that only come out now; documents that only came out in the run
    """

    tables: RunTables
    number: int
    steps: Mapping[str, Any]
    judges: Sequence[_Judge]
    bounds: Mapping[str, Bound]
    examples: int
    flow: dict[tuple[str | None, str | None, str], NDArray[np.int64]] = field(default_factory=dict)
    kept: dict[tuple[str, str], Kept] = field(default_factory=dict)
    newly: tuple[dict[str, Amount], dict[str, Amount]] = field(default_factory=lambda: ({}, {}))
    _firsts: _Codes = field(default_factory=_Codes)  # step.rule that drops a document
    _said: list[_Codes] = field(default_factory=list)  # for each judge, what it says of a document
    _combinations: _Codes = field(default_factory=_Codes)  # of reasons in the run
    _known: NDArray[np.int64] = field(init=False)  # (see _about, combinations)
    _near: dict[tuple[int, str], list[tuple[float, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._said = [_Codes() for _ in self.judges]
        self._known = np.empty((3 + len(self.judges), 0), np.int64)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self.tables.passes[self.number][1]

    @cached_property
    def paths(self) -> list[str]:
        return self.tables.files.paths("signals", self.number)

    @cached_property
    def sizes(self) -> tuple[list[str], list[int]]:
        """The columns of bytes, and for each step, and the end, which of them counts what comes to it."""
        columns: list[str] = []
        version = []
        for label in self.labels:
            version.append(len(columns))
            if isinstance(self.steps[label], Transform):
                columns.append(f"{label}.bytes_before")
        return [*columns, "bytes"], [*version, len(columns)]

    @cached_property
    def language(self) -> str | None:
        """The column of languages that the first step has left which finds them."""
        there = self.tables.columns(self.number)
        found = (f"{label}.label" for label in self.labels if f"{label}.score" in there)
        return next((column for column in found if column in there), None)

    def add_all(self) -> None:
        """Count the documents of all units. While one is counted the next is read, which is half of the work."""
        columns: list[str] = []  # that the last unit took; the first unit reads each as it is asked for
        with ThreadPoolExecutor(1) as reader:
            following = reader.submit(self._open, 0)
            for unit in range(len(self.paths)):
                saved = following.result()
                if unit + 1 < len(self.paths):
                    following = reader.submit(self._open, unit + 1, columns)
                self._add(unit, saved)
                columns = list(saved.columns)

    def _add(self, unit: int, saved: _Saved) -> None:
        before, after = self._verdicts(saved)
        reasons = self._firsts.names
        source, sources = saved.coded("source")
        language, languages = saved.coded(self.language) if self.language else (np.zeros_like(source), [None])
        found, row = grouped(
            (before, len(reasons)), (after, len(reasons)), (source, len(sources)), (language, len(languages))
        )
        measures = [None, saved.numbers("tokens"), *(saved.numbers(size) for size in saved.sizes)]
        # Sums of whole numbers in float64 are exact below 2**53 bytes.
        totals = np.stack([np.bincount(row, m, len(found)) for m in measures], axis=1).astype(np.int64)
        for (was, now, of, speaks), total in zip(found.tolist(), totals):
            key = (reasons[was], reasons[now], sources[of] or "")
            self.flow[key] = self.flow.get(key, np.zeros_like(total)) + total
            amount = Amount(int(total[0]), int(total[-1]), int(total[1]))
            place = (sources[of] or "", languages[speaks] or "none")
            old, new = self.kept.get(place, (Amount(), Amount()))
            self.kept[place] = (old if reasons[was] else old + amount, new if reasons[now] else new + amount)
            if bool(reasons[was]) != bool(reasons[now]):
                side = self.newly[0 if reasons[was] else 1]
                reason = reasons[was] or reasons[now] or ""
                side[reason] = side.get(reason, Amount()) + amount
        if self.examples:
            self._look_at_the_border(unit, saved, before, after, reasons)

    def _open(self, unit: int, ahead: Sequence[str] = ()) -> _Saved:
        return _Saved(self.paths[unit], *self.sizes, ahead)

    def _verdicts(self, saved: _Saved) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(documents,) the first reason in the run and now, by its code in `_firsts`."""
        code, said = saved.coded("reasons")
        row = np.array([self._combinations[reasons] for reasons in said], np.int64)[code]
        # Documents share few combinations of reasons: each is taken apart once, in whatever unit it comes first.
        new = [self._about(reasons) for reasons in self._combinations.names[self._known.shape[1] :]]
        self._known = np.hstack([self._known, np.array(new, np.int64).reshape(-1, len(self._known)).T])
        before, place, after, *then = (known[row] for known in self._known)
        for judge, codes, judged in zip(self.judges, self._said, then):
            judge.check_measured(saved)
            judge.check(saved, judged, codes)
            code, values = coded(judge.reasons(judge.after, saved))
            first = [self._firsts[f"{judge.label}.{v.partition(',')[0]}" if v else None] for v in values]
            mine = np.array(first, np.int64)[code]
            earlier = (mine != 0) & (judge.index < place)
            place[earlier], after[earlier] = judge.index, mine[earlier]
        return before, after

    def _about(self, reasons: str | None) -> list[int]:
        """Of what the run said of a document: the first reason; the place of the first step that drops it whatever the
        judges say, and the reason of that; what each judge said."""
        was = _by_step(reasons)
        stays = was | {judge.label: _unjudged(judge, was) for judge in self.judges}
        place = next((at for at, label in enumerate(self.labels) if stays.get(label)), len(self.labels))
        said = [codes[",".join(_judged(judge, was)) or None] for judge, codes in zip(self.judges, self._said)]
        return [self._first(was), place, self._first(stays), *said]

    def _first(self, by_step: Mapping[str, Sequence[str]]) -> int:
        first = (f"{label}.{by_step[label][0]}" for label in self.labels if by_step.get(label))
        return self._firsts[next(first, None)]

    def _look_at_the_border(
        self,
        unit: int,
        saved: _Saved,
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        reasons: Sequence[str | None],
    ) -> None:
        """Remember, for each side and reason, the documents nearest to the threshold; the earlier ones of a tie."""
        for side, (of, other) in enumerate(((before, after), (after, before))):
            moved = np.flatnonzero((of > 0) & (other == 0))
            for code in np.unique(of[moved]).tolist():
                rows = moved[of[moved] == code]
                reason = str(reasons[code])
                column, threshold = self._threshold(reason)
                if column is None or threshold is None:
                    distance = np.zeros(len(rows))
                else:
                    values = saved.read(column).take(pa.array(rows)).cast(pa.float64())
                    distance = np.abs(values.to_numpy(zero_copy_only=False) - threshold)
                near = np.argsort(distance, kind="stable")[: self.examples]
                there = self._near.setdefault((side, reason), [])
                there += [(float(distance[at]), unit, int(rows[at])) for at in near]
                there[:] = sorted(there)[: self.examples]

    def _threshold(self, reason: str) -> tuple[str | None, float | None]:
        """The column and the threshold that a reason of a changed step is about: the new one, or the old if it is off."""
        bound = self.bounds.get(reason) or self.tables.bounds.get(reason)
        return (bound.signal, bound.threshold) if bound else (None, None)

    def border(self) -> tuple[Border, ...]:
        """The documents that were remembered, those newly kept first, by reason, the nearest first."""
        found = []
        for (side, reason), near in sorted(self._near.items()):
            column, threshold = self._threshold(reason)
            step = reason.partition(".")[0]
            for _, unit, row in near:
                saved = self._open(unit)
                names = [name for name in saved.names if name.startswith(f"{step}.")] if column is None else [column]
                signals = saved.row(row, names)
                known = {reason: Bound(column, "<", 0.0)} if column else {}
                found.append(
                    Border(
                        **saved.row(row, ORIGIN),
                        newly="dropped" if side else "kept",
                        reason=reason,
                        values=evidence(reason, signals, known),
                        threshold=threshold,
                    )
                )
        return tuple(found)

    def rows(self, side: int) -> tuple[Row, ...]:
        """The waterfall of the pass."""
        stage = self.tables.passes[self.number][0]
        facts: Facts = {"failed": self.tables.files.facts(stage).get("failed", {})}
        version = self.sizes[1]
        for key, total in self.flow.items():
            reason, source = key[side], key[2]
            goes = self.labels.index(reason.partition(".")[0]) if reason else len(self.labels)
            documents, tokens, *sizes = total.tolist()
            for index, label in enumerate(self.labels):
                comes, stays = goes >= index, goes > index
                for name, value, counts in (
                    ("documents_in", documents, comes),
                    ("documents_out", documents, stays),
                    ("bytes_in", sizes[version[index]], comes),
                    ("bytes_out", sizes[version[index + 1]], stays),
                    ("tokens_in", tokens, comes),
                    ("tokens_out", tokens, stays),
                ):
                    add(facts, "steps", label, source, name, count=value if counts else 0)
            if reason:
                step, _, rule = reason.partition(".")
                add(facts, "reasons", step, source, rule, count=documents)
        return tuple(rows_of(self.labels, facts))


def _by_step(reasons: str | None) -> dict[str, list[str]]:
    """step -> rules.

    >>> _by_step("c4.min_sentences,fineweb.max_short_lines")
    {'c4': ['min_sentences'], 'fineweb': ['max_short_lines']}
    """
    found: dict[str, list[str]] = {}
    for reason in reasons.split(",") if reasons else ():
        step, _, rule = reason.partition(".")
        found.setdefault(step, []).append(rule)
    return found


def _unjudged(judge: _Judge, by_step: Mapping[str, list[str]]) -> list[str]:
    """What a step drops for without judging: a text that it leaves null."""
    rules = by_step.get(judge.label, [])
    return rules[:1] if rules[:1] == ["empty"] and isinstance(judge.before, Transform) else []


def _judged(judge: _Judge, by_step: Mapping[str, list[str]]) -> list[str]:
    return by_step.get(judge.label, [])[len(_unjudged(judge, by_step)) :]


def _kept(both: Any) -> Kept:
    before = after = Amount()
    for was, now in both:
        before, after = before + was, after + now
    return before, after


def _grouped(kept: Mapping[tuple[str, str], Kept], by: int) -> dict[str, Kept]:
    names = sorted({key[by] for key in kept})
    found = {name: _kept(both for key, both in kept.items() if key[by] == name) for name in names}
    return dict(sorted(found.items(), key=lambda item: -item[1][0].documents))


def _ordered(amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    return dict(sorted(amounts.items(), key=lambda item: (-item[1].documents, item[0])))


def _command(tables: RunTables, settings: Sequence[str]) -> str:
    """The command of the run, with the changes, in a new folder: what is there stays to be compared with."""
    words = list(tables.files.command[1:])
    again = ["corpusmill", "run", "RECIPE"]
    if words[:1] == ["run"]:
        again = ["corpusmill"]
        while words:
            word = words.pop(0)
            if word == "--folder":
                words = words[1:]
            elif not word.startswith("--folder=") and word not in ("--json", "--restart"):
                again.append(word)
    for setting in settings:
        again += ["--set", setting]
    return shlex.join([*again, "--folder", f"{tables.folder}-what-if"])
