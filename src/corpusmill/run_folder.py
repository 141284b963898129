"""The folder of a run: the only module that knows what is where in it.

    RUN/
        run.json                    the recipe as resolved, versions, inputs
        stages.json                 which stages make up the run, and the plan of each
        stages/NAME-PRINT/          one a stage; PRINT is the fingerprint of its work
            work.json               what that fingerprint is made of
            plans/PLAN.parquet      the units of one plan, in order: keys and inputs
            commits/KEY.json        a unit is done: its outputs, counts, checksums
            results/PLAN.parquet    all units of a plan are done: their outputs in columns
            failed/KEY.json         a unit failed in every attempt: error and traceback
            aside/KEY.json          records of a unit that ended every attempt at it: they are left out of it
            docs/ signals/ …        outputs, files named KEY-ATTEMPT; only those that a commit names count
        output/                     what the recipe writes, under lasting names
        waterfall.json report.html  what happened

A run folder is a place: a local folder, or the URL of one in an object store. Local files are mapped where they are.
Remote ones are read through a cache of bounded size on this machine (see `node_cache`), and written here first: a unit
uploads its outputs before it commits.

Everything that makes work count (plans, commits, results) is created once and never changed. Two plans of one stage can
share units: those whose keys are equal.
"""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill import storage
from corpusmill.errors import InputError, ResumeError
from corpusmill.facts import Facts, in_order, merge
from corpusmill.node_cache import NodeCache
from corpusmill.units import Aside, Commit, Files, Results, Unit

RUN, WATERFALL, REPORT, OUTPUT, STAGES = "run.json", "waterfall.json", "report.html", "output", "stages"
STAGES_RECORD = "stages.json"
BOOKS = ("plans", "commits", "results", "failed", "aside", "tmp")  # folders of a stage that are not outputs
CHECKSUM = 32  # hexadecimal digits


@dataclass(frozen=True)
class RunFolder:
    """A run's folder by its place: a local path, or a URL."""

    place: str

    @staticmethod
    def at(place: "str | os.PathLike[str] | RunFolder") -> "RunFolder":
        return place if isinstance(place, RunFolder) else RunFolder(os.fspath(place))

    @property
    def is_local(self) -> bool:
        return storage.is_local(self.place)

    @property
    def path(self) -> Path:
        """The local folder. Raises InputError if the run is in an object store."""
        if not self.is_local:
            raise InputError(f"{self.place}: this needs a run on a local disk. Copy the run's folder first.")
        return Path(storage.local_path(self.place))

    def name_of(self, relative: str) -> str:
        """The full name of a file of the run: a path, or a URL. Full names are returned as they are."""
        return relative if _is_full(relative) else storage.join(self.place, relative)

    def file(self, relative: str) -> Path:
        """Where a file of the run can be read on this machine; a remote one is fetched first."""
        name = self.name_of(relative)
        return Path(storage.local_path(name)) if storage.is_local(name) else self._cache.fetch(name)

    def new_file(self, relative: str) -> Path:
        """Where a new file of the run is to be written on this machine; see `keep`."""
        path = self.path / relative if self.is_local else self._cache.draft(self.name_of(relative))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, relative: Sequence[str]) -> None:
        """Make files of `new_file` survive a loss of power, with their names, or the loss of this machine."""
        if self.is_local:
            paths = [self.path / name for name in relative]
            folders = {path.parent for path in paths} if os.name != "nt" else ()
            waits = [partial(_sync, path) for path in (*paths, *folders)]
        else:
            waits = [partial(self._cache.upload, self.name_of(name)) for name in relative]
        # Together: a file system with a journal writes it once for all who wait, and a store answers in parallel.
        with ThreadPoolExecutor(max(len(waits), 1)) as pool:
            for done in [pool.submit(wait) for wait in waits]:
                done.result()

    @cached_property
    def _cache(self) -> NodeCache:
        return NodeCache.of(self.place)

    def exists(self) -> bool:
        """Whether there is a run here."""
        return storage.exists(self.name_of(RUN))

    def record(self) -> dict[str, Any]:
        """What run.json says. Raises InputError if there is no run here."""
        if not self.exists():
            raise InputError(f"{self.place}: no run here (there is no {RUN}). `corpusmill run RECIPE` makes one.")
        record: dict[str, Any] = json.loads(storage.read_bytes(self.name_of(RUN)))
        return record

    def write_record(self, record: Mapping[str, Any]) -> None:
        storage.write_atomic(self.name_of(RUN), _json(record))

    def stages_record(self) -> list[dict[str, Any]]:
        """The stages of the last run here, in order: `stage`, `folder`, and the name of its `plan`, None if not
        begun."""
        name = self.name_of(STAGES_RECORD)
        return json.loads(storage.read_bytes(name)) if storage.exists(name) else []

    def write_stages(self, stages: Sequence[Mapping[str, Any]]) -> None:
        storage.write_atomic(self.name_of(STAGES_RECORD), _json(stages))

    def results(self) -> dict[str, Results]:
        """What the stages of the last run left, so far: stages that were not begun are left out."""
        results = {}
        for entry in self.stages_record():
            folder, plan = self.stage(entry["folder"]), entry["plan"]
            left = folder.results(plan) if plan is not None else None
            if left is None and plan is not None:
                left = folder.partial(plan)
            if left is not None:
                results[entry["stage"]] = left
        return results

    def waterfall(self) -> dict[str, Any] | None:
        """What waterfall.json says; None while the totals are not written."""
        name = self.name_of(WATERFALL)
        return json.loads(storage.read_bytes(name)) if storage.exists(name) else None

    def write_waterfall(self, record: Mapping[str, Any]) -> None:
        storage.write_atomic(self.name_of(WATERFALL), _json(record))

    @property
    def report(self) -> str:
        """The full name of the report."""
        return self.name_of(REPORT)

    def write_report(self, page: str) -> None:
        storage.write_atomic(self.report, page.encode())

    def stage(self, name: str) -> "StageFolder":
        """A stage by the name of its folder: `pass-1-3fa2b1c4`."""
        return StageFolder(self, f"{STAGES}/{name}")

    def stage_folders(self) -> list[str]:
        """The names of the folders of all stages that were ever begun here."""
        return storage.list_dir(self.name_of(STAGES))

    def forget_aside(self) -> int:
        """Have the next run try again what was set aside, in all stages; returns how many units that concerns."""
        return sum(self.stage(name).forget_aside() for name in self.stage_folders())

    # ------------------------------------------------------------- output

    def outputs(self) -> list[str]:
        """The names of the folders of output that are there."""
        return storage.list_dir(self.name_of(OUTPUT))

    def output(self, name: str) -> str:
        """The full name of one folder of output."""
        return self.name_of(f"{OUTPUT}/{name}")

    def output_folder(self, name: str) -> Path:
        """One folder of output as a folder of this machine; a remote one is fetched, all of it."""
        if self.is_local:
            return self.path / OUTPUT / name
        return self._cache.fetch_folder(self.output(name))

    def remove_output(self) -> None:
        storage.remove_tree(self.name_of(OUTPUT))

    def publish(self, relative: str, folder: str, name: str) -> None:
        """Give an output of a unit a lasting name in a folder of output."""
        storage.copy(self.name_of(relative), self.name_of(f"{OUTPUT}/{folder}/{name}"))

    def write_output(self, folder: str, name: str, content: bytes) -> None:
        """Write a small file, an index, into a folder of output."""
        storage.write_atomic(self.name_of(f"{OUTPUT}/{folder}/{name}"), content)

    def make_output(self, folder: str) -> None:
        storage.make_dir(self.name_of(f"{OUTPUT}/{folder}"))

    # ------------------------------------------------------------- the whole folder

    def make(self) -> None:
        storage.make_dir(self.place)

    def forget(self) -> None:
        """Remove all that a run has made, for a start from nothing. Raises ResumeError if something else is here."""
        if not self.exists() and storage.list_dir(self.place):
            raise ResumeError(f"{self.place}: this is not a run's folder (it has no {RUN}), so nothing is removed")
        storage.remove_tree(self.place)

    @contextlib.contextmanager
    def only_driver(self) -> Iterator[None]:
        """Hold the folder: two drivers at once would remove each other's unfinished files.

        Object stores have no locks: there nothing unfinished is ever removed, and two drivers do some units twice.
        """
        if os.name == "nt" or not self.is_local:
            yield
            return
        import fcntl

        with (self.path / ".lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise ResumeError(
                    f"{self.place}: another process ({file.read().strip() or 'unknown'}) is at work in this folder. "
                    f"Wait for it, stop it, or give this run a folder of its own."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            storage.remove_unfinished(self.place)  # of a driver that was killed
            yield
            storage.remove_unfinished(self.place)  # of workers that were


@dataclass(frozen=True)
class StageFolder:
    """The folder of a stage. `name` is relative to the run's folder."""

    run: RunFolder
    name: str

    def describe(self, work: Mapping[str, Any]) -> None:
        """Record what the fingerprint in the folder's name is made of."""
        storage.create_once(self._name("work.json"), _json(work))

    def description(self) -> dict[str, Any] | None:
        """What `describe` recorded; None if the stage was never begun here."""
        name = self._name("work.json")
        return json.loads(storage.read_bytes(name)) if storage.exists(name) else None

    # ------------------------------------------------------------- plans and results

    def plan(self, units: Sequence[Unit]) -> str:
        """Record a plan; returns its name, which changes with the keys, inputs and order of its units."""
        inputs = [_escaped(json.dumps(plain(unit.inputs), ensure_ascii=False)).decode() for unit in units]
        digest = hashlib.sha256()
        for unit, text in zip(units, inputs):
            digest.update(f"{unit.key}\0{text}\n".encode("utf-8", "surrogateescape"))
        plan = digest.hexdigest()[:20]
        name = self._name(f"plans/{plan}.parquet")
        if not storage.exists(name):
            columns = {"key": [unit.key for unit in units], "inputs": inputs}
            storage.create_once(
                name, _parquet(pa.table(columns, pa.schema([("key", pa.string()), ("inputs", pa.string())])))
            )
        return plan

    def planned(self, plan: str) -> list[str] | None:
        """The keys of a plan in order; None if there is no such plan."""
        name = self._name(f"plans/{plan}.parquet")
        if not storage.exists(name):
            return None
        keys: list[str] = _table(storage.read_bytes(name), ["key"])["key"].to_pylist()
        return keys

    def results(self, plan: str) -> Results | None:
        """The results of a plan; None if it is not complete."""
        name = self._name(f"results/{plan}.parquet")
        if not storage.exists(name):
            return None
        return read_results(storage.read_bytes(name))

    def finish(self, plan: str, collected: "Collected", keys: Sequence[str]) -> Results:
        """Record the results of a plan, all of whose units are in `collected`."""
        table = collected.table(keys)
        content = _parquet(table)
        storage.create_once(self._name(f"results/{plan}.parquet"), content)
        return _as_results(table)

    def partial(self, plan: str) -> Results | None:
        """The results so far of a plan that is not complete; None if there is no such plan."""
        keys = self.planned(plan)
        return None if keys is None else self.finished(self.collect(keys), keys)

    def finished(self, collected: "Collected", keys: Sequence[str]) -> Results:
        """The results of those units that are done."""
        return _as_results(collected.table([key for key in keys if key in collected.units]), complete=False)

    # ------------------------------------------------------------- commits

    def collect(self, keys: Iterable[str]) -> "Collected":
        """What is committed of units with these keys."""
        collected = Collected(self.name, keys)
        there = {name.removesuffix(".json") for name in storage.list_dir(self._name("commits"))}
        for key in collected.times:
            if key in there:
                collected.add(self.committed(key))
        return collected

    def committed(self, key: str) -> Commit:
        return Commit.from_json(json.loads(storage.read_bytes(self._name(f"commits/{key}.json"))))

    def commit(self, commit: Commit) -> bool:
        """Make a unit count; its outputs are safe. False if another attempt was first: then these are orphans."""
        record = json.dumps(commit.to_json(), sort_keys=True, separators=(",", ":")).encode()
        return storage.create_once(self._name(f"commits/{commit.key}.json"), record)

    def check(self, results: Results) -> None:
        """Raises ResumeError if an output is not there, or of another size than its commit says."""
        for name, files in results.outputs.items():
            there = self._sizes(name)
            for unit, size in enumerate(files.bytes.tolist()):
                base = files.path(unit).rpartition("/")[2]
                if there.get(base) != size:
                    raise ResumeError(
                        f"{self._name(name)}/{base}: its commit says {size} bytes, found {there.get(base, 'nothing')}. "
                        f"The run's folder was changed from outside; remove {self.run.name_of(self.name)} to do this "
                        f"stage again."
                    )

    # ------------------------------------------------------------- failures and orphans

    def fail(self, key: str, number: int, error: str, trace: str) -> None:
        record = json.dumps({"unit": number, "error": error, "traceback": trace}, indent=1)
        storage.write_atomic(self._name(f"failed/{key}.json"), record.encode())

    def failures(self) -> list[dict[str, Any]]:
        names = storage.list_dir(self._name("failed"))
        return [json.loads(storage.read_bytes(self._name(f"failed/{name}"))) for name in names]

    @property
    def failed(self) -> str:
        """The full name of the folder of failures."""
        return self._name("failed")

    def forget_failures(self) -> None:
        storage.remove_tree(self._name("failed"))

    def set_aside(self, key: str, records: Sequence[Aside]) -> None:
        """Record all that attempts at a unit leave out."""
        record = json.dumps([each.to_json() for each in records], indent=1)
        storage.write_atomic(self._name(f"aside/{key}.json"), record.encode())

    def aside(self) -> dict[str, tuple[Aside, ...]]:
        """Unit's key -> what `set_aside` recorded."""
        names = storage.list_dir(self._name("aside"))
        records = {name.removesuffix(".json"): self._name(f"aside/{name}") for name in names}
        return {key: tuple(map(Aside.from_json, json.loads(storage.read_bytes(name)))) for key, name in records.items()}

    def forget_aside(self) -> int:
        """Have the units whose records were set aside done again, with these; returns how many units these are.

        What is left after a crash in the middle is as good as before: results are made of commits again.
        """
        units = self.aside()
        for name in storage.list_dir(self._name("results")) if units else ():
            storage.remove(self._name(f"results/{name}"))
        for key in units:
            for name in (f"commits/{key}.json", f"aside/{key}.json"):
                if storage.exists(self._name(name)):
                    storage.remove(self._name(name))
        return len(units)

    def remove_orphans(self, collected: "Collected") -> None:
        """Remove the files of attempts that no commit names. Only while no worker is at work on the stage.

        collected   all that is committed of the present plan; commits of other plans are looked up
        """
        if not self.run.is_local:
            return
        attempts = collected.attempts()
        for folder in storage.list_dir(self._name("")):
            if folder == "tmp":
                storage.remove_tree(self._name("tmp"))
            elif folder not in BOOKS and not folder.endswith(".json"):
                for file in self._sizes(folder):
                    key, _, rest = file.partition("-")
                    if key not in attempts:
                        name = self._name(f"commits/{key}.json")
                        attempts[key] = self.committed(key).attempt if storage.exists(name) else ""
                    if rest.partition(".")[0] != attempts[key]:
                        storage.remove(self._name(f"{folder}/{file}"))

    def _sizes(self, output: str) -> dict[str, int]:
        return storage.list_sizes(self._name(output))

    def _name(self, relative: str) -> str:
        return self.run.name_of(f"{self.name}/{relative}".rstrip("/"))


class Collected:
    """Commits on their way to results, held as compact as they can be: 500 bytes a unit.

    facts   the sum over the units so far; a commit that several units share counts for each
    """

    def __init__(self, folder: str, keys: Iterable[str]) -> None:
        self.folder = folder
        self.times: dict[str, int] = {}
        for key in keys:
            self.times[key] = self.times.get(key, 0) + 1
        self.units: dict[str, bytes] = {}
        self.facts: Facts = {}
        self._count = 0

    def __len__(self) -> int:
        """Units of the plan that are done."""
        return self._count

    def add(self, commit: Commit) -> None:
        if commit.key in self.units:
            return
        outputs = {
            name: [output.path.rpartition(commit.attempt)[2], output.rows, output.bytes, output.checksum]
            for name, output in commit.outputs.items()
        }
        record = [commit.attempt, outputs, commit.notes, commit.seconds, commit.memory]
        self.units[commit.key] = json.dumps(record).encode()
        merge(self.facts, commit.facts, self.times[commit.key])
        self._count += self.times[commit.key]

    def attempts(self) -> dict[str, str]:
        """key -> the attempt that counts."""
        return {key: json.loads(record)[0] for key, record in self.units.items()}

    def table(self, keys: Sequence[str]) -> pa.Table:
        """Results of units with these keys, in this order, as `_as_results` reads them."""
        columns: dict[str, list[Any]] = {"attempt": [], "seconds": [], "memory": []}
        names: dict[str, str] = {}  # output -> suffix
        notes: dict[str, None] = {}
        for number, key in enumerate(keys):
            attempt, outputs, noted, seconds, memory = json.loads(self.units[key])
            columns["attempt"].append(attempt)
            columns["seconds"].append(seconds)
            columns["memory"].append(memory)
            for name, (suffix, *rest) in outputs.items():
                names.setdefault(name, suffix)
                for part, value in zip(("rows", "bytes", "checksum"), rest):
                    _column(columns, f"{name}:{part}", number).append(value)
            for name, value in noted.items():
                notes.setdefault(name)
                _column(columns, f"note:{name}", number).append(value)
        for values in columns.values():
            values.extend([None] * (len(keys) - len(values)))
        arrays = {"key": pa.array(keys, pa.string())} | {name: _typed(name, v) for name, v in columns.items()}
        head = {"folder": self.folder, "outputs": names, "notes": list(notes), "facts": in_order(self.facts)}
        return pa.table(arrays).replace_schema_metadata({"corpusmill": json.dumps(head)})


def _column(columns: dict[str, list[Any]], name: str, number: int) -> list[Any]:
    values = columns.setdefault(name, [])
    values += [None] * (number - len(values))
    return values


def _typed(name: str, values: list[Any]) -> pa.Array:
    if name.endswith(":checksum"):
        return pa.array([value and bytes.fromhex(value) for value in values], pa.binary(CHECKSUM // 2))
    if name.endswith((":rows", ":bytes")) or name == "memory":
        return pa.array(values, pa.int64())
    return pa.array(values)


def read_results(content: bytes) -> Results:
    return _as_results(_table(content))


def _table(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """A Parquet file in memory, read by this thread alone: one of Arrow's that still holds these bytes when Python ends
    aborts the process (it wants Python's lock to let go of them)."""
    with pq.ParquetFile(pa.BufferReader(content), pre_buffer=False) as file:
        return file.read(columns, use_threads=False)


def _as_results(table: pa.Table, complete: bool = True) -> Results:
    head = json.loads(table.schema.metadata[b"corpusmill"])
    folder: str = head["folder"]
    keys, attempts = table["key"].to_pylist(), table["attempt"].to_pylist()
    outputs = {}
    for name, suffix in head["outputs"].items():
        paths = pa.array(
            [f"{folder}/{name}/{key}-{attempt}{suffix}" for key, attempt in zip(keys, attempts)], pa.string()
        )
        digests = (value.hex() if value is not None else None for value in table[f"{name}:checksum"].to_pylist())
        rows, sizes = (_numbers(table[f"{name}:{part}"]) for part in ("rows", "bytes"))
        outputs[name] = Files(paths, rows, sizes, pa.array(digests, pa.string()))
    notes = {name: table[f"note:{name}"].to_pylist() for name in head["notes"]}
    stage = folder.rpartition("/")[2].rpartition("-")[0]
    seconds = table["seconds"].to_numpy().astype(np.float64)
    # Earlier versions did not note the memory.
    memory = _numbers(table["memory"]) if "memory" in table.column_names else np.zeros(len(keys), np.int64)
    return Results(stage, folder, tuple(keys), head["facts"], outputs, notes, seconds, memory, complete)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.fill_null(0).to_numpy().astype(np.int64)
    return numbers


def stage_folder(name: str, fingerprint: str) -> str:
    """The name of the folder of a stage."""
    return f"{name}-{fingerprint[:8]}"


def stage_name(folder: str) -> str:
    """The stage that a folder is of.

    >>> stage_name(stage_folder("pass-1", "3fa2b1c4d5"))
    'pass-1'
    """
    return folder.rpartition("-")[0]


def plain(value: Any) -> Any:
    """Inputs of a unit as JSON: dataclasses are lists of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, part.name)) for part in fields(value)]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a unit's inputs must be plain data, got {type(value).__name__}")


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _json(value: Any) -> bytes:
    return _escaped(json.dumps(value, indent=1, ensure_ascii=False))


def _escaped(text: str) -> bytes:
    r"""JSON as UTF-8. What of a name is not UTF-8 is a lone surrogate in Python, and as "\udcff" one in JSON, too."""
    return text.encode("utf-8", "backslashreplace")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_full(name: str) -> bool:
    return "://" in name or Path(name).is_absolute()
