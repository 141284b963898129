"""An index of what a run kept: the keys of its documents, for later runs that must not keep the same again.

    FOLDER/
        index.json    what made the keys, and the files; it is written last
        keys/ docs/   one file each per unit of the run: keys as `corpusmill.steps.keys.KeyStage` describes them, and
                      documents

Only documents that the run kept to the end, and has not been told to forget, are in it, with their ids, URLs and what
later comparisons read of them. It needs nothing of the run, and can be copied to another machine.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.engine.plan.earlier_runs import INDEX, INDEX_FORMAT, INDEX_VERSION, comparable, key_files
from corpusmill.errors import InputError, did_you_mean
from corpusmill.recipe.names import labels
from corpusmill.report.run_files import RunFiles
from corpusmill.steps import ComparesWithEarlierRuns, CorpusStep
from corpusmill.steps.keys import ADDRESS, keyed, keys_and_rows, laid_out, were_kept
from corpusmill.storage import checksum, write_atomic
from corpusmill.store.arrays import map_arrays, write_arrays
from corpusmill.store.forgotten import Forgotten
from corpusmill.store.tables import TableWriter, read_table

ROWS_AT_ONCE = 1024  # documents in memory at a time


@dataclass(frozen=True)
class WrittenIndex:
    """An index that was written: for which step, of how many documents, and its bytes."""

    folder: Path
    step: str
    documents: int
    bytes: int


def export(run: str | PathLike[str], folder: str | PathLike[str], step: str | None = None) -> WrittenIndex:
    """Write an index of what a run kept into a new folder.

    step   the label of the step whose keys it is to have; None where the run has one such step

    Raises ResumeError if the run is not finished, InputError if it has no such step, or the folder is not empty.
    """
    target = Path(folder)
    tables = RunFiles(run)
    tables.must_be_finished()
    label, made_by = _step(tables, step)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is not empty: give the index a new folder.")
    for name in ("keys", "docs"):
        (target / name).mkdir(parents=True, exist_ok=True)
    columns = ["id", "url", *(["text"] if made_by.reads_text else [])]
    files: list[dict[str, Any]] = []
    for number, (file, _) in enumerate(key_files(tables.folder, label)):
        keys, docs = f"keys/{number:05d}.arrays", f"docs/{number:05d}.parquet"
        unit_files = _UnitFiles(*(tables.folder.file(name) for name in (file.keys, file.docs, file.kept or file.docs)))
        is_kept = unit_files.kept_mask()
        if tables.forgotten is not None:
            is_kept &= ~unit_files.forgotten_mask(tables.forgotten)
        write_arrays(target / keys, _select_kept(map_arrays(unit_files.keys), is_kept))
        _write_documents(unit_files.docs, target / docs, is_kept, columns)
        checksums = {"keys_checksum": checksum(target / keys), "docs_checksum": checksum(target / docs)}
        files.append({"keys": keys, "docs": docs, "rows": int(is_kept.sum())} | checksums)
    documents = sum(file["rows"] for file in files)
    record = {"format": INDEX_FORMAT, "version": INDEX_VERSION, "run": tables.name, "keys_of": comparable(made_by)}
    record |= {"documents": documents, "files": files}
    write_atomic(str(target / INDEX), json.dumps(record, indent=1, ensure_ascii=False).encode())
    return WrittenIndex(
        target, label, documents, sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    )


def _step(tables: RunFiles, label: str | None) -> tuple[str, CorpusStep]:
    """The label and the step whose keys are exported."""
    steps = dict(zip(labels(tables.recipe.steps), tables.recipe.steps))
    have = {
        name: step
        for name, step in steps.items()
        if isinstance(step, CorpusStep) and isinstance(step, ComparesWithEarlierRuns)
    }
    if label in have:
        return label, have[label]
    if label is None and len(have) == 1:
        return next(iter(have.items()))
    choices = f"{tables.folder.place} has: {', '.join(have)}." if have else f"{tables.folder.place} has none."
    if label is None:
        raise InputError(f"an index holds the keys of one step that takes `against`: choose it with --dedup. {choices}")
    suggestion = did_you_mean(label, have) or "."
    raise InputError(f'there is no dedup step "{label}" to export{suggestion} {choices}')


class _UnitFiles(NamedTuple):
    """The files of a unit, on this machine: keys, the documents that they belong to, and those that were kept."""

    keys: Path
    docs: Path
    kept_docs: Path

    def kept_mask(self) -> NDArray[np.bool_]:
        """(documents,) which of them the run kept to the end."""
        documents, kept_documents = (read_table(path, columns=list(ADDRESS)) for path in (self.docs, self.kept_docs))
        return were_kept(documents, kept_documents)

    def forgotten_mask(self, forgotten: Forgotten) -> NDArray[np.bool_]:
        """(documents,) which of them are forgotten."""
        batches = pq.ParquetFile(self.docs).iter_batches(ROWS_AT_ONCE, columns=["id", "url"], use_threads=False)
        return np.concatenate([np.zeros(0, np.bool_), *(forgotten.among(batch) for batch in batches)])


def _select_kept(arrays: Mapping[str, NDArray[Any]], is_kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """The arrays of a key file of the kept documents alone."""
    keys, row = keys_and_rows(arrays, arrays.__getitem__)
    stay = is_kept[row]  # records of kept documents
    number = np.cumsum(is_kept) - 1
    payload = bytes(arrays["payload"]).decode().split(",")
    result: dict[str, NDArray[Any]] = {name: arrays[name] for name in ("partitions", "payload")}
    result["offsets"] = np.concatenate([np.zeros(1, np.int64), np.cumsum(stay)])[arrays["offsets"]]
    result |= laid_out(keys[stay], number[row[stay]].astype(np.uint32), "records" in arrays, len(number))
    for name, array in arrays.items():
        if name not in result and name not in keyed(arrays):
            result[name] = array[stay if name in payload else is_kept]
    return result


def _write_documents(source: Path, target: Path, is_kept: NDArray[np.bool_], columns: list[str]) -> None:
    file = pq.ParquetFile(source)
    schema = pa.schema([file.schema_arrow.field(name) for name in columns])
    with TableWriter(target, schema) as writer:
        row = 0
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns, use_threads=False):
            writer.write(batch.filter(pa.array(is_kept[row : row + len(batch)])))
            row += len(batch)
