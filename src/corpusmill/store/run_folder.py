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
        forgotten.json, forget/     documents that it must leave out from now on, and what was done each time
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

import contextlib
import errno
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache, partial
from itertools import count
from pathlib import Path
from typing import IO, Any

from corpusmill import storage
from corpusmill.errors import CorpusmillError, InputError, RecipeError, RefusedFolder, ResumeError, StorageError
from corpusmill.store import owned
from corpusmill.store.arrays import memory
from corpusmill.store.node_cache import FetchedBlocks, NodeCache
from corpusmill.store.run_records import UNREADABLE, DamagedRecord, as_json, is_stage, read_json
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.units import Results

RUN, WATERFALL, REPORT = "run.json", "waterfall.json", "report.html"
OUTPUT, STAGES, INPUTS = "output", "stages", "inputs"
STAGES_RECORD, FINISHED, COLLECTION = "stages.json", "finished.json", "collection.json"
CANARIES = "canaries.json"
TRAINING = "training.json"
FORGOTTEN, FORGET = "forgotten.json", "forget"
RECORDED = {  # in RUN
    "name": str, "recipe": str, "fingerprint": str, "versions": dict, "inputs": dict, "command": list, "passes": list
}  # fmt: skip
FIND, HUB, DATASET = "find", "hub", "documents.arrow"
LOCK = ".lock"
# What a run has at the top of its folder, besides what `owned` knows of.
FOLDERS = (STAGES, INPUTS, OUTPUT, HUB, FORGET, FIND, "workers", "leases")
RECORDS = (
    RUN, WATERFALL, REPORT, STAGES_RECORD, FINISHED, COLLECTION, CANARIES, TRAINING, FORGOTTEN, DATASET, LOCK,
    owned.MARKER, owned.WRITTEN,
)  # fmt: skip
NUMBER = re.compile(r"\d+\.json")  # of a record in FORGET
STAYS = (FORGOTTEN, FORGET, LOCK, owned.MARKER)  # where a run starts anew
TIDYING = 30.0  # seconds that a worker may take at most to tidy up behind the others
# How files end that a run writes.
WRITTEN = (
    *(".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".arrays", ".bin", ".idx", ".html", ".mds"),
    *(".npy", ".csv.gz"),
)


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
        """What run.json says. Raises InputError if there is no run here, ResumeError if it is damaged."""
        if not self.exists():
            raise InputError(f"{self.place}: no run here (there is no {RUN}). `corpusmill run RECIPE` makes one.")
        record = read_json(self.name_of(RUN))
        if not isinstance(record, dict) or any(
            not isinstance(record.get(name), kind) for name, kind in RECORDED.items()
        ):
            raise DamagedRecord(self.name_of(RUN), f"it has not the {', '.join(RECORDED)} of a run")
        return record

    def damaged_records(self) -> list[DamagedRecord]:
        """Those records of the whole run that are damaged: every run writes them again."""
        damaged = []
        for ask in (self.record, self.stages_record, self.waterfall) if self.exists() else ():
            try:
                ask()
            except DamagedRecord as error:
                damaged.append(error)
        return damaged

    def write_record(self, record: Mapping[str, Any]) -> None:
        storage.write_atomic(self.name_of(RUN), as_json(record))

    def stages_record(self) -> list[dict[str, Any]]:
        """The stages of the last run here, in order: `stage`, `folder`, and the name of its `plan`, None if not
        begun. Raises DamagedRecord."""
        name = self.name_of(STAGES_RECORD)
        stages = read_json(name) if storage.exists(name) else []
        if not isinstance(stages, list) or not all(map(is_stage, stages)):
            raise DamagedRecord(name, "it is no list of stages, folders and plans")
        return stages

    def write_stages(self, stages: Sequence[Mapping[str, Any]]) -> None:
        storage.write_atomic(self.name_of(STAGES_RECORD), as_json(stages))

    def begin_together(self, stages: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> None:
        """Write the stages and the record of a run, each if it is not there: of several drivers the first does."""
        storage.create_once(self.name_of(STAGES_RECORD), as_json(stages))
        storage.create_once(self.name_of(RUN), as_json(record))

    def add_stages(self, stages: Sequence[Mapping[str, Any]]) -> None:
        """Note the plans of stages that have begun, beside those that other drivers have noted.

        Nothing is written that is there already, so one that is behind takes nothing away; what is lost where two write
        at the same moment, whoever comes to the end notes again. Raises ResumeError if another plan is noted.
        """
        there = {entry["folder"]: entry["plan"] for entry in self.stages_record()}
        for entry in stages:
            before = there.get(entry["folder"])
            if before and entry["plan"] and before != entry["plan"]:
                raise ResumeError(
                    f"{self.place}: {entry['stage']} was planned from other input than is there now: were files added, "
                    f"changed or removed since? Put them back; or stop all workers, and have the run planned anew with "
                    f"corpusmill work RECIPE --folder {self.place} --prepare."
                )
        merged = [{**entry, "plan": entry["plan"] or there.get(entry["folder"])} for entry in stages]
        if any(there.get(entry["folder"], "") != entry["plan"] for entry in merged):
            self.write_stages(merged)

    def is_published(self, where: Mapping[str, tuple[str, str]]) -> bool:
        """Whether what these stages left was published, verified and reported, and nothing else since.

        where   stage -> its folder's name, and the plan
        """
        name = self.name_of(FINISHED)
        return storage.exists(name) and storage.read_bytes(name) == as_json(where)

    def mark_published(self, where: Mapping[str, tuple[str, str]]) -> None:
        storage.write_atomic(self.name_of(FINISHED), as_json(where))

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
        """What waterfall.json says; None while the totals are not written. Raises DamagedRecord."""
        name = self.name_of(WATERFALL)
        if not storage.exists(name):
            return None
        record = read_json(name)
        if not isinstance(record, dict):
            raise DamagedRecord(name, "it is no object")
        return record

    def write_waterfall(self, record: Mapping[str, Any]) -> None:
        storage.write_atomic(self.name_of(WATERFALL), as_json(record))

    def collection(self) -> dict[str, Any]:
        """What collection.json says: `sources` and `changes`, none where nothing was added. Raises DamagedRecord."""
        name = self.name_of(COLLECTION)
        record = read_json(name) if storage.exists(name) else {"sources": {}, "changes": []}
        if not isinstance(record, dict) or not isinstance(record.get("sources"), dict):
            raise DamagedRecord(name, "it has no sources")
        return record

    def write_collection(self, record: Mapping[str, Any]) -> None:
        storage.write_atomic(self.name_of(COLLECTION), as_json(record))

    def canaries(self) -> dict[str, Any] | None:
        """What canaries.json says: what the run has planted; None if that is nothing. Raises DamagedRecord."""
        return self._manifest(CANARIES, "canaries")

    def write_canaries(self, record: Mapping[str, Any] | None) -> None:
        """None: nothing is planted any more."""
        self._write_manifest(CANARIES, record)

    def training(self) -> dict[str, Any] | None:
        """What training.json says: the stages of training; None of a run without. Raises DamagedRecord."""
        return self._manifest(TRAINING, "stages")

    def write_training(self, record: Mapping[str, Any] | None) -> None:
        """None: there are no stages any more."""
        self._write_manifest(TRAINING, record)

    def _manifest(self, file: str, entries: str) -> dict[str, Any] | None:
        """A record that has a list of entries; None if it is not there."""
        name = self.name_of(file)
        if not storage.exists(name):
            return None
        record = read_json(name)
        if not isinstance(record, dict) or not isinstance(record.get(entries), list):
            raise DamagedRecord(name, f"it has no {entries}")
        return record

    def _write_manifest(self, file: str, record: Mapping[str, Any] | None) -> None:
        if record is not None:
            storage.write_atomic(self.name_of(file), as_json(record))
        else:
            storage.remove(self.name_of(file))

    @property
    def report(self) -> str:
        """The full name of the report."""
        return self.name_of(REPORT)

    def write_report(self, page: str) -> None:
        storage.write_atomic(self.report, page.encode())

    def card_file(self, name: str) -> str:
        """The full name of a file of the data card, beside the report."""
        return self.name_of(name)

    def is_card_file(self, name: str) -> bool:
        """Whether the file is not there, or is as the run has written it."""
        there = self.card_file(name)
        if not storage.exists(there):
            return True
        return owned.written(self.place).get(name) == hashlib.sha256(storage.read_bytes(there)).hexdigest()

    def write_card_file(self, name: str, content: str) -> None:
        storage.write_atomic(self.card_file(name), content.encode())
        cards = {known: digest for known, digest in owned.written(self.place).items() if "/" not in known}
        owned.note_written(self.place, "", cards | {name: hashlib.sha256(content.encode()).hexdigest()})

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

    def add_input(self, draft: Path, relative: str, dated: int) -> bool:
        """Give a file of `new_file` its lasting name, and a date in nanoseconds where files have one. False if there is
        one of this name and size already."""
        name = self.name_of(relative)
        folder, _, base = name.rpartition("/")
        if storage.list_sizes(folder).get(base) == draft.stat().st_size:
            return False
        if self.is_local:
            os.utime(draft, ns=(dated, dated))
            storage.move(str(draft), name)
        else:
            storage.upload(draft, name)
        return True

    # ------------------------------------------------------------- output

    def outputs(self) -> list[str]:
        """The names of the folders of output that are there, without what others have put beside them."""
        there = {*storage.list_dir(self.name_of(OUTPUT)), *(name.partition("/")[0] for name in self._published)}
        own = {name.partition("/")[0] for name in self.has_published()}
        return sorted(there & own if own else there)

    def output(self, name: str) -> str:
        """The full name of one folder of output."""
        return self.name_of(f"{OUTPUT}/{name}")

    def output_folder(self, name: str) -> Path:
        """One folder of output as a folder of this machine; a remote one is fetched, all of it."""
        if self.is_local:
            return self.path / OUTPUT / name
        written = (file.partition("/")[2] for file in self._published if file.startswith(f"{name}/"))
        return self._cache.fetch_folder(self.output(name), written)

    @cached_property
    def _published(self) -> set[str]:
        """The files of output that were written through this object, in a store: a listing may be behind."""
        return set()

    def remove_output(self) -> None:
        """Remove what the run has published. Raises RefusedFolder if other files are among it."""
        self.refuse_other_output()
        self._published.clear()
        storage.remove(self.name_of(FINISHED))
        owned.remove_written(self.place, OUTPUT)
        self.will_publish(())

    def remove_output_folder(self, folder: str) -> None:
        """Remove what the run has published in one folder of output."""
        others = [name for name in self.has_published() if not name.startswith(f"{folder}/")]
        owned.remove_written(self.place, OUTPUT, [f"{OUTPUT}/{name}" for name in others])
        self.will_publish(others)

    def will_publish(self, names: Iterable[str]) -> None:
        """Record the files of output, by their names below it, that there are to be from now on."""
        owned.note_written(self.place, OUTPUT, dict.fromkeys(f"{OUTPUT}/{name}" for name in names))

    def has_published(self) -> set[str]:
        """The files of output that are the run's own, by their names below it."""
        return {name.partition("/")[2] for name in owned.written(self.place) if name.startswith(f"{OUTPUT}/")}

    def refuse_other_output(self) -> None:
        """Raises RefusedFolder if there are files in the output that the run has not written."""
        own = owned.written(self.place)
        found = [name for name in owned.files_below(self.place, OUTPUT) if name not in own]
        earlier = "" if own else f" If an earlier version of corpusmill wrote them, remove {self.name_of(OUTPUT)}."
        why = "its output has files that no record of this run names, and what is published would replace them"
        owned.refuse(self.place, found, f"{why}. Move them elsewhere and run the same command again.{earlier} They are")

    def publish(self, relative: str, folder: str, name: str) -> None:
        """Give an output of a unit a lasting name in a folder of output."""
        self._publishes(f"{folder}/{name}")
        storage.copy(self.name_of(relative), self.name_of(f"{OUTPUT}/{folder}/{name}"))

    def _publishes(self, name: str) -> None:
        if not self.is_local:
            self._published.add(name)

    def write_output(self, folder: str, name: str, content: bytes) -> None:
        """Write a small file, an index, into a folder of output."""
        self._publishes(f"{folder}/{name}")
        storage.write_atomic(self.name_of(f"{OUTPUT}/{folder}/{name}"), content)

    def make_output(self, folder: str) -> None:
        storage.make_dir(self.name_of(f"{OUTPUT}/{folder}"))

    # ------------------------------------------------------------- what is pushed

    def empty_hub(self) -> None:
        """Remove what an earlier push has put into HUB. Raises RefusedFolder if other files are there."""
        own = owned.written(self.place)
        found = [name for name in owned.files_below(self.place, HUB) if name not in own]
        why = f"{HUB}/ has files that no push has put there. Move them elsewhere. They are"
        owned.refuse(self.place, found, why)
        owned.remove_written(self.place, HUB)

    def will_push(self, names: Iterable[str]) -> tuple[str, ...]:
        """Record the files of HUB, by their names below it, that there are to be; returns them, sorted."""
        files = tuple(sorted(names))
        owned.note_written(self.place, HUB, dict.fromkeys(f"{HUB}/{name}" for name in files))
        return files

    def has_pushed(self) -> list[str]:
        return [name.partition("/")[2] for name in owned.written(self.place) if name.startswith(f"{HUB}/")]

    # ------------------------------------------------------------- the whole folder

    def refuse_if_not_its_own(self) -> None:
        """Raises RefusedFolder if the folder is no run's and not empty, or if its output has files of others."""
        if owned.is_marked(self.place) or (self.exists() and self._is_of_a_run()):
            self.refuse_other_output()
            return
        there = owned.names_in(self.place)
        # Asked after the listing: who takes the folder at this moment marks it before all else.
        if not set(there) <= {FORGOTTEN, FORGET, LOCK} and not owned.is_marked(self.place):
            why = "this folder is not a run's, so nothing in it is touched. Name a new one, as in --folder"
            owned.refuse(self.place, there, f"{why} {storage.join(self.place, 'run')}. It holds")

    def _is_of_a_run(self) -> bool:
        """Whether run.json is one of ours: of a run that has no mark yet, because an earlier version made it."""
        try:
            self.record()
        except CorpusmillError:
            return False
        return True

    def refuse_if_unusable(self, inputs: Sequence[str], places: Sequence[str]) -> None:
        """Raises RecipeError if a run cannot be, or must not be, in this folder.

        inputs   the files that the run reads
        places   what the recipe names them by: files, folders, patterns

        Raises RefusedFolder if something else is in the folder.
        """
        if not self.is_local:
            self.refuse_if_not_its_own()
            return
        folder = self.path.resolve()
        elsewhere = f"Name another folder, as in run.folder: runs/{folder.stem or 'new'}, or with --folder."
        if folder.exists() and not folder.is_dir():
            raise RecipeError(f"run.folder: {self.place} is a file, not a folder. {elsewhere}")
        above = next(place for place in (folder, *folder.parents) if place.exists())
        if not above.is_dir():
            raise RecipeError(f"run.folder: {self.place} cannot be made: {above} is a file, not a folder. {elsewhere}")
        if not os.access(above, os.W_OK | os.X_OK):
            done = "cannot be written to" if above == folder else f"cannot be made: {above} cannot be written to"
            raise RecipeError(f"run.folder: {self.place} {done}. {elsewhere}")
        if above != folder:  # by trying: /proc and some network shares allow what they then refuse
            try:
                Path(tempfile.mkdtemp(prefix=storage.TEMPORARY, dir=above)).rmdir()
            except OSError as error:
                why = error.strerror or str(error)
                raise RecipeError(
                    f"run.folder: {self.place} cannot be made: {above} takes no new folder ({why}). {elsewhere}"
                ) from error
        read = {Path(storage.local_path(name)).parent: name for name in inputs if storage.is_local(name)}
        for holding, name in read.items():
            real = holding.resolve()
            if real.parent == folder / INPUTS and owned.ROWS.fullmatch(real.name):  # the run has written it itself
                continue
            if folder in (real, *real.parents):
                raise RecipeError(
                    f"run.folder: {self.place} holds {name}, which this run reads: its files would be among its input, "
                    f"and --restart would remove both. {elsewhere}"
                )
        for place in places:
            whole = _read_whole(storage.local_path(place)) if storage.is_local(place) else None
            if whole is not None and whole.resolve() in folder.parents:
                raise RecipeError(
                    f"run.folder: {self.place} is inside what this run reads, {place}: what it writes would be input "
                    f"of the next one. {elsewhere}"
                )
        self.refuse_if_not_its_own()

    def make(self) -> None:
        """Make the folder, or take one that is empty. Raises RefusedFolder if something else is in it."""
        if owned.is_marked(self.place):
            return
        self.refuse_if_not_its_own()
        try:
            storage.make_dir(self.place)
        except InputError as error:
            raise StorageError(f"run.folder: {self.place} cannot be made: {error}") from error
        owned.mark(self.place)

    def refuse_strangers(self) -> None:
        """Raises RefusedFolder if anything below the folder is not the run's own."""
        found = owned.strangers(self.place, (*FOLDERS, *RECORDS), FOLDERS)
        why = "holds files that no record of this run names, so nothing is removed. Move them elsewhere. They are"
        owned.refuse(self.place, found, why)

    def forget(self) -> None:
        """Remove all that a run has made, for a start from nothing; but not which documents it must leave out, nor what
        was done about that. Raises RefusedFolder if something else is here, or if the run is at work."""
        self.refuse_if_not_its_own()
        if not self.exists() and not owned.is_marked(self.place):
            return
        with self.only_driver():
            self.refuse_strangers()
            owned.mark(self.place)
            for folder in (OUTPUT, HUB, ""):
                owned.remove_written(self.place, folder)
            for name in storage.list_dir(self.place):
                if name not in STAYS:
                    (storage.remove_tree if name in FOLDERS else storage.remove)(self.name_of(name))

    def forgotten_record(self) -> bytes | None:
        """Which documents the run must leave out, see `forgotten`; None: it leaves out none."""
        name = self.name_of(FORGOTTEN)
        return storage.read_bytes(name) if storage.exists(name) else None

    def write_forgotten(self, record: bytes) -> None:
        storage.write_atomic(self.name_of(FORGOTTEN), record)

    def add_manifest(self, content: bytes) -> str:
        """Record what was done to forget; returns the full name of the record, which has a number that none had before
        of those that are there."""
        taken = [
            int(name.removesuffix(".json")) for name in storage.list_dir(self.name_of(FORGET)) if NUMBER.fullmatch(name)
        ]
        for number in count(max(taken, default=0) + 1):
            name = self.name_of(f"{FORGET}/{number:04d}.json")
            if storage.create_once(name, content):
                return name
        raise AssertionError

    def work_parts(self) -> list[str]:
        """The full names of what is there besides the output and the records: what the run was made with, and what
        was made of it for questions."""
        named = (STAGES, INPUTS, FIND, STAGES_RECORD, FINISHED, DATASET)
        return [self.name_of(name) for name in named if storage.exists(self.name_of(name))]

    @contextlib.contextmanager
    def only_driver(self) -> Iterator[None]:
        """Hold the folder: two drivers at once would remove each other's unfinished files.

        Object stores have no locks: there nothing unfinished is ever removed, and two drivers do some units twice.
        """
        if not self.is_local:
            storage.remove_unfinished(self.place)
        if os.name == "nt" or not self.is_local:
            yield
            return
        import fcntl

        with self._lock_file() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                who = f"another process ({pid})" if (pid := file.read().strip()) else "workers of `corpusmill work`"
                raise RefusedFolder(
                    f"{self.place}: {who} {'is' if pid else 'are'} at work in this folder. Wait for "
                    f"{'it, stop it' if pid else 'them, stop them'}, or give this run a folder of its own."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            storage.remove_unfinished(self.place)  # of a driver that was killed
            yield
            storage.remove_unfinished(self.place)  # of workers that were
            file.truncate(0)

    @contextlib.contextmanager
    def with_others(self) -> Iterator[None]:
        """Hold the folder as one of several drivers, which remove nothing of each other. Raises RefusedFolder while a
        driver of its own has it.

        Object stores have no locks, and file systems of clusters need not have them across machines.
        """
        if os.name == "nt" or not self.is_local:
            yield
            return
        import fcntl

        with self._lock_file() as file:
            until = time.monotonic() + TIDYING
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.seek(0)
                    if not (driver := file.read().strip()) and time.monotonic() < until:
                        time.sleep(0.05)  # a worker tidies up behind the others, see `if_alone`
                        continue
                    raise RefusedFolder(
                        f"{self.place}: `corpusmill run` (process {driver or 'unknown'}) is at work in this folder. "
                        f"Wait for it, or stop it: what it has committed is not done again."
                    ) from None
                except OSError as error:
                    if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP):
                        raise
                break
            file.truncate(0)  # of a driver that was killed
            yield

    @contextlib.contextmanager
    def if_alone(self) -> Iterator[bool]:
        """Whether no other driver of this machine holds the folder, once `with_others` is left; none comes inside."""
        if os.name == "nt" or not self.is_local:
            yield False
            return
        import fcntl

        with self._lock_file() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    def _lock_file(self) -> IO[str]:
        try:
            return (self.path / LOCK).open("a+")
        except OSError as error:
            raise StorageError(f"{self.path / LOCK}: {error.strerror}. A run must write to its folder.") from error


def _read_whole(pattern: str) -> Path | None:
    """The folder of which a pattern names files at any depth that a run writes, too; None if it names others."""
    if Path(pattern).is_dir():
        return Path(pattern)
    head, deep, tail = pattern.partition("**")
    last = tail.rpartition("/")[2]
    return Path(head or ".") if deep and any(fnmatchcase(f"0{suffix}", last or "*") for suffix in WRITTEN) else None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_full(name: str) -> bool:
    return "://" in name or Path(name).is_absolute()


@lru_cache(maxsize=1 << 14)  # a unit of a corpus step opens thousands of files, more than once
def _local(place: str, relative: str) -> Path | None:
    """The path of a file of a run; None if it is no file of this machine."""
    name = relative if _is_full(relative) else storage.join(place, relative)
    return Path(storage.local_path(name)) if storage.is_local(name) else None
