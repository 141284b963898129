"""What earlier sessions left, and is damaged: found before it is read, set aside, and done again.

A session is one call that carries out a run. Sizes of all files of a complete stage are compared whenever it is met: a
listing. Bytes are compared with the checksums in the commits before a stage that has work to do reads them, by the
workers; those that this session wrote, or has compared already, are not read again. So a run that is complete reads
nothing. An output is compared for the first stage that reads it (`Stage.reads`), and what that stage reads is kept in
the page cache, as far as memory holds it. While the stage before it is at work, the system reads what will be compared.

A unit with a damaged file is forgotten: its commit and the results that hold it are set aside, and stages are gone
through again from the first. Done again it must leave the same bytes, so that what follows is still valid; where it
does not, the input has changed or a step is not deterministic, and the run ends with an error that says so.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Literal, TypeVar

from corpusmill.errors import InputError, ResumeError, StorageError
from corpusmill.execute import Executor, ignored
from corpusmill.execute.task import StageTask
from corpusmill.store.arrays import CAN_ADVISE, map_arrays
from corpusmill.store.beats import Beat
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.run_records import DamagedFile, DamagedRecord
from corpusmill.store.stage_folder import StageFolder
from corpusmill.store.unit_io import CACHED, Upstream
from corpusmill.store.units import USUAL, AttemptPosition, Commit, OutputFiles, Results, RetryPolicy, Unit, now

TOGETHER = 64 << 20  # bytes that a worker is given to compare at a time
READERS = 2  # files that a worker reads at a time: one alone does not keep a disk busy
SHOWN = 3  # damaged files in a line
PROBLEMS = "problems"
EVERYTHING: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
HELD = 0.75  # share of what this machine keeps of files that those may take that were compared, and are read next
T = TypeVar("T")
Keep = tuple[str, ...] | Literal["all", "nothing"]


class RestartStages(Exception):
    """Something damaged was set aside: stages have to be gone through again from the first."""


@dataclass(frozen=True)
class UnitsToCheck:
    """The units [first, stop) of a stage, of which an output, so many bytes, is compared with their commits.

    keep   what of each file is kept in the page cache: all, the arrays of these names, or nothing
    """

    stage: str
    output: str
    first: int
    stop: int
    bytes: int
    keep: Keep = "all"


@dataclass(frozen=True)
class CheckOutputs(StageTask):
    """Not work that is committed: outputs of earlier stages are read, and the answer says which are damaged."""

    def run_unit(
        self,
        unit: Unit,
        care: RetryPolicy = USUAL,
        at: Callable[[AttemptPosition], None] = lambda _: None,
        beat: Callable[[Beat], None] | None = None,
    ) -> Commit:
        started, part = now(), unit.inputs
        results = Upstream(self.run, self.upstream, self.session).results(part.stage)
        files, numbers = results[part.output], range(part.first, part.stop)
        with ThreadPoolExecutor(READERS) as pool:
            answers = list(pool.map(lambda number: self._problem(files, number, part.keep), numbers))
        problems = [(results.keys[i], files.path(i), problem) for i, problem in zip(numbers, answers) if problem]
        return Commit(unit.key, "", {}, {}, {PROBLEMS: json.dumps(problems)}, round(now() - started, 3))

    def _problem(self, files: OutputFiles, number: int, keep: Keep) -> str | None:
        path, once = files.path(number), keep == "nothing"
        problem = self.run.problem(path, int(files.bytes[number]), files.checksum(number), once)
        if problem is None and isinstance(keep, tuple) and self.run.is_local:
            arrays = map_arrays(self.run.file(path), scattered=True)
            for name in arrays.keys() - set(keep):
                arrays.has_read(name, 0, arrays.rows(name))
        return problem


@dataclass
class Repairs:
    """What is known to be sound, and what was not.

    done      folder of a stage -> keys of units that this session did
    compared  folder of a stage, output -> keys of units of which this session has compared it
    damaged   a sentence for each file that was found damaged
    keeps_all   whether files are wanted that a finished run does without, see `run.keep`
    """

    run: RunFolder
    note: Callable[[str], None]
    done: dict[str, set[str]] = field(default_factory=dict)
    compared: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    keeps_all: bool = True

    def committed(self, folder: StageFolder, key: str) -> None:
        """Note a unit that this session has done."""
        self.done.setdefault(folder.name, set()).add(key)

    def done_of(self, folder: StageFolder, keys: Sequence[str]) -> int:
        """How many of these units of a stage this session has done."""
        done_keys = self.done.get(folder.name, ())
        return sum(key in done_keys for key in keys)

    def sound(self, folder: StageFolder, ask: Callable[[], T]) -> T:
        """The answer to a question that reads a stage's records; those that are damaged are set aside, and it is asked
        again."""
        while True:
            try:
                return ask()
            except DamagedRecord as error:
                self.set_aside(folder, error)

    def set_aside(self, folder: StageFolder, error: DamagedRecord) -> None:
        """Set a damaged record aside, and say so."""
        folder.put_away(error.name)
        self._warn(f"{error.name}: {error.problem}", "its units are done again")

    def resized(self, folder: StageFolder, results: Results) -> list[DamagedFile]:
        """The outputs of a complete stage that are not there, or of another size."""
        return folder.resized(results, freed_too=self.keeps_all)

    def forget(self, folder: StageFolder, stage: str, files: Sequence[DamagedFile]) -> None:
        """Have the units of damaged files done again."""
        keys = {file.key for file in files}
        folder.forget_units(keys)
        self.done.get(folder.name, set()).difference_update(keys)
        for (name, _), checked in self.compared.items():
            if name == folder.name:
                checked.difference_update(keys)
        units = f"{len(keys)} units of {stage} are" if len(keys) > 1 else f"unit {next(iter(keys))} of {stage} is"
        outputs = sorted({file.path.split("/")[-2] for file in files})
        if folder.make_again(outputs) == outputs:
            self.note(
                f"{stage}: {', '.join(outputs)} removed when the run had finished (run.keep: output); "
                f"{units} done again"
            )
            return
        shown = "; ".join(f"{self.run.name_of(file.path)}: {file.problem}" for file in files[:SHOWN])
        others = f"; and {len(files) - SHOWN} more files" if len(files) > SHOWN else ""
        self._warn(shown + others, f"{units} done again")
        self.damaged += [f"{self.run.name_of(file.path)}: {file.problem}" for file in files[SHOWN:]]

    def _warn(self, damage: str, then: str) -> None:
        self.damaged.append(damage)
        self.note(f"warning: {damage}; {then}")

    def compare(
        self,
        where: Mapping[str, tuple[str, str]],
        results: Mapping[str, Results],
        executor: Executor,
        session: str,
        reads: Mapping[str, Mapping[str, tuple[str, ...]]] = EVERYTHING,
    ) -> None:
        """Compare the files of these complete stages that are not known to be sound with their commits.

        where   stage -> its folder's name, and the plan
        reads   see Stage

        Raises Repaired if some were damaged, whose units were set aside; StorageError if they cannot be read at all.
        """
        parts = self._parts_to_check(results, reads)
        if not parts:
            return
        if sum(part.bytes for part in parts) > CACHED * self.run.keeps:
            parts = list(self._as_memory_holds(parts, results, reads))
        problems: dict[str, list[DamagedFile]] = {}
        units = [Unit(number, f"check-{number}", part) for number, part in enumerate(parts)]
        stages = {unit.key: part.stage for unit, part in zip(units, parts)}

        def on_answer(answer: Commit) -> None:
            damaged_files = [DamagedFile(*problem) for problem in json.loads(str(answer.notes[PROBLEMS]))]
            problems.setdefault(stages[answer.key], []).extend(damaged_files)

        task = CheckOutputs(self.run, "", None, where, session=session)  # type: ignore[arg-type]
        for failure in executor.run(task, units, on_answer, ignored):
            raise StorageError(f"{self.run.place}: files of earlier sessions cannot be read: {failure.error}")
        for part in parts:
            keys = results[part.stage].keys[part.first : part.stop]
            self.compared.setdefault((results[part.stage].folder, part.output), set()).update(keys)
        damaged = {stage: sorted(files, key=lambda file: file.path) for stage, files in problems.items() if files}
        for stage, files in damaged.items():
            self.forget(self.run.stage(where[stage][0]), stage, files)
        if damaged:
            raise RestartStages

    @contextlib.contextmanager
    def reading_ahead(
        self, results: Mapping[str, Results], reads: Mapping[str, Mapping[str, tuple[str, ...]]]
    ) -> Iterator[None]:
        """Meanwhile the system reads what `compare` will compare, of a run on this machine, if memory holds it: a stage
        whose units calculate leaves the disk to it."""
        parts = self._parts_to_check(results, reads)
        size = sum(part.bytes for part in parts)
        if not CAN_ADVISE or not 0 < size <= CACHED * self.run.keeps:
            yield
            return
        paths = [results[part.stage][part.output].path(i) for part in parts for i in range(part.first, part.stop)]
        ended = threading.Event()

        def read() -> None:
            for path in paths:
                if ended.is_set():
                    return
                with contextlib.suppress(OSError), self.run.file(path).open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)

        thread = threading.Thread(target=read, name="reads ahead", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _parts_to_check(
        self, results: Mapping[str, Results], reads: Mapping[str, Mapping[str, tuple[str, ...]]]
    ) -> list[UnitsToCheck]:
        """The files of complete stages that are not known to be sound."""
        return [
            part
            for stage in results
            for output in reads.get(stage, results[stage].outputs)
            for part in self._unknown(results[stage], output)
        ]

    def _as_memory_holds(
        self,
        parts: Sequence[UnitsToCheck],
        results: Mapping[str, Results],
        reads: Mapping[str, Mapping[str, tuple[str, ...]]],
    ) -> Iterator[UnitsToCheck]:
        """The same with what is kept in the page cache: the first of what is read next, as far as memory holds it, and
        if it holds that and more, of the first files the rest, too."""
        shares: dict[tuple[str, str], float] = {}
        with_arrays = [(part, reads.get(part.stage, {}).get(part.output, ())) for part in parts]
        for part, arrays in with_arrays:
            if (part.stage, part.output) not in shares:
                first = results[part.stage][part.output].path(part.first)
                shares[part.stage, part.output] = self._share(first, arrays) if arrays else 1.0
        next_ = [part.bytes * shares[part.stage, part.output] for part in parts]
        free, in_memory = HELD * self.run.keeps - sum(next_), 0.0
        for (part, arrays), size in zip(with_arrays, next_):
            in_memory += size
            free -= part.bytes - size
            keep: Keep = "all" if free >= 0 else arrays or "all"
            yield replace(part, keep="nothing" if in_memory > HELD * self.run.keeps else keep)

    def _share(self, path: str, arrays: tuple[str, ...]) -> float:
        """What some arrays take of a file."""
        try:
            sizes = {name: array.nbytes for name, array in map_arrays(self.run.file(path)).items()}
        except (InputError, OSError, ValueError):  # it is damaged, as will be found
            return 1.0
        return sum(sizes.get(name, 0) for name in arrays) / max(sum(sizes.values()), 1)

    def _unknown(self, results: Results, output: str) -> Iterator[UnitsToCheck]:
        """The units of a stage of which an output is not known to be sound, neighbours together."""
        sizes = results[output].bytes.tolist()
        done_keys = self.done.get(results.folder, set())
        compared = self.compared.get((results.folder, output), set())
        if done_keys.issuperset(results.keys) or compared.issuperset(results.keys):
            return
        first, size = 0, 0
        for number, key in enumerate(results.keys):
            is_known = key in done_keys or key in compared
            if is_known or size >= TOGETHER:
                if first < number:
                    yield UnitsToCheck(results.stage, output, first, number, size)
                first, size = number + is_known, 0
            size += 0 if is_known else sizes[number]
        if first < len(results):
            yield UnitsToCheck(results.stage, output, first, len(results), size)


class ReadOnlyRepairs(Repairs):
    """A run that others are at work on: nothing in it may be set aside, because they may be reading it, and not each of
    many workers can read what all of them wrote. Sizes are compared by the one that ends a stage; what is damaged ends
    the call, with the way to repair it."""

    def set_aside(self, folder: StageFolder, error: DamagedRecord) -> None:
        raise ResumeError(f"{error.name}: {error.problem}. {self._repair}") from error

    def resized(self, folder: StageFolder, results: Results) -> list[DamagedFile]:
        return []

    def forget(self, folder: StageFolder, stage: str, files: Sequence[DamagedFile]) -> None:
        shown = "; ".join(f"{self.run.name_of(file.path)}: {file.problem}" for file in files[:SHOWN])
        raise ResumeError(f"{stage}: {shown}. {self._repair}")

    def _unknown(self, results: Results, output: str) -> Iterator[UnitsToCheck]:
        return iter(())

    @property
    def _repair(self) -> str:
        return (
            f"Workers that share a run do not repair it: stop all of them, and have one machine do so with "
            f"corpusmill run RECIPE --folder {quote(self.run.place)}"
        )


def differences(commit: Commit, before: Commit | None) -> list[str]:
    """A sentence for each file of a unit that is not the one that it left before, if it was done before."""
    different = []
    for name, output in commit.outputs.items() if before else ():
        was = before.outputs.get(name) if before else None
        if was is None or was.checksum != output.checksum:
            old = f"{was.checksum[:12]}…" if was else "not there"
            different.append(f"XXH3-128 of {output.path} is {output.checksum[:12]}…, before it was {old}")
    return different


def not_the_same(stage: str, different: Sequence[str]) -> str:
    """The message for units that were done again and left other bytes."""
    others = f", and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
    return (
        f"{stage}: what was damaged was done again, and is not what it was: {'; '.join(different[:SHOWN])}{others}. "
        f"Either the input has changed with the same size and date, or a step is not deterministic. It is committed as "
        f"it is now: run the same command again to go on with it; what follows is done again as far as it differs."
    )
