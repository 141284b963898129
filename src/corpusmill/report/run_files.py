"""What a run has recorded and left, for reports and questions. The layout of its folder is known to `run_folder`
alone."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.engine.plan.own_columns import OwnTypes, all_kept
from corpusmill.engine.work.dropped import BELOW, EVERY_ID
from corpusmill.engine.work.pass_documents import read_documents, stage_with_texts, unchunked
from corpusmill.engine.work.pass_results import MEASURED
from corpusmill.engine.work.signals import signals_of_kept
from corpusmill.errors import AssetError, InputError, RecipeError, ResumeError
from corpusmill.recipe.model import Recipe
from corpusmill.report.waterfall import Waterfall
from corpusmill.schema import OWN
from corpusmill.storage import is_local, join, list_dir
from corpusmill.store.facts import Facts
from corpusmill.store.forgotten import Forgotten
from corpusmill.store.forgotten import read as read_forgotten
from corpusmill.store.run_folder import RUN, STAGES_RECORD, WATERFALL, RunFolder
from corpusmill.store.run_records import DamagedRecord
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results

MAX_NEARBY_RUNS = 5  # runs nearby that are named if a folder holds none


class RunFiles:
    """What a run has recorded and left.

    folder        the run's folder
    name          of the recipe
    fingerprint   of the recipe
    limited       which documents were taken, in words; empty for all of them
    versions      package -> version
    inputs        source -> its files, each with `path`, `bytes` and `fingerprint`
    assets        name -> `sha256` of the models, lists and tokenizers that were read
    command       the command line that last carried out the run
    recipe_text   the recipe as resolved, in YAML; of an early version, without the values that were the default
    is_resolved   whether it has all values
    written       the recipe as it was written: `text`, `file` and `overrides`; None of one that was made in Python, and
                  of runs by early versions
    calls         that carried out the run, the first one first, see `provenance.calls`; none of early versions
    labels        the steps that documents pass through, in order
    stages        stage -> what its units left, so far; stages that have not begun are left out
    plans         stage -> its folder, and the plan of its units
    only          label -> sources, of the steps that are for some sources only
    passes        each pass's stage and the labels of its steps; of a run that is not finished, those that have begun

    Raises InputError if there is no run at this place, ResumeError if files are not there that its results name.
    """

    def __init__(self, location: str | PathLike[str] | RunFolder) -> None:
        self.folder = RunFolder.at(location)
        if not self.folder.exists():
            raise InputError(_no_run(self.folder))
        record = self.folder.record()
        self.name: str = record["name"]
        self.fingerprint: str = record["fingerprint"]
        self.limited: str = record.get("limited", "")
        self.versions: Mapping[str, str] = record["versions"]
        self.inputs: Mapping[str, Sequence[Mapping[str, Any]]] = record["inputs"]
        self.assets: Mapping[str, Mapping[str, str]] = record.get("assets", {})
        self.command: Sequence[str] = record["command"]
        self.recipe_text: str = record["recipe"]
        self.written: Mapping[str, Any] | None = record.get("written")
        self.is_resolved = "written" in record
        self.calls: Sequence[Mapping[str, Any]] = record.get("calls", [])
        self.labels: list[str] = [label for entry in record["passes"] for label in entry["labels"]]
        self.only: dict[str, tuple[str, ...]] = {
            label: tuple(sources) for entry in record["passes"] for label, sources in entry.get("only", {}).items()
        }
        self.stages: dict[str, Results] = self.folder.results()
        self.plans: dict[str, tuple[str, str | None]] = {}
        for entry in self.folder.read(STAGES_RECORD):
            self.plans[entry["stage"]] = (entry["folder"], entry["plan"])
            if entry["stage"] in self.stages:
                self.folder.stage(entry["folder"]).check(self.stages[entry["stage"]])
        self.passes: list[tuple[str, tuple[str, ...]]] = [
            (entry["stage"], tuple(entry["labels"])) for entry in record["passes"] if self._begun(entry["stage"])
        ]
        self._waterfall: Waterfall | None = None
        self._outputs: dict[tuple[str, str], list[str]] = {}

    def _begun(self, stage: str) -> bool:
        return stage in self.stages and len(self.stages[stage]) > 0

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe as it was run. Raises RecipeError or AssetError where a step of it cannot be made here."""
        return self.recipe_with(())

    def recipe_with(self, settings: Sequence[str]) -> Recipe:
        """The recipe with changes, written as for --set of `corpusmill run`."""
        where = self.folder.name_of(RUN)
        recipe = Recipe.parse(self.recipe_text, where, recorded=True)
        # Not to the text with all values that were used: a rule that a change leaves out of `rules` is set there.
        return Recipe.parse(recipe.dump(), where, settings) if settings else recipe

    def facts(self, stage: str) -> Facts:
        """The sum of what the units of a stage counted; empty if there is no such stage."""
        return self.stages[stage].facts if stage in self.stages else {}

    def unfinished(self) -> str | None:
        """What is left to do, in words; None if the run is finished."""
        for entry in self.folder.read(STAGES_RECORD):
            stage = entry["stage"]
            if stage not in self.stages:
                return f"{stage} has not begun"
            if not self.stages[stage].complete:
                folder = self.folder.stage(entry["folder"])
                units, committed, failed = (
                    len(folder.planned(entry["plan"]) or ()),
                    len(self.stages[stage]),
                    len(folder.failures()),
                )
                return f"{stage} has {committed} of {units} units" + (f", and {failed} failed" if failed else "")
        return None if self.folder.read(WATERFALL) else "the totals are not written yet"

    def must_be_finished(self) -> None:
        """Raises ResumeError, which says what is left to do, if the run is not finished."""
        if to_do := self.unfinished():
            raise ResumeError(
                f"{self.folder.place}: the run is not finished: {to_do}. Run its recipe again to continue; to see "
                f"what is committed so far: corpusmill peek {quote(self.folder.place)}"
            )

    def waterfall(self) -> Waterfall:
        """Documents, bytes and tokens in and out of every step. Raises ResumeError if the run is not finished."""
        if self._waterfall is None:
            self.must_be_finished()
            record = self.folder.read(WATERFALL)
            assert record
            try:
                self._waterfall = Waterfall.from_json(record)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                name = self.folder.name_of(WATERFALL)
                raise DamagedRecord(name, f"not a waterfall ({type(error).__name__}: {error})") from error
        return self._waterfall

    def outputs(self, stage: str, name: str) -> list[str]:
        """The files `name` that the units of a stage wrote, by unit, as files of this machine."""
        if (stage, name) not in self._outputs:
            results = self.stages.get(stage)
            has_files = results is not None and name in results.outputs
            paths = results[name].paths.to_pylist() if results and has_files else []
            self._outputs[stage, name] = [str(self.folder.file(path)) for path in paths]
        return self._outputs[stage, name]

    def paths(self, kind: str, number: int) -> list[str]:
        """The files of a pass, one per unit: "docs", "signals", "dropped" or "dead"."""
        return self.outputs(self.passes[number][0], kind)

    def texts_of(self, stage: str) -> str:
        """The pass whose files have the texts of the documents of a pass."""
        return stage_with_texts(pq.read_schema(self.outputs(stage, "docs")[0])) or stage

    def with_texts(self, kind: str, number: int) -> list[tuple[str, str]]:
        """The files of a pass, "docs" or "dropped", each with the one that has the texts: the same one, or another."""
        stage = self.passes[number][0]
        texts = self.texts_of(stage)
        paths = self.paths(kind, number)
        return list(zip(paths, paths if texts == stage else self.outputs(texts, "docs")))

    def documents(self, kind: str, number: int, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The documents of a pass, "docs" or "dropped", in order, at most so many at a time; not those that the run
        must forget."""
        if self.forgotten is None:
            yield from self.all_documents(kind, number, columns, rows)
            return
        for batch in self.all_documents(kind, number, list(dict.fromkeys([*columns, "id", "url"])), rows):
            yield batch.filter(pa.array(~self.forgotten.among(batch))).select(list(columns))

    @cached_property
    def forgotten(self) -> Forgotten | None:
        """What the run must forget; None: nothing. Raises ResumeError if the record of it is damaged."""
        return read_forgotten(self.folder)

    def all_documents(self, kind: str, number: int, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """As `documents`, with those that the run must forget, while its stages have them."""
        upstream = Upstream(self.folder)
        for pair in self.with_texts(kind, number):
            path, texts = (str(Path(name).absolute()) for name in pair)  # others are taken as below the run's folder
            yield from read_documents(upstream, path, texts, columns, rows)

    @cached_property
    def own_columns(self) -> pa.Schema:
        """The columns of the input that documents keep, that of the text of type null; see
        `corpusmill.read.ColumnTypes`."""
        own = {name.removeprefix(OWN): kind for name, kind in self.columns(0).items() if name.startswith(OWN)}
        # Parquet names what a map holds for its column, which has another name here.
        return pa.schema(
            [(n, pa.map_(kind.key_type, kind.item_type) if pa.types.is_map(kind) else kind) for n, kind in own.items()]
        )

    @cached_property
    def own_types(self) -> OwnTypes:
        """The same, with whether all sources keep columns; where the recipe cannot be made here, as if one did not."""
        try:
            every = all_kept(self.recipe.read)
        except (RecipeError, AssetError):
            every = False
        return OwnTypes(self.own_columns, every)

    def documents_with_own(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """As `documents` those that the last pass keeps, with the columns of the input behind them, each by its name
        behind OWN."""
        upstream, last = Upstream(self.folder), len(self.passes) - 1
        read = list(dict.fromkeys([*columns, "id", "url"]))
        for unit, pair in enumerate(self.with_texts("docs", last)):
            paths = [str(Path(self.paths("signals", number)[unit]).absolute()) for number in range(last + 1)]
            own = signals_of_kept(paths, (f"{OWN}*",), upstream)
            begin = 0
            path, texts = (str(Path(name).absolute()) for name in pair)
            for batch in read_documents(upstream, path, texts, read, rows):
                added = [unchunked(column.slice(begin, len(batch))) for column in own.columns]
                begin += len(batch)
                whole = pa.RecordBatch.from_arrays(
                    [*(batch[name] for name in columns), *added], [*columns, *own.column_names]
                )
                yield whole if self.forgotten is None else whole.filter(pa.array(~self.forgotten.among(batch)))

    def rows(self, kind: str, number: int) -> list[int]:
        """How many rows each file of a pass has."""
        results = self.stages[self.passes[number][0]]
        rows: list[int] = results[kind].rows.tolist() if kind in results.outputs else []
        return rows

    def columns(self, number: int) -> dict[str, pa.DataType]:
        """The columns of a pass's signals."""
        schema = pq.read_schema(self.paths("signals", number)[0])
        return {field.name: field.type for field in schema}

    def measure_dropped(self, number: int) -> str:
        """How far a pass has measured the documents that it drops: `run.measure_dropped` of the run."""
        notes: Sequence[str | None] = self.stages[self.passes[number][0]].notes.get(MEASURED, ())
        return next(filter(None, notes), "all")

    @cached_property
    def texts_below(self) -> str | None:
        """The texts of all documents with a lesser id are stored, of dropped ones too; "" if that may be none. None if
        all texts are stored."""
        notes = [stage.notes.get(BELOW, ()) for stage in (self.stages[name] for name, _ in self.passes)]
        lowest = min((note for units in notes for note in units if note is not None), default=EVERY_ID)
        return None if lowest == EVERY_ID else lowest

    @property
    def shards(self) -> Path | None:
        """The folder of the training shards; None if the run has written none."""
        return self.folder.output_folder("shards") if "shards" in self.folder.outputs() else None

    def write_page(self, html: str) -> str:
        """Write the report page; returns its place."""
        self.folder.write_report(html)
        return self.folder.report


def shards_of(folder: Path) -> Path:
    """Where a run in this folder puts its training shards. The other files of the run may have been removed.

    Raises InputError if there is neither.
    """
    run = RunFolder(str(folder))
    shards = run.output_folder("shards")
    if not run.exists() and not shards.exists():
        raise InputError(_no_run(run))
    return shards


def _no_run(folder: RunFolder) -> str:
    places = [folder.place, *(["runs"] if folder.is_local else [])]
    below = (join(location, name) for location in places if is_local(location) for name in list_dir(location))
    nearby = sorted(
        {os.path.realpath(location): location for location in below if RunFolder(location).exists()}.values()
    )
    hint = f" Runs nearby: {', '.join(nearby[:MAX_NEARBY_RUNS])}." if nearby else " `corpusmill run RECIPE` makes one."
    return f"{folder.place}: not a run folder (it has no {RUN}).{hint}"
