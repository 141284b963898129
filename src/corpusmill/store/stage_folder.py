"""The folder of a stage in a run: its plans, the commits of its units, their results, and what failed or was damaged.

`run_folder` has the names of all of it.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import xxhash

from corpusmill import storage
from corpusmill.errors import ResumeError
from corpusmill.store.run_records import (
    CollectedCommits,
    DamagedFile,
    DamagedRecord,
    as_json,
    as_results,
    asides,
    escaped,
    first_line,
    parquet,
    plain,
    plan_name,
    read_json,
    read_record,
    read_results,
    read_table,
    sealed,
    unsealed,
)
from corpusmill.store.units import Commit, QuarantinedRecord, Results, Unit

DAMAGED = "damaged"
FREED = "freed"  # an empty file in the folder of an output whose files a finished run does without
_lately: dict[str, str] = {}  # results/PLAN -> the file that this process wrote: a store's listing may be behind
# Folders of a stage that are not outputs.
ATTEMPT = re.compile(r"[^-.]+-[0-9a-f]{8}(\.|$)")  # the file of an attempt at a unit
BOOKS = ("plans", "commits", "results", "failed", "aside", "leases", "tmp", DAMAGED)


@dataclass(frozen=True)
class StageFolder:
    """The folder of a stage. `name` is relative to `place`, the run's folder."""

    place: str
    name: str

    def describe(self, work: Mapping[str, Any]) -> None:
        """Record what the fingerprint in the folder's name is made of. Raises DamagedRecord if the folder says
        something else of it."""
        name = self._name("work.json")
        if not storage.create_once(name, as_json(work)) and read_record(name) != as_json(work):
            raise DamagedRecord(name, "it does not match the fingerprint in the folder's name")

    def is_begun(self) -> bool:
        """Whether the stage was begun here."""
        return storage.exists(self._name("work.json"))

    def description(self) -> dict[str, Any] | None:
        """What `describe` recorded; None if the stage was never begun here. Raises DamagedRecord."""
        if not self.is_begun():
            return None
        name = self._name("work.json")
        record = read_json(name)
        if not isinstance(record, dict) or any(part not in record for part in ("work", "code", "libraries")):
            raise DamagedRecord(name, "it describes no work")
        return record

    # ------------------------------------------------------------- plans and results

    def plan(self, units: Sequence[Unit]) -> str:
        """Record a plan; returns its name, which changes with the keys, inputs and order of its units.

        Raises DamagedRecord if there is a plan of this name that holds something else.
        """
        keys = [unit.key for unit in units]
        inputs = [escaped(json.dumps(plain(unit.inputs), ensure_ascii=False)).decode() for unit in units]
        plan = plan_name(keys, inputs)
        name = self._name(f"plans/{plan}.parquet")
        if storage.exists(name):
            self.planned(plan)
        else:
            columns = {"key": keys, "inputs": inputs}
            storage.create_once(
                name, parquet(pa.table(columns, pa.schema([("key", pa.string()), ("inputs", pa.string())])))
            )
        return plan

    def planned(self, plan: str) -> list[str] | None:
        """The keys of a plan in order; None if there is no such plan. Raises DamagedRecord."""
        name = self._name(f"plans/{plan}.parquet")
        if not storage.exists(name):
            return None
        content = read_record(name)
        try:
            table = read_table(content, ["key", "inputs"])
            keys: list[str] = table["key"].to_pylist()
            is_sound = plan_name(keys, table["inputs"].to_pylist()) == plan
        except (pa.ArrowException, OSError, ValueError, KeyError, AttributeError) as error:
            raise DamagedRecord(name, f"it cannot be read ({first_line(error)})") from error
        if not is_sound:
            raise DamagedRecord(name, "it does not match the checksum in its name")
        return keys

    def results(self, plan: str) -> Results | None:
        """The results of a plan; None if it is not complete. Raises DamagedRecord."""
        names = [name for name in storage.list_dir(self._name("results")) if name.startswith(f"{plan}-")]
        lately = _lately.get(self._name(f"results/{plan}"))
        if not names and lately and storage.exists(self._name(f"results/{lately}")):
            names = [lately]
        return self._read_results(names[0]) if names else None

    def is_complete(self, plan: str) -> bool:
        """Whether there are results of a plan, sound or not."""
        return any(name.startswith(f"{plan}-") for name in storage.list_dir(self._name("results")))

    def _read_results(self, file: str) -> Results:
        name = self._name(f"results/{file}")
        content = read_record(name)
        if xxhash.xxh3_128_hexdigest(content) != file.partition("-")[2].removesuffix(".parquet"):
            raise DamagedRecord(name, "its checksum is not the one in its name")
        return read_results(content)

    def finish(self, plan: str, collected: CollectedCommits, keys: Sequence[str]) -> Results:
        """Record the results of a plan, all of whose units are in `collected`."""
        table = collected.table(keys)
        content = parquet(table)
        file = f"{plan}-{xxhash.xxh3_128_hexdigest(content)}.parquet"
        storage.create_once(self._name(f"results/{file}"), content)
        if not storage.is_local(self.place):
            _lately[self._name(f"results/{plan}")] = file
        return as_results(table)

    def partial(self, plan: str) -> Results | None:
        """The results so far of a plan that is not complete; None if there is no such plan."""
        keys = self.planned(plan)
        return None if keys is None else self.finished(self.collect(keys), keys)

    def finished(self, collected: CollectedCommits, keys: Sequence[str]) -> Results:
        """The results of those units that are done."""
        return as_results(collected.table([key for key in keys if key in collected.units]), complete=False)

    # ------------------------------------------------------------- commits

    def collect(
        self, keys: Iterable[str], on_damage: Callable[[DamagedRecord], None] | None = None
    ) -> CollectedCommits:
        """What is committed of units with these keys.

        on_damage   is called with each record that is damaged, whose unit is left out; without it, they are raised
        """
        collected = CollectedCommits(self.name, keys)
        committed = self.committed_keys()
        for key in collected.times:
            if key in committed:
                try:
                    collected.add(self.committed(key))
                except DamagedRecord as error:
                    if on_damage is None:
                        raise
                    on_damage(error)
        return collected

    def committed(self, key: str) -> Commit:
        """The commit of a unit. Raises DamagedRecord."""
        return self._commit(f"commits/{key}.json", key)

    def _commit(self, relative: str, key: str) -> Commit:
        name = self._name(relative)
        try:
            commit = Commit.from_json(unsealed(read_record(name)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedRecord(name, f"it is no sound commit ({first_line(error)})") from error
        if commit.key != key:
            raise DamagedRecord(name, f"it is the commit of another unit, {commit.key}")
        return commit

    def commit(self, commit: Commit) -> bool:
        """Make a unit count; its outputs are safe. False if another attempt was first: then these are orphans."""
        return storage.create_once(self._name(f"commits/{commit.key}.json"), sealed(commit.to_json()))

    def is_committed(self, key: str) -> bool:
        return storage.exists(self._name(f"commits/{key}.json"))

    def committed_keys(self) -> set[str]:
        """All units of this stage that are committed, of other plans too, by a listing."""
        return {name.removesuffix(".json") for name in storage.list_dir(self._name("commits"))}

    def check(self, results: Results) -> None:
        """Raises ResumeError if an output is not there, or of another size than its commit says."""
        for damaged in self.resized(results):
            raise ResumeError(
                f"{storage.join(self.place, damaged.path)}: {damaged.problem}. The run's folder was changed from "
                f"outside, or copied in part. Run the recipe again: the unit that wrote this file is done again."
            )

    def resized(self, results: Results, freed_too: bool = False) -> list[DamagedFile]:
        """The outputs that are not there, or of another size than their commits say, by a listing of the folder. Those
        that were freed need not be there: whoever reads them compares them before, and finds out."""
        damaged = []
        for name, files in results.outputs.items():
            sizes = self._sizes(name)
            if FREED in sizes and not freed_too:
                continue
            for unit, size in enumerate(files.bytes.tolist()):
                path = storage.join(self.place, files.path(unit))
                base = path.rpartition("/")[2]
                if sizes.get(base) != size and not storage.is_local(self.place):  # a store's listing may be behind
                    sizes |= {base: actual} if (actual := storage.size_of(path)) else {}
                if sizes.get(base) != size:
                    state = f"has {sizes[base]} bytes" if base in sizes else "is not there"
                    problem = f"{state}, its commit says {size}"
                    damaged.append(DamagedFile(results.keys[unit], files.path(unit), problem))
        return damaged

    def is_freed(self, output: str) -> bool:
        """Whether `free` has removed the files of an output, and they were not made again."""
        return storage.exists(self._name(f"{output}/{FREED}"))

    def free(self, output: str) -> None:
        """Remove the files of an output. If one is read again, its units are done again. Killed at any moment, the same
        call completes it."""
        storage.write_atomic(self._name(f"{output}/{FREED}"), b"")
        self.remove_files(f"{output}/{file}" for file in self._sizes(output) if file != FREED)

    def make_again(self, outputs: Iterable[str]) -> list[str]:
        """Those of the outputs that were freed; from now on their files are missing."""
        freed = [output for output in outputs if self.is_freed(output)]
        for output in freed:
            storage.remove(self._name(f"{output}/{FREED}"))
        return freed

    # ------------------------------------------------------------- what was found damaged

    def put_away(self, name: str) -> None:
        """Move a record, by its full name, to the damaged ones: it counts no longer."""
        base = name.rpartition("/")[2]
        numbers = [
            int(earlier.removeprefix(base).removeprefix(".") or 0)
            for earlier in storage.list_dir(self._name(DAMAGED))
            if earlier == base or earlier.removeprefix(f"{base}.").isdecimal()
        ]
        number = max(numbers, default=-1) + 1  # not their count: one may have been taken away
        storage.move(name, self._name(f"{DAMAGED}/{base}{f'.{number}' if number else ''}"))

    def forget_units(self, keys: Iterable[str]) -> None:
        """Have units done again: their commits, and all results that they are in, count no longer."""
        removed = set(keys)
        for file in storage.list_dir(self._name("results")):
            try:
                is_in = not removed.isdisjoint(self._read_results(file).keys)
            except DamagedRecord:
                is_in = True
            if is_in:  # first: while they are there, commits are not looked at
                self.put_away(self._name(f"results/{file}"))
        for key in sorted(removed):
            if storage.exists(self._name(f"commits/{key}.json")):
                self.put_away(self._name(f"commits/{key}.json"))

    def earlier(self) -> dict[str, Commit]:
        """key -> the commit that was set aside last, of those that are sound themselves: what the unit wrote before."""
        files: list[tuple[str, int, str]] = []
        for file in storage.list_dir(self._name(DAMAGED)):
            key, dot, number = file.partition(".json")
            if dot:
                files.append((key, int(number.lstrip(".") or 0), file))
        commits = {}
        for key, _, file in sorted(files):
            with contextlib.suppress(DamagedRecord):
                commits[key] = self._commit(f"{DAMAGED}/{file}", key)
        return commits

    # ------------------------------------------------------------- failures and orphans

    def fail(self, key: str, number: int, error: str, trace: str, workers: Sequence[str] = ()) -> None:
        """Note a unit that failed in every attempt.

        workers   of several that share the stage, those that have tried it
        """
        about = {"unit": number, "error": error, "traceback": trace} | ({"workers": list(workers)} if workers else {})
        record = json.dumps(about, indent=1)
        storage.write_atomic(self._name(f"failed/{key}.json"), record.encode())

    def failures(self) -> list[dict[str, Any]]:
        names = storage.list_dir(self._name("failed"))
        return [read_json(self._name(f"failed/{name}")) for name in names]

    def failures_by_key(self) -> dict[str, dict[str, Any]]:
        """Unit's key -> what `fail` noted."""
        failures = {}
        for name in storage.list_dir(self._name("failed")):
            with contextlib.suppress(DamagedRecord):  # it is just being replaced, or removed
                failures[name.removesuffix(".json")] = read_json(self._name(f"failed/{name}"))
        return failures

    @property
    def failed(self) -> str:
        """The full name of the folder of failures."""
        return self._name("failed")

    def forget_failures(self) -> None:
        storage.remove_tree(self._name("failed"))

    def set_aside(self, key: str, records: Sequence[QuarantinedRecord]) -> None:
        """Record all that attempts at a unit leave out."""
        record = json.dumps([item.to_json() for item in records], indent=1)
        storage.write_atomic(self._name(f"aside/{key}.json"), record.encode())

    def aside(self) -> dict[str, tuple[QuarantinedRecord, ...]]:
        """Unit's key -> what `set_aside` recorded. Raises DamagedRecord."""
        names = storage.list_dir(self._name("aside"))
        records = {name.removesuffix(".json"): self._name(f"aside/{name}") for name in names}
        return {key: asides(name) for key, name in records.items()}

    def aside_of(self, key: str) -> tuple[QuarantinedRecord, ...]:
        """What `set_aside` recorded of one unit. Raises DamagedRecord."""
        name = self._name(f"aside/{key}.json")
        return asides(name) if storage.exists(name) else ()

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

    def remove_orphans(self, collected: CollectedCommits) -> None:
        """Remove the files of attempts that no commit names. Only while no worker is at work on the stage.

        collected   all that is committed of the present plan; commits of other plans are looked up
        """
        if not storage.is_local(self.place):
            return
        attempts: dict[str, str | None] = {**collected.attempts()}
        for folder in storage.list_dir(self._name("")):
            if folder == "tmp":
                storage.remove_tree(self._name("tmp"))
            elif folder not in BOOKS and not folder.endswith(".json"):
                for file in self._sizes(folder):
                    if not ATTEMPT.match(file):  # none of ours
                        continue
                    key, _, file_suffix = file.partition("-")
                    if key not in attempts:
                        attempts[key] = self._attempt(key)
                    if attempts[key] is not None and file_suffix.partition(".")[0] != attempts[key]:
                        storage.remove(self._name(f"{folder}/{file}"))

    def of_other_plans(self, plan: str | None) -> dict[str, int]:
        """name -> bytes of the files that a plan does without: results, commits, outputs and plans of others, in the
        order in which they can be removed, so that what is left is sound at any moment. None: all but `work.json`."""
        keys = set(self.planned(plan) or ()) if plan else set()

        def others(folder: str, is_own: Callable[[str], bool]) -> dict[str, int]:
            return {f"{folder}/{file}": size for file, size in self._sizes(folder).items() if not is_own(file)}

        files = others("results", lambda file: plan is not None and file.startswith(f"{plan}-"))
        files |= others("commits", lambda file: file.removesuffix(".json") in keys)
        for folder in storage.list_dir(self._name("")):
            if folder not in BOOKS and not folder.endswith(".json"):
                files |= others(folder, lambda file: not ATTEMPT.match(file) or file.partition("-")[0] in keys)
        return files | others("plans", lambda file: file.removesuffix(".parquet") == plan)

    def strangers(self) -> list[str]:
        """The names of files that no attempt at a unit wrote, beside the stage's own records."""
        names = [name for name in self._sizes("") if not name.endswith(".json")]
        for folder in set(storage.list_dir(self._name(""))) - {*BOOKS, *self._sizes("")}:
            names += [
                f"{folder}/{file}"
                for file in storage.list_dir(self._name(folder))
                if not ATTEMPT.match(file) and file != FREED
            ]
        return sorted(names)

    def remove_files(self, names: Iterable[str]) -> None:
        """Remove files by their names in the folder, one after the other."""
        for name in names:
            storage.remove(self._name(name))

    def _attempt(self, key: str) -> str | None:
        """The attempt that counts of a unit, "" if none does, None if its commit is damaged and does not say."""
        if not storage.exists(self._name(f"commits/{key}.json")):
            return ""
        try:
            return self.committed(key).attempt
        except DamagedRecord:
            return None

    def _sizes(self, output: str) -> dict[str, int]:
        return storage.list_sizes(self._name(output))

    def _name(self, relative: str) -> str:
        return storage.join(self.place, f"{self.name}/{relative}".rstrip("/"))


def stage_folder(name: str, fingerprint: str) -> str:
    """The name of the folder of a stage."""
    return f"{name}-{fingerprint[:8]}"
