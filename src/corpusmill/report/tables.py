"""A run as tables: what its commits name, asked in SQL. Texts are read only of the documents that are shown."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.errors import AssetError, InputError, RecipeError, ResumeError, did_you_mean
from corpusmill.execute.commits import StageFolder
from corpusmill.facts import Facts, total
from corpusmill.recipe.model import Recipe
from corpusmill.report.histogram import Histogram, around, closed_side, count, octaves
from corpusmill.report.rules import Bound, bounds
from corpusmill.report.waterfall import Waterfall
from corpusmill.units import Commit

Document = dict[str, Any]
ABOUT = ("id", "source", "file", "position", "url", "date", "bytes", "tokens", "dropped_by", "reasons")
FOUND = 100  # documents with one url at most


@dataclass(frozen=True)
class RuleCount:
    """Of the documents that a step drops: how many fail the rule first, how many fail it, how many fail nothing else
    in the whole pass, so that they would be there without it."""

    first: int
    all: int
    alone: int


class RunTables:
    """What a run has committed.

    Every draw of documents takes those with the smallest ids. An id is a hash, so this is a fair sample, and the same
    whenever it is drawn. Of a run that is not finished the tables hold what is committed so far; `kept` are then the
    documents that came through the last pass that has begun.

    Raises ResumeError if the folder holds no run, or files that its commits do not describe.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "run.json"
        if not path.exists():
            raise InputError(f"{folder}: no run here (there is no run.json). `corpusmill run RECIPE` makes one.")
        self.folder = folder
        self.run: dict[str, Any] = json.loads(path.read_text("utf-8"))
        self.stages: dict[str, list[Commit]] = {}
        self._folders = {name.partition("-")[2].rpartition("-")[0]: name for name in self.run["stages"]}
        for stage, name in self._folders.items():
            commits = StageFolder(folder, name).commits()
            self.stages[stage] = [commits[unit] for unit in sorted(commits)]
        self.passes: list[tuple[str, tuple[str, ...]]] = [
            (entry["stage"], tuple(entry["labels"])) for entry in self.run["passes"] if self.stages[entry["stage"]]
        ]

    # ------------------------------------------------------------- the run as a whole

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe as it was run. Raises RecipeError or AssetError where a step of it cannot be made here."""
        return Recipe.parse(self.run["recipe"], str(self.folder / "run.json"))

    @cached_property
    def bounds(self) -> dict[str, Bound]:
        """reason -> what it compares with what. Empty where the recipe's own steps cannot be imported from here: the
        counts and texts of a run can be looked at without them."""
        try:
            return bounds(self.recipe)
        except (RecipeError, AssetError):
            return {}

    @property
    def labels(self) -> list[str]:
        """The steps that documents go through, in order."""
        return [label for entry in self.run["passes"] for label in entry["labels"]]

    def facts(self, stage: str) -> Facts:
        """The sum of what the units of a stage counted; empty where there is no such stage."""
        return total(commit.facts for commit in self.stages.get(stage, ()))

    def unfinished(self) -> str | None:
        """What there is still to do, in words; None if the run is finished."""
        for stage, name in self._folders.items():
            plan = self.folder / name / "plan.json"
            if not plan.exists():
                return f"{stage} has not begun"
            units, done = len(json.loads(plan.read_bytes())["units"]), len(self.stages[stage])
            if done < units:
                failed = len(list((self.folder / name / "failed").glob("*.json")))
                return f"{stage} has {done} of {units} units" + (f", and {failed} failed" if failed else "")
        return None if (self.folder / "waterfall.json").exists() else "the totals are not written yet"

    def must_be_finished(self) -> None:
        """Raises ResumeError, which says what there is still to do, if the run is not finished."""
        if to_do := self.unfinished():
            raise ResumeError(
                f"{self.folder}: the run is not finished: {to_do}. Run its recipe again to continue; what there is "
                f"so far can be looked at with: corpusmill peek {self.folder}"
            )

    def waterfall(self) -> Waterfall:
        """Documents, bytes and tokens in and out of every step. Raises ResumeError if the run is not finished."""
        self.must_be_finished()
        return Waterfall.from_json(json.loads((self.folder / "waterfall.json").read_text("utf-8")))

    # ------------------------------------------------------------- documents

    def kept(self, n: int) -> list[Document]:
        """Documents that stay."""
        return self.draw("docs", self._numbers()[-1:], n)

    def dropped(self, what: str | None, n: int) -> list[Document]:
        """Documents that go: by a step, by one rule of a step (`step.rule`), or for whatever reason.

        Of a rule, all documents that its step drops and that fail it, be it first or not.
        Raises InputError if there is no such step or rule, naming the nearest.
        """
        if what is None:
            return self.draw("dropped", self._numbers(), n)
        step = what.partition(".")[0]
        if step not in self.labels:
            known = [*self.labels, *self.reasons()]
            raise InputError(
                f'{self.folder}: there is no step "{what}"{did_you_mean(what, known) or "."} '
                f"The steps are: {', '.join(self.labels)}."
            )
        rules = [reason for reason in self.rule_counts() if reason.partition(".")[0] == step]
        if what == step:
            return self.draw("dropped", self._numbers(), n, "dropped_by = ?", [step])
        if what not in rules and what not in self.bounds:
            raise InputError(
                f'{self.folder}: nothing was dropped for "{what}"{did_you_mean(what, rules) or "."} '
                f"Reasons of {step}: {', '.join(rules) or 'none'}."
            )
        where = "dropped_by = ? AND list_contains(string_split(reasons, ','), ?)"
        return self.draw("dropped", self._numbers(), n, where, [step, what])

    def dead(self, n: int, kind: str | None = None) -> list[Document]:
        """Records that could not be read and documents that a step failed on: all columns of schema.DEAD."""
        where, values = ("WHERE kind = ?", [kind]) if kind else ("", [])
        query = f"SELECT * EXCLUDE (filename, file_row_number) FROM ({self._union('dead', self._numbers())}) {where}"
        return self.rows(f"{query} ORDER BY expected, {ADDRESS} LIMIT {n}", values)

    def document(self, name: str) -> list[Document]:
        """The documents with this id or url, and the dead letters; all that is known of each, with the text as it was
        last. Empty if there is none."""
        ids: dict[str, None] = {}
        for number in self._numbers():
            query = f"SELECT DISTINCT id FROM ({self.table('signals', number)}) WHERE id = ? OR url = ?"
            ids |= dict.fromkeys(row["id"] for row in self.rows(f"{query} ORDER BY id LIMIT {FOUND}", [name, name]))
        found: dict[str, Document] = {}
        for number in reversed(self._numbers()):
            for kind in ("docs", "dropped"):
                for entry in self.draw(kind, [number], len(ids), f"id IN {_marks(ids)}", list(ids)) if ids else ():
                    found.setdefault(entry["id"], entry)
        letters = f"SELECT * EXCLUDE (filename, file_row_number) FROM ({self._union('dead', self._numbers())})"
        dead = self.rows(f"{letters} WHERE id = ? OR url = ? ORDER BY {ADDRESS} LIMIT {FOUND}", [name, name])
        return [*found.values(), *dead]

    def examples(self, n: int) -> dict[str, list[Document]]:
        """reason -> a few of the documents that were dropped for it first."""
        places: dict[str, list[tuple[str, int]]] = {}
        for number in self._numbers():
            query = (
                f"SELECT split_part(reasons, ',', 1) AS reason, "
                f"arg_min({{'file': filename, 'row': file_row_number}}, {ADDRESS}, {n}) AS found "
                f"FROM ({self.table('dropped', number)}) GROUP BY reason ORDER BY reason"
            )
            for row in self.rows(query):
                places.setdefault(row["reason"], []).extend((at["file"], at["row"]) for at in row["found"])
        entries = self._read([place for found in places.values() for place in found])
        return {reason: [entries[place] for place in found[:n]] for reason, found in places.items()}

    def pairs(self, step: str, n: int) -> list[dict[str, Any]]:
        """Documents that a corpus step drops or marks beside their twins, the least alike first: each a dict of `similarity`,
        `document` and `twin`, with the texts that were compared."""
        number = next((i for i, (_, labels) in enumerate(self.passes) if step in labels), 0)
        if number == 0 or f"{step}.twin_id" not in self.columns(number):
            return []
        twin, similarity = _name(f"{step}.twin_id"), _name(f"{step}.similarity")
        query = f"SELECT id, {twin} AS twin, {similarity} AS similarity FROM ({self.table('signals', number)})"
        rows = self.rows(f"{query} WHERE twin IS NOT NULL ORDER BY similarity, {ADDRESS} LIMIT {n}")
        ids = dict.fromkeys(each for row in rows for each in (row["id"], row["twin"]))
        before = self.draw("docs", [number - 1], len(ids), f"id IN {_marks(ids)}", list(ids)) if ids else []
        by_id = {entry["id"]: entry for entry in reversed(before)}
        return [
            {"similarity": row["similarity"], "document": by_id[row["id"]], "twin": by_id[row["twin"]]}
            for row in rows
            if row["id"] in by_id and row["twin"] in by_id
        ]

    # ------------------------------------------------------------- counts

    def repeated(self, n: int) -> dict[str, list[dict[str, Any]]]:
        """For each step that counts lines or paragraphs, those that occur most often: each a dict of `text`,
        `occurrences`, `documents`, `bytes` of all of them, and the `id` of the document that has it first.

        Of equals those with more bytes come first. Every step has 100 at most.
        """
        found = {}
        for step in self.labels:
            files = [
                c.outputs["repeated"].path for c in self.stages.get(f"{step}-verdicts", ()) if "repeated" in c.outputs
            ]
            if files:
                rows = [row for file in files for row in pq.read_table(self.folder / file).to_pylist()]
                order = sorted(rows, key=lambda row: (-row["occurrences"], -row["bytes"], row["text"], row["id"]))
                found[step] = order[:n]
        return found

    def reasons(self) -> list[str]:
        """All reasons for which documents were dropped, as `step.rule`, the most frequent first."""
        counts = self.rule_counts()
        return sorted((r for r in counts if counts[r].first), key=lambda reason: (-counts[reason].first, reason))

    def rule_counts(self) -> dict[str, RuleCount]:
        """`step.rule` -> how many documents fail it, of those that came to its step."""
        found: dict[str, RuleCount] = {}
        for number in self._numbers():
            query = (
                "SELECT reason, count(*) FILTER (reason = split_part(reasons, ',', 1)) AS first, count(*) AS every, "
                "count(*) FILTER (reason = reasons) AS alone "
                "FROM (SELECT unnest(string_split(reasons, ',')) AS reason, reasons, dropped_by "
                f"FROM ({self.table('signals', number)}) WHERE dropped_by IS NOT NULL) "
                "WHERE split_part(reason, '.', 1) = dropped_by GROUP BY reason ORDER BY reason"
            )
            for row in self.rows(query):
                found[row["reason"]] = RuleCount(row["first"], row["every"], row["alone"])
        return found

    def lengths(self, unit: str) -> Histogram | None:
        """Documents by length, `kept` and `dropped`. None if nothing was measured, as tokens without a tokenizer.

        unit   "tokens" or "bytes", of the text as it left the last pass that the document went through
        """
        edges = octaves()
        counts = {name: np.zeros(len(edges) - 1, np.int64) for name in ("kept", "dropped")}
        most = 0.0
        for number in self._numbers():
            last = number == len(self.passes) - 1
            for batch in self._batches("signals", number, [unit, "dropped_by"]):
                values, stays = _floats(batch[unit]), _numpy(batch["dropped_by"].is_null())
                counts["dropped"] += count(values[~stays], edges, "left")
                if last:  # the others are counted in the pass that drops them, or in the last one
                    counts["kept"] += count(values[stays], edges, "left")
                most = max([most, *values[~np.isnan(values)].max(initial=0.0, keepdims=True).tolist()])
        found = Histogram(edges, {name: tuple(c.tolist()) for name, c in counts.items()}, True, most)
        return found.trimmed() if found.total else None

    def signals(self, wanted: Iterable[str] | None = None) -> dict[str, Histogram]:
        """reason -> the values of its signal among the documents that came to its step: those that `pass` the bound,
        and those that `fail` it.

        wanted   reasons that have a bound; all of them if not given
        """
        chosen = {reason: self.bounds[reason] for reason in (self.bounds if wanted is None else wanted)}
        found: dict[str, Histogram] = {}
        for number, (_, labels) in enumerate(self.passes):
            columns = self.columns(number)
            here = {
                reason: bound
                for reason, bound in chosen.items()
                if reason.partition(".")[0] in labels and bound.signal in columns
            }
            if here:
                found |= self._signals(number, labels, here, columns)
        return {reason: found[reason] for reason in chosen if reason in found}

    def _signals(
        self, number: int, labels: Sequence[str], here: Mapping[str, Bound], types: Mapping[str, pa.DataType]
    ) -> dict[str, Histogram]:
        names = sorted({bound.signal for bound in here.values()})
        ends = ", ".join(f"min({_finite(name, types)}), max({_finite(name, types)})" for name in names)
        row = self.tuples(f"SELECT {ends} FROM ({self.table('signals', number)})")[0]
        low = {name: float(row[2 * i]) for i, name in enumerate(names) if row[2 * i] is not None}
        high = {name: float(row[2 * i + 1]) for i, name in enumerate(names) if row[2 * i + 1] is not None}
        edges = {
            reason: around(bound, low[bound.signal], high[bound.signal], pa.types.is_integer(types[bound.signal]))
            for reason, bound in here.items()
            if bound.signal in low
        }
        counts = {reason: np.zeros(len(edge) - 1, np.int64) for reason, (edge, _) in edges.items()}
        for batch in self._batches("signals", number, [*names, "dropped_by"]):
            gone = batch["dropped_by"]
            values = {name: _floats(batch[name]) for name in names}
            came = {
                step: _numpy(
                    pc.or_(gone.is_null(), pc.is_in(gone, pa.array(labels[labels.index(step) :], pa.string())))
                )
                for step in dict.fromkeys(reason.partition(".")[0] for reason in edges)
            }
            for reason, (edge, _) in edges.items():
                mine = values[here[reason].signal][came[reason.partition(".")[0]]]
                counts[reason] += count(mine, edge, closed_side(here[reason]))
        histograms = {}
        for reason, (edge, log) in edges.items():
            bound = here[reason]
            at = int(np.argmin(np.abs(np.array(edge) - bound.threshold)))
            below, above = counts[reason].copy(), counts[reason].copy()
            below[at:], above[:at] = 0, 0
            sides = ("fail", "pass") if bound.drops in ("<", "<=") else ("pass", "fail")
            both = {sides[0]: tuple(below.tolist()), sides[1]: tuple(above.tolist())}
            histograms[reason] = Histogram(
                edge, {name: both[name] for name in ("pass", "fail")}, log, high[bound.signal]
            )
        return histograms

    def similarities(self, step: str) -> Histogram | None:
        """The documents that a corpus step drops or marks by their similarity with the twin, 0 to 1. None if it is no
        such step, or finds nothing."""
        for number in self._numbers():
            if f"{step}.similarity" in self.columns(number):
                values = [
                    _floats(batch[f"{step}.similarity"].drop_null())
                    for batch in self._batches("signals", number, [f"{step}.similarity"])
                ]
                edges = tuple(i / 50 for i in range(51))
                counts = count(np.concatenate([np.empty(0), *values]), edges, "left")
                found = Histogram(edges, {"dropped": tuple(counts.tolist())}, False, 1.0)
                return found.trimmed() if found.total else None
        return None

    def languages(self) -> list[tuple[str, str, list[tuple[str | None, int, int]]]]:
        """For each step that finds languages: its label, the last step of its pass, and (language, documents that
        are still there after that last step, documents dropped in the pass), the most frequent language first."""
        found = []
        for number, (_, labels) in enumerate(self.passes):
            columns = self.columns(number)
            for step in labels:
                if f"{step}.label" not in columns or f"{step}.score" not in columns:
                    continue
                query = (
                    f"SELECT {_name(f'{step}.label')}, count(*) FILTER (dropped_by IS NULL), "
                    f"count(*) FILTER (dropped_by IS NOT NULL) FROM ({self.table('signals', number)}) "
                    "GROUP BY 1 ORDER BY count(*) DESC, 1"
                )
                found.append((step, labels[-1], [(row[0], row[1], row[2]) for row in self.tuples(query)]))
        return found

    def dead_kinds(self) -> list[dict[str, Any]]:
        """What was lost, by step and kind: step, kind, expected, records."""
        query = f"SELECT step, kind, expected, count(*) AS records FROM ({self._union('dead', self._numbers())})"
        return self.rows(f"{query} GROUP BY ALL ORDER BY expected, records DESC, step, kind")

    # ------------------------------------------------------------- the files

    def _numbers(self) -> list[int]:
        return list(range(len(self.passes)))

    def paths(self, kind: str, number: int) -> list[str]:
        return [str(self.folder / c.outputs[kind].path) for c in self.stages[self.passes[number][0]]]

    def table(self, kind: str, number: int) -> str:
        """A table of a pass as SQL, with where each row stands: `filename` and `file_row_number`."""
        files = ", ".join(_quoted(path) for path in self.paths(kind, number))
        return f"SELECT * FROM read_parquet([{files}], filename = true, file_row_number = true)"

    def _union(self, kind: str, numbers: Sequence[int]) -> str:
        tables = [self.table(kind, number) for number in numbers if self.paths(kind, number)]
        if not tables:
            raise ResumeError(
                f"{self.folder}: the run has committed no documents yet; run its recipe again to continue."
            )
        return " UNION ALL BY NAME ".join(tables)

    def columns(self, number: int) -> dict[str, pa.DataType]:
        """The columns of a pass's signals."""
        schema = pq.read_schema(self.paths("signals", number)[0])
        return {field.name: field.type for field in schema}

    def _batches(self, kind: str, number: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for path in self.paths(kind, number):
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(1 << 16, columns=columns, use_threads=False)

    def draw(
        self, kind: str, numbers: Sequence[int], n: int, where: str = "true", values: Sequence[Any] = ()
    ) -> list[Document]:
        """The first `n` documents by id that fulfil a condition, with their texts and signals."""
        query = f"SELECT filename, file_row_number FROM ({self._union(kind, numbers)}) WHERE {where}"
        places = self.tuples(f"{query} ORDER BY {ADDRESS} LIMIT {n}", values)
        entries = self._read(places)
        return [entries[place] for place in places]

    def _read(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Document]:
        """Whole documents from rows of files: a row group is read once, and only where a document stands in it."""
        found: dict[tuple[str, int], Document] = {}
        for path in sorted({path for path, _ in places}):
            rows = sorted({row for other, row in places if other == path})
            with pq.ParquetFile(path) as file:
                start = 0
                for group in range(file.metadata.num_row_groups):
                    stop = start + file.metadata.row_group(group).num_rows
                    here = [row for row in rows if start <= row < stop]
                    if here:
                        table = file.read_row_group(group, use_threads=False).take([row - start for row in here])
                        found |= {(path, row): entry for row, entry in zip(here, table.to_pylist())}
                    start = stop
        signals = self._signals_of({entry["id"] for entry in found.values()})
        return {place: _entry(entry, signals.get(entry["id"], {})) for place, entry in found.items()}

    def _signals_of(self, ids: set[str]) -> dict[str, dict[str, Any]]:
        """id -> all that was measured of a document, in whichever pass."""
        found: dict[str, dict[str, Any]] = {}
        for number in self._numbers() if ids else ():
            query = f"SELECT * EXCLUDE (filename, file_row_number) FROM ({self.table('signals', number)})"
            for row in self.rows(f"{query} WHERE id IN {_marks(ids)}", sorted(ids)):
                found.setdefault(row["id"], {}).update({k: v for k, v in row.items() if k not in ABOUT})
        return found

    @cached_property
    def duckdb(self) -> Any:
        import duckdb  # 50 ms, which the other verbs need not wait for

        # Nothing may come from the network or go to the working directory, whatever a query needs.
        config = {"threads": 2, "temp_directory": "", "autoinstall_known_extensions": False}
        return duckdb.connect(":memory:", config=config)

    def tuples(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.duckdb.execute(query, list(values)).fetchall()
        return found

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        result = self.duckdb.execute(query, list(values))
        names = [column[0] for column in result.description]
        return [{name: _plain(value) for name, value in zip(names, row)} for row in result.fetchall()]


# The order of every draw: the id, which is a hash; then the place, in case an input gives an id twice.
ADDRESS = "concat_ws(' ', id, file, lpad(position::VARCHAR, 20, '0'))"


def _entry(row: Document, signals: Mapping[str, Any]) -> Document:
    """A document as the tables show it."""
    text = row.get("text") or ""
    said = {name: row.get(name) for name in ABOUT} | {"bytes": len(text.encode())}
    reasons = row.get("reasons")
    return {**said, "reasons": reasons.split(",") if reasons else [], "signals": dict(signals), "text": text}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _finite(name: str, types: Mapping[str, pa.DataType]) -> str:
    """A column as SQL, null where it is no number."""
    column = _name(name)
    return f"CASE WHEN isfinite({column}) THEN {column} END" if pa.types.is_floating(types[name]) else column


def _floats(column: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(rows,) with NaN for null and for what is infinite."""
    values = _numpy(pc.fill_null(column.cast(pa.float64()), math.nan))
    return np.where(np.isfinite(values), values, math.nan)


def _numpy(column: pa.Array) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = column.to_numpy(zero_copy_only=False)
    return values


def _marks(values: Iterable[Any]) -> str:
    return f"({', '.join('?' for _ in values)})"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
