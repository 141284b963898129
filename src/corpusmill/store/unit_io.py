"""How units reach files: what they read of earlier stages, and what they write."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill import storage
from corpusmill.errors import RunError
from corpusmill.retry import ATTEMPTS, wait
from corpusmill.storage import is_local
from corpusmill.store.arrays import Arrays, map_arrays, write_arrays, writing_arrays
from corpusmill.store.beats import Heart
from corpusmill.store.fetched_arrays import FetchedArrays
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.tables import TableWriter, read_table
from corpusmill.store.units import (
    USUAL,
    AttemptPosition,
    Note,
    OutputFiles,
    Results,
    RetryPolicy,
    UnitOutput,
)

CACHED = 0.5  # share of what this machine keeps of files that those of a step may take


@dataclass(eq=False)
class Upstream:
    """The results of earlier stages.

    where     stage -> its folder's name, and the plan
    session   of one call that carries out a run: results are kept in memory for as long as it is the same
    """

    run: RunFolder
    where: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    session: str = ""

    def results(self, stage: str) -> Results:
        """What the units of an earlier stage left. Only stages that are named in `Stage.after` can be asked for."""
        folder, plan = self.where[stage]
        return _results(self.run.place, folder, plan, self.session)

    def __contains__(self, stage: str) -> bool:
        return stage in self.where

    def file(self, path: str) -> Path:
        """A file that a stage wrote, or one of an earlier run by its full name, as a file of this machine."""
        return self.run.file(path)

    def arrays(self, path: str, scattered: bool = False) -> Arrays:
        """Arrays that an earlier stage wrote, mapped and not read; see `map_arrays`. Of a remote file all is fetched,
        or with `scattered` what is asked for alone: see `FetchedArrays`."""
        if scattered and (blocks := self.run.blocks(path)):
            return FetchedArrays(blocks)
        return map_arrays(self.file(path), scattered)

    def are_scattered(self, files: OutputFiles) -> bool:
        """Whether files, of each of which a unit reads a few rows, are larger than what this machine keeps."""
        return int(files.bytes.sum()) > CACHED * self.run.keeps

    def parquet(self, path: str) -> pq.ParquetFile:
        return pq.ParquetFile(self.file(path), memory_map=False)

    def has_read(self, path: str) -> None:
        """Say that this stage reads a file no more: the system's memory is for others."""
        if storage.CAN_ADVISE and is_local(self.run.name_of(path)):  # of another it might have to fetch it for that
            with self.file(path).open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def table(self, path: str, columns: list[str] | None = None) -> pa.Table:
        """A table that an earlier stage wrote."""
        return read_table(self.file(path), columns=columns)

    def rows(self, path: str, start: int, stop: int) -> pa.Table:
        """The rows [start, stop) of a table; only the row groups that hold them are read."""
        file = self.parquet(path)
        groups: list[int] = []
        first = at = 0
        for group in range(file.metadata.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if at < stop and at + size > start:
                first = first if groups else at
                groups.append(group)
            at += size
        return file.read_row_groups(groups, use_threads=False).slice(max(start - first, 0), max(stop - start, 0))


@lru_cache(maxsize=64)
def _results(location: str, folder: str, plan: str, session: str) -> Results:
    stage = RunFolder(location).stage(folder)
    results = stage.results(plan)
    for attempt in range(1, ATTEMPTS):
        if results is not None or is_local(location):
            break
        time.sleep(wait(attempt))  # the listing of a store may be behind
        results = stage.results(plan)
    if results is None:
        raise RunError(f"{location}: {folder} is not complete, and a later stage was begun; this is a fault of ours")
    return results


@dataclass(eq=False)
class UnitIO(Upstream):
    """The only way a unit reaches files: it reads results of earlier stages and writes outputs by name.

    stage   the stage's folder, relative to the run's
    facts   counts, which are summed over the units of the stage
    notes   what must be known of this unit by itself
    care    how this attempt is made
    at      is to be told where it is before each step, if `care` has it noted
    heart   says how far it is, to those who watch the run
    """

    stage: str = ""
    key: str = ""
    attempt: str = ""
    care: RetryPolicy = USUAL
    at: Callable[[AttemptPosition], None] = lambda _: None
    heart: Heart = field(default_factory=Heart)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    _tables: dict[str, TableWriter] = field(default_factory=dict)
    _files: dict[str, tuple[str, int]] = field(default_factory=dict)  # name -> path, rows

    def path(self, name: str, suffix: str, rows: int = 0) -> Path:
        """A new output file `name`, to be written by the caller."""
        path = f"{self.stage}/{name}/{self.key}-{self.attempt}{suffix}"
        self._files[name] = (path, rows)
        return self.run.new_file(path)

    def scratch(self) -> Path:
        """A folder for temporary files; it is removed with the unit."""
        folder = self.run.new_file(f"{self._scratch}/x").parent
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def scratch_arrays(self, name: str, **arrays: NDArray[Any]) -> Callable[[], Arrays]:
        """Arrays in a temporary file. Returns what maps them: anew with each call, so that pages that were read are
        given back with what it returned."""
        path = self.scratch() / f"{name}.arrays"
        write_arrays(path, arrays)
        return partial(map_arrays, path)

    @property
    def _scratch(self) -> str:
        return f"{self.stage}/tmp/{self.key}-{self.attempt}"

    def write(self, name: str, batch: pa.RecordBatch, level: int = 1) -> None:
        """Add rows to the output table `name`; the first batch, which may be empty, sets its schema. `level` is that of
        its compression."""
        if name not in self._tables:
            sized = "text" if "text" in batch.schema.names else "text_bytes"
            self._tables[name] = TableWriter(self.path(name, ".parquet"), batch.schema, sized=sized, level=level)
        self._tables[name].write(batch)

    def write_arrays(self, name: str, rows: int = 0, **arrays: NDArray[Any]) -> None:
        """One output file of arrays by name, 64-byte aligned so that they can be mapped."""
        write_arrays(self.path(name, ".arrays", rows), arrays)

    def writing_arrays(self, name: str, rows: int) -> AbstractContextManager[Callable[[str, NDArray[Any]], None]]:
        """The same in parts, see `arrays.writing_arrays`."""
        return writing_arrays(self.path(name, ".arrays", rows))

    def finish(self) -> dict[str, UnitOutput]:
        """Close all outputs, make them last, and say what they are."""
        for name, writer in self._tables.items():
            writer.close()
            self._files[name] = (self._files[name][0], writer.rows_written)
        outputs = {}
        for name, (path, rows) in sorted(self._files.items()):
            file = self.run.place_of(path)
            outputs[name] = UnitOutput(path, rows, file.stat().st_size, storage.checksum(file))
        self.run.keep([output.path for output in outputs.values()])
        return outputs

    def text_groups(self, name: str) -> list[int]:
        """Bytes of text in each row group of a table, to which nothing may be written after."""
        return self._tables[name].text_groups()

    def abandon(self) -> None:
        """Close what is open, after a failure; the files stay as orphans until the stage is complete."""
        for writer in self._tables.values():
            with contextlib.suppress(Exception):
                writer.close()

    def discard(self) -> None:
        """Close and remove all that was written, and the scratch."""
        self.abandon()
        for path, _ in self._files.values():
            self.run.place_of(path).unlink(missing_ok=True)
        self.remove_scratch()

    def remove_scratch(self) -> None:
        shutil.rmtree(self.run.place_of(f"{self._scratch}/x").parent, ignore_errors=True)
