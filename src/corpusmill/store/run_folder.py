"""The folder of a run: with `stage_folder`, all that knows what is where in it.

    RUN/
        .corpusmill, written.json   what in the folder is the run's own, see `owned`
        run.json                    the recipe as resolved, versions, inputs
        README.md, croissant.json   the data card, if one was asked for
        collection.json             inputs that were added and removed, see `collection`
        stages.json                 which stages make up the run, and the plan of each
        stages/NAME-PRINT/          one a stage; PRINT is the fingerprint of its work
            work.json               what that fingerprint is made of
            plans/PLAN.parquet      the units of one plan, in order: keys and inputs
            commits/KEY.json        a unit is done: its outputs, counts, checksums
            results/PLAN-SUM.parquet  all units of a plan are done: their outputs in columns
            failed/KEY.json         a unit failed in every attempt: error and traceback
            aside/KEY.json          records of a unit that ended every attempt at it: they are left out of it
            leases/KEY-N.json       the worker that was the N-th to take a unit, while workers share the stage
            damaged/                commits and results of which something was found damaged
            docs/ signals/ …        outputs, files named KEY-ATTEMPT; only those that a commit names count
        inputs/NAME-CHECKSUM/       documents that were in memory, as the run reads them
        output/                     what the recipe writes, under lasting names
        waterfall.json report.html  what happened
        log.txt                     what was printed meanwhile, with the time
        forgotten.json, forget/     documents that it must leave out from now on, and what was done each time
        answers/                what language models have said, see `inference.answer_log`
    workers/ leases/            workers that share the run, see `leases`
    finished.json               the stages whose outputs are published, verified and reported by such workers

A run folder is a place: a local folder, or the URL of one in an object store. Local files are mapped where they are.
Remote ones are read through a cache of bounded size on this machine (see `node_cache`), and written here first: a unit
uploads its outputs before it commits.

Everything that makes work count (plans, commits, results) is created once and never changed. Two plans of one stage can
share units: those whose keys are equal.

Each of these records says whether it is as it was written: a plan is named for what it holds, results have their
checksum in their name, a commit begins with its own. One that is not raises DamagedRecord; who carries out a run sets
it aside, and its units are done again.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Any

import xxhash

from corpusmill import storage, system
from corpusmill.errors import CorpusmillError, InputError, ResumeError, StorageError
from corpusmill.store import owned
from corpusmill.store.arrays import memory
from corpusmill.store.node_cache import FetchedBlocks, NodeCache
from corpusmill.store.run_records import UNREADABLE, DamagedRecord, as_json, is_stage, read_json
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.units import Results

RUN, WATERFALL, REPORT = "run.json", "waterfall.json", "report.html"
OUTPUT, STAGES, INPUTS = "output", "stages", "inputs"
DATED = 946_684_800 * 10**9  # nanoseconds: 2000-01-01. A unit is known by the date of its files
UNSAFE = re.compile(r"[^\w.-]")  # in the name of a file
STAGES_RECORD, FINISHED, COLLECTION = "stages.json", "finished.json", "collection.json"
CANARIES_RECORD = "canaries.json"
TRAINING_RECORD = "training.json"
FORGOTTEN, FORGET = "forgotten.json", "forget"
RECORDED = {  # in RUN
    "name": str, "recipe": str, "fingerprint": str, "versions": dict, "inputs": dict, "command": list, "passes": list
}  # fmt: skip
FIND, HUB, DATASET = "find", "hub", "documents.arrow"
LOCK = ".lock"
LOG = "log.txt"
ANSWERS = "answers"


@dataclass(frozen=True)
class RecordShape:
    """A record of a run: what it must be, in words and as a check, and what stands for one that is not there."""

    description: str
    fits: Callable[[Any], bool]
    missing: Callable[[], Any] = lambda: None


def _has(name: str, kind: type) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, dict) and isinstance(record.get(name), kind)


SHAPES = {
    RUN: RecordShape(
        f"an object with {', '.join(RECORDED)}",
        lambda record: all(_has(name, kind)(record) for name, kind in RECORDED.items()),
    ),
    # The stages of the last run here, in order; `plan` is null of a stage that was not begun.
    STAGES_RECORD: RecordShape(
        "a list of {stage, folder, plan}",
        lambda stages: isinstance(stages, list) and all(map(is_stage, stages)),
        list,
    ),
    # What the stages counted; missing while the totals are not written.
    WATERFALL: RecordShape("an object", lambda record: isinstance(record, dict)),
    # Inputs that were added and removed.
    COLLECTION: RecordShape("an object with sources", _has("sources", dict), lambda: {"sources": {}, "changes": []}),
    # What the run has planted, and its stages of training; missing where there are none.
    CANARIES_RECORD: RecordShape("an object with canaries", _has("canaries", list)),
    TRAINING_RECORD: RecordShape("an object with stages", _has("stages", list)),
}
# What a run has at the top of its folder, besides what `owned` knows of.
FOLDERS = (STAGES, INPUTS, OUTPUT, HUB, FORGET, FIND, ANSWERS, "workers", "leases")
RECORDS = (
    RUN, WATERFALL, REPORT, STAGES_RECORD, FINISHED, COLLECTION, CANARIES_RECORD, TRAINING_RECORD, FORGOTTEN, DATASET,
    LOCK, LOG, owned.MARKER, owned.WRITTEN,
)  # fmt: skip
NUMBER = re.compile(r"\d+\.json")  # of a record in FORGET
KEPT_AT_RESTART = (FORGOTTEN, FORGET, ANSWERS, LOCK, owned.MARKER)  # answers have been paid for


@dataclass(frozen=True)
class RunFolder:
    """A run's folder by its place: a local path, or a URL."""

    place: str

    @staticmethod
    def at(location: "str | os.PathLike[str] | RunFolder") -> "RunFolder":
        return location if isinstance(location, RunFolder) else RunFolder(os.fspath(location))

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
        return _local(self.place, relative) or self._cache.fetch(self.name_of(relative))

    def blocks(self, relative: str) -> FetchedBlocks | None:
        """A remote file of the run of which a part is read; None if all of it is on this machine."""
        if _local(self.place, relative):
            return None
        return self._cache.blocks(self.name_of(relative))

    @property
    def keeps(self) -> int:
        """Bytes of its files that this machine keeps for the next unit, once they are read: in memory, or in the cache
        of remote ones."""
        return memory() if self.is_local else self._cache.limit

    def problem(self, relative: str, size: int, checksum: str, once: bool = False) -> str | None:
        """What is wrong with a file of the run, read to its end; None if it is as its commit says. With `once` it does
        not stay in the system's memory.

        A remote one is read as it is on this machine; if that copy is damaged, it is fetched again.

        Raises StorageError where the trouble is not with this file.
        """
        problem = self._problem(relative, size, checksum, once)
        if problem and not self.is_local:
            self._cache.forget(self.name_of(relative))
            problem = self._problem(relative, size, checksum, once)
        return problem

    def _problem(self, relative: str, size: int, checksum: str, once: bool) -> str | None:
        try:
            path = self.file(relative)
            if path.is_file() and path.stat().st_size != size:
                return f"has {path.stat().st_size} bytes, its commit says {size}"
            actual = storage.checksum(path, once)
        except InputError as error:
            return str(error).rpartition(": ")[2]
        except StorageError as error:
            if not self.is_local or error.errno not in UNREADABLE:
                raise
            return f"cannot be read ({str(error).rpartition(': ')[2]})"
        return None if actual == checksum else f"XXH3-128 is {actual[:12]}…, its commit says {checksum[:12]}…"

    def new_file(self, relative: str) -> Path:
        """Where a new file of the run is to be written on this machine; see `keep`."""
        path = self.place_of(relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def place_of(self, relative: str) -> Path:
        """Where `new_file` is, whose folder need not be there."""
        return self.path / relative if self.is_local else self._cache.draft(self.name_of(relative))

    def keep(self, relative: Sequence[str]) -> None:
        """Make files of `new_file` survive a loss of power, with their names, or the loss of this machine."""
        if self.is_local:
            paths = [self.path / name for name in relative]
            waits = [partial(system.sync_file, path) for path in paths]
            waits += [partial(system.sync_folder, folder) for folder in {path.parent for path in paths}]
        else:
            waits = [partial(self._cache.upload, self.name_of(name)) for name in relative]
        # Together: a file system with a journal writes it once for all who wait, and a store answers in parallel.
        with ThreadPoolExecutor(max(len(waits), 1)) as pool:
            for upload in [pool.submit(wait) for wait in waits]:
                upload.result()

    @cached_property
    def _cache(self) -> NodeCache:
        return NodeCache.at(self.place)

    def exists(self) -> bool:
        """Whether there is a run here."""
        return storage.exists(self.name_of(RUN))

    def record(self) -> dict[str, Any]:
        """What run.json says. Raises InputError if there is no run here, ResumeError if it is damaged, or if a newer
        version wrote it."""
        if not self.exists():
            raise InputError(f"{self.place}: no run here (there is no {RUN}). `corpusmill run RECIPE` makes one.")
        record: dict[str, Any] = self.read(RUN)
        return record

    def damaged_records(self) -> list[DamagedRecord]:
        """Those records of the whole run that are damaged: every run writes them again."""
        damaged = []
        for name in (RUN, STAGES_RECORD, WATERFALL) if self.exists() else ():
            try:
                self.read(name)
            except DamagedRecord as error:
                damaged.append(error)
        return damaged

    def read(self, name: str) -> Any:
        """What a record of SHAPES says, or what stands for one that is not there. Raises DamagedRecord."""
        shape, full = SHAPES[name], self.name_of(name)
        if not storage.exists(full):
            return shape.missing()
        record = read_json(full)
        if name == RUN and isinstance(record, dict):  # 0.9 wrote no number
            versions = record.get("versions")
            wrote = versions.get("corpusmill") if isinstance(versions, dict) else None
            owned.refuse_unknown(full, record.get("format", 1), wrote)
        if not shape.fits(record):
            raise DamagedRecord(full, f"not {shape.description}")
        return record

    def write(self, name: str, record: Any) -> None:
        """Write a record; None removes it."""
        if record is None:
            storage.remove(self.name_of(name))
        else:
            storage.write_atomic(self.name_of(name), as_json(record))

    def append(self, name: str, data: bytes) -> None:
        """Append to a file of the run; in an object store it is written anew."""
        if self.is_local:
            with (self.path / name).open("ab") as file:
                file.write(data)
        else:
            full = self.name_of(name)
            before = storage.read_bytes(full) if storage.exists(full) else b""
            storage.write_atomic(full, before + data)

    def is_published(self, where: Mapping[str, tuple[str, str]]) -> bool:
        """Whether what these stages left was published, verified and reported, and nothing else since.

        where   stage -> its folder's name, and the plan
        """
        name = self.name_of(FINISHED)
        return storage.exists(name) and storage.read_bytes(name) == as_json(where)

    def mark_published(self, where: Mapping[str, tuple[str, str]]) -> None:
        storage.write_atomic(self.name_of(FINISHED), as_json(where))

    def begin_together(self, stages: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> None:
        """Write the stages and the record of a run, each if it is not there: of several drivers the first does."""
        storage.create_once(self.name_of(STAGES_RECORD), as_json(stages))
        storage.create_once(self.name_of(RUN), as_json(record))

    def add_stages(self, stages: Sequence[Mapping[str, Any]]) -> None:
        """Note the plans of stages that have begun, beside those that other drivers have noted.

        Nothing is written that is there already, so one that is behind takes nothing away; what is lost where two write
        at the same moment, whoever comes to the end notes again. Raises ResumeError if another plan is noted.
        """
        plan_of = {entry["folder"]: entry["plan"] for entry in self.read(STAGES_RECORD)}
        for entry in stages:
            before = plan_of.get(entry["folder"])
            if before and entry["plan"] and before != entry["plan"]:
                raise ResumeError(
                    f"{self.place}: {entry['stage']} was planned from other input than there is now: were files added, "
                    f"changed or removed since? Put them back; or stop all workers and plan the run again with "
                    f"corpusmill work RECIPE --folder {quote(self.place)} --prepare."
                )
        merged = [{**entry, "plan": entry["plan"] or plan_of.get(entry["folder"])} for entry in stages]
        if any(plan_of.get(entry["folder"], "") != entry["plan"] for entry in merged):
            self.write(STAGES_RECORD, merged)

    def results(self) -> dict[str, Results]:
        """What the stages of the last run left, so far: stages that were not begun are left out."""
        results = {}
        for entry in self.read(STAGES_RECORD):
            folder, plan = self.stage(entry["folder"]), entry["plan"]
            stage_results = folder.results(plan) if plan is not None else None
            if stage_results is None and plan is not None:
                stage_results = folder.partial(plan)
            if stage_results is not None:
                results[entry["stage"]] = stage_results
        return results

    @property
    def report(self) -> str:
        """The full name of the report."""
        return self.name_of(REPORT)

    def write_report(self, page: str) -> None:
        storage.write_atomic(self.report, page.encode())

    def card_file(self, name: str) -> str:
        """The full name of a file of the data card, beside the report."""
        return self.name_of(name)

    def stage_of(self, results: Results) -> StageFolder:
        """The folder that results are in."""
        return StageFolder(self.place, results.folder)

    def stage(self, name: str) -> StageFolder:
        """A stage by the name of its folder: `pass-1-3fa2b1c4`."""
        return StageFolder(self.place, f"{STAGES}/{name}")

    def stage_folders(self) -> list[str]:
        """The names of the folders of all stages that were ever begun here."""
        return storage.list_dir(self.name_of(STAGES))

    def forget_aside(self) -> int:
        """Have the next run try again what was set aside, in all stages; returns how many units that concerns."""
        return sum(self.stage(name).forget_aside() for name in self.stage_folders())

    # ------------------------------------------------------------- what was in memory

    def input(self, name: str) -> str:
        """The relative name of a file of input that the run itself has written, see `add_input`."""
        return f"{INPUTS}/{name}"

    def add_input(self, prefix: str, file_name: str, chunks: Iterable[bytes]) -> tuple[str, bool]:
        """Write a file into a folder of inputs that is named for what it holds. Returns the file's full name, and False
        if there is one of this name and size already.

        prefix   what the folder's name begins with; the rest is the XXH3-128 of the content
        """
        draft = self.new_file(self.input(f"{storage.TEMPORARY}{uuid.uuid4().hex}"))
        digest = xxhash.xxh3_128()
        try:
            with draft.open("xb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
            folder = self.name_of(self.input(input_folder(prefix, digest.hexdigest())))
            name = storage.join(folder, file_name)
            if storage.list_sizes(folder).get(file_name) == draft.stat().st_size:
                return name, False
            self.take_input(draft, name)
            return name, True
        finally:
            draft.unlink(missing_ok=True)

    def take_input(self, draft: Path, name: str) -> None:
        """Give a file that was written on this machine its full name among the inputs, and the date of all of them."""
        if self.is_local:
            os.utime(draft, ns=(DATED, DATED))
            system.sync_file(draft)
            storage.move(str(draft), name)
        else:
            storage.upload(draft, name)

    # ------------------------------------------------------------- output

    def outputs(self) -> list[str]:
        """The names of the folders of output that are there, without what others have put beside them."""
        names = {*storage.list_dir(self.name_of(OUTPUT)), *(name.partition("/")[0] for name in self.noted_output)}
        own = {name.partition("/")[0] for name in self.has_published()}
        return sorted(names & own if own else names)

    def output(self, name: str) -> str:
        """The full name of one folder of output."""
        return self.name_of(f"{OUTPUT}/{name}")

    def output_folder(self, name: str) -> Path:
        """One folder of output as a folder of this machine; a remote one is fetched, all of it."""
        if self.is_local:
            return self.path / OUTPUT / name
        files = (file.partition("/")[2] for file in self.noted_output if file.startswith(f"{name}/"))
        return self._cache.fetch_folder(self.output(name), files)

    def has_published(self) -> set[str]:
        """The files of output that are the run's own, by their names below it."""
        return {name.partition("/")[2] for name in owned.written_files(self.place) if name.startswith(f"{OUTPUT}/")}

    def refuse_other_output(self) -> None:
        """Raises RefusedFolder if there are files in the output that the run has not written."""
        own = owned.written_files(self.place)
        foreign = [name for name in owned.files_below(self.place, OUTPUT) if name not in own]
        earlier = "" if own else f" If an earlier version of corpusmill wrote them, remove {self.name_of(OUTPUT)}."
        why = "its output has files that no record of this run names, and what is published would replace them"
        owned.refuse(
            self.place, foreign, f"{why}. Move them elsewhere and run the same command again.{earlier} They are"
        )

    @cached_property
    def noted_output(self) -> set[str]:
        """The files of output that were written through this object, in a store: a listing may be behind."""
        return set()

    # ------------------------------------------------------------- the whole folder

    def refuse_if_not_its_own(self) -> None:
        """Raises RefusedFolder if the folder is no run's and not empty, or if its output has files of others."""
        if owned.is_marked(self.place) or (self.exists() and self._is_of_a_run()):
            self.refuse_other_output()
            return
        names = owned.names_in(self.place)
        # Asked after the listing: who takes the folder at this moment marks it before all else.
        if not set(names) <= {FORGOTTEN, FORGET, LOCK} and not owned.is_marked(self.place):
            why = "this folder is not a run's, so nothing in it is touched. Name a new one, as in --folder"
            owned.refuse(self.place, names, f"{why} {storage.join(self.place, 'run')}. It holds")

    def _is_of_a_run(self) -> bool:
        """Whether run.json is one of ours: of a run that has no mark yet, because an earlier version made it."""
        try:
            self.record()
        except CorpusmillError:
            return False
        return True

    def make(self) -> None:
        """Make the folder, or take one that is empty. Raises RefusedFolder if something else is in it."""
        if owned.is_marked(self.place):
            return
        self.refuse_if_not_its_own()
        try:
            owned.mark(self.place)
        except InputError as error:
            raise StorageError(f"run.folder: {self.place} cannot be made: {error}") from error

    def add_manifest(self, content: bytes) -> str:
        """Record what was done to forget; returns the full name of the record, which has a number that none had before
        of those that are there."""
        numbers = [
            int(name.removesuffix(".json")) for name in storage.list_dir(self.name_of(FORGET)) if NUMBER.fullmatch(name)
        ]
        for number in count(max(numbers, default=0) + 1):
            name = self.name_of(f"{FORGET}/{number:04d}.json")
            if storage.create_once(name, content):
                return name
        raise AssertionError

    def work_parts(self) -> list[str]:
        """The full names of what is there besides the output and the records: what the run was made with, and what
        was made of it for questions."""
        names = (STAGES, INPUTS, FIND, ANSWERS, STAGES_RECORD, FINISHED, DATASET, LOG)
        return [self.name_of(name) for name in names if storage.exists(self.name_of(name))]


def input_folder(source: str, digest: str) -> str:
    """The name of a folder of inputs: for its source, and for what is in it."""
    return f"{UNSAFE.sub('_', source)[:60]}-{digest}"


def _is_full(name: str) -> bool:
    return "://" in name or Path(name).is_absolute()


@lru_cache(maxsize=1 << 14)  # a unit of a corpus step opens thousands of files, more than once
def _local(location: str, relative: str) -> Path | None:
    """The path of a file of a run; None if it is no file of this machine."""
    name = relative if _is_full(relative) else storage.join(location, relative)
    return Path(storage.local_path(name)) if storage.is_local(name) else None
